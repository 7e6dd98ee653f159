"""Confidence sets of the paper on generalized linear bandits: printed radii by a second formula, misses by
enumeration, intervals of medians, extremes built as matrices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.confidence_bounds import JointLevels, Ridge, gradient_radius, parameter_radius
from audits.glm_bandits.confidence_runs import drawn_fits, enumerated_fits
from audits.glm_bandits.experiment_runs import median_interval
from audits.glm_bandits.experiment_settings import FIGURES, PRINTED, TABLE, constants_of, private, runs_of
from audits.glm_bandits.rows import confidence, regret, runnable
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.contextual.links import logistic


def test_radii_of_appendix_e_in_floats() -> None:
    """(24), (29) and E.5 written out at T = 1000, d = 2, R = 2, S = 3; the repair is larger at lambda_max
    above 4 lambda_min."""
    ridge = Ridge.required(dim=2, horizon=1000, spread=9, reward_bound=Fraction(2), param_norm=Fraction(3))
    low = 20 * 2 * 2 * math.log(1000)
    level = math.log(1000) + 2
    first, second = math.sqrt(level), 2 * level / math.sqrt(low)
    tail = 6 * math.sqrt(9 * low) + math.sqrt(4 * 6 * 5)
    assert float(ridge.low) == pytest.approx(low)
    assert float(parameter_radius(ridge, opt_error=5)) == pytest.approx(144 * (first + second) + tail)
    printed = float(parameter_radius(ridge, opt_error=5, brackets="24"))
    assert printed == pytest.approx(144 * first + second + tail)
    found = float(gradient_radius(ridge)), float(gradient_radius(ridge, repaired=True))
    assert found[0] == pytest.approx(first + second + 6 * math.sqrt(9 * low))
    assert found[1] == pytest.approx(first + second + 27 * math.sqrt(low))
    assert found[0] < found[1]


def _levels() -> JointLevels:
    return JointLevels(
        horizon=5000,
        dim=3,
        reward_bound=Fraction(2),
        param_norm=Fraction(3),
        kappa_star=1,
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 50),
        failure_prob=Fraction(1, 100),
    )


def test_radii_of_appendices_k_and_l_in_floats() -> None:
    """(19), K.2, L.5, (60), (71) and the conclusion of R.1, written out at one point."""
    levels, root = _levels(), 4 * math.sqrt(3)
    tail = math.log(16 * 5000 * 100) + math.sqrt(3)
    ridge = 64 * (root + 1) * math.log(1600) * math.log(5000) * tail * 2
    low, high = ridge * root / (root + 1), ridge * (root + 2) / (root + 1)
    assert [float(end) for end in levels.ends] == pytest.approx([low, high])
    grown = math.log(1600 * (1 + 5000 / (12 * high)))
    gradient = 8 * math.sqrt(high) + 21 / (2 * math.sqrt(high)) * grown
    assert float(levels.explore_gradient()) == pytest.approx(gradient)
    grown = math.log(1600 * (1 + 5000 / (12 * low)))
    lower = 8 * high / math.sqrt(low) + 21 / (2 * math.sqrt(low)) * grown
    assert float(levels.exploit_gradient(lower=True)) == pytest.approx(lower)
    inside = math.log(16 * 5000 * 100 / (12 * high))
    radius = 48 * math.sqrt(high) + 63 / math.sqrt(high) * inside + 24 * math.sqrt(7)
    assert float(levels.explore_radius(opt_error=7)) == pytest.approx(radius)
    inside = math.log(16 * 5000 * 100 / (12 * low))
    radius = 8 * high / math.sqrt(low) + 21 / (2 * math.sqrt(low)) * inside + 10 * math.sqrt(7)
    assert float(levels.exploit_radius(opt_error=7)) == pytest.approx(radius)
    gamma = levels.explore_gradient()
    derived = 5 * (gradient + 2) + math.sqrt(5 * (2 / math.sqrt(high) * gradient**2 + gradient))
    found = levels.from_gradient(gamma, levels.ends[1], constant=3, opt_error=4)
    assert float(found) == pytest.approx(derived)


def test_errors_of_lemma_i6_in_floats() -> None:
    """nu_1 and nu_2 with constant 7, written out at the same point; what the ridge alone leaves between an
    estimate and the truth, and that it is 0 where the error allows the truth."""
    levels = _levels()
    low, high = (float(end) for end in levels.ends)
    logs, descent = math.log(5000 * 3 * 100), 2 * math.sqrt(3) * math.log(5000 * 3 * 50)
    gamma = 2**5 * 3**4 * 3 * logs**2 * math.log(1600) * 2
    first = 7 * 8 * 9 * gamma * math.sqrt(3 * math.log(400) * math.log(5000)) * descent
    assert float(levels.explore_error(7)) == pytest.approx(first)
    second = 7 * 2 * 9 * math.sqrt(math.log(400) * math.log2(high / low + 5000 / (3 * low))) * descent
    assert float(levels.exploit_error(7)) == pytest.approx(second)
    left = levels.unseen_distance(arb(high) / 2)
    assert float(left) == pytest.approx(2 * math.sqrt(high))
    assert float(levels.unseen_distance(arb(8 * high))) == 0


def test_no_constant_of_nu_2_saves_the_set() -> None:
    """At S = 10 the set of L.4 misses for constants 1, 100, 10^4 of nu_2 from some dimension on, and covers
    the bias below it; at S = 1 it covers."""
    ratios = {}
    for constant, dim, norm in (
        (0, 8, 1),
        (1, 10**4, 10),
        (100, 8, 10),
        (100, 10**8, 10),
        (10**4, 10**12, 10),
    ):
        left, right = confidence.exploit_set(constant=constant, dim=dim, norm=Fraction(norm))
        ratios[constant, dim] = float(left) / float(right)
    assert ratios[100, 10**8] == pytest.approx(1.617, abs=0.01)  # by floats, from the formulas
    assert ratios[10**4, 10**12] == pytest.approx(1.937, abs=0.01)
    assert ratios[1, 10**4] > 1 > max(ratios[0, 8], ratios[100, 8])


def test_enumerated_chances_are_those_of_the_reward_vectors() -> None:
    """They sum to 1, the reward vectors' means are mu, and a radius between two distances splits them: the
    chance of a miss by hand on two points."""
    points, truth = np.array([0.5, 0.9]), 1.2
    fits = enumerated_fits(points, truth, ridge=2.0)
    assert fits.chances.sum() == pytest.approx(1)
    means = logistic().mean(points * truth)
    rewards = np.array(list(product((0, 1), repeat=2)))
    np.testing.assert_allclose(fits.chances @ rewards, means)
    distances = fits.distance(fits.information + 2 * np.eye(1))
    assert distances.argmin() == 3  # both rewards 1 pull the estimate up to the parameter
    radius = float(np.sort(distances)[:2].mean())
    missed = fits.chances[fits.miss(distances, radius)].sum()
    assert missed == pytest.approx(1 - means[0] * means[1])
    # Stationarity: the sum of x (mu - r) is minus the ridge's gradient where the ball does not bind.
    residuals = logistic().mean(fits.free * points) - rewards
    np.testing.assert_allclose(residuals @ points, -2 * fits.free[:, 0], atol=1e-8)
    assert np.all(np.abs(fits.theta) <= truth * (1 + 1e-9))


def test_bias_without_information_is_what_the_rows_say() -> None:
    """One axis of arms, the parameter on the other: the fitted estimate is 0 there, and its distance is at
    least S sqrt(ridge) in every run."""
    rng, norm, ridge = np.random.default_rng(2), 6.0, 50.0
    fits = drawn_fits(rng, dim=2, n=1, runs=40, norm=norm, ridge=ridge)
    axis = fits.points[0] / np.linalg.norm(fits.points[0])
    across = np.array([-axis[1], axis[0]])
    assert np.abs(fits.free @ across).max() < 1e-9
    part = abs(float(fits.truth @ across))
    design = fits.information + ridge * np.eye(2)
    assert fits.distance(design).min() >= part * math.sqrt(ridge) * (1 - 1e-9)
    assert fits.gradient_distance(design, ridge=ridge).min() >= part * math.sqrt(ridge) * (1 - 1e-9)


def test_a_worse_estimate_has_the_gap_that_was_asked_for() -> None:
    """Distances to the minimiser grow with the gap, and nothing leaves the ball."""
    found = [
        drawn_fits(np.random.default_rng(3), dim=2, n=10, runs=50, norm=1.0, ridge=40.0, gap=gap)
        for gap in (0.0, 1.0, 5.0)
    ]
    away = [np.linalg.norm(fits.theta - found[0].theta, axis=1).mean() for fits in found]
    assert away[0] == 0 < away[1] < away[2]
    assert all(np.linalg.norm(fits.theta, axis=1).max() <= 1 + 1e-9 for fits in found)


def test_median_intervals_by_the_binomial() -> None:
    """Ends are order statistics whose exact error is at most alpha, and the next ones in would err more; too
    few values give no interval."""
    values = np.arange(1.0, 25.0)
    found = median_interval(values, alpha=0.01)
    k = int(found.low)
    assert found.high == 25 - k
    assert 2 * stats.binom.cdf(k - 1, 24, 0.5) <= 0.01 < 2 * stats.binom.cdf(k, 24, 0.5)
    assert median_interval(values[:3], alpha=0.01).high == math.inf
    with pytest.raises(InvalidParameterError, match="median"):
        median_interval(values[:0], alpha=0.01)


def test_stale_norms_as_matrices() -> None:
    """The extreme built as matrices at d = 5: determinants in the ratio 2, noise within its bound, growth
    only, and the generalised eigenvalue of the closed form; without noise it is 2."""
    dim = 5
    noise = 1 / (4 * math.sqrt(dim) + 1)
    down, up = np.full(dim, -noise), np.full(dim, noise)
    up[0] = -noise
    before = np.eye(dim) + np.diag(up)
    after = np.eye(dim) + np.diag(down)
    after[0, 0] *= 2 * np.linalg.det(before) / np.linalg.det(after)
    assert np.linalg.det(after) == pytest.approx(2 * np.linalg.det(before))
    growth = after - np.diag(down) - np.eye(dim)
    assert np.linalg.eigvalsh(growth).min() >= -1e-12
    ratio = np.linalg.eigvals(np.linalg.solve(before, after)).real.max()
    assert ratio == pytest.approx(float(regret._stale(dim, used=True)))
    assert float(regret._stale(1, used=True)) == 2


def test_gaps_of_survivors_in_plain_numbers() -> None:
    """Lemma E.10's sides at one instance with all terms (S = 4, rho = 1, V and H named): the printed widths
    exceed its bound by what the row says."""
    score, rho, gamma = 4.0, 1.0, 50.0
    link = logistic()
    slope = float(link.slope(np.array(score)))
    kappa, norm = 1 / slope, 4 * math.sqrt(2)
    root_v = 100 * 3 * math.sqrt(kappa) * math.exp(3 * norm) * rho / (norm * math.sqrt(slope))
    root_h = 1e5 * gamma * math.sqrt(kappa)
    gap = gamma * math.sqrt(kappa) * rho / root_h
    left = float(link.mean(np.array(score)) - link.mean(np.array(score - gap)))
    phi = math.sqrt(kappa) * math.exp(3 * norm) * gamma / (2 * norm)
    scaled = math.sqrt(slope) * rho / root_h
    right = 6 * phi * (2 * rho / root_v) * (2 * scaled) + 2 * gamma * math.sqrt(slope) * 2 * scaled
    ends = regret.gap_of_survivors(Fraction(4))
    assert left / right == pytest.approx(float(ends[0] / ends[1]), rel=0.03)
    assert left > right


def test_settings_are_those_of_the_paper() -> None:
    """Sizes, algorithms and the printed row names; an algorithm's runs do not depend on which others run."""
    assert [name for name in TABLE["2"].algorithms if constants_of(name) == "experiments"] == list(PRINTED)
    assert (FIGURES["1a"].horizon, FIGURES["1a"].dim, FIGURES["1b"].horizon) == (15000, 5, 5000)
    small = TABLE["2"].__class__(
        link=TABLE["2"].link, param_norm=2.0, dim=3, horizon=60, algorithms=TABLE["2"].algorithms
    )
    both = runs_of(small, seed=1, runs=2, algorithms=("GLOC", private(8)), points=4)
    alone = runs_of(small, seed=1, runs=2, algorithms=(private(8),), points=4)
    np.testing.assert_array_equal(both[private(8)].pseudo.curves, alone[private(8)].pseudo.curves)
    assert both["GLOC"].pseudo.curves.shape == (2, 4)


