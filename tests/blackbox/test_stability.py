"""Stability claims: a wrong factor is refuted with certainty, a right one is not."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from dpaudit import Categories, Interval, Records, Stability, Texts
from dpaudit.blackbox.distances import distance
from dpaudit.blackbox.stability import check_stability
from dpaudit.core.claims import claim_from_json
from dpaudit.core.errors import InvalidParameterError, MechanismError
from tests.errors import raises

NUMBERS = Records(Interval(0, 10), container="array")
CODES = Records(Categories(3))


def pad(data: Any) -> list[float]:
    """Cut or fill up to four records: a record more pushes another one out."""
    return [*np.asarray(data).tolist(), 0.0, 0.0, 0.0, 0.0][:4]


def by_pairs(data: Any) -> list[float]:
    """The sum of each two records that follow each other: a record in front shifts all pairs."""
    return [float(a + b) for a, b in zip(data[::2], data[1::2], strict=False)]


def codes_by_appearance(data: Any) -> list[int]:
    """Code the categories in the order of their appearance."""
    known: dict[int, int] = {}
    return [known.setdefault(x, len(known)) for x in np.asarray(data).tolist()]


#: A function, its data, a claim with a wrong factor, and one with the right factor or of a right function.
CASES = {
    "resize": (pad, NUMBERS, Stability(1, 1, "symmetric"), Stability(1, 2, "symmetric")),
    "sum of numbers": (
        lambda data: float(np.sum(data)),
        NUMBERS,
        Stability(1, 5, "absolute"),
        Stability(1, 10, "absolute"),
    ),
    "sum, replaced": (
        lambda data: float(np.sum(data)),
        Records(Interval(-10, 10)),
        Stability(1, 10, "absolute", input_metric="change-one"),
        Stability(1, 20, "absolute", input_metric="change-one"),
    ),
    "histogram, replaced": (
        lambda data: np.bincount(data, minlength=3),
        CODES,
        Stability(1, 1, "L1", input_metric="change-one"),
        Stability(1, 2, "L1", input_metric="change-one"),
    ),
    "histogram in L2": (
        lambda data: np.bincount(data, minlength=3),
        CODES,
        Stability(1, 1, "L2", input_metric="change-one"),
        Stability(1, "1.4143", "L2", input_metric="change-one"),
    ),
    "pairs in order": (by_pairs, NUMBERS, Stability(1, 2, "symmetric"), Stability(1, 8, "symmetric")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_factor_is_refuted_and_a_right_one_is_not(name: str) -> None:
    """One run on each input."""
    function, data, wrong, right = CASES[name]
    refuted = check_stability(function, wrong, data=data)
    assert refuted.verdict == "refuted", str(refuted)
    assert "outputs are" in refuted.event
    held = check_stability(function, right, data=data)
    assert held.verdict == "inconclusive", str(held)
    assert held.evidence.lower is not None
    assert held.evidence.lower <= float(right.bound)


def test_a_code_that_depends_on_order_is_not_row_by_row() -> None:
    """A new category changes the codes of the others. Fixed codes do not."""
    claim = Stability(1, 1, "symmetric")
    assert check_stability(codes_by_appearance, claim, data=CODES).verdict == "refuted"
    fixed = check_stability(lambda data: np.asarray(data) + 1, claim, data=CODES)
    assert fixed.verdict == "inconclusive"


def test_rounding_of_floats_is_no_violation() -> None:
    """A sum of tenths moves by a little more than one tenth in float64."""
    claim = Stability(1, "0.1", "absolute")
    data = Records(Interval(0, "0.1"), size=10)
    assert check_stability(lambda data: float(np.sum(data)), claim, data=data).verdict == "inconclusive"


def always(output: Any) -> Any:
    return lambda data: output


def test_what_is_not_evidence_is_an_error() -> None:
    """Random functions, functions that always raise, metrics without pairs, outputs without a distance."""
    claim = Stability(1, 1, "absolute")

    def random(data: Any, rng: np.random.Generator) -> float:
        return float(rng.random())

    with raises(MechanismError, code="E-STABILITY-RANDOM"):
        check_stability(random, claim, data=NUMBERS)
    with raises(MechanismError, code="E-STABILITY-NO-PAIR"):
        check_stability(lambda data: data.missing, claim, data=NUMBERS)
    with raises(MechanismError, code="E-STABILITY-NO-PAIR"):
        check_stability(lambda data: sys.exit(0), claim, data=NUMBERS)
    for constant in ({"a": 1.0}, math.nan, math.inf):
        assert check_stability(always(constant), claim, data=NUMBERS).evidence.lower == 0
    with raises(InvalidParameterError, code="E-STABILITY-DATA"):
        check_stability(len, Stability(1, 1, "absolute", input_metric="L1"), data=NUMBERS)
    with raises(MechanismError, code="E-STABILITY-OUTPUT"):
        check_stability(lambda data: "text", claim, data=NUMBERS)
    with raises(MechanismError, code="E-STABILITY-NO-PAIR"):  # 5 is further than d_in
        check_stability(abs, Stability(1, 1, "absolute", input_metric="absolute"), neighbours=[(0.0, 5.0)])


def test_claims_are_checked_and_travel_as_json() -> None:
    """Ranges, metrics, and the round trip."""
    claim = Stability("1/2", 3, "L2", input_metric="L1")
    assert claim_from_json(claim.to_json()) == claim
    with raises(InvalidParameterError, code="E-STABILITY-RANGE"):
        Stability(0, 1, "L1")
    with raises(InvalidParameterError, code="E-STABILITY-METRIC"):
        Stability(1, 1, "L3")


@pytest.mark.parametrize(
    ("metric", "left", "right", "expected"),
    [
        ("symmetric", [1, 2, 2], [2, 1], 1),
        ("symmetric", [-0.0], [0.0], 0),
        ("symmetric", [math.nan], [math.nan], 0),
        ("insert-delete", [1, 2, 3], [3, 1, 2], 2),
        ("change-one", [1, 2], [2, 3], 1),
        ("change-one", [1], [1, 2], math.inf),
        ("hamming", [1, 2], [2, 1], 2),
        ("L1", {"a": 1, "b": 2}, {"a": 2, "b": 0}, 3),
        ("L1", {"a": 3, "b": 1}, {"a": 4}, 2),
        ("symmetric", [1, True], [1.0, 1], 0),
        ("L2", [3, 0], [0, 4], 25),
        ("LInf", [1, 5], [2, 2], 3),
        ("absolute", 1.0, math.nan, math.inf),
        ("discrete", "a", "b", 1),
    ],
)
def test_distances(metric: str, left: Any, right: Any, expected: float) -> None:
    """By hand. The distance of L2 is a square."""
    assert distance(metric, left, right) == expected


def test_texts_are_records_too() -> None:
    """A numpy array of texts cuts the longer label."""

    def cut(data: Any) -> list[str]:
        kept = np.array(["Male"] * len(data))
        kept[:] = data
        return [str(x) for x in kept]

    data = Records(Texts(longest=6), size=4, container="list")
    claim = Stability(1, 1, "symmetric")
    assert check_stability(lambda data: list(data), claim, data=data).verdict == "inconclusive"
    assert (
        check_stability(cut, claim, data=data).verdict == "inconclusive"
    )  # row by row: stable, though wrong
