"""Proves that what happens behind a rare outcome refutes an (epsilon, delta) claim by its probability."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.distributions import Bernoulli, Gaussian, Laplace, RandomisedResponse
from dpaudit.distributions.base import Distribution
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval
from dpaudit.replay.privacy import privacy_outcome

CLAIM = ApproxDP(epsilon=1, delta="1/1000000")
PAIR = Neighbours("the first record from 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))
WIDE = Gaussian(sigma=6)


def decide(program: Any, claim: ApproxDP = CLAIM) -> tuple[Judgement, list[Witness]]:
    audit = PrivacyAudit(
        claim=claim,
        program=program,
        neighbours=lambda run: [PAIR],
        sites=[Site("sum", mechanism=gaussian_mechanism(sensitivity=1, scale=6))],
        domain=Interval(0, 1),
    )
    outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    found = [item for item in outcome.evidence if isinstance(item, Witness)]
    for item in found:
        recompute(evidence_from_json(json.loads(json.dumps(item.to_json()))), claim)  # type: ignore[arg-type]
    return judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01), found


def behind(coins_needed: int, chance: str, noise: Distribution | None) -> Any:
    """A program that releases the sum with ``noise`` where all coins show 1, and as it is for ``None``."""

    def program(coins: Coins, data: Any) -> float:
        total = float(data.sum())
        rare = True
        for _ in range(coins_needed):
            rare = rare and bool(coins.observe(Bernoulli(p=chance), site="coin"))
        if rare and noise is None:
            return total
        return float(coins.release(total, noise if rare and noise is not None else WIDE, site="sum"))

    return program


@pytest.mark.parametrize("noise", [Gaussian(sigma="1/100"), Laplace(scale="1/100"), None], ids=str)
@pytest.mark.parametrize(("coins", "chance"), [(1, "9/1000"), (2, "13/1000")])
def test_a_rare_branch_refutes_by_its_probability(
    noise: Distribution | None, coins: int, chance: str
) -> None:
    """A release with hardly any noise, or a leak, behind coins of 0.009 or 0.000169: delta is at least that,
    but for what the noise hides, and no upper bound stands."""
    found, _ = decide(behind(coins, chance, noise))
    assert (found.verdict, found.strength, found.upper) == (VerdictKind.REFUTED, Strength.WITNESS, None)
    mass = float(Fraction(chance)) ** coins
    assert found.lower is not None
    assert mass * (1 - 1e-9) < float(found.lower) + mass * math.exp(-30) <= mass * (1 + 1e-9)


@pytest.mark.parametrize("delta", ["1/10", "1/100"])
def test_a_branch_rarer_than_delta_is_not_refuted(delta: str) -> None:
    """The claim allows for the branch of 0.009."""
    found, _ = decide(behind(1, "9/1000", Gaussian(sigma="1/100")), ApproxDP(epsilon=1, delta=delta))
    assert found.verdict is VerdictKind.INCONCLUSIVE


def test_a_right_branch_is_not_refuted() -> None:
    """As much noise behind the coin as without it."""

    def program(coins: Coins, data: Any) -> float:
        coins.observe(Bernoulli(p="9/1000"), site="coin")
        return float(coins.release(float(data.sum()), WIDE, site="sum"))

    found, _ = decide(program)
    assert found.verdict is VerdictKind.CONSISTENT


def test_the_outcomes_before_a_release_may_move() -> None:
    """A randomised bit and then Gaussian noise: delta is at least p Phi(...) - e^epsilon q Phi(...), at the
    best threshold."""

    def program(coins: Coins, data: Any) -> float:
        coins.observe(RandomisedResponse(symbols=2, truth=int(data[0]), epsilon=2), site="bit")
        return float(coins.release(float(data.sum()), Gaussian(sigma=1), site="sum"))

    _, witnesses = decide(program)
    bounds = [float(item.bound or 0) for item in witnesses if item.form == "prefix-release"]
    p, q = math.exp(2) / (1 + math.exp(2)), 1 / (1 + math.exp(2))

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    best = max(p * tail(t - 1) - math.e * q * tail(t) for t in np.linspace(-8, 8, 4001))
    assert bounds == [pytest.approx(best, rel=1e-5)]


def test_a_witness_that_claims_too_much_or_hides_a_density_is_refused() -> None:
    """The bound is re-computed, and a site with a density before the release gives no probability."""
    _, witnesses = decide(behind(1, "9/1000", Gaussian(sigma="1/100")))
    (item,) = (one for one in witnesses if one.form == "prefix-release")
    assert item.bound is not None
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(item, bound=item.bound * 2), CLAIM)
    shown = item.body["site"]
    density = {**shown, "law_neighbour": shown["law"], "value": item.body["sites"][0]["value"]}
    with pytest.raises(CertificateError):
        recompute(replace(item, body={**item.body, "sites": [density]}), CLAIM)
