"""Follow matrix products and indexing of private arrays."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.kernel.values.polynomials import Poly
from dpaudit.prover.values.fixed_samples import first_of, sample_size, sampled_rows
from dpaudit.prover.values.gather import gathered
from dpaudit.prover.values.operations import (
    LATER,
    binary,
    content,
    function_of,
    is_plain,
    published,
    shape_of,
)
from dpaudit.prover.values.run import Run, text_of
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.slices import is_by_size, length_of_slice, part_of, sliced
from dpaudit.prover.values.values import (
    Array,
    Draw,
    Entries,
    Filtered,
    Noisy,
    Private,
    Public,
    Ranked,
    Sample,
    Symbol,
    Transposed,
)

__all__ = [
    "count_of",
    "extent_value",
    "index",
    "mask_count",
    "matmul",
    "release_places",
    "shape_value",
    "zeroed",
]


def extent_value(run: Run, extent: int | Poly) -> Any:
    """Return an extent of a shape as a program value: a number, or an expression of the public size."""
    if isinstance(extent, int):
        return extent
    expression: Any = ["number", "0"]
    for term, number in extent.terms.items():
        part: Any = ["number", str(number)]
        for _ in range(dict(term).get("N", 0)):
            part = ["mul", part, ["size"]] if part != ["number", "1"] else ["size"]
        expression = part if expression == ["number", "0"] else ["add", expression, part]
    samples = [run.worlds.shape((extent,), side)[0] for side in run.worlds.sides]
    return Public(expression, (), "i", samples, python=True)


def count_of(run: Run, private: Private) -> Any:
    """Return the private number of records of an array as a recorded step."""
    ones = run.step("ones", [private])
    return run.step("cast", [run.step("sum", [ones], {"axes": (0,)})], {"kind": "i", "python": True})


def mask_count(run: Run, mask: Private) -> Any:
    """Return the private number of records for which a mask is true."""
    return run.step("cast", [run.step("sum", [mask], {"axes": (0,)})], {"kind": "i", "python": True})


def shape_value(run: Run, value: Any) -> tuple[Any, ...]:
    """Return ``value.shape``, whose extents are numbers, public sizes or private counts."""
    inner = content(value)
    if isinstance(inner, Filtered):
        ends = part_of(run, inner.mask)
        size = sample_size(run, inner.mask)
        if size is not None:
            return (size, *(extent_value(run, n) for n in inner.base.shape[1:]))
        if ends is not None:
            return (length_of_slice(run, ends), *(extent_value(run, n) for n in inner.base.shape[1:]))
        return (mask_count(run, inner.mask), *(extent_value(run, n) for n in inner.base.shape[1:]))
    if isinstance(inner, Private) and inner.info.records and run.s.length_is_private:
        return (count_of(run, inner), *(extent_value(run, n) for n in inner.shape[1:]))
    if isinstance(inner, Transposed):
        run.refuse("the shape of a transposed array of records is not supported")
    shape = shape_of(inner)
    if shape is None:
        run.refuse("the shape of this released value is unknown")
    return tuple(extent_value(run, n) for n in shape)


def zeroed(run: Run, filtered: Filtered) -> Private:
    """Return the unfiltered rows, with 0 in the rows that the filter drops."""
    mask, base = filtered.mask, filtered.base
    ends = part_of(run, mask)
    if ends is not None:
        return run.step("part", [base], ends)
    if len(base.shape) > 1:
        shape = (mask.shape[0], *(1,) * (len(base.shape) - 1))
        mask = run.step("reshape", [mask], {"shape": shape, "records": 1})
    zero: Any = {"b": np.bool_(False), "i": np.int64(0), "f": np.float64(0.0)}[base.info.kind]
    return run.step("where", [mask, base, zero])


def matmul(run: Run, a: Any, b: Any) -> Any:
    """Return ``a @ b``, where at least one operand is not plain."""
    x, y = content(a), content(b)
    if isinstance(x, Filtered) or isinstance(y, Filtered):
        run.refuse("a filtered array cannot be used in a matrix product (use np.where(mask[:, None], X, 0))")
    if isinstance(x, Private | Transposed) and isinstance(y, Private):
        return _of_records(run, a, b, x, y)
    if isinstance(x, Transposed) or isinstance(y, Transposed):
        return _transposed_by_public(run, a, b, x, y)
    if isinstance(x, Private) or isinstance(y, Private):
        found = _one_by_outcome(run, a, b, x, y)
        return _by_public(run, a, b, x, y) if found is None else found
    return function_of(run, "matmul", operator.matmul, a, b, shape=_product_shape(x, y), kind="f")


def _product_shape(x: Any, y: Any) -> Any:
    left, right = shape_of(x), shape_of(y)
    if (
        left is None
        or right is None
        or not 1 <= len(left) <= 2
        or not 1 <= len(right) <= 2
        or left[-1] != right[0]
    ):
        return None
    return (*left[:-1], *right[1:])


def _of_records(run: Run, a: Any, b: Any, x: Any, y: Private) -> Any:
    if isinstance(x, Transposed) and x.base.info.records == y.info.records == 1 and len(y.shape) <= 2:
        product = run.step("outer", [x.base, y])
        return run.verify(run.value(run.step("sum", [product], {"axes": (0,)})), operator.matmul, a, b)
    if isinstance(x, Private) and len(x.shape) == len(y.shape) == 1:
        product = run.lift(binary(run, "mul", a, b))
        if product.info.kind != "f":
            run.refuse(
                "a matrix product of integers or Booleans is not supported (convert one operand to float)"
            )
        return run.verify(run.step("sum", [product], {"axes": (0,)}), operator.matmul, a, b)
    return run.refuse(
        "a product of two private arrays must be a sum over records (write X.T @ Y, or a sum of products)"
    )


def _transposed_by_public(run: Run, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Follow ``X.T @ w`` with constant weights w, one per record: the sum of w_i times row i."""
    if not isinstance(x, Transposed) or isinstance(y, Symbol) or np.ndim(y) != 1:
        run.refuse("a transposed array can only be used in X.T @ Y, or in X.T @ w with a constant vector w")
    weights = Array(np.reshape(y, (-1, 1)))
    product = run.lift(binary(run, "mul", Array(x.base), weights))
    return run.verify(run.value(run.step("sum", [product], {"axes": (0,)})), operator.matmul, a, b)


