"""Check Lemmas Q.3 and Q.4: the exact information of actions about hidden signs, on small alphabets and for
a learner."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from audits.glm_bandits.information import (
    SignDistribution,
    divergence,
    entropy,
    half_mixture,
    jensen_shannon,
    noisy_signs,
)
from audits.glm_bandits.lower_bound_family import SignFamily, play
from audits.glm_bandits.sign_learners import certified_sign, committing, greedy, one_coordinate, wrong_sign
from dpaudit.core.claims import Ordering
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, integer, lower, precision, upper
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.suite import Chain, Measured, Sides, Step, evidence, inequality, over, step, steps

__all__ = ["rows"]

BITS = 160

rows = Group("Lemma 7.1: information in the actions", kind="lower-bound")

# Distributions of (V, X)


def _private_actions(dim: int) -> SignDistribution:
    """Return the actions of an ε-DP learner with ε = 1 on the paper's family, a = 1, two coordinates at
    most."""
    family = SignFamily(logistic(), Fraction(1), (Fraction(0),) * dim, Fraction(1))
    played = play(family, committing(dim, explored=2, epsilon=Fraction(1)), horizon=3 * dim)
    return played.distribution(actions_only=True)


def _drawn(seed: int, dim: int) -> SignDistribution:
    """Return masses of X on five outcomes for each V, rational, from a seed."""
    rng = random.Random(seed)
    signs = noisy_signs(dim, correct=arb(1) / 2).given
    weights = {v: [rng.randint(1, 60) for _ in range(5)] for v in signs}
    return SignDistribution({v: [ball(Fraction(w, sum(row))) for w in row] for v, row in weights.items()})


def _one_sided(rare: str) -> SignDistribution:
    """Return X = 1 with probability 1/2 if V = 1, and with probability ``rare`` if V = -1."""
    small = ball(Fraction(rare))
    return SignDistribution({(1,): [arb(1) / 2, arb(1) / 2], (-1,): [1 - small, small]})


def _parity() -> SignDistribution:
    """Return X = V_1 V_2, kept with probability 9/10."""
    kept = ball(Fraction(9, 10))
    return SignDistribution(
        {
            v: [kept, 1 - kept] if v[0] == v[1] else [1 - kept, kept]
            for v in ((1, 1), (1, -1), (-1, 1), (-1, -1))
        }
    )


DISTRIBUTIONS: dict[str, Callable[[], SignDistribution]] = {
    "a private learner's actions, d = 1": partial(_private_actions, 1),
    "a private learner's actions, d = 2": partial(_private_actions, 2),
    "signs kept with probability 3/5, d = 3": lambda: noisy_signs(3, correct=ball(Fraction(3, 5))),
    "signs kept with probability 99/100, d = 2": lambda: noisy_signs(2, correct=ball(Fraction(99, 100))),
    "one-sided, 1/10": partial(_one_sided, "1/10"),
    "one-sided, 1/1000000": partial(_one_sided, "1/1000000"),
    "parity of two signs": _parity,
    **{
        f"drawn, seed {seed}, d = {dim}": partial(_drawn, seed, dim) for seed in range(4) for dim in (1, 2, 3)
    },
}
EVERY = over(distribution=tuple(DISTRIBUTIONS))


def _divergences(distribution: SignDistribution) -> arb:
    """Return Σ_j KL of X given V_j = 1 from X given V_j = -1."""
    return sum((distribution.divergence_of_one(j) for j in range(distribution.dim)), arb(0))


# Lemma Q.3

#: Tolerance for inequalities that are equalities at some distributions, which balls cannot decide.
SLACK = ball(Fraction(1, 10**12))


@step("divergence by information", over=EVERY, expect="refuted")
def _by_information(distribution: str) -> Sides:
    """Σ_j KL(P_+^j | P_-^j) ≤ 4 I(V; X)"""
    given = DISTRIBUTIONS[distribution]()
    return _divergences(given), 4 * given.information()


@step("errors by divergence", over=EVERY)
def _by_divergence(distribution: str) -> Sides:
    """(d/2)(1 - √(Σ_j KL_j/(2d))) ≤ E Ham(V, V̂) for every decoder (up to 10^-12)"""
    given = DISTRIBUTIONS[distribution]()
    d = given.dim
    root = (_divergences(given) / (2 * d)).nonnegative_part().sqrt()
    return arb(d) / 2 * (1 - root), given.smallest_errors() + SLACK


@steps(rows, "SAR-Q.3", "Lemma Q.3", cells=True, expect="refuted", measure="left - right")
def hamming() -> list[Step]:
    """Σ_j KL(P_+^j | P_-^j) ≤ 4 I(V; X), and every decoder errs on (d/2)(1 - √(Σ_j KL_j/(2d))) signs

    Enumerate distributions of (V, X), V uniform, including the actions of private learners on the paper's
    own family. The decoder of each sign is the one with the fewest errors.

    Refuted: the first part has the wrong direction. KL(P | Q) + KL(Q | P) is at least 8 times the
    Jensen-Shannon divergence, which is I(V_j; X), with equality only for P = Q. So 4 I(V_j; X) is below the
    divergence for one of the two names of the signs, and no constant helps: the divergence can be infinite

    Note: the second part holds, and so does the consequence for which both parts are used
    (SAR-Q.3/repaired)
    """
    return [_by_information, _by_divergence]


@step("midpoint", over=EVERY, expect="refuted")
def _midpoint(distribution: str) -> Sides:
    """KL(P | Q) ≤ 2 KL(P | M) + 2 KL(Q | M), M = (P + Q)/2, for V_1"""
    first, second = DISTRIBUTIONS[distribution]().sides(0)
    middle = half_mixture(first, second)
    return divergence(first, second), 2 * divergence(first, middle) + 2 * divergence(second, middle)


@step("chain rule", over=EVERY, expect="refuted")
def _chain(distribution: str) -> Sides:
    """Σ_j I(V_j; X | V_-j) ≤ I(V; X)"""
    given = DISTRIBUTIONS[distribution]()
    return sum((given.information_given_others(j) for j in range(given.dim)), arb(0)), given.information()


@steps(
    rows, "SAR-Q.3/steps", "proof of Lemma Q.3", cells=True, role="step", expect="refuted",
    measure="left - right",
)  # fmt: skip
def hamming_steps() -> list[Step]:
    """KL(P | Q) ≤ 2 KL(P | M) + 2 KL(Q | M), and Σ_j I(V_j; X | V_-j) = I(V; X)

    Refuted: the divergence is infinite if P has mass where Q has none, and the right side is at most 4 log
    2; given the others, each sign of a parity has all of the information

    Note: for independent signs Σ_j I(V_j; X) ≤ I(V; X) ≤ Σ_j I(V_j; X | V_-j); the first is needed
    """
    return [_midpoint, _chain]


@inequality(
    rows, "SAR-Q.3/repaired", "repair of Lemma Q.3", over=EVERY, role="repaired", measure="left - right",
    repairs=("SAR-Q.3", "SAR-Q.3/steps"),
)  # fmt: skip
def hamming_repaired(distribution: str) -> Chain:
    """Every decoder errs on (d/2)(1 - √(2 I(V; X)/d)) signs, the consequence of both printed parts

    Total variation between P_+^j and P_-^j is at most √(2 I(V_j; X)), by Pinsker through the midpoint. Then
    apply Jensen. The signs are independent. For distributions with P ≤ t Q: KL(P | Q) ≤ 2(1 + t) I(V_j; X).
    """
    given = DISTRIBUTIONS[distribution]()
    d, found = given.dim, given.information()
    least = arb(d) / 2 * (1 - (2 * found / d).sqrt())
    singles = sum((given.information_of_one(j) for j in range(d)), arb(0))
    first, second = given.sides(0)
    ratio = arb(1)
    for p, q in zip(first, second, strict=True):
        ratio = ratio.max(p / q)
    bound = 2 * (1 + ratio) * jensen_shannon(first, second)
    return {
        "(d/2)(1 - √(2I/d)) ≤ E Ham": (least, given.smallest_errors()),
        "Σ_j I(V_j; X) ≤ I(V; X) (up to 10^-12)": (singles, found + SLACK),
        "KL ≤ 2(1 + t) I(V_1; X) (up to 10^-12)": (divergence(first, second), bound + SLACK),
    }


# Lemma Q.4


def _budget(T: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Return T (ε² + δ log(1/δ))."""
    return T * (ball(epsilon**2) + ball(delta) * ln(1 / delta))


