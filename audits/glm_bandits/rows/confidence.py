"""Check the confidence sets of Algorithm 1 (appendix E) and of Algorithm 2 (appendices K and L).

Two methods are used. Coverage is measured at horizons small enough that runs can resolve the printed level.
The other rows examine the part of an error that does not depend on rewards. In a direction without
information from any arm, the estimate is 0 and the only error is the ridge's bias, which must certainly be
below the printed radius.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audits.glm_bandits.confidence_bounds import JointLevels, Ridge, gradient_radius, parameter_radius
from audits.glm_bandits.confidence_runs import Fits, drawn_fits, enumerated_fits
from dpaudit.core.claims import Ordering
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.suite import (
    Chain,
    Measured,
    Sides,
    evidence,
    full,
    inequality,
    integers,
    listed,
    on,
    over,
    reals,
)
from dpaudit.suite.regret import proportion_interval

__all__ = ["rows"]

rows = Group("Confidence sets", kind="tail")

Bools = NDArray[np.bool_]
SPREADS = (1, 2, 8, 40)


#: log log T at T = 10, the smallest T here, rounded down.
_LOG_LOG = Fraction(83, 100)


def _level(factor: int) -> Callable[..., Ordering]:
    """Return factor / T^2 as a claim of the point."""

    def claim(*, dim: int, horizon: int, **others: object) -> Ordering:
        number = Fraction(factor, horizon**2)
        text = f"the set misses with probability at most {number}; d = {dim}, T = {horizon}"
        return Ordering(text=text, quantity_name="probability of a miss", claimed=number)

    return claim


@lru_cache(maxsize=8)
def _fits_at(run: Run, dim: int, horizon: int, spread: int, gap: float) -> Fits:
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    high = float(ridge.high)
    if dim == 1:
        points = 0.999 * np.where(np.arange(min(horizon, 10)) % 3 == 0, 0.5, 1.0)
        return enumerated_fits(points, float(ridge.param_norm), ridge=high, gap=gap)
    rng = np.random.default_rng(run.seed_sequence(f"coverage {dim} {horizon} {spread} {gap}"))
    norm = float(ridge.param_norm)
    return drawn_fits(rng, dim=dim, n=horizon, runs=20 * horizon**2, norm=norm, ridge=high, gap=gap)


def _missed(run: Run, fits: Fits, missed: Bools) -> Measured:
    """Return the probability of a miss: exact by enumeration in one dimension, otherwise a Clopper-Pearson
    bound."""
    if fits.points.shape[1] == 1:
        chance = float(fits.chances[missed].sum())
        return Measured(low=chance, high=chance, samples=len(missed), method="all reward vectors enumerated")
    found = proportion_interval(missed, alpha=run.alpha)
    return Measured(
        low=found.low,
        high=found.high,
        exact=False,
        samples=len(missed),
        method="simulation; Clopper and Pearson",
    )


COVERED = over(dim=(1, 3), horizon=(10, full(30)), gap=(0, 5), spread=(1, 8), brackets=(24, 29))


def _ends(ridge: Ridge, fits: Fits) -> list[NDArray[np.float64]]:
    """Return H* for the two ends of N, lambda_min I and lambda_max I."""
    identity = np.eye(fits.points.shape[1])
    return [fits.information + float(end) * identity for end in (ridge.low, ridge.high)]


@evidence(rows, "SAR-E.4", "Lemma E.4, (24) and (29)", claim=_level(3), over=COVERED)
def parameter_set(run: Run, dim: int, horizon: int, gap: int, spread: int, brackets: int) -> Measured:
    """‖θ* - θ̂‖ in H* is at most γ(λ_max, λ_min) with probability 1 - 3/T², brackets of (24) and (29)

    Fixed arms, logistic rewards, S = 1, λ_min = 20 d R log T, λ_max = spread λ_min, N at either end. θ̂ is
    the constrained minimiser, or has a summed loss above the minimum by ν = gap. In one dimension all
    reward vectors are enumerated. In more dimensions runs are drawn.

    Note: no reward vector misses; the radius is several times the largest distance
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    fits = _fits_at(run, dim, horizon, spread, float(gap))
    radius = float(parameter_radius(ridge, opt_error=gap, brackets=str(brackets)))
    distances = [fits.distance(design) for design in _ends(ridge, fits)]
    largest = max(float(found.max()) for found in distances)
    missed = np.any([fits.miss(found, radius) for found in distances], axis=0)
    found = _missed(run, fits, missed)
    found.details["largest distance / radius"] = largest / radius
    return found


