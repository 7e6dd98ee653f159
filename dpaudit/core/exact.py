"""Convert numbers to exact fractions, and write and read them without loss.

All parameters of claims and certificates are exact. ``exact`` converts integers, ``Fraction``, ``Decimal``,
strings (``"0.1"``, ``"1/3"``) and floats to ``Fraction`` on input. It takes a float as the decimal that it
prints as, so that ``0.1`` is one tenth, as its author meant. Files hold exact strings only, so ``read_exact``
refuses floats. Outcomes and data are floats, and there a float *is* a dyadic rational, which ``dyadic``
returns.
"""

from __future__ import annotations

import json
import math
import re
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "ExactLike",
    "as_written",
    "decode_value",
    "dyadic",
    "encode_value",
    "exact",
    "exact_str",
    "in_digits",
    "in_figures",
    "nearest_float",
    "positive",
    "probability",
    "read_exact",
    "refuse_floats",
    "require_written_so",
    "rounded_down",
    "rounded_up",
]

ExactLike = int | Fraction | Decimal | str | float | np.integer[Any] | np.floating[Any]

#: Longer exact strings are refused before any arithmetic, because they may come from untrusted files.
MAX_DIGITS = 20_000
MAX_EXPONENT = 6_000

#: Floats below this have fewer significant digits than the others.
SMALL = 1e-300

#: The largest denominator of a fraction in a text, and the digits of a decimal in place of a longer one.
WRITTEN_AS_FRACTION, WRITTEN_DIGITS = 1000, 20

_NUMBER = re.compile(r"[+-]?\d+(/\d+)?|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?", re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)


def exact(value: ExactLike, *, name: str = "value") -> Fraction:
    """Return ``value`` as an exact ``Fraction``.

    Accepts ``int``, ``Fraction``, ``Decimal``, strings such as ``"0.1"``, ``"1e-6"`` or ``"1/3"``, floats,
    and numpy's integers and floats. A float is taken as the shortest decimal that gives it back in its own
    width, which is what Python prints: ``0.1`` and ``np.float32(0.1)`` are 1/10. Pass ``Fraction(x)`` for the
    binary value. Raises ``InvalidParameterError`` for NaN, infinities, booleans, exponents beyond ±6000 and
    anything that is not a number.
    """
    if type(value) is Fraction:  # the most frequent kind first: a union of types takes long to compare with
        return value
    if isinstance(value, bool | np.bool_):
        raise InvalidParameterError(
            f"{name} must be a number, got the boolean {value!r}.", code="E-NUMBER-TYPE"
        )
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        return _of_float(value, name)
    if isinstance(value, Decimal):
        return _of_decimal(value, str(value), name)
    if isinstance(value, str):
        return _parse(value, name)
    raise InvalidParameterError(
        f"{name} must be an int, a float, a Fraction, a Decimal or a string, got {type(value).__name__}.",
        code="E-NUMBER-TYPE",
    )


def read_exact(value: object, *, name: str) -> Fraction:
    """Read the exact number that a string of a file states, in the one form that ``exact_str`` writes.

    Raises ``InvalidParameterError`` for anything else. A JSON number has been rounded by whoever wrote it,
    and ``"2/2"`` or ``"+1"`` is a second spelling of ``"1"``.
    """
    if not isinstance(value, str):
        raise InvalidParameterError(
            f'{name} must be an exact number written as a string such as "1/3", got {str(value)[:40]!r}.',
            code="E-NUMBER-NOT-EXACT",
        )
    number = _parse(value, name)
    if exact_str(number) != value:
        raise InvalidParameterError(
            f"{name} must be written as a reduced fraction, the only form for {in_figures(number)}, got "
            f"{value[:40]!r}.",
            code="E-NUMBER-FORM",
        )
    return number


def refuse_floats(data: object, *, name: str) -> None:
    """Raise ``InvalidParameterError`` if plain data of a file hold a float at any depth."""
    pending = [data]
    while pending:
        item = pending.pop()
        if isinstance(item, float):
            raise InvalidParameterError(
                f"{name} must hold no floats, got {float.__repr__(item)}. Write exact numbers as strings.",
                code="E-NUMBER-NOT-EXACT",
            )
        if isinstance(item, list | tuple):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())


def require_written_so(wanted: object, data: object, *, name: str) -> None:
    """Raise ``InvalidParameterError`` unless ``data`` of a file equal ``wanted``, which this package writes.

    They are compared as JSON text with sorted keys, so 1 and ``true`` differ and the order of keys is free.
    """
    if json.dumps(data, sort_keys=True) != json.dumps(wanted, sort_keys=True):
        raise InvalidParameterError(
            f"{name} must be written as dpaudit writes it, got {json.dumps(data)[:200]}.",
            code="E-FILE-FORM",
        )


def _of_float(value: float | np.floating[Any], name: str) -> Fraction:
    if not np.isfinite(value):
        raise InvalidParameterError(f"{name} must be finite, got {float(value)}.", code="E-NUMBER-NOT-FINITE")
    # Do not use str(): numpy's print options or a subclass's __repr__ could change the number.
    is_double = isinstance(value, float)
    return _parse(float.__repr__(value) if is_double else np.format_float_scientific(value), name)


