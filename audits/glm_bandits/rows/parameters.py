"""Compare the printed parameters with each other and with the horizon: batch lengths, radii,
ridges, steps."""

from __future__ import annotations

from fractions import Fraction

from audits.glm_bandits.printed_parameters import JointParameters, ShuffleParameters, descent_steps
from dpaudit.core.errors import UndecidedError
from dpaudit.core.exact_functions import ln, log2
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.suite import Chain, Measured, Sides, evidence, full, inequality, over

__all__ = ["first_horizon", "rows"]

rows = Group("Parameters: values of the printed constants", kind="structure")

DELTA, ZETA = Fraction(1, 10), Fraction(1, 20)


def _slope_at(score: Fraction) -> arb:
    """Return 1/mu' of the logistic link."""
    return 1 / logistic().at(ball(score)).slope


def _shuffle(T: int, d: int, M: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> ShuffleParameters:
    """Return the parameters for arms with scores from ``nearest`` to S. kappa* and kappa are the slopes'
    inverses there."""
    return ShuffleParameters(
        T=T,
        d=d,
        M=M,
        S=S,
        epsilon=epsilon,
        delta=DELTA,
        kappa=_slope_at(S),
        kappa_star=_slope_at(nearest * S),
    )


def _joint(
    T: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction = Fraction(0)
) -> JointParameters:
    return JointParameters(
        T=T, d=d, S=S, epsilon=epsilon, delta=DELTA, zeta=ZETA, kappa=_slope_at(S),
        kappa_star=_slope_at(nearest * S),
    )  # fmt: skip


def _allowed(T: int, M: int, **_: object) -> bool:
    return bool(log2(log2(T)) >= M)


# Batches

LENGTHS = over(
    T=(10**5, 10**9, 10**12, full(10**18)), M=(2, 3, 4, 5), d=(1, 2, full(10)), S="1/2 1 3",
    epsilon="1 49/10", nearest="0 1",
).where(_allowed, "M ≤ log2 log2 T")  # fmt: skip


def _exponents(M: int) -> list[Fraction]:
    """Return the exponents of T in B_1, ..., B_M at section 5's α, all else fixed."""
    alpha = 1 / (2 * (1 - Fraction(1, 2 ** (M - 1))))
    found = [2 * alpha / 3, alpha]
    while len(found) < M:
        found.append(alpha + found[-1] / 2)
    return found


@inequality(
    rows, "SAR-ALPHA/exponents", "Section 5, after (7)", role="what-if", measure="left - right",
    over=over(M=(2, 3, 4, 5, 6, 8, 12)),
)  # fmt: skip
def horizon_sentence(M: int) -> Sides:
    """If the last batch is cut at T: with α no batch length B_k has a power of T above 1, all else fixed

    This reads "ensures the total horizon stays within T" as a statement on the exponents of T in B_1, ...,
    B_M by (6), (7). The exponents are exact, logarithms in γ and all else apart.

    Note: the paper does not cut a batch. As printed the lengths sum to more than T (SAR-ALPHA). B_1 also
    has κ and γ, and is within T only for large T (SAR-ALPHA/first-batch)
    """
    return max(_exponents(M)), Fraction(1)


@inequality(rows, "SAR-ALPHA", "Section 5, after (7)", over=LENGTHS, expect="refuted")
def uncut_lengths(T: int, M: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> Chain:
    """α "ensures the total horizon stays within T": B_1 + ... + B_M ≤ T, every O() constant 1

    (6)-(10), δ = 1/10, R = 1, logistic arms from the score `nearest` S to S.

    Refuted: B_M is T exactly (SAR-E.8) for all constants, and B_1 is positive, so the sum is above T; the
    first batch alone is longer than T if the ratio of the second line is above 1: Algorithm 1 then never
    leaves its warm-up. If the last batch is cut at T, the exponents of T fit (SAR-ALPHA/exponents)
    """
    lengths = _shuffle(T, d, M, S, epsilon, nearest).batches()
    return {
        "B_1 + ... + B_M ≤ T": (sum(lengths, arb(0)), T),
        "B_1 ≤ T": (lengths[0], T),
    }


@inequality(
    rows, "SAR-ALPHA/appendix", "Appendix F, before (44)", role="what-if",
    over=over(T=(16, 100, 10**5, 10**9, 10**12, full(10**18, 10**30)), M=(2, 3, 4, 5, 6)).where(
        _allowed, "M ≤ log2 log2 T"
    ),
)  # fmt: skip
def appendix_lengths(T: int, M: int) -> Sides:
    """With appendix F's α, B_2 + ... + B_M ≤ T

    The α of F at M is section 5's at M + 1, so that B_M is T^(1 - 1/(2^M - 1)).

    Note: then M batches end before T unless B_1 fills the rest; the algorithm does not define the remaining
    rounds
    """
    lengths = _shuffle(T, 1, M, Fraction(1), Fraction(1), Fraction(1)).batches(appendix=True)
    return sum(lengths[1:], arb(0)), T


@inequality(
    rows, "SAR-E.8", "Lemma E.8", measure="left - right", over=over(M=(2, 3, 4, 5, 6, 8, 12))
)  # fmt: skip
def batches_suffice(M: int) -> Sides:
    """Algorithm 1 runs at most M batches, M ≤ log log T its input: B_M is T by itself

    The exponent of T in B_M at section 5's α is exact: a (2 - 2^(2-M)) with a = 1/(2 (1 - 2^(1-M))).

    Note: the lengths are defined from M = 2 on: T ≥ 16 with base 2, T ≥ 1619 with base e
    """
    first = 1 / (2 * (1 - Fraction(1, 2 ** (M - 1))))
    exponent = first
    for _ in range(M - 2):
        exponent = first + exponent / 2
    return Fraction(1), exponent


def first_horizon(*, d: int, S: Fraction, epsilon: Fraction) -> int:
    """Return the least k with B_1 <= 10^k at the horizon 10^k, M = ⌊log2 log2 T⌋, an arm at 0 (κ* = 4)."""
    for power in range(2, 60):
        T = 10**power
        M = int(float(log2(log2(T)).mid()))
        if _shuffle(T, d, M, S, epsilon, Fraction(0)).batches()[0] <= T:
            return power
    raise UndecidedError("no horizon up to 10^59 holds the first batch; take a smaller S.")


@evidence(
    rows, "SAR-ALPHA/first-batch", "(6)-(10), O() constants 1", at_most=5, role="what-if", expect="refuted",
    quantity="k of the least T = 10^k with B_1 ≤ T",
)  # fmt: skip
def horizons(run: Run) -> Measured:
    """A horizon of 10^5 holds the first batch of Algorithm 1

    Compute the least such power of ten, for dimensions, S and ε in a table; δ = 1/10, κ* = 4, κ = 1/mu'(S).

    Note: the paper does not state this; below these horizons Algorithm 1 is only its warm-up
    """
    cases = [(d, S, e) for d in (1, 3, 5) for S in ("1", "2", "7/2") for e in ("1", "49/10")]
    found = [
        (*case, first_horizon(d=case[0], S=Fraction(case[1]), epsilon=Fraction(case[2]))) for case in cases
    ]
    picture = table(
        title="The least T = 10^k that holds B_1",
        columns=["d", "S", "ε", "k"],
        rows=[list(row) for row in found],
    )
    powers = [row[3] for row in found]
    return Measured(low=max(powers), high=max(powers), samples=len(found), plots=[picture], scope="the table")


# Radii of Algorithm 1

RADII = over(
    T=(20, 10**4, 10**9), M=(2,), d=(1, 2, 10, 100, 10**6), S="1/2 3", epsilon="1/100 1 49/10", nearest="0 1",
)  # fmt: skip


def _printed_radius(parameters: ShuffleParameters, factor: int) -> arb:
    """Return (9) with ``factor`` for its 30."""
    inner = (
        parameters.d * ball(parameters.R) * ln(parameters.T)
        + 12 * parameters.sigma * parameters.log_union.sqrt()
    )
    return (
        factor * ball(parameters.R * parameters.S) * inner.sqrt()
        + (4 * ball(parameters.R * parameters.S) * parameters.nu).sqrt()
    )


@inequality(
    rows, "SAR-F/gamma", "Appendix F, before (44)", role="step", over=RADII, factor=30, brackets=24,
    expect="refuted",
)  # fmt: skip
@inequality(
    rows, "SAR-F/gamma/repaired", "repair of (9)", role="repaired", over=RADII, factor=60, brackets=29,
    repairs="SAR-F/gamma",
)  # fmt: skip
def confidence_radius(
    T: int, M: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction, factor: int, brackets: int
) -> Sides:
    """γ(λ_min, λ_max), bracketed as in ({brackets}), is at most γ with {factor} RS in (9), for λ of (8)

    At λ_min = 20 d R log T, the least value assumed, and λ_max of Observation 1, R = 1.

    Note: (24) is the smaller reading if 24 RS ≥ 1. Its 24 √(1/d + 1/log T) + slightly more than 8.9 must be
    below 30 if σ is small: at d = 1 this fails for every T, and at d = 2 it fails at T = 20; the regret has
    the square of the factor
    """
    parameters = _shuffle(T, d, M, S, epsilon, nearest)
    floor = 20 * parameters.d * ball(parameters.R) * ln(parameters.T)
    found = parameters.confidence(floor, parameters.ridge + parameters.noise_norm, brackets=brackets)
    return found, _printed_radius(parameters, factor)


@inequality(
    rows, "SAR-OBS1/D.2", "Assumption D.2", role="step", expect="refuted",
    over=over(T=(20, 10**9), M=(2,), d=(1, 100, 10**6, 10**9), factor=(1, 8, 100)),
)  # fmt: skip
def ridge_remains(T: int, M: int, d: int, factor: int) -> Sides:
    """Observation 1 with λ of (8) leaves λ_min ≥ 20 d R log T, for some constant in σ = O(R log(d²/δ)/(κ*
    ε))

    λ is 20 d R log T + 6 σ √log(2dMT/δ), and Observation 1 subtracts σ~ (√d + 6 √log(2dMT/δ)). Compare the
    second with the term that (8) adds, in units of σ~, with σ = factor σ~; δ = 1/10.

    Refuted: (8) has no √d. A factor of 1 + √d/(6 √log(2dMT/δ)) is needed, which no constant covers for all
    d

    Note: E.1 writes λ with the √d, and then it holds
    """
    level = ln(2 * d * M * T / DELTA).sqrt()
    return arb(d).sqrt() + 6 * level, factor * 6 * level


# Algorithm 2

SIZES = over(T=(5000, 15_000, 10**6), d=(1, 3, 5), S="1 3", epsilon="1 4 8", nearest="0 1")


@inequality(rows, "SAR-PAR/constants", "(19)-(21), c = C = 1", role="what-if", over=SIZES, expect="refuted")
def radii_at_one(T: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> Chain:
    """With c = C = 1, and 1 in I.6, γ(λ_max) ≤ γ and β(λ_max, λ_min) ≤ β

    Evaluate (60) and (71) with I.6's ν_1 and ν_2 at the sizes of the experiments, and take the worst ratio
    of each.
    """
    parameters = _joint(T, d, S, epsilon, nearest)
    return {
        "γ(λ_max) ≤ γ": (parameters.explore_radius, parameters.gamma),
        "β(λ_max, λ_min) ≤ β": (parameters.exploit_radius, parameters.beta),
    }


@inequality(rows, "SAR-49/ridge", "(19)", role="what-if", over=SIZES, expect="refuted")
def ridge_against_horizon(T: int, d: int, S: Fraction, epsilon: Fraction, nearest: Fraction) -> Sides:
    """The ridge λ of (19) is below the horizon

    Refuted: all T arms add at most T to the trace of V, less than λ to any eigenvalue: the ridge dominates
    the estimates, and H, whose leaves are at most 1/(e κ*), never doubles its determinant

    Note: the paper does not state this; the row shows how large T must be for the analysis to cover
    learning
    """
    return _joint(T, d, S, epsilon, nearest).ridge, T


CALLS = over(n=(50, 200, 1000, 10**4, 10**6), d=(1, 3, 5), epsilon="1/2 2 49/10")


@inequality(rows, "SAR-T.2/steps", "Algorithm 7 in Algorithm 1", role="what-if", over=CALLS, expect="refuted")
def one_step(n: int, d: int, epsilon: Fraction) -> Sides:
    """A batch of n users gives private gradient descent one step or more: ε² n²/(d log³(nd/δ)) ≥ 1

    Compute the printed T at (ε/2, δ/2), δ = 1/10, as Algorithm 1 calls it.

    Note: the paper does not state this; below one step it defines no estimate
    """
    return 1, descent_steps(n=n, d=d, epsilon=epsilon / 2, delta=DELTA / 2)


@inequality(
    rows, "SAR-T.2/steps/joint", "Algorithm 7 in Algorithm 2", role="what-if", expect="refuted",
    over=over(T=(10**6, 10**9, 10**12), d=(1, 3), epsilon="1/100 1 8", share="1/1000 1"),
)  # fmt: skip
def one_step_explored(T: int, d: int, epsilon: Fraction, share: Fraction) -> Sides:
    """After a share of count1_cutoff explored rounds, a call at (ε_o, δ_o) has one step or more

    Compute the printed T at n = share · count1_cutoff or T, whichever is less, S = 1, κ* = 4, c = 1.
    """
    parameters = _joint(T, d, Fraction(1), epsilon)
    cutoff = parameters.exploration_cutoff
    level, failure = parameters.call_budget(cutoff)
    rounds = (ball(share) * cutoff).min(arb(T)).max(arb(1))
    return 1, descent_steps(n=rounds, d=d, epsilon=level, delta=failure)
