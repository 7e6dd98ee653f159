"""Follow numpy, math and builtin functions of private values, by rules built from recorded steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.kernel.values.polynomials import Poly
from dpaudit.prover.values.fixed_samples import sample_size
from dpaudit.prover.values.flips import randomised_rule
from dpaudit.prover.values.functions import (
    ACCEPTED,
    Rule,
    call_accepted,
    real_of,
    unwrapped,
)
from dpaudit.prover.values.gather import stacked_rows
from dpaudit.prover.values.matrices import extent_value, index, matmul, release_places, shape_value, zeroed
from dpaudit.prover.values.operations import (
    _holds_noise,
    binary,
    content,
    expression_of,
    is_plain,
    published,
    shape_of,
    symbols_in,
)
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.slices import part_of
from dpaudit.prover.values.values import (
    Array,
    Coin,
    Draw,
    Entries,
    Filtered,
    Noisy,
    Private,
    Public,
    Ranked,
    Response,
    Transposed,
)

__all__ = [
    "argsort_rule",
    "as_float_rule",
    "astype_rule",
    "average_rule",
    "axes_rule",
    "bincount_rule",
    "cast_to_rule",
    "clip_rule",
    "column_stack_rule",
    "copied_rule",
    "count_nonzero_rule",
    "cumsum_rule",
    "digitize_rule",
    "dot_rule",
    "dyadic_rule",
    "each_rule",
    "elementwise_rule",
    "extreme_rule",
    "floats_rule",
    "histogram_rule",
    "kept_rule",
    "like_rule",
    "list_rule",
    "math_fabs_rule",
    "math_rounding_rule",
    "math_rule",
    "mean_rule",
    "median_rule",
    "method_reshape_rule",
    "new_array_rule",
    "noisy_place_rule",
    "norm_rule",
    "not_rule",
    "np_round_rule",
    "of_filter_rule",
    "operator_rule",
    "percentile_rule",
    "place_of_rule",
    "python_number_rule",
    "python_round_rule",
    "quantile_rule",
    "ravel_rule",
    "reduction_rule",
    "reshape_rule",
    "rounded_rule",
    "rounding_rule",
    "searchsorted_rule",
    "shared_array_rule",
    "size_rule",
    "sorted_vector_rule",
    "square_root_rule",
    "stack_rule",
    "summed_hits_rule",
    "var_rule",
    "where_rule",
]

#: Noise of scores of which the position of the largest may be released alone.
NOISE_OF_SCORES = ("laplace", "exponential", "gumbel", "gaussian")


def elementwise_rule(op: str) -> Rule:
    """Return a rule that applies one step to every entry."""

    def rule(run: Run, x1: Any) -> Any:
        return each_rule(run, x1, lambda p: run.step(op, [p]))

    return rule


def each_rule(run: Run, value: Any, function: Callable[[Private], Private]) -> Any:
    """Apply a function to a private value, or to the unfiltered rows of a filtered array."""
    inner = content(value)
    if isinstance(inner, Filtered):
        return Array(Filtered(function(inner.base), inner.mask))
    return run.value(function(run.lift(value)))


def operator_rule(op: str) -> Rule:
    """Return the rule of a binary operator."""
    return lambda run, x1, x2: binary(run, op, x1, x2)


def floats_rule(op: str) -> Rule:
    """Return a rule for a function that returns floats, also for integer arguments."""
    return lambda run, x1: each_rule(run, x1, lambda p: run.step(op, [as_float_rule(run, p)]))


def square_root_rule(run: Run, x1: Any) -> Any:
    """Follow ``np.sqrt``. The root of a sum of squares is recorded as a norm, which has tighter bounds."""

    def rooted(value: Private) -> Private:
        op, ids, params = run.record.nodes[value.node]
        keep = op == "reshape" and value.shape == (*run.record.infos[ids[0]].shape, 1)
        if keep:
            op, ids, params = run.record.nodes[ids[0]]
        if op == "sum" and run.record.nodes[ids[0]][0] == "square" and value.info.kind == "f":
            base = run.record.nodes[ids[0]][1][0]
            whole = run.record.infos[base]
            if len(whole.shape) == whole.records + 1 and list(params["axes"]) == [len(whole.shape) - 1]:
                return run.step("norm", [Private(base, whole, run.samples[base])], {"p": "2", "keep": keep})
        return run.step("sqrt", [as_float_rule(run, value)])

    return each_rule(run, x1, rooted)


def as_float_rule(run: Run, value: Private) -> Private:
    """Return the value as floats. Booleans are refused, since numpy would compute in half precision."""
    if value.info.kind == "b":
        run.refuse(
            "numeric functions of Boolean values are not supported (convert them with x.astype(float))"
        )
    if value.info.kind == "f":
        return value
    return run.step("cast", [value], {"kind": "f", "python": value.info.python})


def digitize_rule(run: Run, x: Any, bins: Any, right: Any = False) -> Any:
    """Count the edges that are at most x, or below x if ``right`` is true."""
    edges = content(bins)
    if isinstance(edges, list | tuple) and is_plain(edges):
        edges = np.asarray(edges)
    plain = isinstance(edges, np.ndarray) and edges.ndim == 1 and len(edges) > 0
    if not plain or not np.all(np.diff(edges) > 0) or type(right) is not bool:
        run.refuse("np.digitize and np.searchsorted require constant, strictly increasing edges")

    def counted(value: Private) -> Private:
        column = run.step("reshape", [value], {"shape": (*value.shape, 1), "records": value.info.records})
        hits = run.step("gt" if right else "ge", [column, edges])
        return run.step("sum", [hits], {"axes": (len(value.shape),)})

    return each_rule(run, x, counted)


def searchsorted_rule(run: Run, a: Any, v: Any, side: Any = "left") -> Any:
    """Follow ``np.searchsorted``, as ``np.digitize`` with exchanged arguments."""
    if side not in ("left", "right"):
        run.refuse(f"side must be 'left' or 'right', got {side!r:.40}")
    return digitize_rule(run, v, a, side == "left")


def average_rule(run: Run, a: Any, weights: Any = None) -> Any:
    """Follow ``np.average`` with constant weights."""
    if weights is None:
        return mean_rule(run, a)
    known = content(weights)
    known = np.asarray(known) if isinstance(known, list | tuple) and is_plain(known) else known
    value = run.lift(a)
    fits = isinstance(known, np.ndarray) and known.ndim == 1 and len(value.shape) == 1 and known.sum() > 0
    if not fits:
        run.refuse("np.average requires a vector and constant weights with a positive sum")
    product = run.step("mul", [value, known.astype(float)])
    return run.value(run.step("div", [run.step("sum", [product], {"axes": (0,)}), np.float64(known.sum())]))


def extreme_rule(op: str) -> Rule:
    """Return the rule of ``np.maximum`` or ``np.minimum``."""

    def rule(run: Run, x1: Any, x2: Any) -> Any:
        x, y = content(x1), content(x2)
        filtered = [one for one in (x, y) if isinstance(one, Filtered)]
        if not filtered:
            return run.value(run.step(op, [x1, x2]))
        other = y if filtered[0] is x else x
        if len(filtered) == 2 or isinstance(other, Private) or shape_of(other) != ():
            run.refuse("a filtered array cannot be combined with an array of another length")
        return Array(Filtered(run.step(op, [filtered[0].base, other]), filtered[0].mask))

    return rule


def clip_rule(
    run: Run, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None
) -> Any:
    """Follow ``np.clip`` with public bounds, as a maximum and a minimum."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if any(isinstance(content(end), Private | Filtered) for end in (low, high)):
        run.refuse("np.clip requires public bounds, got a private one")
    if low is None and high is None:
        run.refuse("np.clip requires at least one bound")
    found = a
    for op, end, open_end in (("maximum", low, -math.inf), ("minimum", high, math.inf)):
        plain = content(end)
        if end is not None and not (isinstance(plain, int | float | np.generic) and plain == open_end):
            found = extreme_rule(op)(run, found, end)
    if found is a:
        run.refuse("np.clip requires at least one finite bound")
    return found


