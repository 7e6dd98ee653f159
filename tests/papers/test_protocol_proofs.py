"""Proofs of the contextual protocols' programs. Wrong versions are not verified for the same data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from audits.glm_bandits.rows import joint_program
from audits.glm_bandits.rows.dependence import DECLARED, actions, own_data
from audits.shuffle_linear_bandits.rows import protocols
from dpaudit.coins import Coins
from dpaudit.core.data import Interval as Reals
from dpaudit.core.data import Table
from dpaudit.core.views import PUBLIC, SHUFFLER_OUTPUT, user
from dpaudit.distributions import Gaussian
from dpaudit.reference.algorithms.contextual.batch_counters import (
    by_batches,
    messages,
    shuffled_lists,
    tree_by_levels,
)
from dpaudit.reference.algorithms.contextual.protocol_instances import declared_users, turned_pairs
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import BatchedLinUCB, Counter, actions_of
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Ball, Columns, Interval, Values, Within
from tests.followed import proof_of

EPSILON, DELTA = Fraction(1), Fraction(1, 10)


proved = partial(proof_of, files=[__file__])


LOCAL = protocols.local(epsilon=EPSILON, delta=DELTA)
CENTRAL = protocols.central(epsilon=EPSILON, delta=DELTA)
SEVERAL = protocols.several_rounds(epsilon=EPSILON, delta=DELTA)
JOINT = protocols.joint(batch=3)
LISTS = protocols.joint_lists(batch=3)


@pytest.mark.parametrize(("audit", "count"), [(LOCAL, 5), (CENTRAL, 5), (SEVERAL, 2), (JOINT, 7), (LISTS, 7)])
def test_the_protocols_are_proved(audit: PrivacyAudit, count: int) -> None:
    """Every path of the row's own program costs at most what the row claims."""
    found = proved(audit.program, audit.claim, declared_users(count))
    assert found.verdict == "verified"
    assert found.paths >= 4  # each noisy matrix is positive definite or not
    assert found.bound is not None
    assert found.bound > 0


def raw_first(right: Callable[[Coins, Any], Any]) -> Callable[[Coins, Any], Any]:
    """Reveal the statistics of the first user of a batch before its release."""

    def release(coins: Coins, batch: Any) -> Any:
        coins.reveal(batch[0], site="statistics/raw", to=PUBLIC)
        return right(coins, batch)

    return release


def exact(coins: Coins, batch: Any) -> Any:
    total = batch.sum(axis=0)
    coins.reveal(total, site="statistics/sum", to=PUBLIC)
    return total


def one_noise_for_all(coins: Coins, batch: Any) -> Any:
    noise = coins.draw(Gaussian(variance=100), site="noise")
    return batch.sum(axis=0) + noise


def longer(right: Callable[[Coins, Any], Any]) -> Callable[[Coins, Any], Any]:
    """Send a hundred times the statistics."""
    return lambda coins, batch: right(coins, 100 * batch)


def hidden_exact(coins: Coins, batch: Any) -> Any:
    """Add no noise, so that the next users' actions follow from the true sums."""
    return batch.sum(axis=0)


RIGHT = messages(variance=100)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "release", [raw_first(RIGHT), exact, one_noise_for_all, longer(RIGHT), hidden_exact, messages(variance=1)]
)
@pytest.mark.parametrize("audit", [LOCAL, CENTRAL])
def test_broken_counters_are_not_verified(release: Any, audit: PrivacyAudit) -> None:
    """Raw statistics, no noise, one noise for all entries, longer statistics and less noise."""
    program = replace(audit.program, counter=by_batches(release))
    assert proved(program, audit.claim, declared_users(5)).verdict != "verified"


def matrices_in_the_clear(coins: Coins, batch: Any) -> Any:
    coins.reveal(batch[:, 2:].sum(axis=0), site="statistics/matrix", to=SHUFFLER_OUTPUT)
    return shuffled_lists(variance=100, dim=2)(coins, batch)


@pytest.mark.parametrize("release", [matrices_in_the_clear, shuffled_lists(variance=1, dim=2)])
def test_broken_lists_are_not_verified(release: Any) -> None:
    """Exact sums of the matrices, and less noise."""
    program = replace(LISTS.program, counter=by_batches(release))
    assert proved(program, LISTS.claim, declared_users(7)).verdict != "verified"