def test_gaps_are_not_negative_and_grow_with_the_noise() -> None:
    """The output is feasible, so its loss is not below the constrained minimum; without descent (one step,
    the output is 0) the gap is that of 0."""
    gaps = runnable.achieved_gaps(np.random.default_rng(0), users=40, runs=4, ridge=5.0, most_steps=1)
    assert gaps.min() >= 0
    means, ones = logistic(), 40
    losses = [float(ones * means.log_partition(np.array(0.0)))]
    assert gaps.max() <= losses[0]
    noisy = runnable.achieved_gaps(np.random.default_rng(0), users=400, runs=4, ridge=5.0)
    assert noisy.max() > gaps.max()


def test_a_ridge_inside_the_sum_is_weighted_by_the_arms() -> None:
    """With one axis of arms, the printed g differs by sum x^2 times the ridge, by hand."""
    points = np.array([0.5, 0.9])
    fits = enumerated_fits(points, 1.0, ridge=3.0)
    away = fits.free[:, 0] - 1.0
    means = logistic().mean(fits.free * points) - logistic().mean(points)
    by_hand = np.abs(means @ points + 3.0 * (points @ points) * away) / np.sqrt(7.0)
    found = fits.gradient_distance(np.array([[7.0]]), ridge=3.0, inside=True)
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def test_closed_radii_in_floats() -> None:
    """The repaired radii of K.1, K.2, L.4 and L.5, written out at one point, with nu = 7."""
    levels, root = _levels(), 4 * math.sqrt(3)
    low, high = (float(end) for end in levels.ends)
    assert high / low == pytest.approx((root + 2) / root)
    radii = []
    for ridge in (high, low):
        log = math.log(1600 * (1 + 4 * 5000 / (3 * ridge)))
        radii.append(3 * high / math.sqrt(ridge) + math.sqrt(ridge) / 4 + 18 / math.sqrt(ridge) * log)
    found = [float(levels.closed_gradient(lower=lower)) for lower in (False, True)]
    assert found == pytest.approx(radii)
    first = float(levels.closed_radius(constant=12, opt_error=7))  # (1 + RS)(2S + 1/R) = 7 * 6.5
    log = math.log(1600 * (1 + 4 * 5000 / (3 * high)))
    assert first == pytest.approx(45.5 * math.sqrt(high) + 252 / math.sqrt(high) * log + math.sqrt(98))
    second = float(levels.closed_radius(constant=2, opt_error=7))  # 4S + 2/R = 13
    assert second == pytest.approx(13 * math.sqrt(high) + 72 / math.sqrt(high) * log + 2 * math.sqrt(7))


