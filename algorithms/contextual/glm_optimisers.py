"""Estimates of a parameter from a set of rounds: exact, or by noisy gradient descent.

``ExactFit`` minimises the regularised loss over the constraint. ``ShuffledDescent`` is Algorithm 7 of
Sarmasarkar (2026) with its printed numbers of steps, step size and noise. ``ClippedDescent`` is the minibatch
descent with clipped gradients and Gaussian noise that the experiments use instead (Remark A.1).

All of them count calls and gradient steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import UndecidedError
from dpaudit.reference.algorithms.contextual.glm_fit import GlmLoss, ball_loss, minimise_within
from dpaudit.reference.algorithms.contextual.glm_rules import within
from dpaudit.reference.algorithms.contextual.links import Link
from dpaudit.reference.mechanisms.prefix_noise import VectorEntryNoise
from dpaudit.reference.mechanisms.shuffled_gradient_descent import averaged_descent

__all__ = [
    "ClippedDescent",
    "ExactFit",
    "Fit",
    "FitCall",
    "ShuffledDescent",
    "StartingPoint",
    "renyi_multiplier",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class FitCall:
    """One call: ``points`` (n, d) with ``rewards`` (n,), and the loss to minimise.

    The summed loss with ``ridge / 2 ||theta||^2`` is minimised over ``||theta - centre||_shape <= radius`` at
    the budget (``epsilon``, ``delta``).
    """

    link: Link
    points: Floats
    rewards: Floats
    ridge: float
    radius: float
    centre: Floats
    shape: Floats
    start: Floats
    epsilon: float
    delta: float

    def loss(self) -> GlmLoss:
        """Return the loss of one dataset."""
        return ball_loss(self.link, self.points[None], self.rewards[None], ridge=self.ridge)

    def project(self, theta: Floats) -> Floats:
        """Return the nearest point of the constraint: exact for a ball, along the ray to the centre
        otherwise.
        """
        return np.asarray(within(theta, self.centre, self.shape, self.radius))


class Fit(Protocol):
    """A function from a call to an estimate (d,)."""

    def __call__(self, call: FitCall, rng: np.random.Generator) -> Floats:
        """Return the estimate."""


@dataclass(frozen=True)
class ExactFit:
    """Exact minimisation: no privacy and no optimisation error."""

    def __call__(self, call: FitCall, rng: np.random.Generator) -> Floats:
        """Return the constrained minimiser."""
        if not len(call.points):
            return call.project(np.zeros_like(call.centre))
        found = minimise_within(
            call.loss(), radius=call.radius, centre=call.centre[None], shape=call.shape[None]
        )
        return np.asarray(found[0])


@dataclass(frozen=True, kw_only=True)
class ShuffledDescent:
    """Algorithm 7: noisy gradient descent on the mean loss; the result is the mean of the iterates.

    It takes ``eps^2 n^2 / (d log^power(n d / delta))`` steps of size ``2 D / (L sqrt(steps))``, each with the
    noise of one shuffled vector sum. ``power`` is 3 in Algorithm 7 and 1 in Lemma E.4. ``most_steps`` limits
    the number of steps (None: the printed number). The noise is drawn per coordinate from the binomials of
    equation (127), with rounding at its worst. A printed number of steps below 1 is one step, and is counted
    in ``too_few``.
    """

    lipschitz: float
    diameter: float
    power: int = 3
    most_steps: int | None = None
    log: dict[str, int] = field(default_factory=lambda: {"calls": 0, "steps": 0, "too_few": 0})

    def steps(self, n: int, dim: int, epsilon: float, delta: float) -> float:
        """Return the printed number of steps, a real number."""
        return epsilon**2 * n**2 / (dim * math.log(n * dim / delta) ** self.power)

    def __call__(self, call: FitCall, rng: np.random.Generator) -> Floats:
        """Return the mean of the iterates, all of which satisfy the constraint."""
        n, dim = call.points.shape
        self.log["calls"] += 1
        if n == 0:
            return call.project(np.zeros(dim))
        printed = self.steps(n, dim, call.epsilon, call.delta)
        self.log["too_few"] += printed < 1
        steps = max(1, math.floor(printed))
        steps = steps if self.most_steps is None else min(steps, self.most_steps)
        self.log["steps"] += steps
        noise = self._noise(n, dim, steps, call, rng)

        def gradient(step: int, theta: Floats) -> Floats:
            residuals = call.link.mean(call.points @ theta) - call.rewards
            return np.asarray((residuals @ call.points + call.ridge * theta + noise[step]) / n)

        rate = 2 * self.diameter / (self.lipschitz * math.sqrt(steps))
        return np.asarray(averaged_descent(gradient, call.project, dim=dim, steps=steps, rate=rate))

    def _noise(self, n: int, dim: int, steps: int, call: FitCall, rng: np.random.Generator) -> Floats:
        """Draw the noise in the summed gradient, (steps, d)."""
        per_step = call.epsilon / (2 * math.sqrt(2 * steps * math.log(1 / call.delta)))
        entry = VectorEntryNoise.printed(n, Fraction(per_step), Fraction(call.delta / (steps + 1)), dim=dim)
        return self.lipschitz * entry.draw_noise(rng, (steps, dim))


@dataclass(frozen=True)
class StartingPoint:
    """Algorithm 7 if its printed number of steps is below 1: the starting point.

    Raises ``UndecidedError`` if there is a step to make.
    """

    def __call__(self, call: FitCall, rng: np.random.Generator) -> Floats:
        """Return 0, projected."""
        n, dim = call.points.shape
        steps = ShuffledDescent(lipschitz=1.0, diameter=1.0).steps(n, dim, call.epsilon, call.delta)
        if steps >= 1:
            raise UndecidedError(
                f"a starting point needs less than one step, got {steps:.3g} on {n} rounds; take "
                "ShuffledDescent."
            )
        return call.project(np.zeros(dim))


def renyi_multiplier(steps: int, share: float, epsilon: float, delta: float) -> float:
    """Return the noise multiplier at which ``steps`` Gaussian steps cost (epsilon, delta).

    Each step has Renyi divergence ``alpha share^2 / (2 sigma^2)``. At the best alpha the condition is ``c + 2
    sqrt(c log(1/delta)) = epsilon``.
    """
    level = math.log(1 / delta)
    root = math.sqrt(level + epsilon) - math.sqrt(level)
    return share * math.sqrt(steps / 2) / root


@dataclass(frozen=True, kw_only=True)
class ClippedDescent:
    """Epochs of minibatch descent with clipped gradients and noise by ``renyi_multiplier``.

    The result is the mean of the iterates at the ends of epochs after a burn-in. There is no projection, as
    in the experiments. Step k has size ``rate / sqrt(k)``; every batch gets noise of ``multiplier clip /
    batch`` on its mean gradient.
    """

    batch: int = 2048
    clip: float = 0.2
    rate: float = 10.0
    epochs: int = 50
    burn_in: int = 10
    ridge: float = 1e-5
    log: dict[str, int] = field(default_factory=lambda: {"calls": 0, "steps": 0})

    def __call__(self, call: FitCall, rng: np.random.Generator) -> Floats:
        """Return the averaged iterate."""
        n, dim = call.points.shape
        self.log["calls"] += 1
        if n == 0:
            return call.start
        size = min(n, self.batch)
        per_epoch = math.ceil(n / size)
        multiplier = renyi_multiplier(self.epochs * per_epoch, size / n, call.epsilon, call.delta)
        theta, kept, step = np.array(call.start), np.zeros(dim), 0
        for epoch in range(self.epochs):
            order = rng.permutation(n)
            for first in range(0, n, size):
                step += 1
                gradient = self._clipped(call, theta, order[first : first + size])
                gradient += rng.normal(scale=multiplier * self.clip / size, size=dim)
                theta = theta - self.rate / math.sqrt(step) * (gradient + self.ridge * theta)
            kept += theta * (epoch >= self.burn_in)
        self.log["steps"] += step
        return np.asarray(kept / (self.epochs - self.burn_in))

    def _clipped(self, call: FitCall, theta: Floats, rows: NDArray[np.int64]) -> Floats:
        points = call.points[rows]
        gradients = (call.link.mean(points @ theta) - call.rewards[rows])[:, None] * points
        lengths = np.linalg.norm(gradients, axis=1) / self.clip
        return np.asarray((gradients / np.maximum(lengths, 1.0)[:, None]).mean(axis=0))
