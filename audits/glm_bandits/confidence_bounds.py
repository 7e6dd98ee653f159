"""Compute the radii that Sarmasarkar (2026) prints for its confidence sets, as balls. T is the horizon.

Notation: R bounds rewards, S bounds the parameter's norm, nu is the optimisation error of the summed loss,
and lambda_min and lambda_max are the ends of the noisy ridge. Arguments are exact numbers or balls.
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
    """The inputs of appendix E's lemmas: lambda_min and lambda_max, d, T, R and S of Algorithm 1."""

    low: arb
    high: arb
    dim: int
    horizon: int
    reward_bound: Fraction = Fraction(1)
    param_norm: Fraction = Fraction(1)

    @classmethod
    def required(cls, *, dim: int, horizon: int, spread: Any, **others: Any) -> Ridge:
        """Return the smallest admissible lambda_min, 20 d R log T, and ``spread`` times this value."""
        low = 20 * dim * ball(others.get("reward_bound", Fraction(1))) * ball(horizon).log()
        return cls(low=low, high=ball(spread) * low, dim=dim, horizon=horizon, **others)

    @property
    def level(self) -> arb:
        """Return log T + d."""
        return ball(self.horizon).log() + self.dim


def parameter_radius(ridge: Ridge, *, opt_error: Any = 0, brackets: str = "29") -> arb:
    """Return gamma(lambda_max, lambda_min) of Lemma E.4.

    With (29) the factor 24 R S multiplies both terms of the bracket. With (24) it multiplies only the
    first.
    """
    r, s = ball(ridge.reward_bound), ball(ridge.param_norm)
    first, second = ridge.level.sqrt(), r * ridge.level / ridge.low.sqrt()
    noise = 24 * r * s * (first + second) if brackets == "29" else 24 * r * s * first + second
    return noise + 2 * s * ridge.high.sqrt() + (4 * r * s * ball(opt_error)).sqrt()


def gradient_radius(ridge: Ridge, *, repaired: bool = False) -> arb:
    """Return the radius of Lemma E.5.

    The radius is ``sqrt(log T + d) + R (log T + d) / sqrt(lambda_min) + 2 S sqrt(lambda_max)``. If
    repaired, the last term is ``S lambda_max / sqrt(lambda_min)``.
    """
    low, high, s = ridge.low, ridge.high, ball(ridge.param_norm)
    last = s * high / low.sqrt() if repaired else 2 * s * high.sqrt()
    return ridge.level.sqrt() + ball(ridge.reward_bound) * ridge.level / low.sqrt() + last