def where_rule(run: Run, condition: Any, x: Any = None, y: Any = None) -> Any:
    """Follow ``np.where``, including randomised response if the condition is a coin."""
    if x is None or y is None:
        run.refuse("np.where with one argument is not supported, because it returns the positions of records")
    coin = content(condition)
    if isinstance(coin, Coin) and any(isinstance(content(one), Private | Filtered) for one in (x, y)):
        return randomised_rule(run, coin, x, y)
    if not any(isinstance(content(one), Private | Filtered) for one in (condition, x, y)):
        return call_accepted(
            run,
            ACCEPTED[id(np.where)],
            [published(run, one) if _holds_noise(one) else one for one in (condition, x, y)],
            {},
        )
    parts = [content(one) for one in (condition, x, y)]
    if any(isinstance(one, Filtered) for one in parts):
        run.refuse("np.where of a filtered array is not supported (use the mask as the condition)")
    parts = [published(run, one) if _holds_noise(one) else one for one in (condition, x, y)]
    return Array(run.step("where", parts))  # for scalars, numpy returns a zero-dimensional array


def axes_rule(run: Run, info: Any, axis: Any) -> tuple[int, ...]:
    """Return the axes of a reduction as sorted, nonnegative integers."""
    rank = len(info.shape)
    if axis is None:
        return tuple(range(rank))
    chosen = axis if isinstance(axis, tuple) else (axis,)
    if not all(type(k) is int and -rank <= k < rank for k in chosen) or len(
        {k % rank for k in chosen}
    ) != len(chosen):
        run.refuse(f"axis {axis!r} is invalid for an array with {rank} axes")
    return tuple(sorted(k % rank for k in chosen))


