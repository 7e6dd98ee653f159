"""Share setup between the rows on whole protocols: small trees, pairs of neighbours, and proofs of node
mechanisms.

The pairs of the bandit's replays lie on the grid of the nodes' encoding, where nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.build import LossGrid, Proof, accounted, integer_noise
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP, PrivacyClaim
from dpaudit.core.data import Integers, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Sum
from dpaudit.reference.algorithms.contextual.batch_counters import binomial_sums
from dpaudit.reference.algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB, by_height
from dpaudit.reference.algorithms.contextual.protocol_instances import (
    DIM,
    declared_users,
    grid_pairs,
    on_the_grid,
    rounded_mechanism,
)
from dpaudit.reference.mechanisms.binary_sum import BinarySum, binary_sum_mechanism
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.concurrent_protocol import NodeRelease, concurrent_sums
from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values

__all__ = [
    "BITS",
    "bandit_audit",
    "bit_pairs",
    "bits_of",
    "calibrated",
    "node_release",
    "sum_audit",
]

#: A bit of every user, fixed in advance.
BITS = Values(0, 1)
#: Orders of the Rényi divergences that are added over the shufflers.
ORDERS = (8, 64)


def calibrated(tree: Tree, *, epsilon: Fraction, delta: Fraction, parts: int) -> list[BinarySum]:
    """Return the node mechanism of each height, calibrated to (ε, δ) over ``parts``."""
    return [binary_sum_mechanism(size, epsilon / parts, delta / parts) for size in tree.sizes]


def node_release(heights: Sequence[BinarySum]) -> NodeRelease:
    """Return the release of a node of bits: the mechanism of its height, released at the site of its
    height.

    The messages of users with one bit have one distribution.
    """
    sent = [[one.user_distribution(0), one.user_distribution(1)] for one in heights]

    def release(coins: Coins, bits: NDArray[Any], node: Node) -> Any:
        distributions = [sent[node.height - 1][bit] for bit in bits.tolist()]
        ones = coins.aggregate(distributions, Sum(), site=f"height {node.height}", to=SHUFFLER_OUTPUT)
        return heights[node.height - 1].analyze(ones)

    return release


def _noise(mechanism: BinarySum) -> Proof:
    distribution = mechanism.noise
    return integer_noise("binomial", sensitivity=1, trials=distribution.trials, probability=distribution.p)


def bits_of(tree: Tree) -> Records:
    """Return the data of continual sums over ``tree``: a bit of every user."""
    return Records(Integers(0, 1), size=tree.horizon)


def bit_pairs(horizon: int) -> list[Neighbours]:
    """Yield pairs in which the first user's bit changes, among zeros and among ones, or the bit of a user
    in the middle."""
    zeros, ones = np.zeros(horizon, dtype=np.int64), np.ones(horizon, dtype=np.int64)
    first, middle = zeros.copy(), ones.copy()
    first[0], middle[horizon // 2] = 1, 0
    return [
        Neighbours("all 0, the first user from 0 to 1", zeros, first),
        Neighbours("all 1, a user in the middle from 1 to 0", ones, middle),
    ]


def sum_audit(
    tree: Tree, heights: Sequence[BinarySum], *, epsilon: Fraction, delta: Fraction
) -> PrivacyAudit:
    """Audit continual sums over ``tree`` with these node mechanisms.

    The claim is (ε, δ)-DP in the view of all shufflers' outputs and estimates.
    """
    sites = [
        Site(f"height {place}", mechanism=_noise(mechanism))
        for place, mechanism in enumerate(heights, start=1)
    ]
    words = "a user sends to one batch of every shuffler"
    return PrivacyAudit(
        claim=ApproxDP(
            epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT), domain=bits_of(tree).words
        ),
        domain=BITS,
        program=concurrent_sums(tree, node_release(heights)),
        neighbours=lambda run: _of(run, bit_pairs(tree.horizon)),
        sites=sites,
        because=words,
        proof=accounted(sites, declared=words, grid=LossGrid()),
        samples=1,
    )


def _of(run: Run, pairs: Sequence[Neighbours]) -> Sequence[Neighbours]:
    """Return the pair with the largest shift, or all pairs in the full profile."""
    return run.choose(quick=pairs[:1], full=pairs)


# The bandit


def bandit_audit(tree: Tree, sheets: Sequence[VectorSheet], claim: PrivacyClaim) -> PrivacyAudit:
    """Audit Algorithm 4 over ``tree`` with the sheet of each height, under ``claim``."""
    sites = [
        Site(f"height {height}", mechanism=rounded_mechanism(sheet))
        for height, sheet in enumerate(sheets, start=1)
    ]
    releases = [binomial_sums(sheet, site=f"height {height}") for height, sheet in enumerate(sheets, start=1)]
    words = "a user sends the pair of vector and matrix to one batch of every shuffler"
    return PrivacyAudit(
        claim=replace(claim, domain=declared_users(tree.horizon).words),
        domain=on_the_grid(declared_users(tree.horizon)),
        program=ConcurrentLinUCB(
            tree=tree, release=by_height(releases), dim=DIM, ridge=10.0, radius=lambda t: 2.0
        ),
        neighbours=lambda run: _of(run, grid_pairs(tree.horizon - 1)),
        sites=sites,
        because=words,
        proof=accounted(sites, declared=words, orders=ORDERS),
        samples=1,
    )
