"""Write numbers, exact strings, distributions and foreign text for a reader.

All functions return plain text. Code that puts it into markup must escape it. The rules are:

* Bounds are rounded outward: lower bounds down, upper bounds up.
* Infinity, and the largest float, which stands for it in a report, is written ∞.
* Text from a suite loses characters that could act on the page: control characters, direction overrides and
  lone surrogates. Invisible characters (zero-width characters, tags) are written as escapes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal

from dpaudit.core.errors import DpauditError
from dpaudit.core.exact import decode_value, exact, in_figures, rounded_down, rounded_up

__all__ = [
    "MISSING",
    "PROBABILITIES",
    "Toward",
    "as_number",
    "attained",
    "clean",
    "describe",
    "distinct",
    "is_infinite",
    "natural_key",
    "short_numbers",
    "show",
    "show_bound",
    "show_exact",
    "signs",
    "symbol",
    "words",
]

MISSING = "–"

#: A number of a report of at least this size stands for infinity, which is written as the largest float.
INFINITE_FROM = 1.797e308

Toward = Literal["nearest", "down", "up"]
_ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Two numbers with a smaller relative difference (a float or two) are treated as equal, so that 0.1 read from
#: a float does not become 0.1001 when it is rounded up.
_NOISE = Decimal("1e-15")

#: Quantities that are at most 1. A lower bound of 1 is then a stronger statement than the float below it.
PROBABILITIES = ("delta", "probability")

#: A bound within this relative distance of the claim equals the claim, as in a verdict.
_MARGIN = 1e-9

# C0 (but tab and newline), DEL, C1, direction marks, embeddings, overrides and isolates, surrogates, non-
# characters.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

# Characters without width or ink: soft hyphen, fillers, zero-width spaces and joiners, invisible operators,
# variation selectors, interlinear marks, tags. Two texts that differ in these look the same.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

_AT_MOST, _AT_LEAST = re.compile(r"(?<= )<=(?= )"), re.compile(r"(?<= )>=(?= )")

#: An integer of more digits than any float needs to be told apart, or a fraction with one.
_LONG_NUMBER = re.compile(r"(?<![\w.])(?:[0-9]{18,}(?:/[0-9]+)?|[0-9]+/[0-9]{18,})(?![\w.]*[0-9])")

MAX_ITEMS = 12
MAX_TEXT = 400
MAX_DEPTH = 12


def clean(text: object) -> str:
    """Return ``text`` without characters that act on a page or terminal, or that a file cannot hold.

    They are replaced by U+FFFD. Invisible characters are written as escapes (``<U+200B>``).
    """
    shown = str(text)
    if shown.isascii() and shown.isprintable():  # the fast path for nearly all texts
        return shown
    return _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", _UNSAFE.sub("\ufffd", shown))


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts ``Thm 2`` before ``Thm 10``."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", text)
    return tuple(
        (0, int(part), "") if part.isascii() and part.isdigit() and len(part) < 19 else (1, 0, part)
        for part in parts
    )


def as_number(value: float) -> float | None:
    """Return a number as a float: infinite if it is beyond all floats, and ``None`` for NaN."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def is_infinite(number: float | None) -> bool:
    """Return whether a number stands for infinity of either sign."""
    return number is not None and abs(number) >= INFINITE_FROM


def show(
    number: float | None, *, digits: int = 4, toward: Toward = "nearest", below_one: bool = False
) -> str:
    """Write a number with at most ``digits`` significant digits: ``1.5``, ``12,000``, ``3.2×10⁻⁷``, ``∞``.

    ``None`` is written ``–``. With ``below_one``, a number below 1 is never written as 1, however near it is.
    """
    if number is None or math.isnan(number):
        return MISSING
    if is_infinite(number):
        return "∞" if number > 0 else "−∞"
    if number == 0:
        return "0"
    value = _round(Decimal(repr(float(number))), digits, toward)
    if below_one and number < 1 <= value:
        value = Context(prec=digits, rounding=ROUND_FLOOR).plus(Decimal(repr(float(number))))
    size = value.adjusted()
    if -4 <= size <= max(5, digits - 1):
        return _trim(f"{value:,f}").replace("-", "−")
    mantissa = _trim(f"{value.scaleb(-size):f}").replace("-", "−")
    power = f"10{str(size).translate(_SUPERSCRIPT)}"
    return power if mantissa == "1" else f"{mantissa}×{power}"