def test_the_closed_gradient_is_above_lemma_j2() -> None:
    """J.2 for rewards divided by R, with its determinant computed from fixed arms of norm 1 at the largest
    slopes. The closed radius is above, and no more than three times it."""
    levels = _levels()
    high = float(levels.ends[1])
    arms = np.random.default_rng(0).normal(size=(5000, 3))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    scaled = high / 4 * np.eye(3) + 0.25 * arms.T @ arms  # variances of r/R are at most 1/4
    ridge = high / 4
    logs = np.linalg.slogdet(scaled)[1] / 2 - 1.5 * math.log(ridge) + math.log(1600) + 3 * math.log(2)
    exact = math.sqrt(ridge) / 2 + 2 / math.sqrt(ridge) * logs + 3 * math.sqrt(high)
    assert exact < float(levels.closed_gradient()) < 3 * exact


def test_closed_radii_cover_where_the_printed_ones_fail() -> None:
    """The part without rewards, at the points of the refuted rows: S > 4R, and R < 1/2 in K.1."""
    for norm, reward_bound in ((10, Fraction(1)), (Fraction(1, 10), Fraction(1, 8))):
        levels = confidence._levels(reward_bound=reward_bound, norm=Fraction(norm), horizon=10**6, dim=8)
        left = levels.unseen_distance(arb(0))
        assert left > (levels.explore_radius() if norm != 10 else levels.exploit_radius())
        assert left < levels.closed_radius(constant=2)
        assert left < levels.closed_radius(constant=2 * reward_bound * Fraction(norm))


