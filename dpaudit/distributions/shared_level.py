"""Compute the probability that independent variables are above or below one shared random level, in floats.

    I = ∫ f(z) · Π_{below} F(z - d_t) · Π_{above} (1 - F(z - d_t)) dz

``f`` is the density of the level, ``F`` is the distribution function of the noise, and ``d_t`` is the centre
of variable t relative to the level's centre. This integral gives two distributions: the argmax of noisy
scores (the level is the winner's noisy score, and all others are below it), and the answers of the sparse
vector technique (the level is the noisy threshold).

Both methods integrate a positive function in log space, so that an I of 1e-300 keeps its digits:

* For Laplace and exponential distributions, Gauss-Legendre quadrature on panels. Between two kinks the
  integrand is a polynomial in e^{±z/scale}. Panels double in width away from each kink, because the effect of
  the kink decreases with distance at this rate.
* For Gaussian distributions, the trapezoidal rule around the mode, which converges geometrically for these
  entire integrands.

``dpaudit.distributions.shared_level_ball`` encloses the same integral.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import NotTractableError
from dpaudit.distributions.base import Distribution, log1mexp
from dpaudit.distributions.continuous import Exponential, Gaussian, Laplace

__all__ = [
    "Floats",
    "gaussian_drop",
    "gaussian_mode",
    "log_between",
    "log_level_integral",
    "log_side",
    "require_level_distributions",
    "require_top",
]

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HALF_NODES, _LOG_HALF_WEIGHTS = (_NODES + 1) / 2, np.log(_WEIGHTS / 2)

#: -log of the part of the integral that is left out beyond the last panel, relative to the integral:
#: e^-45 < 3e-20.
_REACH = 45.0
#: The count of numbers in the largest temporary array (64 MB of floats).
_CHUNK = 2**23
#: Integrals for arrays of at most this many numbers are cached.
_SMALL = 2**10


def require_level_distributions(level: Distribution, noise: Distribution) -> None:
    """Raise ``NotTractableError`` for pairs of distributions whose integral is not supported."""
    exponential = isinstance(level, Laplace | Exponential) and isinstance(noise, Laplace | Exponential)
    if not exponential and not (isinstance(level, Gaussian) and isinstance(noise, Gaussian)):
        raise NotTractableError(
            "a joint distribution with a shared random level requires noise that is all Laplace or "
            f"exponential, or all Gaussian, got {level.name} and {noise.name}. Use such noise, or sampling.",
            code="E-NOISE-NOT-SUPPORTED",
        )


def require_top(level: Distribution) -> None:
    """Raise ``NotTractableError`` for a level whose truncation from above is not supported."""
    if not isinstance(level, Laplace | Exponential):
        raise NotTractableError(
            f"a level that is known to be below a number must be Laplace or exponential, got {level.name}. "
            "Use such noise, or sampling.",
            code="E-NOISE-NOT-SUPPORTED",
        )


def log_level_integral(
    level: Distribution, noise: Distribution, positions: Any, above: Any, *, top: float | None = None
) -> Floats:
    """Return log I for each entry of the leading axes.

    Parameters
    ----------
    level, noise : Distribution
        The distributions of the level and of the noise: both Laplace or exponential, or both Gaussian.
    positions : array
        The d_t, finite floats of shape (..., T). If T is 0 (and there is no ``top``), log I = 0.
    above : array
        Which variables exceed the level, booleans of shape (..., T) or (T,).
    top : float, optional
        The level must also be at most this number (Laplace and exponential distributions only).

    Raises
    ------
    NotTractableError
        The distributions are not supported.
    """
    require_level_distributions(level, noise)
    if top is not None:
        require_top(level)
        if np.shape(positions)[-1] == 0:
            return np.broadcast_to(log_between(level, -np.inf, top), np.shape(positions)[:-1])
    places = np.asarray(positions, dtype=np.float64)
    sides = np.broadcast_to(np.asarray(above, dtype=bool), places.shape)
    leading, count = places.shape[:-1], places.shape[-1]
    entries = math.prod(leading)
    if count == 0 or entries == 0:
        return np.zeros(leading)
    if places.size > _SMALL:
        rows = places.reshape(entries, count)
        found = _log_integrals(level, noise, rows, sides.reshape(entries, count), top)
    else:
        found = _kept(level, noise, places.tobytes(), sides.tobytes(), count, top).copy()
    return found.reshape(leading)


@lru_cache(maxsize=2**12)
def _kept(
    level: Distribution, noise: Distribution, places: bytes, sides: bytes, count: int, top: float | None
) -> Floats:
    """Return the integrals of a few entries, cached by the arrays' bytes, because replays repeat them."""
    rows = np.frombuffer(places, dtype=np.float64).reshape(-1, count)
    return _log_integrals(level, noise, rows, np.frombuffer(sides, dtype=bool).reshape(-1, count), top)


