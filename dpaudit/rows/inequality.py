"""Inequalities as rows: a decorated function computes both sides of ``left <= right``, in balls, at every
point of a grid.

The row's quantity is the largest left / right over all points, held against 1 (or left - right against 0,
where a side may be negative): below it the inequality holds on the grid, above it it is false at a named
point. The ends are rigorous: balls, rounded outward.

    @inequality(rows, "L8", "Lemma 8", kind="tail", over=over(n=(1, 5, full(2000)), p="1/10 1/2"))
    def hoeffding(n: int, p: Fraction) -> Sides:
        \"\"\"The mean of n variables in [0, 1] is within its radius with probability 1 - p or more\"\"\"
        return beyond(n, p), p

Decorators stack: the same function with other fixed parameters is a row of its own (printed, repaired).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from dpaudit.claims import Ordering
from dpaudit.errors import UndecidedError
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.plots import table
from dpaudit.rows.grid import Grid, Point, in_words, listed
from dpaudit.rows.words import Words, words_of
from dpaudit.suite import Group, Outcome, Role, Row, Run

__all__ = ["Measure", "Sides", "Step", "Worst", "inequality", "step", "steps", "worst_of"]

BITS = 160

Measure = Literal["left / right", "left - right"]
#: Both sides of an inequality: exact numbers or balls.
Sides = tuple[Any, Any]
Both = Callable[..., Sides]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Step:
    """One inequality: ``sides`` takes a point's parameters by name and returns (left, right)."""

    name: str
    text: str
    sides: Both
    over: Grid


@dataclass(frozen=True)
class Worst:
    """The largest measure on a grid: ends as floats, where it is, and how many points there were."""

    low: float
    high: float
    point: Point
    count: int


def worst_of(item: Step, run: Run, *, measure: Measure = "left / right") -> Worst:
    """Compute a step at all its points.

    Raises ``UndecidedError`` where a side is not finite, a ratio's right side not certainly positive, or the
    grid has no point.
    """
    low = high = float("-inf")
    where: Point = {}
    count = 0
    with precision(BITS):
        for point in item.over.at(run):
            value = _measured(item, point, measure)
            count += 1
            if lower(value) > low:
                low, where = lower(value), point
            high = max(high, upper(value))
    if not count:
        raise UndecidedError(f"{item.name}: a grid must have a point, got none; mend the grid.")
    return Worst(low, high, where, count)


def _measured(item: Step, point: Point, measure: Measure) -> Any:
    left, right = (side if isinstance(side, arb) else ball(side) for side in item.sides(**point))
    ratio = measure == "left / right"
    if ratio and not right > 0:
        raise UndecidedError(
            f"{item.name}: the right side must be positive, got {right} at {in_words(point)}; mend the grid."
        )
    value = left / right if ratio else left - right
    if not value.is_finite():
        raise UndecidedError(
            f"{item.name}: both sides must be finite, got {value} at {in_words(point)}; mend the grid."
        )
    return value


def step(name: str = "", *, over: Grid | None = None) -> Callable[[Both], Step]:
    """Decorator: one inequality of a row of several (``steps``). Its docstring is the printed inequality; its
    name is the function's unless ``name`` says another; without a grid it is computed once."""

    def decorate(function: Both) -> Step:
        called = name or function.__name__.strip("_").replace("_", " ")
        words = words_of(function, {}, id=called)
        return Step(name=called, text=words.title, sides=function, over=over or listed("", ()))

    return decorate


def inequality(
    rows: Group,
    id: str,
    source: str,
    *,
    over: Grid | None = None,
    kind: str = "structure",
    role: Role = "printed",
    expect: str = "verified",
    measure: Measure = "left / right",
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``id``, whose function returns (left, right) for a point's parameters, by name.

    ``fixed`` are parameters that are the same at every point of this row. The docstring says the title, the
    text and the notes (``words``). Returns the function as it was.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, fixed, id=id)

        def sides(**point: Any) -> Sides:
            both: Sides = function(**point, **fixed)
            return both

        only = Step(name="inequality", text=words.title, sides=sides, over=over or listed("", ()))
        add_steps(rows, id, source, [only], words=words, kind=kind, role=role, expect=expect, measure=measure)
        return function

    return decorate


def steps(
    rows: Group,
    id: str,
    source: str,
    *,
    kind: str = "structure",
    role: Role = "printed",
    expect: str = "verified",
    measure: Measure = "left / right",
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``id``, whose function returns its inequalities, a list of ``Step``.

    It is called once, with the ``fixed`` parameters, when the suite is built: nothing is computed then.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, fixed, id=id)
        parts: list[Step] = function(**fixed)
        add_steps(rows, id, source, parts, words=words, kind=kind, role=role, expect=expect, measure=measure)
        return function

    return decorate


def add_steps(
    rows: Group,
    id: str,
    source: str,
    parts: Sequence[Step],
    *,
    words: Words,
    kind: str,
    role: Role,
    expect: str,
    measure: Measure,
) -> None:
    """Add one row for several inequalities; the worst of them counts."""
    scope = " | ".join(_scopes(parts))

    def evaluate(run: Run) -> Outcome:
        worst = [worst_of(part, run, measure=measure) for part in parts]
        count = sum(item.count for item in worst)
        estimate = Estimate(
            quantity=measure,
            lower=max(item.low for item in worst),
            upper=max(item.high for item in worst),
            confidence=1.0,
            samples=count,
            method="ball arithmetic at every point of the grid",
            scope=scope or "no parameters",
            covers_claim=True,
            details={part.name: in_words(item.point) for part, item in zip(parts, worst, strict=True)},
        )
        picture = _table(words.title, parts, worst, measure)
        failing = _failing(parts, worst, measure)
        return Outcome([estimate], [*failing, *words.notes], plots=[picture], samples=count)

    evaluate.__doc__ = words.about
    text = "; ".join(part.text for part in parts)
    claim = Ordering(
        text=f"{text}; at every point of the grid {scope}" if scope else text,
        quantity_name=measure,
        claimed=1 if measure == "left / right" else 0,
    )
    rows.add(
        Row(
            id=id,
            title=words.title,
            kind=kind,
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            source=source,
            role=role,
        )
    )


def _scopes(parts: Sequence[Step]) -> list[str]:
    """Each grid once; with the steps' names where there are several."""
    grids = {
        part.over.scope: [other.name for other in parts if other.over.scope == part.over.scope]
        for part in parts
    }
    if len(grids) == 1:
        return [scope for scope in grids if scope]
    return [f"{', '.join(names)}: {scope or 'no parameters'}" for scope, names in grids.items()]


def _failing(parts: Sequence[Step], worst: Sequence[Worst], measure: Measure) -> list[str]:
    """The steps that fail, with their parameters."""
    limit = 1 if measure == "left / right" else 0
    return [
        f"{part.name} fails: {measure} = {item.low:.6g}{_at(item.point)}"
        for part, item in zip(parts, worst, strict=True)
        if item.low > limit
    ]


def _at(point: Point) -> str:
    return f" at {in_words(point)}" if point else ""


def _table(title: str, parts: Sequence[Step], worst: Sequence[Worst], measure: Measure) -> dict[str, Any]:
    rows = [
        [part.name, part.text, item.count, f"{item.low:.6g}", in_words(item.point)]
        for part, item in zip(parts, worst, strict=True)
    ]
    return table(
        title=f"{title}: each step at its worst point",
        columns=["step", "inequality", "points", measure, "at"],
        rows=rows,
    )
