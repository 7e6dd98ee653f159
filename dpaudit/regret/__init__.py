"""Regret: runs at a grid of rounds, cuts with their price, intervals of expected regret, slopes."""

from dpaudit.regret.frames import regret_frame, summary
from dpaudit.regret.intervals import (
    Cut,
    Interval,
    average,
    combination_interval,
    difference_interval,
    gaps_of,
    mean_interval,
    octave,
    trivial_cut,
)
from dpaudit.regret.runs import RegretRuns, Seed, checked_grid, checkpoint_grid, regret_curve, root_of
from dpaudit.regret.slopes import Slope, log_slope

__all__ = [
    "Cut",
    "Interval",
    "RegretRuns",
    "Seed",
    "Slope",
    "average",
    "checked_grid",
    "checkpoint_grid",
    "combination_interval",
    "difference_interval",
    "gaps_of",
    "log_slope",
    "mean_interval",
    "octave",
    "regret_curve",
    "regret_frame",
    "root_of",
    "summary",
    "trivial_cut",
]
