"""T1: rules ``finite`` and ``randomised-response``: mechanisms with finitely many inputs and outputs, by
their table of probabilities.

Statement (``finite``). Let ``rows[i][y]`` be the probability of output y on input i: exact rationals that sum
to 1, or with ``weights`` sums of exponentials (``exponentials``), each over the sum of its row. Between any
two inputs epsilon is the largest log-ratio of a column, delta(e) the largest sum of positive parts of row i -
E row j, and the pair of the pointwise maximum over i != j dominates. A log-ratio that is rational is found as
this number, any other one is rounded up.

Statement (``randomised-response``). One of k symbols is kept with probability e^e0 / (e^e0 + k - 1) and
otherwise replaced by one of the others at random: e0-DP, attained.

Conditions. One record in, one message out: neighbours replace one record (the number of messages shows when a
record is added or removed), per event.

Proof. Neighbours are two inputs; for a finite law the best event is {P > E Q}. Randomised response has two
probabilities, of ratio e^e0. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import islice, permutations, product

from flint import arb

from dpaudit.kernel.ball import ball, enclose, precision, upper_short
from dpaudit.kernel.kernel_t0 import EVENT, REPLACE_ONE, Guarantee, Parameters, Setting
from dpaudit.kernel.t1.certpld import Grid, LossLaw, from_atoms, maximum
from dpaudit.kernel.t1.divergence import positive_part
from dpaudit.kernel.t1.exponentials import ExpSum, log_ratio
from dpaudit.kernel.t1.tier import Curves, Tier

__all__ = ["add_tables", "largest_log_ratio", "one_message", "read_table"]

MAX_INPUTS = 40
MAX_OUTPUTS = 200
#: Terms of one row of weights; their exponents; and how many log-ratios are looked at for a rational value.
MAX_TERMS = 2000
MAX_EXPONENT = 1000
MAX_TRIED = 100

Row = Sequence[Fraction]
#: Weights, and their sum.
WeightRow = tuple[Sequence[ExpSum], ExpSum]
#: The chances of the outputs on each input, at the working precision.
Chances = Sequence[Callable[[], list[arb]]]


def one_message(p: Parameters, setting: Setting) -> None:
    """Refuse settings in which a record does not mean one message on both sides."""
    p.need(
        setting.adjacency == REPLACE_ONE and setting.unit == EVENT,
        f"one message a record must be replace-one per event, got {setting.adjacency} per {setting.unit}; "
        "list the null record as an input, or use group for users.",
    )


def add_tables(tier: Tier) -> None:
    """The rules ``finite`` and ``randomised-response``."""

    @tier.rule("finite")
    def _finite(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        one_message(p, setting)
        if "weights" in p:
            weights = _read_weights(p)
            chances = [partial(_shares, row) for row in weights]
            pure = _weights_log_ratio(weights)
        else:
            rows = read_table(p)
            chances = [partial(_balls, row) for row in rows]
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
    """The table ``rows`` of a node: probabilities that sum to 1 exactly, for at least two inputs."""
    rows = p.entries("rows", most=MAX_INPUTS)
    good = len(rows) >= 2 and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
    p.need(good, "rows must be at least two lists of equal length; list every input.")
    p.need(0 < len(rows[0]) <= MAX_OUTPUTS, f"rows must have 1 to {MAX_OUTPUTS} outputs; merge some.")
    table = [[p.number("rows", entry) for entry in row] for row in rows]
    good = all(min(row) >= 0 and sum(row) == 1 for row in table)
    p.need(good, "every row must be probabilities that sum to 1 exactly; correct the table.")
    return table


def largest_log_ratio(rows: Sequence[Row]) -> Fraction | None:
    """The largest log-ratio in a column, rounded up; ``None`` for infinity."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) > 0 and min(column) == 0:
            return None
        if max(column) > 0:
            worst = max(worst, max(column) / min(column))
    return upper_short(enclose(lambda: ball(worst).log()))


def _read_weights(p: Parameters) -> list[WeightRow]:
    """The rows of ``weights``: not negative, with a positive sum, for at least two inputs."""
    rows = p.entries("weights", most=MAX_INPUTS)
    good = len(rows) >= 2 and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
    p.need(good, "weights must be at least two lists of equal length; list every input.")
    p.need(0 < len(rows[0]) <= MAX_OUTPUTS, f"weights must have 1 to {MAX_OUTPUTS} outputs; merge some.")
    return [_read_weight_row(p, row) for row in rows]


