"""Programs of shuffled Gaussian messages against a certificate of such: the right ones are verified, with
amplification, and each that differs in one way is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, VerdictKind, judge
from dpaudit.core.views import SERVER, SHUFFLER_OUTPUT, View
from dpaudit.distributions import (
    CountVector,
    Gaussian,
    Laplace,
    RandomisedResponse,
    Shuffle,
    ShuffledMultiset,
)
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.leaf_rules import match
from dpaudit.replay.leaves import leaves_of
from dpaudit.replay.privacy import privacy_outcome

USERS, VARIANCE, DELTA = 6, 4, Fraction(1, 1000)
PROOF = build.shuffled_gaussian(users=USERS, sensitivity_squared=1, variance=VARIANCE)
REPLACE = Adjacency.REPLACE_ONE
Program = Callable[[Coins, Any], Any]


def points(data: Any, noise: Any) -> list[Any]:
    return [noise.shift(float(value)) for value in data]


def shuffled(coins: Coins, data: Any, *, variance: Any = VARIANCE, site: str = "list") -> Any:
    return coins.aggregate(
        points(data, Gaussian(variance=variance)), Shuffle(), site=site, to=SHUFFLER_OUTPUT
    )


def more_noise(coins: Coins, data: Any) -> Any:
    return shuffled(coins, data, variance=5)


def vectors(coins: Coins, data: Any) -> Any:
    distributions = [Gaussian(variance=VARIANCE).shift(np.array([0.6 * x, 0.8 * x])) for x in data]
    return coins.aggregate(distributions, Shuffle(), site="list", to=SHUFFLER_OUTPUT)


RIGHT: dict[str, Program] = {"shuffled": shuffled, "more noise": more_noise, "vectors": vectors}


def less_noise(coins: Coins, data: Any) -> None:
    shuffled(coins, data, variance="39/10")


def deviation_for_variance(coins: Coins, data: Any) -> None:
    shuffled(coins, data, variance=2)


def one_user_less(coins: Coins, data: Any) -> None:
    shuffled(coins, data[:-1])


def two_batches_of_half(coins: Coins, data: Any) -> None:
    shuffled(coins, data[: USERS // 2])
    shuffled(coins, data[USERS // 2 :])


def nobody_shuffles(coins: Coins, data: Any) -> None:
    for value in data:
        coins.release(float(value), Gaussian(variance=VARIANCE), site="list", to=SHUFFLER_OUTPUT)


def all_at_once_in_order(coins: Coins, data: Any) -> None:
    coins.release(np.asarray(data, dtype=float), Gaussian(variance=VARIANCE), site="list", to=SHUFFLER_OUTPUT)


def two_users_share_noise(coins: Coins, data: Any) -> None:
    """The second user sends with the first one's noise: their difference shows as it is."""
    shared = coins.draw(Gaussian(variance=VARIANCE), site="shared")
    sent = [data[0] + shared, data[1] + shared]
    rest = shuffled(coins, data[2:])
    coins.reveal(sorted([*sent, *map(float, rest)]), site="list", to=SHUFFLER_OUTPUT)


def a_common_noise_for_all(coins: Coins, data: Any) -> None:
    shared = coins.draw(Gaussian(variance=VARIANCE), site="shared")
    coins.reveal(sorted(float(x) + shared for x in data), site="list", to=SHUFFLER_OUTPUT)


def noise_between_two_users(coins: Coins, data: Any) -> None:
    """One draw, split between two users: hidden, and half the noise in each message drawn anew."""
    shared = coins.draw(Gaussian(variance=VARIANCE / 2), site="shared")
    moved = [x + (shared if who < 2 else 0) for who, x in enumerate(data)]
    shuffled(coins, moved, variance=VARIANCE / 2)


def every_user_the_own_variance(coins: Coins, data: Any) -> None:
    distributions = [Gaussian(variance=VARIANCE + who).shift(float(x)) for who, x in enumerate(data)]
    coins.aggregate(distributions, Shuffle(), site="list", to=SHUFFLER_OUTPUT)


def a_name_beside_every_message(coins: Coins, data: Any) -> None:
    noise = Gaussian(variance=VARIANCE)
    distributions = [noise.shift(np.array([float(x), 100.0 * who])) for who, x in enumerate(data)]
    coins.aggregate(distributions, Shuffle(), site="list", to=SHUFFLER_OUTPUT)


def twice_the_statistic(coins: Coins, data: Any) -> None:
    shuffled(coins, 2 * np.asarray(data))


def two_lists(coins: Coins, data: Any) -> None:
    shuffled(coins, data)
    shuffled(coins, data)


def a_list_and_a_message(coins: Coins, data: Any) -> None:
    shuffled(coins, data)
    coins.release(float(data[0]), Gaussian(variance=VARIANCE), site="list", to=SHUFFLER_OUTPUT)


def another_family(coins: Coins, data: Any) -> None:
    coins.aggregate(points(data, Laplace(scale=2)), Shuffle(), site="list", to=SHUFFLER_OUTPUT)


def two_users_read_one_record(coins: Coins, data: Any) -> None:
    shuffled(coins, [data[0], data[0], *data[2:]])


def only_the_last_user_is_far(coins: Coins, data: Any) -> None:
    """What changes is small; the other messages are too far away to hide it."""
    shuffled(coins, [*data[:-1], 50.0])


