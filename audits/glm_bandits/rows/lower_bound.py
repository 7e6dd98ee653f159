"""Check Lemma 7.1, the private lower bound: what its horizon allows, its family of instances,
and step 4."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.glm_bandits.lower_bound_family import Played, SignFamily, play
from audits.glm_bandits.sign_learners import (
    committing,
    greedy,
    one_coordinate,
)
from dpaudit.core.claims import LowerBound
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, integer
from dpaudit.reference.algorithms.contextual.links import FiniteFamily, bernoulli, logistic
from dpaudit.suite import (
    Chain,
    Measured,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    listed,
    over,
    step,
    steps,
)

__all__ = ["rows"]


rows = Group("Lemma 7.1: the private lower bound and its family", kind="lower-bound")
rows.not_checkable(
    "SAR-L7.1c",
    reason="text: it adds a cited non-private bound to SAR-L7.1, each for its own instances, and carries "
    "both over to joint privacy in words; no construction or constant is given",
)

# Lemma 7.1 if δ log(1/δ) is above ε²


def _horizon(*, dim: int, factor: Fraction, epsilon: Fraction, delta: Fraction) -> int:
    """Return the first T that is at least ``factor`` d/(ε² + δ log(1/δ))."""
    least = ball(factor * dim) / (ball(epsilon**2) + ball(delta) * ln(1 / delta))
    return integer(least.ceil())


def _ends(c: Fraction, C: Fraction, d: int) -> tuple[Fraction, Fraction]:
    """Return ε and δ at which the theorem is examined."""
    return c / (10 * (C + 1)), Fraction(1, 4)


def _printed(c: Fraction, C: Fraction, d: int) -> LowerBound:
    epsilon, delta = _ends(c, C, d)
    return LowerBound(
        text=f"for some X and every learner whose actions are ({epsilon}, {delta})-DP in the rewards, "
        f"E R_T ≥ c d/ε for all T ≥ C d/(ε² + δ log(1/δ)); here c = {c}, C = {C}, d = {d}",
        quantity_name="regret / (c d/ε)",
        claimed=1,
        constants=(("c", str(c)), ("C", str(C)), ("epsilon", str(epsilon)), ("delta", str(delta))),
    )


CONSTANTS = listed("c C d", (1, 1, 1), (1, 1, 64), ("1/100", 100, 1), ("1/1000000", "1000000", 64))


@evidence(rows, "SAR-L7.1", "Lemma 7.1", claim=_printed, over=CONSTANTS, expect="refuted")
def horizon_too_short(run: Run, c: Fraction, C: Fraction, d: int) -> Measured:
    """Some fixed X forces E R_T ≥ c d/ε on every private learner, from T = C d/(ε² + δ log(1/δ)) on

    Compare the bound with the largest possible regret of T rounds, R T with R = 1, for any X, learner and
    instance.

    Refuted: at a fixed δ ≤ 1/e the horizon stays bounded as ε falls, and c d/ε does not: T rounds cannot
    have so much regret. No universal c, C is enough; the bound fails as soon as δ log(1/δ) > (C/c) ε, R = 1

    Note: if δ log(1/δ) ≤ ε² the bound is true but independent of privacy: the best non-private learner
    already has it (SAR-L7.1/repaired)
    """
    epsilon, delta = _ends(c, C, d)
    rounds = _horizon(dim=d, factor=Fraction(C), epsilon=epsilon, delta=delta)
    return Measured(
        high=rounds * epsilon / (c * d),
        method="the largest regret of T rounds, exactly",
        scope=f"T = {rounds}, every X, learner and instance with rewards in [0, 1]",
    )


# A true bound for every learner, on signed arms

STEEP = Fraction(1966, 10_000)  # below mu'(1) of the logistic link
KEPT = Fraction(8, 100)


def _best_regret_of_one_sign(horizon: int, score: arb) -> arb:
    """Return the smallest Bayes regret at d = 1: arms ±1, means mu(±score), V uniform.

    Every pull is equally informative, so playing the likelier sign is best: Σ_t gap min over decoders of
    P(wrong after t pulls).
    """
    correct = logistic().at(score).mean
    total = arb(0)
    for seen in range(horizon):
        for ones in range(seen + 1):
            ways = arb(1)
            for k in range(ones):
                ways = ways * (seen - k) / (k + 1)
            right = correct**ones * (1 - correct) ** (seen - ones)
            total += ways * right.min(correct ** (seen - ones) * (1 - correct) ** ones) / 2
    return (2 * correct - 1) * total


@step("the best learner at d = 1", over=over(T="1 2 4 9 16 40"))
def _best_learner(T: Fraction) -> Sides:
    """(m/2) min(T, √T) ≤ the smallest Bayes regret on {-1, 1} with θ = ±min(1, 1/√T), by enumeration"""
    horizon = int(T)
    root = ball(T).sqrt()
    return ball(STEEP / 2) * ball(T).min(root), _best_regret_of_one_sign(horizon, 1 / root)


@step("slope", over=over(z="-1 -1/2 0 1/2 1"))
def _slope(z: Fraction) -> Sides:
    """0.1966 ≤ mu' on [-1, 1], which has its smallest values at the ends"""
    return ball(STEEP), logistic().at(ball(z)).slope


