"""Lemma E.11's instance: its sides by logarithms in floats, its conditions, and where they fail."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from audits.glm_bandits.later_batches import RHO, Survivor
from audits.glm_bandits.rows import later_batches
from dpaudit.kernel.ball import ball


@pytest.mark.parametrize(("score", "power"), [(3, 400), (5, 400), (8, 400)])
def test_sides_by_logarithms(score: int, power: int) -> None:
    """Everything from (6)-(10) in logarithms of floats: gap, loss, and the bound's second term."""
    log_t, d, delta, norm = power * math.log(10), 2, 0.1, 1.5 * score
    kappa = 2 + 2 * math.cosh(score)
    sigma = math.log(d**2 / delta) / kappa
    level = math.sqrt(math.log(2 * d * 4 / delta) + log_t)
    nu = norm**2 * math.sqrt(d * (math.log(d / delta) + log_t) ** 3)
    gamma = 30 * norm * math.sqrt(d * log_t + 12 * sigma * level) + math.sqrt(4 * norm * nu)
    growth = log_t / (2 * (1 - 2**-3))
    lengths = [0.0, growth, 1.5 * growth, 1.75 * growth]
    lengths[0] = 2 / 3 * (0.5 * math.log(kappa) + 3 * norm + math.log(d**2 * gamma**2 / norm) + growth)
    gap = math.log(gamma * math.sqrt(kappa) * 0.99 / math.sqrt(0.51 * 0.99**2 / kappa)) - lengths[2] / 2
    found = Survivor(score=Fraction(score), power=power)
    assert float(found.gap().log()) == pytest.approx(gap, rel=1e-9)
    assert float(found.loss().log()) == pytest.approx(math.log(0.495 / kappa) + gap, rel=1e-9)
    bound = math.log(2 * gamma / math.sqrt(kappa)) - lengths[2] / 2
    assert float(found.bound().log()) == pytest.approx(bound, rel=1e-6)
    assert float((found.loss() / found.bound()).mid()) == pytest.approx(
        0.495 / (2 * math.sqrt(0.51)) * math.sqrt(kappa), rel=1e-3
    )


def test_the_instance_is_within_the_conditions() -> None:
    """λ_min is at least 20 d R log T, ‖θ*‖ at most S, the batches fit into T, E.6 leaves room."""
    found = Survivor(score=Fraction(5), power=400)
    shown = found.parameters()
    assert found.ridges()[0] >= 40 * ball(10**400).log()
    assert 2 * (Fraction(5) / RHO) ** 2 <= shown.S**2
    assert sum(shown.batches()[:3]) < 10**400
    assert found.share_of_radius() < 1
    assert found.gap() < ball(Fraction(1, 10**50))


def test_at_short_horizons_the_worse_arm_may_go() -> None:
    """Where batch 1 is longer than batch 3, its widths are the shorter ones: nothing is claimed."""
    assert not Survivor(score=Fraction(5), power=20).survives()


def test_a_constant_that_holds() -> None:
    """κ = 22 and c = 2: the printed inequality is true there, so that the row can come out either way."""
    left, right = later_batches.expected_gap(2, 3, 400)
    assert left < right
