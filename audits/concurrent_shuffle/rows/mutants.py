"""Check that every broken continual sum is detected. The correct versions are in the rows on the protocols.

The first release refutes noise that is too small. Budgets that are not divided, and a shuffler that is
reopened too early, violate the claim only if all outputs are combined, so small programs are enumerated. A
server that adds the wrong nodes is private but wrong, so its sums without noise are compared with V_t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from audits.concurrent_shuffle.protocol_runs import calibrated, node_release, sum_audit
from dpaudit.coins import Coins, Program, record
from dpaudit.core.claims import ApproxDP, Ordering
from dpaudit.core.evidence import Estimate
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.reference.algorithms.contextual.batch_counters import binomial_sums
from dpaudit.reference.algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB, by_height
from dpaudit.reference.algorithms.contextual.protocol_instances import FirstUser
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.concurrent_protocol import ReadAt, concurrent_sums
from dpaudit.reference.mechanisms.concurrent_tree import (
    Node,
    Tree,
    binary_tree,
    build_tree,
    highest_complete_nodes,
)
from dpaudit.reference.mechanisms.shuffler_schedule import read_at
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import Control, broken, controls, one_share_less, reusing, shared, widened, without

__all__ = ["rows"]

rows = Group("Mutants of continual sums")

EPSILON, DELTA = Fraction(9, 10), Fraction(1, 10)
FOUR = build_tree(horizon=4, n_shufflers=1, degree=2, leaf_degree=2)
#: Two users, a shuffler for each alone and one for both.
TWO = Tree(horizon=2, sizes=(1, 2), length=2, budget_parts=2)


def summed_out(program: Program, *, users: int) -> Control:
    """Compare the program with (ε, δ) in the shufflers' view, exactly, on all datasets of this size."""
    over = DataSets(records=users, values=(0, 1))
    claim = ApproxDP(epsilon=EPSILON, delta=DELTA, view=View.of(SHUFFLER_OUTPUT), domain=str(over))
    table = enumerated(claim, program, over=over)
    return Control(claim=claim, evaluate=table, digest=table.fingerprint)


def still_open(tree: Tree, t: int) -> Sequence[Node]:
    """Run batches of two that begin with every user, so that a shuffler is reopened before it is done."""
    return [Node(1, t - 1, t)] if t > 1 else []


