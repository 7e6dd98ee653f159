"""Regret: runs at a grid of rounds, cuts with their price, and intervals of expected regret."""

from dpaudit.regret.cuts import (
    Cut,
    combination_interval,
    difference_interval,
    gaps_of,
    mean_interval,
    trivial_cut,
)
from dpaudit.regret.intervals import Interval, average, octave
from dpaudit.regret.runs import RegretRuns, Seed, checked_grid, checkpoint_grid, regret_curve, root_of

__all__ = [
    "Cut",
    "Interval",
    "RegretRuns",
    "Seed",
    "average",
    "checked_grid",
    "checkpoint_grid",
    "combination_interval",
    "difference_interval",
    "gaps_of",
    "mean_interval",
    "octave",
    "regret_curve",
    "root_of",
    "trivial_cut",
]