@evidence(
    rows, "SAR-ABS/nu", "Section 1.1, ν by Lemma E.4", over=over(gap="1 25", spread=(8,)),
    at_most=2, quantity="growth of the distance, over √ν",
)  # fmt: skip
def cost_of_errors(run: Run, gap: Fraction, spread: int) -> Measured:
    """An optimisation error ν adds at most √(4RSν) to ‖θ* - θ̂‖ in H*: estimates with a summed loss ν too
    high

    As for E.4 in one dimension, T = 10, R = S = 1: all 1024 reward vectors, estimates on either side, cut at
    the ball. The largest growth for the same rewards, over √ν, is compared with √(4RS) = 2.

    Note: √2 in the limit, since the loss is nearly quadratic under this ridge
    """
    exact_fits, worse = (_fits_at(run, 1, 10, spread, part) for part in (0.0, float(gap)))
    ends = _ends(Ridge.required(dim=1, horizon=10, spread=spread), exact_fits)
    added = max(float((worse.distance(end) - exact_fits.distance(end)).max()) for end in ends)
    growth = added / float(gap) ** 0.5
    return Measured(low=growth, high=growth, samples=1024, method="all reward vectors enumerated")


@evidence(
    rows, "SAR-E.5", "Lemma E.5, (30)", claim=_level(1), expect="refuted",
    over=over(dim=(1,), horizon=(10,), spread=(1, 8)),
)  # fmt: skip
def literal_gradient_set(run: Run, dim: int, horizon: int, spread: int) -> Measured:
    """‖g(θ̃) - g(θ*)‖ in H*⁻¹ is at most √(log T + d) + R (log T + d)/√λ_min + 2 S √λ_max with probability
    1 - 1/T², for the printed g

    As for E.4, N at either end, ν = 0. g(θ) = Σ x_s μ(<x_s, θ>) + λ_max <x_s, θ>, read with x_s before both
    terms, as a sum of vectors. θ̃ is the minimiser of Σ l + λ_max ‖θ‖².

    Refuted: by all reward vectors. λ_max stands in the sum over s, so that each arm adds λ_max |<x_s, θ̃ -
    θ*>|. If every arm is 0 both sides agree with the lemma, since this g is 0

    Note: the definition is a misprint. SAR-E.5/g has the g of the cited paper, with λ_max θ beside the sum
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    points = 0.999 * np.where(np.arange(horizon) % 3 == 0, 0.5, 1.0)
    fits = enumerated_fits(points, float(ridge.param_norm), ridge=2 * float(ridge.high))
    radius = float(gradient_radius(ridge))
    found = [
        fits.gradient_distance(design, ridge=float(ridge.high), inside=True) for design in _ends(ridge, fits)
    ]
    return _missed(run, fits, np.all([fits.miss(one, radius) for one in found], axis=0))


@inequality(
    rows,
    "SAR-E.5/g",
    "Lemma E.5, g with λ_max θ",
    over=over(spread=SPREADS, dim=(1, 3), horizon=(10, 10**4, 10**8), norm="1/4 1 4"),
    role="repaired",
    expect="refuted",
    repaired=False,
    where="as printed",
)
@inequality(
    rows,
    "SAR-E.5/repaired",
    "Lemma E.5, last term S λ_max / √λ_min",
    over=over(spread=SPREADS, dim=(1, 3), horizon=(10, 10**4, 10**8), norm="1/4 1 4"),
    role="repaired",
    repairs=("SAR-E.5", "SAR-E.5/g"),
    repaired=True,
    where="with S λ_max / √λ_min for 2 S √λ_max",
)
def gradient_bias(spread: int, dim: int, horizon: int, norm: Fraction, repaired: bool, where: str) -> Sides:
    """For all λ_max ≥ λ_min, ‖g(θ̃) - g(θ*)‖ in H*⁻¹ stays below E.5's radius {where}, if no arm carries
    information

    g(θ) = Σ x μ(<x, θ>) + λ_max θ. All arms are 0. Then θ̃ = 0 for all rewards, H* = N, and the norm is
    λ_max ‖θ*‖ / √λ_min for N = λ_min I, which the lemma admits. ‖θ*‖ = S, λ_min = 20 d R log T, λ_max =
    spread λ_min.

    Note: the bias of a ridge λ_max is weighted by a noise of λ_min; 2 S √λ_max covers it only for λ_max up
    to about 4 λ_min. (15) and (8) leave the ratio open: the constant in (10) makes it any number. E.4
    weights by H* instead of its inverse and does not have this problem. Lemma L.5 prints λ_max / √λ_min
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread, param_norm=norm)
    return ball(norm) * ridge.high / ridge.low.sqrt(), gradient_radius(ridge, repaired=repaired)


