"""False certificates by name: each was accepted once, or would be by a rule that forgets one condition.

The truth is computed here, and shown to exceed what the parameters would give; then the kernel must refuse
the certificate, or say in an assumption what it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.build import Proof
from dpaudit.core.claims import Adjacency, ApproxDP, PrivacyClaim, PureDP, Unit
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import PUBLIC, View, user
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.oracle import Distribution, joint
from tests.kernel.enumeration.selection_rules import winner

ONE = Fraction(1)

#: Each way to name a view that knows some users' shares.
HOLDS_USERS = (
    View.of(user(1)),
    View.of(PUBLIC, user(0)),
    View.everybody_but(user(0)),
    View.everybody_but(user(1), user(2)),
    View(frozenset(), complement=True),
)


def refused(proof: Callable[[], Proof], claim: PrivacyClaim) -> bool:
    try:
        proof().certify(claim)
    except CertificateError:
        return True
    return False


def owned_up(proof: Callable[[], Proof], claim: PrivacyClaim, truth: float, words: str) -> bool:
    """Whether a certificate is refused, is as large as the truth, or names what it assumes."""
    try:
        certificate = proof().certify(claim)
    except CertificateError:
        return True
    return float(certificate.bound) >= truth * (1 - 1e-9) or any(
        re.search(words, text) for text in certificate.assumptions
    )


def laplace() -> Proof:
    """One noisy value that moves by at most 1: epsilon = 1."""
    return build.laplace_mechanism(sensitivity=1, scale=1)


def noisy_bit(value: int) -> Distribution:
    """What is seen of it, clamped to 0 and 1: the ratio stays e."""
    return oracle.discrete_laplace_clamped(value, 1.0, 0, 1)


def cells_of(data: Sequence[int], cells: int) -> Distribution:
    """Record i alone in cell i; an empty cell counts 0."""
    return joint(*(noisy_bit(value) for value in [*data, *[0] * (cells - len(data))]))


def loss(p: Distribution, q: Distribution) -> float:
    return float(max(oracle.pure(p[None], q[None])[0], oracle.pure(q[None], p[None])[0]))


def test_parallel_by_position_under_removal() -> None:
    """Five cells of one record each: without the first record all others move up one cell, and every cell
    differs. Five times what one cell costs.
    """
    truth = max(
        loss(cells_of(data, 5), cells_of(data[:i] + data[i + 1 :], 5))
        for data in product((0, 1), repeat=5)
        for i in range(5)
    )
    assert truth == pytest.approx(5)
    assert refused(
        lambda: build.compose_parallel([laplace()] * 5), PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE)
    )


def test_parallel_by_position_with_records_that_move() -> None:
    """A place cannot depend on the record's value: "by position" and "moves" contradict each other. Charging
    two cells does not cover five.
    """
    for adjacency in Adjacency:
        assert refused(
            lambda: build.compose_parallel([laplace()] * 5, moves=True),
            PureDP(epsilon=1, adjacency=adjacency),
        )


def test_parallel_with_a_user_in_several_cells() -> None:
    """A user with an event in each of eight cells changes them all: 8 against 1."""
    truth = loss(cells_of([0] * 8, 8), cells_of([1] * 8, 8))
    assert truth == pytest.approx(8)
    for by in ("position", "public data", "shown outcomes"):
        for adjacency in Adjacency:
            proof = lambda by=by: build.compose_parallel([laplace()] * 8, by=by, partition="x")  # noqa: E731
            claim = PureDP(epsilon=1, unit=Unit.USER, adjacency=adjacency)
            assert owned_up(proof, claim, truth, r"all events of one user")


def test_parallel_with_a_user_who_comes_to_own_fewer_events() -> None:
    """A user has three events in the first cell (a block of three places), or only one: all his events lie in
    one cell on either side, and yet two records of others move from the second block to the first. Two cells
    differ, and the third. More than 1.
    """
    others = [1, 1, 0, 0, 1, 1]

    def blocks(data: Sequence[int]) -> Distribution:
        """Whether the first record of each block is 1."""
        return joint(*(noisy_bit(data[i] if i < len(data) else 0) for i in (0, 3, 6)))

    truth = loss(blocks([0, 0, 0, *others]), blocks([1, *others]))
    assert truth == pytest.approx(3)
    claim = PureDP(epsilon=1, unit=Unit.USER)
    words = r"number and places|other records"
    assert owned_up(lambda: build.compose_parallel([laplace()] * 3), claim, truth, words)


def dyadic(leaves: int) -> list[tuple[int, int]]:
    """All nodes of a tree over a power of two of leaves."""
    sizes = [1 << k for k in range(leaves.bit_length())]
    return [(start, start + size) for size in sizes for start in range(0, leaves, size)]


def test_tree_of_leaves_under_removal() -> None:
    """Eight leaves with bits, every node a noisy count: a removal moves all later leaves up. The losses of
    nodes with two-sided noise attain their sum: 10 against 4.
    """

    def moved(data: Sequence[int], other: Sequence[int]) -> int:
        return sum(abs(sum(data[a:b]) - sum(other[a:b])) for a, b in dyadic(8))

    truth = max(moved(data, data[:i] + data[i + 1 :]) for data in product((0, 1), repeat=8) for i in range(8))
    assert truth == 10
    assert refused(
        lambda: build.tree_mechanism(laplace(), leaves=8), PureDP(epsilon=4, adjacency=Adjacency.ADD_REMOVE)
    )


def test_tree_of_leaves_with_a_user_at_every_leaf() -> None:
    """A user who owns all eight leaves moves the counts by 32 in all; one leaf moves them by 4."""
    truth = sum(b - a for a, b in dyadic(8))
    assert truth == 32
    for adjacency in Adjacency:
        claim = PureDP(epsilon=4, unit=Unit.USER, adjacency=adjacency)
        proof = lambda: build.tree_mechanism(laplace(), leaves=8)  # noqa: E731
        assert owned_up(proof, claim, truth, r"one user is one leaf")


LOCAL = {
    "finite": lambda: build.finite_mechanism([["3/4", "1/4"], ["1/4", "3/4"]]),
    "randomised-response": lambda: build.randomised_response(epsilon=1),
}


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_local_messages_show_their_number(name: str) -> None:
    """One message more or less is seen for sure, and so is the silence of a null record: no epsilon holds
    but under replace-one. A user with k events sends k messages: k times the loss.
    """
    two = joint(np.array([0.75, 0.25]), np.array([0.75, 0.25]))
    assert loss(two, two[::-1]) == pytest.approx(2 * np.log(3))
    for adjacency, unit in product(Adjacency, Unit):
        claim = PureDP(epsilon=1, adjacency=adjacency, unit=unit)
        sound = adjacency is Adjacency.REPLACE_ONE and unit is Unit.EVENT
        assert refused(LOCAL[name], claim) != sound


def test_monotone_selection_under_replacement() -> None:
    """A replaced record takes one count down and another up: the index loses twice what counts cost that move
    the same way.
    """
    truth = loss(winner([-8, 0], "gumbel", 1.0), winner([-7, -1], "gumbel", 1.0))
    assert truth > 1.995
    for noise in ("laplace", "gumbel", "exponential"):
        proof = lambda noise=noise: build.report_noisy_max(  # noqa: E731
            sensitivity=1, range="monotone", noise=noise, scale=1, candidates=2
        )
        assert refused(proof, PureDP(epsilon=1))
    gauss = lambda: build.report_noisy_max(  # noqa: E731
        sensitivity=1, range="monotone", noise="gaussian", scale=1, candidates=2
    )
    assert refused(gauss, ApproxDP(epsilon=1, delta=1))
    sparse = lambda: build.above_threshold(  # noqa: E731
        sensitivity=1, range="monotone", threshold_scale=1, query_scale=1
    )
    assert refused(sparse, PureDP(epsilon=2))


def test_one_moving_score_is_an_assumption() -> None:
    """Nothing in a certificate shows that only one score moves: it must say so."""
    selection = build.report_noisy_max(sensitivity=1, range="one_coordinate", scale=1)
    assert selection.certify(PureDP(epsilon=1)).strength == "accounted"
    sparse = build.above_threshold(sensitivity=1, range="one_query", threshold_scale=1, query_scale=1)
    assert sparse.certify(PureDP(epsilon=1)).strength == "accounted"


#: Distributed noise of two parties: at full participation, with what one party adds alone.
SHARED: dict[str, Callable[[], Proof]] = {
    "polya": lambda: build.polya_noise(sensitivity=1, scale=1, share=1),
    "gaussian-sum": lambda: build.discrete_gaussian_sum(sensitivity=1, variance=1, count=2),
    "discrete-gaussian-sum": lambda: build.integer_noise(
        "discrete-gaussian-sum", sensitivity=1, variance=1, count=2
    ),
    "vector-noise": lambda: build.vector_noise(
        "discrete-gaussian-sum", dimension=1, l2_squared=1, largest=1, orders=[8], cut=40, variance=4, count=2
    ),
}
#: Noise that can be made of shares, as the certificate does not say.
PERHAPS: dict[str, Callable[[], Proof]] = {
    "skellam": lambda: build.integer_noise("skellam", sensitivity=1, variance=4),
    "binomial": lambda: build.integer_noise("binomial", sensitivity=1, trials=8, probability="1/2"),
    "binomial-vectors": lambda: build.binomial_vectors(
        trials=400, probability="1/2", dimension=1, l2_squared=1, largest=1, orders=[8], deviation=60
    ),
}


def test_one_share_less_is_another_bound() -> None:
    """Polya noise of which one half is known or missing: 1.675 against 1."""
    noise = oracle.polya_difference(0.5, 1.0, 8)
    truth = loss(oracle.lattice(noise, 0, -4, 4), oracle.lattice(noise, 1, -4, 4))
    assert truth == pytest.approx(1.675, abs=1e-3)


@pytest.mark.parametrize("name", sorted(SHARED | PERHAPS))
def test_noise_made_of_shares_in_a_view_that_holds_users(name: str) -> None:
    """Who made a share knows it and takes it off: a view that holds users has no bound."""
    proof = (SHARED | PERHAPS)[name]
    for view in HOLDS_USERS:
        for unit in Unit:
            assert refused(proof, ApproxDP(epsilon="1/2", delta=1, view=view, unit=unit))
    assert not refused(proof, ApproxDP(epsilon="1/2", delta=1))


@pytest.mark.parametrize("name", sorted(SHARED | PERHAPS))
def test_noise_made_of_shares_below_full_participation(name: str) -> None:
    """Nothing in a certificate shows that a participation in words leaves enough shares: it must say so."""
    proof = (SHARED | PERHAPS)[name]
    certificate = proof().certify(ApproxDP(epsilon="1/2", delta=1, participation="all but one user"))
    assert certificate.strength == "accounted"
    assert any("is added" in text for text in certificate.assumptions)
    assert proof().certify(ApproxDP(epsilon="1/2", delta=1)).strength == "proved"


@pytest.mark.parametrize("name", sorted(SHARED))
def test_noise_made_of_shares_when_a_user_leaves_with_his(name: str) -> None:
    """Add-or-remove of a user who makes a share: one side has less noise, and its tail shows. With one part
    of two, the ratio of the tails grows without bound; no epsilon holds for Polya noise, and delta exceeds
    that of equal noise on both sides.
    """
    two, one = (oracle.polya_difference(share, 1.0, 600) for share in (1.0, 0.5))
    losses = [loss(two[600 - size : 601 + size], one[600 - size : 601 + size]) for size in (10, 50, 600)]
    assert 1 < losses[0] < losses[1] < losses[2]
    claim = ApproxDP(epsilon="1/2", delta=1, adjacency=Adjacency.ADD_REMOVE, unit=Unit.USER)
    certificate: Any = None
    try:
        certificate = SHARED[name]().certify(claim)
    except CertificateError:
        return
    assert certificate.strength == "accounted"


def test_joint_privacy_over_shares_that_others_know() -> None:
    """The users in the view of joint privacy know their own shares: half of the noise is off, 1.675 against
    1. That they hold none must be refused or assumed, besides what their actions depend on.
    """
    claim = PureDP(epsilon=1, view=View.everybody_but(user(0)), unit=Unit.USER)
    proof = lambda: build.billboard(SHARED["polya"](), actions="best reply")  # noqa: E731
    assert owned_up(proof, claim, 1.67, r"no(ne| share|body).*noise|noise.*(no |not )")


def test_joint_privacy_of_an_event_of_somebody_else() -> None:
    """Per event, the changed event may belong to a user whose action is seen; that it does not is assumed."""
    claim = PureDP(epsilon=1, view=View.everybody_but(user(0)))
    certificate = build.billboard(laplace(), actions="best reply").certify(claim)
    assert any("left out" in text for text in certificate.assumptions)


@pytest.mark.parametrize(
    "proof",
    [
        lambda: build.post_processing(laplace(), function="prints the data"),
        lambda: build.relaxed_release(laplace(), security="1/2", release="prints the data"),
    ],
    ids=["post-processing", "relaxed"],
)
def test_hypotheses_in_words_are_assumptions(proof: Callable[[], Proof]) -> None:
    """A function that prints the data has no epsilon; what its certificate says of it is an assumption."""
    certificate = proof().certify(PureDP(epsilon=1))
    assert certificate.strength == "accounted"
    assert any("prints the data" in text for text in certificate.assumptions)


def test_group_with_other_places() -> None:
    """A user with one event of three moves to another place, and the records of others move along: more than
    one event of difference for any query that reads places. The certificate must exclude it.
    """
    proof = build.group_privacy(laplace(), events=1, declared="one visit")
    certificate = proof.certify(PureDP(epsilon=1, unit=Unit.USER))
    assert any("number and places" in text for text in certificate.assumptions)


@pytest.mark.parametrize("participation", ["all but one user", "at least 10"])
def test_shuffling_below_full_participation(participation: str) -> None:
    """With fewer messages than the analysis counts on, delta is larger; that enough users send is assumed."""
    proof = build.shuffled_response(users=20, local=1)
    full = proof.certify(ApproxDP(epsilon="1/2", delta=1))
    fewer = build.shuffled_response(users=10, local=1).certify(ApproxDP(epsilon="1/2", delta=1))
    assert full.strength == "proved"
    assert full.bound < fewer.bound
    certificate = proof.certify(ApproxDP(epsilon="1/2", delta=1, participation=participation))
    assert any(re.search(r"at least 20 users", text) for text in certificate.assumptions)
