"""The least Gaussian noise of several steps: each route spends its budget, the exact one is the smallest."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import stats

from dpaudit.core.conversions import approximate_route, concentrated_route, exact_route


def exact_delta(variance: float, epsilon: float) -> float:
    """Balle and Wang (2018), Theorem 8, at sensitivity 1, from scipy."""
    sigma = math.sqrt(variance)
    near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return float(stats.norm.cdf(near) - math.exp(epsilon) * stats.norm.cdf(far))


@pytest.mark.parametrize("steps", [2, 20])
def test_every_route_spends_its_budget_on_its_own_curve(steps: int) -> None:
    """The exact route meets (ε, δ) with all steps at once, the approximate one with ε_i and δ_i in each, the
    concentrated one solves ρ + 2 sqrt(ρ log(1/δ)) = ε; noise a tenth smaller does not."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**5)
    exact = float(exact_route(steps, epsilon, delta).mid())
    assert exact_delta(exact / steps, 0.5) == pytest.approx(1e-5, rel=1e-5)
    assert exact_delta(exact / steps / 1.1, 0.5) > 1.1e-5
    part = 0.5 / (2 * math.sqrt(2 * steps * math.log(2e5)))
    approximate = float(approximate_route(steps, epsilon, delta).mid())
    assert exact_delta(approximate, part) == pytest.approx(1e-5 / (2 * steps), rel=1e-5)
    concentrated = float(concentrated_route(steps, epsilon, delta).mid())
    rho = steps / (2 * concentrated)
    assert rho + 2 * math.sqrt(rho * math.log(1e5)) == pytest.approx(0.5, rel=1e-9)
    assert exact < concentrated < approximate
