"""Numbers, exact strings and foreign text as a reader sees them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.exact import encode_value
from dpaudit.core.verdicts import MAX_FLOAT
from dpaudit.distributions.continuous import Laplace
from dpaudit.report.notation import (
    as_number,
    clean,
    describe,
    distinct,
    natural_key,
    show,
    show_bound,
    show_exact,
    symbol,
)
from dpaudit.report.svg import text_of
from dpaudit.report.terminal import one_line


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-12.5, "−12.5"),
        (12345.678, "12,350"),
        (1e-6, "10⁻⁶"),
        (3.21e-7, "3.21×10⁻⁷"),
        (-2.5e9, "−2.5×10⁹"),
        (0.0001234, "0.0001234"),
        (math.inf, "∞"),
        (MAX_FLOAT, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers_are_short(number: float | None, text: str) -> None:
    """Four digits, powers of ten as superscripts, a true minus sign, ∞ also for the largest float."""
    assert show(number) == text


def value_of(text: str) -> Fraction:
    """Read a shown number back."""
    plain = text.replace("−", "-").replace(",", "")
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    if "10" in plain and any(c in plain for c in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"):
        mantissa, _, power = plain.rpartition("10")
        factor = Fraction(mantissa.rstrip("×") or "1")
        return factor * Fraction(10) ** int(power.translate(digits))
    return Fraction(plain)


def test_bounds_are_never_rounded_to_their_good_side() -> None:
    """For 2000 random floats: rounded down is at most the number, rounded up at least, both near."""
    rng = np.random.default_rng(8)
    for _ in range(2000):
        number = float(rng.normal() * 10 ** rng.uniform(-12, 12))
        exact = Fraction(Decimal(repr(number)))
        down, up = value_of(show(number, toward="down")), value_of(show(number, toward="up"))
        assert down <= exact <= up
        assert up - down <= abs(exact) * Fraction(11, 10_000)


def test_float_noise_is_not_rounded_away_from() -> None:
    """0.1 is shown as 0.1 in every direction, though the float is a little above one tenth."""
    assert {show(0.1, toward=t) for t in ("down", "nearest", "up")} == {"0.1"}
    assert show(0.30000000000000004, toward="up") == "0.3"


def test_a_lower_bound_below_one_on_a_probability_is_not_one() -> None:
    """A lower bound just below 1 on a probability is never shown as 1."""
    for number in (1 - 2.0**-53, 0.9999999999998):
        for quantity in ("delta", "probability"):
            assert distinct(number, 1e-6, 1.0, quantity=quantity) == ("0.9999", "10⁻⁶", "1")
    assert distinct(1.0, 1e-6, 1.0, quantity="delta")[0] == "1"
    assert distinct(None, 1e-6, 1 - 2.0**-53, quantity="delta")[2] == "1"
    assert distinct(1 - 2.0**-53, 1.0, None, quantity="epsilon")[0] == "1"
    assert distinct(0.9999999999998, 1.0, None, quantity="epsilon")[0] == "0.9999"
    nearly = str(1 - Fraction(1, 72057594037927936))
    assert show_bound(nearly, toward="down") == "0.999999"
    assert show_bound(nearly, toward="up") == "1"


def test_different_numbers_look_different() -> None:
    """Bounds that refute by a hair get the digits that show it; equal numbers stay short."""
    assert distinct(1.0000001, 1.0, None) == ("1.0000001", "1", "–")
    assert distinct(1.0, 1.0, 1.0) == ("1", "1", "1")
    assert distinct(0.2, 1.0, 1.5) == ("0.2", "1", "1.5")
    low, claim, high = distinct(1 - 1e-9, 1.0, 1 + 1e-9)
    assert len({low, claim, high}) == 3


def test_bounds_that_nearly_meet_stay_short() -> None:
    """What matters is on which side of the claim they lie, not their last digits."""
    assert distinct(1203.334218451, 1.0, 1203.334218459) == ("1,203", "1", "1,204")
    assert distinct(0.9999999999, 1.0, 0.99999999995) == ("0.999999", "1", "1")


def test_order_of_ids_is_by_number() -> None:
    """Thm 2 comes before Thm 10; digits of other scripts and very long numbers are ordinary text."""
    expected = ["1", "9" * 40, "Lemma 3", "Thm 2", "Thm 2/accounting", "Thm 10", "Thm ²"]
    shuffled = expected[3:] + expected[:3]
    assert sorted(shuffled, key=natural_key) == expected


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (0.5, 0.5), (math.nan, None), (10**400, math.inf), (-(10**400), -math.inf)],
)
def test_an_integer_beyond_floats_is_infinite(value: float, number: float | None) -> None:
    """NaN is no number."""
    assert as_number(value) == number


@pytest.mark.parametrize(
    "value",
    [
        3,
        -2.5,
        math.inf,
        "text",
        None,
        True,
        Fraction(1, 3),
        np.arange(3),
        (1, 2.0),
        [1, [2]],
        {"a": 1},
        np.float64(7),
    ],
)
def test_encoded_outcomes_are_read_back(value: Any) -> None:
    """An outcome as a witness writes it is shown as itself, without the marks of the encoding."""
    text = describe(encode_value(value))
    assert not any(mark in text for mark in ("int =", "float =", "fraction =", "tuple", "dict", "data", "0x"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (encode_value(0.1), "0.1"),
        (encode_value((1, "a")), "(1, a)"),
        (encode_value({"k": 2}), "{k = 2}"),
        (Laplace(scale="5/2").to_json(), "laplace(scale = 5/2)"),
        ({"principals": ["user-3"], "complement": True}, "everybody but user-3"),
        ({"principals": [], "complement": True}, "everybody"),
        ([1, 2, 3], "[1, 2, 3]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …]"),
        ({"float": "no"}, "{float = no}"),
        ({"int": []}, "{int = []}"),
    ],
)
def test_values_are_described(value: Any, text: str) -> None:
    """Outcomes, distributions, views and lists read as a person would write them; long lists are cut."""
    assert describe(value) == text


def test_deep_and_long_values_are_cut() -> None:
    """Nesting and length are bounded, whatever the file holds."""
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert "…" in describe(deep)
    assert len(describe("x" * 10_000)) == 400


def test_exact_strings_stay_exact_while_short() -> None:
    """A short fraction is shown as it is, a long one approximated, a bound rounded outward."""
    assert show_exact("3/8") == "3/8"
    assert show_exact(str(Fraction(0.1))) == "≈ 0.1"
    third = str(Fraction(333333333333, 10**12))
    assert show_bound(third, toward="down") == "0.333333"
    assert show_bound(third, toward="up") == "0.333334"
    assert show_bound("9" * 400, toward="up") == "∞"


def test_foreign_text_cannot_act() -> None:
    """Control characters, overrides and surrogates are replaced; letters, tabs and line ends stay."""
    assert clean("a\x07b\x9b\u202e\u200f\ud800\ufeffé\t\n") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd<U+FEFF>é\t\n"


@pytest.mark.parametrize(
    "character", ["\u200b", "\u200d", "\u2060", "\u00ad", "\u3164", "\ufe0f", "\U000e0041"]
)
def test_text_that_nobody_sees_is_shown(character: str) -> None:
    """Zero-width characters, soft hyphens, fillers and tags are escapes, on the page and in lines."""
    escape = f"<U+{ord(character):04X}>"
    assert clean(f"ver{character}ified") == f"ver{escape}ified"
    assert one_line(f"ver{character}ified") == f"ver{escape}ified"
    assert text_of(f"a{character}") == f"a&lt;U+{ord(character):04X}&gt;"


def test_quantities_have_their_letters() -> None:
    """The usual letters for the usual quantities, names for others."""
    assert [symbol(q) for q in ("epsilon", "delta", "bits", "", None)] == ["ε", "δ", "bits", "value", "value"]


def test_arrays_are_written_as_runs_of_equal_entries() -> None:
    """An array that a witness records as runs reads as counts and entries, whatever wrote the counts."""
    runs = [[[0, 1], 1], [[1, 0], 255]]
    assert describe({"dtype": "<f8", "shape": [256, 2], "runs": runs}) == "[0, 1], 255 × [1, 0]"
    pair = [[{"int": "0"}, {"int": "9"}]]
    assert describe({"dict": [["dtype", "<i8"], ["shape", [9]], ["runs", pair]]}) == "9 × 0"
    assert describe({"dtype": "<f8", "shape": [3], "runs": ["broken", [1, 2, 3]]}) == "broken, [1, 2, 3]"
