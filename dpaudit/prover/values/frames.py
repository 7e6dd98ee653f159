"""Follow the part of pandas that sums, counts and filters the rows of a data frame.

A column is an array of the records, so a Series applies the rules of its array. Three facts about pandas make
this right. The declared frame has the default index, and every operation here keeps it or filters it, so
operands with the same rows are aligned row by row. Operands with other rows are refused, because pandas would
fill the gaps with NaN. The keys of ``groupby`` and ``value_counts`` depend on the data, so their result can
only be used after ``reindex`` with constant keys, where a missing key is 0, the sum or count of no rows.

On real data (in the cross-check), reductions call pandas itself, so that every digit can be compared.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pandas as pd

from dpaudit.prover.values.accepted import ACCEPTED, METHODS
from dpaudit.prover.values.functions import call_accepted, real_of
from dpaudit.prover.values.matrices import index, mask_count, shape_value
from dpaudit.prover.values.operations import FRAMES, LATER, PLAIN, binary, content, is_plain, shape_of, unary
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import (
    Array,
    Draw,
    Filtered,
    Frame,
    Grouped,
    Noisy,
    PerKey,
    Private,
    Public,
    Series,
    Symbol,
)

__all__ = ["FRAMES", "frame_attribute", "frame_item", "frame_length", "frame_method"]

#: Reductions of a Series and the options that are passed to the array's method.
REDUCTIONS: dict[str, dict[str, Any]] = {"sum": {}, "mean": {}, "max": {}, "min": {}, "var": {"ddof": 1}}
SERIES_METHODS = (
    "clip",
    "count",
    "astype",
    "to_numpy",
    "abs",
    "between",
    "value_counts",
    "median",
    *REDUCTIONS,
)
FRAME_METHODS = ("groupby", "to_numpy")
#: Parameters of the supported methods, without those that are not modelled.
SIGNATURES = {
    "clip": inspect.signature(lambda lower=None, upper=None: None),
    "astype": inspect.signature(lambda dtype: None),
    "between": inspect.signature(lambda left, right: None),
    "groupby": inspect.signature(lambda by: None),
    "reindex": inspect.signature(lambda index, *, fill_value=None: None),
}


def frame_attribute(run: Run, value: Any, name: str) -> Any:
    """Return an attribute or a column of a frame, a Series or groups, or a method."""
    inner = content(value)
    methods = {Frame: FRAME_METHODS, Series: SERIES_METHODS, Grouped: ("sum", "count", "size")}
    if name in methods.get(type(inner), ("reindex",)):
        return None
    if isinstance(inner, Frame) and name in inner.columns and not hasattr(pd.DataFrame, name):
        return frame_item(run, value, name)
    if isinstance(inner, Frame | Series) and name == "values":
        return frame_method(run, inner, "to_numpy", [], {})
    if isinstance(inner, Series) and name in ("shape", "size"):
        shape = shape_value(run, inner.value)
        return shape if name == "shape" else shape[0]
    if isinstance(inner, Frame) and name == "shape":
        return (frame_length(run, inner), len(inner.columns))
    return run.refuse(
        f"the attribute {name!r} of a pandas object is not supported (use .to_numpy() and numpy functions)"
    )


def frame_length(run: Run, inner: Any) -> Any:
    """Return the number of rows."""
    if not isinstance(inner, Frame | Series):
        run.refuse("the number of groups depends on the data (use reindex(range(k), fill_value=0))")
    value = inner.value if isinstance(inner, Series) else next(iter(inner.columns.values()))
    return shape_value(run, value)[0]


def frame_item(run: Run, value: Any, key: Any) -> Any:
    """Return a column, some columns, the rows of a mask, or one entry of a Series with constant keys."""
    inner, key = content(value), content(key)
    if isinstance(inner, Frame) and isinstance(key, str) and key in inner.columns:
        return Series(inner.columns[key])
    if isinstance(inner, Frame) and isinstance(key, list) and _are_columns(inner, key):
        return Frame({name: inner.columns[name] for name in key})
    one = isinstance(inner, Grouped) and inner.column is None and key != inner.key
    if one and _are_columns(inner.frame, [key]):
        return Grouped(inner.frame, inner.key, key)
    if isinstance(key, Series) and key.keys is None:
        if isinstance(inner, Frame):
            return Frame({name: _masked(run, column, key.value) for name, column in inner.columns.items()})
        if isinstance(inner, Series) and inner.keys is None:
            return Series(_masked(run, inner.value, key.value))
    if isinstance(inner, Series) and inner.keys is not None and type(key) is int and key in inner.keys:
        return index(run, inner.value, inner.keys.index(key))
    return run.refuse(
        "this index of a pandas object is not supported (use a column's name or a Boolean mask)"
    )


def _are_columns(frame: Frame, names: list[Any]) -> bool:
    known = bool(names) and all(type(name) is str and name in frame.columns for name in names)
    return known and len(set(names)) == len(names)


def _masked(run: Run, column: Array, mask: Array) -> Array:
    rows, test = column.content, mask.content
    if isinstance(rows, Filtered) and isinstance(test, Filtered) and rows.mask.node == test.mask.node:
        both = run.step("and", [rows.mask, test.base])
        return Array(Filtered(rows.base, both), shared=True)
    if isinstance(rows, Filtered) or isinstance(test, Filtered):
        run.refuse("the mask of a filtered frame must be computed from the filtered frame")
    if isinstance(test, Private) != isinstance(rows, Private) or isinstance(test, Public):
        run.refuse("a mask must be computed from the columns of the frame")
    found: Array = index(run, column, mask)
    found.shared = True
    return found


def frame_method(run: Run, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Call a method of a frame, a Series or groups."""
    inner = content(value)
    try:
        named = SIGNATURES.get(name, inspect.Signature()).bind(*arguments, **options).arguments
    except TypeError as error:
        run.refuse(f"{name}() of a pandas object: {error} (other arguments are not supported)")
    if isinstance(inner, PerKey):
        return _reindexed(run, inner, named)
    if isinstance(inner, Grouped):
        return _summed(run, inner, name)
    if isinstance(inner, Frame):
        return _stacked(run, inner) if name == "to_numpy" else _grouped(run, inner, named["by"])
    return _series_method(run, inner, name, named)


