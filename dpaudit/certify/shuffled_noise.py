"""Build certificates for shuffled messages with Gaussian noise, and search for tight parameters.

The kernel accepts any split and any grid (rule ``shuffled-gaussian``). A good split leaves just enough
probability uncovered, and the grid follows the noise. Both are proposed here in floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpaudit.certify.parameters import LossGrid, exact_text, with_grid
from dpaudit.certify.proof import Proof, accepted
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, exact_str, in_figures

__all__ = ["good_local_epsilon", "good_split", "shuffled_gaussian"]

#: Parts of delta to spend on uncovered messages, if no split is given. They suit deltas of any usual size.
SPARES = (1e-4, 1e-8, 1e-13)
#: Larger ratios of sensitivity to noise would overflow the floats of the search.
LARGEST = Fraction(10**300)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    # e^ε Φ(-z) from its logarithm: ε may be large
    return float(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def _smallest(cost: float, mu: float, times: float) -> Fraction:
    """Return the smallest t, rounded up to three digits, with times e^-t d(t) <= cost.

    d(t) is the delta of N(0, 1) against N(mu, 1) at epsilon t.
    """
    low, high = 0.0, 1e-3 + mu * mu + 40 * mu
    for _ in range(60):
        middle = (low + high) / 2
        fits = times * math.exp(-middle) * _gaussian_delta(mu, middle) <= cost
        low, high = (low, middle) if fits else (middle, high)
    digits = 3 - math.ceil(math.log10(high))
    return Fraction(math.ceil(high * 10**digits), 10**digits) if digits > 0 else Fraction(math.ceil(high))


def good_split(*, users: int, mu_squared: Fraction, spare: float, epsilon: float = 0.0) -> Fraction:
    """Return the split at which the uncovered part of a shuffled Gaussian costs about ``spare`` > 0 of
    delta.
    """
    mu = math.sqrt(float(mu_squared))
    each = math.expm1(min(epsilon, 50.0)) + 2 * _gaussian_delta(mu, epsilon)
    return _smallest(spare, mu, (users - 1) * each)


def good_local_epsilon(*, users: int, mu_squared: Fraction, spare: float, epsilon: float = 0.0) -> Fraction:
    """Return the local epsilon at which the delta of Gaussian messages costs about ``spare`` > 0 in the
    clone bound.
    """
    mu = math.sqrt(float(mu_squared))
    return _smallest(spare, mu, users * (1 + math.exp(epsilon)))


def shuffled_gaussian(
    *,
    users: int,
    sensitivity_squared: ExactLike,
    variance: ExactLike,
    splits: Sequence[ExactLike] | None = None,
    grid: LossGrid | None = None,
) -> Proof:
    """Bound the privacy of shuffled messages, each a point plus N(0, ``variance``) on every coordinate.

    Parameters
    ----------
    users : int
        Least number of messages.
    sensitivity_squared : exact number
        The largest squared distance of two points that users may hold.
    variance : exact number
        The variance of the noise on each coordinate.
    splits : sequence of exact numbers, optional
        Each split >= 0 says that a common part covers e^-split of every other message. The kernel tries all
        of them and uses the best one.
    grid : LossGrid, optional
        ``grid.step`` is the step of the values that are convolved.

    Raises
    ------
    InvalidParameterError
        The variance is not greater than 0, or 1e300 times larger or smaller than the squared sensitivity.
    """
    squared, spread = (
        exact(value, name=name)
        for value, name in ((sensitivity_squared, "sensitivity_squared"), (variance, "variance"))
    )
    if not spread > 0 or squared < 0:
        raise InvalidParameterError(
            f"variance must be greater than 0 and sensitivity_squared 0 or more, got {spread} and {squared}.",
            code="E-VARIANCE-RANGE",
        )
    mu_squared = squared / spread
    if squared and not 1 / LARGEST < mu_squared < LARGEST:
        raise InvalidParameterError(
            "sensitivity_squared over variance must be between 1e-300 and 1e300, got "
            f"{in_figures(mu_squared)}.",
            code="E-NOISE-RATIO",
        )
    if splits is None:
        spares = SPARES if users > 1 and squared else ()
        found = {good_split(users=users, mu_squared=mu_squared, spare=spare) for spare in spares}
        splits = sorted(found) or [Fraction(0)]
    parameters = {
        "users": str(users),
        "sensitivity_squared": exact_str(squared),
        "variance": exact_str(spread),
        "splits": [exact_text(split, "split") for split in splits],
    }
    return accepted("shuffled-gaussian", with_grid(parameters, grid or _grid_for(mu_squared)))


def _grid_for(mu_squared: Fraction) -> LossGrid:
    """Return a grid whose step is at most an eighth of the deviation of one message's value.

    That widens the sum by a quarter of a percent. For small noise the values have a heavy tail, which is cut
    earlier.
    """
    mu = math.sqrt(float(mu_squared)) or 1.0
    step = mu / 8 * math.exp(min(mu * mu / 8, 20.0))
    digits = 2 - math.floor(math.log10(step))
    rounded = round(step * Fraction(10) ** digits) / Fraction(10) ** digits
    return LossGrid(step=rounded, tail=70 if mu <= 1 else 40)
