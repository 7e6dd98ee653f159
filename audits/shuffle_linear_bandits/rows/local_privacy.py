"""Check the privacy of one user's message: the explicit local claims of P_Amp and Batched-Local.

Both sides use the exact Gaussian profile. Another row examines a Gaussian mechanism as its epsilon grows.
The printed noise gives each of the two statistics half the budget and a sensitivity of 2. The pair changes
by at most sqrt 4.5, in units of their common noise, so both releases cost little more than one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from audits.shuffle_linear_bandits.amplified_privacy import DOMAIN, SQUARED, message_witness, rounded_down
from dpaudit.certify.build import Proof, gaussian_mechanism
from dpaudit.core.claims import ApproxDP
from dpaudit.core.conversions import gaussian_delta
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.question import Question
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import arb, ball, upper_short
from dpaudit.kernel.t2.gaussian import gaussian_delta as exact_delta
from dpaudit.reference.mechanisms.linear_bandit_noise import (
    amplified_noise,
    epsilon_cap,
    local_budget,
    local_noise,
    variance_above,
    variance_below,
)
from dpaudit.suite import Chain, Sides, Step, evidence, full, inequality, over, step, steps

__all__ = ["rows"]

rows = Group("One user's message (local privacy)")

SERVER_VIEW = View.of(SERVER)
#: The grid includes corners: delta 1, tiny deltas, epsilons near 0.
BUDGETS = over(epsilon="1/100 1/2 1", delta=("1 1/10 1/1000000", full("9/10 1/2 1/1000000000000")))


def claim_at(epsilon: Fraction, delta: Fraction) -> ApproxDP:
    """Return (ε₀, δ₀)-DP of one message, both statistics, for anyone who receives it."""
    return ApproxDP(epsilon=epsilon, delta=delta, view=SERVER_VIEW, domain=DOMAIN)


def _message(variance: Fraction) -> Proof:
    return gaussian_mechanism(sensitivity_squared=SQUARED, variance=variance)


def _from_both_sides(claim: ApproxDP, noise: arb) -> list[Evidence]:
    """Return a certificate with slightly less and a witness with slightly more noise than printed."""
    certificate = _message(variance_below(noise)).certify(claim)
    return [certificate, message_witness(claim, variance=variance_above(noise))]


_explicit = partial(evidence, rows, claim=claim_at, over=BUDGETS)


@_explicit(
    "CZ22-F.1/privacy", "Proposition F.1 (Batched-Local-LinUCB)", case="Batched-Local-LinUCB with any B"
)
@_explicit("CZ22-B.3/privacy", "Corollary B.3, local part", case="Algorithm 1 with P_Amp and any B")
@_explicit(
    "CZ22-B.1s1",
    "proof of Theorem B.1: the local randomiser",
    role="step",
    case="R_Amp, both outputs jointly",
)
def message(run: Run, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """{case}: σ = 4 sqrt(2 log(2.5/δ₀))/ε₀ makes a user's messages (ε₀, δ₀)-DP

    0 < ε₀ <= 1, 0 < δ₀ <= 1. A user sends once. φy and φφᵀ with noise of the same σ are one Gaussian
    mechanism of sensitivity sqrt 4.5, proved in ``mechanisms/gaussian_randomiser.py``. The row evaluates
    its exact profile at the worst pair.

    Note: true for every ε₀ and δ₀ in range, with δ <= 0.032 δ₀: CZ22-B.1s1/all
    """
    return _from_both_sides(claim_at(epsilon, delta), local_noise(epsilon=epsilon, delta=delta))


def _local_claim(users: int, delta: Fraction, share: Fraction) -> ApproxDP:
    epsilon = ball(share) * epsilon_cap(delta=delta, batch_size=users)
    local, spare = local_budget(epsilon=rounded_down(epsilon), delta=delta, batch_size=users)
    return claim_at(rounded_down(local), spare)


@evidence(
    rows,
    "CZ22-R3.4a",
    "Remark 3.4",
    claim=_local_claim,
    over=over(users=(20, 1000, 100_000), delta="1 1/10 1/1000000", share=("1", full("1/100"))),
    name=lambda users, delta, share: f"B = {users}, δ = {float(delta):g}, ε = {share} of the largest",
)
def in_a_batch(run: Run, users: int, delta: Fraction, share: Fraction) -> list[Evidence]:
    """P_Amp run with batches of B users is O(ε sqrt(B/log(2/δ)), δ/B)-LDP: both constants may be 1

    The conditions are those of Theorem 3.2. Its σ₁ is the local noise at that budget, so this is CZ22-B.1s1
    there.
    """
    epsilon = rounded_down(ball(share) * epsilon_cap(delta=delta, batch_size=users))
    noise = amplified_noise(epsilon=epsilon, delta=delta, batch_size=users)
    return _from_both_sides(_local_claim(users, delta, share), noise)


@evidence(
    rows,
    "CZ22-B.1s1/large",
    "the local randomiser beyond its range",
    claim=claim_at,
    over=over(epsilon="10 25 50", delta="1/10"),
    role="what-if",
    expect=lambda epsilon, delta: "verified" if epsilon < 40 else "refuted",
)
def beyond(run: Run, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """The same σ for ε₀ > 1: a user's messages are (ε₀, δ₀)-DP

    Evaluate the exact Gaussian profile at the worst pair.

    Note: the claim holds far beyond 1; the classical formula is false only for large ε₀, since the noise
    that is needed falls like ε₀^(-1/2) (CZ22-S6low) and σ like 1/ε₀
    """
    return _from_both_sides(claim_at(epsilon, delta), local_noise(epsilon=epsilon, delta=delta))


# All budgets at once

LEVELS = over(delta="1 9/10 1/2 1/10 1/1000 1/1000000 1/1000000000000")


def _squared(epsilon: Fraction, delta: Fraction) -> arb:
    """Return μ² of the message at the printed noise: 4.5 ε₀²/(32 log(2.5/δ₀))."""
    return ball(SQUARED * epsilon**2 / 32) / ln(Fraction(5, 2) / delta)


def _curve(epsilon: Fraction, delta: Fraction) -> arb:
    rho = upper_short(_squared(epsilon, delta) / 2)
    return gaussian_delta(rho, ball(epsilon))


@step("rises with ε₀", over=over(epsilon="1/100 1/10 1/2 9/10", delta="1 1/10 1/1000000"))
def _rising(epsilon: Fraction, delta: Fraction) -> Sides:
    """the exact δ of σ at ε₀ <= the exact δ of σ at 1, for the same δ₀"""
    return _curve(epsilon, delta), _curve(Fraction(1), delta)


@step("tail at ε₀ = 1", over=LEVELS)
def _tail(delta: Fraction) -> Sides:
    """the exact δ at ε₀ = 1 <= (1/2) e^(1/2) (δ₀/2.5)^(32/9)"""
    bound = (ball(Fraction(1, 2)) + ball(Fraction(32, 9)) * ln(delta * Fraction(2, 5))).exp() / 2
    return _curve(Fraction(1), delta), bound


@step("constant")
def _constant() -> Sides:
    """(1/2) e^(1/2) 2.5^(-32/9) <= 0.032"""
    return (ball(Fraction(1, 2)) - ball(Fraction(32, 9)) * ln(Fraction(5, 2))).exp() / 2, Fraction(32, 1000)


@steps(rows, "CZ22-B.1s1/all", "the local randomiser, every ε₀ and δ₀ in (0, 1]", role="sharper")
def every_budget() -> list[Step]:
    """With the printed σ the messages are (ε₀, 0.032 δ₀)-DP for all ε₀ and δ₀ in (0, 1]

    Check the steps of the proof, each at points of a grid.

    Proof: with μ = c ε₀, c = (3/8)/sqrt(L), L = log(2.5/δ₀), the derivative of δ(ε₀) in ε₀ is e^ε₀ (c φ(b)
    - Φ(-b)), b = 1/c + cε₀/2 >= 1/c, and Φ(-b) <= φ(b)/b <= c φ(b) (Mills): δ rises with ε₀, and ε₀ = 1 is
    the worst. There δ <= Φ(-x) <= e^(-x²/2)/2, x = (8/3) sqrt L - (3/16)/sqrt L > 0, x²/2 >= (32/9) L -
    1/2. Last, (δ₀)^(32/9) <= δ₀
    """
    return [_rising, _tail, _constant]


# Low privacy


def least_deviation(epsilon: Fraction, delta: Fraction) -> tuple[arb, arb]:
    """Return bounds, to 10^-6, on the least σ of a Gaussian mechanism of sensitivity 1 that is (ε, δ)-DP."""
    low, high = Fraction(1, 10**6), Fraction(10**6)
    while high - low > high / 10**6:
        middle = ((low + high) / 2).limit_denominator(10**12)
        holds = exact_delta(1 / middle**2, epsilon) <= delta
        low, high = (low, middle) if holds else (middle, high)
    return ball(low), ball(high)


@inequality(
    rows, "CZ22-S6low", "Section 6, low privacy", over=over(epsilon="10 100 1000", delta="1/10 1/1000000")
)
def low_privacy(epsilon: Fraction, delta: Fraction) -> Chain:
    """The Gaussian mechanism needs σ = Θ(1/sqrt(ε₀)) as ε₀ grows: σ sqrt(ε₀) tends to Δ/sqrt 2

    Compute the least σ from the exact profile, sensitivity 1, by bisection.

    Proof: with μ = 1/σ, δ is near 1/2 at μ²/2 = ε₀; z = μ/2 - ε₀/μ stays bounded for fixed δ₀, so μ²/(2 ε₀)
    tends to 1

    Note: the paper's other sentences there state what its authors do not know; no impossibility is claimed
    """
    low, high = least_deviation(epsilon, delta)
    root = ball(epsilon).sqrt()
    limit, slack = 1 / arb(2).sqrt(), 1 + 4 * (1 + ln(1 / delta).sqrt()) / root
    return {
        "σ sqrt(ε₀) <= (1 + 4(1 + sqrt(log 1/δ₀))/sqrt(ε₀))/sqrt 2": (high * root, limit * slack),
        "(1 - 1/sqrt ε₀)/sqrt 2 <= σ sqrt(ε₀)": (limit * (1 - 1 / root), low * root),
    }


def _ask(id: str, title: str, epsilon: Fraction, delta: Fraction) -> None:
    rows.calibrate(
        Question(
            id=id,
            title=title,
            claim=claim_at(epsilon, delta),
            parameter="σ of an entry of a message",
            printed=upper_short(local_noise(epsilon=epsilon, delta=delta)),
            mechanism=lambda deviation: _message(deviation**2),
        )
    )


for _loss in ("1/10", "1/1000000"):
    _ask(f"CZ22-F.1/δ={_loss}", "Batched-Local: ε₀ = 1", Fraction(1), Fraction(_loss))