def _series_method(run: Run, series: Series, name: str, given: dict[str, Any]) -> Any:
    value = series.value
    if name == "to_numpy":
        return Array(value.content, shared=True)
    if name == "abs":
        return Series(unary(run, "abs", value), series.keys)
    if name == "count":
        return _count(run, value)
    if name == "clip":
        return Series(_clipped(run, value, **given), series.keys)
    if name == "between":
        low, high = (binary(run, op, value, given[end]) for op, end in (("ge", "left"), ("le", "right")))
        return Series(binary(run, "and", low, high), series.keys)
    if name == "astype":
        if real_of(content(given["dtype"])) not in (float, int):
            run.refuse("astype of a Series supports float and int")
        return Series(call_accepted(run, METHODS["astype"], [value, given["dtype"]], {}), series.keys)
    if name == "value_counts":
        if series.keys is not None:
            run.refuse("value_counts() of a Series with keys is not supported")
        return PerKey(value, None)
    if isinstance(value.content, np.ndarray):
        return run.plain(lambda a: getattr(pd.Series(a), name)(), value.content)
    if name == "median":
        found = call_accepted(run, ACCEPTED[id(np.median)], [value], {})
    else:
        found = call_accepted(run, METHODS[name], [value], REDUCTIONS[name])
    if isinstance(content(found), Private):
        run.verify(found, lambda a: np.asarray(getattr(pd.Series(a), name)())[()], value)
    return found


def _count(run: Run, value: Array) -> Any:
    """Return the number of rows, because declared data have no missing entries."""
    inner = value.content
    if isinstance(inner, np.ndarray):
        return run.plain(lambda a: pd.Series(a).count(), inner)
    return mask_count(run, inner.mask) if isinstance(inner, Filtered) else shape_value(run, value)[0]


def _clipped(run: Run, value: Array, lower: Any = None, upper: Any = None) -> Any:
    """Clip as pandas does, which exchanges the bounds if they are in the wrong order."""
    bounds = [content(bound) for bound in (lower, upper) if bound is not None]
    if not all(
        isinstance(bound, (Public, Noisy, Draw, *PLAIN)) and shape_of(bound) == () for bound in bounds
    ):
        run.refuse("clip of a Series requires numbers as bounds")
    constant = is_plain(bounds)
    if constant and any(math.isnan(bound) for bound in bounds):
        run.refuse("clip of a Series requires numbers as bounds")
    if len(bounds) == 2 and not (constant and bounds[0] <= bounds[1]):
        run.refuse("clip of a Series requires constant bounds in order, or only one bound")
    inner = value.content.base if isinstance(value.content, Filtered) else value.content
    whole = inner.info.kind != "f" if isinstance(inner, Private) else False
    if whole and not all(type(content(one)) in (int, type(None)) for one in (lower, upper)):
        run.refuse("clip of integers requires integers as bounds (use .astype(float) before)")
    if isinstance(inner, Private) and inner.info.kind == "b":
        run.refuse("clip of truth values is not supported")
    return call_accepted(run, METHODS["clip"], [value, lower, upper], {})


def _stacked(run: Run, frame: Frame) -> Any:
    """Return the columns side by side. Integers beside floats become floats."""
    columns = list(frame.columns.values())
    if any(isinstance(column.content, Filtered) for column in columns):
        run.refuse("to_numpy() of a filtered frame is not supported (filter the array instead)")
    kinds = {_kind(column) for column in columns}
    if "b" in kinds and len(kinds) > 1:
        run.refuse("to_numpy() of numbers beside truth values gives objects (use .astype(float) before)")
    if kinds == {"i", "f"}:
        given = [[column, ACCEPTED[id(float)]] for column in columns]
        columns = [call_accepted(run, METHODS["astype"], one, {}) for one in given]
    found = call_accepted(run, ACCEPTED[id(np.column_stack)], [columns], {})
    return Array(content(found), shared=True)


