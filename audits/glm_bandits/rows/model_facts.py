"""Check facts that the proofs assume: kappas, Lipschitz constants of the loss, and Lemma R.1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.glm_bandits.ridge_problems import RidgeProblem, drawn_problem, root
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import Link, bernoulli, finite_family, logistic
from dpaudit.suite import Chain, Sides, Step, full, inequality, over, step, steps

__all__ = ["rows"]

rows = Group("Generalized linear models: kappas, Lipschitz constants, Lemma R.1", kind="structure")

# The kappas

LINKS: dict[str, Link] = {
    "logistic": logistic(),
    "Bernoulli, R = 3": bernoulli(3),
    "rare top": finite_family("rare top", ("0", "1/10", "2"), ("1", "1", "1/1000000")),
}
#: Scores <x, theta*> in units of S of the arms of each context set. The sets have equal probability.
CONTEXTS = {
    "best arm beyond the steepest point": (("1/10", "1"), ("0", "3/4")),
    "all arms below 0": (("-1", "-1/2"), ("-3/4", "-1/10")),
    "one arm a set": (("1/2",), ("-1/2",), ("1",)),
    "everything": (("-1", "0", "1"), ("-1/3", "1/3")),
}


@step("κ̂ against κ*", over=over(link=tuple(LINKS), contexts=tuple(CONTEXTS), S="1/2 1 4 8"))
def _averaged(link: str, contexts: str, S: Fraction) -> Sides:
    """κ* ≤ κ̂: the average slope at the best arm is at most the largest slope of any arm"""
    model = LINKS[link]
    slopes = [[model.at(ball(S * Fraction(z))).slope for z in arms] for arms in CONTEXTS[contexts]]
    best = [arms.index(max(arms, key=Fraction)) for arms in CONTEXTS[contexts]]
    average = sum((row[i] for row, i in zip(slopes, best, strict=True)), arb(0)) / len(slopes)
    largest = arb(0)
    for row in slopes:
        for slope in row:
            largest = largest.max(slope)
    return average, largest


@step("κ of the logistic link", over=over(S="0 1/10 1 2 4 8 30"))
def _worst_arm(S: Fraction) -> Chain:
    """e^S ≤ κ ≤ 4 e^S with κ = 1/mu'(S)"""
    kappa, power = 1 / logistic().at(ball(S)).slope, ball(S).exp()
    return {"e^S ≤ 1/mu'(S)": (power, kappa), "1/mu'(S) ≤ 4 e^S": (kappa, 4 * power)}


@steps(rows, "SAR-KAPPA", "Section 4, after (3)")
def kappas() -> list[Step]:
    """κ̂ ≥ κ*, and κ = Θ(e^S) for logistic rewards, the worst arm at S

    Compute κ̂ and κ* on small distributions of contexts, and κ = e^S (1 + e^-S)² in closed form.
    """
    return [_averaged, _worst_arm]


# Lipschitz constants

GRID = {"R": "1/2 1 4", "S": "1/10 1/4 1/3 1/2 1 5"}


def _largest_gradient(R: Fraction, S: Fraction, ridge: Fraction) -> arb:
    """Return the largest norm of (mu(<x, theta>) - r) x + ridge theta over abs(theta) ≤ S, abs(x) ≤ 1, r in
    [0, R].

    It is attained at reward 0, x along theta and abs(theta) = S. By the triangle inequality no other choice
    is larger.
    """
    return bernoulli(R).at(ball(S)).mean + ball(ridge * S)


@inequality(rows, "SAR-LIP", "Section 5", over=over(**GRID))
def without_ridge(R: Fraction, S: Fraction) -> Sides:
    """The loss is (R + RS)-Lipschitz on the ball of radius S

    Compute the largest gradient over ball, arms and rewards, in closed form for rewards on {0, R}.

    Note: R alone is enough for every link with means and rewards in [0, R] (SAR-LIP/sharper)
    """
    return _largest_gradient(R, S, Fraction(0)), R + R * S


@inequality(rows, "SAR-LIP/sharper", "Section 5", over=over(**GRID), role="sharper")
def smaller_constant(R: Fraction, S: Fraction) -> Sides:
    """The loss is R-Lipschitz for every S: mean and reward both lie in [0, R]"""
    return _largest_gradient(R, S, Fraction(0)), R


RIDGES = over(**GRID, ridge="0 1/10 1 10")


@inequality(
    rows,
    "SAR-LIP/D.2",
    "Appendix D.2, where the step size is set",
    over=RIDGES,
    role="step",
    expect="refuted",
)
def with_ridge(R: Fraction, S: Fraction, ridge: Fraction) -> Sides:
    """As printed, for every S: with the ridge the loss is L-Lipschitz for L = RS + S + Sρ, ρ = λ_max/B_k

    Compare the largest gradient, mu(S) + Sρ, with L, for rewards on {0, R}.

    Refuted: mu(S) ≥ R/2 for every S, and RS + S is small if S is; the claim needs mu(S) ≤ S(R + 1), which
    holds from S near 0.29 on for R = 1. It holds whenever S ≥ R/(R + 1), including S ≥ 1

    Note: probably a misprint of one letter: with R for the S alone it holds for every S
    (SAR-LIP/D.2/reading). A gradient longer than the Δ = L of its encoding leaves the randomiser's range
    [0, 2Δ]
    """
    return _largest_gradient(R, S, ridge), R * S + S + S * ridge


