"""T1: rule ``enumerated``: a program on finitely many data sets, by the enclosed laws of what is seen.

Statement. Let ``lower[i][y]`` <= P_i(y) <= ``upper[i][y]`` for the law P_i of what is seen on data set i, and
let ``neighbours`` be the pairs i, j of neighbours. Over all of them, in both directions, with E = e^e and
order a > 1,

* epsilon is at most the largest log(upper[i][y] / lower[j][y]) over y with upper[i][y] > 0 (infinite where
  lower[j][y] is 0);
* delta(e) is at most the largest sum over y of (upper[i][y] - E lower[j][y])+;
* the Renyi divergence is at most the largest log(sum over y of upper[i][y]^a lower[j][y]^(1-a)) / (a - 1).

Conditions. Every adjacency, unit and view. ``domain`` says which data sets these are, and must be the claim's
in the same words; everybody takes part; the data are fixed in advance, so that the claim's adversary is
oblivious. That the words name these data sets, that no pair of neighbours is missing, and that the laws lie
in the tables are one assumption. An outcome that is chosen in view of this mechanism's is another mechanism.

Proof. For each y the summand rises in P_i(y) and falls in P_j(y); neighbours are listed, so the largest value
over the list is the largest over all. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting
from dpaudit.kernel.t1.divergence import positive_part
from dpaudit.kernel.t1.tier import Curves, Tier

__all__ = ["add_enumerated"]

#: Data sets, pairs of neighbours, outcomes, and probabilities in all.
MAX_INPUTS, MAX_PAIRS, MAX_OUTCOMES, MAX_ENTRIES = 200, 2000, 1000, 20_000

Row = Sequence[Fraction]
#: An upper end of P and a lower end of Q, for each outcome.
Sides = tuple[Row, Row]


def add_enumerated(tier: Tier) -> None:
    """The rule ``enumerated``."""

    @tier.rule("enumerated")
    def _enumerated(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        domain = _domain(p, setting)
        sides = _read(p)
        curves = Curves(
            profile=lambda epsilon: _largest(_delta, sides, epsilon),
            renyi=None if _unbounded(sides) else lambda order: _largest(_renyi, sides, order),
        )
        more = f" ({p.text('records')})" if "records" in p else ""
        words = (
            f"the claim speaks about these data sets: {domain}{more}; all their pairs of neighbours are "
            f"listed; the data are fixed in advance, and everybody takes part; what the view sees of the "
            f"program has these laws on them: {p.text('program')}"
        )
        return Guarantee(pure=_pure(sides), curves=curves).assuming(words)


def _domain(p: Parameters, setting: Setting) -> str:
    """What the data sets are, after the claim was seen to speak of no others."""
    domain = p.text("domain")
    everybody = f"everybody must take part in what was enumerated, got the turnout {setting.turnout!r}"
    p.need(setting.turnout == "everybody", f"{everybody}; claim it for everybody.")
    if setting.data is not None:
        claimed, adversary = setting.data
        wanted = f"the claim's domain must be the one that was enumerated, {domain[:80]!r}"
        p.need(claimed == domain, f"{wanted}, got {claimed[:80]!r}; claim it on these data sets.")
        fixed = f"the data must be fixed in advance, got the adversary {adversary[:40]!r}"
        p.need(adversary == "oblivious", f"{fixed}; claim it against an oblivious one.")
    return domain


def _read(p: Parameters) -> list[Sides]:
    """Each pair of neighbours in both directions."""
    high, low = _table(p, "upper"), _table(p, "lower")
    p.need(
        len(high) == len(low) and {*map(len, high)} == {*map(len, low)} and len({*map(len, high)}) == 1,
        "lower and upper must be tables of one shape; rebuild them.",
    )
    for below, above in zip(low, high, strict=True):
        ordered = all(0 <= a <= b <= 1 for a, b in zip(below, above, strict=True))
        p.need(ordered and sum(below) <= 1 <= sum(above), "a law must lie in each row; rebuild the tables.")
    sides: list[Sides] = []
    for pair in p.entries("neighbours", most=MAX_PAIRS):
        good = isinstance(pair, list) and len(pair) == 2
        p.need(good, "neighbours must be pairs of rows; rebuild the certificate.")
        i, j = (p.integer("neighbours", place, low=0, high=len(high) - 1) for place in pair)
        p.need(i != j, f"neighbours must be two data sets, got {i} twice; list others.")
        sides += [(high[i], low[j]), (high[j], low[i])]
    p.need(bool(sides), "neighbours must list a pair, got none; rebuild the certificate.")
    return sides


def _table(p: Parameters, name: str) -> list[list[Fraction]]:
    rows = p.entries(name, most=MAX_INPUTS)
    good = all(isinstance(row, list) and 0 < len(row) <= MAX_OUTCOMES for row in rows)
    p.need(good and bool(rows), f"{name} must be rows of 1 to {MAX_OUTCOMES} probabilities; enumerate less.")
    size = sum(map(len, rows))
    p.need(
        size <= MAX_ENTRIES, f"{name} must have at most {MAX_ENTRIES} entries, got {size}; enumerate less."
    )
    return [[p.number(name, entry) for entry in row] for row in rows]


def _unbounded(sides: Sequence[Sides]) -> bool:
    """Whether an outcome may be possible on one side only."""
    return any(p > 0 and q == 0 for high, low in sides for p, q in zip(high, low, strict=True))


def _pure(sides: Sequence[Sides]) -> Fraction | None:
    """The largest log-ratio, rounded up; ``None`` for infinity."""
    if _unbounded(sides):
        return None
    worst = max(p / q for high, low in sides for p, q in zip(high, low, strict=True) if p > 0)
    return max(upper_short(enclose(lambda: ball(worst).log())), Fraction(0)) if worst != 1 else Fraction(0)


def _delta(high: Row, low: Row, epsilon: Fraction) -> arb:
    e = ball(epsilon).exp()
    return sum((positive_part(ball(p) - e * ball(q)) for p, q in zip(high, low, strict=True)), arb(0))


def _renyi(high: Row, low: Row, order: Fraction) -> arb:
    a, total = ball(order), arb(0)
    for p, q in zip(high, low, strict=True):
        if p > 0:
            total += (a * ball(p).log() + (1 - a) * ball(q).log()).exp()
    return total.log() / (a - 1)


def _largest(curve: Callable[[Row, Row, Fraction], arb], sides: Sequence[Sides], at: Fraction) -> arb:
    """Of all pairs, with the accuracy that ``enclose`` gives whatever the caller's precision."""
    return enclose(lambda: reduce(arb.max, (curve(high, low, at) for high, low in sides)))
