"""Baselines of generalized linear bandits without privacy, with a replicate axis.

RS-GLinUCB (Sawarni et al. 2024), GLM-UCB (Filippi et al. 2010), GLOC (Jun et al. 2017), ECOLog (Faury et al.
2022), with the constants that the experiments of Sarmasarkar (2026) use; each is a parameter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.reference.algorithms.contextual.glm_fit import ball_loss, minimise
from dpaudit.reference.algorithms.contextual.glm_history import (
    History,
    norms,
    outer,
    squared_norms,
    stacked_identity,
)
from dpaudit.reference.algorithms.contextual.links import Link

__all__ = ["BanditSize", "EcoLog", "GlmUcb", "Gloc", "RsGlinUcb"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class BanditSize:
    """The instance as an algorithm knows it.

    It holds the horizon T, d, the bound S on the parameter's norm, kappa (4), the failure probability, the
    bound R on rewards, and the largest slope of the link, L_mu.
    """

    horizon: int
    dim: int
    param_norm: float
    kappa: float
    failure_prob: float = 0.02
    reward_bound: float = 1.0
    steepest: float = 0.25

    @property
    def radius(self) -> float:
        """Return sqrt(d log(T / zeta))."""
        return math.sqrt(self.dim * math.log(self.horizon / self.failure_prob))


class RsGlinUcb:
    """Warm-up rounds while an arm is long in V^-1, then elimination by the warm-up estimate and optimism.

    The optimism uses an estimate that is refitted when det H has grown by ``growth``.
    """

    def __init__(
        self,
        size: BanditSize,
        link: Link,
        replicates: int,
        *,
        ridge: float = 0.5,
        fit_ridge: float = 1e-5,
        threshold: float | None = None,
        growth: float = 1.5,
        beta: float | None = None,
    ) -> None:
        bound, norm = size.reward_bound, size.param_norm
        self.link, self.fit_ridge, self.growth = link, fit_ridge, growth
        self.threshold = (
            1 / (0.01 * size.kappa * bound**4 * norm**2 * size.dim) if threshold is None else threshold
        )
        self.width = bound * norm * size.radius * math.sqrt(size.kappa)
        self.beta = 4 * size.radius if beta is None else beta
        self.design = stacked_identity(replicates, size.dim, ridge)  # V
        self.inverse: Floats = np.linalg.inv(self.design).astype(np.float64)
        self.exploit = self.design.copy()  # H
        self.last_inverse: Floats = self.inverse.copy()
        self.last_logdet = np.linalg.slogdet(self.design)[1]
        self.history, self.warm_rounds = History(replicates, size.dim), np.zeros((replicates, 0))
        self.theta_warm, self.theta_exploit = np.zeros((2, replicates, size.dim))
        self.warm = np.zeros(replicates, dtype=bool)
        self.n_warm, self.n_refits = np.zeros((2, replicates), dtype=np.int64)

    def choose(self, t: int, arms: Floats) -> Ints:
        """Return the longest arm in V^-1 while it is too long, else the most optimistic remaining arm."""
        lengths = squared_norms(arms, self.inverse)
        self.warm = lengths.max(axis=1) > self.threshold
        self._refit(~self.warm)
        scores = self._scores(arms, lengths)
        return np.asarray(np.where(self.warm, lengths.argmax(axis=1), scores.argmax(axis=1)))

    def _refit(self, free: NDArray[np.bool_]) -> None:
        logdet = np.linalg.slogdet(self.exploit)[1]
        rows = np.flatnonzero(free & (logdet >= self.last_logdet + math.log(self.growth)))
        if not len(rows):
            return
        loss = ball_loss(
            self.link, self.history.points[rows], self.history.rewards[rows], ridge=self.fit_ridge
        )
        self.theta_exploit[rows] = minimise(loss, start=self.theta_exploit[rows])
        self.last_logdet[rows] = logdet[rows]
        self.last_inverse[rows] = np.linalg.inv(self.exploit[rows])
        self.n_refits[rows] += 1

    def _scores(self, arms: Floats, lengths: Floats) -> Floats:
        means, widths = self.theta_warm @ arms.T, self.width * np.sqrt(lengths)
        left = means + widths >= (means - widths).max(axis=1, keepdims=True)
        middle = (self.theta_warm + self.theta_exploit) / 2 @ arms.T
        return np.where(left, middle + self.beta * norms(arms, self.last_inverse), -np.inf)

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Update V and the warm-up estimate in warm-up rounds, H in the others."""
        self.history.add(x, rewards)
        self.warm_rounds = np.concatenate([self.warm_rounds, self.warm[:, None]], axis=1)
        if self.warm.any():
            self._warm_up(x)
        scores = (x * self.theta_warm).sum(axis=1)
        weights = np.where(self.warm, 0.0, self.link.slope(scores) / math.e)
        self.exploit += weights[:, None, None] * outer(x)

    def _warm_up(self, x: Floats) -> None:
        rows = np.flatnonzero(self.warm)
        lengths = np.einsum("rd,rde,re->r", x[rows], self.inverse[rows], x[rows])
        self.design[rows] += outer(x[rows]) / (1 + lengths)[:, None, None]
        self.inverse[rows] = np.linalg.inv(self.design[rows])
        loss = ball_loss(
            self.link,
            self.history.points[rows],
            self.history.rewards[rows],
            ridge=self.fit_ridge,
            weights=self.warm_rounds[rows],
        )
        self.theta_warm[rows] = minimise(loss, start=self.theta_warm[rows])
        self.n_warm[rows] += 1

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Count warm-up rounds, and refits of the exploiting estimate."""
        return {"warm-up rounds": self.n_warm, "refits": self.n_refits}


class GlmUcb:
    """Optimism on means around the estimate with ridge d.

    The estimate takes one Newton step per round from the last estimate. ``growing`` multiplies the bonus by
    sqrt(log t).
    """

    def __init__(self, size: BanditSize, link: Link, replicates: int, *, growing: bool = False) -> None:
        d, level = size.dim, math.log(2 * size.dim * size.horizon / size.failure_prob)
        self.link, self.growing, self.ridge = link, growing, float(d)
        self.width = 2 * size.steepest * size.kappa * size.reward_bound
        self.width *= math.sqrt(3 + 2 * math.log(1 + 2 / d)) * math.sqrt(2 * d * level)
        self.inverse = stacked_identity(replicates, d, 1 / d)
        self.history, self.theta = History(replicates, d), np.zeros((replicates, d))
        self.n_steps = np.zeros(replicates, dtype=np.int64)

    def choose(self, t: int, arms: Floats) -> Ints:
        """Return argmax mu(<x, theta>) + width ||x||_{V^-1}."""
        width = self.width * (math.sqrt(math.log(max(t, 1))) if self.growing else 1.0)
        scores = self.link.mean(self.theta @ arms.T) + width * norms(arms, self.inverse)
        return np.asarray(scores.argmax(axis=1))

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Apply the rank-one update and the Newton step."""
        self.history.add(x, rewards)
        self.inverse = _updated(self.inverse, x)
        loss = ball_loss(self.link, self.history.points, self.history.rewards, ridge=self.ridge)
        step = np.linalg.solve(loss.hessian(self.theta), loss.gradient(self.theta)[:, :, None])
        self.theta = self.theta - step[:, :, 0]
        self.n_steps += 1

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Count Newton steps."""
        return {"Newton steps": self.n_steps}


def _updated(inverse: Floats, x: Floats, weight: Floats | float = 1.0) -> Floats:
    """Return (A + weight x x^T)^-1 from A^-1 (Sherman and Morrison), (R, d, d)."""
    moved = np.matmul(inverse, x[:, :, None])[:, :, 0]
    share = weight / (1 + weight * (moved * x).sum(axis=1))
    return np.asarray(inverse - share[:, None, None] * outer(moved))


class Gloc:
    """An online Newton step per round, and optimism with a radius from its regret."""

    def __init__(self, size: BanditSize, link: Link, replicates: int) -> None:
        self.link, self.size, self.curvature = link, size, 1 / size.kappa
        self.inverse = stacked_identity(replicates, size.dim, 1 / size.dim)
        self.theta = np.zeros((replicates, size.dim))
        self.online_regret = np.full(replicates, 2 * self.curvature * size.param_norm**2 * size.dim)
        self.n_steps = np.zeros(replicates, dtype=np.int64)

    def radius(self) -> Floats:
        """Return the radius, (R,)."""
        zeta, steep = self.size.failure_prob, (self.size.steepest**2 / self.curvature) ** 2
        part = 2 * self.online_regret / self.curvature
        logs = np.log(2 / zeta * np.sqrt(1 + part + 4 * steep**2 / zeta**2))
        return np.asarray(np.sqrt(1 + 2 * part + 8 * steep * logs))

    def choose(self, t: int, arms: Floats) -> Ints:
        """Return argmax mu(<x, theta>) + radius ||x||_{V^-1}."""
        scores = self.link.mean(self.theta @ arms.T) + self.radius()[:, None] * norms(arms, self.inverse)
        return np.asarray(scores.argmax(axis=1))

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Update V, the online regret, and the online estimate, projected to norm S."""
        gradient = (self.link.mean((x * self.theta).sum(axis=1)) - rewards)[:, None] * x
        self.inverse = _updated(self.inverse, x)
        step = np.matmul(self.inverse, gradient[:, :, None])[:, :, 0]
        self.online_regret = self.online_regret + (gradient * step).sum(axis=1) / (2 * self.curvature)
        moved = self.theta - step / self.curvature
        self.theta = self.size.param_norm * moved / np.linalg.norm(moved, axis=1, keepdims=True)
        self.n_steps += 1

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Count online steps."""
        return {"online steps": self.n_steps}


class EcoLog:
    """Logistic rewards: an online estimate by projected descent, and optimism with a radius from its regret.

    The squared radius is 2 ridge S^2 + (1 + S)^2 g_t, without the sum of losses of the data-dependent
    version.
    """

    def __init__(self, size: BanditSize, link: Link, replicates: int, *, ridge: float = 10.0) -> None:
        self.size, self.link, self.ridge = size, link, ridge
        self.design = stacked_identity(replicates, size.dim, ridge)
        self.inverse: Floats = np.linalg.inv(self.design).astype(np.float64)
        self.theta = np.zeros((replicates, size.dim))
        self.n_steps = np.zeros(replicates, dtype=np.int64)

    def radius(self, t: int) -> float:
        """Return the radius after ``t`` rounds."""
        norm, root = self.size.param_norm, math.sqrt(self.ridge)
        grown = 2 / self.size.failure_prob * math.sqrt(1 + t / (4 * self.ridge))
        gain = root / 2 + 2 / root * math.log(grown)
        return math.sqrt(2 * self.ridge * norm**2 + (1 + norm) ** 2 * gain)

    def choose(self, t: int, arms: Floats) -> Ints:
        """Return argmax mu(<x, theta>) + radius ||x||_{V^-1}."""
        scores = self.link.mean(self.theta @ arms.T) + self.radius(t + 1) * norms(arms, self.inverse)
        return np.asarray(scores.argmax(axis=1))

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Compute one estimate per round, in about log t steps; then update V with the slope at it."""
        self.theta = self._fitted(x, rewards, steps=math.ceil(math.log(t + 3)))
        slopes = self.link.slope((x * self.theta).sum(axis=1))
        self.design += slopes[:, None, None] * outer(x)
        self.inverse = _updated(self.inverse, x, slopes)
        self.n_steps += 1

    def _fitted(self, x: Floats, rewards: Floats, *, steps: int) -> Floats:
        """Descend on ||theta - theta_t||^2_V / (2 (1 + S)) plus the new loss, in the metric of V."""
        theta, bound = self.theta, self.size.param_norm
        for _ in range(steps):
            residuals = self.link.mean((x * theta).sum(axis=1)) - rewards
            pulled = np.matmul(self.inverse, (residuals[:, None] * x)[:, :, None])[:, :, 0] * (1 + bound)
            theta = theta - ((theta - self.theta) + pulled) / 2
            theta = theta / np.maximum(np.linalg.norm(theta, axis=1, keepdims=True) / bound, 1.0)
        return np.asarray(theta)

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Count online steps."""
        return {"online steps": self.n_steps}
