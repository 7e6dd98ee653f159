"""Noise as a sum of the users' shares, of which only the total has to be private.

Chowdhury and Zhou (ICLR 2023), sections 4.1, 4.2 and appendix E. Shares of n users and their totals:

* Pólya differences of shape 1/n: the total is discrete Laplace, exactly (Fact 1);
* Skellam of variance v/n: the total is Skellam of variance v, exactly;
* discrete Gaussians of parameter v/n: the total is close to a discrete Gaussian, but is not one (Lemma 4).
  Its distribution has no closed form here: ``discrete_gaussian_sum`` tabulates it.

With fewer than n users the total is smaller: the same families, at another shape or variance.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    LatticeDistribution,
    PolyaDifference,
    Skellam,
)

__all__ = ["discrete_gaussian_share", "full_share", "polya_share", "skellam_share", "total_noise"]


def polya_share(*, users: int, epsilon: ExactLike, precision: int) -> PolyaDifference:
    """Return the difference of two Pólya(1/n, e^{-ε/g}) variables (Theorem 1): n of them are Lap_Z(g/ε)."""
    return PolyaDifference(shape=Fraction(1, _whole(users, "users")), log_ratio=_rate(epsilon, precision))


def full_share(*, epsilon: ExactLike, precision: int) -> PolyaDifference:
    """Return Lap_Z(g/ε) for every user (Algorithm 4), as the Pólya difference of shape 1: sums stay in the
    family.
    """
    return PolyaDifference(shape=1, log_ratio=_rate(epsilon, precision))


def skellam_share(*, users: int, epsilon: ExactLike, precision: int) -> Skellam:
    """Return Sk(0, g²/(n ε²)) (Theorem 2)."""
    return Skellam(variance=_variance(users, epsilon, precision))


def discrete_gaussian_share(*, users: int, epsilon: ExactLike, precision: int) -> DiscreteGaussian:
    """Return N_Z(0, g²/(n ε²)) (Theorem 4)."""
    return DiscreteGaussian(sigma2=_variance(users, epsilon, precision))


def total_noise(share: LatticeDistribution, *, users: int) -> LatticeDistribution:
    """Return the distribution of the sum of ``users`` independent shares.

    Raises ``NotTractableError`` if it has no closed form.
    """
    count = _whole(users, "users")
    if count == 1 and not isinstance(share, PolyaDifference):
        return share
    if isinstance(share, PolyaDifference):
        shape = count * share.shape
        if shape == 1:
            return DiscreteLaplace(scale=1 / share.log_ratio)
        return PolyaDifference(shape=shape, log_ratio=share.log_ratio)
    if isinstance(share, Skellam):
        return Skellam(variance=count * share.mu)
    raise NotTractableError(
        f"a sum of {count} distributions {share!r} has no closed form; tabulate it "
        "(discrete_gaussian_sum) or sample."
    )


def _whole(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidParameterError(f"{name} must be an integer from 1 up, got {number!r}.")
    return number


def _rate(epsilon: ExactLike, precision: int) -> Fraction:
    return positive(epsilon, name="epsilon") / _whole(precision, "precision")


def _variance(users: int, epsilon: ExactLike, precision: int) -> Fraction:
    return 1 / (_rate(epsilon, precision) ** 2 * _whole(users, "users"))
