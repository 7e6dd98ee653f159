"""Decide which public expressions are provably finite.

An infinity would break the rules, because infinity times a private 0 is NaN. Outcomes of noise with a density
are finite, and are 0 with probability 0. Counts and choices may be 0. Expressions with other functions must
not be combined with private values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.expressions import polynomial
from dpaudit.kernel.values.info import Setting

__all__ = ["is_finite"]

#: Functions that map finite numbers to finite numbers.
FINITE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "neg",
        "pos",
        "not",
        "and",
        "or",
        "xor",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "matmul",
        "index",
        "put",
        "entry",
        "array",
        "list",
        "tuple",
        "slice",
        "type",
        "chosen",
        "transpose",
        "int",
        "float",
        "bool",
        "range",
        "NoneType",
        "ellipsis",
        "abs",
        "round",
        "sum",
        "len",
        "np.absolute",
        "np.negative",
        "np.add",
        "np.subtract",
        "np.multiply",
        "np.square",
        "np.sign",
        "np.tanh",
        "np.sin",
        "np.cos",
        "np.arctan",
        "np.exp",
        "np.floor",
        "np.ceil",
        "np.rint",
        "np.trunc",
        "np.round",
        "np.clip",
        "np.maximum",
        "np.minimum",
        "np.where",
        "np.sum",
        "np.max",
        "np.min",
        "np.any",
        "np.all",
        "np.argmax",
        "np.argmin",
        "np.argsort",
        "np.sort",
        "np.cumsum",
        "np.array",
        "np.asarray",
        "np.stack",
        "np.concatenate",
        "np.copy",
        "np.reshape",
        "np.ravel",
        "np.dot",
        "np.outer",
        "np.diag",
        "np.zeros_like",
        "np.ones_like",
        "np.count_nonzero",
        "np.float64",
        "np.int64",
        "np.less",
        "np.less_equal",
        "np.greater",
        "np.greater_equal",
        "np.equal",
        "np.not_equal",
        "np.logical_and",
        "np.logical_or",
        "np.logical_not",
        "np.mean",
        "np.median",
        "np.linalg.eigh",
        "np.linalg.norm",
        "np.linalg.pinv",
        "np.linalg.inv",
        "np.linalg.solve",
        "np.triu",
        "np.tril",
        "np.column_stack",
        "np.vstack",
        "np.hstack",
        "np.flip",
        "np.roll",
        "np.repeat",
        "np.tile",
        "np.squeeze",
        "np.expand_dims",
        "np.swapaxes",
        "np.transpose",
        "np.broadcast_to",
        "np.eye",
        "np.zeros",
        "np.ones",
        "np.full",
        "np.arange",
        "np.linspace",
        "math.floor",
        "math.ceil",
        "math.fabs",
        "math.tanh",
        "math.sin",
        "math.cos",
        "math.atan",
        "sum",
        "mean",
        "max",
        "min",
        "any",
        "all",
        "clip",
        "cumsum",
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "round",
        "reshape",
        "ravel",
        "flatten",
        "copy",
        "dot",
        "item",
        "tolist",
    ]
)
#: Functions that are finite if their argument is at least a positive number (log) or at least 0 (sqrt).
OF_POSITIVE = {"np.log": True, "math.log": True, "np.sqrt": False, "math.sqrt": False}


def is_finite(s: Setting, expression: Any, continuous: Collection[int]) -> bool:
    """Return whether a public expression is finite for every size and, with probability 1, all outcomes.

    ``continuous`` holds the numbers of the outcomes that have a density.
    """
    if not isinstance(expression, list | tuple) or not expression or not isinstance(expression[0], str):
        return True  # a constant inside an expression
    kind, *parts = expression
    if kind in ("number", "size", "outcome"):
        return True
    finite: Callable[[Any], bool] = lambda part: is_finite(s, part, continuous)  # noqa: E731
    if kind == "div":
        return all(map(finite, parts)) and _is_nonzero(s, parts[1], continuous)
    if kind != "function":
        return all(map(finite, parts))
    name, *rest = parts
    if name == "pow":
        power = rest[1] if len(rest) == 2 else None
        if not isinstance(power, list) or power[0] != "number":
            return False
        return Fraction(power[1]).denominator == 1 and Fraction(power[1]) >= 0 and finite(rest[0])
    if name == "div":
        return all(map(finite, rest)) and _is_nonzero(s, rest[1], continuous)
    if name in OF_POSITIVE and len(rest) == 1:
        return finite(rest[0]) and _is_at_least(s, rest[0], positive=OF_POSITIVE[name])
    return name in FINITE and all(map(finite, rest))


def _is_nonzero(s: Setting, expression: Any, continuous: Collection[int]) -> bool:
    """Return whether a divisor is provably nonzero, by its sign or an added outcome with a density."""
    poly = polynomial(s, expression)
    if poly.number is not None:
        return poly.number != 0
    most, least = s.largest(poly), s.largest(-poly)
    if (most is not None and most < 0) or (least is not None and least < 0):
        return True
    if len(poly.terms) == 1 and all(name in s.low for name in poly.symbols):
        return True
    names = {f'?["outcome",{number}]' for number in continuous}
    alone = [term[0][0] for term in poly.terms if len(term) == 1 and term[0][1] == 1]
    others = [term for term in poly.terms if term and not (len(term) == 1 and term[0][1] == 1)]
    return any(name in names for name in alone) and not any(
        name in dict(term) for term in others for name in names
    )


def _is_at_least(s: Setting, expression: Any, *, positive: bool) -> bool:
    """Return whether a value is clipped from below at a positive number, or at 0 if not ``positive``."""
    kind = expression[0] if isinstance(expression, list | tuple) else ""
    if kind not in ("maximum", "clip"):
        return False
    ends = [polynomial(s, part).number for part in (expression[1:] if kind == "maximum" else expression[2:])]
    known = [end for end in ends if end is not None]
    if kind == "clip" and len(known) < 2:
        return False
    least = max(known, default=None) if kind == "maximum" else min(known, default=None)
    return least is not None and (least > 0 if positive else least >= 0)
