"""Contexts and rewards of generalized linear bandits: arms of every round, shared by all replicates.

``published_environment`` is the environment of the experiments of Sarmasarkar (2026), section 8. The
parameter of norm S and the arms from the unit ball come from one generator, arm by arm, so that kappa is the
printed value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.links import Link

__all__ = ["GlmEnvironment", "ball_arms", "published_environment"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GlmEnvironment:
    """``arms`` (T, K, d) of norm 1 at most, ``theta`` (d,), rewards 0 or ``reward_bound`` with the link's
    mean.

    Raises ``InvalidParameterError`` for other shapes, longer arms, and means outside [0, reward_bound].
    """

    link: Link
    arms: Floats
    theta: Floats
    reward_bound: float = 1.0

    def __post_init__(self) -> None:
        if self.arms.ndim != 3 or self.theta.shape != self.arms.shape[2:]:
            raise InvalidParameterError(
                f"arms must have shape (T, K, d) and theta (d,), got {self.arms.shape} and "
                f"{self.theta.shape}."
            )
        longest = float(np.linalg.norm(self.arms, axis=2).max())
        if longest > 1 + 1e-12:
            raise InvalidParameterError(f"arms must have norm 1 at most, got {longest:.6g}.")
        if self.means.min() < 0 or self.means.max() > self.reward_bound * (1 + 1e-12):
            raise InvalidParameterError(
                f"means must be in [0, {self.reward_bound:g}], got {self.means.min():.4g} to "
                f"{self.means.max():.4g}."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (T, K, d)."""
        rounds, n_arms, dim = self.arms.shape
        return rounds, n_arms, dim

    @cached_property
    def means(self) -> Floats:
        """Return the expected reward of each arm in each round, (T, K)."""
        return np.asarray(self.link.mean(self.arms @ self.theta))

    @cached_property
    def slopes(self) -> Floats:
        """Return mean' at each arm, (T, K)."""
        return np.asarray(self.link.slope(self.arms @ self.theta))

    @property
    def kappa(self) -> float:
        """Return the largest 1 / mean' over all arms of all rounds (equation (4))."""
        return float(1 / self.slopes.min())

    @property
    def kappa_star(self) -> float:
        """Return 1 over the largest mean' of all arms of all rounds (equation (4))."""
        return float(1 / self.slopes.max())

    def rewards(self, t: int, chosen: Ints, rng: np.random.Generator) -> Floats:
        """Draw one reward per replicate for the arms ``chosen`` (R,) of round ``t`` (from 0)."""
        ones = rng.random(len(chosen)) * self.reward_bound < self.means[t, chosen]
        return np.asarray(self.reward_bound * ones)

    def regret(self, t: int, chosen: Ints) -> Floats:
        """Return the best mean of round ``t`` minus the means of the arms ``chosen`` (R,)."""
        return np.asarray(self.means[t].max() - self.means[t, chosen])


def ball_arms(rng: np.random.Generator, *, rounds: int, n_arms: int, dim: int) -> Floats:
    """Draw uniform points of the unit ball, (T, K, d): direction of a Gaussian, radius U^(1/d), arm by
    arm.
    """
    arms = np.empty((rounds * n_arms, dim))
    for i in range(len(arms)):
        direction = rng.normal(size=dim)
        arms[i] = direction / np.linalg.norm(direction) * rng.random() ** (1 / dim)
    return arms.reshape(rounds, n_arms, dim)


def published_environment(
    link: Link, *, param_norm: float, dim: int, n_arms: int = 20, rounds: int = 5000, seed: int = 109832
) -> GlmEnvironment:
    """Return the environment whose theta is ``param_norm`` times the direction of a uniform point of [-1,
    1]^d.

    Arms are ``ball_arms``.
    """
    corner, arms = _published_draws(dim, n_arms, rounds, seed)
    return GlmEnvironment(link, arms, param_norm * corner / np.linalg.norm(corner))


@lru_cache(maxsize=4)
def _published_draws(dim: int, n_arms: int, rounds: int, seed: int) -> tuple[Floats, Floats]:
    """Return the corner and the arms, which do not depend on the link and the norm."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-1, 1, dim)
    return corner, ball_arms(rng, rounds=rounds, n_arms=n_arms, dim=dim)
