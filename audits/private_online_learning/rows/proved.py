"""Prove the paper's programs, round by round, for all rewards, neighbours and outcomes.

``mechanisms/online_learning_programs.py`` has the per-round forms. ``tests/papers/test_round_by_round.py``
compares them with the event-driven programs that the rows of ``privacy.py`` run.
"""

from __future__ import annotations

from functools import partial

from dpaudit.coins import Program
from dpaudit.core.claims import Ordering
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import Laplace
from dpaudit.prover.data import OneReplaced, Symbols
from dpaudit.reference.algorithms.mab.successive_elimination import radius
from dpaudit.reference.mechanisms.elimination_programs import elimination
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.reference.mechanisms.online_learning_programs import (
    follow_noisy_leader,
    hybrid_counter,
    hybrid_ucb,
)
from dpaudit.suite import Control, Measured, controls, evidence, full, over
from dpaudit.suite.program_proofs import Proving, Shape, derived_cost, proof_control, proved

__all__ = ["rows"]

rows = Group("Privacy of the algorithms, proved as programs")

#: Batches of DP-SE that fit into a proof. The paper's batches have thousands of rounds.
LENGTHS = (1, 2, 4)
RADII = tuple(radius(b, 2, length, epsilon=1, failure_probability=0.5) for b, length in enumerate(LENGTHS, 1))


def rewards(rounds: int | str, actions: int) -> Symbols:
    """Return the data of ``rounds`` rounds of rewards in [0, 1], one for each action."""
    return Symbols(rounds, low=0, high=1, width=actions)


SIZES = over(arms=(2, 3), rounds=("every", full(9)))


@proved(rows, "HHM-T2/proved", "Theorem 2, Algorithm 1", over=SIZES)
def anytime_lazy_ucb(arms: int, rounds: int | str) -> Proving:
    """Anytime-Lazy-UCB as a program is ε-DP, for every horizon"""
    program = lazy_ucb(arms=arms, scale=1)
    return Proving(program=program, epsilon=1, data=rewards(rounds, arms), adjacency=OneReplaced())


@proved(
    rows,
    "HHM-T6/repaired/proved",
    "Algorithms 2 and 3",
    role="repaired",
    over=over(actions=2, rounds=("every", 7)) + over(actions=3, rounds=("every", full(7))),
)
def noisy_leader(actions: int, rounds: int | str) -> Proving:
    """Follow the Noisy Leader with noise of scale 2/ε as a program is ε-DP, for every number of rounds"""
    program = follow_noisy_leader(actions=actions, scale=2)
    return Proving(program=program, epsilon=1, data=rewards(rounds, actions), adjacency=OneReplaced())


@proved(rows, "HHM-T5P/repaired/proved", "Algorithm 4", role="repaired", over=over(rounds=(4, 6, full(10))))
def repaired_hybrid(rounds: int) -> Proving:
    """Hybrid-UCB with node noise of scale 2(r+1)/ε as a program is ε-DP"""
    program = hybrid_ucb(arms=2, array=2, node=2, wider=True)
    return Proving(program=program, epsilon=1, data=rewards(rounds, 2), adjacency=OneReplaced())


@proved(rows, "HHM-T5P/promoted/proved", "Theorem 5, section 4.2", over=over(rounds=(3, 7, 15, full(31))))
def promoted_counter(rounds: int) -> Proving:
    """The counter of Hybrid-UCB that reads a full block from its array, as section 4.2 says, is ε-DP"""
    program = hybrid_counter(array=2, node=2, promoted=True)
    return Proving(program=program, epsilon=1, data=Symbols(rounds, low=0, high=1), adjacency=OneReplaced())


def _touches(r: int) -> Ordering:
    text = f"one observation is in at most {r} released nodes of the tree on 2^{r} leaves"
    return Ordering(text=text, quantity_name="touches", claimed=r)


def _whole(rounds: int) -> Shape:
    return Shape(data=Symbols(rounds, low=0, high=1), adjacency=OneReplaced())