def _log_integrals(
    level: Distribution, noise: Distribution, flat: Floats, flat_sides: NDArray[np.bool_], top: float | None
) -> Floats:
    """Return log I for each row of ``flat`` and ``flat_sides`` (entries, T)."""
    route = _trapezoid if isinstance(level, Gaussian) else _panels
    # The order of the variables does not matter, so entries that agree up to order (such as replicates of one
    # history) are computed once.
    order = np.lexsort((flat, flat_sides), axis=-1)
    flat, flat_sides = np.take_along_axis(flat, order, axis=1), np.take_along_axis(flat_sides, order, axis=1)
    keys = np.concatenate([flat, flat_sides], axis=1)
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return route(level, noise, flat[first], flat_sides[first], top)[back.ravel()]


def log_side(noise: Distribution, x: Floats, above: NDArray[np.bool_]) -> Floats:
    """Return log P(noise <= x), or log P(noise > x) where ``above`` is true, accurate in both tails."""
    if isinstance(noise, Gaussian):
        return np.asarray(special.log_ndtr(np.where(above, -x, x) / math.sqrt(noise.sigma2)))
    # This narrows the type, because ``require_level_distributions`` has refused all others.
    assert isinstance(noise, Laplace | Exponential)
    u = x / float(noise.scale)
    if isinstance(noise, Exponential):
        inside = np.maximum(u, 0)
        return np.where(above, -inside, log1mexp(inside))
    toward = np.where(above, -u, u)  # the distribution is symmetric: P(X > x) = P(X <= -x)
    tail = -np.abs(toward)
    return np.where(toward < 0, tail - math.log(2), np.log1p(-np.exp(tail) / 2))


def log_between(distribution: Distribution, low: Any, high: Any) -> Floats:
    """Return log P(low < X <= high) for a Laplace, exponential or Gaussian distribution, elementwise.

    The ends may be infinite. The result is ``-inf`` for an empty interval.
    """
    low, high = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    if isinstance(distribution, Exponential):
        low, high = np.maximum(low, 0), np.maximum(high, 0)
    empty = high <= low
    low, high = np.where(empty, 0.0, low), np.where(empty, 1.0, high)
    # Use the tails on the side of the interval: P(X > low) - P(X > high), or P(X <= high) - P(X <= low).
    right = low >= 0
    near, far = np.where(right, low, high), np.where(right, high, low)
    log_near, log_far = log_side(distribution, near, right), log_side(distribution, far, right)
    if isinstance(distribution, Gaussian):
        drop = log_near - log_far
    else:  # on one side of the centre the ratio of the tails is e^{-width/scale} exactly
        assert isinstance(distribution, Laplace | Exponential)
        drop = np.where(right | (high <= 0), (high - low) / float(distribution.scale), log_near - log_far)
    result = log_near + log1mexp(drop)
    if isinstance(distribution, Gaussian):
        result = np.where(_is_short(distribution, low, high), _log_short(distribution, low, high), result)
    return np.where(empty, -np.inf, result)


