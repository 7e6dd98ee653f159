"""The radii that Sarmasarkar (2026) prints for its confidence sets, as balls; T is the horizon.

Notation: R bounds rewards, S the parameter's norm, nu the optimisation error of the summed loss, lambda_min
and lambda_max the ends of the noisy ridge. Arguments are exact numbers or balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel.ball import arb, ball

__all__ = ["JointLevels", "Ridge", "gradient_radius", "parameter_radius"]


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """lambda_min and lambda_max, d, T, R and S of Algorithm 1: what appendix E's lemmas are told."""

    low: arb
    high: arb
    dim: int
    horizon: int
    reward_bound: Fraction = Fraction(1)
    param_norm: Fraction = Fraction(1)

    @classmethod
    def required(cls, *, dim: int, horizon: int, spread: Any, **others: Any) -> Ridge:
        """The smallest admissible lambda_min, 20 d R log T, and ``spread`` times it."""
        low = 20 * dim * ball(others.get("reward_bound", Fraction(1))) * ball(horizon).log()
        return cls(low=low, high=ball(spread) * low, dim=dim, horizon=horizon, **others)

    @property
    def level(self) -> arb:
        """log T + d."""
        return ball(self.horizon).log() + self.dim


def parameter_radius(ridge: Ridge, *, opt_error: Any = 0, brackets: str = "29") -> arb:
    """gamma(lambda_max, lambda_min) of Lemma E.4: with (29) the factor 24 R S stands before both terms of the
    bracket, with (24) before the first alone."""
    r, s = ball(ridge.reward_bound), ball(ridge.param_norm)
    first, second = ridge.level.sqrt(), r * ridge.level / ridge.low.sqrt()
    noise = 24 * r * s * (first + second) if brackets == "29" else 24 * r * s * first + second
    return noise + 2 * s * ridge.high.sqrt() + (4 * r * s * ball(opt_error)).sqrt()


def gradient_radius(ridge: Ridge, *, repaired: bool = False) -> arb:
    """Lemma E.5: ``sqrt(log T + d) + R (log T + d) / sqrt(lambda_min) + 2 S sqrt(lambda_max)``; repaired, the
    last term is ``S lambda_max / sqrt(lambda_min)``."""
    low, high, s = ridge.low, ridge.high, ball(ridge.param_norm)
    last = s * high / low.sqrt() if repaired else 2 * s * high.sqrt()
    return ridge.level.sqrt() + ball(ridge.reward_bound) * ridge.level / low.sqrt() + last


