"""Refute Theorem 6.2 on one instance: one action of another user reveals whether a user was explored.

Logistic, d = 2, R = 1, c = 1 in (21), θ* = S e_2. Arms have second coordinate in [1/2, 1] and length at
most 1, so that 1/κ* = μ'(S/2) and κ = 1/μ'(S) for both neighbours. G = γ²κ, and 2^k is the power of two in
(G/4, G/2]:

* Rounds 1, ..., 2^k - 1 have one arm, e_2, and are explored, since V_22 stays below G.
* Round 2^k belongs to the changed user. It has the one arm e_2, explored, or e_2/2, not explored, since
  V_22 > G/4.
* Round 2^k + 1 has two arms, a = (0, a_2) and b = (b_1, b_2), b_1 tiny, b_2² < a_2² = b_2² + 2 b_1².

In V^-1, b is the longer one, because V_11 = λ is far below V_22, so Criterion I plays b. If the criterion
does not hold, the policy has not switched, H_τ = λI and θ_τ = 0, and a is more optimistic, as it is longer.
θ_o has norm S at most and eliminates neither. So the action reveals whether ‖b‖² in V^-1 is at least 1/G.
With x = V_22 - V_12²/V_11,

    ‖b‖² = b_1²/V_11 + (b_2 - b_1 V_12/V_11)²/x,

the condition is V_22 <= c_0, up to a slack from the noise of V_11 and V_12, and b_2 sets c_0. V_22 = λ +
2^k + Z, or one less, and Z ~ N(0, σ²) is the noise of the one node of the first 2^k leaves ("half"). The
two densities differ by e^ε at c_0 = λ + 2^k - 1/2 - ε σ². All other users' actions are the same for both
neighbours.

All earlier noise, in V and in H, is within λ/4 in every entry, except with a probability that is added to
the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audits.glm_bandits.printed_parameters import JointParameters
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact_functions import larger
from dpaudit.kernel.ball import arb, ball, integer, lower_exact, precision
from dpaudit.kernel.t2.gaussian import normal_cdf
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.mechanisms.matrix_tree import levels, printed_variance

__all__ = ["RevealingAction", "revealing_action"]

#: The noise of the last node is within this many σ on the diagonal, and √2 times as many deviations off it.
NEAR = 8


@dataclass(frozen=True, kw_only=True)
class RevealingAction:
    """The instance and its bound.

    The fields are κ*, G, σ and the slack of c_0 as balls, k, the arms ``b_1`` and ``b_2``, and a lower
    bound on delta of the others' actions.
    """

    kappa_star: arb
    reach: arb
    deviation: arb
    slack: arb
    power: int
    b_1: arb
    b_2: arb
    delta: Fraction


def revealing_action(*, S: int, horizon: int, epsilon: Fraction, delta: Fraction) -> RevealingAction:
    """Evaluate Algorithm 2 at (``epsilon``, ``delta``), ζ = δ/2.

    Raise ``InvalidParameterError`` if the rounds do not fit the horizon or an inequality of the argument
    does not hold.
    """
    with precision(400):
        return _revealing(S, horizon, epsilon, delta)


def _revealing(S: int, T: int, epsilon: Fraction, delta: Fraction) -> RevealingAction:
    kappa, kappa_star = (1 / logistic().at(arb(S) / j).slope for j in (1, 2))
    made = JointParameters(
        T=T, d=2, S=Fraction(S), kappa=kappa, kappa_star=kappa_star, epsilon=epsilon, delta=delta,
        zeta=delta / 2,
    )  # fmt: skip
    ridge, reach = made.ridge, made.gamma**2 * kappa
    power = integer((reach.log() / arb.const_log2()).floor()) - 1
    depth = levels(T)
    sigma = printed_variance(epsilon=epsilon, delta=delta, depth=depth, sensitivity=1 / kappa_star).sqrt()
    rounds, near = ball(2**power), NEAR * sigma
    b_1 = 4 * near / rounds
    middle = ridge + rounds - ball(Fraction(1, 2)) - ball(epsilon) * sigma**2
    b_2 = (middle * (1 - reach * b_1**2 / ridge) / reach).sqrt()
    slack = _slack(middle, ridge, reach, near, b_1, b_2)
    if 2**power + 1 > T or not _argument_holds(S, ridge, rounds, reach, near, b_1, b_2):
        raise InvalidParameterError(
            f"2^k + 1 rounds must fit the horizon and the arms the argument, got k = {power}; change S."
        )
    # 2^k + 1 rounds with three entries of V and of H each, then two entries of one node, for both
    # neighbours.
    strayed = 12 * (rounds + 1) * (-((ridge / 4) ** 2) / (2 * depth * sigma**2)).exp()
    strayed = strayed + 4 * (-ball(NEAR**2) / 2).exp()
    up, down = (middle - ridge - rounds + one for one in (1, 0))
    probability = normal_cdf((up - slack) / sigma) - strayed
    hidden = normal_cdf((down + slack) / sigma) + strayed
    found = max(Fraction(0), lower_exact(probability - ball(epsilon).exp() * hidden))
    return RevealingAction(
        kappa_star=kappa_star, reach=reach, deviation=sigma, slack=slack, power=power, b_1=b_1, b_2=b_2,
        delta=found,
    )  # fmt: skip


def _slack(middle: arb, ridge: arb, reach: arb, near: arb, b_1: arb, b_2: arb) -> arb:
    """Return how far Criterion I's threshold on V_22 can be from c_0 if |Z_11|, |Z_12| <= ``near``.

    This is an interval computation. Also return V_12²/V_11.
    """
    Z = near * arb(0, 1)
    V = ridge + Z
    threshold = (b_2 - b_1 * Z / V) ** 2 * reach / (1 - reach * b_1**2 / V)
    return larger(threshold.upper() - middle, middle - threshold.lower()) + near**2 / (ridge - near)


def _argument_holds(S: int, ridge: arb, rounds: arb, reach: arb, near: arb, b_1: arb, b_2: arb) -> bool:
    """Check the inequalities of the argument, with all noise within λ/4 and the last node's noise within
    ``near``."""
    wide, beside = ridge / 4, ridge / 12  # |entries| of noise; V_12²/V_11 <= (λ/4)²/(3λ/4)
    a_2 = (b_2**2 + 2 * b_1**2).sqrt()
    x = ridge + rounds - 1 - wide - near**2 / (ridge - near)
    return all(
        [
            ridge + rounds + wide < reach,  # e_2 is explored
            ridge + rounds - 1 - wide - beside > reach / 4,  # e_2/2 is not
            near < wide,
            b_1 * (x - 2 * (ridge + near)) > 2 * near,  # b is longer in V^-1
            reach * b_1**2 < ridge - near,
            b_2 > ball(Fraction(1, 2)) and a_2 < 1 and b_1**2 + b_2**2 < 1,
            2 * S * b_1 < b_2 * (reach / (ridge + rounds + wide)).sqrt(),  # a stays in the set
            ridge + wide + ball(Fraction(1, 8)) < arb(2).sqrt() * ridge,  # det H has not doubled
        ]
    )
