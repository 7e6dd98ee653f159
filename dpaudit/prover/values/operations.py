"""Apply operators to private, public, noisy and plain values, with a rule for each pair of operands.

The cases are tried in order. A uniform number may be compared once. Noisy values stay noisy under sums and
constant factors. Private values become recorded steps. All other operands are outcomes, and any function of
outcomes is post-processing.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.kernel.values.elementwise import broadcast
from dpaudit.kernel.values.heavy_tails import degrees_of
from dpaudit.kernel.values.info import RefusedStepError, magnitude
from dpaudit.prover.values.after_tests import after_test
from dpaudit.prover.values.audiences import reveal_private
from dpaudit.prover.values.fixed_samples import hides_sample
from dpaudit.prover.values.run import Run, exact, text_of
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import (
    MISSING,
    Array,
    Choice,
    Coin,
    Condition,
    Correlated,
    Count,
    Draw,
    Entries,
    Filtered,
    Frame,
    Gone,
    Grouped,
    Joined,
    Noisy,
    PerKey,
    Private,
    Public,
    Ranked,
    Response,
    Runs,
    Sample,
    Scaled,
    Series,
    Symbol,
    Transposed,
    Turned,
    Uniform,
)

__all__ = [
    "FRAMES",
    "LATER",
    "OPERATORS",
    "add_to_output",
    "binary",
    "content",
    "expression_of",
    "function_of",
    "is_plain",
    "is_python_number",
    "public_of",
    "published",
    "settle",
    "shape_of",
    "symbols_in",
    "truth",
    "unary",
]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "matmul": operator.matmul,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
#: Matrix products, indexing, joined numbers and pandas. Their modules register them here, because they import
#: this module.
LATER: dict[str, Callable[..., Any]] = {}

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "abs": abs,
    "not": operator.invert,
    "pos": operator.pos,
}
#: Built once, because every operation tests for these types.
PUBLISHED_FIRST = (Coin, Choice, Sample, Response, Entries, Turned)
NO_ARITHMETIC = (Ranked, Condition, Transposed, Count, Runs, Gone)
NO_NUMBER = (str, bytes, list, tuple, dict, set, complex)
FRAMES = (Frame, Series, Grouped, PerKey)
CONTAINERS = (list, tuple, set, frozenset)
PLAIN = (bool, int, float, Fraction, np.bool_, np.int64, np.float64)


def content(value: Any) -> Any:
    """Return the value inside an ``Array``, or any other value unchanged."""
    return value.content if isinstance(value, Array) else value


def symbols_in(value: Any) -> list[Any]:
    """Return all symbols in a value and its containers. An array of plain numbers has no symbols."""
    if isinstance(value, Array):
        return symbols_in(value.content)
    if isinstance(value, Symbol):
        return [value]
    if isinstance(value, CONTAINERS):
        return [symbol for item in value for symbol in symbols_in(item)]
    if isinstance(value, dict):
        return [symbol for pair in value.items() for item in pair for symbol in symbols_in(item)]
    return []


def is_plain(value: Any) -> bool:
    """Return whether a value holds no symbols, also inside containers."""
    return not symbols_in(value)


def shape_of(value: Any) -> tuple[Any, ...] | None:
    """Return the shape of a value as numpy would, or None if it is unknown."""
    value = content(value)
    if isinstance(value, Private):
        return value.shape
    if isinstance(value, Public | Draw | Noisy | Correlated | Coin | Uniform | Choice | Sample):
        return value.shape
    if isinstance(value, Response):
        return value.base.shape
    if isinstance(value, Entries):
        return (len(value.items),)
    if isinstance(value, Joined | Scaled):
        return ()
    if isinstance(value, Symbol):
        return None
    return tuple(np.shape(value))


# Outcomes.


def expression_of(run: Run, value: Any) -> Any:
    """Return a public or plain value as an expression. Equal expressions have equal values."""
    value = content(value)
    if isinstance(value, Public):
        return value.expression
    if isinstance(value, Symbol):
        run.refuse("a private value is mixed into a function of released values")
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["function", "array", value.dtype.str, list(value.shape), digest]
    if isinstance(value, PLAIN) and math.isfinite(value):
        return ["number", str(exact(value))]
    if isinstance(value, list | tuple):
        return ["function", type(value).__name__, *(expression_of(run, item) for item in value)]
    if isinstance(value, dict):
        return ["function", "dict", *([repr(key), expression_of(run, item)] for key, item in value.items())]
    if isinstance(value, slice):
        return [
            "function",
            "slice",
            *(expression_of(run, end) for end in (value.start, value.stop, value.step)),
        ]
    if isinstance(value, type) and value in (float, int, bool, np.float64, np.int64, np.bool_):
        return ["function", "type", value.__name__]
    if value is None or value is Ellipsis or isinstance(value, str | bytes | range | float | complex):
        return ["function", type(value).__name__, repr(value)]
    return run.refuse(f"a {type(value).__name__} is combined with a released value")


def function_of(
    run: Run,
    name: str,
    function: Callable[..., Any],
    *arguments: Any,
    shape: Any = None,
    kind: str | None = None,
    python: bool = False,
) -> Any:
    """Return a function of outcomes and plain values. This is post-processing, equal on both sides."""
    expression = ["function", name, *(expression_of(run, argument) for argument in arguments)]
    return public_of(run, expression, function, arguments, shape=shape, kind=kind, python=python)


def public_of(
    run: Run,
    expression: Any,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    *,
    shape: Any = None,
    kind: str | None = None,
    python: bool = False,
) -> Any:
    """Return a public value with its expression, computed by ``function`` on the sample data."""
    samples = [
        apply(function, *[run.sample(argument, side) for argument in arguments]) for side in run.worlds.sides
    ]
    public = Public(expression, shape, kind, samples, python)
    _check_public(run, public)
    return Array(public) if shape is not None and shape != () else public


def _check_public(run: Run, public: Public) -> None:
    """Discard the derived shape and type of an outcome if numpy computes others on sample data."""
    for side in run.worlds.sides:
        value = public.samples[side]
        if value is MISSING:
            continue
        array = np.asarray(value) if isinstance(value, np.ndarray | np.generic | bool | int | float) else None
        known = public.shape is not None and array is not None
        if known and array is not None and array.shape != run.worlds.shape(public.shape or (), side):
            public.shape = None
        if public.kind is not None and (array is None or array.dtype.kind != public.kind):
            public.kind = None
        if public.shape == () and public.python == isinstance(value, np.generic):
            public.python = not public.python


def _public_binary(run: Run, op: str, a: Any, b: Any) -> Any:
    if op not in COMPARISONS and any(_is_infinite(one) for one in (a, b)):
        run.refuse("an infinity or NaN is combined with a released value (compare with it instead)")
    shapes = [shape_of(a), shape_of(b)]
    shape: Any = None
    if None not in shapes:
        try:
            shape = broadcast(*shapes)  # type: ignore[arg-type]
        except RefusedStepError:
            shape = None
    kinds = [_kind(a), _kind(b)]
    kind = "b" if op in COMPARISONS else "f" if op == "div" else None
    if op in ("add", "sub", "mul", "mod", "floordiv") or (op == "pow" and "f" in kinds):
        kind = _higher(kinds)
    expression: Any = [op, expression_of(run, a), expression_of(run, b)]
    scalar = shape == () and op in ("add", "sub", "mul", "div")
    scalar = scalar or (shape == () and op == "floordiv" and kinds == ["i", "i"] and type(b) is int and b > 0)
    if not scalar:
        expression = ["function", *expression]
    python = _is_python(a) and _is_python(b)
    found = public_of(run, expression, OPERATORS[op], (a, b), shape=shape, kind=kind, python=python)
    if op in COMPARISONS and shape == () and _sized(a) and _sized(b):
        decided = run.is_certain([op, expression_of(run, a), expression_of(run, b)])
        if decided is not None:
            return decided
    return found


def _is_infinite(value: Any) -> bool:
    inner = content(value)
    return isinstance(inner, float | np.floating) and not math.isfinite(inner)


def _sized(value: Any) -> bool:
    return isinstance(value, (Public, PLAIN))


def _kind(value: Any) -> str | None:
    value = content(value)
    if isinstance(value, Public):
        return value.kind
    if isinstance(value, Private):
        return value.info.kind
    if isinstance(value, Fraction):
        return "f"
    kind = np.asarray(value).dtype.kind
    return kind if kind in "bif" else None


def _higher(kinds: Sequence[str | None]) -> str | None:
    if None in kinds or set(kinds) == {"b"}:
        return None
    return max(kinds, key="bif".index)  # type: ignore[arg-type]


def _is_python(value: Any) -> bool:
    value = content(value)
    if isinstance(value, Public):
        return value.python and value.shape == ()
    if isinstance(value, Private):
        return value.info.python
    return not isinstance(value, np.ndarray | np.generic)


def is_python_number(value: Any) -> bool:
    """Return whether a value is a Python number, which lacks numpy's methods and attributes."""
    value = content(value)
    if isinstance(value, Private):
        return value.info.python and value.shape == ()
    if isinstance(value, Public | Draw | Correlated):
        return value.python and value.shape == ()
    if isinstance(value, Noisy):
        return value.shape == () and all(
            map(is_python_number, (value.base, *(draw for _, draw, _ in value.terms)))
        )
    return isinstance(value, bool | int | float) and not isinstance(value, np.generic)


