"""The steps of a proof as rows: both sides of a printed inequality, in balls, at every point of a grid.

A point is a set of named exact parameters. The row's quantity is the largest left/right over all steps and
points, held against 1 (or left - right against 0, where a side may be negative): below it the steps hold on
the grid, above it one of them is false at a named point. The ends are rigorous: balls, rounded outward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dpaudit.claims import Ordering
from dpaudit.errors import UndecidedError
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import lower, precision, upper
from dpaudit.plots import table
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = [
    "Inequality",
    "Measure",
    "Point",
    "Worst",
    "add_steps",
    "in_words",
    "worst_of",
]

BITS = 160

Number = int | Fraction
Point = Mapping[str, Number]
Measure = Literal["left / right", "left - right"]


@dataclass(frozen=True, kw_only=True)
class Inequality:
    """One printed step ``left <= right``. Both sides take a point's parameters by name and return balls."""

    name: str
    text: str
    left: Callable[..., Any]
    right: Callable[..., Any]
    points: Callable[[Run], Iterable[Point]]


@dataclass(frozen=True)
class Worst:
    """The largest measure on a grid: ends as floats, where it is, and how many points there were."""

    low: float
    high: float
    point: Point
    count: int


def worst_of(step: Inequality, run: Run, *, measure: Measure = "left / right") -> Worst:
    """Compute ``step`` at all its points.

    Raises ``UndecidedError`` where a side is not finite, or a ratio's right side not certainly positive.
    """
    low = high = float("-inf")
    where: Point = {}
    count = 0
    with precision(BITS):
        for point in step.points(run):
            value = _measured(step, point, measure)
            count += 1
            if lower(value) > low:
                low, where = lower(value), point
            high = max(high, upper(value))
    return Worst(low, high, where, count)


def _measured(step: Inequality, point: Point, measure: Measure) -> Any:
    left, right = step.left(**point), step.right(**point)
    ratio = measure == "left / right"
    if ratio and not right > 0:
        raise UndecidedError(
            f"{step.name}: the right side must be positive, got {right} at {in_words(point)}; mend the grid."
        )
    value = left / right if ratio else left - right
    if not value.is_finite():
        raise UndecidedError(
            f"{step.name}: both sides must be finite, got {value} at {in_words(point)}; mend the grid."
        )
    return value


def add_steps(
    suite: Suite,
    id: str,
    *,
    title: str,
    steps: Sequence[Inequality],
    about: str,
    source: str,
    scope: str,
    expect: str = "verified",
    kind: str = "structure",
    measure: Measure = "left / right",
    notes: Sequence[str] = (),
) -> None:
    """Add a row for ``steps``; ``about`` says in plain words what it does, ``scope`` names the grid."""

    def evaluate(run: Run) -> Outcome:
        found = [worst_of(step, run, measure=measure) for step in steps]
        count = sum(item.count for item in found)
        estimate = Estimate(
            quantity=measure,
            lower=max(item.low for item in found),
            upper=max(item.high for item in found),
            confidence=1.0,
            samples=count,
            method="ball arithmetic at every point of the grid",
            scope=scope,
            covers_claim=True,
            details={step.name: in_words(item.point) for step, item in zip(steps, found, strict=True)},
        )
        picture = _table(title, steps, found, measure)
        return Outcome([estimate], [*_where(steps, found, measure), *notes], plots=[picture], samples=count)

    evaluate.__doc__ = about
    claim = Ordering(
        text="; ".join(step.text for step in steps),
        quantity_name=measure,
        claimed=1 if measure == "left / right" else 0,
    )
    suite.add(
        Row(id=id, title=title, kind=kind, claim=claim, evaluate=evaluate, expect=expect, source=source)
    )


def _where(steps: Sequence[Inequality], found: Sequence[Worst], measure: Measure) -> list[str]:
    """The steps that fail, with their parameters."""
    limit = 1 if measure == "left / right" else 0
    return [
        f"{step.name} fails: {measure} = {item.low:.6g} at {in_words(item.point)}"
        for step, item in zip(steps, found, strict=True)
        if item.low > limit
    ]


def _table(
    title: str, steps: Sequence[Inequality], found: Sequence[Worst], measure: Measure
) -> dict[str, Any]:
    rows = [
        [step.name, step.text, item.count, f"{item.low:.6g}", in_words(item.point)]
        for step, item in zip(steps, found, strict=True)
    ]
    return table(
        title=f"{title}: each step at its worst point",
        columns=["step", "inequality", "points", measure, "at"],
        rows=rows,
    )


def in_words(point: Point) -> str:
    """``T = 1024, ε = 1/2``."""
    return ", ".join(f"{name} = {value}" for name, value in point.items())
