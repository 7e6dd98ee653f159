"""Certify Algorithm 2 with four changes that make it jointly private.

V's noise is drawn for sensitivity 1. H's weights are cut at 1/κ*. Both optimizers run over all T rounds,
with gradient 0 for a round of the other optimizer, so that n is T for both neighbours. They are called when
the released V or H requires it.

All others' actions then follow from V, H, θ_o and θ_τ. One user affects the m nodes of each tree above a
leaf, which is replaced or removed, and the user's gradient in every call.
"""

from __future__ import annotations

from fractions import Fraction

from audits.glm_bandits.shuffled_descent import Descent
from audits.glm_bandits.shuffled_sums import sums
from audits.glm_bandits.tree_privacy import instance, tree_proof
from dpaudit.certify.build import Proof, billboard, compose_sequential
from dpaudit.kernel.ball import arb, lower_short, upper_short
from dpaudit.reference.mechanisms.matrix_tree import levels, node_mu_squared, printed_variance

__all__ = ["joint_proof"]


def joint_proof(
    *,
    score: int,
    call: Descent,
    calls: int,
    horizon: int,
    budget: tuple[Fraction, Fraction],
    target: Fraction,
) -> Proof:
    """Certify both trees over ``horizon`` leaves and ``calls`` runs of ``call`` for each optimizer.

    The noise is as printed for ``budget``, (ε, δ), symmetrised by half. The link is logistic with 1/κ* =
    μ'(``score``). The Rényi orders are those with the best bound at epsilon = ``target``.
    """
    epsilon, delta = budget
    star, nodes = instance(1, score).kappa_star, levels(horizon)
    trees, beside = [], Fraction(0)
    for sensitivity in (arb(1), 1 / star):
        variance = printed_variance(epsilon=epsilon, delta=delta, depth=nodes, sensitivity=sensitivity)
        moved = upper_short(2 * sensitivity**2)  # ‖x xᵀ - y yᵀ‖² is at most 2, and 1 for a removed leaf
        trees.append(tree_proof(norm_squared=moved, variance=variance, nodes=nodes, symmetrise="half"))
        low = lower_short(variance)
        beside += nodes * node_mu_squared(norm_squared=moved, variance=low, symmetrise="half")
    one = sums(call.sheet, "vector", times=call.steps)
    others = float(beside) + (2 * calls - 1) * one.scale**2
    run = one.proof(epsilon=target, delta=delta, beside=others)
    whole = compose_sequential([*trees, run], times=[1, 1, 2 * calls])
    return billboard(whole, actions="V, H, both estimates and the user's own arms")
