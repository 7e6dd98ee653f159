"""Symbols: what a traced function computes with instead of numbers.

A symbol builds the expression and has nothing else of a number: no float, no truth, no ``==``, no ``//``. Each of
these raises ``NotTraceableError``, so a function cannot depend on more than the expression shows. ``<`` and ``<=``
give a condition, whose truth is both: the function runs once for each answer.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NoReturn

from dpaudit.core.errors import CodedError
from dpaudit.kernel.ball import arb
from dpaudit.kernel.inequalities.expression import Table, Term

__all__ = ["Comparison", "NotTraceableError", "Path", "Symbol", "shims"]

#: A function may branch on parameters so often.
MOST_BRANCHES = 12


class NotTraceableError(CodedError):
    """A function uses something that has no expression."""

    code = "E-NOT-TRACEABLE"


class Path:
    """The expressions of one function, and the answers to its comparisons in one run."""

    def __init__(self) -> None:
        self.table = Table()
        self.planned: list[bool] = []
        self.taken: list[tuple[int, int, bool, bool]] = []

    def begin(self, planned: list[bool]) -> None:
        """Begin a run with these first answers."""
        self.planned, self.taken = planned, []

    def decide(self, comparison: Comparison) -> bool:
        """Return the planned answer to a comparison, or true."""
        k = len(self.taken)
        if k >= MOST_BRANCHES:
            raise NotTraceableError(f"at most {MOST_BRANCHES} branches on parameters are followed.")
        answer = self.planned[k] if k < len(self.planned) else True
        self.taken.append((comparison.a, comparison.b, comparison.strict, answer))
        return answer

    def symbol(self, *node: Any) -> Symbol:
        return Symbol(self, self.table.node(*node))

    def number(self, value: Fraction | int) -> Symbol:
        return self.symbol("c", Fraction(value))

    def lifted(self, value: Any) -> Symbol:
        """Return a symbol for an exact number. Raise ``NotTraceableError`` for anything else."""
        if type(value) is Symbol:
            return value
        if type(value) in (int, Fraction):
            return self.number(value)
        if type(value) is bool:
            return self.number(int(value))
        raise NotTraceableError(f"{type(value).__name__} is no exact number: {str(value)[:60]}.")


class Comparison:
    """a < b (``strict``) or a <= b. Its truth is decided by the path."""

    __slots__ = ("a", "b", "path", "strict")
    __hash__ = None  # type: ignore[assignment]  # a comparison is no key

    def __init__(self, path: Path, a: Symbol, b: Symbol, strict: bool) -> None:
        self.path, self.a, self.b, self.strict = path, a.i, b.i, strict

    def __bool__(self) -> bool:
        return self.path.decide(self)

    def __eq__(self, other: object) -> bool:
        raise NotTraceableError("== of comparisons is not followed.")


def _refused(what: str) -> Callable[..., NoReturn]:
    def method(self: object, *args: object, **named: object) -> NoReturn:
        raise NotTraceableError(f"{what} of a parameter has no expression.")

    return method


class Symbol(Term):
    """A node that stands for a number which depends on the parameters."""

    __slots__ = ("path",)
    __hash__ = None  # type: ignore[assignment]  # a symbol is no key

    def __init__(self, path: Path, i: int) -> None:
        super().__init__(path.table, i)
        self.path = path

    def _with(self, op: str, *others: Any) -> Symbol:
        return self.path.symbol(op, self.i, *(self.path.lifted(other).i for other in others))

    def _lift(self, other: Any) -> Symbol:
        return self.path.lifted(other)

    def __pos__(self) -> Symbol:
        return self

    def __pow__(self, power: Any) -> Term:
        if type(power) is int or (type(power) is Fraction and power.denominator == 1):
            return self.path.symbol("pow", self.i, int(power))
        if type(power) is Fraction and power.denominator == 2:
            return self.path.symbol("pow", self._with("sqrt").i, power.numerator)
        # a^b = exp(b log a): defined for a > 0 only
        return (self.path.lifted(power) * self.log()).exp()

    def __rpow__(self, base: Any) -> Term:
        return self.path.lifted(base) ** self

    def __lt__(self, other: Any) -> Comparison:
        return Comparison(self.path, self, self.path.lifted(other), True)

    def __le__(self, other: Any) -> Comparison:
        return Comparison(self.path, self, self.path.lifted(other), False)

    def __gt__(self, other: Any) -> Comparison:
        return Comparison(self.path, self.path.lifted(other), self, True)

    def __ge__(self, other: Any) -> Comparison:
        return Comparison(self.path, self.path.lifted(other), self, False)

    def min(self, other: Any) -> Symbol:
        return self._with("min", other)

    def max(self, other: Any) -> Symbol:
        return self._with("max", other)

    def tanh(self) -> Symbol:
        return self._with("tanh")

    def atanh(self) -> Symbol:
        return self._with("atanh")

    def erfc(self) -> Symbol:
        return self._with("erfc")

    def erf(self) -> Term:
        return self.path.number(1) - self.erfc()

    def ceil(self) -> Symbol:
        return self._with("ceil")

    def floor(self) -> Symbol:
        return self._with("floor")

    def expm1(self) -> Term:
        return self.exp() - 1

    def log1p(self) -> Term:
        return (self + 1).log()

    def rsqrt(self) -> Term:
        return 1 / self.sqrt()

    def nonnegative_part(self) -> Symbol:
        return self.max(0)

    __float__ = __int__ = __index__ = __trunc__ = __round__ = __complex__ = _refused("the number")
    __bool__ = _refused("the truth")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refused("// or %")
    __eq__ = __ne__ = _refused("== or !=")
    __iter__ = __len__ = __getitem__ = __contains__ = _refused("a list")
    __str__ = __repr__ = __format__ = _refused("the text")
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refused("a copy")
    __array__ = _refused("an array")


class _Arb:
    """Stands for ``arb``: exact numbers become symbols, two constants have names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, value: Any, *radius: Any) -> Symbol:
        if radius:
            raise NotTraceableError("a ball with a radius is no exact number.")
        return self._path.lifted(value)

    def pi(self) -> Symbol:
        return self._path.symbol("pi")

    def const_log2(self) -> Symbol:
        return self._path.symbol("log", self._path.number(2).i)


