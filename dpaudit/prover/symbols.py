"""Define the private and public values that a program computes with during a proof, and their operations.

``Private`` is a linear form in data and hidden noise: a number that differs between neighbouring inputs.
``Public`` is a number that is equal on both inputs, because it is an outcome or was computed from outcomes
alone.

Allowed operations (rule H4 of the prover). A private value can be added to and compared with private values
and plain numbers, and multiplied or divided by plain numbers. A public value can be combined with plain
numbers and public values. If the follower has a symbol for it, it can also be added to and compared with
private values, and the result is private. A plain number is an ``int``, ``bool``, ``float`` or ``Fraction``,
by exact type. Text never becomes a number.

Every other operation is refused by name: text, formatting, hashing, equality, truth, floats, indices,
attributes (rules A, G7). The follower of the run also records a refusal, so that no program can swallow it
(H2).

A float is read as the decimal that it prints as, and forms are exact, but the program itself rounds.
Therefore a private value also records whether its run may have rounded it, and a decision that depends on
rounding alone is refused (H13).

A ``Follower`` follows the run: the explorer of bounded programs, or a step of a loop. Its
``below(form, strict=...)`` returns whether ``form < 0`` (or ``<= 0``) on the path being explored. Its
``fork(key, answers)`` chooses among the answers of a question about public values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType
from typing import Any, NoReturn, Protocol

from dpaudit.core.errors import CodedError
from dpaudit.core.exact import exact
from dpaudit.prover.forms import ZERO, Form

__all__ = [
    "Follower",
    "Origin",
    "Private",
    "Public",
    "RefusedError",
    "Symbolic",
    "is_plain",
    "plain_key",
    "plain_number",
]

#: A difference of two coefficients below this share of them may consist of rounding errors alone.
NEARLY_CANCELLED = Fraction(1, 2**40)


class RefusedError(CodedError):
    """The prover cannot follow the program. The text states the reason."""

    code = "E-PROGRAM-NOT-FOLLOWED"


class Follower(Protocol):
    """An object that follows one run of the program and answers its decisions."""

    def below(self, form: Form, *, strict: bool) -> bool:
        """Return whether ``form < 0`` if ``strict``, else ``form <= 0``, on this path."""

    def fork(self, key: str, answers: int, /) -> int:
        """Return the answer, of ``answers`` answers, of the public question ``key`` on this path."""

    def place_of(self, code: CodeType) -> int:
        """Return the number of a declared function (``post``) among those of this run, by its code."""
        raise NotImplementedError

    def refuse(self, what: str) -> NoReturn:
        """Record a refusal and raise it."""
        raise RefusedError(what, code="E-PROGRAM-NOT-FOLLOWED")

    def public_divisor(self, what: str) -> None:
        """Handle a division by a public value, which may be 0. By default it is refused."""
        self.refuse(what)

    def public_form(self, key: str, what: str) -> Form:
        """Return the symbol of a public value that is combined with a private one (H4).

        The symbol is the same on both neighbouring inputs. By default the operation is refused.
        """
        self.refuse(what)


def is_plain(value: object) -> bool:
    """Return whether ``value`` is a plain finite number by exact type, which excludes subclasses (H4)."""
    kind = type(value)
    return kind in (int, bool, Fraction) or (kind is float and math.isfinite(value))  # type: ignore[arg-type]


def plain_number(value: Any) -> Fraction:
    """Return the exact value of a plain number. A float is the decimal that it prints as."""
    return Fraction(int(value)) if type(value) is bool else exact(value)


def plain_key(value: Any) -> str:
    """Return the type and exact value of a constant as text (G6, H7).

    The keys of 1, 1.0, True and "1" differ, and also the keys of 0.0 and -0.0.

    ``value`` is a number, text or None, by exact type.
    """
    kind = type(value)
    return f"{kind.__name__}:{value.hex() if kind is float else value!s}"


def _refusing(what: str) -> Any:
    def method(self: Any, *_: Any, **__: Any) -> NoReturn:
        self._follower.refuse(f"{self._kind} was {what}")
        raise RefusedError(what, code="E-PROGRAM-NOT-FOLLOWED")

    return method


class Symbolic:
    """The base of all symbols. It refuses by name, and records, each operation that no symbol supports.

    Only operations of numbers are defined here. Python inspects some objects before it calls anything:
    ``"text" % x`` accepts every ``x`` with ``__getitem__``, although it is a ``TypeError`` for a number. So a
    symbol has no method of containers, functions or buffers, not even one that refuses.
    """

    __slots__ = ("_follower",)
    _kind = "a symbol"
    _follower: Follower

    __bool__ = _refusing("used as a truth value (compare it with a number)")
    __float__ = __int__ = __index__ = __complex__ = _refusing("turned into a plain number or an index")
    __round__ = __trunc__ = __floor__ = __ceil__ = _refusing("rounded")
    __str__ = __repr__ = __format__ = _refusing("turned into text")
    __hash__ = _refusing("hashed (used as a key or in a set)")
    __eq__ = __ne__ = _refusing("compared for equality (use < or <=)")
    __pow__ = __rpow__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refusing(
        "used in a power or a remainder"
    )
    __floordiv__ = __rfloordiv__ = _refusing("divided with rounding")
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refusing("used bit by bit")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refusing("used bit by bit")
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refusing("copied or pickled")

    def __getattr__(self, name: str) -> NoReturn:
        self._follower.refuse(f"the attribute {name!r} of {self._kind} was read")

    def __setattr__(self, name: str, value: object) -> None:
        self._follower.refuse(f"the attribute {name!r} of {self._kind} was set")

    def __delattr__(self, name: str) -> None:
        self._follower.refuse(f"the attribute {name!r} of {self._kind} was deleted")


@dataclass(frozen=True)
class Origin:
    """What is known of a private value in addition to its form.

    ``whole``: it is an ``int`` by type. ``rounded``: it results from arithmetic that may round. ``lost``: a
    symbol cancelled out of it in such arithmetic.
    """

    whole: bool = False
    rounded: bool = False
    lost: bool = False


#: The origin of a symbol that may have any type of number.
FRESH = Origin()


class Private(Symbolic):
    """A linear form in data and hidden noise, ``Private(form, follower)``.

    Read it with ``Private.form_of`` and ``Private.origin_of``, because attributes are refused.
    """

    __slots__ = ("_form", "_origin")
    _kind = "a private value"
    _form: Form
    _origin: Origin

    def __init__(self, form: Form, follower: Follower, origin: Origin = FRESH) -> None:
        object.__setattr__(self, "_form", form)
        object.__setattr__(self, "_follower", follower)
        object.__setattr__(self, "_origin", origin)

    @staticmethod
    def form_of(value: Private) -> Form:
        """Return the linear form of a private value."""
        return value._form

    @staticmethod
    def origin_of(value: Private) -> Origin:
        """Return the origin of a private value."""
        return value._origin

    def _other(self, value: object, doing: str) -> tuple[Form, Origin]:
        """Return the other operand of a sum or comparison as a form with its origin."""
        if type(value) is Private:
            if value._follower is not self._follower:
                self._follower.refuse("a private value was combined with a private value of another run")
            return value._form, value._origin
        if is_plain(value):
            return Form({}, plain_number(value)), Origin(whole=type(value) in (int, bool))
        what = f"a private value was {doing} {_name(value)}"
        if type(value) is Public and value._follower is self._follower:
            return self._follower.public_form(value._key, what), FRESH
        self._follower.refuse(what)
        return Form({}), FRESH

    def _made(self, form: Form, *, whole: bool, exact: bool, lost: bool) -> Private:
        """Return a result of arithmetic on this value. ``exact`` says that this arithmetic never rounds."""
        rounded = not (whole or (exact and not self._origin.rounded))
        return Private(form, self._follower, Origin(whole, rounded, rounded and lost))

    def _sum(self, other: object, doing: str, sign: int, other_sign: int) -> Private:
        form, origin = self._other(other, doing)
        parts = self._form.times(Fraction(sign)), form.times(Fraction(other_sign))
        total = parts[0].plus(parts[1])
        whole = self._origin.whole and origin.whole
        if not whole:
            self._require_digits(total, *parts)
        lost = self._origin.lost or origin.lost
        lost = lost or any(name not in total.terms for part in parts for name in part.terms)
        # adding 0 and subtracting x from x never round
        nothing = Form({}) in (self._form, form, total) and not origin.rounded
        return self._made(total, whole=whole, exact=nothing, lost=lost)

    def _require_digits(self, total: Form, *parts: Form) -> None:
        """Refuse a sum in which most digits of two numbers cancel, so that their rounding may decide (H13).

        The numbers are two coefficients, or constants so large that rounding loses what is added to them.
        """
        one, other = (part.terms for part in parts)
        for name, value in total.terms.items():
            if abs(value) <= NEARLY_CANCELLED * max(abs(one.get(name, ZERO)), abs(other.get(name, ZERO))):
                self._follower.refuse("two private values cancel up to a remainder that may be rounding")
        size = max(abs(part.constant) for part in parts)
        largest = max((abs(value) for value in total.terms.values()), default=Fraction(0))
        if 0 < largest <= NEARLY_CANCELLED * size and abs(total.constant) < size / 2:
            self._follower.refuse("a number cancels that is so large that rounding loses a private value")

    def __add__(self, other: object) -> Private:
        return self._sum(other, "added to", 1, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Private:
        return self._sum(other, "subtracted from or by", 1, -1)

    def __rsub__(self, other: object) -> Private:
        return self._sum(other, "subtracted from or by", -1, 1)

    def __neg__(self) -> Private:
        return Private(self._form.times(Fraction(-1)), self._follower, self._origin)

    def __pos__(self) -> Private:
        return self

    def __abs__(self) -> Private:
        return -self if self < 0 else self

    def _factor(self, other: object, doing: str) -> Fraction:
        if not is_plain(other):
            self._follower.refuse(f"a private value was {doing} {_name(other)}")
        return plain_number(other)

    def __mul__(self, other: object) -> Private:
        whole = self._origin.whole and type(other) in (int, bool)
        factor = self._factor(other, "multiplied by")
        lost = self._origin.lost or not factor
        return self._made(self._form.times(factor), whole=whole, exact=factor in (-1, 0, 1), lost=lost)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Private:
        factor = self._factor(other, "divided by")
        if not factor:
            self._follower.refuse("a private value was divided by 0")
        lost = self._origin.lost
        return self._made(self._form.times(1 / factor), whole=False, exact=factor in (-1, 1), lost=lost)

    __rtruediv__ = _refusing("a divisor")

    def _below(self, other: object, sign: int, *, strict: bool) -> bool:
        """Return whether sign * (self - other) is below 0. Data are finite, so infinities are decided."""
        if type(other) is float and math.isinf(other):
            return (other > 0) == (sign > 0)
        form, origin = self._other(other, "compared with")
        difference = self._form.plus(form, Fraction(-1))
        if not (self._origin.whole and origin.whole):
            self._require_digits(difference, self._form, form)
        if not difference.terms and (self._origin.rounded or origin.rounded):
            self._follower.refuse("two private values that differ by rounding alone were compared")
        return self._follower.below(difference.times(Fraction(sign)), strict=strict)

    def __lt__(self, other: object) -> bool:
        return self._below(other, 1, strict=True)

    def __le__(self, other: object) -> bool:
        return self._below(other, 1, strict=False)

    def __gt__(self, other: object) -> bool:
        return self._below(other, -1, strict=True)

    def __ge__(self, other: object) -> bool:
        return self._below(other, -1, strict=False)


class Public(Symbolic):
    """A value computed from outcomes alone.

    ``key`` is its expression, and equal keys are equal values. Comparisons fork: either answer is possible,
    and it is the same on both neighbouring inputs (G7).
    """

    __slots__ = ("_key",)
    _kind = "a public value"
    _key: str

    def __init__(self, key: str, follower: Follower) -> None:
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_follower", follower)

    @staticmethod
    def key_of(value: Public) -> str:
        """Return the expression of a public value."""
        return value._key

    def _other(self, value: object, doing: str) -> str:
        """Return the other operand's key. Refuse private operands, for reflected operators too (H4)."""
        if type(value) is Public and value._follower is self._follower:
            return value._key
        if is_plain(value) or (type(value) is float and math.isinf(value)):
            return plain_key(value)
        return self._follower.refuse(f"a public value was {doing} {_name(value)}")

    def _operand(self, value: object, doing: str) -> str:
        """Return the other operand's key in arithmetic, in which an infinity could lead to NaN.

        Infinities are refused, because NaN satisfies no comparison.
        """
        if type(value) is float and math.isinf(value):
            return self._follower.refuse(f"a public value was {doing} {value}")
        return self._other(value, doing)

    def _made(self, sign: str, left: str, right: str) -> Public:
        return Public(f"({left} {sign} {right})", self._follower)

    def __add__(self, other: object) -> Any:
        if type(other) is Private:
            return other + self
        return self._made("+", self._key, self._operand(other, "added to"))

    def __radd__(self, other: object) -> Public:
        return self._made("+", self._operand(other, "added to"), self._key)

    def __sub__(self, other: object) -> Any:
        if type(other) is Private:
            return -other + self
        return self._made("-", self._key, self._operand(other, "subtracted from or by"))

    def __rsub__(self, other: object) -> Public:
        return self._made("-", self._operand(other, "subtracted from or by"), self._key)

    def __mul__(self, other: object) -> Public:
        return self._made("*", self._key, self._operand(other, "multiplied by"))

    def __rmul__(self, other: object) -> Public:
        return self._made("*", self._operand(other, "multiplied by"), self._key)

    def __truediv__(self, other: object) -> Public:
        if type(other) is Public:
            self._follower.public_divisor("a public value was divided by a public value, which may be 0")
        elif not is_plain(other) or not other:
            self._follower.refuse(f"a public value was divided by {_name(other)}, which may be 0")
        return self._made("/", self._key, self._operand(other, "divided by"))

    def __rtruediv__(self, other: object) -> Public:
        self._follower.public_divisor("a public value was a divisor, which may be 0")
        return self._made("/", self._operand(other, "a divisor of"), self._key)

    def __neg__(self) -> Public:
        return Public(f"(-{self._key})", self._follower)

    def __pos__(self) -> Public:
        return self

    def __abs__(self) -> Public:
        return Public(f"|{self._key}|", self._follower)

    def _compared(self, sign: str, other: object) -> bool:
        key = self._other(other, "compared with")
        return self._follower.fork(f"{self._key} {sign} {key}", 2) == 1

    def __lt__(self, other: object) -> bool:
        return other > self if type(other) is Private else self._compared("<", other)

    def __le__(self, other: object) -> bool:
        return other >= self if type(other) is Private else self._compared("<=", other)

    def __gt__(self, other: object) -> bool:
        return other < self if type(other) is Private else self._compared(">", other)

    def __ge__(self, other: object) -> bool:
        return other <= self if type(other) is Private else self._compared(">=", other)

    def __eq__(self, other: object) -> bool:
        return self._compared("==", other)

    def __ne__(self, other: object) -> bool:
        return self._compared("!=", other)

    __hash__ = _refusing("hashed (used as a key or in a set)")


def _name(value: object) -> str:
    """Return a value as text for a refusal, without converting a symbol to text."""
    if type(value) is Private:
        return "a private value"
    if type(value) is Public:
        return "a public value"
    return (
        f"{value!r}"[:60] if is_plain(value) or type(value) in (str, float) else f"a {type(value).__name__}"
    )
