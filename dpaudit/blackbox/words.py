"""Format ranges of numbers, bounds, shapes and kinds of outputs, and exceptions for readers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from dpaudit.blackbox.statistics.blocks import Failure

__all__ = [
    "array_shape",
    "at_least",
    "at_most",
    "checksum",
    "in_words",
    "kind_in_words",
    "number_range",
    "percent",
    "short",
    "weakest_violation",
]


def in_words(failure: Failure) -> str:
    """Return the type of an exception, with its message if it has one."""
    return f"{failure.symbol}: {failure.reason}" if failure.reason else failure.symbol


def kind_in_words(shape: str) -> str:
    """Describe an output of this shape as an event."""
    if shape.startswith("raised "):
        return f"the call {shape}"
    if shape == "NaN":
        return "the output holds NaN"
    if shape in ("None", "text") or shape.startswith("text like"):
        return f"the output is {shape}"
    return f"the output is {'an' if shape.startswith('array') else 'a'} {shape}"


def number_range(name: str, low: float | None, high: float | None) -> str:
    """Format ``low <= name < high``. None means no bound."""
    if low is None:
        return f"{name} is anything" if high is None else f"{name} < {_shown(high)}"
    return f"{name} >= {_shown(low)}" if high is None else f"{_shown(low)} <= {name} < {_shown(high)}"


def _shown(number: float) -> str:
    """Format with six digits, or with twelve for large numbers such as seconds since 1970."""
    return f"{number:.6g}" if abs(number) < 1e5 else f"{number:.12g}"


def at_least(number: float, figures: int = 4) -> str:
    """Format a lower bound with this many figures, rounded down so that the printed bound holds."""
    return f"{float(Context(figures, ROUND_FLOOR).create_decimal(repr(float(number)))):.{figures}g}"


def at_most(number: float, figures: int = 4) -> str:
    """Format an upper bound with this many figures, rounded up."""
    return f"{float(Context(figures, ROUND_CEILING).create_decimal(repr(float(number)))):.{figures}g}"


def percent(confidence: float) -> str:
    """Format a confidence below 1 in percent, rounded down to two figures of 1 - confidence: ``99.8%``."""
    lacks = Context(2, ROUND_CEILING).create_decimal(1 - Decimal(repr(float(confidence))))
    return f"{(100 * (1 - lacks)).normalize():f}%"


def weakest_violation(power: Mapping[str, Any]) -> str:
    """Describe the weakest violation of each kind that about half of such checks would have refuted.

    ``power`` is the power in the details of an estimate. The text is empty if it holds no violation.
    """
    seen = [
        f"epsilon >= {at_most(entry['epsilon'])} in an event of probability {entry['probability']:g}"
        for entry in power.get("events", [])[:1]
        if entry["epsilon"]
    ]
    if power.get("exclusive"):
        seen.append(f"an event of probability {at_most(power['exclusive'], 3)} against 0")
    return " or ".join(seen)


def array_shape(shape: tuple[int, ...]) -> str:
    """Describe the shape of an array. A 0-dimensional array counts as a number."""
    return f"array of shape {shape}" if shape else "number"


def checksum(text: str, before: int = 0) -> int:
    """Return a checksum of any text, including text with lone surrogates."""
    return zlib.crc32(text.encode(errors="surrogatepass"), before)


def short(shape: str) -> str:
    """Shorten a long description of a shape, and append a checksum that distinguishes it."""
    return shape if len(shape) <= 200 else f"{shape[:190]}... {checksum(shape):08x}"