# Noise.


def _noisy(value: Any) -> Noisy | None:
    """Return a draw or an unreleased noisy value as a ``Noisy``, and None for any other value."""
    value = content(value)
    if isinstance(value, Noisy):
        return value if value.released is None else None
    if isinstance(value, Draw) and value.published is None:
        return Noisy(0, ((Fraction(1), value, None),), value.shape)
    return None


def published(run: Run, value: Any) -> Any:
    """Return the value after it is published: release noisy values, and publish other randomness as it is."""
    inner = content(value)
    if isinstance(inner, Noisy):
        found = _release(run, inner)
    elif isinstance(inner, Draw):
        found = _bare(run, inner, None)
    elif isinstance(inner, Correlated):
        found = LATER["published correlated"](run, inner)
    elif isinstance(inner, Coin | Choice | Uniform | Sample):
        found = _open_coin(run, inner)
    elif isinstance(inner, Scaled):
        found = LATER["scaled released"](run, inner)
    elif isinstance(inner, Turned):
        found = content(LATER["published turned"](run, inner))
    elif isinstance(inner, Response):
        found = _answers(run, inner)
    elif isinstance(inner, Entries):
        found = settle(run, inner)
    else:
        return value
    return Array(found) if isinstance(found, Public | Private) and found.shape not in ((), None) else found