@dataclass(frozen=True, kw_only=True)
class JointLevels:
    """T, d, R, S, kappa*, epsilon, delta and zeta of Algorithm 2, with the radii of K.2, L.5 and R.1.

    ``JointParameters`` has the numbers that the paper prints. zeta is below delta.
    """

    horizon: int
    dim: int
    reward_bound: Fraction
    param_norm: Fraction
    kappa_star: Any
    epsilon: Fraction
    delta: Fraction
    failure_prob: Fraction

    def printed(self, *, nu_factor: Fraction = Fraction(1)) -> JointParameters:
        """Return (19) to (21) with c = C = 1. kappa is kappa*, the value if all slopes are equal."""
        return JointParameters(
            T=self.horizon, d=self.dim, S=self.param_norm, R=self.reward_bound, epsilon=self.epsilon,
            kappa=ball(self.kappa_star), kappa_star=ball(self.kappa_star), delta=self.delta,
            zeta=self.failure_prob, nu_factor=nu_factor,
        )  # fmt: skip

    @property
    def ends(self) -> tuple[arb, arb]:
        """Return (lambda_min, lambda_max) of section 6."""
        printed = self.printed()
        return printed.ridge_lower, printed.ridge_upper

    def explore_error(self, constant: Any) -> arb:
        """Return nu_1 of Lemma I.6 (statement), with ``constant`` for its O(.) and 1 for the c of (21)."""
        return self.printed(nu_factor=Fraction(constant)).explore_error

    def exploit_error(self, constant: Any) -> arb:
        """Return nu_2 of Lemma I.6 (statement, which has the logarithm of count2_cutoff), with ``constant``
        for its O(.)."""
        printed, scale = self.printed(), ball(self.reward_bound * self.param_norm**2 / self.epsilon)
        root = (ln(8 / self.delta) * printed.switching_cutoff).sqrt()
        return ball(constant) * scale * root * printed.root * ln(self.horizon * self.dim / self.delta)

    def unseen_distance(self, opt_error: arb) -> arb:
        """Return the least distance of an estimate from theta* in a direction that no arm explores.

        The design has lambda_max. The loss in the direction of theta* is then only the ridge's
        (lambda_max/2) u^2, so an error ``opt_error`` of the loss leaves the estimate within u = sqrt(2
        opt_error/lambda_max) of 0.
        """
        high = self.ends[1]
        away = ball(self.param_norm) - (2 * opt_error / high).sqrt()
        return away.nonnegative_part() * high.sqrt()

    def explore_gradient(self) -> arb:
        """Return the radius of Lemma K.2."""
        return self._gradient(self.ends[1], first=4 * ball(self.reward_bound) * self.ends[1].sqrt())

    def exploit_gradient(self, *, lower: bool) -> arb:
        """Return the radius of Lemma L.5, for the design with lambda_max, or with lambda_min (``lower``)."""
        low, high = self.ends
        first = high / low.sqrt() if lower else high.sqrt()
        return self._gradient(low, first=4 * ball(self.reward_bound) * first)

    def _gradient(self, ridge: arb, *, first: arb) -> arb:
        grown = 1 + self.horizon / (ball(self.reward_bound**2) * self.dim * ridge)
        log = (16 / ball(self.failure_prob) * grown).log()
        return first + 7 * self.dim / (ball(self.reward_bound) * ridge.sqrt()) * log

    def explore_radius(self, *, opt_error: Any = 0) -> arb:
        """Return gamma(lambda_max) of (60)."""
        return self.printed().explore_radius_at(_number(opt_error))

    def exploit_radius(self, *, opt_error: Any = 0) -> arb:
        """Return beta(lambda_max, lambda_min) of (71)."""
        return self.printed().exploit_radius_at(_number(opt_error))

    def closed_gradient(self, *, lower: bool = False) -> arb:
        """Return a radius for K.2 and L.5 that Lemma J.2 gives, for the design with lambda_max, or with
        lambda_min (``lower``).

        The radius is ``S lambda_max / root + root / (2 R) + (3 R d / root) log((16 / zeta) (1 + R^2 T / (d
        ridge)))``, where ``ridge`` is the design's ridge and ``root`` its square root.

        Proof. A minimiser has ``g(theta) = sum r x``, so the gradients differ by ``sum (r - mu) x -
        lambda_max theta*``. Every design is at least ``ridge I``, so the second part has norm at most ``S
        lambda_max / root``. For the first part apply J.2 to ``(r - mu) / R``, with ``ridge / R^2``: its
        matrix is the design over R^2. Norms in its inverse do not change, since the sum is divided by R. The
        determinant is at most ``(1 + R^2 T / (4 d ridge))^d`` times that of the ridge, since slopes are at
        most R^2/4. With
        failure probability zeta/16 the first part is at most ``root / (2 R) + (R / root) (d log(1 + R^2 T /
        (4 d ridge)) + 2 log(16 / zeta) + 2 d log 2)``. The bracket is at most ``3 d log((16 / zeta) (1 + R^2
        T / (d ridge)))`` (SAR-K.2/closed).
        """
        low, high = self.ends
        ridge = low if lower else high
        root, reward_bound = ridge.sqrt(), ball(self.reward_bound)
        bias = ball(self.param_norm) * high / root + root / (2 * reward_bound)
        log = (16 / ball(self.failure_prob) * (1 + reward_bound**2 * self.horizon / (self.dim * ridge))).log()
        return bias + 3 * reward_bound * self.dim / root * log

    def closed_radius(self, *, constant: Any, opt_error: Any = 0) -> arb:
        """Return ``(2 + c) G + sqrt((2 + c) nu)``, a radius for K.1 (c = 2 R S) and L.4 (c = 2).

        G is ``closed_gradient``. Proof: (45) at theta*, with scores at most c/R from those of theta*, gives
        ``D^2 / (2 + c) <= L(theta) - L(theta*) + G D <= nu + G D`` for the distance D.
        """
        factor = 2 + ball(constant)
        return factor * self.closed_gradient() + (factor * _number(opt_error)).sqrt()

    def from_gradient(self, gradient: arb, ridge: arb, *, constant: Any, opt_error: Any = 0) -> arb:
        """Return the radius that Lemma R.1 derives from ``gradient`` with c = ``constant``."""
        factor, root = 2 + ball(constant), _number(opt_error).sqrt()
        square = ball(self.reward_bound) / ridge.sqrt() * gradient**2 + gradient
        return factor * (gradient + root) + (factor * square).sqrt()


def _number(value: Any) -> arb:
    """Return a ball unchanged, and an exact number as a ball."""
    return value if isinstance(value, arb) else ball(value)
