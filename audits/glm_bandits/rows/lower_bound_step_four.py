"""Check step 4 of Lemma 7.1's proof, (116): counts times errors, the horizon, and a learner of one
coordinate."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from audits.glm_bandits.lower_bound_family import SignFamily, play
from audits.glm_bandits.sign_learners import (
    best_commitment,
    certified_sign,
    committing,
    one_coordinate,
    play_one_coordinate,
)
from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import LowerBound, PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.exact_functions import ln
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, lower, precision, upper
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.replay import domains
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import Measured, Sides, Step, evidence, over, privacy, step, steps

__all__ = ["rows"]

rows = Group("Lemma 7.1: step 4 of its proof", kind="lower-bound")
BITS = 160

SMALL = over(d=(1, 2), T=(4, 6), a="1/4 1", epsilon="1/4 1")


def _counts(learner: str, d: int, T: int, a: Fraction, epsilon: Fraction) -> Sides:
    """Return (T/d) E Ham and Σ_j E[n_j 1{V̂_j ≠ V_j}]."""
    family = SignFamily(logistic(), Fraction(1), (Fraction(0),) * d, a)
    policies = {
        "one coordinate": lambda: one_coordinate(explored=2, epsilon=epsilon),
        "in turn": lambda: committing(d, explored=1, epsilon=epsilon),
    }
    played = play(family, policies[learner](), horizon=T)
    return ball(Fraction(T, d)) * played.errors(), played.pulls_decoded_wrong()


@step("a learner that takes coordinates in turn", over=SMALL)
def _in_turn(d: int, T: int, a: Fraction, epsilon: Fraction) -> Sides:
    """(T/d) E Ham ≤ Σ_j E[n_j 1{V̂_j ≠ V_j}] (up to 10^-12), each coordinate pulled T/d times"""
    left, right = _counts("in turn", d, T, a, epsilon)
    return left, right + ball(Fraction(1, 10**12))


@step("a learner of one coordinate", over=SMALL.where(lambda d, **_: d == 2, "d = 2"), expect="refuted")
def _alone(d: int, T: int, a: Fraction, epsilon: Fraction) -> Sides:
    """(T/d) E Ham ≤ Σ_j E[n_j 1{V̂_j ≠ V_j}], one coordinate drawn at first and pulled T times"""
    return _counts("one coordinate", d, T, a, epsilon)


@step("the horizon", over=over(epsilon="1 1/10 1/1000", delta="1/1000000000000 1/4"), expect="refuted")
def _same_horizon(epsilon: Fraction, delta: Fraction) -> Sides:
    """d/ε ≤ 1000 ε d/(ε² + δ log(1/δ)), the constant 1000 for "c'" """
    return 1, ball(1000 * epsilon**2) / (ball(epsilon**2) + ball(delta) * ln(1 / delta))


@steps(
    rows, "SAR-116", "Appendix Q, step 4", cells=True, role="step", measure="left - right", expect="refuted"
)
def step_four() -> list[Step]:
    """Σ_j E[n_j 1{V̂_j ≠ V_j}] = (T_0/d) E Ham, from E[n_j] = T_0/d by relabelling, and c' ε T_0 = c' d/ε

    Enumerate both sides for small ε-DP learners at θ_0 = 0, V̂ the MAP decoder of the transcript.
    Relabelling coordinates at random changes neither side, and makes E[n_j] = T/d for every learner.

    Refuted: counts and errors are not independent. A learner that plays a single coordinate errs on all
    others, which it never pulls, and learns the one that counts. The factor is (d - 1)/(2 d P) + 1/d with P
    its error there, which falls with T. And ε T_0 = c_0 d/ε (1 + δ log(1/δ)/ε²)^-1, of the order d/ε only
    for δ log(1/δ) = O(ε²)
    """
    return [_in_turn, _alone, _same_horizon]


C_HAM = (1 - arb(1) / arb(8).sqrt()) / 2


#: The rewards of four rounds.
REWARDS = Records(Interval(0, 1), size=4, container="list")


def _learner(epsilon: Fraction) -> PrivacyAudit:
    explored = [0.0, 1.0, 0.5, 1.0]
    return PrivacyAudit(
        claim=PureDP(epsilon=epsilon, domain=REWARDS.words),
        program=partial(play_one_coordinate, epsilon=epsilon, later=3),
        neighbours=lambda run: [
            Neighbours(
                f"reward {i} from {old} to {1 - old}", explored, [*explored[:i], 1 - old, *explored[i + 1 :]]
            )
            for i, old in enumerate(explored[:2])
        ],
        domain=domains.Interval(0, 1),
        sites=[Site("count", mechanism=laplace_mechanism(sensitivity=1, scale=1 / epsilon))],
    )


@privacy(
    rows,
    "SAR-116/learner",
    "the learner of SAR-116/regret",
    over=over(epsilon="1/4 1"),
    role="control",
    prove=REWARDS,
)
def learner(epsilon: Fraction) -> PrivacyAudit:
    """The learner of one coordinate is ε-DP in the rewards: all of its actions are public

    Rewards enter one count, which is released once. The sign follows from it.
    """
    return _learner(epsilon)


def _regret_claim(d: int, epsilon: Fraction) -> LowerBound:
    return LowerBound(
        text="every ε-DP learner has E R_T ≥ c_gap γ c_Ham ε T_0 on ±r e_j, θ_V = γ ε V; "
        f"d = {d}, ε = {epsilon}, δ → 0; c_gap = m r/2, c_Ham = (1 - √(1/8))/2, T_0 = d/(16 C_DP ε²), "
        "C_DP = γ = 1",
        quantity_name="regret / (c_gap γ c_Ham ε T_0)",
        claimed=1,
        constants=(("gamma", "1"), ("C_DP", "1"), ("tau", "1"), ("a_max", "1")),
    )


WIDE = over(d=(2**8, 2**14, 2**17, 2**20), epsilon="1 1/4")


@evidence(
    rows, "SAR-116/regret", "Appendix Q, (116)", claim=_regret_claim, over=WIDE, role="step",
    expect=lambda d, epsilon: "refuted" if d >= 2**14 else "inconclusive",
)  # fmt: skip
def regret_of_one_coordinate(run: Run, d: int, epsilon: Fraction) -> Measured:
    """Every private learner has regret c' d/ε on the family ±r e_j at T_0

    The learner plays one coordinate alone: it explores, then keeps the sign of a count with Laplace(1/ε)
    noise. Compare its exact regret with the printed bound, with c_gap and c_Ham of the proof and γ = C_DP =
    1.

    Refuted: its regret is of the order log(d)/ε, so every constant fails for d large enough

    Note: all coordinates are equally good, so a learner only needs to learn one. The theorem needs another
    X (SAR-L7.1/repaired)
    """
    family = SignFamily(logistic(), Fraction(1), (Fraction(0),), epsilon)
    horizon = int(-(-Fraction(d) // (16 * epsilon**2)))
    with precision(BITS):
        learner = best_commitment(horizon=horizon, scale=epsilon, epsilon=epsilon, radius=family.radius)
        printed = family.printed_gap() * C_HAM * horizon
    return Measured(
        high=upper(learner.regret / printed),
        method="closed form in balls",
        scope=f"T_0 = {horizon}, {learner.explored} rounds of exploration, V uniform",
        details={"regret": upper(learner.regret), "printed bound": lower(printed)},
        notes=[certified_sign(epsilon)],
    )