def _is_whole(draw: Draw) -> bool:
    """Return whether the noise is an integer."""
    return isinstance(draw.scale, dict) or draw.distribution.startswith("discrete-")


def _release(run: Run, noisy: Noisy) -> Any:
    if noisy.released is None:
        noisy.released = content(_released(run, noisy))
    return noisy.released


def _released(run: Run, noisy: Noisy) -> Any:
    if noisy.source is not None:
        op, left, right = noisy.source
        return binary(
            run,
            op,
            *(
                published(run, one) if content(one) is not None and _holds_noise(one) else one
                for one in (left, right)
            ),
        )
    base = content(noisy.base)
    (factor, draw, entry), *rest = noisy.terms
    if run.on_plain_data and not isinstance(base, Private):
        base = run.lift(base)
    if not isinstance(base, Private):
        total = noisy.base
        for f, d, e in noisy.terms:
            total = binary(run, "add", total, _times(run, f, _bare(run, d, e)))
        return total
    if noisy.parts and entry is None and not draw.free(None):
        # Some entries were released already, so release the others one by one.
        items = [published(run, LATER["index"](run, Array(noisy), k)) for k in range(int(noisy.shape[0]))]  # type: ignore[arg-type]
        return function_of(run, "array", lambda one: np.array(one), items, shape=noisy.shape, kind="f")
    if draw.hidden:
        run.refuse("noise that was used in a hidden comparison cannot be released or used again")
    whole = _is_whole(draw)
    supported = draw.distribution in ("laplace", "gaussian") or degrees_of(draw.distribution) is not None
    if not whole and not supported:
        run.refuse(
            f"{draw.distribution} noise on a released value is not supported (use Laplace, Cauchy, Student"
            " or Gaussian)"
        )
    run.take(draw, entry)
    release = {
        "law": draw.distribution,
        "node": base.node,
        "draw": draw.number,
        "entry": entry,
        "factor": str(factor),
    }
    release = after_test(run, release)
    if hides_sample(run, base, draw):
        release["sampled"] = True
    one = Noisy(noisy.base, (noisy.terms[0],), noisy.shape)
    samples = [run.sample(one, side) for side in run.worlds.sides]
    kind = "i" if whole else "f"
    python = base.info.python and draw.python and noisy.shape == ()
    found: Any = run.released(
        release, base.info, shape=noisy.shape, kind=kind, samples=samples, python=python
    )
    for f, d, e in rest:
        found = binary(run, "add", found, _times(run, f, _bare(run, d, e)))
    return found


def _holds_noise(value: Any) -> bool:
    return isinstance(
        content(value),
        Noisy | Draw | Correlated | Coin | Response | Choice | Uniform | Sample | Turned | Scaled,
    )


def _times(run: Run, factor: Fraction, value: Any) -> Any:
    return value if factor == 1 else binary(run, "mul", float(factor), value)


def _bare(run: Run, draw: Draw, entry: int | None) -> Any:
    """Return the outcome of a draw that is published as it is. It is public randomness from then on."""
    run.record.combines |= draw.distribution == "gaussian"
    if draw.published is None:
        if entry is not None:
            run.take(draw, entry)
            samples = [apply(lambda a, e=entry: a[e], one) for one in draw.samples]
            return run.outcome(shape=(), kind="f", samples=samples, python=False)
        run.take(draw, None)
        kind = "i" if _is_whole(draw) else "f"
        draw.published = run.outcome(
            shape=draw.shape, kind=kind, samples=draw.samples, python=draw.python and draw.shape == ()
        )
    if entry is None:
        return draw.published
    return function_of(run, "entry", operator.getitem, draw.published, entry, shape=(), kind="f")


