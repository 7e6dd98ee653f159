"""Trace the function of an inequality: run it once per path on symbols, and return its sides as nodes.

The function runs for each combination of discrete values, and once per choice of its comparisons. Nothing of
it runs later, so state, caches, and a branch on the width of a ball cannot matter.
"""

from __future__ import annotations

import fractions
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpaudit.certify.ranges import Range
from dpaudit.kernel.inequalities import expression
from dpaudit.kernel.inequalities.domain import REAL, combinations
from dpaudit.prover.inequalities.lift import Lifting, Raised
from dpaudit.prover.inequalities.symbols import Condition, Decision, Node, NotTraceableError, Table

__all__ = ["Path", "Traced", "trace"]


@dataclass(frozen=True)
class Path:
    """One path of the function: its decisions, and its inequalities ``left <= right`` by name.

    ``raises`` is the name of an error that the function raises on this path. Its inequalities are then
    1 <= 0, so a proof shows that the path is not reached.
    """

    conditions: tuple[Decision, ...]
    sides: Mapping[str, tuple[int, int]]
    raises: str = ""


@dataclass(frozen=True)
class Traced:
    """The function for one combination of single values.

    ``values`` are the texts of the combination, and ``single`` the values of the discrete parameters.
    ``real`` are the names of the other parameters, in the order of their numbers. ``given`` are the
    conditions of the range.
    """

    values: Mapping[str, str]
    single: Mapping[str, Any]
    real: tuple[str, ...]
    nodes: tuple[Node, ...]
    given: tuple[Decision, ...]
    paths: tuple[Path, ...]

    @cached_property
    def table(self) -> expression.Table:
        """The nodes as the table that the kernel evaluates."""
        table = expression.Table()
        for node in self.nodes:
            table.node(*node)
        return table


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
    """Yield the paths of ``function`` for each combination of single values of ``over``.

    ``fixed`` are parameters with one exact value. ``stated`` is a class of sides that are not claimed. Raises
    ``NotTraceableError`` with line and function for anything that is not part of a formula.
    """
    for values in combinations(over.axes):
        yield _traced(function, over, values, dict(fixed or {}), stated)


def _traced(
    function: Callable[..., Any],
    over: Range,
    values: Mapping[str, str],
    fixed: Mapping[str, Any],
    stated: Any,
) -> Traced:
    table = Table()
    lifting = Lifting(table, {} if stated is None else {stated: lambda left, right: _Stated()})
    run, *asked = (lifting.function(item) for item in (function, *over.given, *over.chain))
    given, chain = asked[: len(over.given)], asked[len(over.given) :]
    real = tuple(name for name, text in values.items() if text == REAL)
    single = {name: over.value(name, text) for name, text in values.items() if text != REAL}
    symbols = {name: table.variable(number) for number, name in enumerate(real)}
    shared = {**single, **symbols}
    conditions = _given(table, given, shared)
    paths: list[Path] = []
    for taken, sides, raises in _paths(table, run, {**_exact_values(fixed), **shared}):
        found = {} if raises else dict(_sides(table, sides, chain, shared))
        paths.append(Path(taken, found, raises))
    finished = tuple(_finished(table, paths))
    return Traced(values, single, real, tuple(table.nodes), conditions, finished)


def _finished(table: Table, paths: list[Path]) -> Iterator[Path]:
    """Give 1 <= 0 to paths that raise. Require the same inequalities on the others."""
    names = {tuple(path.sides): path.sides for path in paths if not path.raises}
    if len(names) != 1:
        errors = ", ".join(sorted({path.raises for path in paths if path.raises}))
        raise NotTraceableError(
            f"the function raises {errors} on every path."
            if not names
            else "every path must state the same inequalities."
        )
    false = table.lift(1)._index, table.lift(0)._index
    for path in paths:
        (known,) = names
        yield replace(path, sides=dict.fromkeys(known, false)) if path.raises else path


def _exact_values(fixed: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in fixed.items():
        if isinstance(value, float):
            raise NotTraceableError(f"the fixed parameter {name} must be exact, got the float {value!r}.")
    return dict(fixed)


def _given(table: Table, given: list[Callable[..., Any]], point: Mapping[str, Any]) -> tuple[Decision, ...]:
    """Return the conditions of the range. The truth of a condition on single values is 0 <= 0 or 1 <= 0."""
    found: list[Decision] = []
    for ask in given:
        answer = _run(table, ask, point)
        for item in answer if isinstance(answer, tuple | list) else (answer,):
            if isinstance(item, Condition):
                found.append((item._smaller, item._larger, item._strict, True))
            elif isinstance(item, bool):
                found.append((table.lift(0 if item else 1)._index, table.lift(0)._index, False, True))
            else:
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
    own = (os.path.dirname(__file__), str(fractions.__file__))
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if not frame.filename.startswith(own)]
    return f"line {frames[-1].lineno} of {frames[-1].name}: " if frames else ""


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, NotTraceableError) else f"{type(error).__name__}: {error}"


def _sides(
    table: Table, sides: Any, chain: list[Callable[..., Any]], point: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each claimed inequality of a result, and each link if there are terms between its sides."""
    found = sides if isinstance(sides, dict) else {"": sides}
    claimed = [(name, pair) for name, pair in found.items() if not isinstance(pair, _Stated)]
    if not claimed:
        raise NotTraceableError("the function must state an inequality, got none.")
    for name, pair in claimed:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise NotTraceableError(
                f"the function must return (left, right) or a dictionary of them, got {type(pair).__name__}."
            )
        terms = [pair[0], *(_term(table, term, point) for term in chain), pair[1]]
        indices = [table.lift(term)._index for term in terms]
        for link, both in enumerate(itertools.pairwise(indices), start=1):
            yield (f"{name} link {link} of {len(chain) + 1}".strip() if chain else str(name)), both


def _term(table: Table, term: Callable[..., Any], point: Mapping[str, Any]) -> Any:
    before = len(table.taken)
    value = _run(table, term, point)
    if len(table.taken) != before:
        raise NotTraceableError("a term of a chain must not branch on parameters.")
    return value
