"""Replay the tree of Algorithm 2 with known mistakes. Each must be refuted, and the correct tree must not
be."""

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
#: Noise of an entry on the diagonal, so that two nodes that move by √2 cost mu = 1/2.
VARIANCE = Fraction(8 * NODES)
MECHANISM = gaussian_mechanism(sensitivity_squared="2.000001", variance=VARIANCE)
#: The arm of a user who explores.
ARMS = Ball(1)
CLAIM = GaussianDP(mu="0.501", domain=str(ARMS))


def tree(coins: Coins, data: Any, variance: Fraction = VARIANCE) -> None:
    """Release the prefixes of x xᵀ over the users."""
    prefixes(coins, [np.outer(x, x) for x in np.asarray(data, dtype=float)], variance=variance)


def halved(coins: Coins, data: Any) -> None:
    """Use half of the variance off the diagonal, where the leaves are √2 times as large relative to it."""
    weights = 1 + (math.sqrt(2) - 1) * (1 - np.eye(2))
    prefixes(coins, [weights * np.outer(x, x) for x in np.asarray(data, dtype=float)], variance=VARIANCE)


def redrawn(coins: Coins, data: Any) -> None:
    """Read each prefix twice, with nodes drawn anew. A user is in every reading from the user's round on."""
    leaves = [np.outer(x, x) for x in np.asarray(data, dtype=float)]
    for t in (1, 1, 2, 2, 3, 3):
        coins.release(noise_units(np.sum(leaves[:t], axis=0)), Gaussian(variance=VARIANCE), site="node")


def one_more(coins: Coins, data: Any) -> None:
    """Add that round's leaf, without noise, to the prefix before a round."""
    tree(coins, data)
    coins.reveal(float(np.asarray(data, dtype=float)[0, 0] ** 2), site="last leaf")


def longer_between(coins: Coins, data: Any) -> None:
    """Make leaves of arms that are neither short nor long six times as large."""
    arms = np.asarray(data, dtype=float)
    weights = [1 + 5 * (abs(float(x @ x) - 0.25) < 0.2) for x in arms]
    leaves = [weight * np.outer(x, x) for weight, x in zip(weights, arms, strict=True)]
    prefixes(coins, leaves, variance=VARIANCE)


def longer_aslant(coins: Coins, data: Any) -> None:
    """Make leaves larger off the axes and off the diagonals."""
    arms = np.asarray(data, dtype=float)
    products = np.abs(arms[:, 0] * arms[:, 1])
    weights = 1 + 30 * products * np.abs(0.5 - products)
    leaves = [weight * np.outer(x, x) for weight, x in zip(weights, arms, strict=True)]
    prefixes(coins, leaves, variance=VARIANCE)


def trace_shown(coins: Coins, data: Any) -> None:
    """Release the sum of squared lengths with the prefixes."""
    tree(coins, data)
    coins.reveal(float(np.round(np.sum(np.asarray(data, dtype=float) ** 2), 6)), site="trace")


def long_second(coins: Coins, data: Any) -> None:
    """Release whether the second user's arm is long with the prefixes."""
    tree(coins, data)
    coins.reveal(int(np.linalg.norm(np.asarray(data, dtype=float)[1]) > 0.7), site="long")


ROOT = math.sqrt(0.5)
#: A user's arm for both neighbours, and the two others' arms: unit arms of 1 and 2, then short, oblique and
#: zero arms in every place.
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
    """Yield a pair for each of CHANGES."""
    found = []
    for place, here, there, *others in CHANGES:
        left, right = ([*others[:place], arm, *others[place:]] for arm in (here, there))
        found.append(
            Neighbours(f"user {place + 1} from {here} to {there}, the other users {others}", left, right)
        )
    return found


def audit(program: Any) -> PrivacyAudit:
    """Audit ``program`` against the claim of the tree."""
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
    """Audit ``program`` instead of the tree, under the same replays. It must be refuted."""
    return broken(audit(tree), lambda right: program)


def all_nodes(program: Any, place: int, *, expect: str = "refuted") -> Control:
    """Return the exact loss of all nodes at a pair. No node's value depends on another's noise."""
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


@controls(rows, "SAR-I.4p/controls", "Appendix I.1 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Every broken tree is refuted, and the correct one is not

    Three users, d = 2, two nodes above the first leaves, noise for a change of √2 in Frobenius norm, μ =
    1/2. The arm of each user changes: unit arms, short, zero and oblique ones, both signs.
    """
    return {
        "noise for a change of 1": all_nodes(partial(tree, variance=VARIANCE / 2), 0),
        "half of the variance off the diagonal": all_nodes(halved, 1),
        "nodes drawn anew for each of two readings": all_nodes(redrawn, 0),
        "the round's own leaf in the prefix, without noise": instead(one_more),
        "six times as large if the arm is of middle length": all_nodes(longer_between, 3),
        "larger if the arm is oblique": instead(longer_aslant),
        "the sum of squared lengths is released": instead(trace_shown),
        "whether the second arm is long is released": instead(long_second),
        "correct, all nodes": all_nodes(tree, 0, expect="inconclusive"),
        "correct": program_control(audit(tree), expect="consistent"),
    }
