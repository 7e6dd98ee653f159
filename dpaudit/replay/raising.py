"""Find which lines of a program only raise, and what in the program may catch them.

A line that raises ends the run with an error, unless something catches it: an exception handler that does not
raise again, ``contextlib.suppress``, an ``__exit__`` that returns a true value, a ``finally`` that leaves by
``return``, ``break`` or ``continue``. Then the line is a branch like any other. Types are looked up by name
in the module that names them. A name that is not found there counts as any exception.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["Catcher", "catchers_in", "raising_lines", "raising_spans"]

#: An exception class, or ``None`` for any exception.
Catcher = type[BaseException] | None


def catchers_in(code: CodeType, names: Mapping[str, Any]) -> Iterator[Catcher]:
    """Yield the types that ``code`` may catch without raising. ``names`` are the globals of its module."""
    lines = _all_lines(code)
    for line, types in _index(code.co_filename)[1]:
        if line in lines:
            yield from _resolved(types, names)


def raising_lines(code: CodeType, names: Mapping[str, Any], catchers: Iterable[Catcher]) -> set[int]:
    """Return the lines of ``code`` that only raise errors that none of ``catchers`` catches."""
    lines = _all_lines(code)
    found: set[int] = set()
    for span, types in _index(code.co_filename)[0]:
        if not lines.isdisjoint(span):
            raised = list(_resolved(types, names))
            if not any(_meet(one, other) for one in raised for other in catchers):
                found |= set(span)
    return found


@lru_cache(maxsize=4096)
def raising_spans(code: CodeType) -> tuple[range, ...]:
    """Return the lines of each statement of ``code`` that only raises, whether or not anything catches it."""
    lines = _all_lines(code)
    return tuple(span for span, _ in _index(code.co_filename)[0] if not lines.isdisjoint(span))


def _meet(raised: Catcher, caught: Catcher) -> bool:
    """Return whether an exception of one type may be of the other as well."""
    if raised is None or caught is None:
        return True
    return issubclass(raised, caught) or issubclass(caught, raised)


def _all_lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line is not None}


def _resolved(types: tuple[ast.expr, ...] | None, names: Mapping[str, Any]) -> Iterator[Catcher]:
    if types is None:
        yield None
        return
    for node in types:
        found = _value(node, names)
        for item in found if isinstance(found, tuple) else (found,):
            yield item if isinstance(item, type) and issubclass(item, BaseException) else None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of a dotted name, or ``None`` if it is not found or ``node`` is something else."""
    if isinstance(node, ast.Name):
        builtin = names.get("__builtins__", {})
        known = builtin if isinstance(builtin, dict) else vars(builtin)
        return names.get(node.id, known.get(node.id))
    return getattr(_value(node.value, names), node.attr, None) if isinstance(node, ast.Attribute) else None


_Types = tuple[ast.expr, ...] | None
_Index = tuple[list[tuple[range, _Types]], list[tuple[int, _Types]]]


@lru_cache(maxsize=256)
def _index(filename: str) -> _Index:
    """Return spans of lines that only raise, and lines that catch, with their types (``None``: any)."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return [], []
    raising: list[tuple[range, _Types]] = []
    catching: list[tuple[int, _Types]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            raising.append((_span(node), _raised(node)))
        elif isinstance(node, ast.ExceptHandler):
            if isinstance(node.body[0], ast.Raise):
                types = _raised(node.body[0])
                raising.append((_span(node), _listed(node.type) if node.body[0].exc is None else types))
            if not _ends_in_raise(node.body):
                catching.append((node.lineno, _listed(node.type)))
        elif isinstance(node, ast.Try | ast.TryStar):
            catching += [(item.lineno, None) for item in _leaving(node.finalbody)]
        elif isinstance(node, ast.With | ast.AsyncWith):
            catching += [found for item in node.items for found in _suppressing(item.context_expr)]
        elif isinstance(node, ast.FunctionDef) and node.name == "__exit__":
            catching += [(item.lineno, None) for item in _answers(node)]
    return raising, catching


def _span(node: ast.stmt | ast.ExceptHandler) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _raised(node: ast.Raise) -> _Types:
    """Return the type in ``raise Type(...)`` or ``raise Type``, or ``None`` for another expression."""
    if node.exc is None:
        return None
    return (node.exc.func if isinstance(node.exc, ast.Call) else node.exc,)


def _listed(node: ast.expr | None) -> _Types:
    if node is None:
        return None
    return tuple(node.elts) if isinstance(node, ast.Tuple) else (node,)


def _ends_in_raise(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise) and not list(_leaving(body))


def _leaving(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements that leave ``body`` other than by raising. Those of nested functions count too."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return | ast.Break | ast.Continue):
                yield node


def _suppressing(node: ast.expr) -> Iterator[tuple[int, _Types]]:
    """Yield ``suppress(...)``, recognised by its name, and an ``ExitStack``, which may hold one."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "suppress":
            yield node.lineno, tuple(node.args)
        elif name in ("ExitStack", "AsyncExitStack"):
            yield node.lineno, None


def _answers(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Yield the ``return`` statements of anything except ``None`` or ``False``."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None and not _is_no(node.value):
            yield node


def _is_no(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, False)