def test_the_closed_set_holds_for_a_bad_estimate() -> None:
    """(45) at θ*: minimisers and worse points of all reward vectors in one dimension, with their own
    gradients: D is at most (2 + c) G + √((2 + c) ν), c = 2S."""
    points, truth, ridge = 0.999 * np.where(np.arange(8) % 3 == 0, 0.5, 1.0), 6.0, 0.5
    for gap in (0.0, 1.0):
        fits = enumerated_fits(points, truth, ridge=ridge, gap=gap)
        design = fits.information + ridge * np.eye(1)
        gradient = fits.gradient_distance(design, ridge=ridge)
        distance = fits.distance(design)
        factor = 2 + 2 * truth
        assert np.all(distance <= factor * gradient + math.sqrt(factor * gap) + 1e-9)
        assert np.any(distance > gradient / 2)


def test_growth_by_an_error_in_closed_form() -> None:
    """A ridge loss alone, (ridge/2) (u - v)², is ν higher at √(2ν/ridge): √(2ν) in the norm of the ridge. The
    row's fits come near, within their own curvature."""
    points = 0.999 * np.where(np.arange(10) % 3 == 0, 0.5, 1.0)
    ridge, gap = 40.0, 4.0
    near, far = (enumerated_fits(points, 3.0, ridge=ridge, gap=each) for each in (0.0, gap))
    added = far.distance(ridge * np.eye(1)) - near.distance(ridge * np.eye(1))
    assert added.max() == pytest.approx(math.sqrt(2 * gap), rel=0.05)
    assert added.max() < math.sqrt(2 * gap)  # the loss curves more than its ridge


def test_the_closed_forms_lines_in_floats() -> None:
    """The bracket of J.2 against 3 d log(...) at the row's tightest point, d = 1 and zeta = 1, where 5/2 for
    3 leaves no room for its 1/2; the distance solves its quadratic equation."""
    lines: Any = confidence.closed_noise(Fraction(3), 1, Fraction(1))
    assert float(lines["failure"][0]) == pytest.approx(2 + (2 * math.log(2) + 0.5) / math.log(16))
    assert 2.5 < float(lines["failure"][0]) < 3
    assert float(lines["arms"][0]) == pytest.approx(math.log(1.75))
    bracket = math.log(1.75) + 2 * math.log(16) + 2 * math.log(2)
    assert bracket <= 3 * math.log(16 * 4)
    factor, gradient, nu = 7.0, 2.0, 5.0
    radius = factor * gradient + math.sqrt(factor * nu)
    share = Fraction(math.sqrt(factor * nu) / radius)
    found = float(confidence.closed_distance(share)[0]) * radius
    assert found**2 / factor == pytest.approx(nu + gradient * found)
