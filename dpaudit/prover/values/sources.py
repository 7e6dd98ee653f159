"""The syntax tree of a function, checked against the code that would run."""

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
    """One function: its tree and its file."""

    node: Definition
    filename: str

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"


def source_of(function: FunctionType) -> Source:
    """The source of a function, read once for each code.

    Raises
    ------
    NotFollowedError
        There is no source, or it is not that of the function's code.
    """
    return _source_of(function.__code__, function.__qualname__)


@cache
def _source_of(code: CodeType, qualname: str) -> Source:
    name = f"{qualname} ({code.co_filename}:{code.co_firstlineno})"
    text = "".join(linecache.getlines(code.co_filename))
    if not text:
        raise NotFollowedError(f"{name}: its source is not there (write the function in a file)")
    try:
        tree, codes = _parsed(text, code.co_filename)
    except SyntaxError as error:
        raise NotFollowedError(f"{name}: its file does not parse: {error}") from error
    found = [
        node
        for node in _definitions(tree)
        if _first_line(node) == code.co_firstlineno and _name(node) == code.co_name
    ]
    if len(found) != 1:
        raise NotFollowedError(f"{name}: two functions of this name begin on one line")
    if code not in codes:
        raise NotFollowedError(
            f"{name}: the code that runs is not that of its file (was the file changed, or the function made"
            " from another?)"
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
