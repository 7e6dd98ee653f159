"""Conversion of numbers: floats count as the decimals that they print as, and files hold exact strings."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import ApproxDP, ErrorRate, PureDP, claim_from_json
from dpaudit.core.errors import BrokenReportError, DpauditError, InvalidParameterError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.exact import (
    ExactLike,
    as_written,
    decode_value,
    dyadic,
    encode_value,
    exact,
    positive,
    probability,
    read_exact,
)
from dpaudit.distributions import Laplace, distribution_from_json
from tests.errors import raises


@pytest.mark.parametrize(
    ("number", "meant"),
    [
        (0.5, "1/2"),
        (0.1, "1/10"),
        (-0.0, "0"),
        (1e22, "1e22"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (np.float64(0.1), "1/10"),
        (np.float32(0.1), "1/10"),
        (np.float16(0.1), "1/10"),
        (np.float32(1e-30), "1e-30"),
        (np.float32(3.0), "3"),
        (np.int8(3), "3"),
        (Decimal("0.1"), "1/10"),
    ],
)
def test_a_float_is_the_decimal_that_it_prints_as(number: Any, meant: str) -> None:
    """0.1 is one tenth, in every width of numpy; its binary value is what ``dyadic`` gives."""
    assert exact(number) == exact(meant)
    assert exact(meant) == Fraction(meant)


def test_how_numpy_prints_changes_nothing() -> None:
    """Print options of numpy do not change the converted number."""
    with np.printoptions(precision=2, suppress=True):
        assert exact(np.float32(0.12345)) == Fraction("0.12345")


def test_a_float_with_another_repr_is_read_as_its_value() -> None:
    """A subclass of float cannot change the number with its ``__repr__``."""

    class Liar(float):
        def __repr__(self) -> str:
            return "7"

        __str__ = __repr__

    assert exact(Liar(0.5)) == Fraction(1, 2)


@pytest.mark.parametrize(
    "number",
    [
        *(float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.float64("inf")),
        *(Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999999"), Decimal("1e-999999999")),
        *(True, np.bool_(True), 1j, None, [1], np.array(0.5), "nan", "inf", "", "1e7000", "1/0", "1_000"),
    ],
)
def test_other_values_than_numbers_are_refused(number: Any) -> None:
    """NaN, infinities, booleans, complex numbers, arrays and huge exponents are refused."""
    with pytest.raises(InvalidParameterError, match=r"epsilon must (be|have)"):
        exact(number, name="epsilon")


@pytest.mark.parametrize("text", ["٠.١", "１", "1/२", "1e٣", "①", "²"])
def test_digits_are_ascii(text: str) -> None:
    """Digits of other scripts are refused, because a reader may read another number."""
    with raises(InvalidParameterError, code="E-NUMBER-SYNTAX"):
        exact(text)


@pytest.mark.parametrize("text", ["1/" + "9" * 6000, "9" * 30_000, "9" * 7000])
def test_strings_that_are_too_long_are_refused(text: str) -> None:
    """More digits than Python reads, or than the limit, raise ``InvalidParameterError``."""
    assert exact("1/" + "9" * 4000) == Fraction(1, 10**4000 - 1)
    with pytest.raises(InvalidParameterError, match="value must"):
        exact(text)


def test_the_limits_themselves_are_allowed() -> None:
    """Exponents to ±6000 and 20000 characters are read, one more is not."""
    for text, longer in (
        ("1e6000", "1e6001"),
        ("1e-6000", "1e-6001"),
        ("1." + "0" * 19_998, "1." + "0" * 19_999),
    ):
        assert exact(text) > 0
        with pytest.raises(InvalidParameterError):
            exact(longer)


def test_a_float_that_is_not_finite_is_refused_as_such() -> None:
    """The code is about finiteness, not about the syntax of a string."""
    for number in (float("inf"), float("nan"), np.float32("inf")):
        with raises(InvalidParameterError, code="E-NUMBER-NOT-FINITE", match="epsilon"):
            exact(number, name="epsilon")


def test_values_that_cannot_be_written_or_read_are_refused() -> None:
    """A dict with a key that is not a string, and lists other than pairs, are refused."""
    with raises(InvalidParameterError, code="E-VALUE-TYPE"):
        encode_value({"a": 1, 2: 3})
    for pairs in ([["a", {"int": "1"}], "b1"], [["a"]], [["a", None, None]], [[1, None]], [["a", None]] * 2):
        with raises(InvalidParameterError, code="E-VALUE-ENCODING"):
            decode_value({"dict": pairs})


def test_an_integer_of_more_digits_than_python_reads_is_refused() -> None:
    """Reading and writing more digits than Python supports is refused; other integers come back equal."""
    assert decode_value(encode_value(10**4000)) == 10**4000
    for digits in (5000, 30_000):
        with raises(InvalidParameterError, code="E-VALUE-ENCODING"):
            decode_value({"int": "9" * digits})
        for huge in (10**digits, Fraction(1, 10**digits)):
            with raises(InvalidParameterError, code="E-NUMBER-DIGITS"):
                encode_value(huge)


def test_claims_and_distributions_take_floats() -> None:
    """Claims and distributions with floats equal those with the decimals."""
    assert PureDP(epsilon=0.1) == PureDP(epsilon="0.1")
    assert ApproxDP(epsilon=0.5, delta=1e-6) == ApproxDP(epsilon="1/2", delta="1e-6")
    assert Laplace(scale=1.5) == Laplace(scale="3/2")
    assert PureDP(epsilon=np.float32(0.1)).bound == Fraction(1, 10)


def test_data_stay_what_they_are() -> None:
    """The exact value of an outcome is binary, unlike that of a parameter."""
    assert dyadic(0.1) == Fraction(0.1) != exact(0.1)
    assert decode_value(encode_value(0.1)) == 0.1
    assert [dyadic(x) for x in (Fraction(1, 3), True, np.int64(2), np.float32(0.5))] == [
        Fraction(1, 3),
        1,
        2,
        0.5,
    ]
    for outcome in (float("nan"), float("inf")):
        with raises(InvalidParameterError, code="E-OUTCOME-NOT-FINITE"):
            dyadic(outcome)


def test_ranges_end_where_they_say() -> None:
    """Probabilities are in [0, 1] including both ends, and 0 is not positive."""
    assert [probability(p, name="p") for p in (0, 0.5, 1)] == [0, Fraction(1, 2), 1]
    assert positive(1e-300, name="scale") > 0
    for call, number in ((probability, "-1e-9"), (probability, "1.0000001"), (positive, 0), (positive, -1)):
        with pytest.raises(InvalidParameterError, match="p must be"):
            call(number, name="p")


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**70), 0.1, -0.0, float("inf"), "text", Fraction(1, 3), (1, "a"), [1, [2.5]]),
        *({"a": (1, 2), "b": None}, np.arange(6).reshape(2, 3), np.array([0.1, np.nan]), np.zeros((0, 2))),
    ],
    ids=str,
)
def test_values_survive_their_encoding(value: Any) -> None:
    """A value is written as plain JSON and read back equal, with the same type."""
    again = decode_value(json.loads(json.dumps(encode_value(value))))
    assert type(again) is type(value)
    np.testing.assert_equal(again, value)
    if isinstance(value, np.ndarray):
        assert (again.dtype, again.shape) == (value.dtype, value.shape)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": object()}, 1j, np.array(["a"]), b"a"])
def test_values_that_are_not_plain_are_refused(value: Any) -> None:
    """Objects, bytes, complex numbers and dicts with other keys cannot be encoded."""
    with pytest.raises(InvalidParameterError):
        decode_value(encode_value(value))


# Values from files


@pytest.mark.parametrize("value", [0.5, 1, None, True, ["1"], "٣", "nan"])
def test_files_hold_exact_strings_only(value: Any) -> None:
    """A JSON number is refused instead of an exact string, because it may have been rounded."""
    with pytest.raises(InvalidParameterError, match="delta must be"):
        read_exact(value, name="delta")


@pytest.mark.parametrize("field", ["epsilon_exact", "epsilon"])
def test_a_claims_number_in_a_file_is_an_exact_string(field: str) -> None:
    """A claim whose exact field is a float, or is missing beside the float, is refused."""
    data = PureDP(epsilon="1/2").to_json()
    assert claim_from_json(data) == PureDP(epsilon=0.5)
    if field == "epsilon":
        del data["epsilon_exact"]
    else:
        data["epsilon_exact"] = 0.5
    with pytest.raises(InvalidParameterError, match="epsilon"):
        claim_from_json(data)


def test_a_statement_without_a_number_is_still_read() -> None:
    """A missing claimed number is read as None; a number without its exact string is refused."""
    claim = ErrorRate(text="small")
    assert claim_from_json(claim.to_json()) == claim
    with pytest.raises(InvalidParameterError, match="claimed"):
        claim_from_json({**claim.to_json(), "claimed": 0.5})


@pytest.mark.parametrize("bound", [0.5, 1, True])
def test_the_bound_of_evidence_in_a_file_is_an_exact_string(bound: Any) -> None:
    """A certificate's or a witness's bound as a JSON number is refused."""
    certificate = {"evidence": "certificate", "quantity": "epsilon", "tree": {}, "assumptions": []}
    witness = {"evidence": "witness", "quantity": "epsilon", "form": "leak", "body": {}}
    witness |= {"origin": "sampled", "description": ""}
    for data in (certificate, witness):
        assert evidence_from_json({**data, "bound": "1/2"}).bound == Fraction(1, 2)
        with pytest.raises(BrokenReportError, match="bound must be"):
            evidence_from_json({**data, "bound": bound})


def test_evidence_with_a_float_anywhere_inside_is_refused() -> None:
    """A distribution whose scale is a JSON float is no exact distribution: neither in a witness nor in a rule
    tree."""
    body = {"sites": [{"law": {"law": "laplace", "scale": 0.1}}]}
    witness = Witness(quantity="epsilon", bound=None, form="leak", body=body, origin="", description="")
    with pytest.raises(BrokenReportError, match=r"must hold no floats, got 0\.1"):
        evidence_from_json(witness.to_json())
    tree = {"rule": "laplace", "parameters": {"scale": [0.1]}, "premises": []}
    data = {"evidence": "certificate", "quantity": "epsilon", "bound": "1", "assumptions": []}
    with pytest.raises(BrokenReportError, match=r"must hold no floats, got 0\.1"):
        evidence_from_json({**data, "tree": tree})


def test_a_distribution_in_a_file_has_exact_parameters() -> None:
    """``distribution_from_json`` refuses the float that the constructor would take."""
    assert distribution_from_json(Laplace(scale=0.1).to_json()) == Laplace(scale="1/10")
    with pytest.raises(DpauditError, match="must hold no floats"):
        distribution_from_json({**Laplace(scale=1).to_json(), "scale": 0.1})


@pytest.mark.parametrize(
    "data", [{"int": "٣"}, {"int": 2.7}, {"int": "1/2"}, {"fraction": 0.5}, {"int": True}]
)
def test_encoded_numbers_are_exact_strings(data: dict[str, Any]) -> None:
    """Integers and fractions of a file are written as exact strings in ASCII, whole where they must be."""
    with pytest.raises(InvalidParameterError):
        decode_value(data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1/3", "1/3"),
        (0.1, "1/10"),
        (math.log(3), "1.0986122886681098"),
        (0.1 + 0.2, "0.30000000000000004"),
        ("1e-9", "1e-9"),
        ("1/3000", "1/3000"),
        (Fraction(1, 3**40), str(Fraction(1, 3**40))),
    ],
)
def test_a_number_is_written_exactly_and_short(value: ExactLike, text: str) -> None:
    """Small fractions stay, those by a large power of ten become decimals, and nothing is rounded."""
    assert as_written(exact(value)) == text
    assert exact(text) == exact(value)
