"""Trace the function of an inequality: run it once per path on symbols, and return its sides as nodes.

The function runs for each combination of discrete values, and once per choice of its comparisons. Nothing of
it runs later, so state, caches, and a branch on the width of a ball cannot matter.
"""

from __future__ import annotations

import fractions
import itertools
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.prover.inequalities.lift import Lifting, Raised
from dpaudit.prover.inequalities.ranges import Range, Reals
from dpaudit.prover.inequalities.symbols import Condition, Decision, Node, NotTraceableError, Table

__all__ = ["Part", "Traced", "trace"]


@dataclass(frozen=True)
class Part:
    """One inequality ``left <= right`` on one path.

    ``name`` is its printed form in a chain of several, and ``link`` its number in a chain of terms.
    ``raises`` is the name of an error that the function raises on this path, which must not be reachable.
    """

    name: str
    left: int
    right: int
    conditions: tuple[Decision, ...]
    link: int = 0
    raises: str = ""


@dataclass(frozen=True)
class Traced:
    """All inequalities for one combination of discrete values.

    ``values`` are the discrete parameters. ``variables`` are the names of the others, in the order of their
    numbers, and ``ranges`` their ranges.
    """

    values: Mapping[str, Any]
    variables: tuple[str, ...]
    ranges: tuple[Reals, ...]
    nodes: tuple[Node, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class _Stated:
    """The stand-in for a ``Constant``, which is computed but not claimed."""


def trace(
    function: Callable[..., Any],
    over: Range,
    *,
    fixed: Mapping[str, Any] | None = None,
    stated: Any = None,
) -> Iterator[Traced]:
    """Yield the inequalities of ``function`` for each combination of discrete values of ``over``.

    ``fixed`` are parameters with one exact value. ``stated`` is a class of sides that are not claimed. Raises
    ``NotTraceableError`` with line and function for anything that is not part of a formula.
    """
    for values in over.combinations():
        yield _traced(function, over, values, dict(fixed or {}), stated)


def _traced(
    function: Callable[..., Any],
    over: Range,
    values: Mapping[str, Any],
    fixed: Mapping[str, Any],
    stated: Any,
) -> Traced:
    table = Table()
    lifting = Lifting(table, {} if stated is None else {stated: lambda left, right: _Stated()})
    run, *asked = (lifting.function(item) for item in (function, *over.given, *over.chain))
    given, chain = asked[: len(over.given)], asked[len(over.given) :]
    names = tuple(name for name, value in values.items() if isinstance(value, Reals))
    symbols = {name: table.variable(number) for number, name in enumerate(names)}
    plain = {name: value for name, value in values.items() if name not in symbols}
    point = {**_exact_values(fixed), **plain, **symbols}
    shared = {name: value for name, value in point.items() if name not in fixed}
    conditions = _given(table, given, shared)
    parts: list[Part] = []
    if conditions is not None:
        for taken, sides, raises in _paths(table, run, point):
            decided = tuple(dict.fromkeys((*conditions, *taken)))
            if raises:
                false = table.lift(1)._index, table.lift(0)._index
                parts.append(Part("", *false, decided, raises=raises))
            else:
                parts.extend(_parts(table, sides, decided, chain, shared))
    ranges = tuple(value for value in values.values() if isinstance(value, Reals))
    return Traced(plain, names, ranges, tuple(table.nodes), tuple(parts))


def _exact_values(fixed: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in fixed.items():
        if isinstance(value, float):
            raise NotTraceableError(f"the fixed parameter {name} must be exact, got the float {value!r}.")
    return dict(fixed)


def _given(
    table: Table, given: list[Callable[..., Any]], point: Mapping[str, Any]
) -> tuple[Decision, ...] | None:
    """Return the conditions of the range, or ``None`` if they exclude these discrete values."""
    found: list[Decision] = []
    for ask in given:
        answer = _run(table, ask, point)
        for item in answer if isinstance(answer, tuple | list) else (answer,):
            if isinstance(item, Condition):
                found.append((item._smaller, item._larger, item._strict, True))
            elif item is False:
                return None
            elif item is not True:
                raise NotTraceableError(
                    f"a condition must be a comparison or several, got a {type(item).__name__}."
                )
        if table.taken:
            raise NotTraceableError(
                "a condition must not branch on parameters: return a tuple of comparisons instead of `and`."
            )
    return tuple(found)


def _paths(
    table: Table, run: Callable[..., Any], point: Mapping[str, Any]
) -> Iterator[tuple[tuple[Decision, ...], Any, str]]:
    """Yield each path: its decisions, the sides, and the error that the function raises there."""
    todo: list[list[bool]] = [[]]
    while todo:
        table.plan, table.taken = todo.pop(), []
        sides, raises = None, ""
        try:
            sides = _run(table, run, point)
        except Raised as error:
            raises = str(error)
        taken = tuple(table.taken)
        for number in range(len(table.plan), len(taken)):
            todo.append([truth for *_, truth in taken[:number]] + [False])
        yield taken, sides, raises
    table.plan, table.taken = [], []


def _run(table: Table, function: Callable[..., Any], point: Mapping[str, Any]) -> Any:
    """Call a copied function. Every error of it becomes a ``NotTraceableError`` with its line and name."""
    try:
        return function(**point)
    except Raised:
        raise
    except Exception as error:
        raise NotTraceableError(f"{_place(error)}{_reason(error)}") from error


def _place(error: BaseException) -> str:
    """Return line and function of the innermost code of the row in a traceback, or ""."""
    own = (str(Path(__file__).parent), str(fractions.__file__))
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if not frame.filename.startswith(own)]
    return f"line {frames[-1].lineno} of {frames[-1].name}: " if frames else ""


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, NotTraceableError) else f"{type(error).__name__}: {error}"


def _parts(
    table: Table,
    sides: Any,
    conditions: tuple[Decision, ...],
    chain: list[Callable[..., Any]],
    point: Mapping[str, Any],
) -> Iterator[Part]:
    """Yield each claimed inequality of a result, and each link if there are terms between its sides."""
    named = sides.items() if isinstance(sides, dict) else [("", sides)]
    for name, pair in named:
        if isinstance(pair, _Stated):
            continue
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise NotTraceableError(
                f"the function must return (left, right) or a dictionary of them, got {type(pair).__name__}."
            )
        terms = [pair[0], *(_term(table, term, point) for term in chain), pair[1]]
        indices = [table.lift(term)._index for term in terms]
        for link, (left, right) in enumerate(itertools.pairwise(indices)):
            yield Part(str(name), left, right, conditions, link)


def _term(table: Table, term: Callable[..., Any], point: Mapping[str, Any]) -> Any:
    before = len(table.taken)
    value = _run(table, term, point)
    if len(table.taken) != before:
        raise NotTraceableError("a term of a chain must not branch on parameters.")
    return value
