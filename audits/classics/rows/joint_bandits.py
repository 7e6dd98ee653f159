"""Private linear UCB under joint differential privacy: each user sees only their own action, but the
statistics behind it are public (Shariff and Sheffet 2018; Hsu et al. 2014, the billboard lemma).

A user brings two contexts of length at most 1 and the reward of each, in [-1, 1]: a row (x_1, x_2, y_1, y_2).
The statistics of a played context x with reward y are the matrix x xᵀ and the vector y x. After every batch
their sum is released with Gaussian noise. If the contexts have length 1 and cosine c and the rewards are 1,
changing a user changes the sum by a squared distance of 4 - 2c - 2c²: 9/2 at 120 degrees, not 4.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.build import accounted, billboard, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import GaussianDP
from dpaudit.core.data import Anything, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group
from dpaudit.core.views import EVERYBODY_ELSE, user
from dpaudit.distributions import Gaussian
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval
from dpaudit.suite import privacy

__all__ = ["rows"]

rows = Group("Linear UCB under joint differential privacy")

BATCH = 2
#: Four users, in two batches. The program clips contexts and rewards.
ROWS = Records(Anything(), width=6, size=2 * BATCH)


def clipped(vector: Any) -> Any:
    return vector / max(1.0, float(np.linalg.norm(vector)))


def chosen(contexts: Any, known: Any) -> int:
    """Return the optimistic action for the noisy statistics ``known``: a 2 x 2 matrix and a vector,
    flattened."""
    inverse = np.linalg.pinv(10 * np.eye(2) + known[:4].reshape(2, 2))
    scores = [w @ known[4:] + abs(w @ x) ** 0.5 for w, x in [(x @ inverse, x) for x in contexts]]
    return int(np.argmax(np.array(scores)))


def linear_ucb(*, squared: Fraction, next_too: int = 0) -> Program:
    """Run linear UCB with noise of variance ``squared``. Output each action to its user, and to the
    ``next_too`` next users."""

    def program(coins: Coins, data: Any) -> None:
        known, played = np.zeros(6), np.zeros(6)
        for i, row in enumerate(data):
            contexts, rewards = np.array([clipped(row[:2]), clipped(row[2:4])]), np.clip(row[4:], -1, 1)
            arm = chosen(contexts, known)
            coins.reveal(arm, site="action", to=[user(j) for j in range(i, i + 1 + next_too)])
            x = contexts[arm]
            played = played + np.concatenate([np.outer(x, x).ravel(), rewards[arm] * x])
            if (i + 1) % BATCH == 0:
                known = known + coins.release(played, Gaussian(variance=squared), site="statistics")
                played = np.zeros(6)

    return program


def pairs() -> list[Neighbours]:
    """Return two pairs: contexts at 120 degrees, and two contexts exchanged, which may change the user's own
    action."""
    there, back = [1.0, 0.0], [-0.5, 0.75**0.5]
    others = [[1.0, 0.0, 0.0, 1.0, 1.0, 0.5]] * 2 * BATCH
    turned = [[[*there, *there, 1.0, 1.0], *others[1:]], [[*back, *back, 1.0, 1.0], *others[1:]]]
    swapped = [others, [*others[:2], [0.0, 1.0, 1.0, 0.0, 0.5, 1.0], *others[3:]]]
    return [
        Neighbours("the first user's contexts turn by 120 degrees", *map(np.array, turned)),
        Neighbours("the third user's contexts change places", *map(np.array, swapped)),
    ]


def bandit(squared: Fraction, *, next_too: int = 0) -> PrivacyAudit:
    """Return the audit with noise for a sensitivity whose square is ``squared``."""
    release = gaussian_mechanism(sensitivity_squared=squared, variance=squared)
    sites = [Site("statistics", mechanism=release)]
    return PrivacyAudit(
        claim=GaussianDP(mu=1, view=EVERYBODY_ELSE),
        domain=Interval(None, None),  # the program clips contexts and rewards
        program=linear_ucb(squared=squared, next_too=next_too),
        neighbours=lambda run: pairs(),
        sites=sites,
        proof=billboard(
            accounted(sites, declared="one batch"), actions="the sums and the user's own contexts"
        ),
    )


@privacy(rows, "LINUCB/right", "Shariff and Sheffet 2018, by batches", accounting="", prove=ROWS)
def right() -> PrivacyAudit:
    """Linear UCB with noise for a squared sensitivity of 9/2 is jointly 1-GDP

    a user is in one batch
    """
    audit = bandit(Fraction(9, 2))
    return replace(audit, claim=replace(audit.claim, domain=ROWS.words))


@privacy(rows, "LINUCB/four", "a sensitivity of 2", expect="refuted", role="control", accounting="")
def four() -> PrivacyAudit:
    """Linear UCB with noise for a squared sensitivity of 4 is jointly 1-GDP

    a user is in one batch
    """
    return bandit(Fraction(4))


@privacy(rows, "LINUCB/leak", "shown to the next user", expect="refuted", role="control", accounting="")
def leak() -> PrivacyAudit:
    """Linear UCB that shows each action to the next user too is jointly 1-GDP

    a user is in one batch
    """
    return bandit(Fraction(9, 2), next_too=1)
