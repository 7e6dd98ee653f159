"""Define rows on expected values: regret, error or utility, simulated or exact, compared with a number.

    @expected(rows, "OPT", "after Theorem 1", at_most=5, over=over(means=[(1.0, 0.0)], epsilon="1/10 1"))
    def baseline(means: Sequence[float], epsilon: Fraction) -> Expression:
        \"\"\"The distributed algorithm's regret is at most 5 times that of the central one\"\"\"
        return regret(ours, means, epsilon) / regret(theirs, means, epsilon)

The function returns an ``Expression``. Its leaves at all points of the grid share the row's significance
level. The worst point counts, and the table shows every point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dpaudit.core.claims import Claim, LowerBound, Ordering, RegretBound, RegretRate
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike, exact, exact_str
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Outcome, Role, Run
from dpaudit.suite.crashes import Raised, crashed_points
from dpaudit.suite.declared import Declared
from dpaudit.suite.expression import Expression, Leaf, same_leaf
from dpaudit.suite.grid import Grid, Point, in_words, listed, symbol
from dpaudit.suite.regret.intervals import Interval
from dpaudit.suite.signature import named_point

__all__ = ["CLAIMS", "evaluated", "expected"]

Function = TypeVar("Function", bound=Callable[..., Expression])

METHOD = "bounds on each expected value that hold together, combined by interval arithmetic"

#: Claims that a row on an expected value can make.
CLAIMS: dict[str, type[Ordering | RegretRate | RegretBound | LowerBound]] = {
    "ordering": Ordering,
    "rate": RegretRate,
    "bound": RegretBound,
    "lower-bound": LowerBound,
}


@dataclass(frozen=True)
class _Cell:
    point: Point
    expression: Expression
    value: Interval


def _leaves(expressions: Sequence[Expression]) -> list[Leaf]:
    """Return each leaf once. Raises ``InvalidParameterError`` if leaves with one key differ in value."""
    leaves: dict[Leaf, Leaf] = {}
    for item in (found for expression in expressions for found in expression.leaves()):
        if not same_leaf(leaves.setdefault(item, item), item):
            raise InvalidParameterError(
                f"leaves with one key must bound the same value, got two different ones under {item.key!r}. "
                "Include in the key whatever differs.",
                code="E-LEAF-KEY-TWICE",
            )
    return list(leaves)


def evaluated(
    run: Run, expressions: Sequence[Expression], *, alpha: float
) -> tuple[list[Interval], dict[Leaf, Interval]]:
    """Return the intervals of the expressions, jointly at level ``alpha``, and those of the leaves."""
    leaves = _leaves(expressions)
    known = {item: item.bounding(run, alpha / len(leaves)) for item in leaves}
    return [expression.value(known) for expression in expressions], known


def _points_evaluated(
    run: Run, function: Callable[..., Expression], points: Sequence[Point], fixed: Mapping[str, Any]
) -> tuple[list[_Cell], dict[Leaf, Interval], list[Raised]]:
    """Return every point with its interval, the leaves' intervals, and the points that raised.

    The intervals hold jointly at the run's level. A leaf that raises removes every point that it is a part
    of, and keeps its share of the level.
    """
    raised: list[Raised] = []
    expressions: list[tuple[Point, Expression]] = []
    for point in points:
        try:
            with named_point(point):
                expressions.append((point, function(**point, **fixed)))
        except Exception as error:  # keep the other points
            raised.append(Raised(point, error))
    leaves = _leaves([expression for _, expression in expressions])
    known: dict[Leaf, Interval] = {}
    broken: dict[Leaf, Exception] = {}
    for item in leaves:
        try:
            known[item] = item.bounding(run, run.alpha / len(leaves))
        except Exception as error:
            broken[item] = error
    cells: list[_Cell] = []
    for point, expression in expressions:
        try:
            for item in expression.leaves():
                if item in broken:
                    raise broken[item]
            cells.append(_Cell(point, expression, expression.value(known)))
        except Exception as error:
            raised.append(Raised(point, error))
    if raised and not raised[0].point:  # a row without a grid is a single computation
        raise raised[0].error
    return cells, known, raised


def expected(
    rows: Group,
    id: str,
    source: str,
    *,
    at_most: ExactLike | None = None,
    at_least: ExactLike | None = None,
    over: Grid | None = None,
    claim: str = "ordering",
    quantity: str = "value",
    constants: Sequence[tuple[str, ExactLike]] = (),
    kind: str = "",
    role: Role = "printed",
    expect: str = "verified",
    method: str = "",
    repairs: str | Sequence[str] = (),
    **fixed: Any,
) -> Callable[[Function], Function]:
    """Return a decorator that adds the row ``id``, whose function returns an ``Expression`` for a point.

    Parameters
    ----------
    rows, id, source : Group, str, str
        The group of the row, its id and its source.
    at_most, at_least : number
        The claimed number, exactly one of the two. A lower bound requires ``at_least``.
    over : Grid, optional
        The points. Default: one computation without parameters.
    claim : str
        One of ``CLAIMS`` ("ordering").
    quantity, constants : str, sequence of (str, number)
        The name of the value, and this audit's constants in the claim.
    kind, role, expect, repairs : str
        Columns of the report and the expected verdict.
    method : str
        How the leaves were bounded, if they do not describe it themselves.
    **fixed : object
        Parameters with the same value at every point.

    Raises
    ------
    InvalidParameterError
        The claim has no number or two, or the function takes other parameters.
    """
    if (at_most is None) == (at_least is None) or (claim == "lower-bound") != (at_least is not None):
        raise InvalidParameterError(
            f"{id}: a claim requires exactly one number, at_least for a lower bound and at_most otherwise, "
            f"got at_most={at_most}, at_least={at_least}, claim={claim!r}.",
            code="E-CLAIM-NUMBER",
        )
    number = max(exact(end, name="the claimed number") for end in (at_least, at_most) if end is not None)
    grid = over or listed("", ())

    def decorate(function: Function) -> Function:
        declared = Declared(rows, id, source, role, expect, repairs)
        words = declared.words(function, over, fixed)

        def evaluate(run: Run) -> Outcome:
            cells, known, raised = _points_evaluated(run, function, list(grid.at(run)), fixed)
            crashed = crashed_points(raised, statement)
            if not cells:
                return Outcome([], words.notes, cells=crashed)
            least, leaves = at_most is None, list(known)
            estimate = _estimate(cells, grid, run, quantity, method, least=least, leaves=leaves)
            if crashed:
                scope = f"{estimate.scope}; without the points that raised"
                estimate = replace(estimate, covers_claim=False, scope=scope)
            picture = _table(words.title, cells, known, quantity)
            return Outcome([estimate], words.notes, plots=[picture], cells=crashed)

        where = f"; at every point of the grid {grid.scope}" if grid.scope else ""
        statement: Claim = CLAIMS[claim](
            text=f"{words.title}{where}",
            quantity_name=quantity,
            claimed=number,
            constants=tuple((name, exact_str(exact(value))) for name, value in constants),
        )
        own = "lower-bound" if at_most is None else "regret"
        declared.add(evaluate, words, statement, kind=kind or own)
        return function

    return decorate


def _estimate(
    cells: Sequence[_Cell],
    grid: Grid,
    run: Run,
    quantity: str,
    method: str,
    *,
    least: bool,
    leaves: Sequence[Leaf],
) -> Estimate:
    """Return the worst value of all cells: the largest for an upper claim, the smallest for a lower one."""
    worst = min if least else max
    low, high = worst(cell.value.low for cell in cells), worst(cell.value.high for cell in cells)
    there = worst(cells, key=lambda cell: cell.value.mean)
    return Estimate(
        quantity=quantity,
        lower=low,
        upper=high if math.isfinite(high) else None,
        confidence=1 - run.alpha if leaves else 1.0,
        samples=sum(item.runs(run) for item in leaves if item.runs) or len(cells),
        method=method or "; ".join(dict.fromkeys(item.method for item in leaves if item.method)) or METHOD,
        scope=grid.scope or "no parameters",
        seed=run.seed if leaves else None,
        covers_claim=True,
        details={"points": len(cells), "worst at": in_words(there.point)},
    )


def _table(title: str, cells: Sequence[_Cell], known: dict[Leaf, Interval], quantity: str) -> dict[str, Any]:
    """Return a table of all points: parameters, bounds, and means of leaves if all points have the same."""
    names = list(cells[0].point)
    labels = [[item.label for item in dict.fromkeys(cell.expression.leaves())] for cell in cells]
    shown = labels[0] if labels[0] and all(labels[0] == other and all(other) for other in labels) else []
    rows: list[list[Any]] = []
    for cell in cells:
        leaves = [known[item].mean for item in dict.fromkeys(cell.expression.leaves())] if shown else []
        ends = [cell.value.mean, cell.value.low, cell.value.high]
        rows.append([*(str(cell.point[name]) for name in names), *leaves, *map(_finite, ends)])
    return table(
        title=title,
        columns=[*map(symbol, names), *shown, quantity, "at least", "at most"],
        rows=rows,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
