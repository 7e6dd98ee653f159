"""Represent public numbers: expressions of outcomes and of the number of records, equal on both sides.

An expression is a list: ``["number", "3/2"]``, ``["size"]``, ``["outcome", 4]``, arithmetic such as
``["add", a, b]``, ``["floordiv", a, b]``, ``["maximum", a, b]``, ``["clip", a, low, high]``, or
``["function", name, ...]`` for anything else. Its polynomial is exact, with a positive symbol for each
maximum with a positive number and for each rounded quotient that is at least 1, which guarantee a lower
bound.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import Setting, need
from dpaudit.kernel.values.polynomials import Poly

__all__ = ["clipped_span", "polynomial", "text_of"]

#: ``json.dumps`` would make a new encoder for each of many thousand expressions.
_encoded = json.JSONEncoder(separators=(",", ":")).encode


def text_of(expression: Any) -> str:
    """Return the expression as text. Equal texts have equal values."""
    return _encoded(expression)


def polynomial(s: Setting, expression: Any) -> Poly:
    """Return a public number as a polynomial. Lower bounds of new positive symbols are added to ``s.low``."""
    need(
        isinstance(expression, list | tuple) and expression and isinstance(expression[0], str),
        "an expression must be a list that starts with the name of an operation",
    )
    text = text_of(expression)
    if text not in s.expressions:
        s.expressions[text] = _polynomial(s, expression, text)
    return s.expressions[text]


def _polynomial(s: Setting, expression: Any, text: str) -> Poly:
    kind, *parts = expression
    if kind == "number":
        return Poly.of(Fraction(parts[0]))
    if kind == "size":
        need(
            not s.length_is_private, "the number of records is private and cannot be part of a public number"
        )
        return Poly.symbol("N") if s.size is None else Poly.of(s.size)
    if kind in ("add", "sub", "mul", "div"):
        a, b = (polynomial(s, part) for part in parts)
        if kind == "add":
            return a + b
        if kind == "sub":
            return a - b
        if kind == "mul":
            return a * b
        inverse = b.inverse()
        known = inverse is not None and (b.number is not None or s.at_most(0, b))
        return a * inverse if known and inverse is not None else Poly.symbol(f"?{text}")
    if kind == "neg":
        return -polynomial(s, parts[0])
    if kind in ("maximum", "clip"):
        least = _least(s, kind, parts)
        if least is not None and least > 0:
            s.low[text] = least
            return Poly.symbol(text)
    if kind == "floordiv":
        least = _least_quotient(s, *(polynomial(s, part) for part in parts))
        if least >= 1:
            s.low[text] = least
            return Poly.symbol(text)
    return Poly.symbol(f"?{text}")


def _least_quotient(s: Setting, a: Poly, b: Poly) -> Fraction:
    """Return a lower bound of the largest integer at most a / b, or 0."""
    most = s.largest(-a)
    if most is None or most > 0 or b.number is None or b.number <= 0:
        return Fraction(0)
    return Fraction(-most // b.number)


def clipped_span(s: Setting, expression: Any) -> tuple[Fraction, Fraction] | None:
    """Return the ends between which a value was clipped, if both are numbers in order."""
    if expression[0] != "clip":
        return None
    low, high = (polynomial(s, part).number for part in expression[2:])
    return None if low is None or high is None or low > high else (low, high)


def _least(s: Setting, kind: str, parts: list[Any]) -> Fraction | None:
    """Return a lower bound of max(a, b), or of min(max(a, low), high), or None."""
    ends = [polynomial(s, part).number for part in (parts if kind == "maximum" else parts[1:])]
    known = [end for end in ends if end is not None]
    if kind == "maximum":
        return max(known) if known else None
    return min(known) if len(known) == 2 else None
