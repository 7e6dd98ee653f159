"""Rules ``finite`` and ``randomised-response``: mechanisms with finitely many inputs and outputs, by their
table of probabilities.

Statement (``finite``). Let ``rows[i][y]`` be the probability of output y on input i (exact rationals).
Between any two inputs epsilon is the largest log-ratio of a column, delta(e) the largest sum of positive
parts of row i - E row j, and the pair of the pointwise maximum over i != j dominates.

Statement (``randomised-response``). One of k symbols is kept with probability e^e0 / (e^e0 + k - 1) and
otherwise replaced by one of the others at random: e0-DP, attained.

Proof. Neighbours are two inputs; for a finite law the best event is {P > E Q}. Randomised response has two
probabilities, of ratio e^e0. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import permutations
from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball, enclose, precision, upper_short
from dpaudit.kernel.certpld import Grid, LossLaw, from_atoms, maximum
from dpaudit.kernel.divergence import positive_part
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__ = ["largest_log_ratio", "read_table"]

MAX_INPUTS = 40
MAX_OUTPUTS = 200

Row = Sequence[Fraction]


@rule("finite")
def _finite(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    rows = read_table(parameters)
    return Guarantee(
        pure=largest_log_ratio(rows),
        profile=lambda epsilon: enclose(lambda: _delta(rows, epsilon)),
        pair=lambda grid: _pair(rows, grid),
    )


def read_table(parameters: Parameters) -> list[list[Fraction]]:
    """The table ``rows`` of a node: probabilities that sum to 1 exactly, for at least two inputs."""
    rows = parameters.rows("rows", most=MAX_INPUTS, width=MAX_OUTPUTS)
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        raise parameters.fail("rows must be at least two lists of equal length; list every input.")
    if any(not row or min(row) < 0 or sum(row) != 1 for row in rows):
        raise parameters.fail("every row must be probabilities that sum to 1 exactly; correct the table.")
    return rows


@rule("randomised-response")
def _randomised_response(
    parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting
) -> Guarantee:
    parameters.integer("symbols", low=2, high=10**12)
    return Guarantee(pure=parameters.positive("epsilon"))


def largest_log_ratio(rows: Sequence[Row]) -> Fraction | None:
    """The largest log-ratio in a column, rounded up; ``None`` for infinity."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) > 0 and min(column) == 0:
            return None
        if max(column) > 0:
            worst = max(worst, max(column) / min(column))
    return upper_short(enclose(lambda: ball(worst).log()))


def _delta(rows: Sequence[Row], epsilon: Fraction) -> Any:
    e, worst = ball(epsilon).exp(), arb(0)
    for left, right in permutations(rows, 2):
        worst = worst.max(
            sum((positive_part(ball(p) - e * ball(q)) for p, q in zip(left, right, strict=True)), arb(0))
        )
    return worst


def _pair(rows: Sequence[Row], grid: Grid) -> LossLaw:
    laws = []
    for left, right in permutations(rows, 2):
        with precision(grid.precision):
            atoms = [(ball(p), ball(q)) for p, q in zip(left, right, strict=True) if p > 0]
        laws.append(from_atoms(grid, atoms))
    return reduce(maximum, laws)
