"""Joint privacy in every notion: only what the view sees counts as a leak or a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import accounted, billboard, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import ApproxDP, GaussianDP, PrivacyClaim, ZeroConcentratedDP
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, VerdictKind, judge
from dpaudit.core.views import EVERYBODY_ELSE, user
from dpaudit.distributions import Gaussian
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.privacy import privacy_outcome

SUM = Site("sum", mechanism=gaussian_mechanism(sensitivity=1, scale=1), touches=2)
CLAIMS: list[PrivacyClaim] = [
    GaussianDP(mu="1415/1000", view=EVERYBODY_ELSE),
    ZeroConcentratedDP(rho=1, view=EVERYBODY_ELSE),
    ApproxDP(epsilon=1, delta="29/100", view=EVERYBODY_ELSE),
]


def own_noise(coins: Coins, i: int) -> float:
    return float(coins.observe(Gaussian(sigma=1), site="own", to=user(i)))


def no_noise(coins: Coins, i: int) -> float:
    return 0.0


def arms(*, shown_to: int, private: bool = False) -> Program:
    """Two noisy sums; each user's arm follows the sum and the own bit; ``private`` users draw their own."""

    own = own_noise if private else no_noise

    def program(coins: Coins, data: Any) -> None:
        for _ in range(2):
            total = coins.release(float(np.sum(data)), Gaussian(sigma=1), site="sum")
            for i, bit in enumerate(data):
                arm = bool(total * float(bit) + own(coins, i) > 1)
                coins.reveal(arm, site="arm", to=user((i + shown_to) % len(data)))

    return program


def decided(program: Program, claim: PrivacyClaim) -> Judgement:
    left, right = np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0])
    proof = billboard(accounted([SUM], declared="two sums"), actions="the sums and the own bit")
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=claim,
        program=program,
        neighbours=lambda run: [Neighbours("the first bit", left, right)],
        sites=[SUM],
        proof=proof,
    )
    outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    for item in outcome.evidence:
        if isinstance(item, Witness):
            recompute(evidence_from_json(item.to_json()), claim)
    return judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.type)
def test_own_arms_are_verified_and_arms_of_the_next_user_refuted(claim: PrivacyClaim) -> None:
    """A right program is verified with a lower bound below the claim; the same with a leak is refuted."""
    right = decided(arms(shown_to=0), claim)
    assert right.verdict is VerdictKind.CONSISTENT
    assert right.lower is not None
    assert 0.2 * claim.bound < right.lower <= claim.bound
    assert decided(arms(shown_to=1), claim).verdict is VerdictKind.REFUTED


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.type)
def test_what_users_draw_for_themselves_is_no_loss(claim: PrivacyClaim) -> None:
    """With private coins of the users the right program is not refuted."""
    assert decided(arms(shown_to=0, private=True), claim).verdict is not VerdictKind.REFUTED