def reduction_rule(op: str) -> Rule:
    """Return the rule of a sum, max, min, any or all over axes."""

    def rule(run: Run, a: Any, axis: Any = None, keepdims: Any = False, dtype: Any = None) -> Any:
        if type(keepdims) is not bool:
            run.refuse(f"keepdims must be True or False, got {keepdims!r:.40}")
        inner = content(a)
        if isinstance(inner, list | tuple):
            a = new_array_rule(run, inner)
            inner = content(a)
        if dtype is not None and real_of(dtype) in (bool, np.bool_, "bool"):
            run.refuse("a sum with dtype=bool is not supported (numpy computes any())")
        if dtype is not None:  # numpy casts before it sums
            a = astype_rule(run, a, dtype)
            inner = content(a)
        if isinstance(inner, Filtered):
            return of_filter_rule(run, op, inner, axis, keepdims)
        value = run.lift(a)
        axes = axes_rule(run, value.info, axis)
        if op in ("max", "min") and value.info.records and 0 in axes and run.s.length_is_private:
            run.refuse(f"{op}() requires nonempty data, but there may be no records")
        return kept_rule(run, value, run.step(op, [value], {"axes": axes}), axes, keepdims)

    return rule


def kept_rule(run: Run, value: Private, found: Private, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Restore the reduced axes with length 1 if ``keepdims`` is true."""
    if keepdims:
        shape = tuple(1 if k in axes else n for k, n in enumerate(value.shape))
        found = run.step("reshape", [found], {"shape": shape, "records": found.info.records})
    return run.value(found)


def of_filter_rule(run: Run, op: str, inner: Filtered, axis: Any, keepdims: bool) -> Any:
    """Reduce a filtered array, with 0 in the dropped rows."""
    axes = axes_rule(run, inner.base.info, axis)
    if 0 not in axes:
        found = run.step(op, [inner.base], {"axes": axes})
        if keepdims:
            run.refuse("keepdims is not supported for a filtered array")
        return Array(Filtered(found, inner.mask))
    if op in ("max", "min"):
        run.refuse(f"{op}() of a filtered array is not supported, because it may be empty")
    if op == "all":
        run.refuse("all() of a filtered array is not supported")
    value = zeroed(run, inner)
    return kept_rule(run, value, run.step(op, [value], {"axes": axes}), axes, keepdims)


def mean_rule(run: Run, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Follow ``np.mean`` over a public number of entries, as a sum and a division."""
    if type(keepdims) is not bool:
        run.refuse(f"keepdims must be True or False, got {keepdims!r:.40}")
    inner = content(a)
    if isinstance(inner, list | tuple):
        a = new_array_rule(run, inner)
        inner = content(a)
    if isinstance(inner, Filtered) and part_of(run, inner.mask) is not None and axis in (None, 0):
        if keepdims or len(inner.base.shape) > (1 if axis is None else 2):
            run.refuse("the mean of a slice that depends on the number of records requires one axis")
        if inner.base.info.kind != "f":
            inner = Filtered(run.step("cast", [inner.base], {"kind": "f", "python": False}), inner.mask)
        total = run.step("sum", [zeroed(run, inner)], {"axes": (0,)})
        return run.value(run.step("div", [total, shape_value(run, Array(inner))[0]]))
    size = sample_size(run, inner.mask) if isinstance(inner, Filtered) else None
    over_rows = axis == 0 or (axis is None and isinstance(inner, Filtered) and len(inner.base.shape) == 1)
    if isinstance(inner, Filtered) and size is not None and over_rows and not keepdims:
        return binary(run, "div", of_filter_rule(run, "sum", inner, 0, keepdims=False), size)
    if isinstance(inner, Filtered):
        run.refuse(
            "the mean of a filtered array is not supported: its length is private (release a sum and a count)"
        )
    value = run.lift(a)
    axes = axes_rule(run, value.info, axis)
    if value.info.records and 0 in axes and run.s.length_is_private:
        run.refuse(
            "the mean over a private number of records is not supported (release a sum and a count, or divide"
            " by a constant)"
        )
    if value.info.kind != "f":
        value = run.step("cast", [value], {"kind": "f", "python": False})
    total = content(kept_rule(run, value, run.step("sum", [value], {"axes": axes}), axes, keepdims))
    count: Any = 1
    for k in axes:
        count = binary(run, "mul", count, extent_value(run, value.shape[k]))
    if isinstance(count, int) and count < 1:
        run.refuse("mean() requires a nonempty array")
    return run.value(run.step("div", [total, count]))


def count_nonzero_rule(run: Run, a: Any, axis: Any = None) -> Any:
    """Follow ``np.count_nonzero``, as a sum of comparisons with 0."""
    inner = content(a)
    base = inner.base if isinstance(inner, Filtered) else run.lift(a)
    if base.info.kind != "b":
        base = run.step("ne", [base, 0])
    value = Filtered(base, inner.mask) if isinstance(inner, Filtered) else base
    found = content(reduction_rule("sum")(run, Array(value), axis))
    if axis is None:
        return run.step("cast", [found], {"kind": "i", "python": True})
    return run.value(found)


def norm_rule(run: Run, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Follow ``np.linalg.norm`` of each row or of a vector."""
    inner = content(x)
    base = inner.base if isinstance(inner, Filtered) else run.lift(x)
    rank = len(base.shape)
    orders = {None: "2", 2: "2", 1: "1"}
    order = (
        "inf"
        if isinstance(ord, float) and ord == math.inf
        else orders.get(ord)
        if ord is None or type(ord) is int
        else None
    )
    rows = base.info.records == 1 and rank == 2 and axis in (1, -1) and type(axis) is int
    vector = not base.info.records and rank == 1 and axis in (None, 0, -1)
    if order is None or not (rows or vector) or type(keepdims) is not bool or (vector and keepdims):
        run.refuse("np.linalg.norm requires a vector, or rows with axis=1, and ord None, 1, 2 or np.inf")
    if base.info.kind != "f":
        run.refuse("np.linalg.norm requires floats (convert integers and Booleans with astype(float))")
    found = run.step("norm", [base], {"p": order, "keep": keepdims})
    return Array(Filtered(found, inner.mask)) if isinstance(inner, Filtered) else run.value(found)


def histogram_rule(run: Run, a: Any, bins: Any = 10, range: Any = None) -> Any:
    """Follow ``np.histogram`` with public edges, as a sum of unit vectors."""
    inner = content(a)
    base = inner.base if isinstance(inner, Filtered) else run.lift(a)
    edges = content(bins)
    if symbols_in([bins, range]):
        run.refuse("histogram bins must be constants, got released or private values")
    if type(edges) is int:
        if range is None:
            run.refuse("histogram bins would depend on the data (pass range=(low, high))")
        found_edges = np.histogram_bin_edges(np.zeros(1), bins=edges, range=unwrapped(range))
    elif isinstance(edges, list | tuple | np.ndarray) and range is None:
        found_edges = np.asarray(edges)
    else:
        return run.refuse(
            "histogram bins must be a number with range=(low, high), or constant edges without range"
        )
    if base.info.kind == "b" or len(base.shape) != base.info.records:
        run.refuse("np.histogram requires one number per record")
    params = {"edges": [str(exact(edge)) for edge in found_edges.tolist()]}
    hits = run.step("bins", [base], params)
    counted = summed_hits_rule(run, hits, inner)
    return (run.value(counted), Array(found_edges))


def summed_hits_rule(run: Run, hits: Private, inner: Any) -> Private:
    """Sum the unit vectors of all records that are not filtered out."""
    if isinstance(inner, Filtered):
        hits = zeroed(run, Filtered(hits, inner.mask))
    return run.step("sum", [hits], {"axes": tuple(range(hits.info.records))})


def bincount_rule(run: Run, x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Follow ``np.bincount`` with a public length, as a sum of unit vectors."""
    inner = content(x)
    base = inner.base if isinstance(inner, Filtered) else run.lift(x)
    if type(minlength) is not int or minlength < 1:
        run.refuse("np.bincount requires minlength=k with k >= 1, otherwise its length depends on the data")
    if len(base.shape) != 1 or base.info.records != 1:
        run.refuse("np.bincount requires one number per record")
    hits = run.step("one_hot", [base], {"k": minlength})
    if weights is not None:
        column = run.lift(weights)
        plain = column.info.records == 1 and len(column.shape) == 1 and column.info.kind == "f"
        if not plain or isinstance(inner, Filtered):
            run.refuse(
                "weights of np.bincount must be one float64 for each record of the same unfiltered array"
            )
        each = run.step("reshape", [column], {"shape": (*column.shape, 1), "records": 1})
        hits = run.step("mul", [hits, each])
        if hits.info.records != 1:
            run.refuse("weights of np.bincount must belong to the same records as the bins")
    return run.value(summed_hits_rule(run, hits, inner))


def new_array_rule(run: Run, object: Any, dtype: Any = None) -> Any:
    """Follow ``np.array``, ``np.asarray`` and ``np.stack``: return a new array of the same values."""
    inner = content(object)
    whole = run.whole_column(inner)
    if whole is not None:
        return cast_to_rule(run, Array(whole), dtype)
    if isinstance(inner, list | tuple):
        items = [new_array_rule(run, item) if isinstance(item, list | tuple) else item for item in inner]
        if not items:
            return Array(np.array([]))
        if any(isinstance(content(item), Filtered | Transposed | Ranked) for item in items):
            run.refuse("filtered, transposed or ranked arrays cannot be put into one array")
        items = [published(run, item) if _holds_noise(item) else item for item in items]
        if not any(isinstance(content(item), Private | Entries) for item in items):
            return call_accepted(run, ACCEPTED[id(np.array)], [items], {})
        values = [run.lift(item) for item in items]
        kind = max((value.info.kind for value in values), key="bif".index)
        if any(value.info.records for value in values):
            run.refuse("arrays of records cannot be stacked with np.array or np.stack (use np.column_stack)")
        if len({value.info.kind for value in values}) > 1 and "b" in {value.info.kind for value in values}:
            run.refuse("Booleans and numbers cannot be put into one array")
        return cast_to_rule(run, run.value(run.stacked(values, kind)), dtype)
    if isinstance(inner, Noisy | Draw | Coin | Response) and dtype is None:
        return object
    if isinstance(inner, Filtered | Private):
        return cast_to_rule(run, Array(inner) if shape_of(inner) != () else inner, dtype)
    return run.refuse(f"np.array of a {type(inner).__name__.lower()} value is not supported")


def cast_to_rule(run: Run, value: Any, dtype: Any) -> Any:
    """Cast a value if a dtype is given."""
    return value if dtype is None else astype_rule(run, value, dtype)


def shared_array_rule(run: Run, a: Any, dtype: Any = None) -> Any:
    """Follow ``np.asarray``, whose result may share memory with its argument."""
    found = new_array_rule(run, a, dtype)
    if isinstance(a, Array) and isinstance(found, Array):
        a.shared = found.shared = True  # np.asarray returns its argument, not a copy
    return found


def stack_rule(run: Run, arrays: Any, axis: Any = 0) -> Any:
    """Follow ``np.stack`` along the first axis."""
    if axis != 0 or not isinstance(arrays, list | tuple):
        run.refuse("np.stack requires a list of arrays and axis=0 (use np.column_stack for columns)")
    return new_array_rule(run, arrays)


def _ones_of_records(run: Run, item: Any, rows: Any) -> Any:
    """Return ``np.ones(n)`` or ``np.ones((n, 1))`` for the public number n of records as one 1 per record."""
    size = expression_of(run, extent_value(run, Poly.symbol("N"))) if run.s.size is None else None
    forms = [["function", "np.ones", form] for form in (size, ["function", "tuple", size, ["number", "1"]])]
    known = isinstance(item, Public) and rows is not None and not run.s.length_is_private and size is not None
    if not known or item.expression not in forms or rows.shape[0] != Poly.symbol("N"):
        return item
    return run.step("cast", [run.step("ones", [rows])], {"kind": "f", "python": False})


def hstack_rule(run: Run, tup: Any) -> Any:
    """Follow ``np.hstack`` of matrices, which are then side by side as in ``np.column_stack``."""
    parts = tup if isinstance(tup, list | tuple) else []
    if any(isinstance(content(one), Private) and len(content(one).shape) != 2 for one in parts):
        run.refuse("np.hstack of private vectors is not supported (use np.column_stack)")
    return column_stack_rule(run, tup)


def column_stack_rule(run: Run, tup: Any) -> Any:
    """Follow ``np.column_stack`` of columns of the same records."""
    items = [content(item) for item in tup] if isinstance(tup, list | tuple) else []
    rows = next((one for one in items if isinstance(one, Private) and one.info.records == 1), None)
    parts = []
    for item in items:
        value = _ones_of_records(run, item, rows)
        if isinstance(item, np.ndarray) and rows is not None and item.shape == rows.shape[:1]:
            if item.dtype.kind == "b":
                run.refuse("a constant Boolean column is not supported in np.column_stack")
            ones = run.step("ones", [rows])
            if item.dtype.kind == "f":
                ones = run.step("cast", [ones], {"kind": "f", "python": False})
            value = run.step("mul", [ones, item])  # a constant column, as one value per record
        if not isinstance(value, Private) or value.info.records != 1 or len(value.shape) > 2:
            run.refuse("np.column_stack requires columns of the same records")
        parts.append(
            value
            if len(value.shape) == 2
            else run.step("reshape", [value], {"shape": (*value.shape, 1), "records": 1})
        )
    if not parts:
        run.refuse("np.column_stack requires at least one column")
    return run.value(run.step("columns", parts))


KINDS: dict[Any, str] = {
    float: "f",
    int: "i",
    bool: "b",
    np.float64: "f",
    np.int64: "i",
    np.bool_: "b",
    "float": "f",
    "int": "i",
    "bool": "b",
    "float64": "f",
    "int64": "i",
}


def astype_rule(run: Run, a: Any, dtype: Any) -> Any:
    """Follow a cast to float, int or bool."""
    target = real_of(dtype)
    kind = KINDS.get(target) if isinstance(target, type | str) else None
    if kind is None:
        run.refuse(f"a cast to {target!r} is not supported (use float, int or bool)")

    def cast(value: Private) -> Private:
        if kind == "b":
            return value if value.info.kind == "b" else run.step("ne", [value, 0])
        if kind == "i" and value.info.kind == "f":
            return run.step("trunc", [value], {"kind": "i", "python": False})
        return run.step("cast", [value], {"kind": kind, "python": False})

    return each_rule(run, a, cast)


def python_number_rule(kind: str) -> Rule:
    """Return the rule for ``float(x)``, ``int(x)`` or ``bool(x)`` of one number."""

    def rule(run: Run, x: Any = 0) -> Any:
        if isinstance(content(x), Noisy | Draw) and shape_of(x) == () and kind == "f":
            return x
        value = run.lift(published(run, x) if _holds_noise(x) else x)
        if value.shape != ():
            run.refuse("float(), int() and bool() require a single number, got an array")
        if kind == "b":
            run.refuse("bool() of a private value is not supported (compare it inside an array operation)")
        if kind == "i" and value.info.kind == "f":
            return run.step("trunc", [value], {"kind": "i", "python": True})
        return run.step("cast", [value], {"kind": kind, "python": True})

    return rule


def dyadic_rule(run: Run, value: Any) -> Any:
    """Follow ``dyadic(x)`` of one number. A ``Fraction`` has the operators of a Python float."""
    number = run.lift(value)
    if number.shape != () or number.info.kind == "b":
        run.refuse("dyadic() requires a single number")
    return run.step("cast", [number], {"kind": "f", "python": True})


def item_rule(run: Run, a: Any) -> Any:
    """Follow ``x.item()`` of one numpy number."""
    value = run.lift(a)
    if value.shape != () or value.info.kind == "b":
        run.refuse("item() requires a single private number")
    return run.step("cast", [value], {"kind": value.info.kind, "python": True})


def python_round_rule(run: Run, number: Any, ndigits: Any = None) -> Any:
    """Follow ``round(x)`` of one number, without digits."""
    value = run.lift(number)
    if ndigits is not None or value.shape != () or value.info.kind == "b":
        run.refuse("round() requires a single private number and no digits (use np.round for arrays)")
    python = value.info.python
    return (
        run.step("rint", [value], {"kind": "i", "python": True})
        if python or value.info.kind == "f"
        else value
    )


def np_round_rule(run: Run, a: Any, decimals: Any = 0) -> Any:
    """Follow ``np.round`` without decimals."""
    if decimals != 0:
        run.refuse(f"np.round of private values requires decimals=0, got {decimals!r:.40}")
    return each_rule(run, a, lambda p: rounded_rule(run, "rint", p))


def rounded_rule(run: Run, op: str, value: Private) -> Private:
    """Record a rounding step of floats."""
    if value.info.kind != "f":
        run.refuse("np.round, np.floor and np.trunc require floats, got integers or Booleans")
    return run.step(op, [value], {"kind": "f", "python": False})


def rounding_rule(op: str) -> Rule:
    """Return the rule of ``np.floor``, ``np.trunc`` or ``np.rint``."""
    return lambda run, x1: each_rule(run, x1, lambda p: rounded_rule(run, op, p))


def math_fabs_rule(run: Run, x: Any) -> Any:
    """Follow ``math.fabs``."""
    return run.step("abs", [run.step("cast", [x], {"kind": "f", "python": True})])


def math_rounding_rule(op: str) -> Rule:
    """Return the rule of ``math.floor`` or ``math.trunc``."""

    def rule(run: Run, x: Any) -> Any:
        value = run.lift(x)
        if value.info.kind != "f" or value.shape != ():
            run.refuse("math.floor and math.trunc require a single float")
        return run.step(op, [value], {"kind": "i", "python": True})

    return rule


def math_rule(op: str) -> Rule:
    """Return the rule of a function of the math module."""

    def rule(run: Run, x: Any) -> Any:
        value = run.lift(x)
        if value.shape != ():
            run.refuse(
                "functions of the math module require a single number (use the numpy function for arrays)"
            )
        if op == "exp" and not run.s.at_most(value.info.high, 700):
            run.refuse(
                "math.exp may raise OverflowError unless its argument is at most 700 (use np.exp, or clip)"
            )
        return run.step(op, [run.step("cast", [value], {"kind": "f", "python": True})])

    return rule


def list_rule(run: Run, a: Any) -> Any:
    """Return the entries of a vector as a list of Python numbers."""
    inner = content(a)
    if not isinstance(inner, Private) or len(inner.shape) != 1 or type(inner.shape[0]) is not int:
        return run.refuse("tolist() requires a private vector of known length")
    if inner.info.records and run.s.length_is_private:
        run.refuse("tolist() of a private number of records is not supported (use whole arrays)")
    params = {"kind": inner.info.kind, "python": True}
    entries = stacked_rows(run, inner) or [content(index(run, a, k)) for k in range(inner.shape[0])]
    return [
        run.verify(run.step("cast", [entry], params), lambda v, k=k: v.tolist()[k], a)
        for k, entry in enumerate(entries)
    ]


def sorted_vector_rule(run: Run, a: Any, axis: Any = -1) -> Any:
    """Follow ``np.sort`` of a vector of public length."""
    value = run.lift(a)
    if axis not in (-1, 0, None) or len(value.shape) != 1 or run.s.length_is_private:
        run.refuse("np.sort requires a vector whose length is public")
    return run.value(run.step("sort", [value]))


def cumsum_rule(run: Run, a: Any, axis: Any = None) -> Any:
    """Follow ``np.cumsum`` of a vector of public length."""
    value = run.lift(a)
    if axis not in (None, 0) or len(value.shape) != 1 or run.s.length_is_private:
        run.refuse("np.cumsum requires a vector whose length is public")
    return run.value(run.step("cumsum", [value]))


def quantile_rule(run: Run, a: Any, q: Any, axis: Any = None) -> Any:
    """Follow ``np.quantile`` of a vector of public length, at one constant."""
    value = as_float_rule(run, run.lift(a)) if type(q) is float else run.lift(a)
    if value.info.kind != "f":
        run.refuse("np.quantile of integers requires a float q")
    if (
        axis is not None
        or len(value.shape) != 1
        or run.s.length_is_private
        or type(q) not in (int, float)
        or not 0 <= q <= 1
    ):
        run.refuse("np.quantile requires a vector whose length is public, and one constant q in [0, 1]")
    return run.step("order", [value], {"what": "quantile", "q": str(exact(q))})


def percentile_rule(run: Run, a: Any, q: Any, axis: Any = None) -> Any:
    """Follow ``np.percentile``, as a quantile."""
    value = run.lift(a)
    if (
        axis is not None
        or len(value.shape) != 1
        or run.s.length_is_private
        or type(q) not in (int, float)
        or not 0 <= q <= 100
    ):
        run.refuse("np.percentile requires a vector whose length is public, and one constant q in [0, 100]")
    samples = [apply(np.percentile, one, q) for one in value.samples]
    return run.step("order", [value], {"what": "quantile", "q": str(exact(q) / 100)}, samples)


def median_rule(run: Run, a: Any, axis: Any = None) -> Any:
    """Follow ``np.median`` of a vector of public length."""
    value = run.lift(a)
    if axis is not None or len(value.shape) != 1 or run.s.length_is_private:
        run.refuse("np.median requires a vector whose length is public")
    return run.step("order", [value], {"what": "median"})


def var_rule(run: Run, a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    """Follow ``np.var`` of a vector, or of each column of a matrix."""
    value = run.lift(a)
    over = (0,) if len(value.shape) == 2 else (None, 0, -1)
    if axis not in over or type(axis) is bool or type(ddof) is not int:
        run.refuse("np.var requires the variance over the records, and ddof 0 or 1")
    return run.value(run.step("var", [value], {"ddof": ddof}))


def place_of_rule(largest: bool) -> Rule:
    """Return the rule of ``np.argmax`` or ``np.argmin``."""

    def rule(run: Run, a: Any, axis: Any = None) -> Any:
        inner = content(a)
        if run.on_plain_data and isinstance(inner, Noisy) and not isinstance(content(inner.base), Private):
            inner = Noisy(run.lift(inner.base), inner.terms, inner.shape)
        if isinstance(inner, Noisy) and inner.released is None and isinstance(content(inner.base), Private):
            return noisy_place_rule(run, inner, largest, axis)
        if isinstance(inner, Noisy | Draw):
            return call_accepted(
                run, ACCEPTED[id(np.argmax if largest else np.argmin)], [published(run, a)], {}
            )
        base = inner.base if isinstance(inner, Filtered) else run.lift(a)
        rank = len(base.shape)
        rows = base.info.records == 1 and rank == 2 and axis in (1, -1)
        vector = not base.info.records and rank == 1 and axis in (None, 0, -1)
        if not (rows or vector):
            run.refuse(
                "np.argmax and np.argmin require a vector of aggregates, or rows of records with axis=1"
            )
        samples = [apply(np.argmax if largest else np.argmin, one, -1) for one in base.samples]
        found = run.step("argbest", [base], {"largest": largest}, samples)
        return Array(Filtered(found, inner.mask)) if isinstance(inner, Filtered) else run.value(found)

    return rule


def noisy_place_rule(run: Run, noisy: Noisy, largest: bool, axis: Any) -> Any:
    """Release the position of the largest or smallest noisy score."""
    alone = (
        run.picks
        and len(noisy.terms) == 1
        and noisy.terms[0][2] is None
        and len(noisy.shape) == 1
        and axis in (None, 0, -1)
    )
    if (
        not alone
        or not isinstance(noisy.shape[0], int)
        or noisy.terms[0][1].distribution not in NOISE_OF_SCORES
    ):
        released = published(run, Array(noisy))
        return call_accepted(
            run,
            ACCEPTED[id(np.argmax if largest else np.argmin)],
            [released],
            {} if axis is None else {"axis": axis},
        )
    return release_places(run, noisy, count=1, largest=largest)


def argsort_rule(run: Run, a: Any) -> Any:
    """Follow ``np.argsort`` of noisy scores."""
    inner = content(a)
    if (
        not isinstance(inner, Noisy)
        or inner.released is not None
        or len(inner.terms) != 1
        or len(inner.shape) != 1
    ):
        run.refuse("np.argsort requires a vector of unreleased scores with exactly one noise draw")
    has_rule = inner.terms[0][1].distribution in NOISE_OF_SCORES and isinstance(content(inner.base), Private)
    if not (has_rule and run.picks):
        return call_accepted(run, ACCEPTED[id(np.argsort)], [published(run, a)], {})
    return Array(Ranked(inner))


def reshape_rule(run: Run, a: Any, shape: Any) -> Any:
    """Follow ``np.reshape``, which keeps the records in leading axes if it can."""
    value = run.lift(a)
    wanted = shape if isinstance(shape, tuple) else (shape,)
    info = value.info
    if isinstance(a, Array):
        a.shared = True
    symbolic = not all(isinstance(n, int) for n in value.shape) or (info.records and run.s.length_is_private)
    if symbolic:
        if wanted == (-1, 1) and len(value.shape) == 1:
            found = run.step("reshape", [value], {"shape": (value.shape[0], 1), "records": 1})
        elif wanted == (-1,) and len(value.shape) == 1:
            found = value
        else:
            return run.refuse(
                "without a fixed number of records, only [:, None], reshape(-1, 1) and reshape(-1) work"
            )
        return Array(found, shared=True)
    if not is_plain(list(wanted)) or not all(isinstance(n, int) for n in wanted):
        run.refuse("the new shape must be constant, but it depends on a released value")
    try:
        new = np.empty(value.shape, np.int8).reshape(wanted).shape  # type: ignore[type-var]
    except ValueError as error:
        return run.refuse(f"reshape() raises ValueError: {error}")
    records = 0
    if info.records:
        lead = math.prod(value.shape[: info.records])
        records = next((k + 1 for k in range(len(new)) if math.prod(new[: k + 1]) == lead), 0)
    return Array(run.step("reshape", [value], {"shape": new, "records": records}), shared=True)


def method_reshape_rule(run: Run, a: Any, shape: Any) -> Any:
    """Follow ``x.reshape(...)``, with the shape as a tuple or as separate arguments."""
    return reshape_rule(run, a, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else tuple(shape))


def ravel_rule(run: Run, a: Any) -> Any:
    """Follow ``np.ravel``."""
    return reshape_rule(run, a, (-1,))


def copied_rule(run: Run, a: Any) -> Any:
    """Follow ``np.copy``."""
    inner = content(a)
    return Array(inner) if shape_of(inner) not in ((), None) or isinstance(inner, Filtered) else inner


def dot_rule(run: Run, a: Any, b: Any) -> Any:
    """Follow ``np.dot``, as a matrix product."""
    return matmul(run, a, b)


def size_rule(run: Run, a: Any) -> Any:
    """Follow ``np.size``, as the product of all extents."""
    found: Any = 1
    for n in shape_value(run, a):
        found = n if type(found) is int and found == 1 else binary(run, "mul", found, n)
    return found


def like_rule(value: float) -> Rule:
    """Return the rule of ``np.zeros_like`` or ``np.ones_like``."""

    def rule(run: Run, a: Any) -> Any:
        base = run.lift(a)
        if not all(isinstance(n, int) for n in base.shape) or (base.info.records and run.s.length_is_private):
            run.refuse("np.zeros_like and np.ones_like require a fixed number of records")
        return Array(np.full(base.shape, value, dtype={"b": bool, "i": np.int64, "f": float}[base.info.kind]))

    return rule


def not_rule(run: Run, x1: Any) -> Any:
    """Follow ``np.logical_not`` of Booleans."""
    return each_rule(
        run,
        x1,
        lambda p: (
            run.step("not", [p]) if p.info.kind == "b" else run.refuse("np.logical_not requires Booleans")
        ),
    )
