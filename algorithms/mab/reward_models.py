"""Reward distributions of many bandit instances at once, and their fixed-point sums without a loop over
users.

A model holds R instances of K arms. ``encoded_sums`` draws Σ x̂_i of n users, the sum of their randomly
rounded rewards: encodings of independent users are independent with at most g + 1 values, so the sum is Σ_k k
N_k with N multinomial. That is one draw of g + 1 numbers and not of n. Clipped Gaussians have a third route,
of about n^(1/3) numbers (``clipped_sums``). All routes have the same distribution, and the cheapest route is
taken. ``reward_sums`` draws Σ x itself.

``SimulatedArms`` is one of the instances as an environment, for algorithms that pull by themselves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, probability
from dpaudit.reference.algorithms.environment import Clock
from dpaudit.reference.algorithms.mab import clipped_sums

__all__ = ["ClippedGaussians", "RewardLevels", "RewardModel", "SimulatedArms", "bernoulli_arms"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Numbers in the largest temporary array.
_CHUNK = 2**21


class RewardModel(ABC):
    """Independent rewards in [0, 1]; ``means`` are the exact means of R instances of K arms, shape (R, K)."""

    means: Floats

    @abstractmethod
    def rows(self, which: Integers) -> RewardModel:
        """Return the model whose instance r is instance ``which[r]`` of this model."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> Floats:
        """Draw ``count`` rewards of instance and arm ``cell``."""

    @abstractmethod
    def total(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> float:
        """Return the sum of the rewards that ``draw`` returns from the same state of ``rng``."""

    @abstractmethod
    def encoded_sums(
        self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int, precision: int
    ) -> Integers:
        """Draw Σ x̂_i over ``users`` new users for every marked cell of (R, K), in C order."""

    @abstractmethod
    def reward_sums(self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int) -> Floats:
        """Draw Σ x_i over ``users`` new users for every marked cell of (R, K), in C order."""


class ClippedGaussians(RewardModel):
    """N(location, deviation²) projected to [0, 1]; ``locations`` has shape (R, K)."""

    def __init__(self, locations: Any, *, deviation: float) -> None:
        self.locations = np.array(locations, dtype=np.float64)
        if self.locations.ndim != 2 or not deviation > 0:
            raise InvalidParameterError(
                f"locations must have shape (R, K) and deviation be positive, got {self.locations.shape} and "
                f"{deviation}."
            )
        self.deviation = float(deviation)
        self.means = self._excess(np.zeros(1), self.locations.reshape(-1, 1), 1).reshape(self.locations.shape)

    def rows(self, which: Integers) -> ClippedGaussians:
        return ClippedGaussians(self.locations[which], deviation=self.deviation)

    def draw(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> Floats:
        return np.asarray(self._draw(rng, self.locations[cell], count)[0])

    def _draw(self, rng: np.random.Generator, locations: Any, count: int) -> Floats:
        """Draw rewards of shape (M, count) for locations of shape (M, 1), or one number."""
        values = rng.standard_normal((np.size(locations), count))
        values *= self.deviation
        values += locations
        return np.clip(values, 0.0, 1.0, out=values)

    def total(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> float:
        return math.fsum(self.draw(rng, cell, part).sum() for part in _chunks(count))

    def encoded_sums(
        self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int, precision: int
    ) -> Integers:
        locations = self.locations[cells]
        blocks = clipped_sums.best_blocks(users, self.deviation)
        if blocks and precision >= 2 * blocks:
            return clipped_sums.encoded_block_sums(
                rng,
                locations,
                self.deviation,
                users=users,
                precision=precision,
                digits=(precision // blocks).bit_length() - 1,
            )
        if 2 * (precision + 1) > users:  # a binomial variate costs about as much as two users
            return self._rounded_sums(rng, locations, users=users, precision=precision)
        values = np.arange(precision + 1)
        rows = max(1, _CHUNK // (precision + 1))
        totals = [
            rng.multinomial(users, self.encoding_probabilities(block, precision)) @ values
            for block in np.split(locations, range(rows, len(locations), rows))
        ]
        return np.concatenate(totals)

    def reward_sums(self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int) -> Floats:
        locations = self.locations[cells]
        blocks = clipped_sums.best_blocks(users, self.deviation)
        if blocks:
            return clipped_sums.reward_sums(rng, locations, self.deviation, users=users, blocks=blocks)
        totals = np.zeros(len(locations))
        rows = max(1, _CHUNK // users)
        for start in range(0, len(locations), rows):
            block = slice(start, start + rows)
            for count in _chunks(users):
                totals[block] += self._draw(rng, locations[block, None], count).sum(axis=1)
        return totals

    def _rounded_sums(
        self, rng: np.random.Generator, locations: Floats, *, users: int, precision: int
    ) -> Integers:
        """Draw user by user: draw, scale, round at random, add up."""
        totals = np.zeros(len(locations), dtype=np.int64)
        rows = max(1, _CHUNK // users)
        for start in range(0, len(locations), rows):
            block = slice(start, start + rows)
            for count in _chunks(users):
                scaled = self._draw(rng, locations[block, None], count) * precision
                whole = np.floor(scaled)
                up = rng.random(scaled.shape) < scaled - whole
                totals[block] += whole.sum(axis=1).astype(np.int64) + up.sum(axis=1)
        return totals

    def encoding_probabilities(self, locations: Floats, precision: int) -> Floats:
        """Return P(x̂ = k), k = 0, ..., g, for each of the ``locations`` (M,): shape (M, g + 1).

        Randomised rounding weighs the density of g x with the hat function around k. For a density that is
        smooth on the unit cells, Gauss-Legendre quadrature integrates the hat's two sides. For a narrow
        density P(x̂ = k) is a second difference of E(g x - t)+, exact except for cancellation.
        """
        means = np.asarray(locations, dtype=np.float64)[:, None]
        if self.deviation * precision < 8:
            excess = self._excess(np.arange(precision + 1.0), means, precision)
            padded = np.concatenate([excess[:, :1] + 1, excess, np.zeros((len(means), 1))], axis=1)
            chances = padded[:, :-2] - 2 * padded[:, 1:-1] + padded[:, 2:]
        else:
            chances = self._hat_integrals(means, precision)
        chances = np.maximum(chances, 0.0)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _hat_integrals(self, means: Floats, precision: int) -> Floats:
        """Integrate the two sides of each hat over the cells [k, k + 1], with the clipped mass at both
        ends.
        """
        chances = np.zeros((len(means), precision + 1))
        chances[:, 0] = special.ndtr(-means[:, 0] / self.deviation)
        chances[:, -1] = special.ndtr((means[:, 0] - 1) / self.deviation)
        nodes, weights = np.polynomial.legendre.leggauss(6)
        cells = np.arange(precision)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            z = ((cells + node) / precision - means) / self.deviation
            mass = weight * np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * self.deviation * precision)
            chances[:, :-1] += (1 - node) * mass
            chances[:, 1:] += node * mass
        return chances

    def _excess(self, levels: Floats, means: Floats, precision: int) -> Floats:
        """Return E(g x - t)+ of the clipped reward x for each level t in [0, g]: shape (M, levels)."""

        def unclipped(t: Any) -> Floats:
            z = (t / precision - means) / self.deviation
            density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            return np.asarray(precision * self.deviation * (density - z * special.ndtr(-z)))

        return unclipped(levels) - unclipped(float(precision))


class RewardLevels(RewardModel):
    """Finitely many reward levels (graded relevance; Bernoulli). ``chances`` has shape (R, K, levels)."""

    def __init__(self, levels: Sequence[ExactLike], chances: Any) -> None:
        self.levels = [probability(level, name="level") for level in levels]
        self.chances = np.array(chances, dtype=np.float64)
        sums = self.chances.sum(axis=-1)
        if self.chances.ndim != 3 or not np.allclose(sums, 1, rtol=0, atol=1e-9) or self.chances.min() < 0:
            raise InvalidParameterError(
                f"chances must have shape (R, K, {len(self.levels)}) and rows that sum to 1, got "
                f"{self.chances.shape}."
            )
        self.chances /= sums[..., None]
        self._values = np.array([float(level) for level in self.levels])
        self.means = self.chances @ self._values

    def rows(self, which: Integers) -> RewardLevels:
        return RewardLevels(self.levels, self.chances[which])

    def draw(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> Floats:
        # Given how often each level occurs, all arrangements are equally likely.
        values = np.repeat(self._values, rng.multinomial(count, self.chances[cell]))
        rng.shuffle(values)
        return values

    def total(self, rng: np.random.Generator, cell: tuple[int, int], count: int) -> float:
        return float(rng.multinomial(count, self.chances[cell]) @ self._values)

    def encoded_sums(
        self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int, precision: int
    ) -> Integers:
        counts = rng.multinomial(users, self.chances[cells])
        scaled = [level * precision for level in self.levels]
        whole = np.array([x.numerator // x.denominator for x in scaled])
        totals = counts @ whole
        for level, x in enumerate(scaled):
            if x.denominator > 1:
                totals += rng.binomial(counts[:, level], float(x % 1))
        return np.asarray(totals)

    def reward_sums(self, rng: np.random.Generator, cells: NDArray[np.bool_], *, users: int) -> Floats:
        return np.asarray(rng.multinomial(users, self.chances[cells]) @ self._values)


def _chunks(count: int) -> list[int]:
    """Return the sizes of the pieces in which ``count`` rewards are drawn."""
    full, rest = divmod(count, _CHUNK)
    return [_CHUNK] * full + ([rest] if rest else [])


def bernoulli_arms(means: Any) -> RewardLevels:
    """Return Bernoulli rewards with ``means`` of shape (R, K)."""
    ones = np.array(means, dtype=np.float64)
    return RewardLevels([0, Fraction(1)], np.stack([1 - ones, ones], axis=-1))


class _SimulatedBatch:
    """Rewards of one stretch, drawn from a separate generator: the sum and the values agree."""

    __slots__ = ("_cell", "_model", "_seed", "rounds")

    def __init__(
        self, rounds: range, model: RewardModel, cell: tuple[int, int], seed: np.random.SeedSequence
    ) -> None:
        self.rounds, self._model, self._cell, self._seed = rounds, model, cell, seed

    def sum(self) -> float:
        return self._model.total(np.random.default_rng(self._seed), self._cell, len(self.rounds))

    def values(self) -> Floats:
        return self._model.draw(np.random.default_rng(self._seed), self._cell, len(self.rounds))


class SimulatedArms(Clock):
    """Instance ``run`` of a model under bandit feedback. ``seed`` belongs to the environment."""

    def __init__(self, model: RewardModel, *, run: int, seed: np.random.SeedSequence, horizon: int) -> None:
        self.means = model.means[run]
        super().__init__(len(self.means), horizon)
        self._model, self._run, self._seed = model, run, seed

    def pull(self, arm: int, count: int) -> _SimulatedBatch:
        self._check_arm(arm)
        return _SimulatedBatch(self._advance(count), self._model, (self._run, arm), self._seed.spawn(1)[0])
