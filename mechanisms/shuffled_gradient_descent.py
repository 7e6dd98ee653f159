"""P_GD: projected gradient descent on shuffled gradients, as a program under coins.

Algorithm 7 of Sarmasarkar (2026), after Cheu, Joseph, Mao and Peng (2022). In each step every user clips her
gradient to length L, scales it to entries in [-1, 1] and sends it as labelled bits. For each entry the
shuffler releases the number of ones of all users: their encodings and Bin(b, p) ones each
(``vector_messages``). The analyzer takes a step along the mean gradient, projects onto a ball, and returns
the mean of the iterates at which gradients were taken. The print has t = 1, ..., T and theta_0: here t = 0,
..., T - 1.

``batches`` determines who sends in which step: everybody in every step, as printed, or each user in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.vector_messages import release

__all__ = [
    "ShuffledGradientDescent",
    "averaged_descent",
    "clipped",
    "in_every_step",
    "in_one_step",
    "vector_call",
]

Floats = NDArray[np.float64]

#: One call of the vector sum: from coins, step and the users' gradients (n, d) to their noisy sum (d,).
Call = Callable[[Coins, int, Floats], Floats]
#: The users who send in step t of how many, of n users, by their places.
Batches = Callable[[int, int, int], Sequence[int]]


def clipped(gradients: Any, length: float) -> Floats:
    """Return the rows of ``gradients`` (n, d), with longer rows shortened to ``length``."""
    given = np.asarray(gradients, dtype=np.float64)
    return np.asarray(given / np.maximum(np.linalg.norm(given, axis=1, keepdims=True) / length, 1.0))


def vector_call(
    sheet: VectorSheet, length: float, *, grid: int | None = None, site: str = "gradient"
) -> Call:
    """Build P_1 = (R_1, S_1, A_1) with ``sheet`` for gradients clipped to ``length``.

    With a ``grid``, the entries are multiples of ``length``/``grid``, which need no rounding (``release``).
    """

    def call(coins: Coins, step: int, gradients: Floats) -> Floats:
        scaled = clipped(gradients, length) / length
        return length * release(coins, scaled, sheet, grid=grid, site=site)

    return call


def in_every_step(step: int, steps: int, users: int) -> Sequence[int]:
    """Let everybody send in every step, as Algorithm 7 does."""
    return range(users)


def in_one_step(step: int, steps: int, users: int) -> Sequence[int]:
    """Let users send once, in ``steps`` blocks, one per step. ``steps`` divides ``users``."""
    size = users // steps
    return range(step * size, (step + 1) * size)


def averaged_descent(
    gradient: Callable[[int, Any], Any],
    project: Callable[[Any], Any],
    *,
    dim: int,
    steps: int,
    rate: float,
) -> Any:
    """Return the mean of the iterates of projected descent from 0, (``dim``,).

    ``gradient`` maps the step's number and the iterate to the noisy mean gradient there. The simulation of
    Algorithm 7 and all programs that call it run this loop.
    """
    theta = project(np.zeros(dim))
    total = np.zeros(dim)
    for step in range(steps):
        total = total + theta
        theta = project(theta - rate * gradient(step, theta))
    return total / steps


@dataclass(frozen=True, kw_only=True)
class ShuffledGradientDescent:
    """``steps`` steps of size ``rate`` over the ball of radius ``radius``.

    The loss is the mean loss of a generalized linear model with mean ``mean``, plus ``ridge`` / 2
    ||theta||^2. Called with coins and users (n, d + 1), features and then the reward, it returns the mean
    iterate (d,). Raises ``InvalidParameterError`` if there is no step or a radius or rate is not positive;
    when called, for users of another shape.
    """

    call: Call
    mean: Callable[[Floats], Floats]
    steps: int
    rate: float
    radius: float
    ridge: float = 0.0
    batches: Batches = in_every_step

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.rate > 0 or not self.radius > 0:
            raise InvalidParameterError(
                "steps must be 1 or more, rate and radius greater than 0, got "
                f"{self.steps}, {self.rate} and {self.radius}."
            )

    def __call__(self, coins: Coins, users: Any) -> Floats:
        given = np.asarray(users, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] < 2:
            raise InvalidParameterError(f"users must have shape (n, d + 1), got {given.shape}.")

        def gradient(step: int, theta: Any) -> Any:
            batch = given[list(self.batches(step, self.steps, len(given)))]
            points, rewards = batch[:, :-1], batch[:, -1]
            gradients = (self.mean(points @ theta) - rewards)[:, None] * points
            return self.call(coins, step, gradients) / len(batch) + self.ridge * theta

        return np.asarray(
            averaged_descent(
                gradient, self._project, dim=given.shape[1] - 1, steps=self.steps, rate=self.rate
            )
        )

    def _project(self, theta: Any) -> Any:
        return theta / max(1.0, float(np.linalg.norm(theta)) / self.radius)