def _of_decimal(value: Decimal, shown: str, name: str) -> Fraction:
    if not value.is_finite():
        raise InvalidParameterError(f"{name} must be finite, got {value}.", code="E-NUMBER-NOT-FINITE")
    if abs(value.adjusted()) > MAX_EXPONENT:
        raise InvalidParameterError(
            f"{name} must have an exponent within ±{MAX_EXPONENT}, got {shown[:60]!r}.",
            code="E-NUMBER-EXPONENT",
        )
    return Fraction(value)


def _parse(text: str, name: str) -> Fraction:
    stripped = text.strip()
    if len(stripped) > MAX_DIGITS or not _NUMBER.fullmatch(stripped):
        raise InvalidParameterError(
            f'{name} must be a number such as "0.1" or "1/3", got {text[:60]!r}.', code="E-NUMBER-SYNTAX"
        )
    if "/" not in stripped:
        return _of_decimal(Decimal(stripped), text, name)
    try:
        top, bottom = (int(part) for part in stripped.split("/"))
    except ValueError as error:  # more digits than Python reads
        raise InvalidParameterError(
            f"{name} must have fewer digits than Python's limit of {sys.get_int_max_str_digits()} for "
            f"integers, got {len(stripped)} characters. Round it outward.",
            code="E-NUMBER-DIGITS",
        ) from error
    if bottom == 0:
        raise InvalidParameterError(
            f"{name} must have a non-zero denominator, got {text!r}.", code="E-NUMBER-DENOMINATOR"
        )
    return Fraction(top, bottom)


def positive(value: ExactLike, *, name: str) -> Fraction:
    """Return ``value`` as a ``Fraction`` greater than 0, or raise ``InvalidParameterError``."""
    number = exact(value, name=name)
    if number <= 0:
        raise InvalidParameterError(f"{name} must be greater than 0, got {number}.", code="E-NOT-POSITIVE")
    return number


def probability(value: ExactLike, *, name: str) -> Fraction:
    """Return ``value`` as a ``Fraction`` in [0, 1], or raise ``InvalidParameterError``."""
    number = exact(value, name=name)
    if not 0 <= number <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {number}.", code="E-PROBABILITY-RANGE")
    return number


def exact_str(value: Fraction | int) -> str:
    """Return an exact number as a string that ``exact`` reads back: ``"2"``, ``"3/8"``.

    Raises ``InvalidParameterError`` for more digits than Python writes.
    """
    try:
        return str(Fraction(value))
    except ValueError as error:
        raise InvalidParameterError(
            f"an exact number must have at most {sys.get_int_max_str_digits()} digits, got one near "
            f"{in_figures(Fraction(value))}.",
            code="E-NUMBER-DIGITS",
        ) from error


def dyadic(value: float | int | Fraction | np.generic) -> Fraction:
    """Return the exact rational value of a float or integer.

    Raises ``InvalidParameterError`` for NaN and infinities.
    """
    if type(value) is int:  # the most frequent kinds first: a union of types takes long to compare with
        return Fraction(value)
    if type(value) is not float and isinstance(value, Fraction):
        return value
    if type(value) is not float and isinstance(value, int | np.integer | np.bool_):
        return Fraction(int(value))
    number = float(value)
    if not math.isfinite(number):
        raise InvalidParameterError(f"an outcome must be finite, got {number}.", code="E-OUTCOME-NOT-FINITE")
    return Fraction(number)


def rounded_down(value: float | Fraction) -> float:
    """Return the largest float that is not above ``value``, or minus infinity if all floats are above it."""
    near = nearest_float(value)
    return near if math.isinf(near) or Fraction(near) <= value else math.nextafter(near, -math.inf)


def rounded_up(value: float | Fraction) -> float:
    """Return the smallest float that is not below ``value``, or infinity if all floats are below it."""
    near = nearest_float(value)
    return near if math.isinf(near) or Fraction(near) >= value else math.nextafter(near, math.inf)


def nearest_float(value: float | Fraction) -> float:
    """Return the float nearest to ``value``: the largest float, or its negative, if it is beyond all floats.

    Raises ``InvalidParameterError`` for NaN.
    """
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            raise InvalidParameterError(
                "a bound must be a number, got NaN. Write a missing bound as None.", code="E-BOUND-NAN"
            )
        return float(value)
    try:
        return float(value)
    except OverflowError:
        return math.copysign(float(np.finfo(np.float64).max), 1 if value > 0 else -1)


def in_figures(value: Fraction, *, digits: int = 6) -> str:
    """Return a number of any size with at most ``digits`` significant digits: ``0.125``, ``1e+401``."""
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    if not value or abs(near) > SMALL:
        return f"{near:.{digits}g}"
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return str(shown).lower()


