"""Programs at exactly their claim: equality verifies where it is proved, and is called equality where it is
not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, judge
from dpaudit.distributions import Categorical, Exponential, Gumbel, NoisyArgmax, RandomisedResponse
from dpaudit.distributions.base import Distribution
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.privacy import privacy_outcome

BIT = [Neighbours("a bit", [0], [1])]
#: Two records of scores for two candidates; the first candidate trails, and every score moves by 1.
SCORES = [Neighbours("scores", [[0, 1], [0, 14]], [[1, 0], [0, 14]])]


def decided(program: Program, proof: Proof, pairs: Any, epsilon: Any) -> Judgement:
    claim = PureDP(epsilon=epsilon)
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=claim,
        program=program,
        neighbours=lambda run: pairs,
        sites=[Site("choice", mechanism=proof)],
        because="one choice",
    )
    outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.05, seed=5, row_id="ties"))
    return judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.05)


def observing(distribution: Any) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        return coins.observe(distribution(data), site="choice")

    return program


def response(epsilon: Any) -> Any:
    return lambda data: RandomisedResponse(symbols=2, truth=data[0], epsilon=epsilon)


def test_randomised_response_is_its_own_epsilon() -> None:
    """Both rules verify it at 1; a distribution at 1 + 10^-12 is not verified, one at 1 + 10^-6 is
    refuted."""
    table = build.finite_mechanism(distributions=[response(1)([bit]) for bit in (0, 1)])
    for proof in (table, build.randomised_response(epsilon=1)):
        assert decided(observing(response(1)), proof, BIT, 1).verdict == "consistent"
        wrong = decided(observing(response("1.000001")), proof, BIT, 1)
        assert wrong.verdict == "refuted"
    little = decided(observing(response("1.000000000001")), table, BIT, 1)
    assert little.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("noise", "proof"),
    [
        (Exponential, build.permute_and_flip(sensitivity=1, epsilon=1)),
        (Gumbel, build.exponential_mechanism(sensitivity=1, epsilon=1)),
    ],
)
def test_selection_at_its_epsilon(noise: Any, proof: Proof) -> None:
    """Scale 2 is 1-DP for scores of sensitivity 1, and no more than that; half of it is refuted."""

    def distribution(scale: int) -> Any:
        return lambda data: NoisyArgmax(scores=np.asarray(data).sum(axis=0), noise=noise(scale=scale))

    right = decided(observing(distribution(2)), proof, SCORES, 1)
    assert right.verdict == "consistent"
    assert right.upper == 1
    assert decided(observing(distribution(1)), proof, SCORES, 1).verdict == "refuted"


def test_a_claim_below_an_irrational_bound_is_equal_within_the_slack() -> None:
    """log 2 as a float is below log 2: the certificate does not prove it, and says how far it is above."""

    def distribution(data: Any) -> Distribution:
        return Categorical(weights=[2, 1] if data[0] else [1, 2])

    proof = build.finite_mechanism([["2/3", "1/3"], ["1/3", "2/3"]])
    near = decided(observing(distribution), proof, BIT, math.log(2))
    assert near.verdict == "inconclusive"
    assert "equal up to the margin" in near.reasons[-1]
    assert near.upper is not None
    assert 0 < near.upper - Fraction("0.6931471805599453") < Fraction(1, 10**15)
    assert decided(observing(distribution), proof, BIT, near.upper).verdict == "consistent"
    far = decided(observing(distribution), proof, BIT, "0.693")
    assert far.verdict == "refuted"
