"""Compute the parameters that the paper prints, in balls.

Algorithm 1 has (6)-(10) and (15). Algorithm 2 has (19)-(21), the cutoffs and Lemma I.6. The module also has
the steps of private gradient descent. Every constant that the paper leaves in an O() is a field, with
default 1. Logarithms are natural. Iterated ones have the requested base.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact_functions import larger, ln, log2
from dpaudit.kernel.ball import arb, ball

__all__ = ["JointParameters", "ShuffleParameters", "descent_steps", "power_of"]


def power_of(base: int | arb, exponent: Fraction) -> arb:
    """Return ``base`` to a rational exponent, as a ball, for ``base`` > 0."""
    return (arb(base).log() * ball(exponent)).exp()


@dataclass(frozen=True, kw_only=True)
class ShuffleParameters:
    """Algorithm 1 at horizon T in dimension d with M batches: rewards in [0, R], norm of theta* at most S.

    ``sigma_factor`` and ``nu_factor`` are the constants of (10). Raise ``InvalidParameterError`` outside T
    >= 2, M >= 2, 0 < epsilon < 5 and 0 < delta < 1/2.
    """

    T: int
    d: int
    M: int
    S: Fraction
    kappa: arb
    kappa_star: arb
    epsilon: Fraction
    delta: Fraction
    R: Fraction = Fraction(1)
    sigma_factor: Fraction = Fraction(1)
    nu_factor: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        in_range = self.T >= 2 and self.M >= 2 and 0 < self.epsilon < 5 and 0 < self.delta < Fraction(1, 2)
        if not in_range:
            raise InvalidParameterError(
                "Algorithm 1 needs T >= 2, M >= 2, 0 < epsilon < 5 and 0 < delta < 1/2, got "
                f"{self.T}, {self.M}, {self.epsilon} and {self.delta}."
            )

    @property
    def log_union(self) -> arb:
        """Return log(2 d M T/delta)."""
        return ln(Fraction(2 * self.d * self.M * self.T) / self.delta)

    @property
    def sigma(self) -> arb:
        """Return (10)."""
        log = ln(Fraction(self.d**2) / self.delta)
        return ball(self.sigma_factor * self.R) * log / (self.kappa_star * ball(self.epsilon))

    @property
    def nu(self) -> arb:
        """Return (10)."""
        log = ln(Fraction(self.T * self.d) / self.delta)
        return ball(self.nu_factor * self.R * self.S**2 / self.epsilon) * (self.d * log**3).sqrt()

    @property
    def ridge(self) -> arb:
        """Return lambda of (8)."""
        return 20 * self.d * ball(self.R) * ln(self.T) + 6 * self.sigma * self.log_union.sqrt()

    @property
    def gamma(self) -> arb:
        """Return (9)."""
        inner = self.d * ball(self.R) * ln(self.T) + 12 * self.sigma * self.log_union.sqrt()
        return 30 * ball(self.R * self.S) * inner.sqrt() + (4 * ball(self.R * self.S) * self.nu).sqrt()

    @property
    def noise_norm(self) -> arb:
        """Return the bound of Observation 1 on the norm of the noise with the proxy of (10).

        The bound is sigma (sqrt d + 6 sqrt log(2dMT/delta)).
        """
        return self.sigma * (arb(self.d).sqrt() + 6 * self.log_union.sqrt())

    @property
    def explicit_noise_norm(self) -> arb:
        """Return the same bound as (15) prints it: 8 instead of the constant, log(2MT/delta)."""
        log = ln(Fraction(2 * self.M * self.T) / self.delta)
        return 8 * self.sigma / ball(self.sigma_factor) * (arb(self.d).sqrt() + 6 * log.sqrt())

    @property
    def ridge_upper(self) -> arb:
        """Return lambda_max of (15)."""
        return self.ridge + self.explicit_noise_norm

    def confidence(self, ridge_lower: arb, ridge_upper: arb, *, brackets: int = 29) -> arb:
        """Return gamma(lambda_max, lambda_min), bracketed as in (29) or (24).

        In (29), 24 R S multiplies both of its first terms. In (24) it multiplies only the first.
        """
        log, R, S = ln(self.T) + self.d, ball(self.R), ball(self.S)
        second = R * log / ridge_lower.sqrt() * (24 * R * S if brackets == 29 else 1)
        first = 24 * R * S * log.sqrt() + second
        return first + 2 * S * ridge_upper.sqrt() + (4 * R * S * self.nu).sqrt()

    def exponent(self, *, appendix: bool) -> Fraction:
        """Return log_T alpha of section 5 or of appendix F."""
        return 1 / (2 * (1 - Fraction(1, 2 ** (self.M if appendix else self.M - 1))))

    def batches(self, *, appendix: bool = False) -> list[arb]:
        """Return B_1, ..., B_M of (6) and (7), before any rounding."""
        alpha = power_of(self.T, self.exponent(appendix=appendix))
        warm = self.kappa.sqrt() * (3 * ball(self.S)).exp() * self.d**2 * self.gamma**2 / ball(self.S)
        lengths = [power_of(warm * alpha, Fraction(2, 3)), alpha]
        while len(lengths) < self.M:
            lengths.append(alpha * lengths[-1].sqrt())
        return lengths


@dataclass(frozen=True, kw_only=True)
class JointParameters:
    """Algorithm 2.

    ``gamma_factor`` is c of (21), ``beta_factor`` C of (20), ``nu_factor`` the constant of Lemma I.6. Raise
    ``InvalidParameterError`` outside T >= 2, epsilon > 0 and 0 < zeta < delta < 1.
    """

    T: int
    d: int
    S: Fraction
    kappa: arb
    kappa_star: arb
    epsilon: Fraction
    delta: Fraction
    zeta: Fraction
    R: Fraction = Fraction(1)
    gamma_factor: Fraction = Fraction(1)
    beta_factor: Fraction = Fraction(1)
    nu_factor: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.T < 2 or self.epsilon <= 0 or not 0 < self.zeta < self.delta < 1:
            raise InvalidParameterError(
                "Algorithm 2 needs T >= 2, epsilon > 0 and 0 < zeta < delta < 1, got "
                f"{self.T}, {self.epsilon}, {self.zeta} and {self.delta}."
            )

    @property
    def root(self) -> arb:
        """Return sqrt d."""
        return arb(self.d).sqrt()

    @property
    def ridge(self) -> arb:
        """Return lambda of (19)."""
        logs = ln(32 / self.delta) * ln(self.T) * (ln(16 * self.T / self.zeta) + self.root)
        return 64 * (4 * self.root + 1) * logs / (ball(self.epsilon) * self.kappa_star)

    @property
    def ridge_lower(self) -> arb:
        """Return lambda_min of section 6."""
        return self.ridge * 4 * self.root / (4 * self.root + 1)

    @property
    def ridge_upper(self) -> arb:
        """Return lambda_max of section 6."""
        return self.ridge * (4 * self.root + 2) / (4 * self.root + 1)

    @property
    def gamma(self) -> arb:
        """Return (21)."""
        logs = ln(self.T * self.d / self.zeta) ** 2 * ln(32 / self.delta)
        scale = ball(self.gamma_factor * self.R**5 * self.S**4 * self.d / min(self.epsilon, Fraction(1)))
        return scale * logs / self.kappa_star**2

    @property
    def beta(self) -> arb:
        """Return (20)."""
        logs = ln(self.T / self.zeta) * ln(1 / self.delta)
        scale = ball(self.beta_factor * self.R * self.S) * self.root
        return scale * logs / (ball(self.epsilon) * self.kappa_star).sqrt()

    @property
    def exploration_cutoff(self) -> arb:
        """Return count1_cutoff."""
        return 8 * self.d * ball(self.R**2) * self.kappa * self.gamma**2 * ln(self.T)

    @property
    def switching_cutoff(self) -> arb:
        """Return count2_cutoff."""
        grown = self.T / self.kappa_star**2 / (self.ridge_lower * self.d)
        return log2(self.ridge_upper / self.ridge_lower + grown)

    @property
    def explore_error(self) -> arb:
        """Return nu_1 of Lemma I.6's statement."""
        logs = (self.d * self.kappa * ln(8 / self.delta) * ln(self.T)).sqrt()
        log = ln(self.T * self.d / self.delta)
        scale = ball(self.nu_factor * self.R**3 * self.S**2 / self.epsilon)
        return scale * self.gamma * logs * self.root * log

    @property
    def exploit_error(self) -> arb:
        """Return nu_2 as I.8 quotes it."""
        log = ln(self.T * self.d / self.delta) ** 3 * ln(8 / self.delta)
        return ball(self.nu_factor * self.R * self.S**2 / self.epsilon) * (self.d * log).sqrt()

    @property
    def explore_radius(self) -> arb:
        """Return gamma(lambda_max) of (60) at ``explore_error``."""
        return self.explore_radius_at(self.explore_error)

    def explore_radius_at(self, error: arb) -> arb:
        """Return (60) with nu_1 = ``error``, with its logarithm set to 0 if the printed one is negative."""
        top, R, S = self.ridge_upper, ball(self.R), ball(self.S)
        log = (16 * self.T / (ball(self.zeta) * R**2 * self.d * top)).log()
        second = 7 * S * self.d / top.sqrt() * larger(log, arb(0))
        return 4 * R**2 * S * top.sqrt() + second + 4 * R * S * error.sqrt()

    @property
    def exploit_radius(self) -> arb:
        """Return beta(lambda_max, lambda_min) of (71) at ``exploit_error``."""
        return self.exploit_radius_at(self.exploit_error)

    def exploit_radius_at(self, error: arb) -> arb:
        """Return (71) with nu_2 = ``error``, its logarithm as in ``explore_radius_at``."""
        low, R = self.ridge_lower, ball(self.R)
        log = (16 * self.T / (ball(self.zeta) * R**2 * self.d * low)).log()
        second = 7 * self.d / (R * low.sqrt()) * larger(log, arb(0))
        return 4 * R * self.ridge_upper / low.sqrt() + second + 10 * error.sqrt()

    def call_budget(self, cutoff: arb) -> tuple[arb, arb]:
        """Return (epsilon, delta) of each call of an optimizer that may be called ``cutoff`` times."""
        epsilon = ball(self.epsilon) / (6 * (2 * cutoff * ln(4 / self.delta)).sqrt())
        return epsilon, ball(self.delta) / (6 * cutoff)

    def most_explored(self) -> int:
        """Return the largest n up to T with n log(1 + u) <= d log(1 + n/(d lambda_min)).

        u is the threshold of Criterion I. For all arms and all noise within I.1, Criterion I explores at
        most this often. Every explored round multiplies det(lambda_min I + sum x x^T) by 1 + u or more, and
        the trace bounds that determinant.
        """
        threshold = 1 / (self.gamma**2 * self.kappa * ball(self.R**2))
        each, low = (1 + threshold).log(), self.ridge_lower

        def possible(count: int) -> bool:
            return not bool(count * each > self.d * (1 + count / (self.d * low)).log())

        smallest, largest = 0, self.T + 1  # possible(n) holds up to some n, and at no larger one: concavity
        while largest - smallest > 1:
            middle = (smallest + largest) // 2
            smallest, largest = (middle, largest) if possible(middle) else (smallest, middle)
        return smallest

    def surely_explored(self) -> arb:
        """Return the number of rounds in which Criterion I holds when the arms are e_1, ..., e_d in turn.

        The noise is arbitrary within I.1. Criterion I holds while lambda_max plus the rounds in a direction
        is at most gamma² kappa R². The result is T at most.
        """
        reach = self.gamma**2 * self.kappa * ball(self.R**2) - self.ridge_upper
        return larger((self.d * reach).min(arb(self.T)), arb(0))


def descent_steps(*, n: int | arb, d: int, epsilon: Fraction | arb, delta: Fraction | arb) -> arb:
    """Return T of Algorithm 7, epsilon² n²/(d log³(nd/delta)), before rounding."""
    number, level, failure = (ball(x) if isinstance(x, int | Fraction) else x for x in (n, epsilon, delta))
    return level**2 * number**2 / (d * (number * d / failure).log() ** 3)
