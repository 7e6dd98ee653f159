"""Choose among the few values of a released integer, and remember what the answers on a path imply.

An outcome used as a size, a position or a slice must be a plain integer there. The path forks over its
possible values: those below its ``count``, or those that earlier comparisons on this path leave. If the
outcome is no integer, Python raises, which ends the path after fewer releases.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.expressions import text_of
from dpaudit.prover.values.values import Public

__all__ = ["ImpossiblePathError", "WholeNumbers"]

#: The largest number of values over which a path forks.
MAX_VALUES = 64

#: The smallest and the largest value, where they are known.
Ends = tuple[Any, Any]

#: Functions that return an integer near a number and keep the order of numbers.
_ROUNDED: dict[str, Any] = {
    "int": math.trunc,
    "math.trunc": math.trunc,
    "np.trunc": math.trunc,
    "math.floor": math.floor,
    "np.floor": math.floor,
    "math.ceil": math.ceil,
    "np.ceil": math.ceil,
    "round": round,
    "np.rint": round,
    "np.round": round,
}

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class ImpossiblePathError(Exception):
    """The answers on this path contradict each other, so that no run takes it further."""


class WholeNumbers:
    """What is known on one path about released numbers that are used as integers."""

    def __init__(self) -> None:
        self.least: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.known: dict[str, int] = {}
        #: The same bounds for numbers that need not be integers.
        self.low: dict[str, Fraction] = {}
        self.high: dict[str, Fraction] = {}

    def value(self, expression: Any) -> Fraction | None:
        """Return the value of an expression that this path determines, or None."""
        kind = expression[0]
        if kind == "number":
            return Fraction(expression[1])
        known = self.known.get(text_of(expression)) if self.known else None
        if known is not None:
            return Fraction(known)
        if kind in ("add", "sub", "mul", "neg"):
            parts = [self.value(part) for part in expression[1:]]
            if any(part is None for part in parts):
                return None
            a, b = (*parts, Fraction(0))[:2]
            return {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a}[kind]  # type: ignore[operator]
        return None

    def answer(self, expression: Any) -> bool | None:
        """Return the answer of a comparison that this path determines, or None."""
        found = _comparison(expression)
        if found is None:
            return None
        op, left, right = found
        a, b = self.value(left), self.value(right)
        if a is None or b is None:
            return None
        return bool(getattr(operator, op)(a, b))

    def learn(self, expression: Any, holds: bool) -> None:
        """Remember the answer of a comparison with a known number.

        What is remembered is only used for integers, so that ``not x <= 4`` is ``x >= 5``.
        """
        found = _comparison(expression)
        if found is None:
            return
        op, left, right = found
        op = op if holds else _OPPOSITE[op]
        for name, one, other in ((op, left, right), (_TURNED[op], right, left)):
            number = self.value(other)
            if number is not None and self.value(one) is None:
                self._bound(text_of(one), name, number)

    def _bound(self, text: str, op: str, number: Fraction) -> None:
        if op == "ne":
            return
        if op in ("lt", "le", "eq"):
            most = math.ceil(number) - 1 if op == "lt" else math.floor(number)
            self.high[text] = min(self.high.get(text, number), number)
            self.most[text] = min(self.most.get(text, most), most)
        if op in ("gt", "ge", "eq"):
            least = math.floor(number) + 1 if op == "gt" else math.ceil(number)
            self.low[text] = max(self.low.get(text, number), number)
            self.least[text] = max(self.least.get(text, least), least)

    def one_of(self, run: Any, public: Any, *, ends: tuple[int, int] | None = None) -> int | None:
        """Return an outcome as an integer, after a fork over its values.

        Return None if they are not known, and for a value that is no outcome. ``ends`` are the smallest and
        largest value at which the program continues here.
        """
        if not isinstance(public, Public):
            return None
        if public.place is not None:
            expression, options = public.place
            place = self._chosen(run, expression, (0, len(options) - 1))
            return None if place is None else int(options[int(place)])
        count = public.count
        found = self._chosen(run, public.expression, (0, count - 1) if count is not None else ends)
        return None if found is None else int(found)

    def if_integer(self, run: Any, value: Any) -> Any:
        """Return an outcome that is certainly an integer as one of its few values, and others unchanged.

        Unlike a use as a position, a comparison does not raise for other numbers.
        """
        if not isinstance(value, Public) or value.shape != () or value.kind == "b":
            return value
        certain = value.count is not None or value.kind == "i" or self.value(value.expression) is not None
        found = self.one_of(run, value) if certain else None
        return value if found is None else found

    def _chosen(self, run: Any, expression: Any, ends: tuple[int, int] | None) -> Fraction | None:
        decided = self.value(expression)
        if decided is not None:
            return decided if decided.denominator == 1 else None
        text = text_of(expression)
        least, most = _narrower(self._ends(expression), ends or (None, None))
        if least is None or most is None:
            return self._of_parts(run, expression)
        if most < least:
            raise ImpossiblePathError
        if most - least >= MAX_VALUES:
            return None
        place = run.walk.fork(f"which {text}" if least == 0 else f"which {least} up {text}", most - least + 1)
        self.known[text] = least + place
        return Fraction(least + place)

    def _ends(self, expression: Any, *, whole: bool = True) -> Ends:
        """Return bounds of a number, from earlier answers and from its outermost operation.

        Without ``whole``, the number need not be an integer.
        """
        value = self.value(expression)
        if value is not None:
            return (math.ceil(value), math.floor(value)) if whole else (value, value)
        text = text_of(expression)
        lows, highs = (self.least, self.most) if whole else (self.low, self.high)
        found: Ends = lows.get(text), highs.get(text)
        rounded = self._rounded(expression)
        if rounded is not None:
            return _narrower(found, rounded)
        parts = _extremes(expression)
        if parts is None:
            return found
        ends = [self._ends(part, whole=whole) for part in parts[1:]]
        return _narrower(found, _of_extreme(parts[0], ends))

    def _rounded(self, expression: Any) -> Ends | None:
        """Return bounds of a number that is rounded, which keeps the order of numbers."""
        if expression[0] != "function" or len(expression) != 3 or expression[1] not in _ROUNDED:
            return None
        function = _ROUNDED[expression[1]]
        low, high = self._ends(expression[2], whole=False)
        return (None if low is None else function(low)), (None if high is None else function(high))

    def _of_parts(self, run: Any, expression: Any) -> Fraction | None:
        """Fork over the parts of a sum, difference or product."""
        if expression[0] not in ("add", "sub", "mul", "neg"):
            return None
        least, most = self._ends(expression)  # before the parts are known
        if any(self._chosen(run, part, None) is None for part in expression[1:]):
            return None
        value = self.value(expression)
        if value is None or (least is not None and value < least) or (most is not None and value > most):
            raise ImpossiblePathError
        return value


def _narrower(left: Ends, right: Ends) -> Ends:
    lows = [end for end in (left[0], right[0]) if end is not None]
    highs = [end for end in (left[1], right[1]) if end is not None]
    return max(lows, default=None), min(highs, default=None)


def _extremes(expression: Any) -> Any:
    """Return an expression as ``["maximum", ...]`` or ``["minimum", ...]``, or None if it is neither."""
    if expression[0] == "clip":  # np.clip is the minimum of the maximum, whatever the order of its ends
        a, low, high = expression[1:]
        return ["minimum", ["maximum", a, low], high]
    return expression if expression[0] in ("maximum", "minimum") else None


def _of_extreme(kind: str, parts: list[Ends]) -> Ends:
    """Return bounds of the largest or the smallest of several numbers from their bounds."""
    below, above = zip(*parts, strict=True)
    known = [[end for end in side if end is not None] for side in (below, above)]
    if kind == "maximum":
        return max(known[0], default=None), max(known[1]) if len(known[1]) == len(above) else None
    return min(known[0]) if len(known[0]) == len(below) else None, min(known[1], default=None)


def _comparison(expression: Any) -> tuple[str, Any, Any] | None:
    """Return the operator and the operands of a comparison of two public numbers."""
    if expression[0] == "function" and len(expression) == 4 and expression[1] in _TURNED:
        return expression[1], expression[2], expression[3]
    return None