def _open_coin(run: Run, coin: Any) -> Public:
    if coin.published is None:
        uniform = coin.uniform if isinstance(coin, Coin) else coin
        if uniform.used:
            run.refuse("one random draw is used twice")
        uniform.used = True
        kind = "b" if isinstance(coin, Coin) else "i" if isinstance(coin, Choice | Sample) else "f"
        coin.published = run.outcome(shape=coin.shape, kind=kind, samples=coin.samples, python=False)
        _check_public(run, coin.published)
    found: Public = coin.published
    return found


def _answers(run: Run, response: Response) -> Public:
    if response.released is None:
        release = {
            "law": "response",
            "node": response.base.node,
            "keep": str(response.keep),
            "among": response.among,
        }
        response.released = run.released(
            release,
            response.base.info,
            shape=response.base.shape,
            kind=response.base.info.kind,
            samples=response.samples,
            python=response.base.info.python,
        )
    found: Public = response.released
    return found


def settle(run: Run, entries: Entries) -> Any:
    """Return an array that was written entry by entry as one value. Noisy entries are released."""
    items = [published(run, item) if _holds_noise(item) else item for item in entries.items]
    if any(isinstance(content(item), Private) for item in items):
        return run.stacked(items, entries.kind)
    if all(is_plain(item) for item in items):
        return np.array(items, dtype={"b": bool, "i": np.int64, "f": float}[entries.kind])
    dtype = {"b": bool, "i": np.int64, "f": float}[entries.kind]
    found = function_of(
        run, "array", lambda one: np.array(one, dtype=dtype), items, shape=(len(items),), kind=entries.kind
    )
    return content(found)


def _with_noise(run: Run, op: str, a: Any, b: Any) -> Any:
    left, right = _noisy(a), _noisy(b)
    if op in ("add", "sub"):
        found = _noisy_sum(run, op, a, b, left, right)
        if found is not None:
            return found
    if op in ("mul", "div") and (left is None or right is None) and not (op == "div" and right is not None):
        found = _noisy_multiple(run, op, a, b)
        if found is not None:
            return found
    if op == "mul" and (left is None) != (right is None):
        noisy, other = (left, b) if left is not None else (right, a)
        zero = (
            noisy is not None and not isinstance(content(noisy.base), Symbol | np.ndarray) and noisy.base == 0
        )
        alone = noisy is not None and zero and len(noisy.terms) == 1
        found = LATER["scaled product"](run, content(other), *noisy.terms[0]) if alone and noisy else None
        if found is not None:
            return found
    if op in ("mul", "div") and any(isinstance(content(one), Public) for one in (a, b)):
        noisy = left or right
        if noisy is not None and not isinstance(content(noisy.base), Private):
            run.refuse("noise is multiplied by a released value or a size after it was drawn (use scale=...)")
    if op in ("lt", "le", "gt", "ge") and run.hidden:
        found = _hidden_comparison(run, op, a, b)
        if found is not None:
            return found
    return binary(run, op, *(published(run, one) if _holds_noise(one) else one for one in (a, b)))


def _noisy_sum(run: Run, op: str, a: Any, b: Any, left: Noisy | None, right: Noisy | None) -> Any:
    if left is not None and right is not None:
        if (
            not run.hidden
            or left.shape != ()
            or right.shape != ()
            or not _may_hide(left)
            or not _may_hide(right)
        ):
            return None
        sign = Fraction(1 if op == "add" else -1)
        terms = (*left.terms, *((sign * f, d, e) for f, d, e in right.terms))
        base, kept = binary(run, op, left.base, right.base), _collected(terms)
        return Noisy(base, kept, ()) if kept else base
    noisy, other, sign = (
        (left, b, Fraction(1)) if left is not None else (right, a, Fraction(1 if op == "add" else -1))
    )
    if noisy is None or (
        isinstance(content(other), Symbol) and not isinstance(content(other), Private | Public | Entries)
    ):
        return None
    if isinstance(content(other), Entries):
        other = published(run, other)
    shape = shape_of(other)
    if shape is None:
        return None
    try:
        whole = broadcast(shape, noisy.shape)
    except RefusedStepError as error:
        return run.refuse(str(error))
    private = isinstance(content(other), Private) or isinstance(content(noisy.base), Private)
    if whole != noisy.shape:
        if private:
            run.refuse("one noise draw is added to several entries (pass size=... to draw one for each)")
        return None
    base = _moved_base(run, op, noisy.base, other, noise_first=left is not None)
    if shape_of(base) != whole:
        extents = [n for n in whole if not isinstance(n, int)]
        if extents:
            run.refuse("one private number is released with one noise draw per record")
        base = binary(run, "add", np.zeros(tuple(n for n in whole if isinstance(n, int))), base)
    source = None if isinstance(content(other), Private) else (op, a, b)
    if not isinstance(content(noisy.base), Private):
        source = None
    found = Noisy(base, tuple((sign * f, d, e) for f, d, e in noisy.terms), whole, None, source)
    return found if whole == () else Array(found)