@step(
    "horizon", over=over(d=(1, 2, 8, 100, 10**4), epsilon="1 1/4 1/100 1/10000", delta="1/1000000 1/100 1/3")
)
def _kept(d: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """0.08 d/√(ε² + δ log(1/δ)) ≤ (m/2) min(T, d √T) at the first T ≥ d/(ε² + δ log(1/δ))"""
    rate = (ball(epsilon**2) + ball(delta) * ln(1 / delta)).sqrt()
    rounds = ball(_horizon(dim=d, factor=Fraction(1), epsilon=epsilon, delta=delta))
    return ball(KEPT * d) / rate, ball(STEEP / 2) * rounds.min(d * rounds.sqrt())


@steps(rows, "SAR-L7.1/repaired", "repair of Lemma 7.1", role="repaired", repairs=("SAR-L7.1", "SAR-116"))
def every_learner() -> list[Step]:
    """On the arms {-1, 1}^d/√d every learner, private or not, has E R_T ≥ (m/2) min(T, d√T) on some
    instance: at least 0.08 d/√(ε² + δ log(1/δ)) from T = d/(ε² + δ log(1/δ)) on

    Logistic rewards, θ = b V with b = min(1/√d, √(d/T)), V uniform in {-1, 1}^d, so that scores stay in
    [-1, 1]. A round has regret of at least (2mb/√d) times its wrong signs. Flipping V_j moves a score by
    2b/√d, so T rounds reveal at most T b²/(2d) nats about it (mu' ≤ 1/4), and every round errs on V_j with
    probability 1/4 or more (Pinsker). The row computes the constants, the last inequality at the first T
    (it grows with T), and a comparison with the enumerated best learner at d = 1.

    Note: in this family every coordinate matters in every round, unlike in ±r e_j (SAR-116). For δ log(1/δ)
    ≤ ε² this is the printed d/ε up to a constant, and it holds for learners without any privacy: the
    theorem does not bound the cost of privacy. For S < 1 take scores in [-S, S]
    """
    return [_slope, _kept, _best_learner]


# Lemma Q.1

LINKS: dict[str, FiniteFamily] = {"logistic": logistic(), "Bernoulli, R = 2": bernoulli(2)}


def _family(link: str, tau: Fraction, base: Fraction, other: Fraction, a: Fraction) -> SignFamily:
    return SignFamily(LINKS[link], tau, (base, other), a)


def _allowed(**point: Any) -> bool:
    return _family(**point).admissible()


GRID = {"link": tuple(LINKS), "tau": "1/2 1 2", "other": "0 1", "a": "1/20 1/4 1"}
ANY = over(**GRID, base="0 1/20 1/4 1 -1/3").where(_allowed, "where r a ≤ m/(2L)")
CENTRED = over(
    link=tuple(LINKS), tau="1/2 1 2", base=(Fraction(0),), other=(Fraction(0),), a="1/20 1/4 1"
).where(_allowed, "where r a ≤ m/(2L)")


@inequality(
    rows, "SAR-Q.1", "Lemma Q.1", over=ANY, measure="left - right", expect="refuted", case="every θ_0"
)
@inequality(
    rows, "SAR-Q.1/centred", "Lemma Q.1, θ_0 = 0", over=CENTRED, measure="left - right",
    role="repaired", repairs="SAR-Q.1", case="θ_0 = 0",
)  # fmt: skip
def gap(link: str, tau: Fraction, base: Fraction, other: Fraction, a: Fraction) -> Chain:
    """The gap |mu(r θ_V,j) - mu(-r θ_V,j)| is at least (m r/2) a, for all V and j; {case}

    Both signs of V_j are checked at one coordinate. The other coordinate only sets B_0. The link is
    enclosed on [-τ, τ].

    Refuted: at θ_0,j = a the sign V_j = -1 makes θ_V,j = 0, and both arms have the same mean

    Note: at θ_0 = 0 the gap is at least 2 m r a, four times the printed value, with no condition on L
    """
    family = _family(link, tau, base, other, a)
    arms = ((0, 1), (0, -1))
    found = [abs(family.mean(arms[0], (v, 1)) - family.mean(arms[1], (v, 1))) for v in (1, -1)]
    return {f"V_j = {v}": (family.printed_gap(), one) for v, one in zip((1, -1), found, strict=True)}


@inequality(rows, "SAR-Q.1/flip", "proof of Lemma Q.1", over=ANY, role="step")
def flipped(link: str, tau: Fraction, base: Fraction, other: Fraction, a: Fraction) -> Chain:
    """Flipping V_j moves the mean of one arm by at least (m r/2) a, for every θ_0

    The proof's expansion computes this: one arm under V_j = 1 and under V_j = -1. By the mean value theorem
    it is at least 2 m r a.

    Note: the lemma's statement is about another quantity: it compares two arms under one V (SAR-Q.1)
    """
    family = _family(link, tau, base, other, a)
    changes = {s: abs(family.mean((0, s), (1, 1)) - family.mean((0, s), (-1, 1))) for s in (1, -1)}
    return {f"arm {s:+d} r e_j": (family.printed_gap(), one) for s, one in changes.items()}


# Lemma Q.2

HALF_LOG = Fraction(1, 2)
LEARNERS: dict[str, Any] = {
    "greedy": greedy,
    "private, in turn": lambda dim: committing(dim, explored=1, epsilon=HALF_LOG),
    "one coordinate": lambda dim: one_coordinate(explored=2, epsilon=HALF_LOG),
    "the arm + r e_1 for ever": lambda dim: lambda history: {(0, 1): arb(1)},
}


def _played(learner: str, *, base: tuple[Fraction, ...], a: Fraction, horizon: int) -> Played:
    family = SignFamily(logistic(), Fraction(1), base, a)
    return play(family, LEARNERS[learner](family.dim), horizon=horizon)


def _regret_and_errors(learner: str, d: int, T: int, a: Fraction, base: Fraction) -> Sides:
    played = _played(learner, base=(base, *[Fraction(0)] * (d - 1)), a=a, horizon=T)
    return played.family.printed_gap() * played.pulls_decoded_wrong(), played.regret()


PLAYED = over(learner=tuple(LEARNERS), d=(1, 2), T=(4, full(6)), a="1/20 1")


@step("θ_0 = 0", over=PLAYED)
def _decoded(learner: str, d: int, T: int, a: Fraction) -> Sides:
    """c_gap a Σ_j E[n_j 1{V̂_j ≠ V_j}] ≤ E R_T with θ_0 = 0"""
    return _regret_and_errors(learner, d, T, a, Fraction(0))


@step("θ_0 = 2a e_1", over=PLAYED, expect="refuted")
def _decoded_elsewhere(learner: str, d: int, T: int, a: Fraction) -> Sides:
    """c_gap a Σ_j E[n_j 1{V̂_j ≠ V_j}] ≤ E R_T with θ_0 = 2a e_1"""
    return _regret_and_errors(learner, d, T, a, 2 * a)


@steps(rows, "SAR-Q.2", "Lemma Q.2", cells=True, measure="left - right", expect="refuted")
def decoding() -> list[Step]:
    """E R_T ≥ c_gap a Σ_j E[n_j 1{V̂_j ≠ V_j}] for the MAP decoder of the full transcript

    Enumerate learners, rewards and V with probabilities in balls.

    Refuted: if θ_0,1 > a the arm + r e_1 is the best one under both signs; a learner that always plays it
    has no regret, and no information about V_1 after T rounds

    Note: with θ_0 = 0 it holds, with slack: given the transcript the wrong pulls of a coordinate are at
    least n_j times the smaller posterior, and each has regret 2 m r a (SAR-Q.2/centred)
    """
    return [_decoded, _decoded_elsewhere]


@inequality(
    rows, "SAR-Q.2/centred", "Lemma Q.2, θ_0 = 0", over=PLAYED, measure="left - right", role="repaired",
    repairs="SAR-Q.2",
)  # fmt: skip
def decoding_centred(learner: str, d: int, T: int, a: Fraction) -> Sides:
    """With θ_0 = 0: E R_T ≥ 4 c_gap a Σ_j E[n_j 1{V̂_j ≠ V_j}], four times the printed bound"""
    left, right = _regret_and_errors(learner, d, T, a, Fraction(0))
    return 4 * left, right
