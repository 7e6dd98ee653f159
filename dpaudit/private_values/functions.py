"""Functions of Python, ``math`` and numpy that a followed program may call, and what each does to private
values.

A call is bound by the function's own signature. Parameters that a rule does not model are refused. A function
that is not in ``ACCEPTED`` is refused, whatever its arguments.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.private_values.matrices import extent_value, matmul, release_places, shape_value, zeroed
from dpaudit.private_values.operations import (
    _holds_noise,
    _settled,
    binary,
    content,
    expression_of,
    is_plain,
    public_of,
    seen,
    shape_of,
    symbols_in,
    unary,
)
from dpaudit.private_values.run import Run, exact
from dpaudit.private_values.samples import apply
from dpaudit.private_values.values import (
    Array,
    Choice,
    Coin,
    Draw,
    Entries,
    Filtered,
    Named,
    Noisy,
    Private,
    Public,
    Ranked,
    Response,
    Symbol,
    Transposed,
)

__all__ = ["ACCEPTED", "METHODS", "Accepted", "call_accepted"]

Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Accepted:
    """A function that may be called. ``rule``: what it does to private values and noise, by the parameters
    ``modelled``; None: it takes outcomes and plain values alone. ``shape``: how the result's shape follows
    from that of the first argument."""

    name: str
    function: Callable[..., Any]
    signature: inspect.Signature
    rule: Rule | None = None
    modelled: tuple[str, ...] = ()
    keeps_noise: bool = False
    shape: str = ""
    kind: str | None = None


ACCEPTED: dict[int, Accepted] = {}
METHODS: dict[str, Accepted] = {}
P, K, V = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)


def _signature(function: Any, spec: str | None) -> inspect.Signature:
    """numpy's own signature; of a ufunc its operands by position; else the one that is written here."""
    if spec is not None:
        return inspect.signature(eval(f"lambda {spec}: None", {"np": np}))  # a literal of this file
    if isinstance(function, np.ufunc):
        return inspect.Signature([inspect.Parameter(f"x{k + 1}", P) for k in range(function.nin)])
    return inspect.signature(function)


def _register(
    names: str,
    rule: Rule | None = None,
    modelled: str = "",
    *,
    spec: str | None = None,
    noise: bool = False,
    shape: str = "",
    kind: str | None = None,
    home: Any = np,
    prefix: str = "np.",
) -> None:
    for name in names.split():
        function = home
        for part in name.split("."):
            function = getattr(function, part)
        found = Accepted(
            prefix + name,
            function,
            _signature(function, spec),
            rule,
            tuple(modelled.split()),
            noise,
            shape,
            kind,
        )
        ACCEPTED[id(function)] = found


#: Functions besides ufuncs that always give new memory. All others may give a view of an argument.
FRESH = frozenset(
    [
        "np.sum",
        "np.mean",
        "np.max",
        "np.min",
        "np.any",
        "np.all",
        "np.count_nonzero",
        "np.linalg.norm",
        "np.histogram",
        "np.bincount",
        "np.stack",
        "np.column_stack",
        "np.concatenate",
        "np.hstack",
        "np.vstack",
        "np.sort",
        "np.cumsum",
        "np.cumprod",
        "np.quantile",
        "np.percentile",
        "np.median",
        "np.var",
        "np.std",
        "np.argmax",
        "np.argmin",
        "np.argsort",
        "np.copy",
        "np.dot",
        "np.zeros",
        "np.ones",
        "np.full",
        "np.zeros_like",
        "np.ones_like",
        "np.arange",
        "np.linspace",
        "np.eye",
        "np.where",
        "np.clip",
        "np.digitize",
        "np.searchsorted",
        "np.average",
        "np.outer",
        "np.repeat",
        "np.tile",
        "np.roll",
        "np.power",
        "np.histogram_bin_edges",
        "np.linalg.inv",
        "np.linalg.solve",
        "np.linalg.cholesky",
        "np.tril",
        "np.triu",
        "np.interp",
        "np.convolve",
        "np.diff",
        "np.prod",
        "np.round",
        "sum",
        "mean",
        "max",
        "min",
        "any",
        "all",
        "clip",
        "cumsum",
        "var",
        "argmax",
        "argmin",
        "argsort",
        "round",
        "flatten",
        "copy",
        "dot",
        "tolist",
        "item",
        "std",
        "prod",
    ]
)


