"""Offer the coins and their interpreters. ``base`` explains how they work."""

from dpaudit.coins.base import ChannelSession, Coins, Program
from dpaudit.coins.enumerator import (
    ViewDistribution,
    enumerate_view,
    hockey_stick,
    max_log_ratio,
    sum_out,
    visible_values,
)
from dpaudit.coins.forcer import Choice, Forcer, force
from dpaudit.coins.recorder import Recorder, record
from dpaudit.coins.replayer import Leak, Replay, Replayer, SiteLoss, replay
from dpaudit.coins.sampler import Sampler
from dpaudit.coins.transcript import Recording, Returned, SiteRecord, fingerprint, run_program, same_value

__all__ = [
    "ChannelSession",
    "Choice",
    "Coins",
    "Forcer",
    "Leak",
    "Program",
    "Recorder",
    "Recording",
    "Replay",
    "Replayer",
    "Returned",
    "Sampler",
    "SiteLoss",
    "SiteRecord",
    "ViewDistribution",
    "enumerate_view",
    "fingerprint",
    "force",
    "hockey_stick",
    "max_log_ratio",
    "record",
    "replay",
    "run_program",
    "same_value",
    "sum_out",
    "visible_values",
]
