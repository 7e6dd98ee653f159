"""Estimates that no honest computation can give are refused without running anything."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from dpaudit.core.claims import ErrorRate, PureDP
from dpaudit.core.errors import BrokenReportError, CertificateError
from dpaudit.core.estimates import require_possible
from dpaudit.core.evidence import Estimate, evidence_from_json

CLAIM = PureDP(epsilon=1)
SAMPLED = Estimate(
    quantity="epsilon",
    lower=1.5,
    upper=None,
    confidence=0.99,
    samples=200,
    method="betting",
    scope="one pair",
    seed=3,
)

BAD: list[tuple[str, dict[str, Any]]] = [
    ("lower bound at most", {"upper": 1.0}),
    ("a confidence above 0", {"confidence": 0.0}),
    ("at least one sample", {"samples": 0}),
    ("non-empty method", {"method": " "}),
    ("non-empty scope", {"scope": ""}),
    ("the seed", {"seed": None}),
    ("finite", {"lower": math.inf}),
    ("numbers as bounds", {"lower": True}),
    ("numbers as bounds", {"lower": "1"}),
    ("whole numbers", {"samples": True}),
    ("whole numbers", {"seed": 1.5}),
    ("method and scope", {"method": 3}),
    ("covers_claim", {"covers_claim": 1}),
    ("as many samples", {"lower": 40.0}),
    ("as many samples", {"samples": 2, "lower": 4.0}),
    ("as many samples", {"confidence": 1 - 1e-15, "lower": 3.0, "samples": 100}),
]


@pytest.mark.parametrize(("reason", "changes"), BAD)
def test_impossible_estimates_are_refused(reason: str, changes: dict[str, Any]) -> None:
    """Each field with an impossible value makes the estimate invalid."""
    require_possible(SAMPLED, CLAIM)
    with pytest.raises(CertificateError, match=reason):
        require_possible(replace(SAMPLED, **changes), CLAIM)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_need_for_samples_is_that_of_the_best_bet(epsilon: float) -> None:
    """The best bet, whose wealth grows by 1 + e^-epsilon a run, is accepted, and fewer samples are not."""
    runs = math.ceil(math.log(100) / math.log1p(math.exp(-epsilon)))
    require_possible(replace(SAMPLED, lower=epsilon, samples=math.ceil(runs / 2)), CLAIM)
    with pytest.raises(CertificateError, match="as many samples"):
        require_possible(replace(SAMPLED, lower=epsilon, samples=max(1, runs // 2 - 1)), CLAIM)


def test_an_exact_value_needs_no_seed() -> None:
    """An estimate at confidence 1 needs no seed, and a claim other than PureDP has no limit on samples."""
    exact = Estimate.exactly(40, quantity="error", samples=1, method="enumeration", scope="all inputs")
    require_possible(exact, ErrorRate(text="an error", claimed=1))
    require_possible(replace(exact, quantity="epsilon"), CLAIM)


@pytest.mark.parametrize(("confidence", "kind"), [(1.0, "computation"), (0.999, "estimate")])
def test_a_computation_is_called_so_in_json(confidence: float, kind: str) -> None:
    """At confidence 1 nothing is statistical, and the file says so. The other name is refused."""
    item = Estimate(
        quantity="error",
        lower=0.0,
        upper=1.0,
        confidence=confidence,
        samples=10,
        seed=1,
        method="grid",
        scope="n = 1 to 10",
    )
    data = item.to_json()
    assert data["evidence"] == item.kind == kind
    assert evidence_from_json(dict(data)) == item
    other = {"computation": "estimate", "estimate": "computation"}[kind]
    with pytest.raises(BrokenReportError, match="a computation has confidence 1"):
        evidence_from_json(data | {"evidence": other})