def as_written(value: Fraction) -> str:
    """Return an exact number in a readable form, without rounding: ``1/3``, ``3``, ``1.0986122886681098``.

    A fraction with a large denominator is written as a decimal if an exact and short one exists.
    """
    if value.denominator <= WRITTEN_AS_FRACTION:
        return str(value)
    try:
        number = Context(prec=WRITTEN_DIGITS, traps=[Inexact]).divide(value.numerator, value.denominator)
    except Inexact:
        return str(value)
    return str(number).lower()


def in_digits(value: Fraction, *, toward: Literal["down", "up"], digits: int = 12) -> str:
    """Return a bound with ``digits`` significant digits: ``0.125``, ``0.999999999999``, ``1e+401``.

    Round a lower bound ``down`` and an upper bound ``up``, so that the printed bound still holds.
    """
    rounding = ROUND_FLOOR if toward == "down" else ROUND_CEILING
    context = Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    plain = -5 <= shown.adjusted() < digits
    return f"{shown:f}" if plain else str(shown).lower()


def encode_value(value: Any) -> Any:
    """Return an outcome or a revealed value as plain JSON without loss. ``decode_value`` is the inverse.

    Handles None, booleans, integers, floats (NaN and infinities too), strings, ``Fraction``, numpy scalars
    and arrays, and lists, tuples and string-keyed dicts of these. Raises ``InvalidParameterError`` for other
    types.
    """
    if type(value) is float:  # the most frequent kind first, for speed, as in ``dyadic``
        return {"float": value.hex()}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer | Fraction):
        return {"fraction" if isinstance(value, Fraction) else "int": _digits(value)}
    if isinstance(value, float | np.floating):
        return {"float": float(value).hex()}
    if isinstance(value, np.ndarray):
        return {
            "array": value.dtype.str,
            "shape": list(value.shape),
            "data": [encode_value(v) for v in value.ravel().tolist()],
        }
    if isinstance(value, tuple):
        return {"tuple": [encode_value(v) for v in value]}
    if isinstance(value, list):
        return [encode_value(v) for v in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": [[key, encode_value(v)] for key, v in value.items()]}
    raise InvalidParameterError(
        f"a revealed value must be made of numbers, strings, arrays, lists, tuples and string-keyed dicts, "
        f"got {type(value).__name__}.",
        code="E-VALUE-TYPE",
    )


def _digits(value: int | np.integer[Any] | Fraction) -> str:
    try:
        return str(value if isinstance(value, Fraction) else int(value))
    except ValueError as error:  # more digits than Python writes
        raise InvalidParameterError(
            "a revealed number must have fewer digits, got more than Python writes.", code="E-NUMBER-DIGITS"
        ) from error


def decode_value(data: Any) -> Any:
    """Return the value that ``encode_value`` wrote.

    Raises ``InvalidParameterError`` for anything that ``encode_value`` does not write, including other
    spellings of a value (``"01"``, ``"0x1p0"``, a key twice).
    """
    if data is None or isinstance(data, bool | str):
        return data
    if isinstance(data, list):
        return [decode_value(item) for item in data]
    if isinstance(data, dict):
        if data.keys() == {"int"}:
            return _as_written(_whole(data["int"]), data)
        if data.keys() == {"fraction"}:
            return _as_written(read_exact(data["fraction"], name="fraction"), data)
        if data.keys() == {"float"} and isinstance(data["float"], str):
            return _as_written(float.fromhex(data["float"]), data)
        if data.keys() == {"tuple"} and isinstance(data["tuple"], list):
            return tuple(decode_value(item) for item in data["tuple"])
        if data.keys() == {"dict"} and isinstance(data["dict"], list):
            return _decode_dict(data["dict"])
        if data.keys() == {"array", "shape", "data"}:
            return _as_written(_decode_array(data), data)
    raise _foreign_value(data)


def _foreign_value(data: object) -> InvalidParameterError:
    return InvalidParameterError(
        f"an encoded value must be written as dpaudit writes it, got {str(data)[:60]!r}.",
        code="E-VALUE-ENCODING",
    )


def _as_written(value: Any, data: dict[str, Any]) -> Any:
    """Return ``value`` if ``data`` is its encoding. Another spelling would pass for another value."""
    if encode_value(value) != data:
        raise _foreign_value(data)
    return value


def _decode_dict(pairs: list[Any]) -> dict[str, Any]:
    value = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in value:
            raise _foreign_value(pair)
        value[pair[0]] = decode_value(pair[1])
    return value


def _whole(text: object) -> int:
    try:
        if isinstance(text, str) and _WHOLE.fullmatch(text):
            return int(text)
    except ValueError:
        pass  # more digits than Python reads, so dpaudit did not write this file
    raise InvalidParameterError(
        f"an encoded integer must be digits in a string, got {str(text)[:60]!r}.", code="E-VALUE-ENCODING"
    )


def _decode_array(data: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(str(data["array"]))
    if dtype.kind not in "biuf":
        raise InvalidParameterError(
            f"an encoded array must hold numbers or booleans, got dtype {dtype}.", code="E-VALUE-ENCODING"
        )
    flat = np.array([decode_value(item) for item in data["data"]], dtype=dtype)
    return flat.reshape([int(n) for n in data["shape"]])