def _read_weight_row(p: Parameters, row: Sequence[object]) -> WeightRow:
    count = sum(len(entry) for entry in row if isinstance(entry, list))
    p.need(
        count <= MAX_TERMS, f"a row of weights must have at most {MAX_TERMS} terms, got {count}; merge them."
    )
    weights = [_read_weight(p, entry) for entry in row]
    whole = reduce(ExpSum.__add__, weights)
    good = min(weight.sign() for weight in weights) >= 0 and not whole.is_zero()
    p.need(good, "weights must be 0 or more, and not all of them 0; correct the table.")
    return weights, whole


def _read_weight(p: Parameters, entry: object) -> ExpSum:
    """A list of terms: pairs of a coefficient and an exponent."""
    good = isinstance(entry, list) and all(isinstance(term, list) and len(term) == 2 for term in entry)
    p.need(good, "a weight must be a list of pairs (coefficient, exponent); rebuild it.")
    total = ExpSum({})
    for coefficient, exponent in entry if isinstance(entry, list) else ():
        size = p.number("weights", exponent)
        p.need(abs(size) <= MAX_EXPONENT, f"exponents must be within ±{MAX_EXPONENT}; rescale the weights.")
        total += ExpSum.exp(size, p.number("weights", coefficient))
    return total


def _weights_log_ratio(rows: Sequence[WeightRow]) -> Fraction | None:
    """The largest log-ratio in a column: the number itself where it is rational, otherwise rounded up;
    ``None`` for infinity."""
    if any(weight.is_zero() for column in zip(*(row for row, _ in rows), strict=True) for weight in column):
        return None if _misses_an_output(rows) else _weights_log_ratio(_without_nulls(rows))
    logs = [[_log_share(weight, whole) for weight in row] for row, whole in rows]
    found: list[tuple[arb, int, int, int]] = []
    for y in range(len(rows[0][0])):
        column = [row[y] for row in logs]
        top, bottom = reduce(arb.max, column), reduce(arb.min, column)
        highest = [i for i, value in enumerate(column) if not value < top]
        lowest = [i for i, value in enumerate(column) if not value > bottom]
        found += [(column[i] - column[j], i, j, y) for i, j in product(highest, lowest)]
    worst = reduce(arb.max, (value for value, *_ in found))
    near = [item for item in found if not item[0] < worst]
    exact = [_exact_ratio(rows, i, j, y) for _, i, j, y in islice(near, MAX_TRIED)]
    if len(near) <= MAX_TRIED and None not in exact:
        return max(value for value in exact if value is not None)
    return max(Fraction(0), upper_short(worst))


def _exact_ratio(rows: Sequence[WeightRow], i: int, j: int, y: int) -> Fraction | None:
    (left, whole), (right, other) = rows[i], rows[j]
    return log_ratio(left[y] * other, right[y] * whole)


def _misses_an_output(rows: Sequence[WeightRow]) -> bool:
    """Whether some input has an output that another one has not."""
    columns = zip(*(row for row, _ in rows), strict=True)
    return any(len({weight.is_zero() for weight in column}) == 2 for column in columns)


def _without_nulls(rows: Sequence[WeightRow]) -> list[WeightRow]:
    """The rows without outputs that no input has."""
    return [([weight for weight in row if not weight.is_zero()], whole) for row, whole in rows]


def _shares(row: WeightRow) -> list[arb]:
    weights, whole = row
    return [weight.ball() / whole.ball() for weight in weights]


def _balls(row: Row) -> list[arb]:
    return [ball(entry) for entry in row]


def _log_share(weight: ExpSum, whole: ExpSum) -> arb:
    return enclose(lambda: (weight.ball() / whole.ball()).log())


def _delta(rows: Chances, epsilon: Fraction) -> arb:
    e, worst = ball(epsilon).exp(), arb(0)
    for left, right in permutations([row() for row in rows], 2):
        worst = worst.max(sum((positive_part(p - e * q) for p, q in zip(left, right, strict=True)), arb(0)))
    return worst


def _pair(rows: Chances, grid: Grid) -> LossLaw:
    laws = []
    with precision(grid.precision):
        table = [row() for row in rows]
    for left, right in permutations(table, 2):
        atoms = [(p, q) for p, q in zip(left, right, strict=True) if not p.is_zero()]
        laws.append(from_atoms(grid, atoms))
    return maximum(*laws)