DELTA = Fraction(1, 10**12)


def _information_claim(C: Fraction) -> Ordering:
    return Ordering(
        text=f"I(V; X) ≤ C T (ε² + δ log(1/δ)) for the actions X of every (ε, δ)-DP learner; here C = {C}, "
        f"ε = 1/{200 * int(C)}, δ = 10^-12, d = 1, a = a_max = 1, logistic rewards",
        quantity_name="I(V; X) / (C T (ε² + δ log(1/δ)))",
        claimed=1,
        constants=(("C", str(C)), ("epsilon", f"1/{200 * int(C)}"), ("delta", "1/1000000000000")),
    )


@evidence(rows, "SAR-Q.4", "Lemma Q.4", claim=_information_claim, over=over(C=(Fraction(1), Fraction(10))),
          expect="refuted")  # fmt: skip
def information(run: Run, C: Fraction) -> Measured:
    """The actions of an (ε, δ)-DP learner have at most C T (ε² + δ log(1/δ)) of information about V, ε ≤ 1,
    for any perturbation a

    One coordinate of the paper's family, a = a_max = 1: pull + r e_1 for 8/ε rounds, then the arm given by
    a count with Laplace(1/ε) noise. Compute I(V; X) exactly. Only the last action is informative.

    Refuted: rewards are independent given V, but not without V. All T rewards favour the side of V, and the
    learner reads their sum: with T = 8/ε it learns a fixed part of V as ε falls, and T ε² = 8 ε vanishes.
    No universal C is enough

    Note: one record, with the others held fixed, satisfies the bound (SAR-Q.4/record). With a = γ ε, as in
    the theorem, I(V; X) satisfies it for another reason: no learner learns more (SAR-Q.4/repaired)
    """
    epsilon = 1 / (200 * C)
    pulls = int(8 / epsilon)
    with precision(BITS):
        correct = logistic().at(ball(Fraction(1, 2))).mean
        wrong = wrong_sign(pulls=pulls, correct=correct, epsilon=epsilon)
        told = jensen_shannon([1 - wrong, wrong], [wrong, 1 - wrong])
        ratio = told / (ball(C) * _budget(pulls + 1, epsilon, DELTA))
    return Measured(
        low=lower(ratio), high=upper(ratio), method="closed form in balls", scope=f"T = {pulls + 1}",
        notes=[certified_sign(epsilon)],
    )  # fmt: skip


