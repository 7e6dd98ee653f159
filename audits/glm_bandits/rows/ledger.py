"""Check the privacy accounting of Algorithm 2.

The rows cover the set of explored rounds (6.1, I.5, P.1), the optimizer's calls (I.6), the total for each
kind of neighbour (Theorem 6.2, I.7), and the practical variant (Remark A.1).
"""

from __future__ import annotations

from fractions import Fraction

from audits.glm_bandits.printed_parameters import descent_steps
from audits.glm_bandits.repaired_joint import joint_proof
from audits.glm_bandits.revealing_action import revealing_action
from audits.glm_bandits.shuffled_descent import Descent, descent
from audits.glm_bandits.shuffled_sums import sums
from audits.glm_bandits.switching_set import switch_bit
from audits.glm_bandits.tree_privacy import Instance, instance, prefix_witness, tree_proof
from dpaudit.certify.build import compose_sequential, post_processing
from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import View, user
from dpaudit.kernel.ball import arb, ball, lower_short, upper_short
from dpaudit.kernel.t2.gaussian import normal_cdf
from dpaudit.reference.mechanisms.matrix_tree import levels, node_mu_squared, printed_variance
from dpaudit.suite import Measured, Sides, evidence, full, inequality, integers, listed, on, over, reals

__all__ = ["rows"]

rows = Group("Privacy accounting of Algorithm 2")

LONG = 2**44
ARMS = "one user's arms in the unit ball, reward in [0, 1]"
TENTH, THIRD = Fraction(1, 10), Fraction(1, 3)
JOINT = View.everybody_but(user(0))


# Explored rounds

BITS = over(S=(0, 2, 12, 16, full(20)))


def set_claim(S: int) -> ApproxDP:
    return ApproxDP(epsilon=THIRD, delta=TENTH / 4, domain=ARMS)


def far_enough(S: int) -> str:
    return "refuted" if S >= 12 else "consistent"


