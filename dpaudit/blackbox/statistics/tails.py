"""Tails: e-processes against "X is s^2-sub-Gaussian", "X is (s^2, h)-sub-exponential" and "P(event) <= p".

For every admissible lambda, ``E = exp(lambda X - lambda^2 s^2/2)`` has mean at most 1 under the claim: an
e-value of a single draw. A product of such e-values shrinks even where the claim fails (their *logarithm*
has negative mean), so the bettor stakes a share on ``E - 1`` instead (``Capital``): she gains in the long
run exactly where some E has mean above 1. Both signs and a grid of lambda are mixed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpaudit.blackbox.statistics.capital import Capital, log_average
from dpaudit.core.errors import InvalidParameterError

__all__ = ["sub_exponential_log_wealth", "sub_gaussian_log_wealth", "tail_log_wealth"]

#: lambda in units of 1/s. Small ones see a wrong variance, large ones a heavy tail.
LAMBDAS = np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
#: Alternatives to "P(event) <= p", as multiples of p: sharper near p than the beta mixture.
MULTIPLES = np.array([1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
#: An e-value of one draw is capped at e^300, so that its square and the sums of many stay finite.
MAX_EXPONENT = 300.0


def sub_gaussian_log_wealth(x: ArrayLike, *, variance_proxy: float) -> NDArray[np.float64]:
    """Log-wealth, after each draw, against ``E exp(lambda X) <= exp(lambda^2 variance_proxy/2)`` for all
    lambda. Shape (n,).

    ``x``: shape (n,), independent draws, finite; the claim includes that X has mean 0.
    """
    scale = _positive_root(variance_proxy)
    return _exponential_log_wealth(_draws(x), LAMBDAS / scale, variance_proxy)


def sub_exponential_log_wealth(x: ArrayLike, *, variance_proxy: float, scale: float) -> NDArray[np.float64]:
    """Log-wealth, after each draw, against the same inequality for ``|lambda| <= 1/scale`` only. Shape
    (n,).
    """
    root = _positive_root(variance_proxy)
    if not (scale > 0 and math.isfinite(scale)):
        raise InvalidParameterError(
            f"scale must be positive and finite, got {scale}; use the sub-Gaussian test for scale 0."
        )
    admissible = LAMBDAS[LAMBDAS / root < 1 / scale] / root
    shares = np.append(admissible, np.array([0.25, 0.5, 1.0]) / scale)
    return _exponential_log_wealth(_draws(x), shares, variance_proxy)


def _positive_root(variance_proxy: float) -> float:
    if not (variance_proxy > 0 and math.isfinite(variance_proxy)):
        raise InvalidParameterError(
            f"variance_proxy must be positive and finite, got {variance_proxy}; pass s^2."
        )
    return math.sqrt(variance_proxy)


def _draws(x: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise InvalidParameterError(
            f"x must be a vector of finite draws, got {x!r}; flatten it, or report the bad draws."
        )
    return values


def _exponential_log_wealth(
    x: NDArray[np.float64], lambdas: NDArray[np.float64], variance_proxy: float
) -> NDArray[np.float64]:
    signed = np.concatenate([lambdas, -lambdas])
    # A smaller exponent is a smaller e-value: capping it keeps the test valid.
    exponent = np.minimum(x[:, None] * signed - 0.5 * variance_proxy * signed**2, MAX_EXPONENT)
    path = Capital(np.ones(len(signed))).update(np.expm1(exponent))
    return log_average(path, np.full(len(signed), 1.0 / len(signed)), axis=1)


def tail_log_wealth(events: ArrayLike, *, probability: float) -> NDArray[np.float64]:
    """Log-wealth, after each trial, against "the event has conditional probability at most
    ``probability``". Shape (n,).

    ``events``: shape (n,), booleans. Half the wealth is the likelihood ratio of a Jeffreys mixture over (p,
    1], which has a closed form; half is an average over multiples of p. Each alternative is above p, so the
    ratio has mean at most 1 for every probability up to p.
    """
    seen = np.asarray(events)
    if seen.ndim != 1 or seen.dtype != bool:
        raise InvalidParameterError(
            f"events must be a vector of booleans, got dtype {seen.dtype}; compare before you pass them."
        )
    if not 0 <= probability < 1:
        raise InvalidParameterError(
            f"probability must be in [0, 1), got {probability}; a bound of 1 claims nothing."
        )
    hits = np.cumsum(seen).astype(float)
    if probability == 0:
        return np.where(hits > 0, np.inf, 0.0)
    misses = np.arange(1, len(seen) + 1) - hits
    parts = np.vstack([_beta_mixture(hits, misses, probability), _point_mixture(hits, misses, probability)])
    return log_average(parts, [0.5, 0.5])


def _beta_mixture(hits: NDArray[np.float64], misses: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """log of int_p^1 q^h (1-q)^m pi(q) dq / (p^h (1-p)^m), pi the Beta(1/2, 1/2) density restricted to [p,
    1].
    """
    with np.errstate(divide="ignore"):  # an incomplete beta of 0 is a wealth of 0 here: this half has lost
        upper = special.betaln(hits + 0.5, misses + 0.5) + np.log(
            special.betaincc(hits + 0.5, misses + 0.5, p)
        )
    prior = special.betaln(0.5, 0.5) + math.log(special.betaincc(0.5, 0.5, p))
    wealth: NDArray[np.float64] = upper - prior - hits * math.log(p) - misses * math.log1p(-p)
    return wealth


def _point_mixture(hits: NDArray[np.float64], misses: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    points = p * MULTIPLES
    points = points[points < 1.0]
    points = points if len(points) else np.array([0.5 * (1 + p)])
    ratios = hits[:, None] * np.log(points / p) + misses[:, None] * (np.log1p(-points) - math.log1p(-p))
    return log_average(ratios, np.full(len(points), 1.0 / len(points)), axis=1)
