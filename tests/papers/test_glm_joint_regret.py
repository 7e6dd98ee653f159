"""Theorem J.1's steps by other routes: sums along drawn arms, rounds in floats, and a whole run in one
dimension against the explicit constant."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from audits.glm_bandits.rows import joint_regret as steps
from audits.glm_bandits.rows.regret import LINKS


def _potential(arms: np.ndarray, ridge: float, power: int) -> float:
    """Return the sum of ||x_t||^power in the inverse of ridge I + the earlier arms."""
    design, total = ridge * np.eye(arms.shape[1]), 0.0
    for x in arms:
        total += float(x @ np.linalg.solve(design, x)) ** (power / 2)
        design += np.outer(x, x)
    return total


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_sums_of_squares_along_drawn_arms_are_below_the_repaired_line(dim: int) -> None:
    """Scaled arms of squared norm at most R²/4 = 4, R = 4, lambda_min = 4: with the square the sum is below
    the row's right side, without it above."""
    rng, ridge, horizon = np.random.default_rng(dim), 4.0, 3000
    arms = rng.normal(size=(horizon, dim))
    arms *= 2 / np.linalg.norm(arms, axis=1, keepdims=True)
    u = 4 * horizon / (dim * ridge)
    _, right = steps.with_square(Fraction(u).limit_denominator(10**6))
    assert _potential(arms, ridge, 2) <= dim * float(right) * (1 + 1e-9)
    assert _potential(arms, ridge, 1) > dim * float(right)


def test_the_sum_without_the_square_is_bounded_from_below() -> None:
    arms = np.full((5000, 1), 0.5)  # x̃ = √(1/4) · 1
    left, _ = steps.without_square(1, 5000, Fraction(100))
    assert float(left) <= _potential(arms, 100.0, 1) <= float(left) * 1.01


@pytest.mark.parametrize("gap", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("score", [-6.0, 0.0, 2.0])
def test_a_logistic_round_is_an_hyperbolic_sine(score: float, gap: float) -> None:
    """mu(a) - mu(b) = 2 sinh(gap/2) √(mu'(a) mu'(b)), against the row's own values."""
    at = Fraction(score), Fraction(gap).limit_denominator(10)
    regret, width, _, mean = steps._scaled_slopes("logistic", at[0], at[1], Fraction(0))
    assert float(width) == pytest.approx(gap)
    assert float(regret) == pytest.approx(2 * math.sinh(gap / 2) * float(mean))
    left, right = steps.logistic_round(at[1])
    assert float(left) - 1 == pytest.approx(1 - math.exp(-gap))
    assert float(right) - 1 == pytest.approx(gap)


def test_slopes_between_the_scores_are_below_the_sharper_line() -> None:
    """A dense grid of z for each link, by floats of its slopes."""
    for link in LINKS:
        for score in (-6, 0, 2):
            lines: Any = steps.half_the_exponent(link, Fraction(score), Fraction(4), Fraction(0))
            bound = lines["at z"][1]
            slopes = [
                float(steps._scaled_slopes(link, Fraction(score), Fraction(4), Fraction(k, 40))[2])
                for k in range(41)
            ]
            assert max(slopes) <= float(bound)


def test_squared_norms_of_19_in_floats() -> None:
    """1/(kappa* lambda_min) with lambda_min of (19), at kappa* = 4 and at kappa* = 400."""
    T, d, epsilon, delta, zeta = 1000, 3, 2.0, 0.1, 0.05
    left, right = steps.short_norms(T, d, Fraction(2), Fraction(1, 10), Fraction(1, 20))
    root = math.sqrt(d)
    for star in (4.0, 400.0):
        ridge = 64 * (4 * root + 1) * math.log(32 / delta) * math.log(T)
        ridge *= (math.log(16 * T / zeta) + root) / (epsilon * star)
        lower = ridge * 4 * root / (4 * root + 1)
        assert float(left) / float(right) == pytest.approx(1 / (star * lower))


@pytest.mark.parametrize("horizon", [60, 4000])
def test_a_run_in_one_dimension_is_below_the_constant(horizon: int) -> None:
    """Logistic, d = 1, S = 1, gaps as large as M.2 and M.3 allow with H_t at its smallest: the regret is
    below (87)'s first term with C = 86. beta is that of (71) without its logarithm."""
    ridge, beta = 1.0, 4.0
    weight, regret, slopes = 0.0, 0.0, 0.0
    for _ in range(horizon):
        true = ridge + weight
        gap = min(4.0, 2 * math.sqrt(2) * beta * math.e / math.sqrt(true))
        # the best arm has score gap/2, the played one -gap/2: both slopes are the same
        slope = 1 / (2 + math.exp(gap / 2) + math.exp(-gap / 2))
        regret += math.tanh(gap / 4)
        slopes += slope
        weight += slope
    bound = steps.CONSTANT * beta * math.sqrt(math.log2(horizon / ridge) * slopes)
    assert regret <= bound
    assert regret >= bound / 5000  # the comparison has a scale


def test_the_constant_and_its_note() -> None:
    """86 is 2√2 e³ √(9/4) rounded up, 332 the same with 20 √e/3; one less is not enough at u = 2, R = 4."""
    assert math.ceil(2 * math.sqrt(2) * math.e**3 * 1.5) == steps.CONSTANT
    assert 331 < 20 * math.sqrt(math.e) / 3 * math.e**3 * 1.5 <= 332
    lines: Any = steps.whole_regret(Fraction(4), Fraction(1, 10), 2, Fraction(2))
    left, right = lines["first term"]
    assert float(left / right) == pytest.approx(16 * math.e**6 * math.log(3) / 86**2)
    assert float(left / right) * (86 / 84) ** 2 > 1
