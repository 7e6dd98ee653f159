"""Test "X is s^2-sub-Gaussian", "X is (s^2, h)-sub-exponential" and "P(event) <= p" by e-processes.

For every admissible lambda, ``E = exp(lambda X - lambda^2 s^2/2)`` has mean at most 1 under the claim, so it
is an e-value of a single draw. A product of such e-values shrinks even if the claim fails, because their
*logarithm* has negative mean. Therefore the bettor stakes a share on ``E - 1`` instead (``Capital``), which
gains in the long run exactly if some E has mean above 1. Both signs and a grid of lambda are mixed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpaudit.blackbox.statistics.capital import Capital, log_average
from dpaudit.core.errors import InvalidParameterError

__all__ = ["sub_exponential_log_wealth", "sub_gaussian_log_wealth", "tail_log_wealth"]

#: lambda in units of 1/s. Small values detect a wrong variance, and large values a heavy tail.
LAMBDAS = np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
#: Alternatives to "P(event) <= p", as multiples of p: sharper near p than the beta mixture.
MULTIPLES = np.array([1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
#: The e-value of one draw is capped at e^300, so that its square and sums of many stay finite.
MAX_EXPONENT = 300.0


def sub_gaussian_log_wealth(x: ArrayLike, *, variance_proxy: float) -> NDArray[np.float64]:
    """Return the log-wealth after each draw against a sub-Gaussian claim, shape (n,).

    The claim is ``E exp(lambda X) <= exp(lambda^2 variance_proxy/2)`` for all lambda, which includes that X
    has mean 0. ``x`` holds independent finite draws, shape (n,).
    """
    scale = _positive_root(variance_proxy)
    return _exponential_log_wealth(_draws(x), LAMBDAS / scale, variance_proxy)


def sub_exponential_log_wealth(x: ArrayLike, *, variance_proxy: float, scale: float) -> NDArray[np.float64]:
    """Return the log-wealth after each draw against a sub-exponential claim, shape (n,).

    The claim is ``E exp(lambda X) <= exp(lambda^2 variance_proxy/2)`` for ``|lambda| <= 1/scale``.
    """
    root = _positive_root(variance_proxy)
    if not (scale > 0 and math.isfinite(scale)):
        raise InvalidParameterError(
            f"scale must be positive and finite, got {scale}. Use sub_gaussian_log_wealth for scale 0.",
            code="E-SCALE-RANGE",
        )
    admissible = LAMBDAS[LAMBDAS / root < 1 / scale] / root
    shares = np.append(admissible, np.array([0.25, 0.5, 1.0]) / scale)
    return _exponential_log_wealth(_draws(x), shares, variance_proxy)


def _positive_root(variance_proxy: float) -> float:
    if not (variance_proxy > 0 and math.isfinite(variance_proxy)):
        raise InvalidParameterError(
            f"variance_proxy must be positive and finite, got {variance_proxy}.", code="E-VARIANCE-RANGE"
        )
    return math.sqrt(variance_proxy)


def _draws(x: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise InvalidParameterError(
            f"x must be a vector of finite draws, got {x!r}.", code="E-DRAWS-NOT-FINITE"
        )
    return values


def _exponential_log_wealth(
    x: NDArray[np.float64], lambdas: NDArray[np.float64], variance_proxy: float
) -> NDArray[np.float64]:
    signed = np.concatenate([lambdas, -lambdas])
    # A smaller exponent gives a smaller e-value, so the cap keeps the test valid.
    exponent = np.minimum(x[:, None] * signed - 0.5 * variance_proxy * signed**2, MAX_EXPONENT)
    path = Capital(np.ones(len(signed))).update(np.expm1(exponent))
    return log_average(path, np.full(len(signed), 1.0 / len(signed)), axis=1)


def tail_log_wealth(events: ArrayLike, *, probability: float) -> NDArray[np.float64]:
    """Return the log-wealth after each trial against "P(event | past) <= ``probability``", shape (n,).

    ``events`` holds booleans, shape (n,). Half the wealth is the likelihood ratio of a Jeffreys mixture over
    (p, 1], which has a closed form. The other half is an average over multiples of p. Each alternative is
    above p, so the ratio has mean at most 1 for every probability up to p.
    """
    seen = np.asarray(events)
    if seen.ndim != 1 or seen.dtype != bool:
        raise InvalidParameterError(
            f"events must be a vector of booleans, got dtype {seen.dtype} and shape {seen.shape}.",
            code="E-EVENTS-NOT-BOOLEAN",
        )
    if not 0 <= probability < 1:
        raise InvalidParameterError(
            f"probability must be in [0, 1), got {probability}.", code="E-PROBABILITY-RANGE"
        )
    hits = np.cumsum(seen).astype(float)
    if probability == 0:
        return np.where(hits > 0, np.inf, 0.0)
    misses = np.arange(1, len(seen) + 1) - hits
    parts = np.vstack([_beta_mixture(hits, misses, probability), _point_mixture(hits, misses, probability)])
    return log_average(parts, [0.5, 0.5])


def _beta_mixture(hits: NDArray[np.float64], misses: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return the log of int_p^1 q^h (1-q)^m pi(q) dq / (p^h (1-p)^m).

    pi is the Beta(1/2, 1/2) density restricted to [p, 1].
    """
    with np.errstate(divide="ignore"):  # an incomplete beta of 0 means that this half has lost its wealth
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
