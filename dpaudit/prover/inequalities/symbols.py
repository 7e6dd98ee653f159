"""Symbols: parameters of an inequality that record what a function computes from them.

A symbol is a number in a table of nodes, in the form that evidence has: ``["v", 0]``
is a parameter, ``["c", "1/2"]`` a constant, ``["+", 0, 1]`` the sum of two earlier nodes. Equal nodes are
stored once.

A symbol supports exact arithmetic and the functions of balls. Every other use raises ``NotTraceableError``:
equality, truth, conversion, text, hashing, iteration. So a function cannot learn anything about a symbol
except through ``<``, ``<=``, ``>`` and ``>=``. Their truth is chosen by the tracer, which follows both
choices and records them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from dpaudit.core.errors import CodedError

__all__ = ["BRANCHES", "UNARY", "Condition", "Node", "NotTraceableError", "Symbol", "Table"]

#: The largest number of comparisons that one path may decide.
BRANCHES = 12
#: The largest number of nodes that a function may compute.
NODES = 10_000

#: Functions of one number with the same name as a method of a ball and as a node.
UNARY = ("atanh", "ceil", "cosh", "erfc", "exp", "floor", "log", "sinh", "sqrt", "tanh")

Node = tuple[Any, ...]
#: The nodes compared, whether equality is excluded, and the truth that this path assumes: ``a < b`` is true.
Decision = tuple[int, int, bool, bool]


class NotTraceableError(CodedError):
    """A function does something with a parameter that is not part of a formula."""

    code = "E-NOT-TRACEABLE"


@dataclass
class Table:
    """The nodes that a function computed, and the decisions on the current path.

    ``plan`` holds the truths to choose first. Later comparisons are taken as true.
    """

    nodes: list[Node] = field(default_factory=list)
    plan: list[bool] = field(default_factory=list)
    taken: list[Decision] = field(default_factory=list)
    _known: dict[Node, int] = field(default_factory=dict)

    def node(self, *key: Any) -> Symbol:
        """Return the symbol of a node, which is added unless it is in the table."""
        if key not in self._known:
            if len(self.nodes) >= NODES:
                raise NotTraceableError(f"a formula must have at most {NODES} nodes, got more.")
            self._known[key] = len(self.nodes)
            self.nodes.append(key)
        return Symbol(self, self._known[key])

    def variable(self, number: int) -> Symbol:
        return self.node("v", number)

    def lift(self, value: Any) -> Symbol:
        """Return a symbol for an exact number, or the symbol itself."""
        if type(value) is Symbol:
            if value._table is not self:
                raise NotTraceableError("a symbol must belong to the current run, got one of another run.")
            return value
        if type(value) is int or type(value) is Fraction:
            return self.node("c", Fraction(value))
        raise NotTraceableError(f"a number in a formula must be exact, got a {type(value).__name__}.")

    def decide(self, smaller: int, larger: int, *, strict: bool) -> bool:
        """Choose the truth of a comparison, and record it. The same comparison keeps its truth."""
        for *known, truth in self.taken:
            if known == [smaller, larger, strict]:
                return truth
        number = len(self.taken)
        if number >= BRANCHES:
            raise NotTraceableError(f"a path must have at most {BRANCHES} comparisons, got more.")
        chosen = self.plan[number] if number < len(self.plan) else True
        self.taken.append((smaller, larger, strict, chosen))
        return chosen


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotTraceableError(f"a formula must not use {what} of a parameter.")

    return refuse


class _Opaque:
    """Refuse every operation with a meaning of its own for ordinary objects."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __eq__ = _refused("==")
    __ne__ = _refused("!=")
    __str__ = __repr__ = __format__ = _refused("the text")
    __iter__ = _refused("the items")
    __len__ = _refused("the length")
    __contains__ = _refused("the items")
    __getitem__ = _refused("the items")
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refused("a copy")
    __float__ = _refused("float()")
    __int__ = __trunc__ = _refused("int()")
    __index__ = _refused("a whole number")
    __complex__ = _refused("complex()")
    __round__ = _refused("round()")
    __array__ = _refused("an array")
    __mod__ = __rmod__ = _refused("%")
    __floordiv__ = __rfloordiv__ = _refused("//")
    __divmod__ = __rdivmod__ = _refused("divmod()")