DENSITY = over(C=(1, 100, 10**4), delta="1/1000000 1/3")


@inequality(
    rows, "SAR-Q.4/values", "Lemma Q.4, the middle of the chain", over=DENSITY,
    role="step", expect="refuted",
)  # fmt: skip
def information_about_rewards(C: int, delta: Fraction) -> Sides:
    """I(D; X) ≤ C T (ε² + δ log(1/δ)) for the rewards D, for every d

    T = 2, rewards uniform on [0, 1] at score 0 (an exponential family of Definition 4.1), d = N, so that
    there are 2N arms. With probability δ the second action encodes which of N cells contains the first
    reward. Otherwise it is an arm that encodes no cell. This is (0, δ)-DP, taken with ε² = δ. The
    information is exactly δ log N; N = 2^k with k = ⌈4 C (1 + log(1/δ))/log 2⌉.

    Refuted: a reward of many values that is revealed with probability δ carries as much information as the
    arms can encode. C does not depend on d, and the information grows with d without bound

    Note: for rewards with two values the constant is log 2 (SAR-Q.4/record); V has one bit per coordinate,
    and only the middle of the chain fails here
    """
    budget = ball(delta) * (1 + ln(1 / delta))
    digits = integer((4 * C * (1 + ln(1 / delta)) / arb.const_log2()).ceil())
    return ball(delta) * digits * arb.const_log2(), 2 * C * budget


PRIORS = over(epsilon="1/1000 1/10 1/2 1", delta="1/1000000000 1/1000 1/10 1/3 9/25", prior="1/2 1/10 99/100")


@inequality(rows, "SAR-Q.4/record", "Lemma Q.4, one record", over=PRIORS, role="step")
def one_record(epsilon: Fraction, delta: Fraction, prior: Fraction) -> Sides:
    """One record in {0, 1}, the others fixed, carries at most log 2 (ε² + δ log(1/δ)) of information, ε ≤
    1, δ ≤ 1/e

    Use the extremal channel, of which every (ε, δ)-DP channel of one bit is post-processing: reveal the bit
    with probability δ, otherwise randomised response. Compute the exact information for several priors.
    """
    kept = ball(epsilon).exp() / (1 + ball(epsilon).exp())
    one = ball(prior)
    output_one = one * kept + (1 - one) * (1 - kept)
    response = entropy([output_one, 1 - output_one]) - entropy([kept, 1 - kept])
    told = ball(delta) * entropy([one, 1 - one]) + (1 - ball(delta)) * response
    return told, arb.const_log2() * _budget(1, epsilon, delta)


LEARNERS = {
    "private, in turn": lambda d: committing(d, explored=1, epsilon=Fraction(1, 2)),
    "one coordinate": lambda d: one_coordinate(explored=2, epsilon=Fraction(1, 2)),
    "greedy, not private": greedy,
}


@inequality(
    rows, "SAR-Q.4/repaired", "repair of Lemma Q.4", role="repaired",
    over=over(learner=tuple(LEARNERS), d=(1, 2), T=(1, 4, 6), a="1/100 1/4 1"),
)  # fmt: skip
def information_of_everyone(learner: str, d: int, T: int, a: Fraction) -> Sides:
    """Actions and rewards jointly have at most T M (r a)²/2 of information about V, θ_0 = 0, for any
    learner

    With a = γ ε this is (M r² γ²/2) T ε².

    The information of each reward is at most the divergence from the distribution at score 0. Enumerate
    transcripts exactly.

    Note: privacy is not used. The theorem's instances are so close that no learner can distinguish them in
    d/ε² rounds
    """
    family = SignFamily(logistic(), Fraction(1), (Fraction(0),) * d, a)
    distribution = play(family, LEARNERS[learner](d), horizon=T).distribution(actions_only=False)
    return distribution.information(), ball(Fraction(T, 8) * (family.radius * a) ** 2)