def _round(value: Decimal, digits: int, toward: Toward) -> Decimal:
    nearest = Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(value)
    if abs(nearest - value) <= abs(value) * _NOISE:
        return nearest
    return Context(prec=digits, rounding=_ROUNDING[toward]).plus(value)


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def distinct(
    lower: float | None, claimed: float | None, upper: float | None, *, quantity: object = ""
) -> tuple[str, str, str]:
    """Write the three numbers of a row with enough digits to tell them apart.

    Up to 15 digits are used to show that a lower bound is above the claim, and up to 6 to show that an upper
    bound differs from the claim or from the lower bound. A lower bound below 1 on a probability, according to
    ``quantity``, is never shown as 1.
    """
    small = quantity in PROBABILITIES
    for digits in range(4, 16):
        low = show(lower, digits=digits, toward="down", below_one=small)
        claim = show(claimed, digits=digits)
        high = show(upper, digits=digits, toward="up")
        above = lower is not None and claimed is not None and lower > claimed
        alike = (low == high and lower != upper) or (high == claim and upper != claimed)
        if not (above and low == claim) and (digits >= 6 or not alike):
            break
    return low, claim, high


def attained(lower: float | None, claimed: float | None, upper: float | None) -> bool:
    """Return whether both bounds equal the claimed number, within the margin of a verdict."""
    if lower is None or claimed is None or upper is None or is_infinite(claimed):
        return False
    return max(abs(lower - claimed), abs(upper - claimed)) <= abs(claimed) * _MARGIN


def show_exact(text: object) -> str:
    """Write an exact string of a report unchanged if it is short (``3/8``), else rounded with ``≈``.

    Other values are described.
    """
    if not isinstance(text, str) or len(text) <= 14:
        return describe(text)
    try:
        number = exact(text)
    except DpauditError:
        return describe(text)
    try:
        return f"≈ {show(float(number), digits=6)}"
    except OverflowError:
        return f"≈ {_in_powers(in_figures(number))}"


def short_numbers(text: str) -> str:
    """Shorten the exact numbers of a text that have many digits, fractions included, to six of them.

    A power of ten is written as one: ``10¹⁰⁰``. Other numbers are rounded, with ``≈``.
    """
    return _LONG_NUMBER.sub(lambda found: _short_number(found[0]), text)


def _short_number(text: str) -> str:
    power = re.fullmatch(r"1(0+)", text)
    return _in_powers(f"1e{len(power[1])}") if power else show_exact(text)


