"""Check Algorithm 1's requirements on its noise and its optimiser: (i) and (ii) of section 5, and the proof
of Lemma T.2."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.mechanisms.prefix_noise import VectorEntryNoise
from dpaudit.suite import Chain, Sides, Step, inequality, listed, over, step, steps

__all__ = ["rows"]

rows = Group("Requirements on noise and optimiser", kind="utility")


# (i), Assumption D.1


def _cumulant(p: Fraction, s: Fraction) -> arb:
    """Return log E exp(s (B - p)) of a coin B with probability p."""
    return (1 - ball(p) + ball(p) * ball(s).exp()).log() - ball(p * s)


@inequality(
    rows, "SAR-SUBGAUSS", "Section 5, requirement (i), and Assumption D.1", kind="tail",
    over=over(s="-30 -4 -1 -1/100 1/100 1/2 2 3 9 30", rounding="1/100 1/3 1/2 9/10"),
)  # fmt: skip
def sub_gaussian(s: Fraction, rounding: Fraction) -> Chain:
    """Every entry's noise of V and H_k has mean 0 and is sub-Gaussian

    An entry is Δ/g times a sum of independent centred coins: n b of probability 1/4, and one of each user
    that rounds. Compare their cumulants with s²/2 times the proxies that SAR-S.1/proxy adds up: 1/4 for any
    coin, and 1/(4 log 3) for the coins of probability 1/4.

    Note: "symmetric" is read as a property of the matrix: entries (j, i) repeat (i, j), and the entries
    above the diagonal are independent. The distribution of an entry is skewed
    """
    square = ball(s) ** 2 / 2
    return {
        "coins of probability 1/4": (_cumulant(Fraction(1, 4), s), square / (4 * ln(3))),
        "rounding": (_cumulant(rounding, s), square / 4),
    }


FIRST = listed("C score", (1, 2), (10**6, 2), (10**12, 12), (10**18, 20))


@inequality(
    rows, "SAR-SUBGAUSS/first-batch", "Appendix D.2, σ~ of the first batch", kind="tail", over=FIRST,
    role="step", expect="refuted",
)  # fmt: skip
def first_batch(C: int, score: int) -> Sides:
    """D.1 holds with σ~² = O(R² log²(d²/δ)/(κ*² ε²)) in every batch, including the first

    Compare the exact variance of an entry of V, which is at most any proxy, with C times the printed value:
    P2 by (127) with Δ = 1 and (ε/2, δ/2), n = 10000, d = 2, ε = 1, δ = 1/10; logistic, all arms at scores
    from `score` on, κ* = 1/μ'(score).

    Refuted: the first batch sums x xᵀ with Δ = 1, and its noise does not depend on κ*; κ* is as large as
    e^score, so no constant is enough. For H_k, with Δ = 1/κ*, it holds

    Note: λ and γ of (8), (9) are set by this σ~. Repair: R/κ* + 1 instead of R/κ* (κ* is at least 4/R²)
    """
    found = VectorEntryNoise.printed(10_000, Fraction(1, 2), Fraction(1, 20), dim=2).variance
    star = 1 / logistic().at(ball(score)).slope
    return found, C * (ln(40) / star) ** 2


# (ii), Lemma T.2


def _sides(
    gradient: Fraction, distance: Fraction, size: Fraction, noise: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the loss and the printed right side for one step on l(θ) = gradient θ, with 10 added to both."""
    noisy = gradient + noise
    moved = distance - size * noisy
    return 10 + gradient * distance, 10 + (distance**2 - moved**2) / (2 * size) + size * noisy**2 / 2


STEPS = over(gradient="1/2 1", distance="1/4 1", size="1/100 1", noise="-2 -1 0 2")


@step("one step", over=STEPS, expect="refuted")
def _one_step(gradient: Fraction, distance: Fraction, size: Fraction, noise: Fraction) -> Sides:
    """l(θ_t) - l(θ*) ≤ (‖θ_t - θ*‖² - ‖α - θ*‖²)/(2η) + η ‖ḡ‖²/2, l(θ) = gradient θ, any noise"""
    return _sides(gradient, distance, size, noise)


@step("one step, with the noise's own term", over=STEPS)
def _whole_step(gradient: Fraction, distance: Fraction, size: Fraction, noise: Fraction) -> Sides:
    """the same with - <n_t, θ_t - θ*> on the right"""
    left, right = _sides(gradient, distance, size, noise)
    return left, right - noise * distance


@step("(130)", over=over(steps=(1, 2, 10, 1000), d=(1, 5)), expect="refuted")
def _gradients(steps: int, d: int) -> Sides:
    """Σ_t Σ_i g_(t,i)² ≤ d L², a linear loss of slope L = 1 (over `steps` steps)"""
    return steps, d


@steps(rows, "SAR-T.2s", "proof of Lemma T.2", cells=True, role="step", expect="refuted")
def descent_proof() -> list[Step]:
    """The inequality of one noisy step, and Σ_t Σ_i g_(t,i)² ≤ d L² in (130)

    Refuted: convexity bounds l(θ_t) - l(θ*) by <g_t, θ_t - θ*>, and the step is about ḡ_t: the paper omits
    -<n_t, θ_t - θ*>, which has mean 0 and is not 0. In (130) the left side is T L² if the loss is linear:
    √T is lost

    Note: SAR-T.2/first shows where the omitted term matters. The √T of (130) changes nothing at the printed
    T, at which the lost part is below ηL²/2 or the term in log(2T/ζ)
    """
    return [_one_step, _whole_step, _gradients]


rows.not_checkable(
    "SAR-T.2",
    reason="an O() with a free constant: its displays are in SAR-T.2/first and SAR-T.2/second",
)
rows.not_checkable(
    "SAR-D.2",
    reason="an assumption up to the O() of ν: SAR-D.2/constant has achieved errors, SAR-NU the rate",
)
rows.not_checkable(
    "SAR-I.2",
    reason="an assumption up to the O() of ν_1 and ν_2: SAR-NU/I.6 has the rate, and SAR-I.2/steps checks "
    "whether the optimiser makes a step",
)
for _id, _text in (
    ("SAR-TAB1", "Table 1: other papers' rates in T and ε, without constants or conditions"),
    ("SAR-APPC", "section 2 and appendix C: other papers' rates"),
    (
        "SAR-R6.3",
        "Remark 6.3: a gap between an upper and a lower bound, which another paper is said to close",
    ),
):
    rows.not_checkable(_id, reason=f"cited text, no claim about this paper's algorithms: {_text}")
