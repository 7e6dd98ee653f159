"""Returning users, as programs of ``coins``: one user's rewards enter several batches (appendix I).

The records are users, not rounds. A public schedule assigns a user to each round, and a changed user changes
the rewards of all their rounds. Assumption 2 allows at most B batches, and one round in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.build import accounted, compose_parallel
from dpaudit.certify.sites import Site
from dpaudit.coins.base import Coins, Program
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import SERVER, View
from dpaudit.reference.algorithms.environment import Clock, GivenRewards, checked_rewards
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.batched_proofs import laplace_batches
from dpaudit.reference.algorithms.mab.distributed_elimination import strategy, variant
from dpaudit.reference.algorithms.mab.steered_histories import steered
from dpaudit.reference.algorithms.play import Decisions, Strategy, play
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values

__all__ = [
    "ASSUMPTION_2",
    "BATCHES",
    "EPSILON",
    "GROWTH",
    "HORIZON",
    "SCHEDULE",
    "USERS",
    "ReturningUsers",
    "batches_of",
    "returning_audit",
    "returning_pairs",
    "returning_program",
]

EPSILON = Fraction(1)
#: B, the number of batches that a returning user joins.
BATCHES = 2
#: Two arms and l(b) = 7^b: batch 1 is rounds 0 to 13, batch 2 rounds 14 to 111. Then an arm can be
#: eliminated.
GROWTH, FIRST, HORIZON = 7, 14, 116
#: The user of each round. The seven users of arm 1 in batch 1 return as the first seven of batch 2.
SCHEDULE: tuple[int, ...] = (*range(FIRST), *range(GROWTH), *range(FIRST, HORIZON - GROWTH))

#: The rewards of each user, one for each arm: a record is a user, not a round.
USERS = Records(Integers(0, 1), size=max(SCHEDULE) + 1, width=2)
ASSUMPTION_2 = (
    f"a user plays in at most {BATCHES} batches and once in each (Assumption 2), so that each of their "
    "rewards enters one aggregate"
)


def batches_of(user: int, schedule: Sequence[int] = SCHEDULE) -> list[int]:
    """Return the batches in which ``user`` plays while both arms are active: 1 for rounds before ``FIRST``,
    then 2."""
    return [1 if t < FIRST else 2 for t, who in enumerate(schedule) if who == user]


class ReturningUsers(Clock):
    """The rewards of users, an array (U, K) in [0, 1]. Round t of arm j gives ``users[schedule[t], j]``."""

    def __init__(self, users: NDArray[Any], schedule: Sequence[int]) -> None:
        super().__init__(users.shape[1], len(schedule))
        self._users, self._schedule = checked_rewards(users), schedule

    def pull(self, arm: int, count: int) -> GivenRewards:
        self._check_arm(arm)
        rounds = self._advance(count)
        return GivenRewards(rounds, np.array([self._users[self._schedule[t], arm] for t in rounds]))


def returning_program(strategy: Strategy, schedule: Sequence[int] = SCHEDULE) -> Program:
    """Return ``strategy`` as a program on users (U, K). Round t uses the rewards of user ``schedule[t]``.

    A record is a user: one changed row changes the rewards of all rounds of that user.
    """

    def run(coins: Coins, users: NDArray[Any]) -> Decisions:
        return play(strategy, coins, ReturningUsers(users, schedule))

    return run


def returning_pairs() -> list[Neighbours]:
    """Return two pairs: the rewards of a user who plays in both batches, or of a user who plays once, change
    from 0 to 1."""
    users = np.zeros((max(SCHEDULE) + 1, 2))
    one = users.copy()
    one[0] = 1.0  # plays in both batches
    other = users.copy()
    other[-1] = 1.0  # plays once, in the batch that the horizon cuts
    return [
        Neighbours("all rewards 0, the first user from 0 to 1", users, one),
        Neighbours("all rewards 0, the last user from 0 to 1", users, other),
    ]


def returning_audit(total: Fraction, touches: int) -> PrivacyAudit:
    """Return the claim that a user's loss is at most ``total``, with ``touches`` affected aggregates
    declared."""
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, HORIZON)).prepared(lengths)
    batch = compose_parallel(laplace_batches(chosen, lengths, epsilon=EPSILON))
    ways = {"arm 2 is eliminated": lambda k: k % 2 == 0, "arm 1 is eliminated": lambda k: k % 2 == 1}
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=total, view=View.of(SERVER), domain=USERS.words),
        program=returning_program(strategy(chosen, growth=GROWTH, grid=1)),
        neighbours=lambda run: returning_pairs(),
        sites=[Site("aggregate", touches=touches, total=total)],
        histories={name: steered(chosen, lengths, up) for name, up in ways.items()},
        proof=accounted(
            [Site("aggregate", touches=BATCHES, mechanism=batch)],
            declared=ASSUMPTION_2,
        ),
        samples=1,
    )
