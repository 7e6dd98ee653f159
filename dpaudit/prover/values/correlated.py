"""Follow linear combinations of Gaussian draws, such as ``B @ z``, as values with correlated noise.

Without this, noise that is used twice, or without a private value, is published. Here a value is a base plus
linear combinations of draws (``Correlated``). Linear operations apply to both parts. Any other use publishes
the value, one release for each entry. The kernel charges all these releases together.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.prover.values.functions import Accepted, call_accepted
from dpaudit.prover.values.matrices import index, shape_value
from dpaudit.prover.values.numpy_rules import new_array_rule, size_rule
from dpaudit.prover.values.operations import (
    LATER,
    OPERATORS,
    PLAIN,
    _holds_noise,
    binary,
    content,
    function_of,
    is_plain,
    is_python_number,
    published,
    shape_of,
    symbols_in,
    unary,
)
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.values import Array, Correlated, Draw, Entries, Private, Public

__all__ = ["Combination", "correlated_draw"]

#: Linear functions of one array. Their other arguments are plain.
OF_ONE = (
    "np.sum", "sum", "np.mean", "mean", "np.cumsum", "cumsum", "np.reshape", "reshape", "np.ravel", "ravel",
    "flatten", "np.array", "np.copy", "copy", "np.asarray", "np.transpose", "np.flip", "np.diff", "squeeze",
)  # fmt: skip
PRODUCTS = ("np.dot", "dot")
STACKS = ("np.array", "np.asarray", "np.stack", "np.concatenate", "np.hstack", "np.vstack")


class Combination:
    """A linear combination of entries of draws, by the number of the draw and the place of the entry."""

    __slots__ = ("terms",)
    #: So that numpy's numbers leave a product to ``__rmul__``.
    __array_ufunc__ = None

    def __init__(self, terms: dict[tuple[int, int], Fraction]) -> None:
        self.terms = terms

    def __add__(self, other: Any) -> Combination:
        if not isinstance(other, Combination):  # the start of a sum, or a plain entry without noise
            return self
        terms = dict(self.terms)
        for source, factor in other.terms.items():
            terms[source] = terms.get(source, Fraction(0)) + factor
        return Combination({source: factor for source, factor in terms.items() if factor})

    __radd__ = __add__

    def __mul__(self, number: Any) -> Combination:
        factor = exact(number)
        return Combination({source: factor * one for source, one in self.terms.items() if factor})

    __rmul__ = __mul__

    def __neg__(self) -> Combination:
        return self * -1

    def __sub__(self, other: Any) -> Combination:
        return self + -other if isinstance(other, Combination) else self

    def __rsub__(self, other: Any) -> Combination:
        return -self

    def __truediv__(self, number: Any) -> Combination:
        return Combination({source: one / exact(number) for source, one in self.terms.items()})


NONE = Combination({})


def correlated_draw(run: Run, draw: Draw) -> Any:
    """Return a draw as a value with correlated noise, if it may have one, and else the draw."""
    plain = draw.distribution == "gaussian" and draw.positive.number is not None
    if not run.correlates or not plain or not all(type(n) is int for n in draw.shape):
        return draw
    noise = _without(draw.shape)
    for place in range(noise.size):
        noise.flat[place] = Combination({(draw.number, place): Fraction(1)})
    base = np.zeros(noise.shape) if draw.shape else 0.0
    return Correlated(base, noise, python=draw.python)


def _without(shape: Any) -> Any:
    """Return an array of combinations without noise."""
    return np.full(shape, NONE, dtype=object)


def _held(base: Any) -> Any:
    """Return a base as a program value."""
    return Array(base) if shape_of(base) != () and not isinstance(base, Array) else base


def _value(base: Any, noise: Any, *, python: bool = False) -> Any:
    """Return the value with this base and this noise."""
    noise = np.asarray(noise, dtype=object)
    if not any(one.terms for one in noise.flat):
        return base
    found = Correlated(content(base), noise, python=python)
    return Array(found) if noise.shape else found


def _is_zero(base: Any) -> bool:
    return not symbols_in(base) and not np.any(base)


def _open(value: Any) -> Correlated | None:
    """Return a value with correlated noise that is not published yet, or None."""
    inner = content(value)
    return inner if isinstance(inner, Correlated) and inner.released is None else None


def _of_entries(run: Run, value: Any) -> Any:
    """Return an array that was written entry by entry as one value, if an entry has correlated noise."""
    inner = content(value)
    if isinstance(inner, Entries):
        inner = inner.items
    if isinstance(inner, list | tuple) and any(_open(item) for item in inner):
        return _stacked(run, inner, lambda parts: np.stack(parts), lambda parts: new_array_rule(run, parts))
    return value


# Operators.


def correlated_binary(run: Run, op: str, a: Any, b: Any) -> Any:
    """Apply a binary operator to two values, of which one has correlated noise, or return None."""
    a, b = _of_entries(run, a), _of_entries(run, b)
    left, right = _open(a), _open(b)
    if left is None and right is None:
        return None
    found = None
    if op in ("add", "sub"):
        found = _sum(run, op, a, b)
    elif (left is None or right is None) and _is_number(b if right is None else a):
        if op == "mul" or (op == "div" and right is None and np.all(content(b))):
            found = _product(run, op, a, b)
        elif op == "matmul":
            found = _matrix_product(run, a, b)
    if found is None:
        return binary(run, op, *(published(run, one) if _open(one) else one for one in (a, b)))
    return run.verify(found, OPERATORS[op], a, b)


def _is_number(value: Any) -> bool:
    """Return whether a value is a plain finite number or array of numbers."""
    inner = content(value)
    number = isinstance(inner, PLAIN) or (isinstance(inner, np.ndarray) and inner.dtype.kind in "if")
    return number and bool(np.all(np.isfinite(np.asarray(inner, dtype=float))))


def _sum(run: Run, op: str, a: Any, b: Any) -> Any:
    if any(_hides(one) for one in (a, b)) and any(isinstance(content(one), Private) for one in (a, b)):
        return None
    bases, noise = [], []
    for one in (a, b):
        own = _open(one)
        if own is None and _holds_noise(one):
            one = published(run, one)
        if own is None and not (_is_number(one) or isinstance(content(one), Private | Public)):
            return None
        if shape_of(one) is None or not all(type(n) is int for n in shape_of(one) or ()):
            return None
        bases.append(one if own is None else _held(own.base))
        noise.append(_without(shape_of(one)) if own is None else own.noise)
    try:
        whole = OPERATORS[op](*noise)
    except ValueError as error:
        return run.refuse(f"the program raises ValueError: {error}")
    x, y = bases
    if _is_zero(content(x)) and np.shape(whole) == shape_of(y):
        base = y if op == "add" else unary(run, "neg", y)
    elif _is_zero(content(y)) and np.shape(whole) == shape_of(x):
        base = x
    else:
        base = binary(run, op, x, y)
    return _value(base, whole, python=is_python_number(a) and is_python_number(b))


def _hides(value: Any) -> bool:
    """Return whether a value has noise around a private value. Beside other private values, it is published.

    So the next gradient is a function of a published model.
    """
    own = _open(value)
    return own is not None and isinstance(content(own.base), Private)


def _product(run: Run, op: str, a: Any, b: Any) -> Any:
    function = OPERATORS[op]
    return _of_parts(run, function, lambda x, y: binary(run, op, x, y), a, b)


def _matrix_product(run: Run, a: Any, b: Any) -> Any:
    if not shape_of(a) or not shape_of(b):
        return None
    return _of_parts(run, np.matmul, lambda x, y: binary(run, "matmul", x, y), a, b)


def _of_parts(run: Run, function: Callable[..., Any], follow: Callable[..., Any], a: Any, b: Any) -> Any:
    """Apply a product with a plain value to the noise (``function``) and to the base (``follow``)."""
    noise, bases = [], []
    for one in (a, b):
        own = _open(one)
        noise.append(np.asarray(content(one)).astype(object) if own is None else own.noise)
        bases.append(one if own is None else _held(own.base))
    whole = run.plain(function, *noise)
    whole = np.asarray(content(whole), dtype=object)
    base = follow(*bases)
    return _value(base, whole, python=is_python_number(a) and is_python_number(b))


def correlated_index(run: Run, value: Any, key: Any) -> Any:
    """Return ``value[key]`` of a value with correlated noise, or None if the key is not plain."""
    inner = _open(value)
    keys = key if isinstance(key, tuple) else (key,)
    if inner is None or not is_plain(list(keys)):
        return None
    plain = tuple(content(one) for one in keys)
    noise = content(run.plain(lambda array: np.asarray(array[plain], dtype=object), inner.noise))
    return _value(index(run, _held(inner.base), key), noise)


# Functions.


def correlated_call(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Follow a linear function of values with correlated noise, or return None."""
    name, count = accepted.name, len(arguments)
    if name in STACKS and isinstance(arguments[0], list | tuple):
        return None if options or count > 1 else _joined(run, accepted, arguments[0])
    if name in PRODUCTS:
        return None if options or count != 2 else _dot(run, *arguments)
    if name == "np.convolve":
        return None if options or count != 2 else _convolved(run, accepted, *arguments)
    if not count or _open(_of_entries(run, arguments[0])) is None:
        return None
    if name in ("float", "np.float64") and count == 1 and not shape_of(arguments[0]):
        own = content(arguments[0])
        return Correlated(own.base, own.noise, python=name == "float")
    if name in ("np.shape", "np.size") and not options:
        return (shape_value if name == "np.shape" else size_rule)(run, arguments[0])
    plain = is_plain([*arguments[1:], *options.values()])
    keeps = not {"out", "where", "dtype", "initial"} & set(options)
    return _of_one(run, accepted, arguments, options) if name in OF_ONE and plain and keeps else None