@evidence(
    rows, "HHM-T5P/promoted/derived", "Theorem 5", claim=_touches, role="step", over=over(r=(1, 2, 3, 4))
)
def nodes_of_a_level(run: Run, r: int) -> Measured:
    """If a full block is read from its array, an observation is in r nodes of the tree on 2^r leaves

    Derived from the counter's program, explored through the block of 2^r observations.
    """
    program = hybrid_counter(array=2, node=2, promoted=True)
    return derived_cost(program, _whole(2 ** (r + 1) - 1), site=f"node-{r}")


def _cost(rounds: int) -> Ordering:
    text = f"one of {rounds} observations costs at most ε in all releases of the counter"
    return Ordering(text=text, quantity_name="cost", claimed=1)


@evidence(
    rows,
    "HHM-T5P/repaired/derived",
    "Algorithm 4",
    claim=_cost,
    role="repaired",
    over=over(rounds=(3, 7, 15, 31)),
)
def cost_of_the_repaired_counter(run: Run, rounds: int) -> Measured:
    """With node noise of scale 2(r+1)/ε an observation costs at most ε, with affected sites and sensitivities
    derived"""
    return derived_cost(hybrid_counter(array=2, node=2, wider=True), _whole(rounds))


@proved(rows, "HHM-DPSE/proved", "Section 6 (baseline)", over=over(rounds=("every", 6, full(14))))
def dp_se(rounds: int | str) -> Proving:
    """DP-SE as a program is ε-DP, for every horizon

    The batches have 1, 2, 4, 4, ... rounds, with the radii of these lengths. Eliminations depend only on
    released sums.
    """
    program = elimination(arms=2, lengths=LENGTHS, radii=RADII, noise=Laplace(scale=1))
    return Proving(program=program, epsilon=1, data=rewards(rounds, 2), adjacency=OneReplaced())


def _control(program: Program, rounds: int, expect: str = "refuted") -> Control:
    """Return the control of a program with two actions, claimed to be ε-DP."""
    made = Proving(program=program, epsilon=1, data=rewards(rounds, 2), adjacency=OneReplaced())
    return proof_control(made, expect=expect)


@controls(rows, "HHM-T6/proved/controls", "Theorems 5 and 6 as printed; DP-SE broken on purpose")
def too_little_noise() -> dict[str, Control]:
    """Hybrid-UCB as printed and elimination that keeps its sums are refuted, FTNL as printed is not proved

    Note: HHM-T6 and HHM-T5P refute the printed algorithms, each on one pair of inputs
    """
    keeps = elimination(arms=2, lengths=LENGTHS, radii=RADII, noise=Laplace(scale=1), forgets=False)
    programs = {
        "Follow the Noisy Leader as printed, at most 2ε": (
            follow_noisy_leader(actions=2, scale=1),
            3,
            "inconclusive",
        ),
        "Hybrid-UCB as printed, at most 3ε/2": (hybrid_ucb(arms=2, array=2, node=2), 6, "refuted"),
        "elimination that keeps its sums, at most 2ε": (keeps, 6, "refuted"),
    }
    return {name: _control(*cell) for name, cell in programs.items()}


@controls(rows, "HHM-T2/proved/controls", "Algorithms 1 and 4, broken on purpose")
def broken_bandits() -> dict[str, Control]:
    """Every broken Anytime-Lazy-UCB and Hybrid-UCB is refuted, and the correct ones are proved

    The programs are those of HHM-T2/proved and HHM-T5P/repaired/proved, with two arms and four rounds.
    """
    right = partial(hybrid_ucb, arms=2, wider=True)
    return {
        "Anytime-Lazy-UCB with half of the noise": _control(lazy_ucb(arms=2, scale="1/2"), 4),
        "Anytime-Lazy-UCB that keeps its sums": _control(lazy_ucb(arms=2, scale=1, forgets=False), 4),
        "Hybrid-UCB with half of the noise of the nodes": _control(right(array=2, node=1), 4),
        "Hybrid-UCB with half of the noise of the arrays": _control(right(array=1, node=2), 4),
        "Hybrid-UCB whose arrays and trees have all of ε": _control(right(array=1, node=1), 4),
        "correct Anytime-Lazy-UCB": _control(lazy_ucb(arms=2, scale=1), 4, "verified"),
        "correct Hybrid-UCB": _control(right(array=2, node=2), 4, "verified"),
    }
