"""Exact numbers: what a claim's parameters are made of, from the suite to the certificate.

A float has no place between a claim and its inequality: ``0.1`` is not one tenth. Parameters are integers,
``Fraction``, ``Decimal`` or strings (``"0.1"``, ``"1/3"``), and become ``Fraction`` at the door.
Outcomes and data are floats, and a float *is* an exact dyadic rational: ``dyadic`` gives it.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidParameterError

__all__ = [
    "ExactLike",
    "decode_value",
    "dyadic",
    "encode_value",
    "exact",
    "exact_str",
    "positive",
    "probability",
]

ExactLike = int | Fraction | Decimal | str

#: Exact strings from untrusted files stay short: a longer one is refused before any arithmetic.
MAX_DIGITS = 20_000
MAX_EXPONENT = 6_000

_NUMBER = re.compile(r"[+-]?\d+(/\d+)?|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?")


def exact(value: ExactLike, *, name: str = "value") -> Fraction:
    """Return ``value`` as an exact ``Fraction``.

    Accepts ``int``, ``Fraction``, ``Decimal``, numpy integers and strings such as ``"0.1"``, ``"1e-6"`` or
    ``"1/3"``. Raises ``InvalidParameterError`` for floats (their decimal reading is not their value), NaN,
    infinities, booleans and anything that is not a number.
    """
    if isinstance(value, bool | np.bool_):
        raise InvalidParameterError(
            f"{name} must be a number, got the boolean {value!r}; pass an int or a string."
        )
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        raise InvalidParameterError(
            f"{name} must be exact, got the float {float(value)!r}; pass {str(float(value))!r} as a string, "
            f"or Fraction(...) if you mean the binary value."
        )
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidParameterError(f"{name} must be finite, got {value}; pass a finite decimal.")
        return Fraction(value)
    if isinstance(value, str):
        return _parse(value, name)
    raise InvalidParameterError(
        f"{name} must be a number, got {type(value).__name__}; pass an int, Fraction or string."
    )


def _parse(text: str, name: str) -> Fraction:
    stripped = text.strip()
    if len(stripped) > MAX_DIGITS or not _NUMBER.fullmatch(stripped):
        raise InvalidParameterError(
            f'{name} must be a number such as "0.1" or "1/3", got {text[:60]!r}; correct the string.'
        )
    if "/" in stripped:
        top, bottom = stripped.split("/")
        if int(bottom) == 0:
            raise InvalidParameterError(
                f"{name} must have a non-zero denominator, got {text!r}; correct the fraction."
            )
        return Fraction(int(top), int(bottom))
    try:
        decimal = Decimal(stripped)
    except (
        InvalidOperation
    ) as error:  # unreachable for a string the pattern accepts, kept for exotic contexts
        raise InvalidParameterError(f"{name} must be a number, got {text!r}; correct the string.") from error
    if abs(decimal.adjusted()) > MAX_EXPONENT:
        raise InvalidParameterError(
            f"{name} must have an exponent within ±{MAX_EXPONENT}, got {text!r}; rescale it."
        )
    return Fraction(decimal)


def positive(value: ExactLike, *, name: str) -> Fraction:
    """Return ``value`` as a ``Fraction`` greater than 0, or raise ``InvalidParameterError``."""
    number = exact(value, name=name)
    if number <= 0:
        raise InvalidParameterError(f"{name} must be greater than 0, got {number}; pass a positive number.")
    return number


def probability(value: ExactLike, *, name: str) -> Fraction:
    """Return ``value`` as a ``Fraction`` in [0, 1], or raise ``InvalidParameterError``."""
    number = exact(value, name=name)
    if not 0 <= number <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {number}; pass a probability.")
    return number


def exact_str(value: Fraction | int) -> str:
    """Write an exact number so that ``exact`` reads it back: ``"2"``, ``"3/8"``."""
    return str(Fraction(value))


def dyadic(value: float | int | Fraction | np.generic) -> Fraction:
    """Return the exact rational that a float (or integer) is. Raises ``InvalidParameterError`` for NaN and
    infinities."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer | np.bool_):
        return Fraction(int(value))
    number = float(value)
    if not math.isfinite(number):
        raise InvalidParameterError(
            f"an outcome must be finite, got {number}; check the data and the mechanism's output."
        )
    return Fraction(number)


def encode_value(value: Any) -> Any:
    """Turn an outcome or a revealed value into plain JSON without loss: ``decode_value`` gives back an equal
    value.

    Handles None, booleans, integers, floats (NaN and infinities too), strings, ``Fraction``, numpy scalars
    and arrays, and lists, tuples and string-keyed dicts of these. Raises ``InvalidParameterError`` for other
    types.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return {"int": str(int(value))}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
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
        f"got {type(value).__name__}; convert it before it is revealed."
    )


def decode_value(data: Any) -> Any:
    """Inverse of ``encode_value``. Raises ``InvalidParameterError`` for anything that it did not write."""
    if data is None or isinstance(data, bool | str):
        return data
    if isinstance(data, list):
        return [decode_value(item) for item in data]
    if isinstance(data, dict):
        if data.keys() == {"int"}:
            return int(data["int"])
        if data.keys() == {"fraction"}:
            return exact(data["fraction"], name="fraction")
        if data.keys() == {"float"}:
            return float.fromhex(data["float"])
        if data.keys() == {"tuple"}:
            return tuple(decode_value(item) for item in data["tuple"])
        if data.keys() == {"dict"}:
            return {str(key): decode_value(item) for key, item in data["dict"]}
        if data.keys() == {"array", "shape", "data"}:
            return _decode_array(data)
    raise InvalidParameterError(
        f"an encoded value must be one that dpaudit wrote, got {str(data)[:60]!r}; re-create the file."
    )


def _decode_array(data: dict[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(str(data["array"]))
    if dtype.kind not in "biuf":
        raise InvalidParameterError(
            f"an encoded array must hold numbers or booleans, got dtype {dtype}; re-create the file."
        )
    flat = np.array([decode_value(item) for item in data["data"]], dtype=dtype)
    return flat.reshape([int(n) for n in data["shape"]])
