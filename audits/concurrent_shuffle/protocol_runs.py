"""What the rows on whole protocols share: small trees of concurrent shufflers, who changes in them, and what
the nodes' mechanisms are by their proofs.

The bandit has two features and two actions; its data lie on the grid of the node's encoding (multiples of
1/2), so that no rounding is drawn. On it the statistics of an action, vector and matrix together, move by at
most 4 squared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.contextual.batch_counters import binomial_sums
from algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB, by_height
from dpaudit.claims import ApproxDP, PrivacyClaim
from dpaudit.coins import Coins
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import ball, enclose, integer
from dpaudit.laws import Sum
from dpaudit.neighbours import Neighbours
from dpaudit.proofs.build import LossGrid, Proof, accounted, integer_noise, vector_noise
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.views import SHUFFLER_OUTPUT, View
from mechanisms.binary_sum import BinarySum, binary_sum_mechanism
from mechanisms.concurrent_protocol import NodeRelease, concurrent_sums
from mechanisms.concurrent_tree import Node, Tree

__all__ = [
    "BITS",
    "GRID",
    "GRID_SQUARES",
    "bandit_audit",
    "bit_pairs",
    "calibrated",
    "node_bits",
    "node_release",
    "sum_audit",
    "user_pairs",
]

BITS = "a user's bit, fixed in advance"
GRID = "contexts of length at most 1 with entries in multiples of 1/2, rewards -1, 0 or 1"
#: The squared l2 change of an action's statistics on the grid of halves, at most: turned around, at reward 1.
GRID_SQUARES = 4
#: Orders of the divergences that add up over the shufflers.
ORDERS = (8,)
#: Lines that no history can enter, for they depend on public parameters, or on data out of the domain.
UNENTERED = {
    "Tree.check_time (raise)": "refuses a user who is not there",
    "checked_users (raise)": "refuses data outside the domain, which no neighbour of the audit is",
    "_rounded": "rounding, which data on the grid of 1/g do not need",
}


def calibrated(tree: Tree, *, epsilon: Fraction, delta: Fraction, parts: int) -> list[BinarySum]:
    """The node mechanism of each height, calibrated to (ε, δ) over ``parts``."""
    return [binary_sum_mechanism(size, epsilon / parts, delta / parts) for size in tree.sizes]


def node_release(heights: Sequence[BinarySum]) -> NodeRelease:
    """The release of a node of bits: the mechanism of its height, shown at the site of its height. What users
    with one bit send has one law."""
    sent = [[one.user_law(0), one.user_law(1)] for one in heights]

    def release(coins: Coins, bits: NDArray[Any], node: Node) -> Any:
        laws = [sent[node.height - 1][bit] for bit in bits.tolist()]
        ones = coins.aggregate(laws, Sum(), site=f"height {node.height}", to=SHUFFLER_OUTPUT)
        return heights[node.height - 1].analyze(ones)

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


# The bandit


def node_bits(size: int, *, shufflers: int, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """(g, b) of P_Vec at a node of ``size`` users with budget (ε/k, δ/k), d = 2, rounded up: max{2 sqrt |L|, d,
    4} and 24 10^4 g² log(4 (d² + 1) k/δ)² k²/(ε² |L|).
    """
    g = max(4, math.isqrt(4 * size - 1) + 1)
    b = enclose(
        lambda: ln(4 * 5 * shufflers / delta) ** 2 * ball(240_000 * g**2 * shufflers**2 / (epsilon**2 * size))
    )
    return g, integer(b.ceil())


def user_pairs(horizon: int) -> list[Neighbours]:
    """The first user's contexts turn around, or by a right angle, on the grid of halves."""
    rest = [[[1.0, 0.0, 1.0], [0.5, 0.5, -1.0]] for _ in range(horizon - 1)]

    def with_first(x: Sequence[float]) -> Any:
        return np.array([[[*x, 1.0], [*x, 1.0]], *rest])

    return [
        Neighbours("the first user turns around", with_first([1.0, 0.0]), with_first([-1.0, 0.0])),
        Neighbours("the first user turns by a right angle", with_first([1.0, 0.0]), with_first([0.0, 1.0])),
    ]


def bandit_audit(tree: Tree, bits: Sequence[tuple[int, int]], claim: PrivacyClaim) -> PrivacyAudit:
    """Algorithm 4 over ``tree`` with the (g, b) of each height under ``claim``."""
    sites = [
        Site(f"height {height}", mechanism=_vectors(size, *parameters))
        for height, (size, parameters) in enumerate(zip(tree.sizes, bits, strict=True), start=1)
    ]
    releases = [
        binomial_sums(precision=g, trials=b, site=f"height {height}")
        for height, (g, b) in enumerate(bits, start=1)
    ]
    words = "a user sends to one batch of every shuffler, vector and matrix together"
    return PrivacyAudit(
        claim=claim,
        program=ConcurrentLinUCB(
            tree=tree, release=by_height(releases), dim=2, ridge=10.0, radius=lambda t: 2.0
        ),
        neighbours=lambda run: user_pairs(tree.horizon),
        sites=sites,
        because=words,
        proof=accounted(sites, declared=words, orders=ORDERS),
        unentered=UNENTERED,
        samples=1,
    )


def _vectors(size: int, precision: int, trials: int) -> Proof:
    return vector_noise(
        "binomial",
        dimension=5,
        l2_squared=GRID_SQUARES * precision**2,
        largest=2 * precision,
        orders=ORDERS,
        trials=size * trials,
        probability=Fraction(1, 4),
    )