@inequality(rows, "SAR-LIP/D.2/reading", "Appendix D.2, R for its first S", over=RIDGES)
def with_ridge_as_read(R: Fraction, S: Fraction, ridge: Fraction) -> Sides:
    """With the ridge the loss is L-Lipschitz for L = R + RS + Sρ, ρ = λ_max/B_k: section 5's R for one S"""
    return _largest_gradient(R, S, ridge), R + R * S + S * ridge


@inequality(
    rows, "SAR-LIP/D.2/large-S", "Assumption D.2", over=over(R="1/2 1 4 10", S="1 3/2 5", ridge="0 1 10"),
    role="repaired", repairs="SAR-LIP/D.2",
)  # fmt: skip
def with_ridge_from_one(R: Fraction, S: Fraction, ridge: Fraction) -> Chain:
    """R + Sρ is a Lipschitz constant for every S, and at most RS + S + Sρ for S ≥ R/(R + 1), as for S ≥ 1"""
    return {
        "largest gradient ≤ R + Sρ": (_largest_gradient(R, S, ridge), R + S * ridge),
        "R + Sρ ≤ RS + S + Sρ": (R + S * ridge, R * S + S + S * ridge),
    }


# Lemma R.1


def _meets(**point: Any) -> bool:
    problem = drawn_problem(**point)
    apart = problem.theta_min != problem.theta_star  # else both sides are 0, and their ratio is undefined
    return apart and problem.admissible() and problem.positive()


PROBLEMS = over(
    dim=(1, 2, 3), copies=(10, 300, 100_000), ridge="1/100 1 16 400", seed=(*range(4), full(*range(4, 40)))
).where(_meets, "where every reward lies in [0, 1] and θ̃ ≠ θ*")


#: N = λI, half of it, 0, and a negative one that leaves H(θ*) positive.
WIDER = over(
    dim=(1, 2, 3), copies=(10, 300, 100_000), ridge="1/100 1 16 400", seed=(*range(3), full(*range(3, 20))),
    share="-1/1000 0 1/2 1",
).where(_meets, "where every reward lies in [0, 1], θ̃ ≠ θ* and H(θ*) is positive")  # fmt: skip


@inequality(rows, "SAR-R.1", "Lemma R.1", over=WIDER)
def estimate_near(dim: int, copies: int, ridge: Fraction, seed: int, share: Fraction) -> Chain:
    """An estimate within ν of the smallest loss is within (2 + c)(γ + √ν) + √((2 + c)(Rγ²/√λ + γ)) of θ*

    Build logistic ridge problems whose minimiser is known exactly, N = share λI, R = 1 and S = 2. ν is the
    gap of the estimate, and the problem gives γ and c. The last root is not needed: (45) at θ*, the
    gradient there and the gap alone bound the distance by (2 + c)γ + √((2 + c)ν).
    """
    problem = drawn_problem(dim=dim, copies=copies, ridge=ridge, seed=seed, share=share)
    gamma, widened = problem.gamma(), 2 + ball(problem.reach())
    gap = _gap(problem)
    last = (widened * (gamma**2 / ball(ridge).sqrt() + gamma)).sqrt()
    return {
        "the printed bound": (problem.distance(), widened * (gamma + root(gap)) + last),
        "without the last root": (problem.distance(), widened * gamma + root(widened * gap)),
    }


def _gap(problem: RidgeProblem) -> arb:
    """Return L(theta_hat) - L(theta_min), at least 0."""
    return (problem.loss(problem.theta_hat) - problem.loss(problem.theta_min)).nonnegative_part()


@inequality(rows, "SAR-R.1/126", "(126)", over=PROBLEMS, role="step", expect="refuted")
def loss_of_the_truth(dim: int, copies: int, ridge: Fraction, seed: int) -> Sides:
    """L(θ*) - L(θ̃) is at most Rγ²/√λ + γ, θ̃ the minimiser

    Compute both sides on the problems of SAR-R.1, all under the lemma's conditions.

    Refuted: the left side is of the order γ²/2 or more if θ* is near the steepest point, the right side
    only of the order γ as soon as √λ > 2R and γ > 1/(1/2 - R/√λ)

    Note: R.1 holds without this line (SAR-R.1); the argument gives γ(Rγ²/√λ + γ)
    """
    problem = drawn_problem(dim=dim, copies=copies, ridge=ridge, seed=seed)
    gamma = problem.gamma()
    left = problem.loss(problem.theta_star) - problem.loss(problem.theta_min)
    return left, gamma**2 / ball(ridge).sqrt() + gamma


@inequality(rows, "SAR-R.1/126/repaired", "repair of (126)", over=PROBLEMS, role="repaired")
def loss_of_the_truth_repaired(dim: int, copies: int, ridge: Fraction, seed: int) -> Sides:
    """L(θ*) - L(θ̃) is at most γ(Rγ²/√λ + γ): the gradient at θ* times the distance of θ̃

    By convexity the left side is at most ⟨∇L(θ*), θ* - θ̃⟩ ≤ γ‖θ* - θ̃‖ in H(θ*), and self-concordance with
    H ≥ λI bounds the distance by Rγ²/√λ + γ.
    """
    problem = drawn_problem(dim=dim, copies=copies, ridge=ridge, seed=seed)
    gamma = problem.gamma()
    left = problem.loss(problem.theta_star) - problem.loss(problem.theta_min)
    return left, gamma * (gamma**2 / ball(ridge).sqrt() + gamma)
