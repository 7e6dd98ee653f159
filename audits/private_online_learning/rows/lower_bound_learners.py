"""Compare selectors and learners with Theorem 10 on its own hard family, by linear programs and exact
distributions (appendix H). Nothing is simulated."""

from __future__ import annotations

import math
from fractions import Fraction

from audits.private_online_learning.hard_family import (
    CERTIFIED,
    SCALES,
    fano_bound,
    smallest_horizon,
    smallest_private_error,
)
from dpaudit.core.suite import Group
from dpaudit.reference.algorithms.online.one_best import ROUNDING, majority_error, worst_regret
from dpaudit.suite import Expression, constant, expected, full, over

__all__ = ["rows"]

rows = Group("Theorem 10: selectors and learners on its hard family")

#: Margin for the linear programs, far above their errors.
TOLERANCE = 1e-6

BUDGETS = (0.01, 0.1, 2.0, full(0.03, 0.5, 1.0))


def _nearly(ratio: float) -> Expression:
    """Return a ratio by quadrature or summation, up to its margin."""
    return constant(ratio * (1 - ROUNDING), ratio * (1 + ROUNDING))


# Selectors


@expected(
    rows,
    "HHM-T10/testing",
    "Appendix H, eq. (58)",
    at_most=1,
    over=over(
        K_n=((2, 1), (2, 3), (3, 1), (3, 2), full((2, 5), (3, 3), (4, 1))),
        gap="1/50 1/4 1/2",
        epsilon="1/100 1/10 1/2 2",
    ),
    quantity="bound / smallest error",
    method="linear program over all ε-DP selectors, tolerance 1e-6",
    kind="structure",
    role="step",
)
def testing(K_n: tuple[int, int], gap: Fraction, epsilon: Fraction) -> Expression:
    """No ε-DP selector errs less than 0.45 min{1, (K−1)/e^(10εnΔ)}

    Find the best ε-DP selector by linear programming and compare its error with (58).

    For small K and n the set of all ε-DP selectors is a polytope: a table of answers by datasets, with the
    ratios of neighbours bounded by e^ε. Its smallest worst-case error is exact up to the solver's tolerance,
    and no selector of any kind has a smaller error.

    Proof: with β the average error and y = e^(10εnΔ), group privacy and Markov's inequality give β ≥
    (K−1)(0.9 − β)/y, for all parameters
    """
    K, n = K_n
    bound = fano_bound(n_actions=K, n=n, gap=float(gap), epsilon=float(epsilon))
    best = smallest_private_error(n_actions=K, n=n, gap=gap, epsilon=float(epsilon))
    return constant(bound / (best + TOLERANCE), bound / (best - TOLERANCE))


def _most_samples(K: int, gap: float, epsilon: float) -> float:
    """Return m* = ln K/(10 epsilon gap)."""
    return math.log(K) / (10 * epsilon * gap)


def _one_sample(K: int, gap: float, epsilon: float, learner: str) -> bool:
    return _most_samples(K, gap, epsilon) >= 1


@expected(
    rows,
    "HHM-T10/majority",
    "Appendix H, steps 2 and 3",
    at_most=1,
    over=over(K=(2, 4, 16, 64, 256), gap=(0.02, 0.1, 0.25, 0.5), epsilon=BUDGETS, learner=CERTIFIED).where(
        _one_sample, "where m* ≥ 1"
    ),
    quantity="0.2 / error",
    method="exact distribution of the last epoch's leader, quadrature",
    kind="structure",
    role="step",
)
def majority(K: int, gap: float, epsilon: float, learner: str) -> Expression:
    """The majority of a private learner's first m ≤ m* = ln K/(10εΔ) actions is wrong with probability ≥ 0.2

    Compute the exact error of the selector that step 3 builds from repaired and naive FTNL, at the largest m
    = 2^R − 1 below m*.

    The last of R epochs has more than half of the 2^R − 1 rounds, so its leader is the majority: action 1
    with one epoch, otherwise the noisy leader of the previous epoch.
    """
    epochs = math.floor(math.log2(_most_samples(K, gap, epsilon) + 1))
    scale = SCALES[learner](K, epsilon)
    return _nearly(0.2 / majority_error(scale=scale, n_actions=K, gap=gap, epochs=epochs))


# Learners


@expected(
    rows,
    "HHM-T10/private-term",
    "Theorem 10; appendix H, last sentence (the constant)",
    at_least=1,
    over=over(
        K=(2, 16, 256, full(4, 64)),
        gap=(0.02, 0.25, full(0.05, 0.1, 0.5)),
        epsilon=BUDGETS,
        learner=CERTIFIED,
    ),
    claim="lower-bound",
    quantity="regret / (0.0098 ln K/ε)",
    constants=(("c", "0.0098"),),
    method="exact distribution of each epoch's leader, quadrature",
    expect="inconclusive",
)
def private_term(K: int, gap: float, epsilon: float, learner: str) -> Expression:
    """Private term: every ε-DP learner has regret ≥ 0.0098 ln K/ε on some instance P_1..P_K of the family, if
    Δ ≤ 1/2 and T ≥ max{ln K/(16Δ²), ln K/(10εΔ)}

    Compute the exact regret of certified-private learners on the hard family, at the smallest horizon that
    the theorem admits.

    The leader's distribution is a one-dimensional integral. A private learner below the bound would refute
    it. No learner can verify it, because the claim is about all learners (the other rows check the steps of
    the proof).
    """
    horizon = smallest_horizon(n_actions=K, gap=gap, epsilon=epsilon)
    regret = worst_regret(scale=SCALES[learner](K, epsilon), n_actions=K, gap=gap, horizon=horizon)
    return _nearly(regret / (0.0098 * math.log(K) / epsilon))


@expected(
    rows,
    "HHM-T10/non-private-term",
    "Theorem 10, first term (Mourtada and Gaïffas 2019, Proposition 4)",
    at_least=1,
    over=over(
        K=(2, 4, 16, 256, 4096),
        gap=(0.01, 0.05, 0.1, 0.25),
        learner=(("Follow the Leader", 1), ("repaired FTNL", 1), ("repaired FTNL", 8)),
    ),
    claim="lower-bound",
    quantity="regret / (c ln K/Δ)",
    constants=(("c", "1/256"),),
    method="exact distribution of each epoch's leader",
    expect="inconclusive",
)
def non_private_term(K: int, gap: float, learner: tuple[str, int]) -> Expression:
    """Non-private term: every learner has regret ≥ c ln K/Δ on some instance P_1..P_K of the family, if Δ ≤
    1/4 and T ≥ ln K/(16Δ²); here c = 1/256

    Compute the exact regrets of Follow the Leader and of private learners (each with its ε) at T = ln
    K/(16Δ²), at which the bound is largest relative to the largest possible regret. The paper prints no
    constant and no range.

    The regret by then is at most T Δ = ln K/(16Δ), so no constant above 1/16 is possible. A learner below c
    ln K/Δ on the whole family would refute the constant.

    Note: for Δ up to 1 the term fails with every constant (HHM-T10)
    """
    name, epsilon = learner
    horizon = math.ceil(math.log(K) / (16 * gap**2))
    regret = worst_regret(scale=SCALES[name](K, epsilon), n_actions=K, gap=gap, horizon=horizon)
    return _nearly(regret / (math.log(K) / gap / 256))