@dataclass(frozen=True, kw_only=True)
class JointLevels:
    """T, d, R, S, kappa*, epsilon, delta and zeta of Algorithm 2, with the ridge of (19)."""

    horizon: int
    dim: int
    reward_bound: Fraction
    param_norm: Fraction
    kappa_star: Any
    epsilon: Fraction
    delta: Fraction
    failure_prob: Fraction

    @property
    def ridge(self) -> arb:
        """(19)."""
        root = 4 * ball(self.dim).sqrt() + 1
        logs = ball(32 / self.delta).log() * ball(self.horizon).log()
        tail = ball(16 * self.horizon / self.failure_prob).log() + ball(self.dim).sqrt()
        return 64 * root * logs * tail / (ball(self.epsilon) * ball(self.kappa_star))

    @property
    def ends(self) -> tuple[arb, arb]:
        """(lambda_min, lambda_max) of section 6."""
        root = 4 * ball(self.dim).sqrt()
        return self.ridge * root / (root + 1), self.ridge * (root + 2) / (root + 1)

    @property
    def beta(self) -> arb:
        """(20) with C = 1."""
        logs = ball(self.horizon / self.failure_prob).log() * ball(1 / self.delta).log()
        scale = ball(self.reward_bound * self.param_norm) * ball(self.dim).sqrt()
        return scale * logs / (ball(self.epsilon) * ball(self.kappa_star)).sqrt()

    def explore_error(self, constant: Any) -> arb:
        """nu_1 of Lemma I.6 (statement), its O(.) and the c of (21) taken as ``constant`` and 1; kappa is
        kappa*, as where all slopes are equal."""
        r, s, star = ball(self.reward_bound), ball(self.param_norm), ball(self.kappa_star)
        noise, logs = ball(32 / self.delta).log(), ball(self.horizon * self.dim / self.failure_prob).log()
        gamma = r**5 * s**4 * self.dim * logs**2 * noise / (ball(min(self.epsilon, Fraction(1))) * star**2)
        root = (self.dim * star * ball(8 / self.delta).log() * ball(self.horizon).log()).sqrt()
        return ball(constant) * r**3 * s**2 * gamma * root * self._descent()

    def exploit_error(self, constant: Any) -> arb:
        """nu_2 of Lemma I.6 (statement), its O(.) taken as ``constant``."""
        r, s, (low, high) = ball(self.reward_bound), ball(self.param_norm), self.ends
        calls = high / low + self.horizon / (ball(self.kappa_star) ** 2 * low * self.dim)
        root = (ball(8 / self.delta).log() * calls.log() / arb.const_log2()).sqrt()
        return ball(constant) * r * s**2 * root * self._descent()

    def _descent(self) -> arb:
        """sqrt(d log^2(T d / delta)) / epsilon."""
        return ball(self.dim).sqrt() * ball(self.horizon * self.dim / self.delta).log() / ball(self.epsilon)

    def unseen_distance(self, opt_error: arb) -> arb:
        """The least distance of an estimate from theta* in a design with lambda_max, where no arm has a part
        in the direction of theta*: the loss there is the ridge's (lambda_max/2) u^2 alone, so that an error
        ``opt_error`` of the loss leaves the estimate within u = sqrt(2 opt_error/lambda_max) of 0."""
        high = self.ends[1]
        away = ball(self.param_norm) - (2 * opt_error / high).sqrt()
        return away.nonnegative_part() * high.sqrt()

    def explore_gradient(self) -> arb:
        """Lemma K.2."""
        return self._gradient(self.ends[1], first=4 * ball(self.reward_bound) * self.ends[1].sqrt())

    def exploit_gradient(self, *, lower: bool) -> arb:
        """Lemma L.5, for the design with lambda_max, or with lambda_min (``lower``)."""
        low, high = self.ends
        first = high / low.sqrt() if lower else high.sqrt()
        return self._gradient(low, first=4 * ball(self.reward_bound) * first)

    def _gradient(self, ridge: arb, *, first: arb) -> arb:
        grown = 1 + self.horizon / (ball(self.reward_bound**2) * self.dim * ridge)
        log = (16 / ball(self.failure_prob) * grown).log()
        return first + 7 * self.dim / (ball(self.reward_bound) * ridge.sqrt()) * log

    def explore_radius(self, *, opt_error: Any = 0) -> arb:
        """gamma(lambda_max) of (60)."""
        r, s, high = ball(self.reward_bound), ball(self.param_norm), self.ends[1]
        inside = 16 * self.horizon / (ball(self.failure_prob) * r**2 * self.dim * high)
        log = 7 * s * self.dim / high.sqrt() * inside.log()
        return 4 * r**2 * s * high.sqrt() + log + 4 * r * s * _number(opt_error).sqrt()

    def exploit_radius(self, *, opt_error: Any = 0) -> arb:
        """beta(lambda_max, lambda_min) of (71)."""
        r, (low, high) = ball(self.reward_bound), self.ends
        inside = 16 * self.horizon / (ball(self.failure_prob) * r**2 * self.dim * low)
        log = 7 * self.dim / (r * low.sqrt()) * inside.log()
        return 4 * r * high / low.sqrt() + log + 10 * _number(opt_error).sqrt()

    def from_gradient(self, gradient: arb, ridge: arb, *, constant: Any, opt_error: Any = 0) -> arb:
        """What Lemma R.1 makes of ``gradient`` with c = ``constant``."""
        factor, root = 2 + ball(constant), _number(opt_error).sqrt()
        square = ball(self.reward_bound) / ridge.sqrt() * gradient**2 + gradient
        return factor * (gradient + root) + (factor * square).sqrt()


def _number(value: Any) -> arb:
    """A ball as it is, an exact number as a ball."""
    return value if isinstance(value, arb) else ball(value)
