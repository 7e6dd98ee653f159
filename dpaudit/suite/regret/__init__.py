"""Analyse simulated regret: runs at a grid of rounds, caps, intervals of expected regret, slopes."""

from dpaudit.suite.regret.frames import regret_frame, summary
from dpaudit.suite.regret.intervals import (
    CUT_AND_CHARGED,
    Cut,
    Interval,
    average,
    combination_interval,
    difference_interval,
    gaps_of,
    mean_interval,
    octave,
    proportion_interval,
    trivial_cut,
)
from dpaudit.suite.regret.pictures import at_horizon, over_time, plus_minus
from dpaudit.suite.regret.runs import RegretRuns, Seed, checked_grid, checkpoint_grid, regret_curve, root_of
from dpaudit.suite.regret.slopes import Slope, log_slope

__all__ = [
    "CUT_AND_CHARGED",
    "Cut",
    "Interval",
    "RegretRuns",
    "Seed",
    "Slope",
    "at_horizon",
    "average",
    "checked_grid",
    "checkpoint_grid",
    "combination_interval",
    "difference_interval",
    "gaps_of",
    "log_slope",
    "mean_interval",
    "octave",
    "over_time",
    "plus_minus",
    "proportion_interval",
    "regret_curve",
    "regret_frame",
    "root_of",
    "summary",
    "trivial_cut",
]
