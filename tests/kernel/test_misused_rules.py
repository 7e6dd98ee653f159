"""Certificates for false bounds that were once accepted: each is refused, or carries the assumption that
makes it true.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.certify.build import BoundedSum
from dpaudit.core.claims import Adjacency, ApproxDP, GaussianDP, PureDP, Unit
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, Principal, View
from dpaudit.kernel.check import check

WIDE = ApproxDP(epsilon=1, delta=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: build.discrete_laplace_mechanism(sensitivity=BoundedSum(0, 1), scale=1),
        lambda: build.polya_noise(sensitivity=BoundedSum(0, 1), scale=1, share=1),
        lambda: build.discrete_gaussian_sum(sensitivity=BoundedSum(0, 1), variance=1),
        lambda: build.integer_noise("skellam", sensitivity=BoundedSum("-1/2", "1/2"), variance=1),
    ],
)
def test_a_sum_of_real_records_takes_no_integer_noise(make: Any) -> None:
    """0 against 1/2 plus integer noise have disjoint supports: no epsilon holds, whatever the noise."""
    with pytest.raises(CertificateError, match="stated as a number"):
        make()


def test_shuffled_randomisers_must_be_the_same() -> None:
    """A message that begins with its user's public number survives the shuffle: delta(1/2) is (e - sqrt e) /
    (1 + e), not the clones' 6.9e-27. That all apply the same randomiser is an assumption.
    """
    claim = ApproxDP(epsilon="1/2", delta="1/10", view=View.of(SHUFFLER_OUTPUT))
    made = build.shuffled(build.randomised_response(epsilon=1), users=1000).certify(claim)
    assert "all users apply the same randomiser" in made.assumptions
    own = build.shuffled_response(users=20, local=1).certify(claim)
    assert own.assumptions == ()


POLYA = build.polya_noise(sensitivity=1, scale=1, share=1)


@pytest.mark.parametrize(
    ("proof", "claim"),
    [
        (POLYA, PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE)),
        (
            build.group_privacy(POLYA, events=1, declared="one record each"),
            PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE, unit=Unit.USER),
        ),
        (
            build.compose_parallel([POLYA], by="public data", partition="the arm", moves=True),
            PureDP(epsilon=2),
        ),
    ],
)
def test_whoever_leaves_may_take_a_share_along(proof: build.Proof, claim: PureDP) -> None:
    """With one of two shares gone the loss at outcome k grows like log k: that it stays is an assumption."""
    assumed = proof.certify(claim).assumptions
    assert any("takes a share of it along" in text for text in assumed)


@pytest.mark.parametrize(
    "proof",
    [
        build.gaussian_mechanism(sensitivity=1, scale=1),
        build.laplace_mechanism(sensitivity=1, scale=1),
        build.discrete_laplace_mechanism(sensitivity=1, scale=1),
        build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance=1),
    ],
)
def test_noise_at_a_lower_participation_is_assumed(proof: build.Proof) -> None:
    """Two users who add half the variance each make mu = sqrt 2 where one of them is lost."""
    claim = ApproxDP(epsilon=1, delta=1, participation="1 of 2 users")
    assert any("the stated noise is added" in text for text in proof.certify(claim).assumptions)
    assert proof.certify(WIDE).assumptions == ()


def test_whoever_is_not_known_to_hold_no_share_may_hold_one() -> None:
    """Only the public, the server and the shuffler's output hold no share of the noise for certain."""
    for name in ("client-3", "User-0", "user_1", "users"):
        with pytest.raises(CertificateError, match="no user may be in view"):
            POLYA.certify(PureDP(epsilon=1, view=View.of(Principal(name))))
    joint = build.billboard(POLYA, actions="own data")
    with pytest.raises(CertificateError, match="everybody but one user"):
        joint.certify(PureDP(epsilon=1, view=View.everybody_but(SERVER)))


def test_numbers_of_a_claim_stay_in_their_range() -> None:
    """A claim in JSON with a negative epsilon or an order below 1 is refused by the kernel itself."""
    claim = ApproxDP(epsilon=1, delta="1/10")
    data = build.randomised_response(epsilon="1/1000").certify(claim).to_json()
    about = json.loads(json.dumps(claim.to_json()))
    about |= {"epsilon": -1.0, "epsilon_exact": "-1"}
    data["bound"] = "2/5"
    with pytest.raises(CertificateError, match="out of range"):
        check(data, about)


def test_bounds_too_small_to_write_are_rounded_up() -> None:
    """delta(40) of a mu = 1/10 Gaussian is below 10^-34000: a certificate states 2^-4000."""
    bound = (
        build.gaussian_mechanism(sensitivity="1/10", scale=1)
        .certify(ApproxDP(epsilon=40, delta="1/10"))
        .bound
    )
    assert bound == Fraction(1, 1 << 4000)
    tiny = build.gaussian_mechanism(sensitivity=1, scale=1)
    assert tiny.certify(GaussianDP(mu=1)).bound == 1


def test_long_sums_are_refused_at_once() -> None:
    """A thousand terms with random denominators of 4000 bits would take minutes to add."""
    parts = [
        build.laplace_mechanism(sensitivity=1, scale=Fraction(2**3000 + 2 * i + 1, 3)) for i in range(40)
    ]
    with pytest.raises(CertificateError, match="too long"):
        build.compose_sequential(parts)
