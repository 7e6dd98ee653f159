"""Find the syntax tree of a function, and check it against the code that would run."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from dpaudit.prover.values.run import NotFollowedError

__all__ = ["Source", "source_of"]

Definition = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Source:
    """The syntax tree of one function, and its file."""

    node: Definition
    filename: str

    @property
    def name(self) -> str:
        """Return the name of the function, for messages."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"


def source_of(function: FunctionType) -> Source:
    """Return the source of a function, cached by its code object.

    Raises
    ------
    NotFollowedError
        There is no source, or it does not match the function's code.
    """
    return _source_of(function.__code__, function.__qualname__)


@cache
def _source_of(code: CodeType, qualname: str) -> Source:
    name = f"{qualname} ({code.co_filename}:{code.co_firstlineno})"
    text = "".join(linecache.getlines(code.co_filename))
    if not text:
        raise NotFollowedError(f"{name}: the source is not available (define the function in a file)")
    try:
        tree, codes = _parsed(text, code.co_filename)
    except SyntaxError as error:
        raise NotFollowedError(f"{name}: the file cannot be parsed: {error}") from error
    found = [
        node
        for node in _definitions(tree)
        if _first_line(node) == code.co_firstlineno and _name(node) == code.co_name
    ]
    if len(found) != 1:
        raise NotFollowedError(
            f"{name}: the source must hold exactly one function of this name on this line, found {len(found)}"
        )
    if code not in codes:
        raise NotFollowedError(
            f"{name}: the code that runs differs from the code in its file (the file was changed after the"
            " import, or the function was built from another function)"
        )
    return Source(found[0], code.co_filename)


@cache
def _parsed(text: str, filename: str) -> tuple[ast.Module, frozenset[CodeType]]:
    tree = ast.parse(text, filename)
    whole = compile(text, filename, "exec", dont_inherit=True)
    return tree, frozenset(_codes(whole))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def _definitions(tree: ast.Module) -> list[Definition]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _name(node: Any) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def _first_line(node: Any) -> int:
    lines = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
    return int(min([node.lineno, *lines]))