@evidence(
    rows,
    "SAR-E.5/coverage",
    "Lemma E.5, repaired",
    claim=_level(1),
    over=over(dim=(1, 3), horizon=(10, full(30)), spread=(1, 8)),
    role="repaired",
    repairs=("SAR-E.5", "SAR-E.5/g"),
)
def gradient_set(run: Run, dim: int, horizon: int, spread: int) -> Measured:
    """‖g(θ̃) - g(θ*)‖ in H*⁻¹ is at most the repaired radius with probability 1 - 1/T²

    As for E.4, with g(θ) = Σ x μ(<x, θ>) + λ_max θ and θ̃ the minimiser with ridge λ_max / 2 ‖θ‖².
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    fits = _fits_at(run, dim, horizon, spread, 0.0)
    radius = float(gradient_radius(ridge, repaired=True))
    found = [fits.gradient_distance(design, ridge=float(ridge.high)) for design in _ends(ridge, fits)]
    return _missed(run, fits, np.any([fits.miss(one, radius) for one in found], axis=0))


@evidence(
    rows,
    "SAR-E.6",
    "Corollary E.6",
    claim=_level(1),
    over=over(dim=(1, 3), horizon=(10, full(30)), spread=(1, 8)),
)
def warm_up_set(run: Run, dim: int, horizon: int, spread: int) -> Measured:
    """|<x, θ* - θ_1>| is at most √κ γ ‖x‖ in V⁻¹ for all x with probability 1 - 1/T²

    The largest ratio over all x is ‖θ* - θ_1‖ in V = Σ x xᵀ + N. The setting is that of E.4, with ν = 0 and
    the κ of the arms played (an arm set with more arms has a larger κ).

    Note: uses V <= κ H*, which requires κ >= 1 (SAR-L.1/kappa)
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    fits = _fits_at(run, dim, horizon, spread, 0.0)
    kappa = _kappa(fits)
    radius = kappa**0.5 * float(parameter_radius(ridge))
    gram = fits.points.T @ fits.points
    designs = [gram + float(end) * np.eye(dim) for end in (ridge.low, ridge.high)]
    return _missed(run, fits, np.any([fits.miss(fits.distance(one), radius) for one in designs], axis=0))


