"""Call the functions of Python, ``math`` and numpy that have a rule for private values.

Arguments are bound to the function's signature. Parameters that a rule does not model are refused. A function
that is not in ``ACCEPTED`` is refused, whatever its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.prover.values.joins import joined_arguments
from dpaudit.prover.values.operations import (
    FRAMES,
    LATER,
    _holds_noise,
    _settled,
    content,
    expression_of,
    is_plain,
    public_of,
    published,
    shape_of,
    symbols_in,
    unary,
)
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import (
    Array,
    Choice,
    Coin,
    Correlated,
    Draw,
    Entries,
    Filtered,
    Joined,
    Listed,
    Named,
    Noisy,
    Private,
    Public,
    Response,
    Sample,
    Scaled,
    Series,
    Symbol,
    Transposed,
    Turned,
)

__all__ = [
    "ACCEPTED",
    "METHODS",
    "Accepted",
    "K",
    "P",
    "Rule",
    "V",
    "call_accepted",
    "is_noise",
    "real_of",
    "signature_of",
    "unwrapped",
]

Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Accepted:
    """A function that a followed program may call.

    ``rule`` computes the result for private values and noise, from the parameters in ``modelled``. Without a
    rule, only outcomes and plain values are accepted. ``shape`` says how the shape of the result follows from
    the shape of the first argument.
    """

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


def signature_of(function: Any, spec: str | None) -> inspect.Signature:
    """Return the signature in ``spec``, or a ufunc's operands by position, or the function's signature."""
    if spec is not None:
        return inspect.signature(
            eval(f"lambda {spec}: None", {"np": np})
        )  # a literal in this package, never user input
    if isinstance(function, np.ufunc):
        return inspect.Signature([inspect.Parameter(f"x{k + 1}", P) for k in range(function.nin)])
    return inspect.signature(function)


#: Functions besides ufuncs that always return new memory. All others may return a view of an argument.
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


#: Functions that return an array without axes for a number, and not a number.
NO_AXES = ("np.array", "np.asarray", "np.where", "np.copy", "np.zeros_like", "np.ones_like")


def call_accepted(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Call an accepted function, or a method with its object as the first argument.

    If the result may share the memory of an argument, both are marked as shared, so that neither is changed
    in place afterwards.
    """
    found = _called_accepted(run, accepted, arguments, options)
    if accepted.name in NO_AXES and isinstance(found, Public | Private) and found.shape == ():
        found = Array(found, shared=True)  # unlike a number, ``b = a; b += 1`` changes a
    fresh = isinstance(accepted.function, np.ufunc) or accepted.name in FRESH
    fresh = fresh or (accepted.name == "astype" and "copy" not in options and len(arguments) < 6)
    fresh = fresh or (accepted.name == "np.array" and not {"copy", "subok", "like"} & set(options))
    if not fresh:
        for place in (*_places(found), *_places([*arguments, *options.values()])):
            place.shared = True
    return found


def _places(value: Any) -> list[Array]:
    """Return the arrays in a value, as places in memory."""
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
    if any(isinstance(symbol, FRAMES) for symbol in symbols):
        if accepted.name == "abs":
            return unary(run, "abs", arguments[0])
        plain = accepted.name in OF_SERIES and not options
        if not plain or not all(isinstance(content(one), Series) or is_plain(one) for one in arguments):
            run.refuse(
                f"{accepted.name} of a pandas object is not supported (use .to_numpy(), or its methods)"
            )
        values = [_array_of(run, one) for one in arguments]
        return _called_accepted(run, accepted, values, options)
    if any(isinstance(symbol, Joined) for symbol in symbols):
        options = dict(
            zip(options, joined_arguments(run, accepted.name, list(options.values())), strict=True)
        )
        return _called_accepted(run, accepted, joined_arguments(run, accepted.name, arguments), options)
    if not symbols:
        return _plain_call(run, accepted, arguments, options)
    if any(isinstance(symbol, Correlated) for symbol in symbols):
        found = LATER["correlated call"](run, accepted, arguments, options)
        if found is not None:
            return found
    if any(isinstance(symbol, Filtered | Private | Transposed | Listed) for symbol in symbols) or (
        accepted.rule is not None and accepted.keeps_noise and any(is_noise(symbol) for symbol in symbols)
    ):
        return _ruled(run, accepted, given, arguments, options)
    arguments = [real_of(_outcomes(run, argument)) for argument in arguments]
    options = {name: real_of(_outcomes(run, value)) for name, value in options.items()}
    if any(isinstance(symbol, Private) for symbol in symbols_in([arguments, list(options.values())])):
        given = dict(accepted.signature.bind(*arguments, **options).arguments)
        return _ruled(run, accepted, given, arguments, options)
    return _of_outcomes(run, accepted, arguments, options)


#: Functions that return an array if they are given a Series.
OF_SERIES = ("np.asarray", "np.array", "np.where", "np.bincount")


def _array_of(run: Run, value: Any) -> Any:
    inner = content(value)
    if not isinstance(inner, Series):
        return value
    if isinstance(inner.value.content, Filtered):
        run.refuse("a filtered Series cannot be converted to an array: its length depends on the data")
    return Array(inner.value.content, shared=True)


