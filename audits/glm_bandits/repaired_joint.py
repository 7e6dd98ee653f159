"""Algorithm 2 with four changes that make it jointly private, as one proof: V's noise for sensitivity 1, H's
weights cut at 1/κ*, both optimizers over all T rounds (gradient 0 where a round is not theirs, so that n is T
on either side), called when the released V or H says so.

Then all others' actions follow from V, H, θ_o and θ_τ, and one user moves the m nodes of each tree above a
leaf, which is replaced or given up, and her gradient in every call.
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
    """Both trees over ``horizon`` leaves, their noise as printed for ``budget``, (ε, δ), symmetrised by half,
    and ``calls`` runs of ``call`` for each optimizer; logistic, 1/κ* = μ'(``score``). The orders are those
    that say most at epsilon = ``target``."""
    epsilon, delta = budget
    star, nodes = instance(1, score).kappa_star, levels(horizon)
    trees, beside = [], Fraction(0)
    for sensitivity in (arb(1), 1 / star):
        variance = printed_variance(epsilon=epsilon, delta=delta, depth=nodes, sensitivity=sensitivity)
        moved = upper_short(2 * sensitivity**2)  # ‖x xᵀ - y yᵀ‖² is at most 2, and 1 for a leaf given up
        trees.append(tree_proof(norm_squared=moved, variance=variance, nodes=nodes, symmetrise="half"))
        low = lower_short(variance)
        beside += nodes * node_mu_squared(norm_squared=moved, variance=low, symmetrise="half")
    one = sums(call.sheet, "vector", times=call.steps)
    others = float(beside) + (2 * calls - 1) * one.scale**2
    run = one.proof(epsilon=target, delta=delta, beside=others)
    whole = compose_sequential([*trees, run], times=[1, 1, 2 * calls])
    return billboard(whole, actions="V, H, both estimates and the own arms")
