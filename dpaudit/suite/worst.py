"""Compute an inequality in balls at every point of a grid: its largest measure, and points that raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from dpaudit.certify.ranges import Range
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
    """A ratio whose largest value a row reports without claiming it: the constant in an O(.), on the grid."""

    left: Any
    right: Any


#: Several inequalities at the same point: the printed form of each, and its sides.
Chain = Mapping[str, Sides | Constant]
Both = Callable[..., Sides | Chain]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One inequality.

    ``sides`` takes a point's parameters by name and returns (left, right), or several inequalities as a
    ``Chain``, whose printed forms replace ``name`` and ``text``. ``expect`` is the verdict if it is a cell.
    ``prove`` is the range on which the inequality is proved, if it can be.
    """

    name: str
    text: str
    sides: Both
    over: Grid
    expect: str = "verified"
    prove: Range | None = None


@dataclass(frozen=True)
class Worst:
    """The largest measure of an inequality on a grid: ends as floats, the point, and the number of points."""

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
        """Return the measure as evidence. It covers the claim unless a point is missing."""
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
    """A step, or each inequality of its chain, at its worst point, and the points that raised."""

    worst: list[Worst]
    raised: list[Raised]

    def with_points(self, more: Looked | None) -> Looked:
        """Return the worst of these points and of ``more`` points."""
        if more is None:
            return self
        others = {item.name: item for item in more.worst}
        return Looked([_worse(item, others[item.name]) for item in self.worst], self.raised)


def worst_of(item: Step, run: Run, *, measure: Measure = "left / right") -> Worst:
    """Compute a step at all its points, and return the worst claimed inequality.

    Raises ``UndecidedError`` if a side is not finite, if a ratio's right side is not certainly positive, or
    if the grid has no point. Raises whatever the step raises at a point.
    """
    looked = look(item, run, measure)
    if looked.raised:
        raise looked.raised[0].error
    each = [found for found in looked.worst if found.claimed]
    worst = max(each, key=lambda found: found.low)
    return replace(worst, high=max(found.high for found in each), count=sum(found.count for found in each))


def look(item: Step, run: Run, measure: Measure) -> Looked:
    """Compute a step at all its points, and keep the error of a point at which it raises.

    Raises ``UndecidedError`` for a chain with different inequalities at different points, and for a grid
    without a point that has an inequality.
    """
    worst: dict[str, Worst] = {}
    raised: list[Raised] = []
    with precision(BITS):
        for point in item.over.at(run):
            try:
                with named_point(point):
                    here = list(_named(item, point))
                values = [_measured(name, sides, point, measure) for name, _, sides in here]
            except Exception as error:  # keep the other points, if there are any
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
            f"{item.name}: the grid must have a point with an inequality, got none.", code="E-GRID-EMPTY"
        )
    return Looked(list(worst.values()), raised)


def _require_the_same(
    item: Step, worst: Mapping[str, Worst], here: Sequence[tuple[str, str, Any]], point: Point
) -> None:
    """Require the same inequalities at every point, because the row claims them on the whole grid."""
    known = {name: found.claimed for name, found in worst.items()}
    stated = {name: not isinstance(sides, Constant) for name, _, sides in here}
    if known and known != stated:
        raise UndecidedError(
            f"{item.name}: a chain must state the same inequalities at every point, got {sorted(stated)} at "
            f"{in_words(point)} after {sorted(known)}. Use another row for part of the grid.",
            code="E-CHAIN-DIFFERS",
        )


def _named(item: Step, point: Point) -> Iterator[tuple[str, str, Sides | Constant]]:
    found = item.sides(**point)
    if isinstance(found, Mapping):
        yield from ((printed, printed, sides) for printed, sides in found.items())
    else:
        yield item.name, item.text, found


def _worse(first: Worst, second: Worst) -> Worst:
    """Return both as one, with the point of the larger measure."""
    largest = second if second.low > first.low else first
    return replace(largest, high=max(first.high, second.high), count=first.count + second.count)


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
                f"{name}: a side must be exact or a ball, got the float {side!r} at {in_words(point)}. "
                "Compute it in fractions or in balls (dpaudit.kernel.ball).",
                code="E-SIDE-FLOAT",
            )
    if isinstance(left, arb) or isinstance(right, arb):
        left, right = (side if isinstance(side, arb) else ball(side) for side in (left, right))
    if ratio and not right > 0:
        raise UndecidedError(
            f"{name}: the right side must be positive, got {right} at {in_words(point)}. If it can be "
            "negative, pass measure='left - right'.",
            code="E-SIDE-NOT-POSITIVE",
        )
    if isinstance(left, arb):
        value = left / right if ratio else left - right
    else:  # compare two exact sides exactly, so that rounding cannot separate equal ones
        left, right = Fraction(left), Fraction(right)
        value = ball(left / right if ratio else left - right)
    if not value.is_finite():
        raise UndecidedError(
            f"{name}: both sides must be finite, got {value} at {in_words(point)}.", code="E-SIDE-NOT-FINITE"
        )
    return value