def _folded(path: Path, op: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        each: list[Any] = list(values[0]) if len(values) == 1 else list(values)
        if not any(type(value) is Symbol for value in each):
            return plain(each)
        found = path.lifted(each[0])
        for value in each[1:]:
            found = found._with(op, value)
        return found

    return function


def shims(path: Path) -> dict[str, Any]:
    """Return what stands for the functions of exact numbers and balls in a traced function, by name."""

    def ln(value: Any) -> Any:
        return path.lifted(value).log()

    def log2(value: Any) -> Any:
        return ln(value) / ln(2)

    def log_of_two_over(p: Any) -> Any:
        return (2 / path.lifted(p)).log()

    def larger(first: Any, second: Any) -> Symbol:
        return path.lifted(first).max(second)

    def fraction(above: Any, below: Any = 1) -> Any:
        if type(above) is Symbol or type(below) is Symbol:
            return path.lifted(above) / below
        return Fraction(above, below) if below != 1 else Fraction(above)

    def total(values: Iterable[Any], start: Any = 0) -> Any:
        for value in values:
            start = start + value
        return start

    return {
        "Fraction": fraction,
        "arb": _Arb(path),
        "ball": path.lifted,
        "larger": larger,
        "ln": ln,
        "log2": log2,
        "log_of_two_over": log_of_two_over,
        "max": _folded(path, "max", builtins.max),
        "min": _folded(path, "min", builtins.min),
        "sum": total,
    }


#: The functions that ``shims`` stands for, by name: only these objects are replaced.
def shimmed() -> dict[str, Any]:
    """Return the functions and types for which ``shims`` stand, by name."""
    from dpaudit.core import exact_functions
    from dpaudit.kernel.ball import ball

    return {
        "Fraction": Fraction,
        "arb": arb,
        "ball": ball,
        "larger": exact_functions.larger,
        "ln": exact_functions.ln,
        "log2": exact_functions.log2,
        "log_of_two_over": exact_functions.log_of_two_over,
        "max": builtins.max,
        "min": builtins.min,
        "sum": builtins.sum,
    }
