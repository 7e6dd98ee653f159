"""Sums of n discrete Gaussians, tabulated: the noise of a whole batch in one draw.

The sum of n variables N_Z(0, σ²) is not a discrete Gaussian (Chowdhury and Zhou, Lemma 4, after Kairouz, Liu
and Steinke 2021). By Poisson's formula its characteristic function on |θ| <= π is

    ( Σ_j exp(-σ² (θ + 2πj)²/2) / Σ_j exp(-σ² (2πj)²/2) )^n,

positive and known to full relative accuracy. One inverse FFT gives all probabilities in floats, to an
absolute error near 1e-16; what lies beyond 13 standard deviations (below 1e-36) is folded in. For
simulations: exact work on small cases goes through convolutions of the parts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive

__all__ = ["DiscreteGaussianSum"]

#: Half the width of a table in standard deviations, and the largest number of entries.
_REACH, _LARGEST = 13, 2**26


class DiscreteGaussianSum:
    """The sum of ``terms`` independent N_Z(0, ``sigma2``) variables, as a table of probabilities.

    ``probabilities`` has shape (2 w + 1,), for the outcomes -w, ..., w.
    """

    def __init__(self, *, sigma2: ExactLike, terms: int) -> None:
        if terms < 1:
            raise InvalidParameterError(f"terms must be 1 or more, got {terms}.")
        self.sigma2, self.terms = positive(sigma2, name="sigma2"), terms
        self.probabilities = _table(self.sigma2, terms)

    @property
    def reach(self) -> int:
        """Return w, the largest outcome of the table."""
        return len(self.probabilities) // 2

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        """Draw by inversion of a float uniform."""
        below = np.cumsum(self.probabilities)
        return np.asarray(np.searchsorted(below, rng.random(size) * below[-1], side="right") - self.reach)


@lru_cache(maxsize=8)
def _table(sigma2: Fraction, terms: int) -> NDArray[np.float64]:
    variance = float(sigma2)
    reach = math.ceil(_REACH * math.sqrt(variance * terms)) + _REACH
    size = 1 << (2 * reach + 1).bit_length()
    if size > _LARGEST:
        raise InvalidParameterError(
            f"a table may have {_LARGEST} entries, got {size}; use fewer users or a smaller scale factor."
        )
    theta = 2 * np.pi * np.arange(size // 2 + 1) / size
    shifts = 2 * np.pi * np.arange(1, 4 + math.ceil(2 / math.sqrt(variance)))[:, None]
    # log Σ_j exp(-σ² (θ + 2πj)²/2) = -σ² θ²/2 + log(1 + Σ_{j≠0} exp(-σ² ((θ + 2πj)² - θ²)/2))
    others = sum(np.exp(-variance * shifts * (shifts + 2 * sign * theta) / 2) for sign in (1, -1))
    rest = np.log1p(np.sum(others, axis=0))
    characteristic = np.exp(terms * (-variance * theta**2 / 2 + rest - rest[0]))
    chances = np.fft.irfft(characteristic, size)
    table: NDArray[np.float64] = np.maximum(np.concatenate([chances[-reach:], chances[: reach + 1]]), 0.0)
    table.flags.writeable = False
    return table
