"""T1: rules ``finite`` and ``randomised-response``: mechanisms with finitely many inputs and outputs, by
their tables.

Statement (``finite``). Let ``rows[i][y]`` be the probability of output y on input i: exact rationals that sum
to 1, or with ``weights`` sums of exponentials (``exponentials``), each over the sum of its row. Between any
two inputs epsilon is the largest log-ratio of a column, delta(e) the largest sum of positive parts of row i -
E row j, and the pair of the pointwise maximum over i != j dominates. A rational log-ratio is found exactly,
and any other one is rounded up.

Statement (``randomised-response``). One of k symbols is kept with probability e^e0 / (e^e0 + k - 1) and
otherwise replaced by one of the others at random: e0-DP, attained.

Conditions. One record in, one message out: neighbours replace one record (the number of messages shows when a
record is added or removed), per event.

Proof. Neighbours are two inputs. For a finite distribution the best event is {P > E Q}. Randomised response
has two probabilities, of ratio e^e0. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations

from flint import arb

from dpaudit.kernel.ball import ball, enclose, precision, upper_short
from dpaudit.kernel.kernel_t0 import EVENT, REPLACE_ONE, Guarantee, Parameters, Setting
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, from_atoms
from dpaudit.kernel.t1.divergence import positive_part
from dpaudit.kernel.t1.profiles import maximum
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t1.weights import read_weights, shares, weights_log_ratio

__all__ = ["Chances", "add_tables", "balls", "largest_log_ratio", "one_message", "read_table"]

MAX_INPUTS = 40
MAX_OUTPUTS = 200
#: Largest number of terms in all weights.
MAX_TERMS = 80_000

Row = Sequence[Fraction]
#: The probabilities of the outputs on each input, at the working precision.
Chances = Sequence[Callable[[], list[arb]]]


def one_message(p: Parameters, setting: Setting) -> None:
    """Refuse settings in which a record does not mean one message on both sides."""
    p.need(
        setting.adjacency == REPLACE_ONE and setting.unit == EVENT,
        f"one message a record must be replace-one per event, got {setting.adjacency} per {setting.unit}. "
        "List the null record as an input, or use group for users.",
    )


def add_tables(tier: Tier) -> None:
    """Add the rules ``finite`` and ``randomised-response``."""

    @tier.rule("finite")
    def _finite(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        one_message(p, setting)
        if "weights" in p:
            weights = read_weights(p, inputs=MAX_INPUTS, outputs=MAX_OUTPUTS, terms=MAX_TERMS)
            chances = [partial(shares, row) for row in weights]
            pure = weights_log_ratio(weights, permutations(range(len(weights)), 2))
        else:
            rows = read_table(p)
            chances = [partial(balls, row) for row in rows]
            pure = largest_log_ratio(rows)
        curves = Curves(
            profile=lambda epsilon: enclose(lambda: _delta(chances, epsilon)),
            pair=lambda grid: _pair(chances, grid),
        )
        return Guarantee(pure=pure, curves=curves)

    @tier.rule("randomised-response")
    def _randomised_response(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        one_message(p, setting)
        p.integer("symbols", low=2, high=10**12)
        return Guarantee(pure=p.positive("epsilon"))


def read_table(p: Parameters) -> list[list[Fraction]]:
    """Read the table ``rows`` of a node: probabilities that sum to 1 exactly, for at least two inputs."""
    rows = p.entries("rows", most=MAX_INPUTS)
    good = len(rows) >= 2 and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
    p.need(good, "rows must be at least two lists of equal length.")
    p.need(0 < len(rows[0]) <= MAX_OUTPUTS, f"rows must have 1 to {MAX_OUTPUTS} outputs.")
    table = [[p.number("rows", entry) for entry in row] for row in rows]
    good = all(min(row) >= 0 and sum(row) == 1 for row in table)
    p.need(good, "every row must be probabilities that sum to 1 exactly.")
    return table


def largest_log_ratio(rows: Sequence[Row]) -> Fraction | None:
    """Return the largest log-ratio in a column, rounded up, or ``None`` for infinity."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) > 0 and min(column) == 0:
            return None
        if max(column) > 0:
            worst = max(worst, max(column) / min(column))
    return upper_short(enclose(lambda: ball(worst).log()))


def balls(row: Row) -> list[arb]:
    """Return the probabilities of a row, at the working precision."""
    return [ball(entry) for entry in row]


def _delta(rows: Chances, epsilon: Fraction) -> arb:
    e, worst = ball(epsilon).exp(), arb(0)
    for left, right in permutations([row() for row in rows], 2):
        worst = worst.max(sum((positive_part(p - e * q) for p, q in zip(left, right, strict=True)), arb(0)))
    return worst


def _pair(rows: Chances, grid: Grid) -> LossDistribution:
    distributions = []
    with precision(grid.precision):
        table = [row() for row in rows]
    for left, right in permutations(table, 2):
        atoms = [(p, q) for p, q in zip(left, right, strict=True) if not p.is_zero()]
        distributions.append(from_atoms(grid, atoms))
    return maximum(*distributions)
