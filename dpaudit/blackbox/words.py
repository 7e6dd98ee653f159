"""Ranges of numbers, bounds, shapes and kinds of outputs and exceptions in words."""

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
    """The type of an exception, and its message where it has one."""
    return f"{failure.symbol}: {failure.reason}" if failure.reason else failure.symbol


def kind_in_words(shape: str) -> str:
    """The shape of an output as an event."""
    if shape.startswith("raised "):
        return f"the call {shape}"
    if shape == "NaN":
        return "the output holds NaN"
    if shape in ("None", "text") or shape.startswith("text like"):
        return f"the output is {shape}"
    return f"the output is {'an' if shape.startswith('array') else 'a'} {shape}"


def number_range(name: str, low: float | None, high: float | None) -> str:
    """``low <= name < high`` in words; ``None`` for no bound."""
    if low is None:
        return f"{name} is anything" if high is None else f"{name} < {_shown(high)}"
    return f"{name} >= {_shown(low)}" if high is None else f"{_shown(low)} <= {name} < {_shown(high)}"


def _shown(number: float) -> str:
    """Six digits; more where the size takes them up, as in seconds since 1970."""
    return f"{number:.6g}" if abs(number) < 1e5 else f"{number:.12g}"


def at_least(number: float, figures: int = 4) -> str:
    """A lower bound with so many figures, rounded down, so that what is said holds."""
    return f"{float(Context(figures, ROUND_FLOOR).create_decimal(repr(float(number)))):.{figures}g}"


def at_most(number: float, figures: int = 4) -> str:
    """An upper bound with so many figures, rounded up."""
    return f"{float(Context(figures, ROUND_CEILING).create_decimal(repr(float(number)))):.{figures}g}"


def percent(confidence: float) -> str:
    """A confidence below 1 in percent, rounded down to two figures of what it lacks: ``99.8 %``."""
    lacks = Context(2, ROUND_CEILING).create_decimal(1 - Decimal(repr(float(confidence))))
    return f"{(100 * (1 - lacks)).normalize():f} %"


def weakest_violation(power: Mapping[str, Any]) -> str:
    """The weakest violation of each kind that about half of such checks would have refuted, from the power
    that an estimate states; empty if it states none."""
    seen = [
        f"epsilon >= {at_most(entry['epsilon'])} in an event of probability {entry['probability']:g}"
        for entry in power.get("events", [])[:1]
        if entry["epsilon"]
    ]
    if power.get("exclusive"):
        seen.append(f"an event of probability {at_most(power['exclusive'], 3)} against 0")
    return " or ".join(seen)


def array_shape(shape: tuple[int, ...]) -> str:
    """The shape of a single number is a number's, whatever holds it."""
    return f"array of shape {shape}" if shape else "number"


def checksum(text: str, before: int = 0) -> int:
    """A checksum of any text, lone surrogates included."""
    return zlib.crc32(text.encode(errors="surrogatepass"), before)


def short(shape: str) -> str:
    """A shape in words, cut where it is long, told from others by its checksum."""
    return shape if len(shape) <= 200 else f"{shape[:190]}... {checksum(shape):08x}"