@evidence(
    rows,
    "SAR-E.9",
    "Lemma E.9",
    claim=lambda *, dim, horizon, spread: Ordering(
        text=f"the set misses with probability at most {_LOG_LOG / horizon**2}; d = {dim}, T = {horizon}",
        quantity_name="probability of a miss",
        claimed=_LOG_LOG / horizon**2,
    ),
    over=over(dim=(1, 3), horizon=(10, full(30)), spread=(1, 8)),
)
def later_sets(run: Run, dim: int, horizon: int, spread: int) -> Measured:
    """In one later batch |<x, θ* - θ_k>| is at most γ ‖x‖ in H_k⁻¹ for all x, with probability 1 - log log
    T / T²

    The largest ratio over all x is ‖θ* - θ_k‖ in H_k = Σ μ'(<x, θ_1>)/β(x) x xᵀ + N. Given the batches
    before, θ_1 and the surviving arms are fixed, so the arms are fixed here. Every weight is 1/(4β), the
    largest for any θ_1, so that the set is as small as any θ_1 makes it. β = exp(2S), which the printed γ
    implies; logistic, ν = 0, N at either end, natural logarithms, log log T at T = 10.

    Note: the statement for all batches is a union of at most log log T events; it is not computed
    """
    ridge = Ridge.required(dim=dim, horizon=horizon, spread=spread)
    fits = _fits_at(run, dim, horizon, spread, 0.0)
    radius, norm = float(parameter_radius(ridge)), float(ridge.param_norm)
    steepest = float(logistic().slope(np.zeros(1))[0]) / np.exp(2 * norm)
    gram = steepest * fits.points.T @ fits.points
    designs = [gram + float(end) * np.eye(dim) for end in (ridge.low, ridge.high)]
    return _missed(run, fits, np.any([fits.miss(fits.distance(one), radius) for one in designs], axis=0))


def _kappa(fits: Fits) -> float:
    scores = fits.points @ fits.truth
    return float((2 + np.exp(scores) + np.exp(-scores)).max())  # 1 / (p (1 - p))


# Algorithm 2


def _levels(*, reward_bound: Fraction, norm: Fraction, horizon: int, dim: int) -> JointLevels:
    """Return the levels for arms at <x, theta*> = 0: the slope there is R^2/4, kappa = kappa* = 4/R^2."""
    return JointLevels(
        horizon=horizon,
        dim=dim,
        reward_bound=reward_bound,
        param_norm=norm,
        kappa_star=4 / reward_bound**2,
        epsilon=Fraction(1),
        delta=Fraction(1, 5),
        failure_prob=Fraction(1, 10),
    )


JOINT = over(norm="1 3 5 10", horizon=(100, 10**6), dim=(2, 8))


@inequality(rows, "SAR-K.2", "Lemma K.2", over=JOINT, expect="refuted")
def explore_gradient(norm: Fraction, horizon: int, dim: int) -> Sides:
    """For every S, ‖g_o(θ̃_o) - g_o(θ*)‖ in (H*_o)⁻¹ is at most the radius of K.2: the part that does not
    depend on rewards

    All arms are on one axis, θ* = S is on another. The gradients differ there by λ_max S for all rewards,
    and H*_o is λ_max there, so the norm is at least S √λ_max. λ of (19), R = 1, ε = 1, δ = 1/5, ζ = 1/10.

    Note: K.2 prints 4R √λ_max without S: it fails with certainty for S from slightly above 4R on; below,
    this part does not contradict it
    """
    levels = _levels(reward_bound=Fraction(1), norm=norm, horizon=horizon, dim=dim)
    return ball(norm) * levels.ends[1].sqrt(), levels.explore_gradient()


@inequality(rows, "SAR-L.5", "Lemma L.5", over=JOINT, expect="refuted")
def exploit_gradient(norm: Fraction, horizon: int, dim: int) -> Chain:
    """For every S, ‖g(θ̃_τ) - g(θ*)‖ is at most the radii of L.5: the part that does not depend on rewards

    As for K.2, in rounds that do not explore.

    Note: 4R √λ_max and 4R λ_max/√λ_min have no S: they fail with certainty for S from slightly above 4R on,
    inside E_o; below, nothing here contradicts them
    """
    levels = _levels(reward_bound=Fraction(1), norm=norm, horizon=horizon, dim=dim)
    low, high = levels.ends
    return {
        "design with λ_max": (ball(norm) * high.sqrt(), levels.exploit_gradient(lower=False)),
        "design with λ_min": (ball(norm) * high / low.sqrt(), levels.exploit_gradient(lower=True)),
    }


