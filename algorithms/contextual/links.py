"""Links of generalized linear bandits: the reward's distribution at the linear score <x, theta> = z.

A canonical family has density exp(r z - b(z) + c(r)): then the mean is b'(z), the variance b''(z) and the
third central moment b'''(z). ``FiniteFamily`` is every such family on finitely many rewards, including the
logistic family and Bernoulli rewards on {0, R}. ``Probit`` and ``Linear`` are only models of the mean on the
rewards that bandits use: ``log_partition`` defines their loss, which is not a likelihood of such rewards.

Each link comes in floats (arrays of scores, to simulate with) and in balls (``at``, to prove with).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from flint import ctx
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.kernel.ball import arb, ball, precision

__all__ = [
    "Derivatives",
    "FiniteFamily",
    "Linear",
    "Link",
    "Probit",
    "Regularity",
    "bernoulli",
    "finite_family",
    "logistic",
    "regularity",
]

Floats = NDArray[np.float64]


class Derivatives(NamedTuple):
    """The values b, b' = mu, b'' and b''' at one score, as balls."""

    log_partition: arb
    mean: arb
    slope: arb
    curvature: arb


class Link(Protocol):
    """A model of rewards: floats for arrays of scores of any shape, balls for one score."""

    @property
    def name(self) -> str:
        """Return the name for reports."""

    @property
    def largest_reward(self) -> Fraction | None:
        """Return R, with rewards in [0, R], or None if they are not bounded."""

    def log_partition(self, score: Floats) -> Floats:
        """Return b(z); the loss of reward r at score z is b(z) - r z."""

    def mean(self, score: Floats) -> Floats:
        """Return mu(z) = b'(z), the expected reward."""

    def slope(self, score: Floats) -> Floats:
        """Return mu'(z) = b''(z), positive."""

    def curvature(self, score: Floats) -> Floats:
        """Return mu''(z) = b'''(z)."""

    def draw(self, score: Floats, rng: np.random.Generator) -> Floats:
        """Draw one reward for each score."""

    def at(self, score: arb) -> Derivatives:
        """Return the same functions at one score, in balls."""


