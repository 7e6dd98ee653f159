"""Define the symmetric Skellam distribution.

It is the distribution of the difference of two independent Poisson variables of equal mean (Skellam 1946).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.exact import ExactLike
from dpaudit.distributions.base import Argument, LogConcavity, register
from dpaudit.distributions.scalar import Floats, positive_parameter, tilt
from dpaudit.distributions.tails import SymmetricLattice
from dpaudit.kernel.t2 import noise, special_distributions

__all__ = ["Skellam"]

_TERMS = 10

#: The value of sqrt(order^2 + argument^2) from which the asymptotic series is accurate to about 1e-15.
_ASYMPTOTIC = 60.0


def _series_polynomials(count: int) -> list[list[float]]:
    """Return the polynomials w_n, u_n(t) = t^n w_n(t^2), n = 1..count, of the uniform expansion of I_nu.

    Source: DLMF 10.41.10.

    u_0 = 1 and u_{n+1}(t) = t^2 (1 - t^2) u_n'(t) / 2 + (1/8) int_0^t (1 - 5 s^2) u_n(s) ds, in exact
    arithmetic. Coefficients are listed from the lowest power of t^2.
    """
    found: list[list[float]] = []
    u = {0: Fraction(1)}
    for n in range(1, count + 1):
        following: dict[int, Fraction] = {}
        for power, c in u.items():
            terms = {
                power + 1: c * power / 2 + c / (8 * (power + 1)),
                power + 3: -c * power / 2 - 5 * c / (8 * (power + 3)),
            }
            for exponent, value in terms.items():
                following[exponent] = following.get(exponent, Fraction(0)) + value
        u = following
        found.append([float(u.get(n + 2 * i, 0)) for i in range(n + 1)])
    return found


_POLYNOMIALS = _series_polynomials(_TERMS)


def _log_scaled_bessel(order: Floats, argument: float) -> Floats:
    """Return log(exp(-argument) I_order(argument)) for orders >= 0, without underflow or overflow."""
    reach = np.hypot(order, argument)
    far = reach >= _ASYMPTOTIC
    if far.all():
        return _log_bessel_far(order, argument, reach)
    near = _log_bessel_near(np.minimum(order, _ASYMPTOTIC), argument)
    return np.where(far, _log_bessel_far(order, argument, np.maximum(reach, _ASYMPTOTIC)), near)


def _log_bessel_far(order: Floats, argument: float, reach: Floats) -> Floats:
    """Return the result for large reach, by the uniform expansion (Olver; DLMF 10.41.3).

    With reach = sqrt(order^2 + argument^2) its terms are reach^-n w_n((order/reach)^2). Hence the same series
    is valid for small orders, where it is Hankel's, and for large orders.
    """
    square = (order / reach) ** 2
    total = np.zeros_like(reach)
    for coefficients in reversed(_POLYNOMIALS):
        total = (total + np.polynomial.polynomial.polyval(square, coefficients)) / reach
    exponent = order * (order / (reach + argument)) - order * np.arcsinh(order / argument)
    return exponent - 0.5 * np.log(2 * np.pi * reach) + np.log1p(total)


def _log_bessel_near(order: Floats, argument: float) -> Floats:
    """Orders and argument up to about 60: the library's value, or the power series once that is too small for
    a float.
    """
    value = special.ive(order, argument)
    series = (
        order * (math.log(argument) - math.log(2))
        - special.gammaln(order + 1)
        - argument
        + np.log(special.hyp0f1(order + 1, min(argument, _ASYMPTOTIC) ** 2 / 4))
    )
    return np.where(value > 1e-280, np.log(np.maximum(value, 1e-280)), series)


@register("skellam")
@dataclass(frozen=True, repr=False, init=False)
class Skellam(SymmetricLattice):
    """The symmetric Skellam distribution: P(X = k) = exp(-variance) I_|k|(variance).

    It is the distribution of the difference of two independent Poisson(variance/2) variables. Sums of
    independent Skellam variables are Skellam with the summed variance (Agarwal, Kairouz and Liu 2021).
    Samples are differences of numpy's Poisson variates, whose distribution that generator computes in floats.

    Parameters
    ----------
    variance : exact number
        The variance, in [2^-480, 2^480].

    Raises
    ------
    InvalidParameterError
        ``variance`` is out of range.
    """

    mu: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("variance",),)
    scaling: ClassVar[dict[str, int]] = {"variance": 2}
    divisible: ClassVar[bool] = True

    def __init__(self, *, variance: ExactLike) -> None:
        object.__setattr__(self, "mu", positive_parameter(variance, name="variance"))

    def parameters(self) -> dict[str, Fraction]:
        return {"variance": self.mu}

    @property
    def spread(self) -> Fraction:
        return self.mu

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        half = float(self.mu) / 2
        return np.asarray(rng.poisson(half, size=size) - rng.poisson(half, size=size))

    def _log_pmf(self, k: Floats) -> Floats:
        return _log_scaled_bessel(np.abs(k), float(self.mu))

    def _log_pmf_ball(self, k: int) -> arb:
        return self._pmf_ball(k).log()

    def _pmf_ball(self, k: int) -> arb:
        return special_distributions.Skellam(self.mu).mass(k)

    def _pmf_run_ball(self, first: int, last: int) -> list[arb]:
        return special_distributions.Skellam(self.mu).masses(first, last)

    def log_mgf_ball(self, t: Argument) -> arb:
        return noise.Skellam(self.mu).cumulant(tilt(t))

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return float(self.mu)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(
            True, "Turán: I_{k-1} I_{k+1} <= I_k^2; a convolution of log-concave Poisson distributions"
        )