UNSEEN = listed(
    "constant dim norm",
    (0, 8, 1),
    (0, 8, 5),
    (0, 8, 10),
    (1, 10**4, 10),
    (100, 10**8, 10),
    (10**4, 10**12, 10),
)


@inequality(rows, "SAR-L.4", "Lemma L.4, (71)", over=UNSEEN, expect="refuted")
def exploit_set(constant: int, dim: int, norm: Fraction) -> Sides:
    """For every S, ‖θ_τ - θ*‖ in the design with λ_max is at most β(λ_max, λ_min), with the ν_2 of I.6: the
    part that does not depend on rewards

    As for K.2, T = 10³⁰. θ_τ is within √(2ν_2/λ_max) of 0 on the axis of θ*, and the norm is at least (S -
    √(2ν_2/λ_max)) √λ_max. constant is the constant of I.6's O(.) for ν_2, 0 for an exact minimiser.

    Note: (71) has S only in ν_2. It holds for S up to 4R. Beyond, 10 √ν_2 may cover the difference, but it
    is of lower order than √λ_max in d and in T, so every constant fails from some d on. θ_o = 0 is inside
    E_o
    """
    levels = _levels(reward_bound=Fraction(1), norm=norm, horizon=10**30, dim=dim)
    error = levels.exploit_error(constant)
    return levels.unseen_distance(error), levels.exploit_radius(opt_error=error)


@inequality(
    rows,
    "SAR-K.1",
    "Lemma K.1, (60)",
    over=over(
        reward_bound="1/8 1/4 3/4 1",
        norm="1/10",
        constant=(0, 1, 100, 10**4),
        horizon=(100, 10**6),
        dim=(2, 8),
    ),
    expect="refuted",
)
def explore_set(reward_bound: Fraction, norm: Fraction, constant: int, horizon: int, dim: int) -> Sides:
    """For every R, ‖θ_o - θ*‖ in H*_o is at most γ(λ_max) of (60), with the ν_1 of I.6: the part that does
    not depend on rewards

    As for K.2, the norm is at least (S - √(2ν_1/λ_max)) √λ_max. Rewards in {{0, R}}, κ = κ* = 4/R², S =
    1/10, c = 1 in (21). constant is the constant of I.6's O(.) for ν_1, 0 for an exact minimiser.

    Note: (60) has 4R² S √λ_max, which is below S √λ_max for R < 1/2; for R = 3/4 and 1 it covers the bias.
    4 R S √ν_1 covers it as well unless S is small: ν_1 is of the order S⁶, so for every constant there is
    an S at which it does not
    """
    levels = _levels(reward_bound=reward_bound, norm=norm, horizon=horizon, dim=dim)
    error = levels.explore_error(constant)
    return levels.unseen_distance(error), levels.explore_radius(opt_error=error)


SMALL = over(reward_bound="1/4 1 4", norm="1/4 1 4", horizon=(100, 10**6, 10**12), dim=(1, 8)).where(
    lambda reward_bound, norm, **others: reward_bound * norm <= 1, "where RS ≤ 1"
)


