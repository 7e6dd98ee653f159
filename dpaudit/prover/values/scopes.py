"""Define scopes, followed functions, and the other values that a name may refer to."""

from __future__ import annotations

import ast
import builtins
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from dpaudit.prover.values.operations import (
    content,
)
from dpaudit.prover.values.randomness import (
    GENERATOR,
)
from dpaudit.prover.values.sources import Source
from dpaudit.prover.values.values import (
    Draw,
    Entries,
    Noisy,
    Private,
    Public,
    Symbol,
)

__all__ = [
    "CONTAINERS",
    "ERRORS",
    "MAX_DEPTH",
    "OPERATORS",
    "SPECIAL",
    "Bound",
    "Class",
    "DictView",
    "Function",
    "Instance",
    "Lazy",
    "Left",
    "Method",
    "Raised",
    "Running",
    "Scope",
    "Super",
    "assigned_names",
    "has_yield",
    "is_key",
    "is_plain_tuple",
    "kind_of",
    "name_of",
    "names_in",
    "scope_inside",
    "yields",
]

MAX_DEPTH = 60

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
CONTAINERS = (list, tuple, dict, str, range)


class Left(Exception):
    """A return, break or continue statement that leaves its block."""

    def __init__(self, kind: str, value: Any = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass(eq=False)
class Scope:
    """The local names of one call. ``outer`` is the scope in which the function was defined."""

    names: dict[str, Any]
    local: frozenset[str]
    outer: Scope | None
    function: Function
    nonlocal_: frozenset[str] = frozenset()
    running: Running | None = None  # the generator whose statements run in this scope


@dataclass(eq=False)
class Function(Symbol):
    """A followed function, with its syntax tree, enclosing scope, globals and default values."""

    source: Source
    outer: Scope | None
    real: FunctionType | None
    globals: dict[str, Any]
    defaults: tuple[Any, ...] = ()
    kw_defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Bound(Symbol):
    """A method of a value."""

    value: Any
    name: str


@dataclass(frozen=True, eq=False)
class DictView(Symbol):
    """The view ``d.keys()``, ``d.values()`` or ``d.items()``, which reflects later changes of the dict."""

    table: dict[Any, Any]
    kind: str


@dataclass(frozen=True, eq=False)
class Lazy(Symbol):
    """An iterator, such as a generator expression, ``zip`` or ``enumerate``.

    ``named`` says whether it may be assigned to a name.
    """

    items: Iterator[Any]
    named: bool = False


@dataclass(frozen=True, eq=False)
class Raised(Symbol):
    """An exception that the program created. ``value`` is the value of a StopIteration."""

    error: BaseException
    value: Any = None


@dataclass(frozen=True, eq=False)
class Class(Symbol):
    """A followed class."""

    real: type


@dataclass(eq=False)
class Instance(Symbol):
    """An object of a followed class, with its attributes as values of the interpreter.

    ``outside`` is the object itself if it exists before the run. Its attributes are read on first use.
    """

    cls: Class
    fields: dict[str, Any]
    outside: Any


@dataclass(frozen=True, eq=False)
class Method(Symbol):
    """A followed function bound to an instance or a class."""

    function: Function
    receiver: Any


@dataclass(frozen=True, eq=False)
class Super(Symbol):
    """The value of ``super()``: the methods of ``instance`` after ``cls`` in its resolution order."""

    cls: type
    instance: Instance


@dataclass(eq=False)
class Running(Symbol):
    """A generator of a followed function, between two of its ``yield`` expressions."""

    steps: Any
    name: str
    #: One of new, waiting, running, closing and finished.
    state: str = "new"


def _special() -> dict[int, str]:
    """Return the builtins and numpy objects that the interpreter handles itself, by identity."""
    names = (
        "all any bool dict enumerate filter isinstance iter list map max min print range reversed set sorted"
        " str sum super tuple type zip frozenset len next"
    )
    table = {id(getattr(builtins, name)): name for name in names.split()}
    table |= {id(np): "numpy", id(np.random): "numpy.random", id(np.linalg): "numpy.linalg", id(math): "math"}
    table[id(itertools)] = "itertools"
    table |= {id(np.random.default_rng): "default_rng", id(np.ndarray): "ndarray", id(Fraction): "Fraction"}
    for name in ("count", "repeat", "chain", "product", "islice", "pairwise", "compress", "accumulate"):
        table[id(getattr(itertools, name))] = name
    for name in GENERATOR:
        if hasattr(np.random, name):
            table[id(getattr(np.random, name))] = f"random.{name}"
    return table


SPECIAL = _special()
#: References to the objects above, so that no other object can get the same identity.
_KEPT = [np, np.random, np.linalg, math, Fraction, *(getattr(np.random, name, None) for name in GENERATOR)]
#: The builtin exceptions that a program may raise.
ERRORS = tuple(
    error for error in vars(builtins).values() if isinstance(error, type) and issubclass(error, Exception)
)


def is_key(value: Any) -> bool:
    """Return whether a value may be a key, because it is plain and hashable by value."""
    return (
        type(value) in (int, str, bool, float, np.int64, np.float64) or value is None or is_plain_tuple(value)
    )


def is_plain_tuple(value: Any) -> bool:
    """Return whether a value is a tuple of possible keys."""
    return type(value) is tuple and all(is_key(item) for item in value)


def kind_of(value: Any) -> str | None:
    """Return the kind of a value's numbers (``b``, ``i`` or ``f``), or None if it is unknown."""
    inner = content(value)
    if isinstance(inner, Private):
        return inner.info.kind
    if isinstance(inner, Public):
        return inner.kind
    if isinstance(inner, Entries):
        return inner.kind
    if isinstance(inner, Noisy | Draw):
        return "f"
    if isinstance(inner, Symbol):
        return None
    return np.asarray(inner).dtype.kind


@cache
def assigned_names(node: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a function assigns in its own scope, and the names that it declares nonlocal."""
    local: set[str] = set()
    free: set[str] = set()
    pending: list[Any] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            local.add(part.name)
            pending.extend(part.decorator_list)
            continue
        if isinstance(part, ast.Lambda):
            continue
        if isinstance(part, ast.ExceptHandler) and part.name is not None:
            local.add(part.name)
        if isinstance(part, ast.Nonlocal):
            free |= set(part.names)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            local.add(part.id)
        if isinstance(part, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            local |= {n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}
            pending.append(part.generators[0].iter)
            continue
        pending.extend(ast.iter_child_nodes(part))
    return frozenset(local - free), frozenset(free)


def names_in(*nodes: ast.AST) -> frozenset[str]:
    """Return all names that occur in some syntax trees."""
    return frozenset(part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))


def scope_inside(scope: Scope, *targets: ast.expr) -> Scope:
    """Return the scope of a comprehension, whose targets are its local names."""
    return Scope({}, names_in(*targets), scope, scope.function)


@cache
def yields(node: ast.AST) -> bool:
    """Return whether a statement or an expression holds a yield of its own function."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(part))
    return False


def has_yield(node: Any) -> bool:
    """Return whether a function is a generator function."""
    return any(map(yields, node.body if isinstance(node.body, list) else [node.body]))


def name_of(value: Any) -> str:
    """Return the name of an object, for messages."""
    return str(
        getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    )