def _of_one(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Apply a linear function of one array to the noise and to the base."""
    own = content(_of_entries(run, arguments[0]))
    given = [content(one) for one in arguments[1:]]
    noise = run.plain(accepted.function, own.noise, *given, **options)
    base = call_accepted(run, accepted, [_held(own.base), *arguments[1:]], options)
    found = _value(base, content(noise))
    return run.verify(found, lambda array: accepted.function(array, *given, **options), arguments[0])


def _joined(run: Run, accepted: Accepted, items: Any) -> Any:
    return _stacked(run, items, accepted.function, lambda parts: call_accepted(run, accepted, [parts], {}))


def _dot(run: Run, a: Any, b: Any) -> Any:
    pair = [_of_entries(run, _as_array(one)) for one in (a, b)]
    return binary(run, "matmul" if all(map(shape_of, pair)) else "mul", *pair)


def _convolved(run: Run, accepted: Accepted, a: Any, b: Any) -> Any:
    if sum(map(_is_number, (a, b))) != 1 or (_open(a) or _open(b)) is None:
        return None
    found = _of_parts(run, np.convolve, lambda x, y: call_accepted(run, accepted, [x, y], {}), a, b)
    return run.verify(found, np.convolve, a, b)


def _as_array(value: Any) -> Any:
    inner = content(value)
    return Array(np.asarray(inner)) if isinstance(inner, list | tuple) and is_plain(inner) else value


def _stacked(run: Run, items: Any, function: Callable[..., Any], follow: Callable[[list[Any]], Any]) -> Any:
    """Join values, of which some have correlated noise, or return None."""
    parts, noise = [], []
    for item in items:
        item = _of_entries(run, item)
        own, shape = _open(item), shape_of(item)
        if own is None and not (_is_number(item) or isinstance(content(item), Private | Public)):
            return None
        if shape is None or not all(type(n) is int for n in shape):
            return None
        parts.append(item if own is None else _held(own.base))
        own_noise = _without(shape) if own is None else own.noise
        noise.append(own_noise if shape else own_noise[()])  # numpy would nest arrays without axes
    if all(_is_number(one) for one in parts):
        base = run.plain(function, [np.asarray(content(one)) for one in parts])
    else:
        base = follow(parts)
    return _value(base, content(run.plain(function, noise)))


# Releases.


def published_entries(run: Run, value: Correlated) -> Any:
    """Publish a value with correlated noise, by one release for each entry."""
    if value.released is None:
        items = [_entry(run, value, place) for place in np.ndindex(value.shape)]
        if value.shape == ():
            value.released = items[0]
        else:
            value.released = content(
                function_of(
                    run,
                    "array",
                    lambda one: np.array(one).reshape(value.shape),
                    items,
                    list(value.shape),
                    shape=value.shape,
                    kind="f",
                )
            )
    return value.released


def _entry(run: Run, value: Correlated, place: tuple[int, ...]) -> Any:
    noise = value.noise[place]
    base = content(index(run, _held(value.base), place)) if place else value.base
    if not noise.terms:
        if isinstance(base, Private):
            run.refuse("a private value is published without noise")
        return base
    node = run.lift(base)
    terms = [[*source, str(weight)] for source, weight in sorted(noise.terms.items())]
    release = {"law": "correlated", "node": node.node, "terms": terms}
    known = run.correlated.get(repr(release))
    if known is None:
        one = Correlated(base, np.array(noise, dtype=object), python=value.python)
        samples = [run.sample(one, side) for side in run.worlds.sides]
        run.event(f"release {run.record.release(release)}")
        known = run.outcome(shape=(), kind="f", samples=samples, python=value.python)
        run.correlated[repr(release)] = known  # the same number again is no new information
    return known


LATER.update({
    "correlated binary": correlated_binary,
    "correlated index": correlated_index,
    "correlated call": correlated_call,
    "published correlated": published_entries,
})  # fmt: skip