@inequality(
    rows,
    "SAR-K.1/step",
    "proof of Lemma K.1: (60) from K.2 and R.1",
    over=SMALL,
    role="step",
    expect="refuted",
)
def explore_derivation(reward_bound: Fraction, norm: Fraction, horizon: int, dim: int) -> Sides:
    """R.1 with c = 2RS turns K.2's radius into at most γ(λ_max) of (60), for RS ≤ 1

    (2 + c)(γ + √ν) + √((2 + c)(R γ²/√λ + γ)) with γ of K.2, compared with (60), both at ν = 0. The factors
    of √ν_1 are 2 + 2RS and 4RS, so no ν_1 helps if RS ≤ 1.

    Note: (2 + 2RS) 4R √λ_max is larger than 4R² S √λ_max at every R and S. A failing step does not refute
    K.1
    """
    levels = _levels(reward_bound=reward_bound, norm=norm, horizon=horizon, dim=dim)
    derived = levels.from_gradient(
        levels.explore_gradient(), levels.ends[1], constant=2 * reward_bound * norm
    )
    return derived, levels.explore_radius()


@inequality(
    rows,
    "SAR-L.4/step",
    "proof of Lemma L.4: (71) from L.5 and R.1",
    over=listed("constant dim", (0, 1), (0, 8), (1, 10**4), (100, 10**8), (10**4, 10**12)),
    role="step",
    expect="refuted",
)
def exploit_derivation(constant: int, dim: int) -> Sides:
    """R.1 with c = 2 turns L.5's radius into at most β(λ_max, λ_min) of (71), with the ν_2 of I.6

    γ of L.5 for the design with λ_max, compared with (71): 16 R √λ_max against 4 R λ_max/√λ_min. R = S = 1,
    T = 10³⁰. constant is the constant of I.6's O(.) for ν_2.

    Note: (71) has 10 √ν_2 instead of R.1's 4 √ν_2, which compensates only if ν_2 is of the order of λ: it
    is of lower order in d and in T, so every constant fails from some d on
    """
    levels = _levels(reward_bound=Fraction(1), norm=Fraction(1), horizon=10**30, dim=dim)
    gradient, error = levels.exploit_gradient(lower=False), levels.exploit_error(constant)
    derived = levels.from_gradient(gradient, levels.ends[1], constant=2, opt_error=error)
    return derived, levels.exploit_radius(opt_error=error)


# Algorithm 2 for S up to 4R


def _joint_level(share: int) -> Callable[..., Ordering]:
    """Return zeta/``share`` at zeta = 1/10 as a claim of the point."""

    def claim(*, dim: int, norm: Fraction) -> Ordering:
        number = Fraction(1, 10 * share)
        text = f"the set misses with probability at most {number}; d = {dim}, S = {norm}"
        return Ordering(text=text, quantity_name="probability of a miss", claimed=number)

    return claim


@lru_cache(maxsize=8)
def _joint_fits(run: Run, dim: int, norm: Fraction) -> Fits:
    """Return exact minimisers with the ridge lambda_max of section 6, logistic rewards, R = 1."""
    levels = _natural(dim, norm)
    high = float(levels.ends[1])
    if dim == 1:
        points = 0.999 * np.where(np.arange(levels.horizon) % 3 == 0, 0.5, 1.0)
        return enumerated_fits(points, float(norm), ridge=high)
    rng = np.random.default_rng(run.seed_sequence(f"joint coverage {dim} {norm}"))
    return drawn_fits(rng, dim=dim, n=levels.horizon, runs=4000, norm=float(norm), ridge=high)


def _natural(dim: int, norm: Fraction) -> JointLevels:
    return _levels(reward_bound=Fraction(1), norm=norm, horizon=10 if dim == 1 else 30, dim=dim)


def _printed_radii(levels: JointLevels, lemma: str) -> list[arb]:
    """Return the radii of ``lemma`` for its designs with lambda_max and, in appendix L, lambda_min."""
    return {
        "K.1": lambda: [levels.explore_radius()],
        "K.2": lambda: [levels.explore_gradient()],
        "L.4": lambda: [levels.exploit_radius()] * 2,
        "L.5": lambda: [levels.exploit_gradient(lower=lower) for lower in (False, True)],
    }[lemma]()


