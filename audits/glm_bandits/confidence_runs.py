"""Compute how often a confidence set misses, by enumeration in one dimension and by simulation in more.

Rewards are Bernoulli with the logistic mean, arms are fixed, and theta* has norm S. The estimate is the
exact constrained minimiser, or a point whose summed loss exceeds the minimum by a given gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpaudit.reference.algorithms.contextual.glm_fit import GlmLoss, ball_loss, minimise, minimise_within
from dpaudit.reference.algorithms.contextual.links import logistic

__all__ = ["Fits", "drawn_fits", "enumerated_fits"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fits:
    """R datasets on fixed points.

    ``chances`` (R,) are their probabilities (1/R if drawn), ``theta`` the estimates and ``free`` the
    unconstrained minimisers, (R, d).
    """

    points: Floats
    truth: Floats
    chances: Floats
    theta: Floats
    free: Floats

    @property
    def information(self) -> Floats:
        """Return the sum of mu'(<x, theta*>) x x^T, (d, d)."""
        slopes = logistic().slope(self.points @ self.truth)
        return np.asarray((self.points * slopes[:, None]).T @ self.points)

    def distance(self, design: Floats) -> Floats:
        """Return ||theta* - theta|| in ``design``, (R,)."""
        away = self.theta - self.truth
        return np.asarray(np.sqrt(np.einsum("rd,de,re->r", away, design, away)))

    def gradient_distance(self, design: Floats, *, ridge: float, inside: bool = False) -> Floats:
        """Return ||g(free) - g(theta*)|| in the inverse of ``design``, g(theta) = sum x mu(<x, theta>) +
        ridge theta.

        With ``inside`` the ridge stands in the sum: g(theta) = sum x (mu(<x, theta>) + ridge <x, theta>).
        """
        link = logistic()

        def g(theta: Floats) -> Floats:
            scores = theta @ self.points.T
            if inside:
                return np.asarray((link.mean(scores) + ridge * scores) @ self.points)
            return np.asarray(link.mean(scores) @ self.points + ridge * theta)

        away = g(self.free) - g(self.truth[None])
        return np.asarray(np.sqrt(np.einsum("rd,de,re->r", away, np.linalg.inv(design), away)))

    def miss(self, found: Floats, radius: float) -> NDArray[np.bool_]:
        """Return whether a distance is above the radius, (R,)."""
        return np.asarray(found > radius)


def _fits(
    points: Floats,
    truth: Floats,
    rewards: Floats,
    chances: Floats,
    *,
    ridge: float,
    gap: float,
    rng: np.random.Generator,
) -> Fits:
    stacked = np.broadcast_to(points, (len(rewards), *points.shape))
    loss = ball_loss(logistic(), np.ascontiguousarray(stacked), rewards, ridge=ridge)
    norm = float(np.linalg.norm(truth))
    theta = minimise_within(loss, radius=norm)
    if gap:
        theta = _worse(loss, theta, gap=gap, norm=norm, rng=rng)
    return Fits(points, truth, chances, theta, minimise(loss))


def _worse(loss: GlmLoss, theta: Floats, *, gap: float, norm: float, rng: np.random.Generator) -> Floats:
    """Return points of the ball on rays from ``theta`` whose loss is higher by ``gap``, or the ball's end."""
    rays = rng.normal(size=theta.shape)
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    low, high = np.zeros(len(theta)), np.full(len(theta), 2 * norm)
    best = loss.value(theta)
    for _ in range(60):
        mid = (low + high) / 2
        moved = theta + mid[:, None] * rays
        fine = (np.linalg.norm(moved, axis=1) <= norm) & (loss.value(moved) - best <= gap)
        low, high = np.where(fine, mid, low), np.where(fine, high, mid)
    return np.asarray(theta + low[:, None] * rays)


def enumerated_fits(points: Floats, truth: float, *, ridge: float, gap: float = 0.0) -> Fits:
    """Return all reward vectors on ``points`` (n,), n <= 12, with their exact probabilities."""
    rewards = np.array(list(product((0.0, 1.0), repeat=len(points))))
    means = logistic().mean(points * truth)
    chances = np.prod(np.where(rewards == 1, means, 1 - means), axis=1)
    rng = np.random.default_rng(0)
    return _fits(points[:, None], np.array([truth]), rewards, chances, ridge=ridge, gap=gap, rng=rng)


def drawn_fits(
    rng: np.random.Generator, *, dim: int, n: int, runs: int, norm: float, ridge: float, gap: float = 0.0
) -> Fits:
    """Draw ``runs`` reward vectors on ``n`` drawn points of norm just below 1, half of them in one
    direction."""
    points = rng.normal(size=(n, dim))
    points[: n // 2] = points[0]
    points *= 0.999 / np.linalg.norm(points, axis=1, keepdims=True)
    truth = rng.normal(size=dim)
    truth *= norm / np.linalg.norm(truth)
    rewards = (rng.random((runs, n)) < logistic().mean(points @ truth)).astype(float)
    return _fits(points, truth, rewards, np.full(runs, 1 / runs), ridge=ridge, gap=gap, rng=rng)