def _by_public(run: Run, a: Any, b: Any, x: Any, y: Any) -> Any:
    left = isinstance(y, Private)  # the public matrix is the left operand
    private, other = (y, x) if left else (x, y)
    if isinstance(other, Public):
        return _by_outcome(run, private, other, left)
    if np.ndim(other) not in (1, 2) or len(private.shape) > 2:
        run.refuse("matrix products of arrays with more than two axes are not supported")
    info, matrix = private.info, np.asarray(other)
    if matrix.dtype not in (np.float64, np.int64):
        run.refuse(f"a public matrix must have dtype float64 or int64, got {matrix.dtype}")
    vector = matrix.ndim == 1
    if left and len(private.shape) == 2:
        run.refuse(
            "a public matrix on the left of a private matrix is not supported (write private @ matrix.T)"
        )
    table = matrix.reshape(1, -1) if vector else matrix if left else matrix.T
    over = bool(info.records) and len(private.shape) == 1
    found = run.step("matrix", [np.ascontiguousarray(table), private], {"over": over, "vector": vector})
    return run.verify(run.value(found), operator.matmul, a, b)


def _one_by_outcome(run: Run, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Follow the product of a private vector or matrix and an outcome or constant, as products and a sum.

    Return None for records, and for products with a rule of their own.
    """
    private, other = (x, y) if isinstance(x, Private) else (y, x)
    shapes = shape_of(x), shape_of(y)
    if private.info.records or not isinstance(other, Public | np.ndarray):
        return None
    kind = other.kind if isinstance(other, Public) else other.dtype.kind
    if kind != "f" or (isinstance(other, np.ndarray) and len(private.shape) == 1):
        return None
    if None in shapes or not all(1 <= len(shape or ()) <= 2 for shape in shapes):
        return None
    (left, right), wide = shapes, (len(shapes[0] or ()), len(shapes[1] or ()))
    if left is None or right is None or left[-1] != right[0]:
        return None
    every = slice(None)
    if wide == (2, 2):
        product, axis = binary(run, "mul", index(run, a, (every, every, None)), index(run, b, (None,))), 1
    elif wide == (1, 2):
        product, axis = binary(run, "mul", index(run, a, (every, None)), b), 0
    else:
        product, axis = binary(run, "mul", a, b), wide[0] - 1
    found = run.step("sum", [run.lift(product)], {"axes": (axis,)})
    return run.verify(run.value(found), operator.matmul, a, b)


def _by_outcome(run: Run, private: Private, other: Public, left: bool) -> Any:
    info = private.info
    known = other.shape is not None and len(other.shape) == 1 and not left
    if (
        not known
        or info.records != 1
        or len(private.shape) != 2
        or private.shape[1] != (other.shape or (None,))[0]
    ):
        run.refuse("a matrix product with a released value requires rows of records times a released vector")
    samples = [run.sample(private, side) @ run.sample(other, side) for side in run.worlds.sides]
    params = {"shape": (), "function": ["matmul", other.expression]}
    return run.value(run.step("row_function", [private], params, samples))


# Indexing.


def index(run: Run, value: Any, key: Any) -> Any:
    """Return ``value[key]``."""
    inner = content(value)
    key = tuple(_whole(run, inner, one) for one in key) if isinstance(key, tuple) else _whole(run, inner, key)
    keys = key if isinstance(key, tuple) else (key,)
    if isinstance(inner, list | tuple | dict | str | range):
        return _of_container(run, inner, key)
    found = LATER["correlated index"](run, value, key) if run.correlates else None
    if found is not None:
        return found
    sampled = _of_sample(run, value, keys)
    if sampled is not None:
        return sampled
    row = gathered(run, value, keys, index)
    if row is not None:
        return row
    if isinstance(inner, Private):
        return _of_private(run, value, inner, keys)
    if isinstance(inner, Filtered):
        return _of_filtered(run, inner, keys)
    if isinstance(inner, Entries) and type(key) is int:
        if not -len(inner.items) <= key < len(inner.items):
            run.refuse(f"index {key} is out of range for an array of {len(inner.items)} entries")
        return inner.items[key]
    if any(isinstance(content(one), Private | Filtered) for one in keys):
        run.refuse("a private value is used as an index")
    if isinstance(inner, Draw | Noisy) and type(key) is int:
        found = _of_noise(run, inner, key)
        if found is not None:
            return found
    if isinstance(inner, Ranked):
        return _of_ranked(run, inner, key)
    if isinstance(inner, Symbol) and not isinstance(inner, Public):
        return index(run, published(run, value), key)
    keys = tuple(published(run, one) if isinstance(content(one), Symbol) else one for one in keys)
    plain = is_plain(list(keys)) and not isinstance(inner, Public)
    if plain and isinstance(inner, np.ndarray):
        found = run.plain(operator.getitem, inner, _unwrapped(key))
        if isinstance(found, Array) and isinstance(value, Array) and isinstance(found.content, np.ndarray):
            if np.shares_memory(found.content, inner):
                value.shared = found.shared = True
            else:
                found.shared = False
        return found
    if not isinstance(inner, Public | np.ndarray):
        run.refuse(f"indexing a {type(inner).__name__} is not supported")
    key = keys if isinstance(key, tuple) else keys[0]
    shape, kind = _indexed_shape(inner, key), inner.kind if isinstance(inner, Public) else inner.dtype.kind
    if isinstance(inner, Public) and inner.shape == ():
        run.refuse("a single number is indexed")
    return function_of(
        run, "index", _getitem, Array(inner), key, shape=shape, kind=kind if kind in ("b", "i", "f") else None
    )


def _of_sample(run: Run, value: Any, keys: tuple[Any, ...]) -> Any:
    """Return the records of a hidden sample, or a sample that is the first part of a permutation."""
    inner, place = content(value), content(keys[0]) if len(keys) == 1 else None
    if isinstance(inner, Private) and isinstance(place, Sample):
        return sampled_rows(run, value, inner, place, keys[0])
    return first_of(run, inner, place) if isinstance(inner, Sample) else None


def _whole(run: Run, inner: Any, key: Any) -> Any:
    """Return a released position, or the released ends of a slice, as integers with few possible values.

    Other keys are returned unchanged. An entry of a private array at an outcome with a ``count`` has a rule
    of its own.
    """
    place = content(key)
    if isinstance(place, Public) and place.kind != "b" and place.shape == ():
        known = run.whole.value(place.expression)
        if known is not None and known.denominator == 1:
            return int(known)
    if isinstance(inner, Private) and isinstance(place, Public) and place.count is None and place.kind != "b":
        whole = run.whole.one_of(run, place) if place.shape == () else None
        return key if whole is None else whole
    if not isinstance(key, slice):
        return key
    ends = (key.start, key.stop, key.step)
    found = [run.whole.one_of(run, content(end)) for end in ends]
    return slice(*(end if one is None else one for end, one in zip(ends, found, strict=True)))


def _getitem(array: Any, key: Any) -> Any:
    return array[tuple(key) if isinstance(key, tuple) else key]


def _unwrapped(key: Any) -> Any:
    if isinstance(key, tuple | list):
        return type(key)(content(one) for one in key)
    return content(key)


def _indexed_shape(inner: Any, key: Any) -> Any:
    shape = shape_of(inner)
    if shape is None or not all(isinstance(n, int) for n in shape):
        return None
    if isinstance(content(key), Public):
        place = content(key)
        return shape[1:] if place.shape == () and place.kind == "i" else None
    if not is_plain(list(key) if isinstance(key, tuple) else [key]):
        return None
    try:
        return np.empty(shape, np.int8)[_unwrapped(key)].shape
    except (IndexError, TypeError, ValueError):
        return None


def _of_container(run: Run, inner: Any, key: Any) -> Any:
    place = content(key)
    if isinstance(place, Symbol):
        place = content(published(run, key)) if not isinstance(place, Private | Filtered) else place
        if isinstance(place, Private | Filtered):
            run.refuse("a private value is used as an index")
        ends = (-len(inner), len(inner) - 1)  # at any other value the program raises IndexError
        whole = (
            run.whole.one_of(run, place, ends=ends)
            if isinstance(place, Public) and place.kind != "b" and isinstance(inner, list | tuple | range)
            else None
        )
        if whole is not None:
            place = whole
        elif (
            isinstance(place, Public)
            and place.kind == "b"
            and place.shape == ()
            and isinstance(inner, list | tuple)
        ):
            place = run.walk.fork(f"truth {text_of(place.expression)}", 2)
        else:
            run.refuse("a released value is used to index a list (compare it in an if, or index an array)")
    if isinstance(place, np.ndarray | list | dict | set):
        run.refuse(f"a list cannot be indexed by a {type(place).__name__}")
    if not isinstance(place, int | str | slice | float | tuple | np.integer | bool) or not is_plain(place):
        run.refuse(f"an index of type {type(place).__name__} is not supported")
    try:
        return inner[place]
    except (IndexError, KeyError, TypeError) as error:
        return run.refuse(f"the program raises {type(error).__name__}: {error}")


def _of_noise(run: Run, inner: Any, key: int) -> Any:
    """Return one entry of a draw or of an unreleased noisy value, or None if it was released."""
    shape = inner.shape
    if len(shape) != 1 or not isinstance(shape[0], int) or not -shape[0] <= key < shape[0]:
        return None
    place = key % shape[0]
    if isinstance(inner, Draw):
        return None if inner.published is not None else Noisy(0, ((Fraction(1), inner, place),), ())
    if place in inner.parts:
        return inner.parts[place]
    single = len(inner.terms) == 1 and inner.terms[0][2] is None and inner.terms[0][1].shape == shape
    if (
        inner.released is not None
        or not single
        or inner.source is not None
        or not inner.terms[0][1].free(place)
    ):
        return None
    factor, draw, _ = inner.terms[0]
    held = isinstance(content(inner.base), Symbol | np.ndarray)
    base = index(run, inner.base, place) if held else inner.base
    inner.parts[place] = Noisy(base, ((factor, draw, place),), ())
    return inner.parts[place]


def _of_ranked(run: Run, inner: Ranked, key: Any) -> Any:
    """Release the last or first positions of the order of noisy scores, as that many maxima or minima."""
    noisy = inner.scores
    factor, _draw, _entry = noisy.terms[0]
    size = noisy.shape[0]
    if (
        not isinstance(key, slice)
        or not isinstance(size, int)
        or not is_plain([key.start, key.stop, key.step])
    ):
        run.refuse("only the first or last positions of the order of noisy scores can be used, such as [-k:]")
    got = list(range(size))[key]
    last, first = set(got) == set(range(size - len(got), size)), set(got) == set(range(len(got)))
    if not got or not (last or first):
        run.refuse("only the first or last positions of the order of noisy scores can be used, such as [-k:]")
    return release_places(
        run, noisy, count=len(got), largest=last if last != first else factor > 0, kinds=key
    )


def release_places(run: Run, noisy: Noisy, *, count: int, largest: bool, kinds: Any = None) -> Any:
    """Release the positions of the ``count`` largest or smallest noisy scores."""
    factor, draw, entry = noisy.terms[0]
    base = run.lift(noisy.base)
    sign = 1 if largest else -1
    run.take(draw, entry)
    release = {
        "law": "argmax",
        "node": base.node,
        "draw": draw.number,
        "entry": entry,
        "factor": str(sign * factor),
        "count": count,
    }
    total = [run.sample(noisy, side) for side in run.worlds.sides]
    size = int(noisy.shape[0])  # type: ignore[arg-type]
    if kinds is None:
        samples = [apply(_place, one, sign) for one in total]
        return run.released(release, base.info, shape=(), kind="i", samples=samples, python=False, count=size)
    samples = [apply(lambda scores: np.argsort(scores)[kinds], one) for one in total]
    return Array(run.released(release, base.info, shape=(count,), kind="i", samples=samples, python=False))


def _place(scores: Any, sign: int) -> Any:
    return np.argmax(scores) if sign > 0 else np.argmin(scores)


def _of_filtered(run: Run, inner: Filtered, keys: tuple[Any, ...]) -> Any:
    first = content(keys[0])
    if len(keys) == 1 and isinstance(first, Filtered):
        if first.mask.node != inner.mask.node or first.base.info.kind != "b":
            run.refuse("the mask belongs to other rows than the filtered array")
        ends, chosen, base = part_of(run, inner.mask), first.base, inner.base
        if ends is not None:  # other rows count as 0, so that only the records of the slice matter
            chosen, base = run.step("part", [chosen], ends), zeroed(run, inner)
        both = run.step("and", [inner.mask, chosen])
        return Array(Filtered(base, both))
    if isinstance(first, slice) and first == slice(None) and len(keys) > 1:
        return Array(Filtered(content(index(run, Array(inner.base), keys)), inner.mask))
    return run.refuse("a filtered array cannot be indexed: its length depends on the data")


def _of_private(run: Run, value: Any, inner: Private, keys: tuple[Any, ...]) -> Any:
    if isinstance(value, Array):
        value.shared = True
    first = content(keys[0])
    if isinstance(first, Private):
        return _masked(run, inner, first, keys)
    if any(isinstance(content(one), Private | Filtered) for one in keys):
        run.refuse("a private value is used as an index")
    keys = tuple(published(run, one) if isinstance(content(one), Symbol) else one for one in keys)
    if not inner.shape:
        run.refuse("a single number is indexed")
    if any(one is Ellipsis for one in keys):
        place = next(k for k, one in enumerate(keys) if one is Ellipsis)
        used = sum(one is not None and one is not Ellipsis for one in keys)
        keys = (*keys[:place], *(slice(None),) * (len(inner.shape) - used), *keys[place + 1 :])
    if is_by_size(run, inner, keys):
        return sliced(run, inner, keys)
    if any(isinstance(content(one), Public) for one in keys):
        return _by_place(run, inner, keys)
    steps = _progression(first, inner.shape[0]) if len(keys) == 1 else None
    if steps is not None:  # the same records as a slice, copied
        places = list(first)
        found = _by_position(run, inner, (steps,))
        return run.verify(Array(found.content), lambda array, k: array[k], value, places)
    if any(isinstance(content(one), np.ndarray | list | bool | np.bool_) for one in keys):
        run.refuse("indexing a private array by an array or list is not supported (use slices, or np.where)")
    kinds = (int, slice, np.int64, type(None))
    if not all(type(one) in kinds for one in keys) or sum(one is not None for one in keys) > len(inner.shape):
        run.refuse(
            "a private array can only be indexed by integers, slices and None, at most one for each axis"
        )
    return _by_position(run, inner, keys)


def _progression(places: Any, length: Any) -> slice | None:
    """Return the slice that selects the same positions as an ascending list with equal steps, or None."""
    if not isinstance(places, list) or not places or any(type(k) is not int for k in places):
        return None
    if not isinstance(length, int) or places[-1] >= length:
        return None
    step = places[1] - places[0] if len(places) > 1 else 1
    if places[0] < 0 or step < 1 or places != list(range(places[0], places[-1] + 1, step)):
        return None
    return slice(places[0], places[-1] + 1, step)


def _masked(run: Run, inner: Private, mask: Private, keys: tuple[Any, ...]) -> Any:
    fits = mask.info.kind == "b" and mask.info.records == inner.info.records == 1 and len(mask.shape) == 1
    if len(keys) != 1 or not fits:
        run.refuse("a private value is used as an index")
    if repr(mask.info.aligned) != repr(inner.info.aligned) or mask.shape[0] != inner.shape[0]:
        run.refuse("the mask belongs to other records than the array")
    return Array(Filtered(inner, mask))


def _by_place(run: Run, inner: Private, keys: tuple[Any, ...]) -> Any:
    """Return an entry at a position that is an outcome."""
    place = next(content(one) for one in keys if isinstance(content(one), Public))
    if place.shape != () or place.kind != "i":
        run.refuse("a released index must be a single integer")
    samples = [
        _picked_by(run.sample(inner, side), [run.sample(one, side) for one in keys])
        for side in run.worlds.sides
    ]
    if len(keys) == 1 and len(inner.shape) == 1:
        params = {"what": "entry", "at": place.expression}
        return run.step("order", [inner], params, samples)
    full = [one for one in keys if isinstance(one, slice) and one == slice(None)]
    if (
        len(keys) == len(inner.shape) == 2
        and inner.info.records == 1
        and len(full) == 1
        and keys[0] is full[0]
    ):
        return run.value(run.step("row_entry", [inner], {"at": place.expression}, samples))
    return run.refuse("a released index is supported for a vector, or as X[:, k]")


def _picked_by(array: Any, keys: list[Any]) -> Any:
    return apply(lambda a, *k: a[tuple(k)], array, *keys)


def _by_position(run: Run, inner: Private, keys: tuple[Any, ...]) -> Any:
    info = inner.info
    found = inner
    first = keys[0]
    whole = isinstance(first, slice) and first == slice(None)
    if info.records and not whole:
        if info.records != 1 or first is None:
            run.refuse("records arranged in blocks cannot be selected by position")
        found, drops = _rows(run, inner, first)
        keys = keys[1:] if drops else (slice(None), *keys[1:])
        if drops and not keys:
            return run.verify(run.value(found), operator.getitem, Array(inner), first)
    shape = found.shape[found.info.records :]
    if not all(isinstance(n, int) for n in shape):
        if all(isinstance(one, slice) and one == slice(None) for one in keys):
            return Array(found, shared=True)
        run.refuse("an axis of unknown length cannot be indexed")
    lead = found.info.records
    if lead > 1 and not all(isinstance(one, slice) and one == slice(None) for one in keys[:lead]):
        run.refuse("records arranged in blocks cannot be selected by position")
    inside = keys[lead:] if lead else keys
    places = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)  # type: ignore[arg-type]
    try:
        got = places[tuple(inside)]
    except IndexError as error:
        return run.refuse(f"the program raises IndexError: {error}")
    taken = np.ravel(got).tolist()
    if taken == list(range(places.size)) and len(taken):
        if np.shape(got) == shape:
            return Array(found, shared=True) if found.shape else found
        part = run.step("reshape", [found], {"shape": (*found.shape[:lead], *np.shape(got)), "records": lead})
    else:
        part = run.step("pick", [found], {"shape": np.shape(got), "inside": bool(lead), "places": taken})
    return Array(part, shared=True) if part.shape else part


def _rows(run: Run, inner: Private, first: Any) -> tuple[Private, bool]:
    """Return the records at public positions, and whether the axis of records was dropped."""
    if run.s.length_is_private:
        run.refuse(
            "records cannot be selected by position: their number and order are private under add-remove"
        )
    n = inner.shape[0]
    if isinstance(first, slice):
        if not is_plain([first.start, first.stop, first.step]):
            run.refuse("a slice of records requires constant ends (declare size=n)")
        if isinstance(n, int):
            start, stop, step = first.indices(n)
            params = {"start": start, "stop": None if stop < 0 else stop, "step": step}
        else:
            least = int(run.s.low["N"]) if n == Poly.symbol("N") else 0
            start, stop = first.start or 0, first.stop
            fits = first.step in (None, 1) and type(start) is int and 0 <= start <= least
            fits = fits and (stop is None or (type(stop) is int and 0 <= stop <= least))
            if not fits:
                run.refuse(
                    "without a fixed number of records, a slice requires step 1 and constant positions up to"
                    " the least number"
                )
            params = {"start": start, "stop": stop, "step": 1}
        return run.step("rows", [inner], params), False
    if not isinstance(n, int):
        run.refuse("a single record requires a fixed number of records (declare size=n, or use whole arrays)")
    k = int(first)
    if not -n <= k < n:
        run.refuse(f"index {k} is out of range for {n} records")
    k %= n
    row = run.step("rows", [inner], {"start": k, "stop": k + 1, "step": 1})
    return run.step("reshape", [row], {"shape": inner.shape[1:], "records": 0}), True


LATER.update(index=index, matmul=matmul)