class Condition(_Opaque):
    """The comparison ``smaller < larger`` (``strict``) or ``smaller <= larger`` of two nodes."""

    __slots__ = ("_larger", "_smaller", "_strict", "_table")

    def __init__(self, table: Table, smaller: int, larger: int, *, strict: bool) -> None:
        self._table, self._smaller, self._larger, self._strict = table, smaller, larger, strict

    def __bool__(self) -> bool:
        return self._table.decide(self._smaller, self._larger, strict=self._strict)


class Symbol(_Opaque):
    """A node of a table, with the operations of exact numbers and of balls."""

    __slots__ = ("_index", "_table")

    def __init__(self, table: Table, index: int) -> None:
        self._table, self._index = table, index

    __bool__ = _refused("the truth")

    def _with(self, operation: str, other: Any) -> Symbol:
        return self._table.node(operation, self._index, self._table.lift(other)._index)

    def _after(self, operation: str, other: Any) -> Symbol:
        return self._table.node(operation, self._table.lift(other)._index, self._index)

    def __add__(self, other: Any) -> Symbol:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Symbol:
        return self._after("+", other)

    def __sub__(self, other: Any) -> Symbol:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._after("-", other)

    def __mul__(self, other: Any) -> Symbol:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._after("*", other)

    def __truediv__(self, other: Any) -> Symbol:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._after("/", other)

    def __neg__(self) -> Symbol:
        return self._table.node("neg", self._index)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self._table.node("abs", self._index)

    def __ceil__(self) -> Symbol:
        return self._table.node("ceil", self._index)

    def __floor__(self) -> Symbol:
        return self._table.node("floor", self._index)

    def __pow__(self, exponent: Any) -> Symbol:
        """Return a power. Only a whole exponent is defined for a base that may be 0 or negative.

        The exponent 1/2 is the square root. Other exponents are exp(exponent * log(base)), which has the
        same value wherever it is defined.
        """
        if type(exponent) is int:
            return self._table.node("pow", self._index, exponent)
        if type(exponent) is Fraction and exponent.denominator <= 2:
            base = self if exponent.denominator == 1 else self._table.node("sqrt", self._index)
            return self._table.node("pow", base._index, exponent.numerator)
        return _power(self, self._table.lift(exponent))

    def __rpow__(self, base: Any) -> Symbol:
        return _power(self._table.lift(base), self)

    def __lt__(self, other: Any) -> Any:
        return Condition(self._table, self._index, self._table.lift(other)._index, strict=True)

    def __le__(self, other: Any) -> Any:
        return Condition(self._table, self._index, self._table.lift(other)._index, strict=False)

    def __gt__(self, other: Any) -> Any:
        return Condition(self._table, self._table.lift(other)._index, self._index, strict=True)

    def __ge__(self, other: Any) -> Any:
        return Condition(self._table, self._table.lift(other)._index, self._index, strict=False)

    def min(self, other: Any) -> Symbol:
        return self._with("min", other)

    def max(self, other: Any) -> Symbol:
        return self._with("max", other)

    def expm1(self) -> Symbol:
        return _unary(self, "exp") - 1

    def log1p(self) -> Symbol:
        return _unary(self + 1, "log")

    def erf(self) -> Symbol:
        return 1 - _unary(self, "erfc")


def _power(base: Symbol, exponent: Symbol) -> Symbol:
    return _unary(exponent * _unary(base, "log"), "exp")


def _unary(value: Symbol, name: str) -> Symbol:
    return value._table.node(name, value._index)


def _method(name: str) -> Callable[[Symbol], Symbol]:
    def method(self: Symbol) -> Symbol:
        return _unary(self, name)

    return method


for _name in UNARY:
    setattr(Symbol, _name, _method(_name))
