"""Linear bandits with Bernoulli rewards as arrays with a replicate axis: fixed arms, changing contexts.

Notation: R replicates, K arms, d dimensions, n users of a batch. A replicate is one instance (arms and theta)
with independent rewards. A batch is the rounds between two updates of a policy. With fixed arms it plays the
same arm n times, so its rewards are one binomial draw. With changing contexts it has n different rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import checks

__all__ = ["Batch", "Choose", "Environment", "FixedArms", "FreshContexts", "coded_arms", "sphere_arms"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: From features (R, K, d) to the arm of each replicate, (R,).
Choose = Callable[[Floats], Ints]


@dataclass(frozen=True, eq=False)
class Batch:
    """The result of a batch: G groups of users with equal features.

    ``features`` (R, G, d), ``users`` (R, G) their number, ``ones`` (R, G) how many of them had reward 1;
    ``regret`` (R,) the pseudo-regret, ``realised`` (R,) the best arm's rewards minus the played arms'
    rewards.
    """

    features: Floats
    users: Ints
    ones: Ints
    regret: Floats
    realised: Floats

    def gram(self) -> Floats:
        """Return Σ x xᵀ over the users, (R, d, d)."""
        weighted = self.features * self.users[..., None]
        return np.asarray(weighted.transpose(0, 2, 1) @ self.features)

    def reward_vec(self) -> Floats:
        """Return Σ x y over the users, (R, d)."""
        return np.asarray((self.features * self.ones[..., None]).sum(axis=1))


class Environment(Protocol):
    """R instances that answer batches."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the shape (R, K, d)."""

    def play(self, choose: Choose, size: int, rng: np.random.Generator) -> Batch:
        """Play ``size`` rounds with one policy."""


@dataclass(frozen=True, eq=False)
class FixedArms:
    """Fixed arms: ``features`` (R, K, d) and ``theta`` (R, d), with <x, theta> in [0, 1] for every arm.

    Raises ``InvalidParameterError`` for other shapes and for means outside [0, 1].
    """

    features: Floats
    theta: Floats

    def __post_init__(self) -> None:
        if self.features.ndim != 3 or self.theta.shape != self.features.shape[::2]:
            raise InvalidParameterError(
                "features must have shape (R, K, d) and theta (R, d), got "
                f"{self.features.shape} and {self.theta.shape}."
            )
        _require_arms(self.shape)
        _checked_means(self.means)
        # Each coordinate is contiguous in memory: scores of all arms are products of contiguous rows.
        stored = np.ascontiguousarray(self.features.transpose(0, 2, 1)).transpose(0, 2, 1)
        object.__setattr__(self, "features", stored)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (R, K, d)."""
        replicates, n_arms, dim = self.features.shape
        return replicates, n_arms, dim

    @cached_property
    def means(self) -> Floats:
        """Return expected rewards, (R, K)."""
        return np.asarray(np.einsum("rkd,rd->rk", self.features, self.theta))

    def play(self, choose: Choose, size: int, rng: np.random.Generator) -> Batch:
        """Play one arm for the whole batch; the sum of its Bernoulli rewards is binomial, exactly.

        If another arm is played, the best arm's rewards are drawn too, because the realised regret needs
        them.
        """
        arms, rows = choose(self.features), np.arange(len(self.theta))
        means = self.means
        best = means.argmax(axis=1)
        ones = rng.binomial(size, means[rows, arms])
        missed = np.where(arms == best, ones, rng.binomial(size, means[rows, best])) - ones
        gaps = means[rows, best] - means[rows, arms]
        users = np.full((len(rows), 1), size)
        return Batch(
            self.features[rows, arms][:, None], users, ones[:, None], size * gaps, missed.astype(float)
        )

    def repeated(self, times: int) -> FixedArms:
        """Return the same instances ``times`` times, one block after the other."""
        return FixedArms(np.tile(self.features, (times, 1, 1)), np.tile(self.theta, (times, 1)))


@dataclass(frozen=True, eq=False)
class FreshContexts:
    """A new set of K arms in every round: (unit vector, 1) / sqrt(2), uniform; theta (R, d) stays.

    Raises ``InvalidParameterError`` if a mean can leave [0, 1].
    """

    theta: Floats
    n_arms: int

    def __post_init__(self) -> None:
        if self.theta.ndim != 2 or self.theta.shape[1] < 2:
            raise InvalidParameterError(
                f"theta must have shape (R, d) with d of 2 or more, got {self.theta.shape}."
            )
        _require_arms(self.shape)
        length = np.linalg.norm(self.theta[:, :-1], axis=1)
        _checked_means(
            np.stack([self.theta[:, -1] - length, self.theta[:, -1] + length], axis=1) / np.sqrt(2)
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (R, K, d)."""
        return len(self.theta), self.n_arms, self.theta.shape[1]

    def play(self, choose: Choose, size: int, rng: np.random.Generator) -> Batch:
        """Play ``size`` rounds, each with new arms: R groups of one user per round."""
        replicates, n_arms, dim = self.shape
        rows = np.arange(replicates)
        chosen, ones = np.empty((replicates, size, dim)), np.empty((replicates, size), dtype=np.int64)
        regret, realised = np.zeros(replicates), np.zeros(replicates)
        for i in range(size):
            features = _appended(rng, (replicates, n_arms), dim) / np.sqrt(2)
            means = np.einsum("rkd,rd->rk", features, self.theta)
            arms, best = choose(features), means.argmax(axis=1)
            uniforms = rng.random((2, replicates))
            chosen[:, i] = features[rows, arms]
            ones[:, i] = uniforms[0] < means[rows, arms]
            seen = np.where(arms == best, ones[:, i], uniforms[1] < means[rows, best])
            regret += means[rows, best] - means[rows, arms]
            realised += seen - ones[:, i]
        return Batch(chosen, np.ones_like(ones), ones, regret, realised)


