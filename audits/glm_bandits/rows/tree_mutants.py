"""The tree of Algorithm 2 with known mistakes, replayed: each must be refuted, the tree itself must not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpaudit.claims import GaussianDP
from dpaudit.coins import Coins
from dpaudit.laws import Gaussian
from dpaudit.neighbours import Neighbours
from dpaudit.proofs.build import accounted, gaussian_mechanism
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.rows import controls, program_control
from dpaudit.rows.controls import Control
from dpaudit.suite import Group
from mechanisms.matrix_tree import noise_units, prefixes

__all__ = ["rows"]

rows = Group("Trees of Algorithm 2: mistakes", kind="structure")

USERS, NODES = 3, 2
#: Of an entry on the diagonal, so that two nodes that move by √2 cost mu = 1/2.
VARIANCE = Fraction(8 * NODES)
MECHANISM = gaussian_mechanism(sensitivity_squared="2.000001", variance=VARIANCE)
CLAIM = GaussianDP(mu="0.501", domain="a user's arm, ||x|| <= 1, explored")


def tree(coins: Coins, data: Any, variance: Fraction = VARIANCE) -> None:
    """The prefixes of x xᵀ over the users."""
    prefixes(coins, [np.outer(x, x) for x in np.asarray(data, dtype=float)], variance=variance)


def halved(coins: Coins, data: Any) -> None:
    """Half of the variance off the diagonal: there the leaves are √2 times as large against it."""
    weights = 1 + (math.sqrt(2) - 1) * (1 - np.eye(2))
    prefixes(coins, [weights * np.outer(x, x) for x in np.asarray(data, dtype=float)], variance=VARIANCE)


def redrawn(coins: Coins, data: Any) -> None:
    """Each prefix read twice, with nodes drawn anew: a user is in every reading from her round on."""
    leaves = [np.outer(x, x) for x in np.asarray(data, dtype=float)]
    for t in (1, 1, 2, 2, 3, 3):
        coins.release(noise_units(np.sum(leaves[:t], axis=0)), Gaussian(variance=VARIANCE), site="node")


def one_more(coins: Coins, data: Any) -> None:
    """The prefix before a round taken with that round's leaf, in the clear."""
    tree(coins, data)
    coins.reveal(float(np.asarray(data, dtype=float)[0, 0] ** 2), site="last leaf")


def audit(program: Any) -> PrivacyAudit:
    """``program`` against what the tree is claimed to be."""
    site = Site("node", mechanism=MECHANISM, touches=NODES)
    others = [[1.0, 0.0]] * (USERS - 1)
    root = math.sqrt(0.5)
    pairs = {"e_1 to e_2": ([1.0, 0.0], [0.0, 1.0]), "off the diagonal": ([root, root], [root, -root])}
    return PrivacyAudit(
        claim=CLAIM,
        program=program,
        neighbours=lambda run: [
            Neighbours(name, [here, *others], [there, *others]) for name, (here, there) in pairs.items()
        ],
        sites=[site],
        samples=1,
        proof=accounted([site], declared="a leaf is below one node a level, each released once"),
    )


@controls(rows, "SAR-I.4p/controls", "Appendix I.1, broken on purpose")
def mistakes() -> Mapping[str, Control]:
    """Every broken tree is refuted, and the correct one is not

    Three users, d = 2, two nodes above the first leaves, noise for a change of √2 in Frobenius norm, μ = 1/2.
    """
    return {
        "noise for a change of 1": program_control(audit(partial(tree, variance=VARIANCE / 2))),
        "half of the variance off the diagonal": program_control(audit(halved)),
        "nodes drawn anew for each of two readings": program_control(audit(redrawn)),
        "the round's own leaf in the prefix, in the clear": program_control(audit(one_more)),
        "correct": program_control(audit(tree), expect="verified"),
    }
