"""What Algorithm 1's analysis asks of noise and optimiser: cumulants by sums, variances by draws, descent
by a loop."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from audits.glm_bandits.rows import requirements
from dpaudit.reference.mechanisms.prefix_noise import VectorEntryNoise


def test_cumulants_against_a_direct_sum() -> None:
    """log Σ P(b) exp(s (b - p)) in floats; the proxies are attained at s = 2 log 3 and in the limit s = 0."""
    for s, p in ((0.5, 0.25), (-3.0, 0.9)):
        direct = math.log((1 - p) * math.exp(-s * p) + p * math.exp(s * (1 - p)))
        assert float(requirements._cumulant(Fraction(p), Fraction(s))) == pytest.approx(direct)
    sides = requirements.sub_gaussian(Fraction(2), Fraction(1, 2))
    assert all(left < right for left, right in sides.values())
    near = requirements._cumulant(Fraction(1, 4), Fraction(21972, 10_000))  # 2 log 3 = 2.19722
    assert float(near) == pytest.approx(2.1972**2 / (8 * math.log(3)), rel=1e-6)


def test_the_first_batch_does_not_know_kappa_star() -> None:
    """The variance of drawn entries is the exact one, and the row's ratio grows by κ*²."""
    noise = VectorEntryNoise.printed(50, Fraction(1, 2), Fraction(1, 20), dim=2)
    drawn = noise.draw_noise(np.random.default_rng(1), (20_000,))
    assert drawn.var() == pytest.approx(float(noise.variance), rel=0.05)
    small, large = (requirements.first_batch(1, score) for score in (2, 12))
    grown = (2 + 2 * math.cosh(12)) / (2 + 2 * math.cosh(2))
    assert float((small[1] / large[1]).mid()) == pytest.approx(grown**2)


def _descent(step_size: float, noise: list[float]) -> tuple[float, float, float]:
    """Mean excess loss of noisy steps on l(θ) = θ over [0, 1] from θ = 1; (129)'s right side; the mean of
    -n θ that it leaves out."""
    theta, excess, squares, left_out = 1.0, 0.0, 0.0, 0.0
    for n in noise:
        excess, squares, left_out = excess + theta, squares + (1 + n) ** 2, left_out - n * theta
        theta = min(max(theta - step_size * (1 + n), 0.0), 1.0)
    count = len(noise)
    return excess / count, 1 / (2 * step_size * count) + step_size * squares / (2 * count), left_out / count


def test_a_run_of_noisy_steps() -> None:
    """Noise of -1 in every step: the loss stays 1, 40 times (129)'s right side. With the left-out term the
    bound holds on every run, and without it in the mean of runs."""
    stuck, right, left_out = _descent(0.2, [-1.0] * 100)
    assert stuck / right == pytest.approx(40)
    assert stuck <= right + left_out
    rng = np.random.default_rng(3)
    runs = [_descent(0.05, rng.normal(size=50).tolist()) for _ in range(400)]
    assert all(loss <= bound + more for loss, bound, more in runs)
    assert np.mean([loss - bound for loss, bound, _ in runs]) <= 0
