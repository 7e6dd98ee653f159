"""Privacy of the paper's algorithms (claims HHM-T2, T5P, T6, NAIVE-P, and the baseline DP-SE), each with the
accounting of its proof."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from algorithms.online import ftnl
from audits.private_online_learning.hybrid_decisions import decision_witness
from audits.private_online_learning.neighbours import bandit_pairs, vector_pairs
from audits.program_rows import add_privacy_rows
from audits.public_refusals import FULL_INFORMATION, GAME, TREE
from dpaudit.claims import PureDP
from dpaudit.coins import Choice
from dpaudit.evidence import Evidence
from dpaudit.laws.base import Law
from dpaudit.proofs.build import (
    accounted,
    compose_parallel,
    laplace_mechanism,
    report_noisy_max,
    tree_mechanism,
)
from dpaudit.proofs.sites import Site
from dpaudit.replays.privacy import PrivacyAudit
from dpaudit.suite import Run, Suite

__all__ = ["add_rows"]

EPSILON = Fraction(1)
DOMAIN = "a vector of K rewards in [0, 1], one per round"
#: Far beyond any index: an arm with this noisy sum leads, with its negative it is never pulled again.
FAR = 2.0**30


def claim() -> PureDP:
    """Definition 1 (HHM-D1): pure DP of the decision sequence, event level, one reward vector replaced."""
    return PureDP(epsilon=EPSILON, domain=DOMAIN)


def stay_with(arm: int, *, initial: Sequence[int] = (0, 1)) -> Choice:
    """The history in which ``arm`` is pulled in every round: its initial release far up, the others' far
    down, its later ones far up."""

    def choose(site: str, occurrence: int, law: Law) -> Any:
        if site == "array" and occurrence in initial:
            return FAR if occurrence == arm else -FAR
        return FAR if site != "leader" else None

    return choose


BANDIT_HISTORIES = {"arm 1 throughout": stay_with(0), "arm 2 throughout": stay_with(1)}


def add_rows(suite: Suite) -> None:
    """Anytime-Lazy-UCB, Hybrid-UCB (printed and repaired), FTNL (printed and repaired), naive FTNL, DP-SE."""
    _lazy_ucb(suite)
    _hybrid_ucb(suite)
    _ftnl(suite)
    _naive_ftnl(suite)
    _successive_elimination(suite)


def _lazy_ucb(suite: Suite) -> None:
    array = laplace_mechanism(sensitivity=1, scale=1 / EPSILON)
    audit = PrivacyAudit(
        claim=claim(),
        program=lazy_ucb.program(epsilon=EPSILON),
        neighbours=lambda run: bandit_pairs(horizon=40, rounds=(0, 1, 2, 7, 33)),
        sites=[Site("array", total=EPSILON)],
        histories=BANDIT_HISTORIES,
        proof=accounted(
            [Site("array", mechanism=array)],
            declared=(
                "every observation is inserted into one array, whose sum is released once when it is full, "
                "with Laplace(1/epsilon) noise"
            ),
        ),
        unentered={
            **GAME,
            "_last_clear": (
                "a lead within rounding of 0; it only sets how many rounds are played in one step, from "
                "released values"
            ),
        },
    )
    add_privacy_rows(
        suite,
        "HHM-T2",
        audit,
        title="Anytime-Lazy-UCB is ε-DP",
        expect="verified",
        expect_accounting="verified",
        source="Theorem 2, Algorithm 1",
    )


def _hybrid_classes() -> list[Site]:
    # The proof of Theorem 5: Algorithm 1 with 0.5 epsilon plus tree-based aggregation with 0.5 epsilon, "at
    # most log(lambda) = r" nodes.
    trees = [Site(f"node-{r}", touches=r, total=EPSILON / 2, group="tree") for r in range(1, 5)]
    return [Site("array", total=EPSILON / 2), *trees]


def _repaired_classes() -> list[Site]:
    trees = [Site(f"node-{r}", touches=r + 1, total=EPSILON / 2, group="tree") for r in range(1, 5)]
    return [Site("array", total=EPSILON / 2), *trees]


def _hybrid_ucb(suite: Suite) -> None:
    array = Site("array", mechanism=laplace_mechanism(sensitivity=1, scale=2 / EPSILON))
    what = (
        "an observation enters one array and the tree of that array; in the tree on 2^r leaves the first "
        "leaf lies under r + 1 nodes that are used"
    )
    # r + 1 nodes of scale 2r/epsilon cost (epsilon/2)(r + 1)/r, at most epsilon, the price of r = 1: two
    # nodes of scale 2/epsilon.
    printed = tree_mechanism(laplace_mechanism(sensitivity=1, scale=2 / EPSILON), levels=2, declared=what)
    # r + 1 nodes of scale 2(r + 1)/epsilon cost epsilon/2 for every r; r = 1: two nodes of scale 4/epsilon.
    repaired = tree_mechanism(laplace_mechanism(sensitivity=1, scale=4 / EPSILON), levels=2, declared=what)
    for variant, tree, classes, id_, expects in (
        ("printed", printed, _hybrid_classes(), "HHM-T5P", ("refuted", "refuted")),
        ("repaired", repaired, _repaired_classes(), "HHM-T5P/repaired", ("verified", "verified")),
    ):
        audit = PrivacyAudit(
            claim=claim(),
            program=hybrid_ucb.program(epsilon=EPSILON, variant=variant),  # type: ignore[arg-type]
            # Round 28 is in the tree of 2^4 leaves.
            neighbours=lambda run: bandit_pairs(horizon=34, rounds=(0, 2, 4, 8, 28)),
            sites=classes,
            histories=BANDIT_HISTORIES,
            proof=accounted(
                [array, Site("node-*", mechanism=tree)],
                declared=f"{what}; the dearest tree is that of r = 1",
            ),
            more=_decision_event if variant == "printed" else None,
            unentered={
                **GAME,
                **TREE,
                "HybridCounter.add": "the branch of another variant, a public parameter",
            },
        )
        add_privacy_rows(
            suite,
            id_,
            audit,
            title=f"Hybrid-UCB ({variant}) is ε-DP",
            expect=expects[0],
            expect_accounting=expects[1],
            source="Theorem 5, Algorithm 4",
        )


def _decision_event(run: Run) -> list[Evidence]:
    """One decision sequence whose loss is certified: what the noisy sums lose shows in the decisions too."""
    return [decision_witness(EPSILON)]


def _ftnl(suite: Suite) -> None:
    for variant, id_, expect in (
        ("printed", "HHM-T6", "refuted"),
        ("repaired", "HHM-T6/repaired", "verified"),
    ):
        scale = (1 if variant == "printed" else 2) / EPSILON
        leader = report_noisy_max(sensitivity=1, scale=scale, range="general")
        audit = PrivacyAudit(
            claim=claim(),
            program=ftnl.program(epsilon=EPSILON, variant=variant),  # type: ignore[arg-type]
            neighbours=lambda run: [
                *vector_pairs(n_actions=2, epochs=10),
                *vector_pairs(n_actions=5, epochs=10),
            ],
            sites=[Site("leader", total=EPSILON)],
            searched=(7, 2),
            unentered={**GAME, **FULL_INFORMATION},
            # Epoch s is rounds 2^s to 2^(s+1) - 1, whatever the data: a partition by position, one Report
            # Noisy Max in each cell.
            proof=compose_parallel([leader], by="position"),
        )
        add_privacy_rows(
            suite,
            id_,
            audit,
            title=f"Follow the Noisy Leader ({variant}) is ε-DP",
            expect=expect,
            expect_accounting=expect,
            source="Theorem 6, Algorithms 2 and 3",
        )


def _naive_ftnl(suite: Suite) -> None:
    n_actions = 5
    # The vector of K sums moves by at most 1 in each coordinate, K in l1 norm; Laplace(K/epsilon) on each.
    sums = laplace_mechanism(sensitivity=n_actions, scale=n_actions / EPSILON)
    audit = PrivacyAudit(
        claim=claim(),
        program=ftnl.naive_program(epsilon=EPSILON),
        neighbours=lambda run: vector_pairs(n_actions=n_actions, epochs=6),
        sites=[Site("sums", total=EPSILON)],
        proof=compose_parallel([sums], by="position"),
        unentered={**GAME, **FULL_INFORMATION},
    )
    add_privacy_rows(
        suite,
        "HHM-NAIVE-P",
        audit,
        title="Naive FTNL is ε-DP",
        expect="verified",
        expect_accounting="verified",
        source="Section 5",
    )


def _successive_elimination(suite: Suite) -> None:
    audit = PrivacyAudit(
        claim=claim(),
        program=successive_elimination.program(epsilon=EPSILON, failure_probability="1/2"),
        neighbours=lambda run: bandit_pairs(horizon=3000, rounds=(0, 500, 1200)),
        unentered=GAME,
        sites=[Site("array", total=EPSILON)],
        proof=accounted(
            [Site("array", mechanism=laplace_mechanism(sensitivity=1, scale=1 / EPSILON))],
            declared=(
                "every epoch starts from scratch: a pull enters one sum, released once with "
                "Laplace(1/epsilon) noise"
            ),
        ),
    )
    add_privacy_rows(
        suite,
        "HHM-DPSE",
        audit,
        title="DP-SE, the baseline, is ε-DP",
        expect="verified",
        expect_accounting="verified",
        source="Section 6 (baseline of Sajed and Sheffet 2019)",
    )
