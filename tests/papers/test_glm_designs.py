"""Optimal designs against closed forms and a grid of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from audits.glm_bandits.rows.design import _expected, _survivors, cost_of_designs
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.optimal_design import g_optimal_design, leverages


def test_orthogonal_arms_get_equal_weights() -> None:
    """Leverage 1/(1/d + ridge), below d."""
    found = g_optimal_design(np.eye(3), ridge=0.5)
    assert found.weights == pytest.approx(np.full(3, 1 / 3))
    assert found.largest_leverage == pytest.approx(1 / (1 / 3 + 0.5))


def test_one_dimension_goes_to_the_longest_arm() -> None:
    """All weight on the largest norm in the limit; the certificate is 1.01 at most."""
    arms = np.array([[0.1], [1.0], [0.5]])
    found = g_optimal_design(arms, ridge=1e-9)
    assert found.largest_leverage <= 1.01
    assert found.weights[1] > 0.95


def test_against_a_grid_of_weights() -> None:
    """No weights on a grid of the simplex do better than d; the steps come within 1 %."""
    arms = np.array([[1.0, 0.0], [0.6, 0.6], [-0.2, 0.9]])
    grid = [(i / 40, j / 40, (40 - i - j) / 40) for i in range(41) for j in range(41 - i)]
    best = min(leverages(arms, np.array(weights), ridge=1e-9).max() for weights in grid)
    found = g_optimal_design(arms, ridge=1e-9)
    assert 2 - 1e-6 <= found.largest_leverage <= 2.02
    assert best >= 2 - 1e-6


def test_the_certificate_is_of_the_returned_weights() -> None:
    """Also where the steps run out."""
    arms = np.random.default_rng(1).normal(size=(30, 5))
    for most in (1, 3, 5000):
        found = g_optimal_design(arms, ridge=1e-6, most_steps=most)
        assert leverages(arms, found.weights, ridge=1e-6).max() == pytest.approx(found.largest_leverage)
    assert g_optimal_design(arms, ridge=1e-6, most_steps=1).largest_leverage > 5.05


def test_expected_leverage_of_one_set_is_its_certificate() -> None:
    """With one arm set W is its design matrix: at most 1.01 d, far from d²."""
    found, certificate = _expected(0, 3, 1, 1.01)
    assert found == pytest.approx(certificate, rel=1e-6)


def test_survivors_by_hand() -> None:
    """Scores 0, 1, 2 with radius 0.4 each: only the last; with radius 0.6 the last two."""
    arms = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    theta, shape = np.array([1.0, 0.0]), np.diag([0.0, 1.0])
    assert len(_survivors(arms, theta, shape, 0.4)) == 1
    assert len(_survivors(arms, theta, shape, 0.6)) == 2


def test_without_arms() -> None:
    """An empty set has no design."""
    with pytest.raises(InvalidParameterError):
        g_optimal_design(np.zeros((0, 2)), ridge=1.0)


@pytest.mark.parametrize("half", [1, 2, 5])
def test_the_distribution_of_remark_4_4_as_matrices(half: int) -> None:
    """Designs by Frank-Wolfe steps on the arm sets, W by sums of matrices: the row's numbers; sampling the
    rare axis half of the time has d, and so has no sampling less among drawn ones."""
    dim, axes = 2 * half, np.eye(2 * half)
    sets = [np.vstack([axes[i], axes[half:]]) for i in range(half)]

    def longest(weights: np.ndarray) -> float:
        mean = sum(arms.T @ (weights[:, None] * arms) for arms in sets) / half
        inverse = np.linalg.inv(mean)
        return float(np.mean([np.einsum("kd,de,ke->k", arms, inverse, arms).max() for arms in sets]))

    weights = g_optimal_design(sets[0], ridge=1e-9, factor=1.0001).weights
    lines: Any = cost_of_designs(half)
    ratio = float(lines["at most d"][0])
    assert longest(weights) / dim == pytest.approx(ratio, rel=1e-3)
    other = np.r_[0.5, np.full(half, 0.5 / half)]
    assert longest(other) == pytest.approx(dim)
    drawn = np.random.default_rng(half).dirichlet(np.ones(half + 1), size=50)
    assert min(longest(one) for one in drawn) >= dim * (1 - 1e-9)
