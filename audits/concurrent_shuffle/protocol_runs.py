"""What the rows on whole protocols share: small trees of concurrent shufflers, who changes in them, and what
the nodes' mechanisms are by their proofs.

The bandit has two features and two actions; its data lie on the grid of the node's encoding (multiples of
1/2), so that no rounding is drawn. On it the statistics of an action, vector and matrix together, move by at
most 4 squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.claims import ApproxDP
from dpaudit.coins import Coins
from dpaudit.neighbours import Neighbours
from dpaudit.proofs.build import LossGrid, Proof, accounted, integer_noise
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.views import SHUFFLER_OUTPUT, View
from mechanisms.binary_sum import BinarySum, binary_sum_mechanism
from mechanisms.concurrent_protocol import NodeRelease, concurrent_sums
from mechanisms.concurrent_tree import Node, Tree

__all__ = ["BITS", "GRID", "calibrated", "node_release", "sum_audit"]

BITS = "a user's bit, fixed in advance"
GRID = "contexts of length at most 1 with entries in multiples of 1/2, rewards -1, 0 or 1"
#: Lines that no history can enter, for they depend on public parameters, or on data out of the domain.
UNENTERED = {
    "BinarySum.__call__ (raise)": "refuses a batch of another size: batches are full",
    "Tree.check_time (raise)": "refuses a user who is not there",
    "checked_users (raise)": "refuses data outside the domain, which no neighbour of the audit is",
    "_rounded": "rounding, which data on the grid of 1/g do not need",
}


def calibrated(tree: Tree, *, epsilon: Fraction, delta: Fraction, parts: int) -> list[BinarySum]:
    """The node mechanism of each height, calibrated to (ε, δ) over ``parts``."""
    return [binary_sum_mechanism(size, epsilon / parts, delta / parts) for size in tree.sizes]


def node_release(heights: Sequence[BinarySum]) -> NodeRelease:
    """The release of a node of bits: the mechanism of its height, shown at the site of its height."""

    def release(coins: Coins, bits: NDArray[Any], node: Node) -> Any:
        return heights[node.height - 1](coins, bits.tolist(), site=f"height {node.height}")

    return release


def _noise(mechanism: BinarySum) -> Proof:
    law = mechanism.noise
    return integer_noise("binomial", sensitivity=1, trials=law.trials, probability=law.p)


def bit_pairs(horizon: int) -> list[Neighbours]:
    """The first user's bit changes, among zeros and among ones, and one in the middle."""
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
    """Continual sums over ``tree`` with these node mechanisms, claimed to be (ε, δ)-DP in the view of all
    shufflers' outputs and estimates."""
    sites = [
        Site(f"height {place}", mechanism=_noise(mechanism))
        for place, mechanism in enumerate(heights, start=1)
    ]
    words = "a user sends to one batch of every shuffler"
    return PrivacyAudit(
        claim=ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT), domain=BITS),
        program=concurrent_sums(tree, node_release(heights)),
        neighbours=lambda run: bit_pairs(tree.horizon),
        sites=sites,
        because=words,
        proof=accounted(sites, declared=words, grid=LossGrid()),
        unentered=UNENTERED,
        samples=1,
    )
