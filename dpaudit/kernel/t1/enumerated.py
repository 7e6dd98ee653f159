"""T1: rule ``enumerated``: a program on finitely many datasets, by enclosures of its output distributions.

Statement. Let ``lower[i][y]`` <= P_i(y) <= ``upper[i][y]`` for the distribution P_i of what the view sees on
dataset i, and let ``neighbours`` be the pairs i, j of neighbours. Over all of them, in both directions, with
E = e^e and order a > 1,

* epsilon is at most the largest log(upper[i][y] / lower[j][y]) over y with upper[i][y] > 0 (infinite if
  lower[j][y] is 0);
* delta(e) is at most the largest sum over y of (upper[i][y] - E lower[j][y])+;
* the Renyi divergence is at most the largest log(sum over y of upper[i][y]^a lower[j][y]^(1-a)) / (a - 1).

With ``weights`` instead, P_i(y) is proportional to weights[i][y], a sum of exponentials, for each i, and is
its own lower and upper end. A rational epsilon is found exactly (``exponentials``).

Conditions. Every adjacency, unit and view. ``domain`` describes the datasets, and must be the claim's in the
same words. Everybody takes part. The data are fixed in advance, so that the claim's adversary is oblivious.
One assumption states that the words name these datasets, that no pair of neighbours is missing, and that the
distributions lie in the tables. If an outcome is chosen in view of this mechanism's output, that is another
mechanism.

Proof. For each y the summand rises in P_i(y) and falls in P_j(y). Neighbours are listed, so the largest value
over the list is the largest over all. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting
from dpaudit.kernel.t1.divergence import positive_part
from dpaudit.kernel.t1.finite import Chances, balls
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t1.weights import read_weights, shares, weights_log_ratio

__all__ = ["add_enumerated"]

#: Limits on datasets, pairs of neighbours, outcomes, and the total number of probabilities.
MAX_INPUTS, MAX_PAIRS, MAX_OUTCOMES, MAX_ENTRIES = 200, 2000, 1000, 20_000
#: Limits on datasets and outcomes of weights, and on log-ratios to compare.
MAX_WEIGHT_INPUTS, MAX_WEIGHT_OUTCOMES, MAX_RATIOS = 64, 256, 100_000

Row = Sequence[Fraction]
#: Two neighbouring datasets by their rows, in one direction.
Direction = tuple[int, int]


@dataclass(frozen=True)
class _Distributions:
    """Upper and lower ends of the probabilities on each dataset, ``pure`` (``None`` for infinity), and the
    neighbours.

    Neighbours are listed in both directions.
    """

    upper: Chances
    lower: Chances
    pure: Fraction | None
    directions: Sequence[Direction]

    def largest(self, curve: Callable[[list[arb], list[arb], Fraction], arb], at: Fraction) -> arb:
        """Return the largest value over all neighbours, with the accuracy of ``enclose``, at any working
        precision.
        """

        def compute() -> arb:
            high, low = ([row() for row in rows] for rows in (self.upper, self.lower))
            return reduce(arb.max, (curve(high[i], low[j], at) for i, j in self.directions))

        return enclose(compute)


def add_enumerated(tier: Tier) -> None:
    """Add the rule ``enumerated``."""

    @tier.rule("enumerated")
    def _enumerated(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        domain = _domain(p, setting)
        distributions = _by_weights(p) if "weights" in p else _by_tables(p)
        curves = Curves(
            profile=lambda epsilon: distributions.largest(_delta, epsilon),
            renyi=None if distributions.pure is None else lambda order: distributions.largest(_renyi, order),
        )
        more = f" ({p.text('records')})" if "records" in p else ""
        words = (
            f"the claim speaks about these data sets: {domain}{more}; all their pairs of neighbours are "
            f"listed; the data are fixed in advance, and everybody takes part; what the view sees of the "
            f"program has these distributions on them: {p.text('program')}"
        )
        return Guarantee(pure=distributions.pure, curves=curves).assuming(words)


def _domain(p: Parameters, setting: Setting) -> str:
    """Return the description of the datasets, after a check that the claim is about no others."""
    domain = p.text("domain")
    everybody = f"everybody must take part in what was enumerated, got {setting.participation!r}"
    p.need(setting.participation == "everybody", f"{everybody}.")
    if setting.data is not None:
        claimed, adversary = setting.data
        wanted = f"the claim's domain must be the one that was enumerated, {domain[:80]!r}"
        p.need(claimed == domain, f"{wanted}, got {claimed[:80]!r}.")
        fixed = f"the data must be fixed in advance, got the adversary {adversary[:40]!r}"
        p.need(adversary == "oblivious", f"{fixed}.")
    return domain


def _by_tables(p: Parameters) -> _Distributions:
    high, low = _table(p, "upper"), _table(p, "lower")
    p.need(
        len(high) == len(low) and {*map(len, high)} == {*map(len, low)} and len({*map(len, high)}) == 1,
        "lower and upper must be tables of one shape.",
    )
    for below, above in zip(low, high, strict=True):
        ordered = all(0 <= a <= b <= 1 for a, b in zip(below, above, strict=True))
        p.need(ordered and sum(below) <= 1 <= sum(above), "each row must hold a distribution.")
    directions = _directions(p, len(high))
    pure = _log_ratio([(high[i], low[j]) for i, j in directions])
    upper, lower = ([partial(balls, row) for row in rows] for rows in (high, low))
    return _Distributions(upper, lower, pure, directions)


def _by_weights(p: Parameters) -> _Distributions:
    rows = read_weights(p, inputs=MAX_WEIGHT_INPUTS, outputs=MAX_WEIGHT_OUTCOMES, terms=MAX_ENTRIES)
    directions = _directions(p, len(rows))
    few = len(directions) * len(rows[0][0]) <= MAX_RATIOS
    p.need(few, f"neighbours and outcomes must give at most {MAX_RATIOS} log-ratios. Use tables instead.")
    chances = [partial(shares, row) for row in rows]
    return _Distributions(chances, chances, weights_log_ratio(rows, directions), directions)


def _directions(p: Parameters, rows: int) -> list[Direction]:
    """Return each pair of neighbours in both directions."""
    found: list[Direction] = []
    for pair in p.entries("neighbours", most=MAX_PAIRS):
        good = isinstance(pair, list) and len(pair) == 2
        p.need(good, "neighbours must be pairs of rows.")
        i, j = (p.integer("neighbours", place, low=0, high=rows - 1) for place in pair)
        p.need(i != j, f"neighbours must be two datasets, got {i} twice.")
        found += [(i, j), (j, i)]
    p.need(bool(found), "neighbours must list a pair, got none.")
    return found


def _table(p: Parameters, name: str) -> list[list[Fraction]]:
    rows = p.entries(name, most=MAX_INPUTS)
    good = all(isinstance(row, list) and 0 < len(row) <= MAX_OUTCOMES for row in rows)
    p.need(good and bool(rows), f"{name} must be rows of 1 to {MAX_OUTCOMES} probabilities.")
    size = sum(map(len, rows))
    p.need(size <= MAX_ENTRIES, f"{name} must have at most {MAX_ENTRIES} entries, got {size}.")
    return [[p.number(name, entry) for entry in row] for row in rows]


def _log_ratio(sides: Sequence[tuple[Row, Row]]) -> Fraction | None:
    """Return the largest log-ratio of an upper to a lower end, rounded up, or ``None`` for infinity."""
    possible = [(p, q) for high, low in sides for p, q in zip(high, low, strict=True) if p > 0]
    if any(q == 0 for _, q in possible):
        return None
    worst = max(p / q for p, q in possible)
    return max(upper_short(enclose(lambda: ball(worst).log())), Fraction(0)) if worst != 1 else Fraction(0)


def _delta(high: list[arb], low: list[arb], epsilon: Fraction) -> arb:
    e = ball(epsilon).exp()
    return sum((positive_part(p - e * q) for p, q in zip(high, low, strict=True)), arb(0))


def _renyi(high: list[arb], low: list[arb], order: Fraction) -> arb:
    a, total = ball(order), arb(0)
    for p, q in zip(high, low, strict=True):
        if not p.is_zero():
            total += (a * p.log() + (1 - a) * q.log()).exp()
    return total.log() / (a - 1)