def _kind(column: Array) -> str:
    inner = column.content
    if isinstance(inner, Filtered):
        inner = inner.base
    return inner.info.kind if isinstance(inner, Private) else inner.dtype.kind


def _grouped(run: Run, frame: Frame, by: Any) -> Grouped:
    if not isinstance(by, str) or by not in frame.columns or _kind(frame.columns[by]) != "i":
        run.refuse("groupby requires the name of one column of integers, such as Categories(4)")
    return Grouped(frame, by)


def _summed(run: Run, grouped: Grouped, name: str) -> PerKey:
    keys = grouped.frame.columns[grouped.key]
    if name in ("count", "size") and (grouped.column is not None or name == "size"):
        return PerKey(keys, None)
    if grouped.column is None or _kind(grouped.frame.columns[grouped.column]) == "b":
        run.refuse("groupby requires one column of numbers, as in df.groupby('team')['pay'].sum()")
    return PerKey(keys, grouped.frame.columns[grouped.column])


def _reindexed(run: Run, found: PerKey, given: dict[str, Any]) -> Series:
    """Return the sum, or without values the number, of the rows of each key.

    The row of record i adds its value at its own key and 0 elsewhere. Rows outside the mask add 0.
    """
    wanted = content(given["index"])
    wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
    constant = isinstance(wanted, range | list | tuple) and all(type(k) is int for k in wanted)
    if not constant or not wanted or len(set(wanted)) != len(wanted):
        run.refuse("reindex requires different constant integers, such as range(4)")
    if type(given.get("fill_value")) is not int or given["fill_value"] != 0:
        run.refuse("reindex requires fill_value=0, because a key may have no rows")
    keys, places = found.keys, tuple(wanted)

    def computed(k: Any, v: Any = None) -> Any:
        series = pd.Series(k)
        per = series.value_counts() if v is None else pd.Series(v).groupby(series).sum()
        return per.reindex(places, fill_value=0).to_numpy()

    if isinstance(keys.content, np.ndarray):
        parts = [one.content for one in (keys, found.values) if one is not None]
        return Series(run.plain(computed, *parts), places)
    if _kind(keys) != "i":
        run.refuse("value_counts requires a column of integers, such as Categories(4)")
    mask = keys.content.mask if isinstance(keys.content, Filtered) else None
    rows = keys.content.base if mask is not None else keys.content
    hits = binary(run, "eq", _as_column(run, rows), Array(np.array(places)))
    values: Any = None if mask is None else run.step("cast", [mask], {"kind": "i", "python": False})
    if found.values is not None:
        values = found.values.content
        if isinstance(values, Filtered):
            zero: Any = 0.0 if values.base.info.kind == "f" else 0
            values = run.step("where", [values.mask, values.base, zero])
    if values is not None:
        hits = binary(run, "mul", hits, _as_column(run, values))  # at most one entry of a row is not 0
    total = call_accepted(run, METHODS["sum"], [hits], {"axis": 0})
    run.verify(total, computed, *(one for one in (keys, found.values) if one is not None))
    return Series(total, places)


def _as_column(run: Run, rows: Any) -> Any:
    return index(run, Array(rows), (slice(None), None))


def series_binary(run: Run, op: str, a: Any, b: Any) -> Series:
    """Apply an operator to a Series and a number, an array, or a Series with the same rows or keys."""
    parts = [content(one) for one in (a, b)]
    series = [part for part in parts if isinstance(part, Series)]
    if len({part.keys for part in series}) > 1:
        run.refuse("Series with different keys are combined, which pandas aligns (use .to_numpy())")
    for part in parts:
        if isinstance(part, FRAMES) and not isinstance(part, Series):
            run.refuse("arithmetic on a whole frame or on groups is not supported (use its columns)")
    if op in ("matmul", "xor", "floordiv", "pow", "mod"):
        run.refuse(f"the operator {op} of a Series is not supported (use .to_numpy())")
    keyed = series[0].keys is not None
    for one, part in zip((a, b), parts, strict=True):
        number = isinstance(part, PLAIN) or (isinstance(part, Symbol) and shape_of(one) == ())
        array = keyed and isinstance(one, Array)
        if not isinstance(part, Series) and not number and not array:
            run.refuse("a Series is combined with something else than a number (use .to_numpy())")
    values = [
        part.value if isinstance(part, Series) else one for one, part in zip((a, b), parts, strict=True)
    ]
    found = binary(run, op, *values)
    same = isinstance(found, Array) and shape_of(found) == shape_of(series[0].value)
    if not same and not isinstance(content(found), Filtered):
        run.refuse("a Series is combined with an array of another shape")
    return Series(found, series[0].keys)


def series_unary(run: Run, op: str, value: Series) -> Series:
    """Apply -x, +x, abs(x) or ~x to a Series."""
    if isinstance(value, Series):
        return Series(unary(run, op, value.value), value.keys)
    return run.refuse("an operator is applied to a whole frame or to groups (use its columns)")


LATER["series binary"], LATER["series unary"] = series_binary, series_unary