def _require_arms(shape: tuple[int, int, int]) -> None:
    for value, name in zip(shape, ("replicates", "n_arms", "dim"), strict=True):
        checks.whole(value, name=name)


def _checked_means(means: Floats) -> None:
    checks.finite(means, name="mean rewards")
    if means.min() < -1e-12 or means.max() > 1 + 1e-12:
        raise InvalidParameterError(
            f"mean rewards must be in [0, 1], got {means.min():.4g} to {means.max():.4g}."
        )


def _appended(rng: np.random.Generator, shape: tuple[int, ...], dim: int) -> Floats:
    """Draw uniform unit vectors of dim - 1 with a 1 appended."""
    if dim < 2:
        raise InvalidParameterError(f"dim must be 2 or more, got {dim}; one coordinate is appended.")
    unit = rng.normal(size=(*shape, dim - 1))
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    return np.concatenate([unit, np.ones((*shape, 1))], axis=-1)


def sphere_arms(*, replicates: int, n_arms: int, dim: int, rng: np.random.Generator) -> FixedArms:
    """Draw instances as printed (Chowdhury and Zhou 2022, Section 6).

    Arms and theta are uniform vectors of norm 1/sqrt(2) in d - 1 dimensions with 1/sqrt(2) appended. Norms
    are therefore 1 and means in [0, 1].
    """
    _require_arms((replicates, n_arms, dim))
    features = _appended(rng, (replicates, n_arms), dim) / np.sqrt(2)
    theta = _appended(rng, (replicates,), dim) / np.sqrt(2)
    return FixedArms(features, theta)


def coded_arms(*, replicates: int, n_arms: int, dim: int, rng: np.random.Generator) -> FixedArms:
    """Draw instances as in the authors' public code.

    Arms are (unit vector, 1) of norm sqrt(2), of which the first d are the unit basis with last coordinate 1;
    theta = (unit vector, 1)/2. The means have the printed distribution except for these d arms, whose last
    has mean 1/2.
    """
    _require_arms((replicates, n_arms, dim))
    features = _appended(rng, (replicates, n_arms), dim)
    basis = np.eye(dim)
    basis[:, -1] = 1.0
    features[:, :dim] = basis[:n_arms]
    return FixedArms(features, _appended(rng, (replicates,), dim) / 2)