def call_accepted(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Call an accepted function, or a method with its object as the first argument. If the result may share
    the memory of an argument, neither is changed in place afterwards."""
    found = _called_accepted(run, accepted, arguments, options)
    fresh = isinstance(accepted.function, np.ufunc) or accepted.name in FRESH
    fresh = fresh or (accepted.name == "astype" and "copy" not in options and len(arguments) < 6)
    fresh = fresh or (accepted.name == "np.array" and not {"copy", "subok", "like"} & set(options))
    if not fresh:
        for place in (*_places(found), *_places([*arguments, *options.values()])):
            place.shared = True
    return found


def _places(value: Any) -> list[Array]:
    """The arrays in a value, as places in memory."""
    if isinstance(value, Array):
        return [value]
    return [place for item in value for place in _places(item)] if isinstance(value, list | tuple) else []


def _called_accepted(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    try:
        bound = accepted.signature.bind(*arguments, **options)
    except TypeError as error:
        return run.refuse(f"{accepted.name}: {error}")
    given = dict(bound.arguments)
    symbols = symbols_in(list(given.values()))
    if not symbols:
        return _plain_call(run, accepted, arguments, options)
    if any(isinstance(symbol, Filtered | Private | Transposed) for symbol in symbols) or (
        accepted.rule is not None and accepted.keeps_noise and any(_is_noise(symbol) for symbol in symbols)
    ):
        return _ruled(run, accepted, given, arguments, options)
    arguments = [real_of(_outcomes(run, argument)) for argument in arguments]
    options = {name: real_of(_outcomes(run, value)) for name, value in options.items()}
    if any(isinstance(symbol, Private) for symbol in symbols_in([arguments, list(options.values())])):
        given = dict(accepted.signature.bind(*arguments, **options).arguments)
        return _ruled(run, accepted, given, arguments, options)
    return _of_outcomes(run, accepted, arguments, options)


def _is_noise(symbol: Any) -> bool:
    symbol = _settled(symbol)
    return isinstance(content(symbol), Noisy | Draw | Coin | Choice | Response)


def _outcomes(run: Run, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_outcomes(run, item) for item in value)
    inner = content(value)
    if _holds_noise(inner) or isinstance(inner, Entries):
        return seen(run, value)
    if isinstance(inner, Symbol) and not isinstance(inner, Public | Private):
        run.refuse(f"a {type(inner).__name__.lower()} value is passed to a function")
    return value


def _ruled(
    run: Run, accepted: Accepted, given: dict[str, Any], arguments: list[Any], options: dict[str, Any]
) -> Any:
    if accepted.rule is None:
        run.refuse(f"{accepted.name} of private values is not followed")
    extra = [name for name in given if name not in accepted.modelled]
    if extra:
        run.refuse(f"{accepted.name} of private values is not followed with the argument {extra[0]}=")
    for name, value in given.items():
        if isinstance(content(value), Noisy | Draw) and not accepted.keeps_noise:
            given[name] = seen(run, value)
    found = accepted.rule(run, **given)
    noise = any(_is_noise(symbol) for symbol in symbols_in([arguments, list(options.values())]))
    checked = isinstance(content(found), Private | Filtered) and not noise
    if checked:
        names = list(options)
        arguments = [real_of(argument) for argument in arguments]
        options = {name: real_of(value) for name, value in options.items()}
        run.verify(
            found,
            lambda *values: accepted.function(
                *values[: len(arguments)], **dict(zip(names, values[len(arguments) :], strict=True))
            ),
            *arguments,
            *options.values(),
        )
    return found


def _plain_call(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    plain = [_unwrapped(argument) for argument in arguments]
    named = {name: _unwrapped(value) for name, value in options.items()}
    if "out" in named or "where" in named:
        run.refuse(f"{accepted.name} with out= or where= is not followed")
    return run.plain(accepted.function, *plain, **named)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_unwrapped(item) for item in value)
    return real_of(content(value))


def real_of(value: Any) -> Any:
    """The function or type itself, of one that is handed over, such as dtype=float."""
    return (
        value.function if isinstance(value, Accepted) else value.real if isinstance(value, Named) else value
    )


def _of_outcomes(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Post-processing: any accepted function of outcomes."""
    if "out" in options or "where" in options:
        run.refuse(f"{accepted.name} with out= or where= is not followed")
    names = list(options)

    def function(*values: Any) -> Any:
        return accepted.function(
            *values[: len(arguments)], **dict(zip(names, values[len(arguments) :], strict=True))
        )

    given = [*arguments, *options.values()]
    shape, kind = _outcome_shape(accepted, arguments, options), accepted.kind
    expression = _outcome_expression(run, accepted, arguments, options, shape)
    if kind is None and accepted.shape == "same" and accepted.name in KEEPS_KIND:
        first = content(arguments[0])
        kind = first.kind if isinstance(first, Public) else None
    python = accepted.name in ("float", "int", "round", "len", "bool") or accepted.name.startswith("math.")
    found = public_of(run, expression, function, given, shape=shape, kind=kind, python=python)
    inner = content(found)
    first = content(arguments[0]) if arguments else None
    if isinstance(inner, Public) and isinstance(first, Public):
        if accepted.name in ("int", "float") and first.count is not None and accepted.name == "int":
            inner.count, inner.expression, inner.kind = first.count, first.expression, "i"
        if (
            accepted.name in ("np.argmax", "np.argmin", "argmax", "argmin")
            and first.shape is not None
            and len(first.shape) == 1
            and isinstance(first.shape[0], int)
        ):
            inner.count, inner.kind = first.shape[0], "i"
    return found


KEEPS_KIND = (
    "np.clip",
    "np.maximum",
    "np.minimum",
    "np.abs",
    "np.absolute",
    "clip",
    "copy",
    "np.copy",
    "np.round",
    "np.sort",
)


def _outcome_shape(accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    if accepted.shape == "scalar":
        return () if len(arguments) == 1 and not options else None
    if accepted.shape == "number":
        return () if all(shape_of(argument) == () for argument in arguments) else None
    if accepted.shape == "same":
        shapes = [shape_of(argument) for argument in arguments]
        if None in shapes or options:
            return None
        return max(shapes, key=len) if len({shape for shape in shapes if shape != ()}) <= 1 else None  # type: ignore[arg-type]
    if accepted.shape == "array" and arguments and isinstance(arguments[0], list | tuple):
        shapes = [shape_of(item) for item in arguments[0]]
        return (
            (len(arguments[0]), *shapes[0])
            if shapes and len(set(shapes)) == 1 and shapes[0] is not None
            else None
        )
    if accepted.shape == "array" and arguments:
        return shape_of(arguments[0])
    return None


def _outcome_expression(
    run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any], shape: Any
) -> Any:
    parts = [expression_of(run, argument) for argument in arguments]
    if shape == () and not options and len(arguments) == 2 and accepted.name in ("max", "np.maximum"):
        return ["maximum", *parts]
    if shape == () and len(arguments) == 3 and not options and accepted.name == "np.clip":
        return ["clip", *parts]
    if accepted.name in ("float", "np.float64", "copy", "np.copy") and len(arguments) == 1 and not options:
        return parts[0]
    if accepted.name in ("np.add", "np.subtract", "np.multiply", "np.divide") and shape == ():
        return [
            {"np.subtract": "sub", "np.multiply": "mul", "np.divide": "div"}.get(accepted.name, "add"),
            *parts,
        ]
    return [
        "function",
        accepted.name,
        *parts,
        *([name, expression_of(run, value)] for name, value in sorted(options.items())),
    ]


# Rules for private values.


def _elementwise(op: str) -> Rule:
    def rule(run: Run, x1: Any) -> Any:
        return _each(run, x1, lambda p: run.step(op, [p]))

    return rule


def _each(run: Run, value: Any, function: Callable[[Private], Private]) -> Any:
    inner = content(value)
    if isinstance(inner, Filtered):
        return Array(Filtered(function(inner.base), inner.mask))
    return run.value(function(run.lift(value)))


def _operator(op: str) -> Rule:
    return lambda run, x1, x2: binary(run, op, x1, x2)


def _floats(op: str) -> Rule:
    """A function that gives floats of whole numbers too."""
    return lambda run, x1: _each(run, x1, lambda p: run.step(op, [_as_float(run, p)]))


def _square_root(run: Run, x1: Any) -> Any:
    """np.sqrt; of the sum of squares of each row (or of a vector) it is the norm, of which more is known."""

    def rooted(value: Private) -> Private:
        op, ids, params = run.record.nodes[value.node]
        if op == "sum" and run.record.nodes[ids[0]][0] == "square" and value.info.kind == "f":
            base = run.record.nodes[ids[0]][1][0]
            whole = run.record.infos[base]
            if len(whole.shape) == whole.records + 1 and list(params["axes"]) == [len(whole.shape) - 1]:
                return run.step("norm", [Private(base, whole, run.samples[base])], {"p": "2", "keep": False})
        return run.step("sqrt", [_as_float(run, value)])

    return _each(run, x1, rooted)


def _as_float(run: Run, value: Private) -> Private:
    """The value as floats; numpy computes functions of truth values in half precision."""
    if value.info.kind == "b":
        run.refuse("a function of truth values (convert them: x.astype(float))")
    if value.info.kind == "f":
        return value
    return run.step("cast", [value], {"kind": "f", "python": value.info.python})


def _digitize(run: Run, x: Any, bins: Any, right: Any = False) -> Any:
    """How many edges are at most x (below x, with ``right``)."""
    edges = content(bins)
    if isinstance(edges, list | tuple) and is_plain(edges):
        edges = np.asarray(edges)
    plain = isinstance(edges, np.ndarray) and edges.ndim == 1 and len(edges) > 0
    if not plain or not np.all(np.diff(edges) > 0) or type(right) is not bool:
        run.refuse("np.digitize and np.searchsorted need constant edges that increase")

    def counted(value: Private) -> Private:
        column = run.step("reshape", [value], {"shape": (*value.shape, 1), "records": value.info.records})
        hits = run.step("gt" if right else "ge", [column, edges])
        return run.step("sum", [hits], {"axes": (len(value.shape),)})

    return _each(run, x, counted)


def _searchsorted(run: Run, a: Any, v: Any, side: Any = "left") -> Any:
    if side not in ("left", "right"):
        run.refuse("a side that is neither left nor right")
    return _digitize(run, v, a, side == "left")


def _average(run: Run, a: Any, weights: Any = None) -> Any:
    if weights is None:
        return _mean(run, a)
    known = content(weights)
    known = np.asarray(known) if isinstance(known, list | tuple) and is_plain(known) else known
    value = run.lift(a)
    fits = isinstance(known, np.ndarray) and known.ndim == 1 and len(value.shape) == 1 and known.sum() > 0
    if not fits:
        run.refuse("np.average is followed for a vector with constant weights whose sum is positive")
    product = run.step("mul", [value, known.astype(float)])
    return run.value(run.step("div", [run.step("sum", [product], {"axes": (0,)}), np.float64(known.sum())]))


def _extreme(op: str) -> Rule:
    def rule(run: Run, x1: Any, x2: Any) -> Any:
        x, y = content(x1), content(x2)
        filtered = [one for one in (x, y) if isinstance(one, Filtered)]
        if not filtered:
            return run.value(run.step(op, [x1, x2]))
        other = y if filtered[0] is x else x
        if len(filtered) == 2 or isinstance(other, Private) or shape_of(other) != ():
            run.refuse("a filtered array meets an array of another length")
        return Array(Filtered(run.step(op, [filtered[0].base, other]), filtered[0].mask))

    return rule


def _clip(run: Run, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if any(isinstance(content(end), Private | Filtered) for end in (low, high)):
        run.refuse("clipping to private bounds")
    if low is None and high is None:
        run.refuse("np.clip without bounds")
    found = a
    for op, end, open_end in (("maximum", low, -math.inf), ("minimum", high, math.inf)):
        plain = content(end)
        if end is not None and not (isinstance(plain, int | float | np.generic) and plain == open_end):
            found = _extreme(op)(run, found, end)
    if found is a:
        run.refuse("np.clip without finite bounds")
    return found


def _where(run: Run, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        run.refuse("np.where with one argument (the places of records)")
    coin = content(condition)
    if isinstance(coin, Coin) and any(isinstance(content(one), Private | Filtered) for one in (x, y)):
        return _randomised(run, coin, x, y)
    if not any(isinstance(content(one), Private | Filtered) for one in (condition, x, y)):
        return call_accepted(
            run,
            ACCEPTED[id(np.where)],
            [seen(run, one) if _holds_noise(one) else one for one in (condition, x, y)],
            {},
        )
    parts = [content(one) for one in (condition, x, y)]
    if any(isinstance(one, Filtered) for one in parts):
        run.refuse("np.where of a filtered array (use the mask as the condition)")
    parts = [seen(run, one) if _holds_noise(one) else one for one in (condition, x, y)]
    return Array(run.step("where", parts))  # of numbers, numpy gives an array without axes


def _randomised(run: Run, coin: Coin, x: Any, y: Any) -> Any:
    """``np.where(coins, x, 1 - x)`` of bits, or ``np.where(coins, x, rng.integers(k, size=n))``."""
    base, other = content(x), content(y)
    p = coin.p
    if isinstance(base, Private) and isinstance(other, Private) and _flips(run, other, base):
        base, other, p = other, base, 1 - p  # the coins say which bits are flipped
    if (
        not isinstance(base, Private)
        or base.info.records != 1
        or base.shape != coin.shape
        or coin.uniform.used
    ):
        return run.refuse("such a randomised answer is not followed (one coin for each entry of the records)")
    if isinstance(other, Private) and _flips(run, base, other):
        among = None
    elif isinstance(other, Choice) and not other.used and other.shape == base.shape and base.info.kind == "i":
        other.used, among = True, other.limit
    else:
        return run.refuse(
            "such a randomised answer is not followed (write np.where(rng.random(n) < p, d, 1 - d), or"
            " rng.integers(k, size=n))"
        )
    coin.uniform.used = True
    samples = [
        (
            apply(np.where, *[run.sample(one, side) for one in (coin, x, y)])
            if among is None
            else apply(np.where, coin.samples[side], run.sample(x, side), other.samples[side])
        )
        for side in run.worlds.sides
    ]
    return Array(Response(base, p, among, samples))


def _flips(run: Run, bits: Private, other: Private) -> bool:
    """Whether ``other`` is 1 - bits (or, of truth values, their negation), as the record says."""
    nodes = run.record.nodes
    op, ids, _ = nodes[other.node]
    if op == "not":
        return bool(ids == [bits.node])
    if op != "sub" or ids[1] != bits.node:
        return False
    return run.record.infos[ids[0]].values == (1,) and bits.info.kind in "bi"


def _axes(run: Run, info: Any, axis: Any) -> tuple[int, ...]:
    rank = len(info.shape)
    if axis is None:
        return tuple(range(rank))
    chosen = axis if isinstance(axis, tuple) else (axis,)
    if not all(type(k) is int and -rank <= k < rank for k in chosen) or len(
        {k % rank for k in chosen}
    ) != len(chosen):
        run.refuse(f"axis {axis!r} of an array of {rank} axes")
    return tuple(sorted(k % rank for k in chosen))


def _reduction(op: str) -> Rule:
    def rule(run: Run, a: Any, axis: Any = None, keepdims: Any = False, dtype: Any = None) -> Any:
        if type(keepdims) is not bool:
            run.refuse("keepdims is not True or False")
        inner = content(a)
        if isinstance(inner, list | tuple):
            a = _array(run, inner)
            inner = content(a)
        if dtype is not None:  # numbers are cast before they are summed
            a = _astype(run, a, dtype)
            inner = content(a)
        if isinstance(inner, Filtered):
            return _of_filter(run, op, inner, axis, keepdims)
        value = run.lift(a)
        axes = _axes(run, value.info, axis)
        if (
            op != "sum"
            and value.info.records
            and 0 in axes
            and run.s.length_is_private
            and op in ("max", "min")
        ):
            run.refuse(f"{op} of data that may be empty")
        return _kept(run, value, run.step(op, [value], {"axes": axes}), axes, keepdims)

    return rule


def _kept(run: Run, value: Private, found: Private, axes: tuple[int, ...], keepdims: bool) -> Any:
    if keepdims:
        shape = tuple(1 if k in axes else n for k, n in enumerate(value.shape))
        found = run.step("reshape", [found], {"shape": shape, "records": found.info.records})
    return run.value(found)


def _of_filter(run: Run, op: str, inner: Filtered, axis: Any, keepdims: bool) -> Any:
    axes = _axes(run, inner.base.info, axis)
    if 0 not in axes:
        found = run.step(op, [inner.base], {"axes": axes})
        if keepdims:
            run.refuse("keepdims of a filtered array")
        return Array(Filtered(found, inner.mask))
    if op in ("max", "min"):
        run.refuse(f"{op} of a filtered array (it may be empty)")
    if op == "all":
        run.refuse("all() of a filtered array")
    value = zeroed(run, inner)
    return _kept(run, value, run.step(op, [value], {"axes": axes}), axes, keepdims)


def _mean(run: Run, a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if type(keepdims) is not bool:
        run.refuse("keepdims is not True or False")
    inner = content(a)
    if isinstance(inner, list | tuple):
        a = _array(run, inner)
        inner = content(a)
    if isinstance(inner, Filtered):
        run.refuse("the mean of a filtered array: its length is private (release a sum and a count)")
    value = run.lift(a)
    axes = _axes(run, value.info, axis)
    if value.info.records and 0 in axes and run.s.length_is_private:
        run.refuse(
            "the mean of a private number of records (release a sum and a count, or divide by a constant)"
        )
    if value.info.kind != "f":
        value = run.step("cast", [value], {"kind": "f", "python": False})
    total = content(_kept(run, value, run.step("sum", [value], {"axes": axes}), axes, keepdims))
    count: Any = 1
    for k in axes:
        count = binary(run, "mul", count, extent_value(run, value.shape[k]))
    if isinstance(count, int) and count < 1:
        run.refuse("the mean of what may be empty")
    return run.value(run.step("div", [total, count]))


def _count_nonzero(run: Run, a: Any, axis: Any = None) -> Any:
    inner = content(a)
    base = inner.base if isinstance(inner, Filtered) else run.lift(a)
    if base.info.kind != "b":
        base = run.step("ne", [base, 0])
    value = Filtered(base, inner.mask) if isinstance(inner, Filtered) else base
    found = content(_reduction("sum")(run, Array(value), axis))
    if axis is None:
        return run.step("cast", [found], {"kind": "i", "python": True})
    return run.value(found)


def _norm(run: Run, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
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
        run.refuse(
            "np.linalg.norm is followed for each row (axis=1) or a vector, with ord None, 1, 2 or np.inf"
        )
    if base.info.kind != "f":
        run.refuse("the norm of whole numbers or truth values (convert them to float)")
    found = run.step("norm", [base], {"p": order, "keep": keepdims})
    return Array(Filtered(found, inner.mask)) if isinstance(inner, Filtered) else run.value(found)


def _histogram(run: Run, a: Any, bins: Any = 10, range: Any = None) -> Any:
    inner = content(a)
    base = inner.base if isinstance(inner, Filtered) else run.lift(a)
    edges = content(bins)
    if symbols_in([bins, range]):
        run.refuse("bins of a histogram that are outcomes")
    if type(edges) is int:
        if range is None:
            run.refuse("bins of a histogram that are made from the data (write range=(low, high))")
        found_edges = np.histogram_bin_edges(np.zeros(1), bins=edges, range=_unwrapped(range))
    elif isinstance(edges, list | tuple | np.ndarray) and range is None:
        found_edges = np.asarray(edges)
    else:
        return run.refuse("bins of a histogram are a number with range=(low, high), or constant edges")
    if base.info.kind == "b" or len(base.shape) != base.info.records:
        run.refuse("a histogram of one number for each record")
    params = {"edges": [str(exact(edge)) for edge in found_edges.tolist()]}
    hits = run.step("bins", [base], params)
    counted = _summed_hits(run, hits, inner)
    return (run.value(counted), Array(found_edges))


def _summed_hits(run: Run, hits: Private, inner: Any) -> Private:
    if isinstance(inner, Filtered):
        hits = zeroed(run, Filtered(hits, inner.mask))
    return run.step("sum", [hits], {"axes": tuple(range(hits.info.records))})


def _bincount(run: Run, x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    inner = content(x)
    base = inner.base if isinstance(inner, Filtered) else run.lift(x)
    if type(minlength) is not int or minlength < 1:
        run.refuse("np.bincount needs minlength=k: without it, its length depends on the data")
    if len(base.shape) != 1 or base.info.records != 1:
        run.refuse("np.bincount of one number for each record")
    hits = run.step("one_hot", [base], {"k": minlength})
    if weights is not None:
        column = run.lift(weights)
        plain = column.info.records == 1 and len(column.shape) == 1 and column.info.kind == "f"
        if not plain or isinstance(inner, Filtered):
            run.refuse("weights of np.bincount are one float64 for each of the same records")
        each = run.step("reshape", [column], {"shape": (*column.shape, 1), "records": 1})
        hits = run.step("mul", [hits, each])
        if hits.info.records != 1:
            run.refuse("weights of np.bincount belong to other rows than the places")
    return run.value(_summed_hits(run, hits, inner))


def _array(run: Run, object: Any, dtype: Any = None) -> Any:
    """np.array, np.asarray, np.stack: a new array of the same values."""
    inner = content(object)
    if isinstance(inner, list | tuple):
        items = [_array(run, item) if isinstance(item, list | tuple) else item for item in inner]
        if not items:
            return Array(np.array([]))
        if any(isinstance(content(item), Filtered | Transposed | Ranked) for item in items):
            run.refuse("filtered or transposed arrays are put together")
        items = [seen(run, item) if _holds_noise(item) else item for item in items]
        if not any(isinstance(content(item), Private | Entries) for item in items):
            return call_accepted(run, ACCEPTED[id(np.array)], [items], {})
        values = [run.lift(item) for item in items]
        kind = max((value.info.kind for value in values), key="bif".index)
        if any(value.info.records for value in values):
            run.refuse("rows of records are put together this way (use np.column_stack)")
        if len({value.info.kind for value in values}) > 1 and "b" in {value.info.kind for value in values}:
            run.refuse("truth values and numbers are put into one array")
        return _cast_to(run, run.value(run.stacked(values, kind)), dtype)
    if isinstance(inner, Noisy | Draw | Coin | Response) and dtype is None:
        return object
    if isinstance(inner, Filtered | Private):
        return _cast_to(run, Array(inner) if shape_of(inner) != () else inner, dtype)
    return run.refuse("such an array")


def _cast_to(run: Run, value: Any, dtype: Any) -> Any:
    return value if dtype is None else _astype(run, value, dtype)


def _shared_array(run: Run, a: Any, dtype: Any = None) -> Any:
    found = _array(run, a, dtype)
    if isinstance(a, Array) and isinstance(found, Array):
        a.shared = found.shared = True  # np.asarray gives the array itself
    return found


def _stack(run: Run, arrays: Any, axis: Any = 0) -> Any:
    if axis != 0 or not isinstance(arrays, list | tuple):
        run.refuse("np.stack along another axis than 0 (use np.column_stack)")
    return _array(run, arrays)


def _column_stack(run: Run, tup: Any) -> Any:
    items = [content(item) for item in tup] if isinstance(tup, list | tuple) else []
    rows = next((one for one in items if isinstance(one, Private) and one.info.records == 1), None)
    parts = []
    for item in items:
        value = item
        if isinstance(item, np.ndarray) and rows is not None and item.shape == rows.shape[:1]:
            if item.dtype.kind == "b":
                run.refuse("a constant column of truth values")
            ones = run.step("ones", [rows])
            if item.dtype.kind == "f":
                ones = run.step("cast", [ones], {"kind": "f", "python": False})
            value = run.step("mul", [ones, item])  # a constant column, row by row
        if not isinstance(value, Private) or value.info.records != 1 or len(value.shape) > 2:
            run.refuse("np.column_stack of columns that are not all of the same records")
        parts.append(
            value
            if len(value.shape) == 2
            else run.step("reshape", [value], {"shape": (*value.shape, 1), "records": 1})
        )
    if not parts:
        run.refuse("np.column_stack of nothing")
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


def _astype(run: Run, a: Any, dtype: Any) -> Any:
    target = real_of(dtype)
    kind = KINDS.get(target) if isinstance(target, type | str) else None
    if kind is None:
        run.refuse(f"a cast to {target!r} (use float, int or bool)")

    def cast(value: Private) -> Private:
        if kind == "b":
            return value if value.info.kind == "b" else run.step("ne", [value, 0])
        if kind == "i" and value.info.kind == "f":
            return run.step("trunc", [value], {"kind": "i", "python": False})
        return run.step("cast", [value], {"kind": kind, "python": False})

    return _each(run, a, cast)


def _python_number(kind: str) -> Rule:
    """float(x), int(x) and bool(x) of one number."""

    def rule(run: Run, x: Any = 0) -> Any:
        if isinstance(content(x), Noisy | Draw) and shape_of(x) == () and kind == "f":
            return x
        value = run.lift(seen(run, x) if _holds_noise(x) else x)
        if value.shape != ():
            run.refuse("a Python number of an array")
        if kind == "b":
            run.refuse("bool() of a private value (compare it inside an array operation)")
        if kind == "i" and value.info.kind == "f":
            return run.step("trunc", [value], {"kind": "i", "python": True})
        return run.step("cast", [value], {"kind": kind, "python": True})

    return rule


def _round(run: Run, number: Any, ndigits: Any = None) -> Any:
    value = run.lift(number)
    if ndigits is not None or value.shape != () or value.info.kind == "b":
        run.refuse("round() of a private number to digits, or of an array (write np.round)")
    python = value.info.python
    return (
        run.step("rint", [value], {"kind": "i", "python": True})
        if python or value.info.kind == "f"
        else value
    )


def _np_round(run: Run, a: Any, decimals: Any = 0) -> Any:
    if decimals != 0:
        run.refuse("rounding to decimals")
    return _each(run, a, lambda p: _rounded(run, "rint", p))


def _rounded(run: Run, op: str, value: Private) -> Private:
    if value.info.kind != "f":
        run.refuse("np.round, np.floor and np.trunc of whole numbers or truth values")
    return run.step(op, [value], {"kind": "f", "python": False})


def _rounding(op: str) -> Rule:
    return lambda run, x1: _each(run, x1, lambda p: _rounded(run, op, p))


def _math_rounding(op: str) -> Rule:
    def rule(run: Run, x: Any) -> Any:
        value = run.lift(x)
        if value.info.kind != "f" or value.shape != ():
            run.refuse("math.floor and math.trunc of one float")
        return run.step(op, [value], {"kind": "i", "python": True})

    return rule


def _math(op: str) -> Rule:
    def rule(run: Run, x: Any) -> Any:
        value = run.lift(x)
        if value.shape != ():
            run.refuse("a function of math of an array (use numpy's)")
        if op == "exp" and not run.s.at_most(value.info.high, 700):
            run.refuse("math.exp of a value without bounds (it raises OverflowError; use np.exp)")
        return run.step(op, [run.step("cast", [value], {"kind": "f", "python": True})])

    return rule


def _sort(run: Run, a: Any, axis: Any = -1) -> Any:
    value = run.lift(a)
    if axis not in (-1, 0, None) or len(value.shape) != 1 or run.s.length_is_private:
        run.refuse("np.sort is followed for a vector whose length is public")
    return run.value(run.step("sort", [value]))


def _cumsum(run: Run, a: Any, axis: Any = None) -> Any:
    value = run.lift(a)
    if (
        axis not in (None, 0)
        or len(value.shape) != 1
        or not isinstance(value.shape[0], int)
        or run.s.length_is_private
    ):
        run.refuse(
            "np.cumsum is followed for a vector of a known number of entries (give the number of records)"
        )
    return run.value(run.step("cumsum", [value]))


def _quantile(run: Run, a: Any, q: Any, axis: Any = None) -> Any:
    value = _as_float(run, run.lift(a)) if type(q) is float else run.lift(a)
    if value.info.kind != "f":
        run.refuse("a quantile of whole numbers at a whole number (write it as a float)")
    if (
        axis is not None
        or len(value.shape) != 1
        or run.s.length_is_private
        or type(q) not in (int, float)
        or not 0 <= q <= 1
    ):
        run.refuse("np.quantile is followed for a vector whose length is public, at one constant")
    return run.step("order", [value], {"what": "quantile", "q": str(exact(q))})


def _percentile(run: Run, a: Any, q: Any, axis: Any = None) -> Any:
    value = run.lift(a)
    if (
        axis is not None
        or len(value.shape) != 1
        or run.s.length_is_private
        or type(q) not in (int, float)
        or not 0 <= q <= 100
    ):
        run.refuse("np.percentile is followed for a vector whose length is public, at one constant")
    samples = [apply(np.percentile, one, q) for one in value.samples]
    return run.step("order", [value], {"what": "quantile", "q": str(exact(q) / 100)}, samples)


def _median(run: Run, a: Any, axis: Any = None) -> Any:
    value = run.lift(a)
    if axis is not None or len(value.shape) != 1 or run.s.length_is_private:
        run.refuse("np.median is followed for a vector whose length is public")
    return run.step("order", [value], {"what": "median"})


def _var(run: Run, a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    value = run.lift(a)
    if axis is not None or type(ddof) is not int:
        run.refuse("np.var is followed for one vector, with ddof 0 or 1")
    return run.step("var", [value], {"ddof": ddof})


def _place_of(largest: bool) -> Rule:
    def rule(run: Run, a: Any, axis: Any = None) -> Any:
        inner = content(a)
        if isinstance(inner, Noisy) and inner.released is None and isinstance(content(inner.base), Private):
            return _noisy_place(run, inner, largest, axis)
        if isinstance(inner, Noisy | Draw):
            return call_accepted(run, ACCEPTED[id(np.argmax if largest else np.argmin)], [seen(run, a)], {})
        base = inner.base if isinstance(inner, Filtered) else run.lift(a)
        rank = len(base.shape)
        rows = base.info.records == 1 and rank == 2 and axis in (1, -1)
        vector = not base.info.records and rank == 1 and axis in (None, 0, -1)
        if not (rows or vector):
            run.refuse("the place of the largest record")
        samples = [apply(np.argmax if largest else np.argmin, one, -1) for one in base.samples]
        found = run.step("argbest", [base], {"largest": largest}, samples)
        return Array(Filtered(found, inner.mask)) if isinstance(inner, Filtered) else run.value(found)

    return rule


def _noisy_place(run: Run, noisy: Noisy, largest: bool, axis: Any) -> Any:
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
        or noisy.terms[0][1].law not in ("laplace", "exponential", "gumbel")
    ):
        released = seen(run, Array(noisy))
        return call_accepted(
            run,
            ACCEPTED[id(np.argmax if largest else np.argmin)],
            [released],
            {} if axis is None else {"axis": axis},
        )
    return release_places(run, noisy, count=1, largest=largest)


def _argsort(run: Run, a: Any) -> Any:
    inner = content(a)
    if (
        not isinstance(inner, Noisy)
        or inner.released is not None
        or len(inner.terms) != 1
        or len(inner.shape) != 1
    ):
        run.refuse("np.argsort of private values")
    if inner.terms[0][1].law not in ("laplace", "exponential", "gumbel") or not isinstance(
        content(inner.base), Private
    ):
        return call_accepted(run, ACCEPTED[id(np.argsort)], [seen(run, a)], {})
    if not run.picks:
        return call_accepted(run, ACCEPTED[id(np.argsort)], [seen(run, a)], {})
    return Array(Ranked(inner))


def _reshape(run: Run, a: Any, shape: Any) -> Any:
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
            return run.refuse("such a shape of records of every number (use [:, None] or reshape(-1, 1))")
        return Array(found, shared=True)
    if not is_plain(list(wanted)) or not all(isinstance(n, int) for n in wanted):
        run.refuse("a shape that an outcome decides")
    try:
        new = np.empty(value.shape, np.int8).reshape(wanted).shape  # type: ignore[type-var]
    except ValueError as error:
        return run.refuse(f"reshape: {error}")
    records = 0
    if info.records:
        lead = math.prod(value.shape[: info.records])
        records = next((k + 1 for k in range(len(new)) if math.prod(new[: k + 1]) == lead), 0)
    return Array(run.step("reshape", [value], {"shape": new, "records": records}), shared=True)


def _method_reshape(run: Run, a: Any, shape: Any) -> Any:
    return _reshape(run, a, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else tuple(shape))


def _ravel(run: Run, a: Any) -> Any:
    return _reshape(run, a, (-1,))


def _copied(run: Run, a: Any) -> Any:
    inner = content(a)
    return Array(inner) if shape_of(inner) not in ((), None) or isinstance(inner, Filtered) else inner


def _dot(run: Run, a: Any, b: Any) -> Any:
    return matmul(run, a, b)


def _size(run: Run, a: Any) -> Any:
    found: Any = 1
    for n in shape_value(run, a):
        found = n if type(found) is int and found == 1 else binary(run, "mul", found, n)
    return found


def _like(value: float) -> Rule:
    def rule(run: Run, a: Any) -> Any:
        base = run.lift(a)
        if not all(isinstance(n, int) for n in base.shape) or (base.info.records and run.s.length_is_private):
            run.refuse("np.zeros_like of records of every number")
        return Array(np.full(base.shape, value, dtype={"b": bool, "i": np.int64, "f": float}[base.info.kind]))

    return rule


def _not(run: Run, x1: Any) -> Any:
    return _each(
        run,
        x1,
        lambda p: run.step("not", [p]) if p.info.kind == "b" else run.refuse("np.logical_not of numbers"),
    )


for _name, _op in {"negative": "neg", "square": "square", "sign": "sign", "absolute": "abs"}.items():
    _register(_name, _elementwise(_op), "x1", shape="same")
for _name, _op in {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "arctan": "arctan",
}.items():
    _register(_name, _floats(_op), "x1", shape="same", kind="f")
for _name, _op in {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}.items():
    _register(_name, _operator(_op), "x1 x2", shape="same", noise=True)
for _name, _op in {
    "logical_and": "and",
    "logical_or": "or",
    "bitwise_and": "and",
    "bitwise_or": "or",
}.items():
    _register(_name, _operator(_op), "x1 x2", shape="same")
_register("logical_not invert", _not, "x1", shape="same")
_register("sqrt", _square_root, "x1", shape="same", kind="f")
_register("power", lambda run, x1, x2: binary(run, "pow", x1, x2), "x1 x2")
_register("digitize", _digitize, "x bins right")
_register("searchsorted", _searchsorted, "a v side", spec="a, v, side='left', sorter=None")
_register("average", _average, "a weights", shape="scalar", kind="f")
_register("maximum", _extreme("maximum"), "x1 x2", shape="same")
_register("minimum", _extreme("minimum"), "x1 x2", shape="same")
_register("floor", _rounding("floor"), "x1", shape="same")
_register("trunc", _rounding("trunc"), "x1", shape="same")
_register("rint", _rounding("rint"), "x1", shape="same")
_register(
    "clip",
    _clip,
    "a a_min a_max min max",
    spec="a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs",
    shape="same",
)
_register("where", _where, "condition x y", spec="condition, x=None, y=None, /", noise=True)
_register("sum", _reduction("sum"), "a axis keepdims dtype", shape="scalar")
_register("mean", _mean, "a axis keepdims", shape="scalar", kind="f")
_register("max", _reduction("max"), "a axis keepdims", shape="scalar")
_register("min", _reduction("min"), "a axis keepdims", shape="scalar")
_register("any", _reduction("any"), "a axis keepdims", shape="scalar", kind="b")
_register("all", _reduction("all"), "a axis keepdims", shape="scalar", kind="b")
_register("count_nonzero", _count_nonzero, "a axis", shape="scalar")
_register("linalg.norm", _norm, "x ord axis keepdims", shape="scalar", kind="f")
_register("histogram", _histogram, "a bins range")
_register("bincount", _bincount, "x weights minlength", spec="x, /, weights=None, minlength=0")
_register(
    "array",
    _array,
    "object dtype",
    spec="object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None",
    shape="array",
    noise=True,
)
_register(
    "asarray",
    _shared_array,
    "a dtype",
    spec="a, dtype=None, order=None, *, device=None, copy=None, like=None",
    shape="array",
    noise=True,
)
_register(
    "stack",
    _stack,
    "arrays axis",
    spec="arrays, axis=0, out=None, *, dtype=None, casting='same_kind'",
    shape="array",
)
_register("column_stack", _column_stack, "tup")
_register("round", _np_round, "a decimals", shape="same")
_register("sort", _sort, "a axis", shape="same")
_register("cumsum", _cumsum, "a axis")
_register("quantile", _quantile, "a q axis")
_register("percentile", _percentile, "a q axis")
_register("median", _median, "a axis", shape="scalar", kind="f")
_register("var", _var, "a axis ddof", shape="scalar", kind="f")
_register("argmax", _place_of(True), "a axis", shape="scalar", noise=True)
_register("argmin", _place_of(False), "a axis", shape="scalar", noise=True)
_register("argsort", _argsort, "a", noise=True, shape="same", kind="i")
_register(
    "reshape",
    lambda run, a, shape: _reshape(run, a, shape),
    "a shape",
    spec="a, /, shape=None, order='C', *, newshape=None, copy=None",
)
_register("ravel", _ravel, "a")
_register("copy", _copied, "a", shape="same", noise=True)
_register("dot", _dot, "a b", spec="a, b, out=None")
_register("zeros_like", _like(0), "a")
_register("ones_like", _like(1), "a")
_register("shape", lambda run, a: shape_value(run, a), "a")
_register("size", lambda run, a: _size(run, a), "a")
# Of outcomes and plain values alone.
_register(
    "arange linspace zeros ones full eye identity tril triu diag outer cumprod prod diff std ptp concatenate"
    " hstack vstack tile repeat flip roll cross trace log1p expm1 log2 log10 cbrt sinh cosh tan arcsin arccos"
    " mod remainder floor_divide ceil isfinite isnan nan_to_num linalg.inv linalg.pinv linalg.cholesky"
    " linalg.det linalg.lstsq linalg.svd linalg.eigvalsh linalg.qr linalg.matrix_rank linalg.slogdet"
    " linalg.solve linalg.eigh histogram_bin_edges unique argpartition einsum squeeze expand_dims swapaxes"
    " transpose broadcast_to atleast_1d atleast_2d allclose array_equal meshgrid geomspace logspace interp"
    " convolve kron hypot arctan2 float_power fabs deg2rad exp2",
    spec="*arguments, **options",
)
_register("float64 int64 bool_", None, spec="*arguments", kind=None, shape="number")
_register(
    "sqrt exp log floor ceil tanh sin cos atan fabs trunc isfinite comb factorial erf erfc log1p expm1 log2"
    " log10 pow hypot gcd isqrt lgamma gamma isclose perm dist prod fsum tan asin acos sinh cosh atan2"
    " copysign",
    None,
    spec="*arguments",
    home=math,
    prefix="math.",
    shape="number",
)
for _name in ("sqrt", "exp", "log", "tanh", "sin", "cos"):
    _register(_name, _math(_name), "x", spec="x, /", home=math, prefix="math.", shape="number", kind="f")
_register("atan", _math("arctan"), "x", spec="x, /", home=math, prefix="math.", shape="number", kind="f")
_register(
    "log", _math("log"), "x", spec="x, base=None, /", home=math, prefix="math.", shape="number", kind="f"
)
_register(
    "floor", _math_rounding("floor"), "x", spec="x, /", home=math, prefix="math.", shape="number", kind="i"
)
_register(
    "trunc", _math_rounding("trunc"), "x", spec="x, /", home=math, prefix="math.", shape="number", kind="i"
)
_register(
    "fabs",
    lambda run, x: run.step("abs", [run.step("cast", [x], {"kind": "f", "python": True})]),
    "x",
    spec="x, /",
    home=math,
    prefix="math.",
    shape="number",
    kind="f",
)
_register(
    "float",
    _python_number("f"),
    "x",
    spec="x=0, /",
    home=builtins,
    prefix="",
    shape="number",
    kind="f",
    noise=True,
)
_register("int", _python_number("i"), "x", spec="x=0, /", home=builtins, prefix="", shape="number", kind="i")
_register(
    "abs", lambda run, x: unary(run, "abs", x), "x", spec="x, /", home=builtins, prefix="", shape="same"
)
_register(
    "round", _round, "number ndigits", spec="number, ndigits=None", home=builtins, prefix="", shape="number"
)
_register("divmod pow ord chr bin hex", None, spec="*arguments", home=builtins, prefix="")


def _methods() -> None:
    table: dict[str, tuple[str, Rule | None, str, dict[str, Any]]] = {
        "sum": (
            "a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
            _reduction("sum"),
            "a axis keepdims",
            {"shape": "scalar"},
        ),
        "mean": (
            "a, axis=None, dtype=None, out=None, keepdims=False, *, where=True",
            _mean,
            "a axis keepdims",
            {"shape": "scalar", "kind": "f"},
        ),
        "max": (
            "a, axis=None, out=None, keepdims=False, initial=None, where=True",
            _reduction("max"),
            "a axis keepdims",
            {"shape": "scalar"},
        ),
        "min": (
            "a, axis=None, out=None, keepdims=False, initial=None, where=True",
            _reduction("min"),
            "a axis keepdims",
            {"shape": "scalar"},
        ),
        "any": (
            "a, axis=None, out=None, keepdims=False, *, where=True",
            _reduction("any"),
            "a axis keepdims",
            {"shape": "scalar", "kind": "b"},
        ),
        "all": (
            "a, axis=None, out=None, keepdims=False, *, where=True",
            _reduction("all"),
            "a axis keepdims",
            {"shape": "scalar", "kind": "b"},
        ),
        "clip": ("a, min=None, max=None, out=None, **kwargs", _clip, "a min max", {"shape": "same"}),
        "cumsum": ("a, axis=None, dtype=None, out=None", _cumsum, "a axis", {}),
        "var": (
            "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True",
            _var,
            "a axis ddof",
            {"shape": "scalar", "kind": "f"},
        ),
        "argmax": (
            "a, axis=None, out=None, *, keepdims=False",
            _place_of(True),
            "a axis",
            {"shape": "scalar", "noise": True},
        ),
        "argmin": (
            "a, axis=None, out=None, *, keepdims=False",
            _place_of(False),
            "a axis",
            {"shape": "scalar", "noise": True},
        ),
        "argsort": (
            "a, axis=-1, kind=None, order=None, *, stable=None",
            _argsort,
            "a",
            {"noise": True, "shape": "same", "kind": "i"},
        ),
        "astype": (
            "a, dtype, order='K', casting='unsafe', subok=True, copy=True",
            _astype,
            "a dtype",
            {"shape": "same"},
        ),
        "round": ("a, decimals=0, out=None", _np_round, "a decimals", {"shape": "same"}),
        "reshape": ("a, *shape, order='C', copy=None", _method_reshape, "a shape", {}),
        "ravel": ("a, order='C'", _ravel, "a", {}),
        "flatten": ("a, order='C'", lambda run, a: Array(content(_ravel(run, a))), "a", {}),
        "copy": ("a, order='C'", _copied, "a", {"shape": "same", "noise": True}),
        "dot": ("a, b, out=None", _dot, "a b", {}),
        "tolist": ("a", None, "", {}),
        "item": ("a, *place", None, "", {"shape": "scalar"}),
        "std": (
            "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True",
            None,
            "",
            {"shape": "scalar"},
        ),
        "prod": (
            "a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
            None,
            "",
            {"shape": "scalar"},
        ),
        "conj": ("a", None, "", {"shape": "same"}),
        "trace": ("a", None, "", {}),
        "nonzero": ("a", None, "", {}),
        "squeeze": ("a, axis=None", None, "", {}),
        "cumprod": ("a, axis=None", None, "", {}),
        "ptp": ("a, axis=None", None, "", {}),
    }
    for name, (spec, rule, modelled, more) in table.items():
        METHODS[name] = Accepted(
            name,
            _caller(name),
            _signature(None, spec),
            rule,
            tuple(modelled.split()),
            bool(more.get("noise")),
            more.get("shape", ""),
            more.get("kind"),
        )


def _caller(name: str) -> Callable[..., Any]:
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(a, name)(*arguments, **options)

    return call


_methods()
