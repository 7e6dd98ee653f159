"""Declare the rows of a suite: each row is a decorated function of named parameters.

The grid defines the scope, the docstring holds title, text and notes, and the claim defines kind, view and
quantity. The parts of a row share its significance level.
"""

from typing import TYPE_CHECKING

from dpaudit.certify.ranges import choices, integers, on, reals
from dpaudit.certify.sites import Site
from dpaudit.core.evidence import Certificate, Estimate, Witness
from dpaudit.core.first_use import on_first_use
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.question import Question
from dpaudit.core.suite import Cell, Group, Outcome, Run, Suite
from dpaudit.core.verdicts import judge
from dpaudit.kernel.ball import ball
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite.controls import Control, broken, controls, false_inequality, program_control
from dpaudit.suite.evidence import Measured, evidence
from dpaudit.suite.expected import expected
from dpaudit.suite.expression import Expression, Leaf, average, constant, largest, leaf, smallest
from dpaudit.suite.grid import Grid, Point, full, in_words, listed, only_quick, over
from dpaudit.suite.inequality import inequality, step, steps
from dpaudit.suite.mutants import (
    branching,
    one_share_less,
    reusing,
    scaled,
    shared,
    twice,
    widened,
    without,
)
from dpaudit.suite.privacy import privacy
from dpaudit.suite.worst import Chain, Constant, Sides, Step, worst_of

if TYPE_CHECKING:
    from dpaudit.suite.program_proofs import Proving, proved

__all__ = [
    "Cell",
    "Certificate",
    "Chain",
    "Constant",
    "Control",
    "Estimate",
    "Expression",
    "Grid",
    "Group",
    "Leaf",
    "Measured",
    "Neighbours",
    "Outcome",
    "Point",
    "PrivacyAudit",
    "Proving",
    "Question",
    "Run",
    "Sides",
    "Site",
    "Step",
    "Suite",
    "Witness",
    "average",
    "ball",
    "branching",
    "broken",
    "choices",
    "constant",
    "controls",
    "evidence",
    "expected",
    "false_inequality",
    "full",
    "in_words",
    "inequality",
    "integers",
    "judge",
    "largest",
    "leaf",
    "listed",
    "on",
    "one_share_less",
    "only_quick",
    "over",
    "privacy",
    "program_control",
    "proved",
    "reals",
    "reusing",
    "scaled",
    "shared",
    "smallest",
    "step",
    "steps",
    "twice",
    "widened",
    "without",
    "worst_of",
]

#: The names that need the prover.
__getattr__ = on_first_use(__name__, {"Proving": "program_proofs", "proved": "program_proofs"})