def _in_powers(text: str) -> str:
    """Write ``1.5e+401`` as ``1.5×10⁴⁰¹``, and ``1e401`` as ``10⁴⁰¹``."""
    sign, size = ("−", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = size.partition("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return sign + (power if mantissa == "1" else f"{mantissa}×{power}")


def show_bound(text: object, *, toward: Toward) -> str:
    """Write a bound given as an exact string: unchanged if short, else with six digits rounded ``toward``."""
    if not isinstance(text, str) or len(text) <= 7:
        return describe(text)
    try:
        number = exact(text)
        # The conversion to a float must round in the same direction.
        near = (
            float(number)
            if toward == "nearest"
            else (rounded_down if toward == "down" else rounded_up)(number)
        )
        return show(near, digits=6, toward=toward, below_one=toward == "down")
    except DpauditError:
        return describe(text)
    except OverflowError:
        return "∞" if not text.startswith("-") else "−∞"


def symbol(quantity: object) -> str:
    """Return the usual letter of a quantity (``ε`` for ``epsilon``), or its name, or ``value``."""
    name = describe(quantity) if quantity else "value"
    return {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}.get(name, name)


def signs(text: str) -> str:
    """Replace ``<=`` and ``>=`` between spaces by ``≤`` and ``≥``, so that a page has one notation."""
    return _AT_LEAST.sub("≥", _AT_MOST.sub("≤", text))


def words(name: object) -> str:
    """Return a field name as words: ``variance_proxy`` becomes ``variance proxy``."""
    return str(name).replace("_", " ").strip()


def describe(value: object, *, depth: int = 0) -> str:
    """Describe any JSON value of a report on one short line.

    A distribution ``{"law": "laplace", "scale": "2"}`` becomes ``laplace(scale = 2)``. Long lists and strings
    are cut with ``…``.
    """
    if depth > MAX_DEPTH:
        return "…"
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return show(as_number(value), digits=7)
    if isinstance(value, str):
        return _describe_text(value)
    if isinstance(value, Mapping):
        return _describe_mapping(value, depth)
    if isinstance(value, Sequence):
        return f"[{_join([describe(v, depth=depth + 1) for v in value[:MAX_ITEMS]], len(value))}]"
    return _cut(str(value))


def _describe_text(text: str) -> str:
    return show_exact(text) if len(text) > 14 and re.fullmatch(r"[+-]?[0-9./eE+-]+", text) else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _join(parts: list[str], total: int) -> str:
    return _cut(", ".join(parts + (["…"] if total > len(parts) else [])))


def _describe_mapping(value: Mapping[str, Any], depth: int) -> str:
    decoded = _decoded(value)
    if decoded is not None:
        return decoded
    if value.keys() == {"principals", "complement"}:
        names = describe(value["principals"], depth=depth + 1).strip("[]")
        return (f"everybody but {names}" if names else "everybody") if value["complement"] else names
    if value.keys() == {"dtype", "shape", "runs"} and isinstance(value["runs"], list):
        return _describe_runs(value["runs"], depth)
    items = [(key, item) for key, item in value.items() if key != "law"]
    inner = _join(
        [f"{words(key)} = {describe(item, depth=depth + 1)}" for key, item in items[:MAX_ITEMS]], len(items)
    )
    if isinstance(value.get("law"), str):
        return f"{words(value['law'])}({inner})"
    return f"{{{inner}}}"


def _describe_runs(runs: list[Any], depth: int) -> str:
    """Describe an array that is stored as runs of equal entries: ``2 × 0, 1, 31 × 0``."""
    parts = []
    for run in runs[:MAX_ITEMS]:
        entry, times = run if isinstance(run, list) and len(run) == 2 else (run, 1)
        count, text = describe(times, depth=depth + 1), describe(entry, depth=depth + 1)
        parts.append(text if count == "1" else f"{count} × {text}")
    return _join(parts, len(runs))


def _decoded(value: Mapping[str, Any]) -> str | None:
    """Describe an outcome written by ``encode_value``, or return ``None`` for other mappings."""
    if len(value) == 1 and (key := next(iter(value))) in ("int", "fraction", "float"):
        try:
            plain = decode_value(dict(value))
        except (DpauditError, ValueError, TypeError, OverflowError):
            return None
        return show_exact(str(plain)) if key != "float" else show(plain, digits=7)
    if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
        return "(" + describe(value["tuple"], depth=1)[1:-1] + ")"
    if value.keys() == {"array", "shape", "data"} and isinstance(value["data"], list):
        return f"{describe(value['data'], depth=1)}" + (
            f" (shape {describe(value['shape'])})" if len(value["data"]) > MAX_ITEMS else ""
        )
    if value.keys() == {"dict"} and isinstance(value["dict"], list):
        pairs = [p for p in value["dict"] if isinstance(p, list) and len(p) == 2]
        return describe({str(k): v for k, v in pairs}, depth=1)
    return None
