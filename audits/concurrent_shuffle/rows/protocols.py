"""Audit the whole protocols as programs: the view is the output of all shufflers, as in Definition CSDP.

A user sends to one batch of every shuffler. The view contains all full batches with their boundaries, as
the number of ones under each label, and the estimates that follow. Bits that are summed are fixed in
advance. In the bandit a user's action follows from the estimates sent to that user, so later inputs react
to earlier outputs. The nodes compose adaptively, and neighbours differ in one user's contexts and rewards.

Node mechanisms of bits are calibrated. They replace the cited mechanism, which the paper does not print.
The theorems accept any node with the same privacy.
"""

from __future__ import annotations

from fractions import Fraction

from audits.concurrent_shuffle.protocol_runs import bandit_audit, bits_of, calibrated, sum_audit
from dpaudit.core.claims import ApproxDP
from dpaudit.core.data import Records, Table
from dpaudit.core.suite import Group
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.reference.algorithms.contextual.protocol_instances import declared_users
from dpaudit.reference.mechanisms.binomial_vectors import printed_sheet
from dpaudit.reference.mechanisms.concurrent_tree import Tree, binary_tree, build_tree
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import full, over, privacy

__all__ = ["rows"]

rows = Group("Whole protocols, run as programs")

EPSILON, DELTA = Fraction(9, 10), Fraction(1, 10)


EIGHT = binary_tree(8)


@privacy(rows, "TKMS23-T3.2p/protocol", "Theorem 3.2, Algorithm 2", accounting="", prove=bits_of(EIGHT))
def binary() -> PrivacyAudit:
    """Algorithm 2 with 8 users: both shufflers' outputs, all batches, are (ε, δ)-DP, ε = 9/10, δ = 1/10

    The nodes are calibrated to (ε, δ) over log₂ n = 3.
    """
    heights = calibrated(EIGHT, epsilon=EPSILON, delta=DELTA, parts=3)
    return sum_audit(EIGHT, heights, epsilon=EPSILON, delta=DELTA)


def _binary_degrees(n_shufflers: int) -> Tree:
    """Return the tree of k heights whose degrees are all 2."""
    return build_tree(horizon=2 ** (n_shufflers + 1), n_shufflers=n_shufflers, degree=2, leaf_degree=2)


def _users(n_shufflers: int, **_: int) -> Table:
    return declared_users(_binary_degrees(n_shufflers).horizon)


def _bits(n_shufflers: int) -> Records:
    return bits_of(_binary_degrees(n_shufflers))


@privacy(
    rows,
    "TKMS23-T3.4/protocol",
    "Theorem 3.4, Algorithm 3",
    over=over(n_shufflers=[1, full(2), full(3)]),
    accounting="",
    prove=_bits,
)
def degrees(n_shufflers: int) -> PrivacyAudit:
    """Algorithm 3: all k shufflers' outputs, all batches, are (ε, δ)-DP, ε = 9/10, δ = 1/10

    There are 2^(k + 1) users, all degrees are 2, and the nodes are calibrated to (ε, δ) over k.
    """
    tree = _binary_degrees(n_shufflers)
    heights = calibrated(tree, epsilon=EPSILON, delta=DELTA, parts=n_shufflers)
    return sum_audit(tree, heights, epsilon=EPSILON, delta=DELTA)


@privacy(
    rows,
    "TKMS23-T5.1p/protocol",
    "Theorem 5.1 = C.3, Algorithm 4; the budget halved between vector and matrix",
    over=over(n_shufflers=[1, full(2)]),
    accounting="",
    share=2,
    prove=_users,
)
@privacy(
    rows,
    "TKMS23-T5.1p/undivided",
    "Algorithm 4, vector and matrix each with all of the budget",
    role="what-if",
    over=over(n_shufflers=[1, full(2)]),
    accounting="",
    share=1,
    prove=_users,
)
def bandit(n_shufflers: int, share: int) -> PrivacyAudit:
    """Algorithm 4: all k shufflers' outputs, vector and matrix, to which users react, are (ε, δ)-DP

    ε = 9/10, δ = 2/5. There are 2^(k + 1) users and all degrees are 2. The nodes use g and b as printed for
    (ε, δ) over {share} k. Certificate and proof hold for every rounding of the entries. The replays' data lie
    on the grid of halves, where nothing is rounded.
    """
    epsilon, delta = Fraction(9, 10), Fraction(2, 5)
    tree = _binary_degrees(n_shufflers)
    parts = n_shufflers * share
    sheets = [
        printed_sheet(dim=2, batch_size=size, epsilon=epsilon / parts, delta=delta / parts)
        for size in tree.sizes
    ]
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT))
    return bandit_audit(tree, sheets, claim)
