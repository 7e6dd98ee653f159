"""The tree of Algorithm 2 with known mistakes, replayed: each must be refuted, the tree itself must not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from audits.glm_bandits.rows.joint_program import played
from dpaudit.certify.build import accounted, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.coins import Coins
from dpaudit.core.claims import GaussianDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Gaussian
from dpaudit.reference.mechanisms.matrix_tree import noise_units, prefixes
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Ball
from dpaudit.suite import broken, controls, program_control
from dpaudit.suite.controls import Control

__all__ = ["rows"]

rows = Group("Trees of Algorithm 2: mistakes", kind="structure")

USERS, NODES = 3, 2
#: Of an entry on the diagonal, so that two nodes that move by √2 cost mu = 1/2.
VARIANCE = Fraction(8 * NODES)
MECHANISM = gaussian_mechanism(sensitivity_squared="2.000001", variance=VARIANCE)
#: The arm of a user, who explores.
ARMS = Ball(1)
CLAIM = GaussianDP(mu="0.501", domain=str(ARMS))


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


def longer_between(coins: Coins, data: Any) -> None:
    """Leaves of arms that are neither short nor long are six times as large."""
    arms = np.asarray(data, dtype=float)
    weights = [1 + 5 * (abs(float(x @ x) - 0.25) < 0.2) for x in arms]
    leaves = [weight * np.outer(x, x) for weight, x in zip(weights, arms, strict=True)]
    prefixes(coins, leaves, variance=VARIANCE)


def longer_aslant(coins: Coins, data: Any) -> None:
    """Leaves are larger off the axes and off the diagonals."""
    arms = np.asarray(data, dtype=float)
    products = np.abs(arms[:, 0] * arms[:, 1])
    weights = 1 + 30 * products * np.abs(0.5 - products)
    leaves = [weight * np.outer(x, x) for weight, x in zip(weights, arms, strict=True)]
    prefixes(coins, leaves, variance=VARIANCE)


def trace_shown(coins: Coins, data: Any) -> None:
    """The sum of squared lengths, beside the prefixes."""
    tree(coins, data)
    coins.reveal(float(np.round(np.sum(np.asarray(data, dtype=float) ** 2), 6)), site="trace")


def long_second(coins: Coins, data: Any) -> None:
    """Whether the second user's arm is long, beside the prefixes."""
    tree(coins, data)
    coins.reveal(int(np.linalg.norm(np.asarray(data, dtype=float)[1]) > 0.7), site="long")


ROOT = math.sqrt(0.5)
#: A user's arm on either side, and the two others' arms: unit arms of 1 and 2, then short, oblique and null
#: ones in every place.
CHANGES = [
    (0, (1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 0.0)),
    (0, (ROOT, ROOT), (ROOT, -ROOT), (1.0, 0.0), (1.0, 0.0)),
    (0, (0.96, 0.28), (-0.28, 0.96), (0.6, 0.8), (0.0, 0.0)),
    (0, (0.5, 0.0), (0.0, -1.0), (-0.6, 0.8), (0.0, 0.4)),
    (1, (0.6, -0.8), (0.3, 0.4), (0.0, 1.0), (-0.5, 0.5)),
    (1, (0.0, 0.0), (-0.28, 0.96), (0.5, 0.5), (0.0, -1.0)),
    (2, (-0.8, 0.6), (0.6, 0.8), (-1.0, 0.0), (0.25, 0.0)),
    (2, (0.3, -0.4), (1.0, 0.0), (0.0, 0.0), (0.8, 0.6)),
]


def pairs() -> list[Neighbours]:
    """Each of CHANGES."""
    found = []
    for place, here, there, *others in CHANGES:
        left, right = ([*others[:place], arm, *others[place:]] for arm in (here, there))
        found.append(Neighbours(f"user {place + 1} from {here} to {there}, beside {others}", left, right))
    return found


def audit(program: Any) -> PrivacyAudit:
    """``program`` against what the tree is claimed to be."""
    site = Site("node", mechanism=MECHANISM, touches=NODES)
    return PrivacyAudit(
        claim=CLAIM,
        domain=ARMS,
        program=program,
        neighbours=lambda run: pairs(),
        sites=[site],
        samples=1,
        proof=accounted([site], declared="a leaf is below one node a level, each released once"),
    )


def instead(program: Any) -> Control:
    """``program`` in place of the tree, under the same replays: to be refuted."""
    return broken(audit(tree), lambda right: program)


def all_nodes(program: Any, place: int, *, expect: str = "refuted") -> Control:
    """The exact loss of all nodes together at a pair: no node's value depends on another's noise."""
    pair = pairs()[place]

    def evaluate(run: Run) -> list[Evidence]:
        both = [played(program, 3, users) for users in (pair.left, pair.right)]
        variance = both[0][0][2]
        distributions = [
            Gaussian(variance=variance).shift(np.concatenate([value for _, value, _ in nodes]))
            for nodes in both
        ]
        return [
            whole_release_witness(
                CLAIM, distributions=distributions, site="node", to=PUBLIC.name,
                words=f"all nodes; {pair.name}", inputs=written_inputs(pair.left, pair.right),
            )
        ]  # fmt: skip

    return Control(claim=CLAIM, evaluate=evaluate, expect=expect)


@controls(rows, "SAR-I.4p/controls", "Appendix I.1, broken on purpose")
def mistakes() -> Mapping[str, Control]:
    """Every broken tree is refuted, and the correct one is not

    Three users, d = 2, two nodes above the first leaves, noise for a change of √2 in Frobenius norm, μ = 1/2.
    The arm of each user moves: unit arms, short, null and oblique ones, both signs.
    """
    return {
        "noise for a change of 1": all_nodes(partial(tree, variance=VARIANCE / 2), 0),
        "half of the variance off the diagonal": all_nodes(halved, 1),
        "nodes drawn anew for each of two readings": all_nodes(redrawn, 0),
        "the round's own leaf in the prefix, in the clear": instead(one_more),
        "six times as large where the arm is of middle length": all_nodes(longer_between, 3),
        "larger where the arm is oblique": instead(longer_aslant),
        "the sum of squared lengths is shown": instead(trace_shown),
        "whether the second arm is long is shown": instead(long_second),
        "correct, all nodes": all_nodes(tree, 0, expect="inconclusive"),
        "correct": program_control(audit(tree), expect="consistent"),
    }