@dataclass(frozen=True)
class FiniteFamily:
    """The exponential family on ``support`` (increasing, at least two rewards, from 0 up).

    Its masses at score 0 are proportional to ``weights`` (positive).
    """

    name: str
    support: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        increasing = list(self.support) == sorted(set(self.support))
        if len(self.support) < 2 or not increasing or self.support[0] < 0:
            raise InvalidParameterError(
                f"support must be two or more increasing rewards, none below 0, got {self.support}."
            )
        if len(self.weights) != len(self.support) or min(self.weights) <= 0:
            raise InvalidParameterError(
                f"weights must be one positive number per reward, got {self.weights}."
            )

    @property
    def largest_reward(self) -> Fraction:
        """Return R, the largest reward of the support."""
        return self.support[-1]

    def _masses(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        """Return masses (..., N), rewards (N,), and b (...)."""
        rewards = np.array([float(r) for r in self.support])
        logs = np.asarray(score)[..., None] * rewards + np.log([float(w) for w in self.weights])
        log_partition = special.logsumexp(logs, axis=-1)
        return np.exp(logs - log_partition[..., None]), rewards, log_partition

    def log_partition(self, score: Floats) -> Floats:
        """Return log Σ w exp(r z)."""
        return self._masses(score)[2]

    def mean(self, score: Floats) -> Floats:
        """Return the expected reward."""
        masses, rewards, _ = self._masses(score)
        return masses @ rewards

    def _central(self, score: Floats, power: int) -> Floats:
        masses, rewards, _ = self._masses(score)
        apart: Floats = rewards - (masses @ rewards)[..., None]
        return np.asarray((masses * apart**power).sum(axis=-1))

    def slope(self, score: Floats) -> Floats:
        """Return the variance of the reward."""
        return self._central(score, 2)

    def curvature(self, score: Floats) -> Floats:
        """Return the third central moment of the reward."""
        return self._central(score, 3)

    def draw(self, score: Floats, rng: np.random.Generator) -> Floats:
        """Draw one reward for each score, through the inverse distribution function."""
        masses, rewards, _ = self._masses(score)
        below = np.cumsum(masses, axis=-1)[..., :-1]
        above = rng.random(np.shape(score))[..., None] >= below
        return np.asarray(rewards[above.sum(axis=-1)])

    def masses_at(self, score: arb) -> list[arb]:
        """Return the probability of each reward of the support, in balls."""
        top = max(self.support) if score > 0 else min(self.support)
        pairs = zip(self.support, self.weights, strict=True)
        parts = [ball(w) * (ball(r - top) * score).exp() for r, w in pairs]
        total = sum(parts, arb(0))
        return [part / total for part in parts]

    def at(self, score: arb) -> Derivatives:
        """Return b as a sum, and the others as moments of the distribution.

        The working precision is higher if the distribution is nearly degenerate, because a variance as small
        as exp(-R abs(z)) results from differences.
        """
        far = int(6 * self.largest_reward * (int(abs(float(score.mid()))) + 1))
        with precision(ctx.prec + far):
            pairs = list(zip(self.support, self.weights, strict=True))
            total = sum((ball(w) * (ball(r) * score).exp() for r, w in pairs), arb(0))
            distribution = list(zip(self.masses_at(score), map(ball, self.support), strict=True))
            mean = sum((p * r for p, r in distribution), arb(0))
            slope = sum((p * (r - mean) ** 2 for p, r in distribution), arb(0))
            curvature = sum((p * (r - mean) ** 3 for p, r in distribution), arb(0))
            return Derivatives(total.log(), mean, slope, curvature)


def finite_family(name: str, support: Sequence[ExactLike], weights: Sequence[ExactLike]) -> FiniteFamily:
    """Return the exponential family on ``support`` with the given weights at score 0.

    Raises ``InvalidParameterError`` for a support that does not increase from 0 or more, and for weights that
    are not positive.
    """
    return FiniteFamily(name, tuple(exact(r) for r in support), tuple(exact(w) for w in weights))


def bernoulli(largest_reward: ExactLike) -> FiniteFamily:
    """Return the link of rewards 0 and R: mu(z) = R/(1 + exp(-R z))."""
    top = positive(largest_reward, name="largest_reward")
    return finite_family(f"Bernoulli on {{0, {top}}}", (0, top), (1, 1))


def logistic() -> FiniteFamily:
    """Return the link of rewards 0 and 1: mu(z) = 1/(1 + exp(-z))."""
    return finite_family("logistic", (0, 1), (1, 1))


@dataclass(frozen=True)
class Probit:
    """Rewards 0 and 1 with mean Φ(z); b(z) = z Φ(z) + φ(z). Not a canonical family on {0, 1}."""

    name: str = "probit"

    @property
    def largest_reward(self) -> Fraction:
        """Return 1."""
        return Fraction(1)

    def log_partition(self, score: Floats) -> Floats:
        """Return an antiderivative of Φ."""
        return np.asarray(score * self.mean(score) + self.slope(score))

    def mean(self, score: Floats) -> Floats:
        """Return Φ(z)."""
        return np.asarray(special.ndtr(score))

    def slope(self, score: Floats) -> Floats:
        """Return φ(z)."""
        return np.asarray(np.exp(-np.square(score) / 2) / np.sqrt(2 * np.pi))

    def curvature(self, score: Floats) -> Floats:
        """Return -z φ(z)."""
        return np.asarray(-score * self.slope(score))

    def draw(self, score: Floats, rng: np.random.Generator) -> Floats:
        """Draw Bernoulli rewards."""
        return np.asarray(rng.random(np.shape(score)) < self.mean(score), dtype=np.float64)

    def at(self, score: arb) -> Derivatives:
        """Return the closed forms."""
        density = (-(score**2) / 2).exp() / (2 * arb.pi()).sqrt()
        mean = (-score / arb(2).sqrt()).erfc() / 2
        return Derivatives(score * mean + density, mean, density, -score * density)


@dataclass(frozen=True)
class Linear:
    """Rewards z plus Gaussian noise of deviation ``noise_std``, not bounded; b(z) = z²/2."""

    noise_std: float = 1.0
    name: str = "linear"

    @property
    def largest_reward(self) -> None:
        """Return None: the rewards have no bound."""
        return None

    def log_partition(self, score: Floats) -> Floats:
        """Return z²/2."""
        return np.asarray(np.square(score) / 2)

    def mean(self, score: Floats) -> Floats:
        """Return z."""
        return np.asarray(score, dtype=np.float64)

    def slope(self, score: Floats) -> Floats:
        """Return 1."""
        return np.ones(np.shape(score))

    def curvature(self, score: Floats) -> Floats:
        """Return 0."""
        return np.zeros(np.shape(score))

    def draw(self, score: Floats, rng: np.random.Generator) -> Floats:
        """Draw Gaussian rewards."""
        return np.asarray(rng.normal(score, self.noise_std))

    def at(self, score: arb) -> Derivatives:
        """Return the closed forms."""
        return Derivatives(score**2 / 2, score, arb(1), arb(0))


class Regularity(NamedTuple):
    """The bounds m <= b'' <= M and abs(b''') <= L on an interval, as exact numbers."""

    smallest_slope: arb
    largest_slope: arb
    largest_curvature: arb


def regularity(link: Link, *, radius: Fraction, pieces: int = 64) -> Regularity:
    """Return bounds on the slope and the curvature over all scores in [-radius, radius], in balls.

    The interval is covered by ``2 * pieces`` pieces, and the link is enclosed on each of them.
    """
    positive(radius, name="radius")
    half = radius / (2 * pieces)
    found = [link.at(arb(0, 1) * ball(half) + ball((2 * i + 1) * half)) for i in range(-pieces, pieces)]
    slopes = [one.slope for one in found]
    return Regularity(
        smallest_slope=_least([slope.lower() for slope in slopes]),
        largest_slope=-_least([-slope.upper() for slope in slopes]),
        largest_curvature=-_least([-one.curvature.abs_upper() for one in found]),
    )


def _least(values: Sequence[arb]) -> arb:
    least = values[0]
    for value in values[1:]:
        least = least.min(value)
    return least
