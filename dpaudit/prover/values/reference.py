"""Compute each step of a record with numpy, independently of the rules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.kernel.values.info import Constants
from dpaudit.prover.values.samples import KINDS

__all__ = ["REFERENCE", "plain_constant"]


def plain_constant(values: Any, shape: tuple[int, ...], kind: str, *, python: bool) -> Any:
    """Return the numpy or Python value of a recorded constant."""
    known = Constants.read(values)
    if python:
        number = known.number(known.numerators[0])
        return bool(number) if kind == "b" else int(number) if kind == "i" else float(number)
    over = known.over  # the quotient of two integers is rounded correctly
    numbers = [n / over if kind == "f" else n // over for n in known.numerators]
    array: Any = np.array(numbers, dtype=KINDS[kind]).reshape(shape)
    return array if shape else array[()]


def _python(*values: Any) -> bool:
    return all(not isinstance(value, np.ndarray | np.generic) for value in values)


def _minimum(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if not _python(a, b) else _alike(min(a, b), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if not _python(a, b) else _alike(max(a, b), a, b)


def _alike(value: Any, *others: Any) -> Any:
    """Convert to float if an operand is a float, because min and max may return the other, an int."""
    return float(value) if any(isinstance(other, float) for other in others) else value


def _cast(value: Any, kind: str, *, python: bool) -> Any:
    if python:
        return {"f": float, "i": int, "b": bool}[kind](value)
    found: Any = np.asarray(value).astype(KINDS[kind])
    return found if found.shape else found[()]


def _chosen(condition: Any, a: Any, b: Any, *, python: bool) -> Any:
    found = _scalar(np.where(condition, a, b))
    return found.item() if python and _python(a, b) else found


def _rounded(function: Callable[[Any], Any], value: Any, kind: str, *, python: bool) -> Any:
    found = np.asarray(function(np.asarray(value, dtype=float)))
    if python:
        return int(found) if kind == "i" else float(found)
    found = found.astype(KINDS[kind])
    return found if found.shape else found[()]


def _scalar(array: Any) -> Any:
    return array if array.shape else array[()]


def _unary(python: Callable[[Any], Any], numpy: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda p, a: python(a) if _python(a) else numpy(a)


def _binary(
    python: Callable[[Any, Any], Any], numpy: Callable[[Any, Any], Any]
) -> Callable[[Any, Any, Any], Any]:
    return lambda p, a, b: python(a, b) if _python(a, b) else numpy(a, b)


def _over(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda p, a: function(a, axis=tuple(p["axes"]))


def _norm(p: Any, a: Any) -> Any:
    order = {"1": 1, "2": 2, "inf": np.inf}[p["p"]]
    return np.linalg.norm(a, ord=order, axis=a.ndim - 1, keepdims=p["keep"])


def _bins(p: Any, a: Any) -> Any:
    edges = np.array([float(Fraction(text)) for text in p["edges"]])
    place = np.searchsorted(edges, a, side="right") - 1
    place = np.where(a == edges[-1], len(edges) - 2, place)
    return (place[..., None] == np.arange(len(edges) - 1)).astype(np.int64)


def _order(p: Any, a: Any) -> Any:
    """Return a median or quantile. The program's own step computes an entry at a released position."""
    if p["what"] == "median":
        return np.median(a)
    return np.quantile(a, float(Fraction(p["q"])))


def _matrix(p: Any, m: Any, v: Any) -> Any:
    found = m @ v if p["over"] else v @ m.T
    return _scalar(found[..., 0]) if p["vector"] else found


#: op -> function(params, *operand values). "data", "public", "pick", "reshape" and "rows" are in ``run``.
REFERENCE: dict[str, Callable[..., Any]] = {
    "add": _binary(operator.add, np.add),
    "sub": _binary(operator.sub, np.subtract),
    "mul": _binary(operator.mul, np.multiply),
    "div": _binary(operator.truediv, np.true_divide),
    "mod": _binary(operator.mod, np.mod),
    "neg": _unary(operator.neg, np.negative),
    "square": lambda p, a: a * a,
    "abs": _unary(abs, np.abs),
    "sign": lambda p, a: np.sign(a),
    "exp": lambda p, a: np.exp(a) if not _python(a) else math.exp(a),
    "log": lambda p, a: np.log(a) if not _python(a) else math.log(a),
    "sqrt": lambda p, a: np.sqrt(a) if not _python(a) else math.sqrt(a),
    "tanh": _unary(math.tanh, np.tanh),
    "sin": _unary(math.sin, np.sin),
    "cos": _unary(math.cos, np.cos),
    "arctan": _unary(math.atan, np.arctan),
    "minimum": lambda p, a, b: _minimum(a, b),
    "maximum": lambda p, a, b: _maximum(a, b),
    "where": lambda p, c, a, b: _chosen(c, a, b, python=p.get("python", False)),
    "and": _binary(lambda a, b: bool(a and b), np.logical_and),
    "or": _binary(lambda a, b: bool(a or b), np.logical_or),
    "not": _unary(operator.not_, np.logical_not),
    "lt": _binary(operator.lt, np.less),
    "le": _binary(operator.le, np.less_equal),
    "gt": _binary(operator.gt, np.greater),
    "ge": _binary(operator.ge, np.greater_equal),
    "eq": _binary(operator.eq, np.equal),
    "ne": _binary(operator.ne, np.not_equal),
    "cast": lambda p, a: _cast(a, p["kind"], python=p["python"]),
    "floor": lambda p, a: _rounded(np.floor, a, p["kind"], python=p["python"]),
    "trunc": lambda p, a: _rounded(np.trunc, a, p["kind"], python=p["python"]),
    "rint": lambda p, a: _rounded(np.rint, a, p["kind"], python=p["python"]),
    "ones": lambda p, a: np.ones(np.shape(a)[:1], dtype=np.int64),
    "sum": _over(np.sum),
    "max": _over(np.max),
    "min": _over(np.min),
    "any": _over(np.any),
    "all": _over(np.all),
    "norm": _norm,
    "stack": lambda p, *parts: np.stack([np.asarray(part) for part in parts]).astype(KINDS[p["kind"]]),
    "gather": lambda p, place, *rows: np.stack([np.asarray(row) for row in rows])[place],
    "columns": lambda p, *parts: np.concatenate(parts, axis=-1),
    "matrix": _matrix,
    "outer": lambda p, a, b: (
        np.outer(a, b)
        if p.get("records") == 0
        else a.reshape(*a.shape, *(1,) * (b.ndim - 1))
        * b.reshape(b.shape[0], *(1,) * (a.ndim - 1), *b.shape[1:])
    ),
    "one_hot": lambda p, a: (np.asarray(a)[..., None] == np.arange(p["k"])).astype(np.int64),
    "bins": _bins,
    "sort": lambda p, a: np.sort(a),
    "cumsum": lambda p, a: np.cumsum(a),
    "order": _order,
    "var": lambda p, a: np.var(a, axis=0, ddof=p["ddof"]),
    "softmax": lambda p, e, t: e / t,
}
