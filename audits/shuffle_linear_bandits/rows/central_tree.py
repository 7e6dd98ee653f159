"""Check the tree mechanism of the central baselines.

The rows examine which nodes one user changes, and what Shariff and Sheffet's noise certifies for
Batched-Central-LinUCB and for users in several rounds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

from dpaudit.certify.build import Proof, billboard, compose_sequential, gaussian_mechanism
from dpaudit.core.claims import ApproxDP, Unit
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import log2
from dpaudit.core.question import Question
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import View, user
from dpaudit.kernel.ball import upper_short
from dpaudit.reference.mechanisms.linear_bandit_noise import tree_levels, tree_noise, variance_below
from dpaudit.suite import Chain, evidence, full, inequality, on, over, reals
from dpaudit.suite.worst import Constant

__all__ = ["gram_change", "node_counts", "rows"]

rows = Group("Trees of the central baselines")

JOINT = View.everybody_but(user(0))
ACTIONS = "a user's action is chosen from the released prefixes (V, u) and the user's own context"


# Nodes


def node_counts(leaves: tuple[int, ...], size: int) -> Counter[tuple[int, int]]:
    """Count the ``leaves`` (of 0..size-1) below each node (level, place) of the tree over ``size`` leaves."""
    height = tree_levels(size) - 1
    return Counter((level, leaf >> level) for leaf in leaves for level in range(height + 1))


@inequality(
    rows,
    "CZ22-E.7s",
    "Appendix E.3 and F: tree mechanism",
    role="step",
    over=over(size=(1, 5, 8, full(16)), rounds=(1, 2, 3, full(8))).where(
        lambda size, rounds: rounds <= size, "no more rounds than leaves"
    ),
)
def sensitivity(size: int, rounds: int) -> Chain:
    """One leaf changes the tree by O(sqrt(log T)) in ℓ2, M₀ leaves of a user by O(M₀ sqrt(log T)): brute
    force

    T = size leaves, each of which changes by 1 in the same direction. Check all sets of M₀ = rounds leaves.
    There are 1 + ⌈log₂ T⌉ levels.

    Proof: on each level the counts of a user's leaves sum to M₀, so their squares sum to at most M₀²

    Note: M₀ adjacent leaves come close to M₀²; the bound is attained at M₀ = 1
    """
    levels = tree_levels(size)
    worst = max(
        sum(count**2 for count in node_counts(leaves, size).values())
        for leaves in itertools.combinations(range(size), rounds)
    )
    prefix = max(bin(t).count("1") for t in range(1, size + 1))
    return {
        "Σ count² <= M₀² (1 + ⌈log₂ T⌉)": (worst, rounds**2 * levels),
        "1 + ⌈log₂ T⌉ <= 2 + log₂ T": (levels, 2 + log2(size)),
        "nodes of a prefix <= 1 + ⌈log₂ T⌉": (prefix, levels),
        "Σ count² / (M₀² levels)": Constant(worst, rounds**2 * levels),
    }


def _possible(inner: Fraction, before: Fraction, after: Fraction) -> bool:
    return inner**2 <= before * after


@inequality(
    rows,
    "CZ22-F.3/gram",
    "Proposition F.3, the noise of Shariff and Sheffet: Δ of a row a = (x, y)",
    role="step",
    over=over(inner="-2 -1 -1/2 0 1/2 1 2", before="1 2", after="1 2").where(_possible, "Cauchy and Schwarz"),
    prove=on(inner=reals(None, None), before=reals(0, 2), after=reals(0, 2)).where(_possible),
)
def gram_change(inner: Fraction, before: Fraction, after: Fraction) -> tuple[Fraction, Fraction]:
    """Replacing a row a by a' changes aaᵀ by at most sqrt 8 in Frobenius norm, |a|² <= 2, attained

    |aaᵀ - a'a'ᵀ|² = |a|⁴ + |a'|⁴ - 2<a, a'>²; before = |a|², after = |a'|², inner = <a, a'>. The node's noise
    is (Z' + Z'ᵀ)/sqrt 2, of variance σ² off the diagonal and 2σ² on it. A leaf then changes a node by
    |Δ|²/(2σ²) <= 4/σ², squared.

    Note: attained by x = x' and y = -y' = 1, which is a change of the reward alone
    """
    return before**2 + after**2 - 2 * inner**2, Fraction(8)


# Privacy


def _tree(leaves: int, deviation_squared: Fraction, rounds: int = 1) -> Proof:
    """Return the tree: on every level the user's nodes change by at most M₀ sqrt 8 jointly.

    The noise variance is 2σ² for entries with weight one half.
    """
    level = gaussian_mechanism(sensitivity_squared=8 * rounds**2, variance=2 * deviation_squared)
    return billboard(compose_sequential([level], times=[tree_levels(leaves)]), actions=ACTIONS)


def _event_claim(leaves: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    domain = "a user's context and rewards, |x| <= 1, |y| <= 1"
    return ApproxDP(epsilon=epsilon, delta=delta, view=JOINT, domain=domain)


@evidence(
    rows,
    "CZ22-F.3/privacy",
    "Proposition F.3 (Batched-Central-LinUCB)",
    claim=_event_claim,
    over=over(leaves=(1, 8, 20_000), epsilon="1/10 1", delta="1 1/10 1/1000000"),
    expect="consistent",
)
def central(run: Run, leaves: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """Batched-Central-LinUCB with a tree over M batches and Shariff and Sheffet's noise is (ε, δ)-JDP

    M = leaves. Each of the 1 + ⌈log₂ M⌉ levels is one Gaussian mechanism. The actions of the others are
    computed from noisy prefixes.

    Note: the paper prints no constant of this noise; the row uses σ² = 16 m L⁴ log(4/δ)²/ε², L² = 2, from
    its source, which gives μ = ε/(4 log(4/δ)) for every M
    """
    claim = _event_claim(leaves, epsilon, delta)
    noise = tree_noise(epsilon=epsilon, delta=delta, leaves=leaves)
    return [_tree(leaves, variance_below(noise)).certify(claim)]


def _user_claim(rounds: int, leaves: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    domain = f"a user's contexts and rewards in at most {rounds} rounds, |x| <= 1, |y| <= 1"
    return ApproxDP(epsilon=epsilon, delta=delta, view=JOINT, domain=domain, unit=Unit.USER)


@evidence(
    rows,
    "CZ22-P4.3/E.7/privacy",
    "Propositions 4.3 and E.7, privacy",
    claim=_user_claim,
    over=over(rounds=(1, 27, 20_000), leaves=20_000, epsilon="1", delta="1/10 1/1000000"),
    expect="consistent",
)
def per_user(run: Run, rounds: int, leaves: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """The tree with node variance times M₀² is user-level (ε, δ)-JDP for users of at most M₀ rounds

    M₀ = rounds, T = leaves. On every level the user's nodes change by at most M₀ sqrt 8 jointly
    (CZ22-E.7s).

    Note: the (ε, δ) are those of the event-level algorithm; M₀ must be known in advance
    """
    claim = _user_claim(rounds, leaves, epsilon, delta)
    noise = tree_noise(epsilon=epsilon, delta=delta, leaves=leaves)
    return [_tree(leaves, rounds**2 * variance_below(noise), rounds).certify(claim)]


def _ask(delta: str) -> None:
    loss = Fraction(delta)
    rows.calibrate(
        Question(
            id=f"CZ22-F.3/δ={delta}",
            title="Batched-Central: a tree over 1000 batches, ε = 1",
            claim=_event_claim(1000, Fraction(1), loss),
            parameter="σ of an entry of Z'",
            printed=upper_short(tree_noise(epsilon=1, delta=loss, leaves=1000)),
            mechanism=lambda deviation: _tree(1000, deviation**2),
        )
    )


_ask("1/10")
_ask("1/1000000")