def test_less_noise_in_one_level_is_not_verified() -> None:
    """A user of two rounds is in three nodes: half of a hundredth of the variance is not enough."""
    program = replace(SEVERAL.program, counter=tree_by_levels(variance=1))
    assert proved(program, SEVERAL.claim, declared_users(2)).verdict != "verified"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Run a right protocol after showing an action of user ``whose`` to ``to``."""

    right: Any
    to: Any
    whose: int

    def __call__(self, coins: Coins, users: Any) -> Any:
        people = actions_of(users, dim=2)
        _, rewards = people[self.whose]
        arm = int(rewards.argmax())
        coins.reveal(arm, site="more", to=self.to)
        return self.right(coins, users)


@pytest.mark.parametrize(
    ("to", "whose", "verdict"),
    [(user(0), 0, "verified"), (user(0), 1, "inconclusive"), (PUBLIC, 0, "inconclusive")],
)
def test_actions_are_shown_to_their_own_user_only(to: Any, whose: int, verdict: str) -> None:
    """An action from a user's own rewards is free for that user, and for nobody else."""
    program = Shown(right=CENTRAL.program, to=to, whose=whose)
    assert proved(program, CENTRAL.claim, declared_users(5)).verdict == verdict


def test_a_user_in_both_batches_pays_twice() -> None:
    """Users who return in each batch pay for each of their messages."""
    once = proved(LOCAL.program, LOCAL.claim, declared_users(5))
    twice = replace(LOCAL.program, schedule=lambda users: [0, 1, 0, 1])
    found = proved(twice, LOCAL.claim, declared_users(5))
    assert found.bound is not None
    assert once.bound is not None
    assert found.bound > 2 * once.bound


def test_features_out_of_the_ball_are_refused() -> None:
    """Declared features longer than 1 make the check of the features depend on them."""
    assert isinstance(LOCAL.program, BatchedLinUCB)
    wide = declared_users(5)
    columns = {name: (Reals(-1, 1), 2) if "features" in name else Reals(-1, 1) for name in wide.columns}
    data = Table(columns, size=5)
    claim = replace(LOCAL.claim, domain=data.words)
    assert proved(LOCAL.program, claim, data).verdict != "verified"


def test_a_table_and_an_array_run_alike() -> None:
    """The same users as a table and as an array have the same transcript."""
    counter: Counter = by_batches(RIGHT)
    program = replace(LOCAL.program, counter=counter)
    rows = turned_pairs(4)[1].left
    table = {}
    for k in range(2):
        table |= {f"features {k}": rows[:, k, :2], f"reward {k}": rows[:, k, 2]}
    first, second = ([*joint_program.played(program, 3, users)] for users in (rows, table))
    for (site, value, variance), (other, again, same) in zip(first, second, strict=True):
        assert (site, variance) == (other, same)
        assert np.array_equal(value, again)


# The billboard lemma of Sarmasarkar


def test_actions_from_another_users_bit_are_not_verified() -> None:
    """The billboard lemma requires the user's own bit."""
    claim = own_data().claim
    assert proved(actions(False), claim, DECLARED).verdict == "verified"
    assert proved(actions(True), claim, DECLARED).verdict != "verified"


# Domains of pairs


def test_columns_must_be_those_of_the_declaration() -> None:
    """A ball of another radius, a grid, another interval and another number of columns are refused."""
    data = declared_users(3)
    right = Columns((Ball(1), 2), (Interval(-1, 1), 1))
    assert str(Within(data, right)) == data.words
    for parts in (
        ((Ball(2), 2), (Interval(-1, 1), 1)),
        ((Ball(1), 3), (Interval(-1, 1), 1)),
        ((Ball(1, step="1/2"), 2), (Interval(-1, 1), 1)),
        ((Ball(1), 2), (Interval(0, 1), 1)),
        ((Ball(1), 2), (Values(-1, 0, 1), 1)),
        ((Ball(1), 2), (Interval(-1, 1), 1), (Interval(-1, 1), 1)),
    ):
        with pytest.raises(ValueError, match="must be the declared numbers"):
            Within(data, Columns(*parts))
