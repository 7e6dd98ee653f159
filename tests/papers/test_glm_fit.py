"""Exact fits of generalized linear models against bisection, grids and stationarity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.glm_fit import ball_loss, minimise, minimise_within
from dpaudit.reference.algorithms.contextual.glm_optimisers import (
    ClippedDescent,
    ExactFit,
    FitCall,
    ShuffledDescent,
    renyi_multiplier,
)
from dpaudit.reference.algorithms.contextual.links import Link, Probit, bernoulli, logistic

LINKS = [logistic(), bernoulli(2), Probit()]


def _data(runs: int, n: int, dim: int, top: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(runs, n, dim))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    return points, top * (rng.random((runs, n)) < 0.4)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_one_dimension_is_the_root_that_bisection_finds(link: Link) -> None:
    """The minimiser is the zero of the increasing gradient, to ten digits; other ridges have other zeros."""
    top = float(link.largest_reward or 1)
    points, rewards = _data(4, 9, 1, top)
    found = minimise(ball_loss(link, points, rewards, ridge=0.7))[:, 0]
    for r in range(4):
        low, high = -100.0, 100.0
        for _ in range(200):
            mid = (low + high) / 2
            slope = (link.mean(points[r, :, 0] * mid) - rewards[r]) @ points[r, :, 0] + 0.7 * mid
            low, high = (low, mid) if slope > 0 else (mid, high)
        assert found[r] == pytest.approx(low, abs=1e-9)
    other = minimise(ball_loss(link, points, rewards, ridge=1.4))[:, 0]
    assert np.abs(found - other).max() > 1e-3


def test_the_gradient_is_that_of_the_value() -> None:
    """Central differences of the value, and of the gradient for the Hessian."""
    points, rewards = _data(3, 8, 2, 1.0)
    loss = ball_loss(logistic(), points, rewards, ridge=0.3, weights=np.linspace(0, 2, 24).reshape(3, 8))
    theta, h = np.array([[0.3, -1.0], [2.0, 0.5], [0.0, 0.0]]), 1e-5
    for i, unit in enumerate(np.eye(2)):
        ends = [loss.value(theta + sign * h * unit) for sign in (1, -1)]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), loss.gradient(theta)[:, i], atol=1e-8)
        slopes = [loss.gradient(theta + sign * h * unit) for sign in (1, -1)]
        np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * h), loss.hessian(theta)[:, i], atol=1e-7)


def test_constrained_minimisers_beat_every_point_of_a_grid() -> None:
    """Over a ball and over an ellipse around another centre: inside to 1e-9, and no grid point is lower."""
    points, rewards = _data(2, 12, 2, 1.0)
    loss = ball_loss(logistic(), points, rewards, ridge=0.05)
    centre, shape = np.array([[0.5, -0.2], [0.1, 0.4]]), np.array([[3.0, 1.0], [1.0, 2.0]])
    for kwargs in ({"radius": 0.4}, {"radius": 0.3, "centre": centre, "shape": np.stack([shape, shape])}):
        found = minimise_within(loss, **kwargs)  # type: ignore[arg-type]
        middle = kwargs.get("centre", np.zeros((2, 2)))
        metric = shape if "shape" in kwargs else np.eye(2)
        root = np.linalg.inv(np.linalg.cholesky(metric)).T
        away = found - middle
        lengths = np.sqrt(np.einsum("rd,de,re->r", away, metric, away))
        assert np.all(lengths <= kwargs["radius"] * (1 + 1e-9))
        best = loss.value(found)
        for angle in np.linspace(0, 2 * np.pi, 200):
            for share in (0.5, 0.9, 1.0):
                other = middle + share * kwargs["radius"] * (root @ [np.cos(angle), np.sin(angle)])
                assert np.all(loss.value(other) >= best - 1e-9)


def test_bad_shapes_and_ridges_are_refused() -> None:
    """One reward a point; a positive ridge."""
    points, rewards = _data(2, 5, 2, 1.0)
    with pytest.raises(InvalidParameterError, match="one reward a point"):
        ball_loss(logistic(), points, rewards[:, :3], ridge=1.0)
    with pytest.raises(InvalidParameterError, match="ridge must be positive"):
        ball_loss(logistic(), points, rewards, ridge=0.0)


def _call(n: int = 60, epsilon: float = 1.0) -> FitCall:
    points, rewards = _data(1, n, 2, 1.0)
    return FitCall(
        link=logistic(),
        points=points[0],
        rewards=rewards[0],
        ridge=3.0,
        radius=1.0,
        centre=np.zeros(2),
        shape=np.eye(2),
        start=np.zeros(2),
        epsilon=epsilon,
        delta=0.01,
    )


def test_shuffled_descent_without_noise_is_averaged_projected_descent() -> None:
    """At an enormous epsilon the noise is nil: the mean of the iterates of a plain loop; at 1 it is not."""
    call = _call(epsilon=1e9)
    fit = ShuffledDescent(lipschitz=2.0, diameter=2.0, most_steps=40)
    found = fit(call, np.random.default_rng(0))
    theta, seen = np.zeros(2), []
    for _ in range(40):
        seen.append(theta)
        mean = call.link.mean(call.points @ theta)
        theta = theta - 2 / np.sqrt(40) * ((mean - call.rewards) @ call.points + 3 * theta) / 60
        theta = theta / max(1.0, float(np.linalg.norm(theta)))
    np.testing.assert_allclose(found, np.mean(seen, axis=0), atol=0.02)  # coins of rounding stay
    noisy = fit(_call(), np.random.default_rng(0))
    assert np.abs(noisy - found).max() > 0.1
    assert fit.log["calls"] == 2


def test_too_few_printed_steps_are_counted() -> None:
    """60 users, eps = 1, d = 2: eps^2 n^2 / (d log^3(nd/delta)) is 2.2 steps; at eps = 1/2 below 1: one."""
    fit = ShuffledDescent(lipschitz=2.0, diameter=2.0)
    exact = Fraction(3600, 2)
    assert fit.steps(60, 2, 1.0, 0.01) == pytest.approx(float(exact) / np.log(12000.0) ** 3)
    fit(_call(epsilon=0.5), np.random.default_rng(0))
    assert fit.log == {"calls": 1, "steps": 1, "too_few": 1}


def test_clipped_descent_is_near_the_minimiser_at_large_epsilon() -> None:
    """Unclipped small residuals and no noise to speak of: close to the exact minimiser of its own ridge."""
    call = _call(n=400, epsilon=1e8)
    fit = ClippedDescent(clip=10.0, epochs=300, burn_in=200, ridge=3.0 / 400)
    found = fit(call, np.random.default_rng(1))
    np.testing.assert_allclose(found, ExactFit()(call, np.random.default_rng(1)), atol=2e-3)


def test_the_renyi_multiplier_meets_its_equation() -> None:
    """min over alpha of steps alpha q^2/(2 sigma^2) + log(1/delta)/(alpha - 1) is epsilon, on a grid of
    alpha."""
    sigma = renyi_multiplier(50, 0.3, 1.2, 1e-3)
    alphas = np.linspace(1.0001, 400, 400001)
    total = 50 * alphas * 0.3**2 / (2 * sigma**2) + np.log(1e3) / (alphas - 1)
    assert total.min() == pytest.approx(1.2, rel=1e-6)