def _moved_base(run: Run, op: str, base: Any, other: Any, *, noise_first: bool) -> Any:
    """Return the base of a sum with noise. Noise alone has base 0, and then no step is recorded."""
    if isinstance(content(base), Symbol | np.ndarray) or base != 0:
        return binary(run, op, *((base, other) if noise_first else (other, base)))
    return unary(run, "neg", other) if op == "sub" and noise_first else other


def _collected(terms: Sequence[Any]) -> tuple[Any, ...]:
    """Add up the terms of the same draw, so that n - n vanishes."""
    total: dict[tuple[int, int | None], list[Any]] = {}
    for factor, draw, entry in terms:
        total.setdefault((draw.number, entry), [Fraction(0), draw, entry])[0] += factor
    return tuple((factor, draw, entry) for factor, draw, entry in total.values() if factor)


def _noisy_multiple(run: Run, op: str, a: Any, b: Any) -> Any:
    value, factor = (a, b) if _noisy(a) is not None else (b, a)
    noisy, number = _noisy(value), content(factor)
    if noisy is None or not isinstance(number, PLAIN) or not math.isfinite(number) or exact(number) == 0:
        return None
    by = exact(number) if op == "mul" else 1 / exact(number)
    alone = not isinstance(content(noisy.base), Symbol | np.ndarray) and noisy.base == 0
    base = noisy.base if alone else binary(run, op, noisy.base, number)
    source = (op, a, b) if isinstance(content(noisy.base), Private) else None
    found = Noisy(base, tuple((by * f, d, e) for f, d, e in noisy.terms), noisy.shape, None, source)
    return found if noisy.shape == () else Array(found)


def _may_hide(noisy: Noisy) -> bool:
    return noisy.shape == () and all(
        d.distribution in ("laplace", "exponential", "gaussian")
        and d.positive.number is not None
        and (e in d.hidden or d.free(e))
        for _, d, e in noisy.terms
    )


def _hidden_comparison(run: Run, op: str, a: Any, b: Any) -> Any:
    if op in ("gt", "ge"):
        op, a, b = TURNED[op], b, a
    for one in (a, b):
        noisy, inner = _noisy(one), content(one)
        fits = (
            _may_hide(noisy)
            if noisy is not None
            else shape_of(inner) == ()
            and (not isinstance(inner, Symbol) or isinstance(inner, Private | Public))
        )
        if not fits:
            return None
        if (
            noisy is None
            and not isinstance(inner, Symbol)
            and not (isinstance(inner, PLAIN) and math.isfinite(inner))
        ):
            return None
    left, right = (_noisy(one) or one for one in (a, b))
    form = run.form(left).plus(run.form(right), Fraction(-1))
    return Condition(form, op == "lt")


# Operators.


def binary(run: Run, op: str, a: Any, b: Any) -> Any:
    """Apply one binary operator."""
    run.tick()
    x, y = content(a), content(b)
    if not isinstance(x, Symbol) and not isinstance(y, Symbol):
        return _plain_binary(run, op, a, b)
    if op in ("lshift", "rshift"):
        run.refuse("a shift of a private or released value is not supported (write x // 2**k, or x * 2**k)")
    for one in (x, y):
        if isinstance(one, Symbol):
            continue
        if op == "add" and type(one) is str and any(_is_text(other) for other in (x, y)):
            return function_of(run, "text add", operator.add, x, y)
        if one is None or isinstance(one, NO_NUMBER):
            run.refuse(
                f"a {type(one).__name__} cannot be combined with a private or released value by an operator"
            )
    if isinstance(x, FRAMES) or isinstance(y, FRAMES):
        return LATER["series binary"](run, op, a, b)
    if run.correlates:
        found = LATER["correlated binary"](run, op, a, b)
        if found is not None:
            return found
    if isinstance(x, Joined) or isinstance(y, Joined):
        return LATER["joined binary"](run, op, a, b)
    if isinstance(x, Scaled) or isinstance(y, Scaled):
        return LATER["scaled binary"](run, op, a, b)
    if isinstance(x, Uniform) or isinstance(y, Uniform):
        return _uniform(run, op, x, y)
    if op in COMPARISONS and any(isinstance(one, float) and math.isinf(one) for one in (x, y)):
        return _beside_infinity(run, op, x, y)
    for one in (x, y):
        if isinstance(one, Count):
            run.refuse(
                "a random number of runs is only supported in `for _ in range(...)` (draw noise by"
                " rng.laplace)"
            )
        if isinstance(one, NO_ARITHMETIC) and op != "matmul":
            run.refuse(f"arithmetic on a {type(one).__name__.lower()} value is not supported")
    if (
        op == "xor"
        and isinstance(x, Coin | Private)
        and isinstance(y, Coin | Private)
        and type(x) is not type(y)
    ):
        return _flipped(run, x, y)
    found = LATER["modulo"](run, x, y) if op == "mod" and isinstance(x, Turned) else None
    if found is None and isinstance(x, Coin | Choice | Private) and isinstance(y, Coin | Choice | Private):
        found = LATER["turned"](run, op, x, y)
    if found is not None:
        return found
    if any(isinstance(one, PUBLISHED_FIRST) for one in (x, y)):
        return binary(
            run,
            op,
            *(published(run, one) if isinstance(content(one), PUBLISHED_FIRST) else one for one in (a, b)),
        )
    noisy = _noisy(x) is not None or _noisy(y) is not None
    if noisy and (isinstance(x, Filtered) or isinstance(y, Filtered)):
        a, b = (published(run, one) if _holds_noise(one) else one for one in (a, b))
    elif noisy:
        return _with_noise(run, op, a, b)
    a, b = (_settled(one) for one in (a, b))
    x, y = content(a), content(b)
    if isinstance(x, Filtered) or isinstance(y, Filtered):
        return _filtered(run, op, x, y)
    if op == "matmul":
        return LATER["matmul"](run, a, b)
    if isinstance(x, Private) or isinstance(y, Private):
        return _private_binary(run, op, a, b)
    return _public_binary(run, op, a, b)