@controls(rows, "TKMS23-M/privacy", "Algorithms 1 to 3 with deliberate mistakes")
def private() -> dict[str, Control]:
    """Every broken continual sum is detected in the view of all shufflers"""
    (heights,) = calibrated(FOUR, epsilon=EPSILON, delta=DELTA, parts=1)
    right = sum_audit(FOUR, [heights], epsilon=EPSILON, delta=DELTA)

    def with_bits(trials: int) -> Control:
        less = replace(heights, trials=trials)
        return broken(right, lambda program: concurrent_sums(FOUR, node_release([less])))

    undivided = calibrated(TWO, epsilon=EPSILON, delta=DELTA, parts=1)
    three = build_tree(horizon=3, n_shufflers=1, degree=2, leaf_degree=2)
    return {
        "noise as for twice the batch": with_bits(-(-heights.trials // 2)),
        "a bit of noise each": with_bits(1),
        "no noise": broken(right, without()),
        "one user's noise is missing": broken(right, one_share_less()),
        "the budget is not divided": summed_out(concurrent_sums(TWO, node_release(undivided)), users=2),
        "a shuffler is opened again too early": summed_out(
            concurrent_sums(three, node_release([heights]), read=still_open), users=3
        ),
    }


# Sums on the server


def exact_sums(coins: Coins, bits: Any, node: Node) -> float:
    """A node without noise."""
    return float(np.sum(bits))


def late(tree: Tree, t: int) -> Sequence[Node]:
    """Read full batches one step late, so that V_t is off by one."""
    return read_at(tree, t - 1) if t > 1 else []


def counted(read: ReadAt, *, expect: str, tree: Tree) -> Control:
    """Count the steps at which the estimates of sums of powers of two differ from the sums of V_t."""

    def evaluate(run: Run) -> list[Estimate]:
        values = 2.0 ** np.arange(tree.horizon)
        recording = record(concurrent_sums(tree, exact_sums, read=read), values, rng=run.rng("none"))
        estimates = [site.value for site in recording.sites if site.site == "estimate"]
        wanted = [
            sum(values[node.start - 1 : node.stop].sum() for node in highest_complete_nodes(tree, t))
            for t in range(1, tree.horizon + 1)
        ]
        wrong = sum(a != b for a, b in zip(estimates, wanted, strict=True))
        return [
            Estimate.exactly(
                wrong,
                quantity="wrong estimates",
                samples=tree.horizon,
                method="one run without noise, which has no randomness",
                scope=f"{tree.horizon} users whose values are powers of two",
            )
        ]

    text = f"the estimates of {tree.horizon} steps are the sums of the nodes of V_t"
    claim = Ordering(text=text, quantity_name="wrong estimates", claimed=0)
    return Control(claim=claim, evaluate=evaluate, expect=expect)


@controls(rows, "TKMS23-M/nodes", "Definition 3.1 with deliberate mistakes")
def nodes() -> dict[str, Control]:
    """A server that adds other nodes than V_t is detected, and the correct server is not"""
    tree = binary_tree(16)
    return {
        "correct": counted(read_at, expect="verified", tree=tree),
        "one step late": counted(late, expect="refuted", tree=tree),
    }


# The bandit

#: A coin of every user for each label of each height.
SHEETS = [VectorSheet(dim=1, batch_size=size, precision=1, trials=1) for size in TWO.sizes]
#: The right program costs δ = 0.93154... at ε = 1.
BANDIT = ApproxDP(epsilon=1, delta="15/16", domain=str(FirstUser.DATA), view=View.of(SHUFFLER_OUTPUT))


def bandit(sheets: Sequence[VectorSheet] = SHEETS, *, read: ReadAt = read_at) -> ConcurrentLinUCB:
    """Return Algorithm 4 with one feature, two users and a shuffler for each height."""
    releases = [binomial_sums(sheet, site=f"height {place}") for place, sheet in enumerate(sheets, start=1)]
    return ConcurrentLinUCB(
        tree=TWO, release=by_height(releases), dim=1, ridge=10.0, radius=lambda t: 2.0, read=read
    )


def early(tree: Tree, t: int) -> Sequence[Node]:
    """Read batches that begin one user early, so that the first user is in two of the lower shuffler."""
    before = [(node, max(1, node.start - 1)) for node in read_at(tree, t)]
    return [Node(node.height, start, start + node.size - 1) for node, start in before]


def compared(program: Program, expect: str = "refuted") -> Control:
    """Compare both types of the first of two users, and all outcomes of both shufflers."""
    small = enumerated(BANDIT, FirstUser(program, others=1), over=FirstUser.DATA)
    digest = None if expect == "refuted" else small.fingerprint  # one program says whether runs repeat
    return Control(claim=BANDIT, evaluate=small, expect=expect, digest=digest)


@controls(rows, "TKMS23-T5.1p/controls", "Algorithm 4 with deliberate mistakes")
def of_the_bandit() -> dict[str, Control]:
    """Every broken Algorithm 4 is refuted, and the correct one is not

    It is the program of TKMS23-T5.1p/protocol with one feature, g = 1 and b = 1. The
    second user reacts to the first batch. Every path is compared exactly with (1, 15/16)-DP.
    """
    right = bandit()
    rarer = [replace(sheet, chance=Fraction(1, 16)) for sheet in SHEETS]
    return {
        "one draw for both labels": compared(shared()(right)),
        "one draw for both shufflers": compared(reusing()(right)),
        "no noise in the upper batch": compared(without("height 2")(right)),
        "fewer ones": compared(bandit(rarer)),
        "twice the precision": compared(bandit([replace(sheet, precision=2) for sheet in SHEETS])),
        "one user's noise is missing": compared(one_share_less("height 2")(right)),
        "actions are public": compared(widened("action", also=SHUFFLER_OUTPUT)(right)),
        "actions from the true sums": compared(without("height 1", shown=False)(right)),
        "batches begin one user early": compared(bandit(read=early)),
        "correct": compared(right, expect="consistent"),
    }