def _closed_radii(levels: JointLevels, lemma: str) -> list[arb]:
    """Return the repaired radii for the same designs."""
    reach = 2 * levels.reward_bound * levels.param_norm
    return {
        "K.1": lambda: [levels.closed_radius(constant=reach)],
        "K.2": lambda: [levels.closed_gradient()],
        "L.4": lambda: [levels.closed_radius(constant=2)] * 2,
        "L.5": lambda: [levels.closed_gradient(lower=lower) for lower in (False, True)],
    }[lemma]()


def _covered(run: Run, dim: int, norm: Fraction, lemma: str, closed: bool) -> Measured:
    """Return how often a set of ``lemma`` misses, with printed or repaired (``closed``) radii."""
    levels, fits = _natural(dim, norm), _joint_fits(run, dim, norm)
    low, high = (float(end) for end in levels.ends)
    found_radii = (_closed_radii if closed else _printed_radii)(levels, lemma)
    radii = list(zip((high, low), found_radii, strict=False))
    missed, largest = np.zeros(len(fits.theta), dtype=bool), 0.0
    for ridge, radius in radii:
        design = fits.information + ridge * np.eye(dim)
        gradient = lemma in ("K.2", "L.5")
        away = fits.gradient_distance(design, ridge=high) if gradient else fits.distance(design)
        missed |= fits.miss(away, float(radius))
        largest = max(largest, float(away.max()) / float(radius))
    found = _missed(run, fits, missed)
    found.details["largest distance / radius"] = largest
    return found


for _lemma, _share, _other in (
    ("K.1", 8, "‖θ_o - θ*‖ in H*_o is at most γ(λ_max) of (60), ν_1 = 0"),
    ("K.2", 16, "‖g_o(θ̃_o) - g_o(θ*)‖ in (H*_o)⁻¹ is at most the radius of K.2"),
    ("L.4", 8, "‖θ_τ - θ*‖ in both designs is at most β(λ_max, λ_min) of (71), ν_2 = 0"),
    ("L.5", 4, "‖g(θ̃_τ) - g(θ*)‖ is at most the radii of L.5"),
):

    @evidence(
        rows, f"SAR-{_lemma}/natural", f"Lemma {_lemma} at R = 1, S ≤ 4", claim=_joint_level(_share),
        over=over(dim=(1, 3), norm="1 2 4"), role="repaired", repairs=f"SAR-{_lemma}",
        lemma=_lemma, case=_other,
    )  # fmt: skip
    def natural_range(run: Run, dim: int, norm: Fraction, lemma: str) -> Measured:
        """For R = 1 and S ≤ 4R, where the experiments are, {case}

        The condition S ≤ 4R is added: beyond it the part that does not depend on rewards is above the radius.
        λ of (19), ε = 1, δ = 1/5, ζ = 1/10, logistic, arms fixed, exact minimisers. In one dimension all
        reward vectors are enumerated. In three, 4000 are drawn.

        Note: λ_max is so large here that nearly all of the distance is the ridge's bias, S √λ_max
        """
        return _covered(run, dim, norm, lemma, closed=False)


# Repairs of K.1, K.2, L.4 and L.5 for every R and S


@inequality(
    rows, "SAR-K.2/closed", "repair of Lemmas K.2 and L.5, from J.2", role="repaired",
    repairs=("SAR-K.2", "SAR-L.5"),
    over=over(y="1/10 1 1000000", d=(1, 8), zeta="1 1/10 1/1000000"),
    prove=on(y=reals(0, None), d=integers(1, None), zeta=reals(0, 1, "(]")),
)  # fmt: skip
def closed_noise(y: Fraction, d: int, zeta: Fraction) -> Chain:
    """For every R and S the radius G = (S + 1/(2R)) √λ_max + (3Rd/√λ_max) log((16/ζ)(1 + R²T/(dλ_max))) is
    enough

    The gradients differ by noise and λ_max θ*. J.2, for (r - μ)/R with failure ζ/16, bounds the noise by
    √λ_max/(2R) + (R/√λ_max)(d log(1 + y/4) + 2 log(16/ζ) + 2d log 2), y = R²T/(dλ_max). The bracket is at
    most 3d log((16/ζ)(1 + y)): the two lines are divided by d and by d log(16/ζ), and move 1/2 from one to
    the other. For the design with λ_min of L.5, S λ_max/√λ_min stands for S √λ_max, and λ_min elsewhere.

    Note: K.2 prints 4R √λ_max and 7d/R, and T/(R²dλ_max) in the logarithm; J.2 is given (SAR-J.2)
    """
    spare = ball(Fraction(1, 2))
    return {
        "arms": ((1 + ball(y) / 4).log(), spare + 3 * (1 + ball(y)).log()),
        "failure": (2 / ball(d) + (2 * arb(2).log() + spare) / ln(16 / zeta), arb(3)),
    }