def _is_text(value: Any) -> bool:
    """Return whether a value may be text made of outcomes. Joining it with text is post-processing."""
    return isinstance(value, Public) and value.shape is None and value.kind is None


def _settled(value: Any) -> Any:
    """Replace a released noisy value or a published draw by its outcome."""
    inner = content(value)
    if isinstance(inner, Noisy | Correlated) and inner.released is not None:
        found = inner.released
    elif isinstance(inner, Draw) and inner.published is not None:
        found = inner.published
    else:
        return value
    return (
        Array(found)
        if isinstance(found, Symbol) and shape_of(found) not in ((), None) and not isinstance(found, Array)
        else found
    )


def _beside_infinity(run: Run, op: str, x: Any, y: Any) -> Any:
    """Compare a number with an infinity: ``best = -np.inf`` often starts a search for a maximum."""
    one = y if isinstance(x, float) else x
    if shape_of(one) != () or not isinstance(one, Private | Public | Noisy | Draw):
        run.refuse("an infinity can only be compared with a single number")
    return bool(OPERATORS[op](*(0.0 if value is one else value for value in (x, y))))


def _plain_binary(run: Run, op: str, a: Any, b: Any) -> Any:
    x, y = content(a), content(b)
    numbers = all(isinstance(one, PLAIN) or type(one) is np.ndarray for one in (x, y))
    if not numbers and not _sequences(op, x, y):
        run.refuse(f"the operator {op} is not supported for {type(x).__name__} and {type(y).__name__}")
    return run.plain(OPERATORS[op], x, y)


def _sequences(op: str, x: Any, y: Any) -> bool:
    """Return whether the operator is allowed on text, lists or tuples.

    Joining and repeating are always allowed, since they do not read the entries. Comparing requires plain
    entries.
    """
    kinds = (str, list, tuple, bytes)
    if op == "add":
        return type(x) is type(y) and type(x) in kinds
    if op == "mul":
        return any(type(one) in kinds and type(other) is int for one, other in ((x, y), (y, x)))
    return (
        op in COMPARISONS
        and is_plain(x)
        and is_plain(y)
        and (x is None or y is None or type(x) in (*kinds, dict, *PLAIN))
    )


PRIVATE_OPERATORS = ("add", "sub", "mul", "div", "mod", *COMPARISONS, "and", "or")


def _private_binary(run: Run, op: str, a: Any, b: Any) -> Any:
    if op == "pow":
        return _power(run, a, b)
    if op not in PRIVATE_OPERATORS:
        run.refuse(f"the operator {op} is not supported for private values")
    x, y = run.lift(a), run.lift(b)
    if op == "mul" and x.node == y.node:
        found = run.step("square", [x])
    elif op == "div" and "exp" in x.info.facts and y.info.facts.get("sum_of") == x.node:
        found = run.step("softmax", [x, y])
    else:
        found = run.step(op, [x, y])
    return run.verify(run.value(found), OPERATORS[op], a, b)


