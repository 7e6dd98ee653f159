"""Private linear UCB under joint differential privacy: each user's action is that user's own, the statistics
that it is computed from are everybody's (Shariff and Sheffet 2018; Hsu et al. 2014, the billboard lemma).

A user brings two contexts of length at most 1 and the reward of each, in [-1, 1]: a row (x_1, x_2, y_1, y_2).
The statistics of a played context x with reward y are the matrix x xᵀ and the vector y x, summed by a tree
with Gaussian noise. Changing a user moves them by 4 - 2c - 2c² squared where the contexts have length 1 and
cosine c and the rewards are 1: by 9/2 at 120 degrees, not by 4.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.claims import GaussianDP
from dpaudit.coins import Coins, Program
from dpaudit.laws import BinaryTree, Gaussian
from dpaudit.neighbours import Neighbours
from dpaudit.proofs.build import accounted, billboard, gaussian_mechanism, tree_mechanism
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.rows import privacy
from dpaudit.suite import Group
from dpaudit.views import EVERYBODY_ELSE, user

__all__ = ["rows"]

rows = Group("Linear UCB under joint differential privacy")

USERS = 4


def linear_ucb(*, variance: Fraction, leaks: bool = False) -> Program:
    """Play for each user in turn; ``leaks`` shows an action to the next user too."""

    shown = range(2 if leaks else 1)

    def program(coins: Coins, data: Any) -> None:
        noise = Gaussian(variance=variance)
        tree = coins.channel(BinaryTree(leaves=USERS, noise=noise), site="statistics")
        answers: list[Any] = []
        for number, row in enumerate(data):
            contexts = row[:4].reshape(2, 2)
            contexts = contexts / np.maximum(1, np.linalg.norm(contexts, axis=1, keepdims=True))
            known = np.zeros(6) + BinaryTree.prefix(answers, number)
            gram = 10 * np.eye(2) + known[:4].reshape(2, 2)
            bonus = np.abs(np.einsum("ai,ij,aj->a", contexts, np.linalg.pinv(gram), contexts)) ** 0.5
            arm = int(np.argmax(contexts @ np.linalg.pinv(gram) @ known[4:] + bonus))
            coins.reveal(arm, site="action", to=[user(number + i) for i in shown])
            played, reward = contexts[arm], row[4 + arm]
            statistics = np.concatenate([np.outer(played, played).ravel(), reward * played])
            answers.append(tree.ask(statistics))

    return program


def pairs() -> list[Neighbours]:
    """Contexts at 120 degrees, and two contexts exchanged, which may change the user's own action."""
    there, back = [1.0, 0.0], [-0.5, 0.75**0.5]
    others = [[1.0, 0.0, 0.0, 1.0, 1.0, 0.5]] * USERS
    turned = [[[*there, *there, 1.0, 1.0], *others[1:]], [[*back, *back, 1.0, 1.0], *others[1:]]]
    swapped = [others, [others[0], [0.0, 1.0, 1.0, 0.0, 1.0, 0.5], *others[2:]]]
    return [
        Neighbours("the first user's contexts turn by 120 degrees", *map(np.array, turned)),
        Neighbours("the second user's contexts change places", *map(np.array, swapped)),
    ]


def bandit(*, squared: str, leaks: bool = False) -> PrivacyAudit:
    """With noise for a sensitivity of ``squared`` (its square) over the three nodes of a user."""
    node = gaussian_mechanism(sensitivity_squared=squared, variance=3 * Fraction(squared))
    tree = Site("statistics", mechanism=tree_mechanism(node, leaves=USERS))
    proof = billboard(accounted([tree], declared="one tree"), actions="the tree's sums and the own contexts")
    return PrivacyAudit(
        claim=GaussianDP(mu=1, view=EVERYBODY_ELSE, domain="two contexts and two rewards"),
        program=linear_ucb(variance=3 * Fraction(squared), leaks=leaks),
        neighbours=lambda run: pairs(),
        sites=[tree],
        proof=proof,
    )


@privacy(rows, "LINUCB/right", "Shariff and Sheffet 2018, with sensitivity 3/√2", accounting="")
def right() -> PrivacyAudit:
    """Linear UCB with noise for a squared sensitivity of 9/2 is jointly 1-GDP

    a user enters one tree, of four leaves
    """
    return bandit(squared="9/2")


@privacy(rows, "LINUCB/four", "a sensitivity of 2", expect="refuted", role="control", accounting="")
def four() -> PrivacyAudit:
    """Linear UCB with noise for a squared sensitivity of 4 is jointly 1-GDP

    a user enters one tree, of four leaves
    """
    return bandit(squared="4")


@privacy(
    rows, "LINUCB/leak", "an action shown to the next user", expect="refuted", role="control", accounting=""
)
def leak() -> PrivacyAudit:
    """Linear UCB that shows each action to the next user too is jointly 1-GDP

    a user enters one tree, of four leaves
    """
    return bandit(squared="9/2", leaks=True)