BROKEN: dict[str, Program] = {
    one.__name__: one
    for one in (
        less_noise,
        deviation_for_variance,
        one_user_less,
        two_batches_of_half,
        nobody_shuffles,
        all_at_once_in_order,
        two_users_share_noise,
        a_common_noise_for_all,
        noise_between_two_users,
        every_user_the_own_variance,
        a_name_beside_every_message,
        twice_the_statistic,
        two_lists,
        a_list_and_a_message,
        another_family,
        two_users_read_one_record,
        only_the_last_user_is_far,
    )
}


#: What the list's certificate has at DELTA, to a hundredth.
EPSILON = Fraction(129, 100)


def decide(program: Program, *, users: int = USERS, view: Any = SHUFFLER_OUTPUT) -> Judgement:
    rest = [float(i % 2) for i in range(users - 1)]
    pairs = [Neighbours("user 1 from 0 to 1", np.array([0.0, *rest]), np.array([1.0, *rest]))]
    claim = ApproxDP(epsilon=EPSILON, delta=DELTA, view=View.of(view))
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=claim,
        program=program,
        neighbours=lambda run: pairs,
        sites=[Site("list", mechanism=PROOF)],
    )
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    outcome = privacy_outcome(audit, run)
    return judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha)


def test_the_claim_needs_the_shuffler() -> None:
    """One message alone costs more than the claim: what is verified below is amplification."""
    alone = build.gaussian_mechanism(sensitivity=1, variance=VARIANCE)
    claim = ApproxDP(epsilon=EPSILON, delta=DELTA, view=View.of(SHUFFLER_OUTPUT))
    assert PROOF.certify(claim).bound <= DELTA < alone.certify(claim).bound


@pytest.mark.parametrize("name", RIGHT)
def test_the_certificates_list_is_verified(name: str) -> None:
    """The same noise or more, the certificate's number of users or one more, numbers or vectors."""
    for users in (USERS, USERS + 1):
        found = decide(RIGHT[name], users=users)
        assert found.verdict is VerdictKind.CONSISTENT, found.reasons
    assert all(reason.startswith("not proved: ") for reason in found.reasons)


@pytest.mark.parametrize("name", BROKEN)
def test_what_differs_in_one_way_is_not_verified(name: str) -> None:
    assert decide(BROKEN[name]).verdict in (VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE)


def test_a_batch_smaller_than_the_certificates_is_not_verified() -> None:
    """The right program on one user less than the certificate has."""
    assert decide(shuffled, users=USERS - 1).verdict is VerdictKind.INCONCLUSIVE


def lists(*places: Any, variance: Any = VARIANCE, row_ndim: int | None = None) -> ShuffledMultiset:
    noise = Gaussian(variance=variance)
    return ShuffledMultiset([noise.shift(place) for place in places], row_ndim=row_ndim)


LEAF = leaves_of(build.shuffled_gaussian(users=3, sensitivity_squared=1, variance=VARIANCE))[0][0]

OBJECTIONS = {
    "noise that moved": (lists(0, 0, 1), lists(0, 0, 0, variance=5), "users' distributions differ"),
    "less noise": (lists(0, 0, 1, variance=3), lists(0, 0, 0, variance=3), "smaller than the leaf's"),
    "fewer users": (lists(0, 1), lists(0, 0), "it shuffles 2 and 2 messages"),
    "a user more on one side": (lists(0, 0, 1), lists(0, 0, 0, 1), "it shuffles 3 and 4 messages"),
    "two users": (lists(0, 0, 1), lists(1, 1, 1), "2 users' distributions differ"),
    "far from the old value": (lists(-1, 0, 0), lists(1, 0, 0), "further apart"),
    "others far from the new value": (lists(-1, 0, 0), lists(-1, 0, 1), "further apart"),
    "others far from each other": (lists(0, -1, 1), lists(0.5, -1, 1), "further apart"),
    "numbers of independent lists": (
        lists(np.zeros(2), np.zeros(2), np.zeros(2), row_ndim=0),
        lists(np.zeros(2), np.zeros(2), np.array([1.0, 0.0]), row_ndim=0),
        "shuffled lists, not one",
    ),
    "no list": (Gaussian(variance=4).shift(0), Gaussian(variance=4).shift(1), "its distribution is"),
}


@pytest.mark.parametrize("name", OBJECTIONS)
def test_each_objection_says_what_differs(name: str) -> None:
    here, there, words = OBJECTIONS[name]
    for one, two in ((here, there), (there, here)):
        assert match(LEAF, one, two, REPLACE).objection
    assert words in match(LEAF, here, there, REPLACE).objection


def test_both_values_of_the_changed_user_are_held_against_the_others() -> None:
    """Under the clone bound, the others must be near what she sends after the change, too, in both orders."""
    near, far = (RandomisedResponse(symbols=2, truth=0, epsilon=e) for e in (1, 3))
    proof = build.shuffled(build.randomised_response(epsilon=1), users=3)
    leaf = leaves_of(proof)[0][0]
    here, there = (CountVector([near, near, one], outcomes=2) for one in (near, far))
    beside = CountVector([near, near, RandomisedResponse(symbols=2, truth=1, epsilon=1)], outcomes=2)
    assert not match(leaf, here, beside, REPLACE).objection
    for one, two in ((here, there), (there, here)):
        assert match(leaf, one, two, REPLACE).objection


def test_the_servers_view_has_no_certificate() -> None:
    """Where single messages are seen the rule refuses."""
    with pytest.raises(InvalidParameterError, match="must see shuffled outputs"):
        decide(shuffled, view=SERVER)