@inequality(
    rows, "SAR-K.1/closed", "repair of Lemmas K.1 and L.4, from (45)", role="repaired",
    repairs=("SAR-K.1", "SAR-K.1/step", "SAR-L.4", "SAR-L.4/step"),
    over=over(share="0 1/10 1/2 9/10 1"), prove=on(share=reals(0, 1)),
)  # fmt: skip
def closed_distance(share: Fraction) -> Sides:
    """For every R and S the distance is at most (2 + c) G + √((2 + c) ν), G of SAR-K.2/closed, c = 2RS in K.1
    and c = 2 in L.4

    So 4R²S √λ_max in (60) becomes (1 + RS)(2S + 1/R) √λ_max, 7Sd becomes 6R(1 + RS)d, and 4RS √ν_1 becomes
    √(2(1 + RS) ν_1). In (71) 4R λ_max/√λ_min becomes (4S + 2/R) √λ_max, 7d/R becomes 12Rd, and 10 √ν_2
    becomes 2 √ν_2. The design with λ_min is the smaller one, with a smaller distance.

    (45) at θ* gives D²/(2 + c) ≤ ν + G D for the distance D. In units of the radius, with `share` the share
    of √((2 + c) ν) in it, D is at most ((1 - share) + √((1 - share)² + 4 share²))/2, compared with 1.

    Note: c = 2RS needs θ* and θ_o in the ball. For c = 2, E_o and L.3 are given, and ν_1, ν_2 of I.2
    """
    rest = ball(1 - share)
    return (rest + (rest**2 + 4 * ball(share) ** 2).sqrt()) / 2, arb(1)


for _mended, _fails, _within in (
    ("K.1", 8, "‖θ_o - θ*‖ in H*_o is at most 2(1 + RS) G, ν_1 = 0"),
    ("K.2", 16, "‖g_o(θ̃_o) - g_o(θ*)‖ in (H*_o)⁻¹ is at most G"),
    ("L.4", 8, "‖θ_τ - θ*‖ in both designs is at most 4 G, ν_2 = 0"),
    ("L.5", 4, "‖g(θ̃_τ) - g(θ*)‖ is at most G, for λ_min with λ_min in G and S λ_max/√λ_min for S √λ_max"),
):

    @evidence(
        rows, f"SAR-{_mended}/repaired", f"repair of Lemma {_mended}", claim=_joint_level(_fails),
        over=over(dim=(1, 3), norm="10"), role="repaired", repairs=f"SAR-{_mended}",
        lemma=_mended, case=_within,
    )  # fmt: skip
    def closed_range(run: Run, dim: int, norm: Fraction, lemma: str) -> Measured:
        """With G of SAR-K.2/closed, at R = 1, S = 10, {case}

        Coverage beyond S = 4R, where the printed radii of K.2, L.4 and L.5 fail with certainty in an unseen
        direction: λ of (19), ε = 1, δ = 1/5, ζ = 1/10, logistic, arms fixed, exact minimisers. In one
        dimension all reward vectors are enumerated. In three, 4000 are drawn.
        """
        return _covered(run, dim, norm, lemma, closed=True)