def _power(run: Run, a: Any, b: Any) -> Any:
    if type(b) not in (int, float) or b not in (1, 2, 3, 4, 0.5):
        run.refuse("a power of a private value requires a constant exponent 1, 2, 3, 4 or 0.5")
    if _kind(a) == "b" or (_kind(a) == "i" and type(b) is float):
        run.refuse("a power of integers with a float exponent, or of Booleans, is not supported")
    x = run.lift(a)
    top = magnitude(run.s, x.info)
    if x.info.python and (top is None or top.number is None or top.number > 10**75):
        run.refuse("a power of a Python number may raise OverflowError: the number is not bounded by 1e75")
    if b == 0.5:
        found = run.step("sqrt", [x])
    else:
        found = x if b == 1 else run.step("square", [x])
        if b == 3:
            found = run.step("mul", [found, x])
        if b == 4:
            found = run.step("square", [found])
    return run.verify(run.value(found), operator.pow, a, b)


def _filtered(run: Run, op: str, x: Any, y: Any) -> Any:
    """Combine arrays filtered by the same mask, or a filtered array with one number for all rows."""
    masks = {one.mask.node for one in (x, y) if isinstance(one, Filtered)}
    if len(masks) != 1:
        run.refuse("arrays filtered by different masks cannot be combined: their lengths depend on the data")
    mask = next(one.mask for one in (x, y) if isinstance(one, Filtered))
    bases = []
    for one in (x, y):
        if isinstance(one, Filtered):
            bases.append(Array(one.base))
            continue
        shape = shape_of(one)
        ranks = [len(other.base.shape) for other in (x, y) if isinstance(other, Filtered)]
        if isinstance(one, Private) or shape is None or (len(shape) >= min(ranks) and shape[0] != 1):
            run.refuse("a filtered array cannot be combined with an array of another length")
        bases.append(one if shape == () else Array(one))
    found = content(binary(run, op, *bases))
    return Array(Filtered(found, mask))


def _uniform(run: Run, op: str, x: Any, y: Any) -> Any:
    """Follow ``rng.random(n) < p``, which makes coins. Each uniform number is used once."""
    if isinstance(y, Uniform):
        x, y, op = y, x, TURNED.get(op, op)
    if op in ("lt", "le", "gt", "ge") and isinstance(x, Uniform) and isinstance(y, Private):
        return _private_coins(run, op, x, y)
    if op in ("lt", "le", "gt", "ge") and isinstance(y, Public | np.ndarray):
        return binary(run, op, *(published(run, Array(x)), Array(y)))  # public chances make public coins
    if op not in ("lt", "le", "gt", "ge") or not isinstance(y, PLAIN) or not isinstance(x, Uniform):
        run.refuse(
            "uniform random numbers can only be compared with one constant or with private probabilities"
        )
    if x.used:
        run.refuse("one random draw is used twice")
    p = min(max(exact(y), Fraction(0)), Fraction(1))
    samples = [apply(OPERATORS[op], one, float(y)) for one in x.samples]
    return Coin(x, p if op in ("lt", "le") else 1 - p, x.shape, samples)


def _flipped(run: Run, x: Any, y: Any) -> Any:
    """Follow ``bits ^ coins``, which flips each bit whose coin is 1."""
    coin, bits = (x, y) if isinstance(x, Coin) else (y, x)
    if coin.uniform.used or coin.shape != bits.shape or bits.info.records != 1:
        run.refuse("randomised response requires exactly one unused coin for each entry of the records")
    coin.uniform.used = True
    samples = [apply(operator.xor, run.sample(x, side), run.sample(y, side)) for side in run.worlds.sides]
    return Array(Response(bits, 1 - coin.p, None, samples))


def _private_coins(run: Run, op: str, x: Uniform, y: Private) -> Any:
    """Follow ``rng.random(n) < p`` with private probabilities. The coins are released."""
    if x.used:
        run.refuse("one random draw is used twice")
    if x.shape != y.shape:
        run.refuse("uniform random numbers must have the same shape as the private probabilities")
    x.used = True
    samples = [apply(OPERATORS[op], run.sample(x, side), run.sample(y, side)) for side in run.worlds.sides]
    release = {"law": "bernoulli", "node": y.node}
    found = run.released(release, y.info, shape=x.shape, kind="b", samples=samples, python=False)
    _check_public(run, found)
    return Array(found) if x.shape != () else found


