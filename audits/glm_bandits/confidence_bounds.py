"""The radii that Sarmasarkar (2026) prints for its confidence sets, as balls; T is the horizon.

Notation: R bounds rewards, S the parameter's norm, nu the optimisation error of the summed loss, lambda_min
and lambda_max the ends of the noisy ridge. Arguments are exact numbers or balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audits.glm_bandits.printed_parameters import JointParameters
from dpaudit.core.exact_functions import ln
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
    """T, d, R, S, kappa*, epsilon, delta and zeta of Algorithm 2, and what K.2, L.5 and R.1 make of them;
    ``JointParameters`` has the numbers that the paper prints. zeta is below delta."""

    horizon: int
    dim: int
    reward_bound: Fraction
    param_norm: Fraction
    kappa_star: Any
    epsilon: Fraction
    delta: Fraction
    failure_prob: Fraction

    def printed(self, *, nu_factor: Fraction = Fraction(1)) -> JointParameters:
        """(19) to (21) with c = C = 1; kappa is kappa*, as where all slopes are equal."""
        return JointParameters(
            T=self.horizon, d=self.dim, S=self.param_norm, R=self.reward_bound, epsilon=self.epsilon,
            kappa=ball(self.kappa_star), kappa_star=ball(self.kappa_star), delta=self.delta,
            zeta=self.failure_prob, nu_factor=nu_factor,
        )  # fmt: skip

    @property
    def ends(self) -> tuple[arb, arb]:
        """(lambda_min, lambda_max) of section 6."""
        shown = self.printed()
        return shown.ridge_lower, shown.ridge_upper

    def explore_error(self, constant: Any) -> arb:
        """nu_1 of Lemma I.6 (statement), its O(.) and the c of (21) taken as ``constant`` and 1."""
        return self.printed(nu_factor=Fraction(constant)).explore_error

    def exploit_error(self, constant: Any) -> arb:
        """nu_2 of Lemma I.6 (statement, which has the logarithm of count2_cutoff), its O(.) taken as
        ``constant``."""
        shown, scale = self.printed(), ball(self.reward_bound * self.param_norm**2 / self.epsilon)
        root = (ln(8 / self.delta) * shown.switching_cutoff).sqrt()
        return ball(constant) * scale * root * shown.root * ln(self.horizon * self.dim / self.delta)

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
        return self.printed().explore_radius_at(_number(opt_error))

    def exploit_radius(self, *, opt_error: Any = 0) -> arb:
        """beta(lambda_max, lambda_min) of (71)."""
        return self.printed().exploit_radius_at(_number(opt_error))

    def from_gradient(self, gradient: arb, ridge: arb, *, constant: Any, opt_error: Any = 0) -> arb:
        """What Lemma R.1 makes of ``gradient`` with c = ``constant``."""
        factor, root = 2 + ball(constant), _number(opt_error).sqrt()
        square = ball(self.reward_bound) / ridge.sqrt() * gradient**2 + gradient
        return factor * (gradient + root) + (factor * square).sqrt()


def _number(value: Any) -> arb:
    """A ball as it is, an exact number as a ball."""
    return value if isinstance(value, arb) else ball(value)