def _is_short(distribution: Gaussian, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return whether the log-density changes by less than about 4 over the interval.

    The tails then cancel, and quadrature is exact.
    """
    reach = np.maximum(np.maximum(np.abs(low), np.abs(high)), math.sqrt(distribution.sigma2))
    return np.isfinite(reach) & ((high - low) * reach < 4 * float(distribution.sigma2))


def _log_short(distribution: Gaussian, low: Floats, high: Floats) -> Floats:
    low = np.where(np.isfinite(low), low, 0.0)  # entries that ``_is_short`` refuses, kept finite
    width = np.where(np.isfinite(high) & (high > low), high - low, 1.0)
    inside = distribution.logp(low[..., None] + width[..., None] * _HALF_NODES) + _LOG_HALF_WEIGHTS
    return np.asarray(special.logsumexp(inside, axis=-1) + np.log(width))


def _log_sum(values: Floats, owner: NDArray[np.intp], entries: int) -> Floats:
    """Return log Σ exp(values) over the values of each owner."""
    top = np.full(entries, -np.inf)
    np.maximum.at(top, owner, values)
    finite_top = np.where(np.isfinite(top), top, 0.0)
    total = np.zeros(entries)
    np.add.at(total, owner, np.exp(values - finite_top[owner]))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + finite_top)


# Laplace and exponential distributions


def _panels(
    level: Distribution, noise: Distribution, places: Floats, above: NDArray[np.bool_], top: float | None
) -> Floats:
    owner, low, high = _panel_edges(level, noise, places, top)
    entries, count = places.shape
    logs = np.empty(len(owner))
    step = max(1, _CHUNK // (len(_HALF_NODES) * count))
    for start in range(0, len(owner), step):
        part = slice(start, start + step)
        mine, width = owner[part], high[part] - low[part]
        z = low[part, None] + width[:, None] * _HALF_NODES  # (panels, nodes)
        sides = log_side(noise, z[:, :, None] - places[mine, None, :], above[mine, None, :]).sum(axis=-1)
        inside = level.logp(z) + sides + _LOG_HALF_WEIGHTS
        logs[part] = special.logsumexp(inside, axis=1) + np.log(width)
    return _log_sum(logs, owner, entries)


def _panel_edges(
    level: Distribution, noise: Distribution, places: Floats, top: float | None
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the panels of all entries in one list: their entries, starts and ends."""
    assert isinstance(level, Laplace | Exponential)
    assert isinstance(noise, Laplace | Exponential)
    entries, count = places.shape
    b_level, b_noise = float(level.scale), float(noise.scale)
    # No logarithmic slope exceeds 1/b_level + count/b_noise, so half its inverse resolves every factor.
    first = 0.5 / (1 / b_level + count / b_noise)
    # Beyond the last kink, the integrand decreases at least like the level's density once the factors have
    # stopped growing, after log(count) scales of the noise. The same holds to the left.
    reach = _REACH * b_level + b_noise * (math.log(count + 1) + 1)
    ends = [np.zeros((entries, 1))] if top is None else [np.zeros((entries, 1)), np.full((entries, 1), top)]
    kinks = np.sort(np.concatenate([places, *ends], axis=1), axis=1)
    if top is not None:  # panels grow from both ends of an interval, so that they are fine just below the top
        kinks = np.minimum(kinks, top)
    bounds = np.concatenate([kinks[:, :1] - reach, kinks, kinks[:, -1:] + reach], axis=1)
    low, high = bounds[:, :-1], bounds[:, 1:]
    # How far panels double from the left and the right end of an interval: to its middle, or over the whole
    # interval if only one end is a kink.
    from_low, from_high = (high - low) / 2, (high - low) / 2
    from_low[:, 0], from_high[:, 0] = 0, (high - low)[:, 0]
    from_low[:, -1], from_high[:, -1] = (high - low)[:, -1], 0
    longest = max(float(from_low.max()), float(from_high.max()))
    doublings = max(1, math.ceil(math.log2(max(longest / first, 2.0))) + 1)
    offsets = np.concatenate([[0.0], first * 2.0 ** np.arange(doublings)])
    up = low[:, :, None] + np.minimum(offsets, from_low[:, :, None])  # (entries, intervals, edges)
    down = high[:, :, None] - np.minimum(offsets[::-1], from_high[:, :, None])
    starts = np.concatenate([up[:, :, :-1], down[:, :, :-1]], axis=2)
    stops = np.concatenate([up[:, :, 1:], down[:, :, 1:]], axis=2)
    owner = np.broadcast_to(np.arange(entries)[:, None, None], starts.shape)
    real = (stops > starts) if top is None else (stops > starts) & (starts < top)
    if isinstance(level, Exponential):
        real = real & (stops > 0)  # no mass below the level's centre
    return owner[real], starts[real], stops[real]


# Gaussian distributions


def _trapezoid(
    level: Distribution, noise: Distribution, places: Floats, above: NDArray[np.bool_], top: float | None
) -> Floats:
    """Return log I for Gaussian level and noise, by the trapezoidal rule around the mode.

    The log-integrand l is concave, with -l'' between 1/s² and c = 1/s² + T/σ² (Φ is log-concave, and -(log
    Φ)'' <= 1). Hence it is at least 9²/2 below its peak at a distance of 9 s from the mode, and a shift of
    the contour by iy increases the integrand by a factor of at most e^{c y²/2}. With step h, the error is
    about exp(-2π²/(c h²)) of the peak, which is e^-44 for h = 1/(1.5 √c).
    """
    assert isinstance(level, Gaussian)
    assert isinstance(noise, Gaussian)
    assert top is None  # ``require_top`` has refused any top
    entries, count = places.shape
    s = math.sqrt(level.sigma2)
    step = 1 / (1.5 * math.sqrt(1 / s**2 + count / float(noise.sigma2)))
    grid = step * np.arange(-math.ceil(9 * s / step), math.ceil(9 * s / step) + 1)
    result = np.empty(entries)
    rows = max(1, _CHUNK // (len(grid) * count))
    for start in range(0, entries, rows):
        part = slice(start, start + rows)
        z = gaussian_mode(level, noise, places[part], above[part])[:, None] + grid
        sides = log_side(noise, z[:, :, None] - places[part, None, :], above[part, None, :]).sum(axis=-1)
        result[part] = special.logsumexp(level.logp(z) + sides, axis=1) + math.log(step)
    return result


def gaussian_drop(
    level: Gaussian, noise: Gaussian, places: Floats, above: NDArray[np.bool_], start: float, drop: float
) -> tuple[float, float]:
    """Return two points, left and right of ``start``, at which the log-integrand is lower by about ``drop``.

    This is for one entry, with ``places`` of shape (T,).
    """

    def log_integrand(z: float) -> float:
        return float(level.logp(z) + log_side(noise, z - places, above).sum())

    floor = log_integrand(start) - drop
    ends = []
    for direction in (-1.0, 1.0):
        # Since -l'' >= 1/s², it decreases by ``drop`` within √(2 drop) s. Bisection finds the point.
        low, high = 0.0, math.sqrt(2 * drop * float(level.sigma2)) * 1.01
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if log_integrand(start + direction * middle) > floor else (low, middle)
        ends.append(start + direction * high)
    return ends[0], ends[1]


def gaussian_mode(level: Gaussian, noise: Gaussian, places: Floats, above: NDArray[np.bool_]) -> Floats:
    """Return the modes of the integrands, by bisection on the sign of the decreasing slope.

    The shape (entries, T) gives (entries,).
    """
    s2, sigma = float(level.sigma2), math.sqrt(noise.sigma2)
    # "Below" factors shift the mode to the right and "above" factors to the left, each by less than the
    # distance past its centre plus σ.
    span = np.abs(places).max(axis=1) + 2 * sigma + s2 / sigma * places.shape[1]
    low, high = -span, span
    for _ in range(64):
        middle = (low + high) / 2
        toward = (middle[:, None] - places) / sigma * np.where(above, -1.0, 1.0)
        hazard = np.exp(-(toward**2) / 2 - math.log(math.sqrt(2 * math.pi)) - special.log_ndtr(toward))
        slope = -middle / s2 + (np.where(above, -hazard, hazard) / sigma).sum(axis=1)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return np.asarray((low + high) / 2)
