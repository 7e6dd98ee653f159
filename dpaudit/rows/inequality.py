"""Inequalities as rows: a decorated function computes both sides of ``left <= right``, in balls, at every
point of a grid.

The row's quantity is the largest left / right over all points, held against 1 (or left - right against 0,
where a side may be negative): below it the inequality holds on the grid, above it it is false at a named
point. The ends are rigorous: balls, rounded outward.

    @inequality(rows, "L8", "Lemma 8", kind="tail", over=over(n=(1, 5, full(2000)), p="1/10 1/2"))
    def hoeffding(n: int, p: Fraction) -> Sides:
        \"\"\"The mean of n variables in [0, 1] is within its radius with probability 1 - p or more\"\"\"
        return beyond(n, p), p

A function may return several inequalities at the same point, each under its printed form (``Chain``); a
``Constant`` among them is computed and stated, and claimed nowhere.
Decorators stack: the same function with other fixed parameters is a row of its own (printed, repaired).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

from dpaudit.claims import Ordering
from dpaudit.errors import UndecidedError
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.plots import table
from dpaudit.rows.grid import Grid, Point, in_words, listed
from dpaudit.rows.signature import named_point, require_parameters
from dpaudit.rows.words import Words, words_of
from dpaudit.suite import Cell, Group, Outcome, Role, Row, Run

__all__ = [
    "Chain",
    "Constant",
    "Measure",
    "Sides",
    "Step",
    "Worst",
    "inequality",
    "step",
    "steps",
    "worst_of",
]

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
Function = TypeVar("Function", bound=Callable[..., Any])


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

    def estimate(self, measure: Measure, *, scope: str, details: Mapping[str, Any] | None = None) -> Estimate:
        """The same as evidence on ``measure``."""
        return Estimate(
            quantity=measure,
            lower=self.low,
            upper=self.high,
            confidence=1.0,
            samples=self.count,
            method="ball arithmetic at every point of the grid",
            scope=scope or "no parameters",
            covers_claim=True,
            details=dict(details or {"at": in_words(self.point)}),
        )


def worst_of(item: Step, run: Run, *, measure: Measure = "left / right") -> Worst:
    """Compute a step at all its points; of a chain, its worst inequality that is claimed.

    Raises ``UndecidedError`` where a side is not finite, a ratio's right side not certainly positive, or the
    grid has no point.
    """
    each = [found for found in _worst_of_each(item, run, measure) if found.claimed]
    worst = max(each, key=lambda found: found.low)
    return replace(worst, high=max(found.high for found in each), count=sum(found.count for found in each))


def _worst_of_each(item: Step, run: Run, measure: Measure) -> list[Worst]:
    """The step, or each inequality of its chain, at its worst point."""
    worst: dict[str, Worst] = {}
    with precision(BITS):
        for point in item.over.at(run):
            with named_point(point):
                here = list(_named(item, point))
            _require_the_same(item, worst, here, point)
            for name, text, sides in here:
                value, claimed = _measured(name, sides, point, measure), not isinstance(sides, Constant)
                start = Worst(name, text, float("-inf"), float("-inf"), {}, 0, claimed)
                worst[name] = _updated(worst.get(name, start), value, point)
    if not any(found.claimed for found in worst.values()):
        raise UndecidedError(
            f"{item.name}: a grid must have a point with an inequality, got none; mend the grid."
        )
    return list(worst.values())


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


def step(name: str = "", *, over: Grid | None = None, expect: str = "verified") -> Callable[[Both], Step]:
    """Decorator: one inequality of a row of several (``steps``). Its docstring is the printed inequality; its
    name is the function's unless ``name`` says another; without a grid it is computed once. ``expect`` is for
    rows whose steps are cells."""

    def decorate(function: Both) -> Step:
        called = name or function.__name__.strip("_").replace("_", " ")
        words = words_of(function, {}, id=called)
        require_parameters(function, over, (), id=called)
        return Step(name=called, text=words.title, sides=function, over=over or listed("", ()), expect=expect)

    return decorate


def inequality(
    rows: Group,
    id: str,
    source: str,
    *,
    over: Grid | None = None,
    kind: str = "",
    role: Role = "printed",
    expect: str = "verified",
    measure: Measure = "left / right",
    case: str = "",
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``id``, whose function returns (left, right), or a ``Chain``, for a point's
    parameters, by name.

    ``kind`` is the group's unless named; ``fixed`` are parameters that are the same at every point of this
    row. The docstring says the title, the text and the notes (``words``); it may name fixed parameters, and
    ``case``, the words in which rows of one function differ, as ``{name}``. Returns the function as it was.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, {"case": case, **fixed}, id=id)
        require_parameters(function, over, fixed, id=id)

        def sides(**point: Any) -> Sides | Chain:
            both: Sides | Chain = function(**point, **fixed)
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
    kind: str = "",
    role: Role = "printed",
    expect: str = "verified",
    measure: Measure = "left / right",
    case: str = "",
    cells: bool = False,
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``id``, whose function returns its inequalities, a list of ``Step``.

    It is called once, with the ``fixed`` parameters, when the suite is built: nothing is computed then. With
    ``cells`` each of them is a cell of the row, with a verdict of its own: the same claim in other settings.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, {"case": case, **fixed}, id=id)
        parts: list[Step] = function(**fixed)
        add_steps(
            rows,
            id,
            source,
            parts,
            words=words,
            kind=kind,
            role=role,
            expect=expect,
            measure=measure,
            cells=cells,
        )
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
    cells: bool = False,
) -> None:
    """Add one row for several inequalities; the worst of them counts, or each is a cell."""
    scope = " | ".join(_scopes(parts))

    def evaluate(run: Run) -> Outcome:
        if cells:
            each = [_cell(part, run, measure) for part in parts]
            return Outcome([], words.notes, cells=each, samples=sum(cell.samples for cell in each))
        worst = [found for part in parts for found in _worst_of_each(part, run, measure)]
        estimate = _estimate(worst, measure, scope)
        picture = _table(words.title, worst, measure)
        notes = [*_failing(worst, measure), *_stated(worst), *words.notes]
        return Outcome([estimate], notes, plots=[picture], samples=estimate.samples)

    evaluate.__doc__ = words.about
    rows.add(
        Row(
            id=id,
            title=words.title,
            kind=kind or rows.kind,
            claim=_claim(parts, measure, scope),
            evaluate=evaluate,
            expect=expect,
            source=source,
            role=role,
        )
    )


def _claim(parts: Sequence[Step], measure: Measure, scope: str) -> Ordering:
    text = "; ".join(part.text for part in parts)
    return Ordering(
        text=f"{text}; at every point of the grid {scope}" if scope else text,
        quantity_name=measure,
        claimed=1 if measure == "left / right" else 0,
    )


def _estimate(worst: Sequence[Worst], measure: Measure, scope: str) -> Estimate:
    """The largest measure of all that is claimed."""
    claimed = [item for item in worst if item.claimed]
    ends = max(item.low for item in claimed), max(item.high for item in claimed)
    whole = replace(claimed[0], low=ends[0], high=ends[1], count=sum(item.count for item in worst))
    points = {item.name: in_words(item.point) for item in worst}
    return whole.estimate(measure, scope=scope, details=points)


def _cell(part: Step, run: Run, measure: Measure) -> Cell:
    """One step with a verdict of its own."""
    worst = _worst_of_each(part, run, measure)
    scope = part.over.scope
    estimate = _estimate(worst, measure, scope)
    return Cell(
        name=part.name,
        claim=_claim([part], measure, scope),
        evidence=[estimate],
        expect=part.expect,
        notes=[*_failing(worst, measure), *_stated(worst)],
        samples=estimate.samples,
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


def _failing(worst: Sequence[Worst], measure: Measure) -> list[str]:
    """The inequalities that fail, with their parameters."""
    limit = 1 if measure == "left / right" else 0
    return [
        f"{item.name} fails: {measure} = {item.low:.6g}{_at(item.point)}"
        for item in worst
        if item.claimed and item.low > limit
    ]


def _stated(worst: Sequence[Worst]) -> list[str]:
    """The constants, with the parameters at which they are largest."""
    return [
        f"on this grid {item.text} is at most {item.high:.6g}, and that much{_at(item.point)}"
        for item in worst
        if not item.claimed
    ]


def _at(point: Point) -> str:
    return f" at {in_words(point)}" if point else ""


def _table(title: str, worst: Sequence[Worst], measure: Measure) -> dict[str, Any]:
    rows = [[item.name, item.text, item.count, f"{item.low:.6g}", in_words(item.point)] for item in worst]
    return table(
        title=f"{title}: each step at its worst point",
        columns=["step", "inequality", "points", measure, "at"],
        rows=rows,
    )
