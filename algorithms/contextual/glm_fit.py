"""Exact minimisers of regularised losses of generalized linear models, for many datasets at once.

The loss of one observation is ``b(<x, theta>) - r <x, theta>`` with ``b' = mean`` (Sarmasarkar, section 4),
convex because the mean increases. For a mean outside the exponential families (probit) it is the loss with
the same gradient ``(mean - r) x``. A dataset adds ``theta^T Q theta / 2 - <q, theta>``: a ridge is ``Q =
ridge I``.

``minimise`` is Newton's method with halved steps. ``minimise_within`` adds the constraint ``||theta -
centre||_P <= radius`` through its multiplier, which bisection finds.

Notation: R datasets, n observations each, d dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.reference.algorithms.contextual.links import Link

__all__ = ["GlmLoss", "ball_loss", "minimise", "minimise_within"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GlmLoss:
    """``points`` (R, n, d), ``rewards`` (R, n), ``weights`` (R, n) of 0 or more, ``quad`` (R, d, d) positive
    definite, ``lin`` (R, d)."""

    link: Link
    points: Floats
    rewards: Floats
    weights: Floats
    quad: Floats
    lin: Floats

    def value(self, theta: Floats) -> Floats:
        """Return the loss of ``theta`` (R, d): shape (R,)."""
        z = self._linear(theta)
        losses = self.link.log_partition(z) - self.rewards * z
        squares = np.einsum("rd,rde,re->r", theta, self.quad, theta) / 2
        return np.asarray((self.weights * losses).sum(axis=1) + squares - (self.lin * theta).sum(axis=1))

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient, (R, d)."""
        residuals = self.weights * (self.link.mean(self._linear(theta)) - self.rewards)
        pulled = np.matmul(residuals[:, None, :], self.points)[:, 0]
        return np.asarray(pulled + np.matmul(self.quad, theta[:, :, None])[:, :, 0] - self.lin)

    def hessian(self, theta: Floats) -> Floats:
        """Return the Hessian, (R, d, d)."""
        weighted = self.points * (self.weights * self.link.slope(self._linear(theta)))[:, :, None]
        return np.asarray(np.matmul(weighted.transpose(0, 2, 1), self.points) + self.quad)

    def penalised(self, multiplier: Floats, shape: Floats, centre: Floats) -> GlmLoss:
        """Return the loss plus ``multiplier / 2 ||theta - centre||^2_shape``, with ``multiplier`` (R,)."""
        extra = multiplier[:, None, None] * shape
        return replace(
            self, quad=self.quad + extra, lin=self.lin + np.matmul(extra, centre[:, :, None])[:, :, 0]
        )

    def _linear(self, theta: Floats) -> Floats:
        return np.asarray(np.matmul(self.points, theta[:, :, None])[:, :, 0])


def ball_loss(
    link: Link, points: Floats, rewards: Floats, *, ridge: float | Floats, weights: Floats | None = None
) -> GlmLoss:
    """Return the loss with ``ridge / 2 ||theta||^2``, for datasets (R, n, d) and (R, n)."""
    if points.ndim != 3 or rewards.shape != points.shape[:2]:
        raise InvalidParameterError(
            f"points must have shape (R, n, d) and rewards (R, n), got {points.shape} and {rewards.shape}; "
            "give one reward a point."
        )
    replicates, _, dim = points.shape
    heights = np.broadcast_to(np.asarray(ridge, dtype=float), (replicates,))
    if not np.all(heights > 0):
        raise InvalidParameterError(f"the ridge must be positive, got {heights.min()}.")
    used = np.ones_like(rewards) if weights is None else weights
    quad = heights[:, None, None] * np.eye(dim)
    return GlmLoss(link, points, rewards, used, quad, np.zeros((replicates, dim)))


def minimise(
    loss: GlmLoss, *, start: Floats | None = None, tolerance: float = 1e-10, most: int = 200
) -> Floats:
    """Return the minimisers, (R, d).

    The Newton decrement is below ``tolerance`` times one plus the loss's size. Raises ``UndecidedError``
    after ``most`` steps.
    """
    theta = np.zeros_like(loss.lin) if start is None else np.array(start, dtype=float)
    value = loss.value(theta)
    for _ in range(most):
        gradient = loss.gradient(theta)
        step = np.linalg.solve(loss.hessian(theta), gradient[:, :, None])[:, :, 0]
        decrement = (gradient * step).sum(axis=1)
        active = decrement > tolerance * tolerance * (1 + np.abs(value))
        if not active.any():
            return theta
        moved, lower = _halved(loss, theta, value, step * active[:, None], decrement * active)
        if np.array_equal(moved, theta):  # rounding: no step of any size lowers the value
            return theta
        theta, value = moved, lower
    raise UndecidedError(
        f"Newton's method must end within {most} steps, got a decrement of {decrement.max():.3g}; "
        "rescale the data or raise the ridge."
    )


def _halved(
    loss: GlmLoss, theta: Floats, value: Floats, step: Floats, decrement: Floats
) -> tuple[Floats, Floats]:
    """Return the first of step, step/2, ... that lowers the value enough (Armijo), per dataset."""
    size = np.ones(len(theta))
    for _ in range(60):
        moved = theta - size[:, None] * step
        found = loss.value(moved)
        bad = found > value - size * decrement / 4 + 1e-13 * (1 + np.abs(value))
        if not bad.any():
            return moved, found
        size = np.where(bad, size / 2, size)
    return theta - (size * ~bad)[:, None] * step, np.where(bad, value, found)


def minimise_within(
    loss: GlmLoss,
    *,
    radius: float | Floats,
    centre: Floats | None = None,
    shape: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Return the minimisers over ``||theta - centre||_shape <= radius``, (R, d); the ball around 0 by
    default.

    The norm is within one part in 10^9 of the radius if the constraint binds.
    """
    replicates, dim = loss.lin.shape
    middle = np.zeros((replicates, dim)) if centre is None else centre
    metric = np.broadcast_to(np.eye(dim) if shape is None else shape, (replicates, dim, dim))
    bound = np.broadcast_to(np.asarray(radius, dtype=float), (replicates,))

    def outside(theta: Floats) -> NDArray[np.bool_]:
        away = theta - middle
        return np.asarray(np.sqrt(np.einsum("rd,rde,re->r", away, metric, away)) > bound)

    theta = minimise(loss, start=start)
    binding = outside(theta)
    if not binding.any():
        return theta
    low, high = np.zeros(replicates), np.where(binding, 1.0, 0.0)
    while (far := outside(theta := minimise(loss.penalised(high, metric, middle), start=theta))).any():
        low, high = np.where(far, high, low), np.where(far, 8 * high, high)
    while np.any(high - low > 1e-12 * high):
        mid = (low + high) / 2
        if np.all((mid <= low) | (mid >= high) | ~binding):
            break
        theta = minimise(loss.penalised(mid, metric, middle), start=theta)
        far = outside(theta)
        low, high = np.where(far & binding, mid, low), np.where(far & binding, high, mid)
        low, high = np.where(binding, low, 0.0), np.where(binding, high, 0.0)
    return minimise(loss.penalised(high, metric, middle), start=theta)
