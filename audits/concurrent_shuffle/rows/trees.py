"""Check the trees: shufflers, batches per user, terms per prefix, the central tree, and one shuffler for
several mechanisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log2

import numpy as np

from audits.concurrent_shuffle.labelled_messages import labelled_distance, order_distance
from dpaudit.coins import Sampler
from dpaudit.core.suite import Group
from dpaudit.reference.mechanisms.concurrent_protocol import ContinualServer
from dpaudit.reference.mechanisms.concurrent_tree import (
    Tree,
    binary_tree,
    build_tree,
    highest_complete_nodes,
    left_siblings,
    node_counts,
    prefix_nodes,
)
from dpaudit.reference.mechanisms.shuffler_schedule import (
    active_batches,
    conflicts,
    shuffler_schedule,
)
from dpaudit.suite import Chain, Sides, full, inequality, listed, over

__all__ = ["rows"]

rows = Group("Trees, schedules and counts")

POWERS = over(levels=(*range(2, 11), full(12, 14, 16)))


def held(tree: Tree) -> Iterator[int]:
    """Return how many estimates the server stores after each step."""
    server, coins = ContinualServer(tree, lambda coins, batch, node: 0.0), Sampler(np.random.default_rng(0))
    values = np.zeros(tree.horizon)
    for t in range(1, tree.horizon + 1):
        server.step(coins, t, values)
        yield len(server.nodes)


def batches_of_users(tree: Tree) -> set[int]:
    """Return the number of batches per user, as one number if it is the same for all."""
    return {len(active_batches(tree, t)) for t in range(1, tree.horizon + 1)}


@inequality(rows, "TKMS23-S31a", "Section 3.1, Algorithm 2", over=POWERS, measure="left - right")
def binary_counts(levels: int) -> Chain:
    """Algorithm 2, n = 2^i: log n - 1 shufflers, every user in log n - 1 mechanisms, |V_t| <= log n, memory
    O(log n)

    Check every time and user: the schedule of all batches, their overlaps, the nodes of every prefix, and
    the estimates that the server stores. i = levels.

    Note: memory is at most log n - 1 stored estimates, so the constant of O(log n) is 1; the largest |V_t|
    is log n - 1 as well
    """
    tree = binary_tree(2**levels)
    busy = batches_of_users(tree)
    return {
        "a user's mechanisms are at most log n - 1": (max(busy), levels - 1),
        "and at least log n - 1": (levels - 1, min(busy)),
        "shufflers used are at most log n - 1": (
            len({b.shuffler for b in shuffler_schedule(tree)}),
            levels - 1,
        ),
        "batches opened while their shuffler is taken are at most 0": (
            len(conflicts(shuffler_schedule(tree))),
            0,
        ),
        "|V_t| <= log n": (int(node_counts(tree).sum(axis=1).max()), levels),
        "stored estimates are at most log n": (max(held(tree)), levels),
    }


@inequality(
    rows,
    "TKMS23-S32cnt",
    "Section 3.2, Algorithm 3, footnote 11",
    over=over(m=(2, 3, full(16, 64)), shufflers=1)
    + over(m=(2, 3), shufflers=2)
    + over(m=(2, full(3, 4)), shufflers=3),
    measure="left - right",
)
def counts(m: int, shufflers: int) -> Chain:
    """Algorithm 3, n = d^k d_low: every user in at most k mechanisms, |V_t| <= k(d - 1) for t < n, V_n the
    d children of the root, at most d_low - 1 blind users and none if d_low divides t

    Check every time, user and height of the exact instances d = m^2, d_low = m, n = m^(2k+1), k =
    shufflers.

    Note: one display in the proof of Theorem 3.4 counts 1 + (k - 1)(d - 1) terms; the largest |V_t| is k(d
    - 1) before the end and max(d, k(d - 1)) overall, so k(d - 1) + 1 holds for all t
    """
    k, d, low = shufflers, m**2, m
    tree = build_tree(horizon=m ** (2 * k + 1), n_shufflers=k)
    each = node_counts(tree)
    before = each[:-1]
    blind = [tree.blind(t) for t in range(1, tree.horizon + 1)]
    return {
        "n <= d^k d_low": (tree.horizon, d**k * low),
        "n >= d^k d_low": (d**k * low, tree.horizon),
        "a user's mechanisms are at most k": (max(batches_of_users(tree)), k),
        "a height's part of V_t is at most d - 1, t < n": (int(before.max()), d - 1),
        "|V_t| <= k(d - 1), t < n": (int(before.sum(axis=1).max()), k * (d - 1)),
        "V_n is at most d children of the root": (int(each[-1].sum()), d),
        "and at least d of them": (d, int(each[-1, -1])),
        "blind users are at most d_low - 1": (max(blind), low - 1),
        "blind users where d_low divides t are at most 0": (max(blind[low - 1 :: low]), 0),
        "batches opened while their shuffler is taken are at most 0": (
            len(conflicts(shuffler_schedule(tree))),
            0,
        ),
    }


@inequality(
    rows,
    "TKMS23-D3.1",
    "Definition 3.1",
    over=over(levels=(3, 5, full(8))) + listed("m shufflers", (2, 1), (3, 1), (2, 2), (2, 3)),
    measure="left - right",
)
def one_definition(levels: int = 0, m: int = 0, shufflers: int = 0) -> Sides:
    """Both descriptions of V_t give the same nodes: the highest complete nodes, and the left siblings on
    the path to leaf t + 1 (at t = n the children of the root)

    Count the times at which the descriptions differ from each other or from the greedy sum over sizes, for
    Algorithm 2 with n = 2^levels and Algorithm 3 with n = m^(2k+1).
    """
    tree = (
        binary_tree(2**levels)
        if levels
        else build_tree(horizon=m ** (2 * shufflers + 1), n_shufflers=shufflers)
    )
    differing = sum(
        not prefix_nodes(tree, t) == highest_complete_nodes(tree, t) == left_siblings(tree, t)
        for t in range(tree.horizon + 1)
    )
    return differing, 0


# Servers with the wrong timing


@inequality(
    rows,
    "TKMS23-T3.4/late",
    "Algorithm 3, broken",
    over=listed("m shufflers", (2, 1), (3, 2)),
    role="control",
    expect="refuted",
    measure="left - right",
)
def late_prefix(m: int, shufflers: int) -> Sides:
    """A server that adds V_{t-1} at time t is off by at most d_low - 1 without noise

    The input is all ones. Every time is checked.
    """
    tree = build_tree(horizon=m ** (2 * shufflers + 1), n_shufflers=shufflers)
    found = (sum(node.size for node in prefix_nodes(tree, t - 1)) for t in range(1, tree.horizon + 1))
    return max(t - total for t, total in enumerate(found, start=1)), m - 1


@inequality(
    rows,
    "TKMS23-S31a/early",
    "Algorithm 1, broken",
    over=listed("m shufflers", (2, 1), (3, 2)),
    role="control",
    expect="refuted",
    measure="left - right",
)
def early_opening(m: int, shufflers: int) -> Sides:
    """Shufflers that open for the next batch in the step in which they are read never hold two batches

    Count the batches that are opened while their shuffler is in use.
    """
    tree = build_tree(horizon=m ** (2 * shufflers + 1), n_shufflers=shufflers)
    early = [replace(batch, open_time=max(1, batch.open_time - 1)) for batch in shuffler_schedule(tree)]
    return len(conflicts(early)), 0


# The central tree


@inequality(
    rows, "TKMS23-S22", "Section 2.2, Figure 1 (Dwork et al. 2010)", over=POWERS, measure="left - right"
)
def central_counts(levels: int) -> Chain:
    """The central tree with Figure 1's nodes, n = 2^i: a prefix uses at most p = log n nodes, a user
    changes at most p, and if each is (ε/p)-DP, the tree is ε-DP

    The tree has levels 0 to log n - 1, including single users and without the root. Check every time and
    user. i = levels.

    Note: exactly log n nodes change, so the budget ε/p is used up; the introduction omits the single users,
    which leaves the budget of one level unused
    """
    tree = build_tree(horizon=2**levels, n_shufflers=levels, degree=2, leaf_degree=1)
    changed = max(batches_of_users(tree))
    return {
        "|V_t| <= log n": (int(node_counts(tree).sum(axis=1).max()), round(log2(tree.horizon))),
        "nodes above a user are at most log n": (changed, levels),
        "budgets above a user add up to at most ε": (changed - tree.budget_parts, 0),
    }


# One shuffler for several mechanisms


@inequality(
    rows,
    "TKMS23-PAR",
    "Section 1 (Cheu 2021; Cheu et al. 2022)",
    over=listed("users labels", (2, 2), (3, 2), (4, 2), (2, 3)),
    measure="left - right",
)
def one_shuffler(users: int, labels: int) -> Chain:
    """Without continual observation several mechanisms can run in parallel through one shuffler: shuffling
    all labelled messages reveals the same as shuffling each mechanism's messages alone

    Enumerate all permutations of the labelled messages. The joint distribution of the sequences per label
    equals independent uniform permutations, one per mechanism. The places of the labels are independent of
    them.

    Note: the failure under continual observation needs no computation: a shuffler that waits for the last
    of several batches cannot release the first one earlier
    """
    return {
        "distance between the distributions of the sequences": (
            labelled_distance(users=users, labels=labels),
            0,
        ),
        "dependence on the labels' places": (order_distance(users=users, labels=labels), 0),
    }


rows.not_checkable(
    "TKMS23-PAR/continual",
    reason="'not true when the adversary continually observes reports' compares two models informally: it "
    "names no mechanism and no quantity that a computation could decide.",
)