def is_noise(symbol: Any) -> bool:
    """Return whether a value still holds randomness that is not published."""
    symbol = _settled(symbol)
    return isinstance(
        content(symbol), Noisy | Draw | Correlated | Coin | Choice | Sample | Response | Turned | Scaled
    )


def _outcomes(run: Run, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_outcomes(run, item) for item in value)
    inner = content(value)
    if _holds_noise(inner) or isinstance(inner, Entries):
        return published(run, value)
    if isinstance(inner, Symbol) and not isinstance(inner, Public | Private):
        run.refuse(f"a {type(inner).__name__.lower()} value cannot be passed to a function")
    return value


#: Functions that convert a list to an array.
OF_LISTS = (
    "np.array", "np.asarray", "np.clip", "np.minimum", "np.maximum", "np.abs", "np.bincount", "np.histogram",
    "np.sum", "np.mean", "np.count_nonzero", "np.any", "np.all", "np.max", "np.min", "np.median", "np.where",
)  # fmt: skip


def _ruled(
    run: Run, accepted: Accepted, given: dict[str, Any], arguments: list[Any], options: dict[str, Any]
) -> Any:
    if accepted.rule is None:
        run.refuse(f"{accepted.name} is not supported for private values")
    extra = [name for name in given if name not in accepted.modelled]
    if extra:
        run.refuse(f"{accepted.name} does not support the argument {extra[0]}= for private values")
    for name, value in given.items():
        if isinstance(content(value), Noisy | Draw | Correlated) and not accepted.keeps_noise:
            given[name] = published(run, value)
        whole = run.whole_column(value) if accepted.name in OF_LISTS else None
        if whole is not None:
            given[name] = Array(whole)
    found = accepted.rule(run, **given)
    noise = any(is_noise(symbol) for symbol in symbols_in([arguments, list(options.values())]))
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
    plain = [unwrapped(argument) for argument in arguments]
    named = {name: unwrapped(value) for name, value in options.items()}
    if "out" in named or "where" in named:
        run.refuse(f"{accepted.name} does not support the arguments out= and where=")
    return run.plain(accepted.function, *plain, **named)


def unwrapped(value: Any) -> Any:
    """Return plain values without the interpreter's wrappers."""
    if isinstance(value, list | tuple):
        return type(value)(unwrapped(item) for item in value)
    return real_of(content(value))


def real_of(value: Any) -> Any:
    """Return the function or type that a value stands for, such as the one in dtype=float."""
    return (
        value.function if isinstance(value, Accepted) else value.real if isinstance(value, Named) else value
    )


def _of_outcomes(run: Run, accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Apply any accepted function to outcomes, which is post-processing."""
    if "out" in options or "where" in options:
        run.refuse(f"{accepted.name} does not support the arguments out= and where=")
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
    if (
        kind is None
        and accepted.name in ("np.array", "np.stack")
        and not options
        and isinstance(arguments[0], list | tuple)
    ):
        kinds = {getattr(content(item), "kind", None) for item in arguments[0]}
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None and accepted.name in ("np.array", "np.asarray") and len(arguments) == 1:
        kind = _kind_of_array(content(arguments[0]), options)
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


def _kind_of_array(inner: Any, options: dict[str, Any]) -> str | None:
    """Return the kind of an array of an outcome, if it is known."""
    if not options:
        return inner.kind if isinstance(inner, Public) else None
    dtype = real_of(content(options["dtype"])) if set(options) == {"dtype"} else None
    return "f" if dtype is float or dtype is np.float64 else None


def _outcome_shape(accepted: Accepted, arguments: list[Any], options: dict[str, Any]) -> Any:
    if accepted.shape == "scalar":
        return _reduced(shape_of(arguments[0]), options) if len(arguments) == 1 else None
    if accepted.name in ("np.reshape", "reshape") and arguments and not options:
        shape, new = shape_of(arguments[0]), [unwrapped(argument) for argument in arguments[1:]]
        if shape is None or not all(isinstance(n, int) for n in shape) or symbols_in(new):
            return None
        try:
            return np.empty(shape, np.int8).reshape(*new).shape
        except (TypeError, ValueError):
            return None
    if accepted.shape == "square":  # an inverse, or the solution for a vector
        shapes = [shape_of(argument) for argument in arguments]
        known = None not in shapes and not options and len(shapes[0] or ()) == 2
        fits = known and len(set(shapes[0] or ())) == 1 and all(len(one or ()) == 1 for one in shapes[1:])
        return shapes[-1] if fits else None
    if accepted.shape == "number":
        return () if all(shape_of(argument) == () for argument in arguments) else None
    if accepted.shape == "same" or (accepted.name == "np.where" and len(arguments) == 3):
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


def _reduced(shape: Any, options: dict[str, Any]) -> Any:
    """Return the shape of a sum or another reduction, if it is known."""
    axis = options.get("axis")
    if not options:
        return ()
    if set(options) != {"axis"} or type(axis) is not int or not shape or not -len(shape) <= axis < len(shape):
        return None
    return tuple(n for place, n in enumerate(shape) if place != axis % len(shape))


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
