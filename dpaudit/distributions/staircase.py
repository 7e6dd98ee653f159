"""Define the staircase distribution (Geng, Kairouz, Oh and Viswanath 2015), optimal noise for pure DP.

The density at x is h exp(-epsilon n(|x|)) / sensitivity, with n(y) = floor(y / sensitivity + 1 - gamma) and
h = (1 - b) / (2 (gamma + b (1 - gamma))), b = exp(-epsilon). It is a mixture of uniform distributions on
steps: |X| / sensitivity = G + V, where P(G = k) = (1 - b) b^k, and V is uniform on [0, gamma] or [gamma, 1].

A shift by D > 0 changes |x| by at most D. For y >= 0, the largest n(y + D) - n(y) is D / sensitivity, rounded
up to an integer, on an interval of outcomes. Hence the largest loss is this integer times epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic
from dpaudit.distributions.base import BaseMeasure, LogConcavity, Support, register
from dpaudit.distributions.scalar import Floats, ScalarDistribution, parameter, positive_parameter
from dpaudit.kernel.ball import ball

__all__ = ["Staircase"]


@register("staircase")
@dataclass(frozen=True, repr=False, init=False)
class Staircase(ScalarDistribution):
    """The staircase distribution, whose shifts by at most ``sensitivity`` have a loss of ``epsilon``.

    Parameters
    ----------
    epsilon : exact number
        The loss of a shift by ``sensitivity``, in [2^-20, 100].
    sensitivity : exact number
        The length of a step, in units of the outcome, in [2^-480, 2^480] (1).
    gamma : exact number, optional
        The part of a step before the density falls, in (0, 1). By default the float next to
        1 / (1 + exp(epsilon / 2)), which makes the mean absolute outcome smallest.

    Raises
    ------
    InvalidParameterError
        A parameter is out of range.
    """

    epsilon: Fraction
    sensitivity: Fraction
    gamma: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("epsilon", "sensitivity", "gamma"),)
    scaling: ClassVar[dict[str, int]] = {"sensitivity": 1}
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE

    def __init__(
        self, *, epsilon: ExactLike, sensitivity: ExactLike = 1, gamma: ExactLike | None = None
    ) -> None:
        loss = positive_parameter(epsilon, name="epsilon")
        if not Fraction(1, 2**20) <= loss <= 100:
            raise InvalidParameterError(
                f"epsilon must be in [2^-20, 100], got {loss}.", code="E-PARAMETER-RANGE"
            )
        best = dyadic(1 / (1 + math.exp(loss / 2)))
        part = best if gamma is None else parameter(gamma, name="gamma")
        if not 0 < part < 1:
            raise InvalidParameterError(f"gamma must be in (0, 1), got {part}.", code="E-PARAMETER-RANGE")
        object.__setattr__(self, "epsilon", loss)
        object.__setattr__(self, "sensitivity", positive_parameter(sensitivity, name="sensitivity"))
        object.__setattr__(self, "gamma", part)

    def parameters(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon, "sensitivity": self.sensitivity, "gamma": self.gamma}

    @property
    def support(self) -> Support:
        return Support(lower=None, upper=None, integer=False)

    @property
    def _constants(self) -> tuple[float, float, float]:
        """The fall b of one step, gamma, and the height h, in floats."""
        b, gamma = math.exp(-self.epsilon), float(self.gamma)
        return b, gamma, -math.expm1(-self.epsilon) / (2 * (gamma + b * (1 - gamma)))

    def _height_ball(self) -> arb:
        b = ball(-self.epsilon).exp()
        return (1 - b) / (2 * (ball(self.gamma) + b * ball(1 - self.gamma)))

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        b, gamma, _ = self._constants
        steps = rng.geometric(-math.expm1(-self.epsilon), size=size) - 1
        fallen = rng.random(size) * (gamma + b * (1 - gamma)) >= gamma
        part = np.where(fallen, gamma, 0) + np.where(fallen, 1 - gamma, gamma) * rng.random(size)
        return np.asarray(rng.choice([-1, 1], size=size) * (steps + part) * float(self.sensitivity))

    def _logp(self, x: Floats) -> Floats:
        steps = np.floor(np.abs(x) / float(self.sensitivity) + float(1 - self.gamma))
        return np.asarray(math.log(self._constants[2] / self.sensitivity) - float(self.epsilon) * steps)

    def _logp_ball(self, x: Fraction) -> arb:
        steps = math.floor(abs(x) / self.sensitivity + 1 - self.gamma)
        return (self._height_ball() / ball(self.sensitivity)).log() - ball(self.epsilon * steps)

    def _cdf(self, x: Floats) -> Floats:
        tail = self._tail(np.abs(x) / float(self.sensitivity))
        return np.where(x < 0, tail, 1 - tail)

    def _sf(self, x: Floats) -> Floats:
        return self._cdf(-x)

    def _tail(self, y: Floats) -> Floats:
        """Return P(X / sensitivity > y) for y >= 0, as sums of positive terms."""
        b, gamma, height = self._constants
        steps = np.floor(np.minimum(y, 2.0**60))
        rest = np.minimum(y, 2.0**60) - steps
        before = b / 2 + height * (b * (1 - gamma) + gamma - rest)
        return np.exp(-float(self.epsilon) * steps) * np.where(
            rest < gamma, before, b * (0.5 + height * (1 - rest))
        )

    def _ppf(self, q: Floats) -> Floats:
        b, gamma, height = self._constants
        tail = np.minimum(q, 1 - q)  # 1 - q is exact for q >= 1/2
        steps = np.floor(-np.log(2 * tail) / float(self.epsilon))
        inside = np.isfinite(steps)
        mass = np.where(inside, tail, 0.5) * np.exp(float(self.epsilon) * np.where(inside, steps, 0))
        corner = b / 2 + height * b * (1 - gamma)
        rest = np.where(mass > corner, gamma - (mass - corner) / height, 1 - (mass / b - 0.5) / height)
        return np.asarray(np.where(q < 0.5, -1, 1) * (steps + rest) * float(self.sensitivity))

    def _cdf_ball(self, x: Fraction) -> arb:
        y = abs(x) / self.sensitivity
        steps = math.floor(y)
        rest, b, height = y - steps, ball(-self.epsilon).exp(), self._height_ball()
        if rest < self.gamma:
            part = b / 2 + height * (b * ball(1 - self.gamma) + ball(self.gamma - rest))
        else:
            part = b * (arb("0.5") + height * ball(1 - rest))
        tail = ball(-self.epsilon * steps).exp() * part
        return tail if x < 0 else 1 - tail

    def _sf_ball(self, x: Fraction) -> arb:
        return self._cdf_ball(-x)

    def shift_loss(self, distance: Fraction) -> Fraction:
        return self.epsilon * math.ceil(abs(distance) / self.sensitivity)

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        b, gamma, height = self._constants
        step = 2 * height * gamma / (1 - b)  # the probability that V <= gamma
        first = step * gamma / 2 + (1 - step) * (1 + gamma) / 2
        second = step * gamma**2 / 3 + (1 - step) * (1 + gamma + gamma**2) / 3
        steps, squares = b / (1 - b), b * (1 + b) / (1 - b) ** 2
        return float(self.sensitivity**2) * (squares + 2 * steps * first + second)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(False, "the density falls in steps")
