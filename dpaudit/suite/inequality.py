"""Define rows on inequalities: a decorated function computes both sides of ``left <= right`` in balls.

The row's quantity is the largest left / right over all points of the grid, compared with 1 (or left - right
compared with 0, if a side may be negative). Below it, the inequality holds on the grid. Above it, the
inequality is false at a named point. The ends are rigorous: balls, rounded outward.

    @inequality(rows, "L8", "Lemma 8", kind="tail", over=over(n=(1, 5, full(2000)), p="1/10 1/2"))
    def hoeffding(n: int, p: Fraction) -> Sides:
        \"\"\"The mean of n variables in [0, 1] is within its radius with probability 1 - p or more\"\"\"
        return beyond(n, p), p

A function may return several inequalities at the same point, each under its printed form (``Chain``). A
``Constant`` among them is computed and reported but not claimed. Decorators stack: the same function with
other fixed parameters is another row (printed, repaired).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from dpaudit.certify.ranges import Range
from dpaudit.core.claims import Ordering
from dpaudit.core.evidence import Estimate
from dpaudit.core.plots import table
from dpaudit.core.suite import Cell, Group, Outcome, Role, Run
from dpaudit.suite.crashes import crashed_points
from dpaudit.suite.declared import Declared
from dpaudit.suite.grid import Grid, Point, in_words, listed
from dpaudit.suite.proved_inequality import Attempt, attempt, in_scope
from dpaudit.suite.signature import require_parameters, require_range
from dpaudit.suite.words import Words, words_of
from dpaudit.suite.worst import Both, Looked, Measure, Step, Worst, look

__all__ = ["inequality", "step", "steps"]

Function = TypeVar("Function", bound=Callable[..., Any])


def step(
    name: str = "", *, over: Grid | None = None, expect: str = "verified", prove: Range | None = None
) -> Callable[[Both], Step]:
    """Return a decorator for one inequality of a row of several (``steps``).

    Its docstring is the printed inequality. Its name is the function's, or ``name``. Without a grid it is
    computed once. ``expect`` is for rows whose steps are cells. ``prove`` is as for ``inequality``.
    """

    def decorate(function: Both) -> Step:
        called = name or function.__name__.strip("_").replace("_", " ")
        words = words_of(function, {}, id=called)
        require_parameters(function, over, (), id=called)
        require_range(function, prove, (), id=called)
        grid = over or listed("", ())
        return Step(name=called, text=words.title, sides=function, over=grid, expect=expect, prove=prove)

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
    repairs: str | Sequence[str] = (),
    prove: Range | None = None,
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the row ``id``, whose function returns the sides of an inequality.

    The function takes a point's parameters by name and returns (left, right), or a ``Chain``. Its docstring
    holds the title, the text and the notes (``words``). It may contain fixed parameters, and ``case``, as
    ``{name}``. The decorator returns the function unchanged.

    Parameters
    ----------
    rows, id, source : Group, str, str
        The group of the row, its id and its source.
    over : Grid, optional
        The points. Default: one computation without parameters.
    kind, role, expect, repairs : str
        Columns of the report and the expected verdict. The default kind is the group's.
    measure : str
        "left / right" (the default), or "left - right" if a side may be negative.
    case : str
        Text that distinguishes rows of one function.
    prove : Range, optional
        The printed range, made by ``on``. If the inequality is proved there, the row's strength is "proved"
        and its scope is the range. If it is false at a point of the range, this point is added to the grid.
        Otherwise a note says where the proof stopped. Not used if a point of the grid fails or raises.
    **fixed : object
        Parameters with the same value at every point of this row.
    """

    def decorate(function: Function) -> Function:
        declared = Declared(rows, id, source, role, expect, repairs)
        words = declared.words(function, over, fixed, case=case)
        require_range(function, prove, fixed, id=id)
        only = Step(
            name="inequality",
            text=words.title,
            sides=partial(function, **fixed) if fixed else function,
            over=over or listed("", ()),
            prove=prove,
        )
        _add(declared, [only], words, kind=kind, measure=measure)
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
    repairs: str | Sequence[str] = (),
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the row ``id``, whose function returns a list of ``Step``.

    The function is called once, with the ``fixed`` parameters, when the suite is built, and computes nothing
    then. With ``cells`` each step is a cell of the row with its own verdict: the same claim in other
    settings. The other parameters are those of ``inequality``.
    """

    def decorate(function: Function) -> Function:
        words = words_of(function, {"case": case, **fixed}, id=id)
        declared = Declared(rows, id, source, role, expect, repairs)
        parts: list[Step] | None = declared.built(lambda: list(function(**fixed)), title=words.title)
        if parts is None:
            return function
        _add(declared, parts, words, kind=kind, measure=measure, cells=cells)
        return function

    return decorate


def _add(
    declared: Declared,
    parts: Sequence[Step],
    words: Words,
    *,
    kind: str,
    measure: Measure,
    cells: bool = False,
) -> None:
    """Add one row for several inequalities. The worst of them counts, or each is a cell."""
    scope = " | ".join(_scopes(parts))

    def evaluate(run: Run) -> Outcome:
        looked = [look(part, run, measure) for part in parts]
        tried = [attempt(part, found, run, measure) for part, found in zip(parts, looked, strict=True)]
        looked = [found.with_points(one.looked) for found, one in zip(looked, tried, strict=True)]
        if cells:
            triples = zip(parts, looked, tried, strict=True)
            each = [cell for part, found, one in triples for cell in _cells(part, found, one, measure)]
            return Outcome([], words.notes, cells=each, samples=sum(cell.samples for cell in each))
        return _whole(parts, looked, tried, measure, scope=scope, words=words)

    declared.add(evaluate, words, _claim(parts, measure, scope), kind=kind or declared.rows.kind)


def _claim(parts: Sequence[Step], measure: Measure, scope: str) -> Ordering:
    text = "; ".join(part.text for part in parts)
    text = f"{text}; at every point of the grid {scope}" if scope else text
    return Ordering(
        text=f"{text}{in_scope(parts)}",
        quantity_name=measure,
        claimed=1 if measure == "left / right" else 0,
    )


def _whole(
    parts: Sequence[Step],
    looked: Sequence[Looked],
    tried: Sequence[Attempt],
    measure: Measure,
    *,
    scope: str,
    words: Words,
) -> Outcome:
    """Return all inequalities as one, and a cell for each point at which one of them raised."""
    crashed = [
        cell
        for part, found in zip(parts, looked, strict=True)
        for cell in _crashed(part, found, measure, before=f"{part.name}: " if len(parts) > 1 else "")
    ]
    worst = [item for found in looked for item in found.worst]
    attempted = [note for one in tried for note in one.notes]
    notes = [*_failing(worst, measure), *_stated(worst), *attempted, *words.notes]
    picture = _table(words.title, worst, measure)
    if not any(item.claimed for item in worst):  # every point raised
        return Outcome([], notes, plots=[picture], cells=crashed)
    estimate = _estimate(worst, measure, scope, whole=not crashed)
    proofs = [one.proof for one in tried if one.proof is not None]
    proved = proofs if len(proofs) == len(parts) else []
    return Outcome([*proved, estimate], notes, plots=[picture], samples=estimate.samples, cells=crashed)


def _crashed(part: Step, found: Looked, measure: Measure, *, before: str) -> list[Cell]:
    return crashed_points(found.raised, _claim([part], measure, part.over.scope), before=before)


def _estimate(worst: Sequence[Worst], measure: Measure, scope: str, *, whole: bool) -> Estimate:
    """Return the largest measure of all claimed inequalities. If points are missing, it covers no claim."""
    claimed = [item for item in worst if item.claimed]
    ends = max(item.low for item in claimed), max(item.high for item in claimed)
    largest = replace(claimed[0], low=ends[0], high=ends[1], count=sum(item.count for item in worst))
    points = {item.name: in_words(item.point) for item in worst}
    text = scope if whole else f"{scope or 'no parameters'}; without the points that raised"
    return largest.estimate(measure, scope=text, details=points, covers_claim=whole)


def _cells(part: Step, found: Looked, tried: Attempt, measure: Measure) -> list[Cell]:
    """Return one step with its own verdict, and a cell for each of its points that raised."""
    crashed = _crashed(part, found, measure, before=f"{part.name}: ")
    if not any(item.claimed for item in found.worst):
        return crashed
    scope = part.over.scope
    estimate = _estimate(found.worst, measure, scope, whole=not crashed)
    cell = Cell(
        name=part.name,
        claim=_claim([part], measure, scope),
        evidence=[*([tried.proof] if tried.proof is not None else []), estimate],
        expect=part.expect,
        notes=[*_failing(found.worst, measure), *_stated(found.worst), *tried.notes],
        samples=estimate.samples,
    )
    return [cell, *crashed]


def _scopes(parts: Sequence[Step]) -> list[str]:
    """Return each grid once, with the steps' names if there are several."""
    grids = {
        part.over.scope: [other.name for other in parts if other.over.scope == part.over.scope]
        for part in parts
    }
    if len(grids) == 1:
        return [scope for scope in grids if scope]
    return [f"{', '.join(names)}: {scope or 'no parameters'}" for scope, names in grids.items()]


def _failing(worst: Sequence[Worst], measure: Measure) -> list[str]:
    """Describe the inequalities that fail, with their parameters."""
    limit = 1 if measure == "left / right" else 0
    return [
        f"{item.name} fails: {measure} = {item.low:.6g}{_at(item.point)}"
        for item in worst
        if item.claimed and item.low > limit
    ]


def _stated(worst: Sequence[Worst]) -> list[str]:
    """Describe the constants, with the parameters at which they are largest."""
    return [
        f"on this grid {item.text} is at most {item.high:.6g}, attained{_at(item.point)}"
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
