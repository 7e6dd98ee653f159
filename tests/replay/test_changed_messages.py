"""Shuffled messages of which one changed are matched with the certificate of that message."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpaudit.certify.build import gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Adjacency, GaussianDP
from dpaudit.core.suite import Run
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import CountVector, Gaussian, RandomisedResponse, ShuffledMultiset
from dpaudit.replay.accounting import worst_cost, worst_loss
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.histories import Neighbours
from dpaudit.replay.leaf_rules import match
from dpaudit.replay.leaves import Leaf
from dpaudit.replay.privacy import short_outcome
from dpaudit.suite import scaled, widened

REPLACE = Adjacency.REPLACE_ONE
LEAF = Leaf("gaussian", {"sensitivity_squared": "9/2", "variance": "9/2"})


def lists(*places, variance="9/2"):
    noise = Gaussian(variance=variance)
    return ShuffledMultiset([noise.shift(np.array(place)) for place in places], row_ndim=1)


def test_the_message_that_moved_is_found():
    """One message of three differs: its two distributions come out; two that differ, or none, give
    nothing."""
    noise = Gaussian(variance="9/2")
    here, there = lists([0, 0], [1, 0], [1, 0]), lists([0, 0], [1, 0], [0, 1])
    assert here.changed_message(there) == (noise.shift(np.array([1, 0])), noise.shift(np.array([0, 1])))
    assert here.changed_message(here) is None
    assert here.changed_message(lists([5, 0], [1, 0], [0, 1])) is None
    assert noise.changed_message(noise) is None


def test_a_shuffled_list_fits_the_leaf_of_its_message():
    """It fits with the share of the message's squared change; with less noise, or two moved, it does not."""
    here, too_far = lists([0, 0], [1, 1]), lists([0, 0], [-1, 0])
    assert match(LEAF, here, too_far, REPLACE).objection
    near = match(LEAF, here, lists([0, 0], [0, 0]), REPLACE)
    assert not near.objection
    assert near.share == Fraction(4, 9)
    assert match(
        LEAF, lists([0, 0], [1, 1], variance=4), lists([0, 0], [0, 0], variance=4), REPLACE
    ).objection
    assert match(LEAF, here, lists([0, 1], [1, 0]), REPLACE).objection


def test_a_shuffled_list_costs_no_more_than_its_message():
    """Charged by the message where nothing finer is known; counted bits, which have an exact loss, less."""
    assert worst_cost(lists([0, 0], [1, 1]), lists([0, 0], [0, 0]), "square") == Fraction(4, 9)
    answers = [RandomisedResponse(epsilon=1, symbols=2, truth=bit) for bit in (0, 1)]
    here, there = (CountVector([answers[0], answers[0], answers[bit]], outcomes=2) for bit in (0, 1))
    shuffled, alone = worst_loss(here, there), worst_loss(*answers)
    assert shuffled is not None
    assert alone is not None
    assert shuffled <= alone * (1 + Fraction(1, 10**9))


def noisy(coins, data):
    coins.reveal(int(data[0]), site="own", to=SERVER)
    return coins.release(float(sum(data)), Gaussian(sigma=1), site="sum")


def audited(program):
    return PrivacyAudit(
        domain=ListedPairs(),
        claim=GaussianDP(mu=1, view=View.of(PUBLIC)),
        program=program,
        neighbours=lambda run: [Neighbours("a bit", [0.0, 0.0], [1.0, 0.0])],
        sites=[Site("sum", mechanism=gaussian_mechanism(sensitivity=1, scale=1))],
    )


def test_a_short_look_refutes_and_never_verifies():
    """Half the noise, and what the server alone may see shown to all, are refuted; the right program gives
    nothing."""
    run = Run(profile="quick", alpha=0.05, seed=0, row_id="short")
    assert short_outcome(audited(noisy), run) is None
    halved, leaking = (
        short_outcome(audited(change(noisy)), run) for change in (scaled("1/2"), widened("own"))
    )
    assert halved is not None
    assert halved.evidence[0].bound == 2
    assert leaking is not None
    assert leaking.evidence[0].bound is None
