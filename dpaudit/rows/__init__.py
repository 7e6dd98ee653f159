"""Rows as mathematics: a row of a suite is a decorated function of named parameters.

The grid writes the scope, the docstring holds title, text and notes, the claim gives kind, view and quantity,
and the parts of a row share its error level among themselves.
"""

from dpaudit.rows.evidence import Measured, evidence, measured
from dpaudit.rows.grid import Grid, Point, full, in_words, listed, only_quick, over
from dpaudit.rows.inequality import Chain, Sides, Step, inequality, step, steps, worst_of

__all__ = [
    "Chain",
    "Grid",
    "Measured",
    "Point",
    "Sides",
    "Step",
    "evidence",
    "full",
    "in_words",
    "inequality",
    "listed",
    "measured",
    "only_quick",
    "over",
    "step",
    "steps",
    "worst_of",
]