@evidence(rows, "SAR-L6.1", "Lemmas 6.1 and I.5, P.1", claim=set_claim, over=BITS, expect=far_enough)
def explored(run: Run, S: int) -> list[Evidence] | Measured:
    """T_o without i is (ε/3, δ/6 + ζ/6)-indistinguishable when user i changes: ε = 1, δ = 1/10, ζ = δ/2

    Logistic, 1/κ* = μ'(S/2), κ = 1/μ'(S), T = 2^44, c = 1 in (21). Upper bound: the set is computed from
    V's noisy prefixes, whose leaf i is x xᵀ, y yᵀ or 0, including a role swap. Lower bound: d = 1, one user
    explored or not, and the next user's arm chosen so that Criterion I tests V between the two.

    Refuted: at κ* = 405 this one bit has δ = 0.54 at ε/3 with the symmetrisation /2 (0.36 with the /√2 of
    Appendix P); at κ* = 3000 it identifies the user's role. Criterion I reads V, whose noise has 1/κ* of
    the scale of its leaves

    Note: 6.1's δ/6 and §6's δ/3 both fail at these S. With V's noise at sensitivity 1 the claim holds
    (SAR-I.4p/repaired)
    """
    claim = set_claim(S)
    if far_enough(S) == "refuted":
        found = switch_bit(S=S, horizon=LONG, epsilon=Fraction(1), delta=TENTH, at=THIRD)
        details = {"kappa*": float(found.kappa_star), "k": found.power, "sigma": float(found.deviation)}
        return Measured(low=found.delta, covers=False, details=details, method="normal distribution in balls")
    kappa = instance(1, S // 2).kappa_star
    variance = printed_variance(epsilon=1, delta=TENTH, depth=levels(LONG), sensitivity=1 / kappa)
    tree = tree_proof(norm_squared=Fraction(2), variance=variance, nodes=levels(LONG), symmetrise="half")
    words = "Criterion I at every other user's arms, which are public here"
    return [post_processing(tree, function=words).certify(claim)]


RATIOS = over(T=(8, 1024, 10**6), epsilon="1/10 1 30", delta="1/10 1/1000000")


def _ratio(T: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return (110): log T/(σ² κ*²) + √(2 log(4/δ))/(2 κ* σ), σ = 6 √(log T) log(32/δ)/(κ* ε)."""
    spread = 6 * ln(T).sqrt() * ln(32 / delta) / ball(epsilon)
    return ln(T) / spread**2 + (2 * ln(4 / delta)).sqrt() / (2 * spread)


#: T from 2 on, since log T divides; 0 < ε <= 30, as the rows say, and every δ of a privacy claim.
EVERY_RATIO = on(T=integers(2, None), epsilon=reals(0, 30, "(]"), delta=reals(0, 1, "()"))


@inequality(rows, "SAR-P.1/sum", "proof of Lemma P.1", over=RATIOS, role="step", kind="structure",
            prove=EVERY_RATIO)  # fmt: skip
def ratio_sum(T: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """log T/(σ² κ*²) + √(2 log(4/δ))/(2 κ* σ) <= ε/4 (its last line; ε/3 before), ε <= 30

    Note: the first term is ε²/(36 log²(32/δ)), so ε must be below about 12 log²(32/δ)
    """
    return _ratio(T, epsilon, delta), ball(epsilon) / 4


@inequality(rows, "SAR-P.1/ratio", "proof of Lemma P.1", over=RATIOS, role="step", expect="refuted",
            kind="structure")  # fmt: skip
def ratio_bound(T: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """The log-ratio is below that expression with probability 1 - δ/6: exact probability against δ/6

    log T nodes change by 1/κ* in Frobenius norm, with the same σ and the symmetrisation /2. The log-ratio
    is N(μ²/2, μ²), μ² = log T/(σ² κ*²).

    Refuted: the second term lacks a factor √(log T), because log T nodes add their variances. The lemma's
    line with the factor is below ε/3, for a change of 1/κ* (SAR-P.1/repaired)
    """
    mu = ball(epsilon) / (6 * ln(32 / delta))
    return normal_cdf((mu**2 / 2 - _ratio(T, epsilon, delta)) / mu), ball(delta) / 6


@inequality(rows, "SAR-P.1/repaired", "repair of the ratio in P.1", over=RATIOS, role="repaired",
            repairs="SAR-P.1/ratio", kind="structure", prove=EVERY_RATIO)  # fmt: skip
def ratio_repaired(T: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """μ²/2 + μ √(2 log(6/δ)) <= ε/3, μ = √2 ε/(6 log(32/δ)): with probability 1 - δ/6, any T, ε <= 30

    A leaf is replaced, a change of √2 in units of the noise's sensitivity, which must be 1 for V.
    """
    mu = arb(2).sqrt() * ball(epsilon) / (6 * ln(32 / delta))
    return mu**2 / 2 + mu * (2 * ln(6 / delta)).sqrt(), ball(epsilon) / 3


# Calls of the optimizer

CALLS = over(k=(1, 10, 10**6), epsilon="1/10 1 15", delta="1/10 1/1000000")


def _call(k: int, epsilon: Fraction, delta: Fraction) -> arb:
    return ball(epsilon) / (6 * (2 * k * ln(4 / delta)).sqrt())


@inequality(
    rows, "SAR-I.6p/budget", "Lemma I.6, composition", over=CALLS, role="step", kind="structure",
    prove=on(k=integers(1, None), epsilon=reals(0, 15, "(]"), delta=reals(0, "1/10", "(]")),
)  # fmt: skip
def calls_sum(k: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """k = cutoff calls at (ε/(6√(2k log(4/δ))), δ/(6k)) compose to at most (ε/3, δ/3), δ' = δ/6, ε <= 15, δ
    <= 1/10

    Note: the paper has no range. For δ near 1 and ε near 15 one call exceeds ε/3 by up to 2%
    (SAR-I.6p/budget/large)
    """
    one = _call(k, epsilon, delta)
    first = ball(epsilon) / 6 * (ln(6 / delta) / ln(4 / delta)).sqrt()  # ε_o √(2k log(6/δ))
    return first + k * one * (one.exp() - 1), ball(epsilon) / 3


@inequality(rows, "SAR-I.6p/budget/large", "Lemma I.6, composition", role="what-if", kind="structure",
            over=over(k=(1,), epsilon="15 30", delta="1/3 99/100"), expect="refuted")  # fmt: skip
def calls_sum_beyond(k: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """The same composition for δ from 1/3 on, or ε above 15, which the paper does not exclude

    Refuted: the term of order ε² is not divided by k if k = 1, and √(log(6/δ)/log(4/δ)) is 1.14 at δ = 1
    """
    return calls_sum(k, epsilon, delta)


RELEASES = listed("k n epsilon delta", (1, 5000, "1", "1/10"), (3, 5000, "1", "1/10"),
                  (8, 5000, "1", "1/10"), (4, 10_000, "1", "1/100"))  # fmt: skip


def calls_claim(k: int, n: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return ApproxDP(epsilon=epsilon / 3, delta=delta / 3, domain="one user's (x, r), not explored; T_o fixed")


def calls_name(k: int, n: int, epsilon: Fraction, delta: Fraction) -> str:
    sizes = [n * 2**j for j in range(k)]
    steps = ", ".join(str(_descent(k, size, epsilon, delta).steps) for size in sizes)
    users = ", ".join(map(str, sizes))
    return f"{k} calls on {users} users: ε_o = {float(_call(k, epsilon, delta)):.3g}, {steps} steps"


def _descent(k: int, n: int, epsilon: Fraction, delta: Fraction, *, dim: int = 1) -> Descent:
    return descent(n=n, d=dim, epsilon=upper_short(_call(k, epsilon, delta)), delta=delta / (6 * k))


@evidence(rows, "SAR-I.6p", "Lemma I.6, privacy", claim=calls_claim, over=RELEASES, name=calls_name)
def calls(run: Run, k: int, n: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """The distinct θ_τ, at most the cutoff k of them, are (ε/3, δ/3)-DP in their own data

    Each is P_GD at the printed (ε_o, δ_o). The distributions of all calls are composed, with T_o fixed. The
    first call has n users, and each next call twice as many, as when det H doubles in one dimension. A user
    of the first call is in all of them.

    Note: more calls than the cutoff are not covered, and the pseudo-code has no counter

    Note: θ_o is not computed: its call j has n = j <= k users, and P_GD has a step only for n >= √(d
    log³(nd/δ_o))/ε_o, which at ε = 1, δ = 1/10 no call has for k up to 10⁷ (SAR-I.6p/explored)
    """
    claim = calls_claim(k, n, epsilon, delta)
    parts = [
        _descent(k, n * 2**j, epsilon, delta).proof(epsilon=claim.epsilon, delta=claim.delta)
        for j in range(k)
    ]
    return [compose_sequential(parts, times=[1] * k).certify(claim)]


@inequality(
    rows, "SAR-I.6p/explored", "Algorithm 7 in Algorithm 2, at θ_o", role="what-if", expect="refuted",
    over=over(k=(100, 10**4, 10**6, 10**7, 10**8), epsilon="1", delta="1/10"), kind="structure",
)  # fmt: skip
def explored_steps(k: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """The last of k = cutoff calls of θ_o, on its k explored users, has one step of P_GD or more

    Compute the printed T at (ε_o, δ_o), d = 1. No earlier call has more steps.

    Refuted: not for k up to 10⁷; it does at 10⁸

    Note: the paper does not state this; below one step P_GD defines no estimate, and SAR-I.6p is vacuous
    """
    return 1, descent_steps(n=k, d=1, epsilon=_call(k, epsilon, delta), delta=delta / (6 * k))


# The total

#: Kind of neighbour -> the parts that it affects, each with the printed budget ε/3.
PARTS = {
    "i explored in both": ("T_o", "V", "theta_o"),
    "i exploited in both": ("H", "theta_tau"),
    "role swap": ("T_o", "V", "H", "theta_o", "theta_tau"),
}


@inequality(rows, "SAR-I.7/sum", "Lemma I.7", over=over(neighbours=tuple(PARTS)), role="step",
            expect="refuted", kind="structure")  # fmt: skip
def budget_sum(neighbours: str) -> Sides:
    """The printed budgets of the parts that user i affects add up to ε: T_o, V, H, θ_o, θ_τ at ε/3 each

    V and H, θ_o and θ_τ "use disjoint data", so I.7 counts one of each.

    Refuted: a user explored under one dataset and not under the other affects both trees and both
    optimizers, 5ε/3 in total. T_o follows from V and needs no separate budget: 4ε/3 remain, or ε with a
    quarter for each
    """
    return Fraction(len(PARTS[neighbours]), 3), Fraction(1)


BOTH = listed("instance moved", ((4, 0), "explored"), ((4, 0), "swap"), ((1, 0), "explored"), ((1, 0),
"swap"), ((1, 4), "explored"), ((1, 8), "explored"))  # fmt: skip


def trees_claim(instance: tuple[int, int], moved: str) -> ApproxDP:
    return ApproxDP(epsilon=1, delta=TENTH, domain=ARMS)


def trees_alone(instance: tuple[int, int], moved: str) -> str:
    return "refuted" if instance[1] >= 4 else "verified"


@evidence(rows, "SAR-I.7/trees", "Lemma I.7, the trees' part", claim=trees_claim, over=BOTH, role="step",
          expect=trees_alone)  # fmt: skip
def both_trees(run: Run, instance: tuple[int, int], moved: str) -> list[Evidence]:
    """{V_t, H_t} of all rounds, which the proof protects, are (ε, δ)-DP given θ_o: ε = 1, δ = 1/10, T =
    1024

    "explored": V's leaf is replaced. "swap": V loses a leaf x xᵀ and H gains a leaf of weight up to sup
    μ'/e. The row uses actual losses instead of budgets, /2, and the instance of SAR-I.4p.

    Refuted: from κ* = 57 on V's prefixes alone exceed all of (ε, δ), and not only a third

    Note: joint privacy is about the others' actions. One action reveals as much from κ* = 405 on
    (SAR-T6.2p)
    """
    claim, found = trees_claim(instance, moved), _both(instance)
    weight = upper_short(found.steepest / arb(1).exp())
    variance = printed_variance(epsilon=1, delta=TENTH, depth=levels(1024), sensitivity=1 / found.kappa_star)
    norm = Fraction(2) if moved == "explored" else 1 + weight**2
    tree = tree_proof(norm_squared=norm, variance=variance, nodes=levels(1024), symmetrise="half")
    if moved == "swap":
        return [tree.certify(claim)]
    witness = prefix_witness(claim, size=Fraction(1), variance=variance, nodes=10, symmetrise="half")
    return [tree.certify(claim), witness]


def _both(at: tuple[int, int]) -> Instance:
    return instance(*at)


EXPLOITED = listed("score k n epsilon delta", (0, 3, 5000, "1", "1/10"), (4, 3, 5000, "1", "1/10"),
                   (4, 4, 10_000, "1", "1/100"))  # fmt: skip


def of_exploited(score: int, k: int, n: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return ApproxDP(
        epsilon=2 * epsilon / 3, delta=2 * delta / 3, domain="one user's (x, r), not explored; T_o fixed"
    )


@evidence(rows, "SAR-I.7/exploited", "Lemma I.7, a user exploited in both", claim=of_exploited,
          over=EXPLOITED, role="step")  # fmt: skip
def exploited(run: Run, score: int, k: int, n: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """H_t and θ_τ,t of all rounds are (2ε/3, 2δ/3)-DP for a user who is not explored under either dataset

    T_o is fixed, and weights of H are up to sup μ'/e. The row uses actual losses instead of budgets: all
    nodes of H above a replaced leaf, T = 2^44, printed σ_noise, /2, and k calls of P_GD as in SAR-I.6p.
    Logistic, 1/κ* = μ'(score). V and θ_o do not use this user.

    Note: μ'/e may exceed 1/κ* off E_o; from κ* = 3000 on H alone fails (SAR-I.4p/H). The other kinds of
    neighbours are SAR-I.7/trees
    """
    claim, found = of_exploited(score, k, n, epsilon, delta), instance(1, score)
    nodes, weight = levels(LONG), upper_short(found.steepest / arb(1).exp())
    variance = printed_variance(epsilon=epsilon, delta=delta, depth=nodes, sensitivity=1 / found.kappa_star)
    norm = 2 * weight**2
    tree = tree_proof(norm_squared=norm, variance=variance, nodes=nodes, symmetrise="half")
    calls = [_descent(k, n * 2**j, epsilon, delta) for j in range(k)]
    parts = [sums(call.sheet, "vector", times=call.steps) for call in calls]
    squares = [part.scale**2 for part in parts]
    mu_squared = node_mu_squared(norm_squared=norm, variance=lower_short(variance), symmetrise="half")
    whole = float(nodes * mu_squared) + sum(squares)
    runs = [
        part.proof(epsilon=claim.epsilon, delta=claim.delta, beside=whole - square)
        for part, square in zip(parts, squares, strict=True)
    ]
    return [compose_sequential([tree, *runs], times=[1] * (k + 1)).certify(claim)]


ACTIONS = over(S=(4, 8, 12, 16, full(24)))


def of_actions(S: int) -> ApproxDP:
    return ApproxDP(epsilon=1, delta=TENTH, domain=ARMS, view=JOINT)


def evidence_by_actions(S: int) -> str:
    return "refuted" if S >= 12 else "inconclusive"


@evidence(rows, "SAR-T6.2p", "Theorem 6.2 and Lemma I.7, privacy", claim=of_actions, over=ACTIONS,
          expect=evidence_by_actions)  # fmt: skip
def whole(run: Run, S: int) -> Measured:
    """Algorithm 2 is (ε, δ)-joint-DP: ε = 1, δ = 1/10

    Logistic, d = 2, θ* = S e_2, 1/κ* = μ'(S/2), κ = 1/μ'(S), T = 2^44, ζ = δ/2, c = 1 in (21). One user is
    explored or not, and the next user's two arms are chosen so that Criterion I plays one and the policy
    the other. That user's action reveals on which side of a threshold V is. Everything else in the others'
    view is the same.

    Refuted: at κ* = 405 this one action has δ = 0.35 at ε; at κ* = 3000 it identifies the user's role

    Note: if κ* is small the upper bound is 1. Two things are missing: the optimizer's bound for a neighbour
    that changes the number of its users, as a role swap does (n enters T, g, b and the mean), and a cap on
    its calls, which the pseudo-code does not have. The lower bound uses only this action

    Note: the parts that the proof adds up fail as well: T_o (SAR-L6.1), the trees (SAR-I.4p), the sum of
    budgets (SAR-I.7/sum)

    Note: θ_τ = 0 and H_τ = λI before the first switch, which the paper leaves undefined. With a switch at
    the first round that does not explore, the noise of H_τ makes the policy's choice between the two arms a
    fair coin, so half of δ's first term is left: 1/2 at κ* = 3000

    Note: another c in (21) changes k and the required horizon, and δ only slightly; noise of all m nodes in
    every prefix, with the symmetrisation /√2, leaves 0.26 at κ* = 3000. Repair: SAR-T6.2p/repaired
    """
    found = revealing_action(S=S, horizon=LONG, epsilon=Fraction(1), delta=TENTH)
    details = {"kappa*": float(found.kappa_star), "k": found.power, "sigma": float(found.deviation)}
    upper = None if evidence_by_actions(S) == "refuted" else 1
    return Measured(
        low=found.delta, high=upper, covers=False, details=details, method="normal distribution in balls"
    )


REPAIRED = listed("score k T epsilon delta", (0, 10, 50_000, "1", "1/10"), (8, 10, 50_000, "1", "1/10"),
                  (16, 10, 50_000, "1", "1/1000"), (8, 100, 50_000, "4", "1/10"))  # fmt: skip


def of_repaired(score: int, k: int, T: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return ApproxDP(epsilon=epsilon, delta=delta, domain=ARMS, view=JOINT)


@evidence(rows, "SAR-T6.2p/repaired", "repair of Theorem 6.2, privacy", claim=of_repaired, over=REPAIRED,
          role="repaired", repairs=("SAR-T6.2p", "SAR-L6.1", "SAR-I.7/sum", "SAR-I.7/trees"),
          expect="consistent")  # fmt: skip
def repaired_whole(
    run: Run, score: int, k: int, T: int, epsilon: Fraction, delta: Fraction
) -> list[Evidence]:
    """Algorithm 2 with four changes is (ε, δ)-joint-DP, for every kind of neighbour and every κ*

    V's noise is drawn for sensitivity 1. H's weights are cut at 1/κ*. Both optimizers take the mean over
    all T rounds, with gradient 0 for a round of the other optimizer, so that n is T for both neighbours.
    They are called, at most k times each, when the released V or H requires it (its determinant has
    doubled), regardless of the round itself.

    All others' actions follow from V, H, θ_o and θ_τ. The certificate composes the m nodes of each tree
    above a leaf, replaced or removed, and all calls, with one user's gradient replaced in every call. d =
    2, logistic, 1/κ* = μ'(score), printed σ_noise but for V, printed (ε_o, δ_o) at k, "half".

    Note: the repair multiplies V's noise by κ*, and with it λ (SAR-I.4p/repaired). ν of (10) depends on n
    only through logarithms; fewer calls than count1_cutoff have more budget each. Regret with so few calls
    is not bounded here
    """
    proof = joint_proof(
        score=score, call=_descent(k, T, epsilon, delta, dim=2), calls=k, horizon=T,
        budget=(epsilon, delta), target=epsilon,
    )  # fmt: skip
    return [proof.certify(of_repaired(score, k, T, epsilon, delta))]


# The practical variant

RELEASED = {
    "i explored in both": ("V", "theta_o", "theta_tau"),
    "i exploited in both": ("H", "theta_tau"),
    "role swap": ("V", "H", "theta_o", "theta_tau"),
}


@inequality(rows, "SAR-A.1/code", "Remark A.1, released code", over=over(neighbours=tuple(RELEASED)),
            role="what-if", expect="refuted", kind="structure")  # fmt: skip
def practical(neighbours: str) -> Sides:
    """With the caps on, the budgets of the released code add up to ε: V, H and both optimizers at ε/3 each

    θ_τ is fitted on all rounds there, including the explored ones.

    Refuted: a role swap affects all four: 4ε/3. For users who keep their role it is ε
    """
    return Fraction(len(RELEASED[neighbours]), 3), Fraction(1)


@inequality(rows, "SAR-A.1/code-steps", "released code, one step of DP-SGD", role="what-if",
expect="refuted", over=over(n=(2048, 2049, 3000, 5000)), kind="structure")  # fmt: skip
def steps_of_descent(n: int) -> Sides:
    """A step's mean gradient moves by at most clip/batch size, for which its noise is drawn

    Batches have min(n, 2048) users, and a last one has the rest, with noise σ clip/(batch size) on each.
    Gradients are clipped to length clip, and one is replaced.

    Refuted: replacing a gradient moves a mean of m by 2 clip/m, twice what the noise is drawn for. If the
    last batch is smaller, m is smaller too: at n = 2049 the factor is 4096. The later version of the code
    drops this batch
    """
    batch = min(n, 2048)
    last = n % batch or batch
    return Fraction(2, last), Fraction(1, batch)
