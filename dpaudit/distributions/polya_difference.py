"""Define the difference of two independent Pólya variables.

If n users each add such a difference of shape 1/n, the sum is discrete Laplace noise. If only some of them
participate, the shapes sum to less than 1, and the sum has this distribution with the smaller shape. It is
heavier at 0 than any discrete Laplace distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions.base import Argument, LogConcavity, register
from dpaudit.distributions.polya import Polya
from dpaudit.distributions.scalar import Floats, positive_parameter, tilt
from dpaudit.distributions.tails import SymmetricLattice
from dpaudit.kernel.ball import ball, enclose, precision

__all__ = ["PolyaDifference"]

#: At least this many log-densities, all at distances below the second number, are looked up in a table.
#: Others are computed one by one.
_FEW, _TABLE = 64, 2**21
#: From this ``log_ratio`` and up to this shape, the terms of the series soon decrease by a factor of about e
#: or more, and summing them is never slow. The library takes up to a hundred times as long for large k.
_STEEP, _SLIM = Fraction(1, 2), 16


@register("polya-difference")
@dataclass(frozen=True, repr=False, init=False)
class PolyaDifference(SymmetricLattice):
    """The distribution of X - Y for independent ``Polya(shape=shape, log_ratio=log_ratio)`` variables X and
    Y. With x = exp(-log_ratio) and r = shape,

        P(k) = (1-x)^{2r} x^{|k|} (r)_{|k|} / |k|! · 2F1(r, r+|k|; |k|+1; x²).

    (Collect the coefficient of z^k in (1-x)^{2r} (1-xz)^{-r} (1-x/z)^{-r}.) The shapes of independent terms
    add, and shape 1 is ``DiscreteLaplace(scale=1/log_ratio)``.

    Parameters
    ----------
    shape : exact number
        The shape r, in [2^-480, 2^480].
    log_ratio : exact number
        The log-ratio, in [2^-480, 2^480].

    Raises
    ------
    InvalidParameterError
        A parameter is out of range.
    """

    shape: Fraction
    log_ratio: Fraction
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "log_ratio"),)
    scaling: ClassVar[dict[str, int]] = {"log_ratio": -1}

    def __init__(self, *, shape: ExactLike, log_ratio: ExactLike) -> None:
        object.__setattr__(self, "shape", positive_parameter(shape, name="shape"))
        object.__setattr__(self, "log_ratio", positive_parameter(log_ratio, name="log_ratio"))

    def parameters(self) -> dict[str, Fraction]:
        return {"shape": self.shape, "log_ratio": self.log_ratio}

    def amount_over(self, family: str, stated: Mapping[str, Any]) -> Fraction | None:
        """Compare with discrete Laplace noise, or a share of it. More shape is independent noise more."""
        if family != "discrete-laplace" or self.log_ratio * exact(stated["scale"], name="scale") != 1:
            return None
        return Fraction(int(self.shape >= exact(stated.get("share", 1), name="share")))

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        part = Polya(shape=self.shape, log_ratio=self.log_ratio)
        return np.asarray(part.sample(rng, size) - part.sample(rng, size))

    def _log_pmf(self, k: Floats) -> Floats:
        distance = np.abs(k)
        if distance.size >= _FEW and distance.max() < _TABLE:
            length = 64
            while length <= distance.max():
                length *= 2
            return np.asarray(_log_table(self, length)[distance.astype(np.int64)])
        values, back = np.unique(distance, return_inverse=True)
        logs = np.array([_log_mass(self, int(value), int(ctx.prec)) for value in values])
        return logs[back].reshape(k.shape)

    def _log_pmf_ball(self, k: int) -> arb:
        return _log_mass_ball(self, abs(k), int(ctx.prec))

    def _log_pmf_once(self, k: int) -> arb:
        r, log_x = ball(self.shape), ball(-self.log_ratio)
        z = (2 * log_x).exp()
        if self.log_ratio >= _STEEP and self.shape <= _SLIM:
            series = _series_2f1(r, k, z)
        else:
            series = z.hypgeom_2f1(r, r + k, arb(k + 1))
            if not series.is_finite():  # the library fails for some large k
                series = _series_2f1(r, k, z)
        rising = (r + k).lgamma() - r.lgamma() - arb(k + 1).lgamma()
        return 2 * r * (-log_x.expm1()).log() + k * log_x + rising + series.log()

    def _pmf_run_ball(self, first: int, last: int) -> list[arb]:
        # Compute p(k+1)/p(k) for k = first..last-1 from the far end, then multiply upward.
        value = self._log_pmf_ball(first).exp()
        run = [value]
        for ratio in _ratios_ball(self, first, last):
            value = value * ratio
            run.append(value)
        return run

    def _tail_ball(self, k: int) -> arb:
        if self.shape >= 1:
            return super()._tail_ball(k)
        # This is not log-concave. For shape <= 1 a Pólya variable has p(j+1)/p(j) = x (j + r)/(j + 1) <= x.
        # Hence the difference satisfies P(k+1) = Σ_j p(j+k+1) p(j) <= x Σ_j p(j+k) p(j) = x P(k) at k >= 0,
        # and the tail beyond T is at most P(T) x / (1 - x).
        last = self._reach(k, bits=int(ctx.prec) + 16)
        run = self._pmf_run_ball(k, last)
        x = ball(-self.log_ratio).exp()
        return sum(run, arb(0)) + arb(0).union(run[-1] * x / (1 - x))

    def log_mgf_ball(self, t: Argument) -> arb:
        part = Polya(shape=self.shape, log_ratio=self.log_ratio)
        return part.log_mgf_ball(tilt(t)) + part.log_mgf_ball(-tilt(t))

    def mean(self) -> float:
        return 0.0

    def variance(self) -> float:
        return 2 * Polya(shape=self.shape, log_ratio=self.log_ratio).variance()

    @property
    def log_concave(self) -> LogConcavity:
        if self.shape >= 1:
            return LogConcavity(
                True, "a Polya distribution of shape >= 1 is log-concave, and convolution keeps that"
            )
        return LogConcavity(False, "not known for shape < 1, where the Polya distribution is not log-concave")


def _series_2f1(r: arb, k: int, z: arb) -> arb:
    """Return 2F1(r, r+k; k+1; z) for 0 < z < 1 from its series of positive terms.

    The ratio of terms z (r+n)(r+k+n) / ((k+1+n)(n+1)) is below z for r <= 1 and decreases with n for r > 1.
    In both cases the remainder is at most a geometric series with the larger of z and the current ratio.
    """
    term, total, n = arb(1), arb(1), 0
    while True:
        ratio = z * (r + n) * (r + k + n) / ((k + 1 + n) * (n + 1))
        bound = z.max(ratio)
        if bound < 1 and term * bound / (1 - bound) < total * arb(2) ** -int(ctx.prec):
            return total + arb(0).union(term * bound / (1 - bound))
        term = term * ratio
        total, n = total + term, n + 1


# Ratios of neighbouring probabilities. The generating function G satisfies
#     (1 + x² - xz - x/z) z G' = r x (z - 1/z) G.
# The coefficients of z^k give
#     (1 + x²) k p_k = x (k - 1 + r) p_{k-1} + x (k + 1 - r) p_{k+1},
# hence, with ρ_k = p_k / p_{k-1},
#     ρ_k = x (k - 1 + r) / ((1 + x²) k - x (k + 1 - r) ρ_{k+1}).
# With decreasing k, an error in ρ shrinks by a factor of about x² per step. p is the solution that decreases
# like x^k.


def _ratios_ball(distribution: PolyaDifference, first: int, last: int) -> list[arb]:
    """Return enclosures of ρ_{first+1}, ..., ρ_{last}."""
    if last <= first:
        return []
    x, r = ball(-distribution.log_ratio).exp(), ball(distribution.shape)
    ratio = (distribution._log_pmf_ball(last) - distribution._log_pmf_ball(last - 1)).exp()
    found = [ratio]
    for k in range(last - 1, first, -1):
        ratio = x * (k - 1 + r) / ((1 + x * x) * k - x * (k + 1 - r) * ratio)
        found.append(ratio)
    return found[::-1]


@lru_cache(maxsize=2**14)
def _log_mass_ball(distribution: PolyaDifference, k: int, bits: int) -> arb:
    """Return a ball for log P(k), to slightly fewer than ``bits`` bits.

    It is cached, because a wrapped sum needs the same terms many times.
    """
    return enclose(lambda: distribution._log_pmf_once(k), bits=bits - 8, start=bits + 32)


@lru_cache(maxsize=2**14)
def _log_mass(distribution: PolyaDifference, k: int, bits: int) -> float:
    """Return log P(k), at a working precision of ``bits``, cached because replays repeat outcomes."""
    return float(distribution._log_pmf_ball(k))


@lru_cache(maxsize=16)
def _log_table(distribution: PolyaDifference, length: int) -> Floats:
    """Return log P(k) for k = 0, ..., length - 1.

    It is computed in balls, because the recurrence loses digits in floats if x is near 1.
    """
    with precision(128):
        table = np.array([float(value.log()) for value in distribution._pmf_run_ball(0, length - 1)])
    table.flags.writeable = False
    return table
