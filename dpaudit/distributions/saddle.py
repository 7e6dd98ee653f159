"""Compute the binomial density for real sizes in saddle-point form, to full float accuracy.

By Loader 2000 (Fast and Accurate Computation of Binomial Probabilities), the density is a factor as in a
Gaussian density, times exp(-deviances), times Stirling remainders. No large terms cancel, unlike in
differences of log-gammas, which lose nine digits at a million trials.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dpaudit.distributions.scalar import Floats

__all__ = ["log_binomial_density", "log_poisson_density"]

#: Coefficients of Stirling's series in 1/n, 1/n^3, ... (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_STIRLING_FROM = 15.0

_SERIES_TERMS = 9


def log_binomial_density(x: Floats, y: Floats, *, mean_x: Floats, mean_y: Floats, excess: Floats) -> Floats:
    """Return the log of Gamma(n+1)/(Gamma(x+1) Gamma(y+1)) p^x q^y with n = x + y, for x, y > 0.

    The caller passes ``mean_x = n p``, ``mean_y = n q`` and ``excess = x - n p``, because it can compute the
    difference accurately.
    """
    n = x + y
    remainder = _stirling_remainder(n) - _stirling_remainder(x) - _stirling_remainder(y)
    deviance = _deviance(x, mean_x, excess) + _deviance(y, mean_y, -excess)
    return remainder - deviance + 0.5 * (np.log(n / x) - np.log(y) - math.log(2 * math.pi))


def log_poisson_density(k: Floats, mean: Floats) -> Floats:
    """Return the log of exp(-mean) mean^k / Gamma(k + 1), for k > 0."""
    return -_stirling_remainder(k) - _deviance(k, mean, k - mean) - 0.5 * np.log(2 * math.pi * k)


def _stirling_remainder(n: Floats) -> Floats:
    """Return log Gamma(n+1) - ((n + 1/2) log n - n + log(2 pi)/2), for n > 0."""
    large = np.maximum(n, _STIRLING_FROM)
    inverse_square = 1 / large**2
    total = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        total = total * inverse_square + coefficient
    small = np.minimum(n, _STIRLING_FROM)
    direct = special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.where(n >= _STIRLING_FROM, total / large, direct)


def _deviance(x: Floats, mean: Floats, excess: Floats) -> Floats:
    """Return x log(x/mean) - excess with excess = x - mean, by a series if the two nearly cancel."""
    v = excess / (x + mean)
    close = np.abs(v) < 0.1
    w = np.where(close, v, 0.0)
    square = w * w
    total = np.zeros_like(w)  # sum_{j >= 1} w^(2j) / (2j + 1)
    for j in range(_SERIES_TERMS, 0, -1):
        total = (total + 1 / (2 * j + 1)) * square
    near = w * excess + 2 * x * w * total
    far = x * np.log(np.where(close, 1.0, x / mean)) - excess
    return np.where(close, near, far)