def unary(run: Run, op: str, value: Any) -> Any:
    """Apply -x, +x, abs(x) or ~x."""
    value = _settled(value)
    inner = content(value)
    if not isinstance(inner, Symbol):
        if not (isinstance(inner, PLAIN) or type(inner) is np.ndarray):
            run.refuse(f"the operator {op} is not supported for {type(inner).__name__}")
        return run.plain(UNARY[op], inner)
    if isinstance(inner, FRAMES):
        return LATER["series unary"](run, op, inner)
    if isinstance(inner, Joined):
        return LATER["joined unary"](run, op, inner)
    if op == "neg" and (_noisy(inner) is not None or isinstance(inner, Correlated | Scaled)):
        return binary(run, "mul", value, -1)
    if isinstance(inner, Coin) and op == "not":
        if inner.uniform.used:
            run.refuse("one random draw is used twice")
        return Coin(
            inner.uniform, 1 - inner.p, inner.shape, [apply(np.logical_not, one) for one in inner.samples]
        )
    if isinstance(inner, Filtered):
        return Array(Filtered(content(unary(run, op, Array(inner.base))), inner.mask))
    if isinstance(inner, Private):
        if op == "not" and inner.info.kind != "b":
            run.refuse("~ of private integers is not supported")
        if op == "not" and inner.info.python:
            run.refuse("~ of a Python Boolean is not supported (use np.logical_not)")
        found = inner if op == "pos" else run.step(op, [inner])
        return run.verify(run.value(found), UNARY[op], value)
    flipped = LATER["distance"](run, inner) if op == "abs" and isinstance(inner, Turned) else None
    if flipped is not None:
        return flipped
    if _holds_noise(inner) or isinstance(inner, Entries):
        return unary(run, op, published(run, value))
    if not isinstance(inner, Public):
        run.refuse(f"the operator {op} is not supported for a {type(inner).__name__.lower()} value")
    expression = (
        ["neg", inner.expression] if op == "neg" and inner.shape == () else ["function", op, inner.expression]
    )
    kind = inner.kind if inner.kind != "b" else None
    return public_of(run, expression, UNARY[op], [value], shape=inner.shape, kind=kind, python=inner.python)


DECIDES = (
    "a branch depends on a private value (instead of if, while, and, or, not, write np.where, np.clip or a"
    " sum of comparisons such as (d > 0.5).sum())"
)


LATER["binary"], LATER["operators"] = binary, OPERATORS.__getitem__


def truth(run: Run, value: Any) -> bool:
    """Return the truth of a value. For an outcome, the walk explores both answers."""
    value = _settled(value)
    inner = content(value)
    if isinstance(inner, Condition):
        if inner.answer is None:
            inner.answer = run.walk.below(inner.form, strict=inner.strict)
        return inner.answer
    if isinstance(inner, Private):
        known = inner.info.constant if inner.shape == () else None
        if known is None or known.number is None:
            run.refuse(DECIDES)
        return bool(known.number)  # the declared ranges decide it
    if _holds_noise(inner) or isinstance(inner, Entries):
        return truth(run, published(run, value))
    if isinstance(inner, Public):
        decided = run.whole.answer(inner.expression)
        if decided is None:
            decided = run.walk.fork(f"truth {text_of(inner.expression)}", 2) == 1
            run.whole.learn(inner.expression, decided)
        return decided
    if isinstance(inner, Symbol):
        run.refuse(f"a {type(inner).__name__.lower()} value cannot be used as a condition")
    if isinstance(inner, np.ndarray) and inner.size != 1:
        run.refuse("an array of several entries is used as a condition, which raises in numpy")
    return bool(inner)


def add_to_output(run: Run, value: Any, to: list[str] | None = None) -> None:
    """Add the value to the output of the path.

    ``to`` names the recipients of a value that is not public. Only then may it hold private values.
    """
    inner = content(value)
    if run.repeating:
        run.refuse("a loop with a random number of runs shows a value in each run")
    if isinstance(inner, list | tuple):
        run.event(f"{type(inner).__name__} of {len(inner)}")
        for item in inner:
            add_to_output(run, item, to)
    elif isinstance(inner, dict):
        run.event(f"dict of {len(inner)}")
        for key, item in inner.items():
            add_to_output(run, key)
            add_to_output(run, item, to)
    elif (isinstance(inner, Noisy) and inner.released is None and run.hidden and _is_hidden(inner)) or (
        isinstance(inner, Draw) and inner.hidden
    ):
        run.walk._event(("form", run.form(inner)))
    elif isinstance(inner, Condition):
        run.event(f"truth {truth(run, inner)}")
    elif isinstance(inner, Private) and to is not None:
        reveal_private(run, inner, to)
    elif isinstance(inner, Private):
        run.refuse(
            "a private value is published without noise"
        )  # even 0 * x may reveal the sign of x, through a negative zero
    elif isinstance(inner, Filtered | Transposed | Ranked):
        run.refuse("a private array is published without noise")
    elif isinstance(inner, Series):
        add_to_output(run, inner.value)
    elif _holds_noise(inner) or isinstance(inner, Entries):
        add_to_output(run, published(run, value), to)
    elif isinstance(inner, Public):
        run.event(f"public {text_of(inner.expression)}")
    elif isinstance(inner, Symbol):
        run.refuse(f"a {type(inner).__name__.lower()} cannot be published")
    else:
        run.event(f"{type(inner).__name__} {text_of(expression_of(run, inner))}")


def _is_hidden(noisy: Noisy) -> bool:
    return any(draw.hidden for _, draw, _ in noisy.terms)
