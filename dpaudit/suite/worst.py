"""An inequality computed at every point of its grid, in balls: its largest measure, where that is, and the
points at which it could not be computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from dpaudit.core.errors import UndecidedError
from dpaudit.core.evidence import Estimate
from dpaudit.core.suite import Run
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.suite.crashes import Raised
from dpaudit.suite.grid import Grid, Point, in_words
from dpaudit.suite.signature import named_point

__all__ = ["Both", "Chain", "Constant", "Looked", "Measure", "Sides", "Step", "Worst", "look", "worst_of"]

BITS = 160

Measure = Literal["left / right", "left - right"]
#: Both sides of an inequality: exact numbers or balls.
Sides = tuple[Any, Any]


@dataclass(frozen=True)
class Constant:
    """A ratio that a row states at its largest and does not claim: what an O(.) hides, on the grid."""

    left: Any
    right: Any


#: Several inequalities at the same point: the printed form of each, with its sides.
Chain = Mapping[str, Sides | Constant]
Both = Callable[..., Sides | Chain]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One inequality: ``sides`` takes a point's parameters by name and returns (left, right), or several of
    them as a ``Chain``, whose printed forms stand in the place of ``name`` and ``text``. ``expect`` is its
    verdict where it is a cell."""

    name: str
    text: str
    sides: Both
    over: Grid
    expect: str = "verified"


@dataclass(frozen=True)
class Worst:
    """The largest measure of an inequality on a grid: ends as floats, where it is, and how many points there
    were."""

    name: str
    text: str
    low: float
    high: float
    point: Point
    count: int
    claimed: bool = True

    def estimate(
        self,
        measure: Measure,
        *,
        scope: str,
        details: Mapping[str, Any] | None = None,
        covers_claim: bool = True,
    ) -> Estimate:
        """The same as evidence on ``measure``; it covers the claim unless a point is missing."""
        return Estimate(
            quantity=measure,
            lower=self.low,
            upper=self.high,
            confidence=1.0,
            samples=self.count,
            method="ball arithmetic at every point of the grid",
            scope=scope or "no parameters",
            covers_claim=covers_claim,
            details=dict(details or {"at": in_words(self.point)}),
        )


@dataclass(frozen=True)
class Looked:
    """The step, or each inequality of its chain, at its worst point, and the points that raised."""

    worst: list[Worst]
    raised: list[Raised]


def worst_of(item: Step, run: Run, *, measure: Measure = "left / right") -> Worst:
    """Compute a step at all its points; of a chain, its worst inequality that is claimed.

    Raises ``UndecidedError`` where a side is not finite, a ratio's right side not certainly positive, or the
    grid has no point, and whatever the step raises at one of them.
    """
    looked = look(item, run, measure)
    if looked.raised:
        raise looked.raised[0].error
    each = [found for found in looked.worst if found.claimed]
    worst = max(each, key=lambda found: found.low)
    return replace(worst, high=max(found.high for found in each), count=sum(found.count for found in each))


def look(item: Step, run: Run, measure: Measure) -> Looked:
    """Compute a step at all its points. A point at which it cannot be computed is kept with its error.

    Raises ``UndecidedError`` for a chain that states other inequalities at one point than at another, and for
    a grid without a point that has one.
    """
    worst: dict[str, Worst] = {}
    raised: list[Raised] = []
    with precision(BITS):
        for point in item.over.at(run):
            try:
                with named_point(point):
                    here = list(_named(item, point))
                values = [_measured(name, sides, point, measure) for name, _, sides in here]
            except Exception as error:  # this point's alone, where there are others
                if not point:
                    raise
                raised.append(Raised(point, error))
                continue
            _require_the_same(item, worst, here, point)
            for (name, text, sides), value in zip(here, values, strict=True):
                claimed = not isinstance(sides, Constant)
                start = Worst(name, text, float("-inf"), float("-inf"), {}, 0, claimed)
                worst[name] = _updated(worst.get(name, start), value, point)
    if not raised and not any(found.claimed for found in worst.values()):
        raise UndecidedError(
            f"{item.name}: a grid must have a point with an inequality, got none; mend the grid."
        )
    return Looked(list(worst.values()), raised)


def _require_the_same(
    item: Step, worst: Mapping[str, Worst], here: Sequence[tuple[str, str, Any]], point: Point
) -> None:
    """A chain says the same at every point: what it leaves out somewhere it would claim there as well."""
    known = {name: found.claimed for name, found in worst.items()}
    stated = {name: not isinstance(sides, Constant) for name, _, sides in here}
    if known and known != stated:
        raise UndecidedError(
            f"{item.name}: a chain must state the same inequalities at every point, got {sorted(stated)} at "
            f"{in_words(point)} after {sorted(known)}; what holds on a part of the grid is a row of its own."
        )


def _named(item: Step, point: Point) -> Iterator[tuple[str, str, Sides | Constant]]:
    found = item.sides(**point)
    if isinstance(found, Mapping):
        yield from ((printed, printed, sides) for printed, sides in found.items())
    else:
        yield item.name, item.text, found


def _updated(worst: Worst, value: Any, point: Point) -> Worst:
    low, high = lower(value), max(worst.high, upper(value))
    if low > worst.low:
        return replace(worst, low=low, high=high, point=point, count=worst.count + 1)
    return replace(worst, high=high, count=worst.count + 1)


def _measured(name: str, sides: Sides | Constant, point: Point, measure: Measure) -> Any:
    ratio = isinstance(sides, Constant) or measure == "left / right"
    left, right = (sides.left, sides.right) if isinstance(sides, Constant) else sides
    for side in (left, right):
        if isinstance(side, float):
            raise UndecidedError(
                f"{name}: a side must be exact or a ball, got the float {side!r} at {in_words(point)}; "
                "compute it in fractions, or in balls (dpaudit.kernel.ball)."
            )
    if isinstance(left, arb) or isinstance(right, arb):
        left, right = (side if isinstance(side, arb) else ball(side) for side in (left, right))
    if ratio and not right > 0:
        raise UndecidedError(
            f"{name}: the right side must be positive, got {right} at {in_words(point)}; "
            "mend the grid, or take measure='left - right'."
        )
    if isinstance(left, arb):
        value = left / right if ratio else left - right
    else:  # two exact sides are compared exactly: where they are equal, no rounding comes between them
        left, right = Fraction(left), Fraction(right)
        value = ball(left / right if ratio else left - right)
    if not value.is_finite():
        raise UndecidedError(
            f"{name}: both sides must be finite, got {value} at {in_words(point)}; mend the grid."
        )
    return value
