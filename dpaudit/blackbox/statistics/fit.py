"""Test whether a sampler makes independent draws from the distribution that it declares.

Each draw is transformed by the declared distribution function. If the distribution is correct, the results
are independent and uniform on [0, 1] (at an atom, uniform over its jump: the randomised transform). Three
e-processes test them, each valid at any time, and are averaged:

* cells: a Krichevsky-Trofimov predictor predicts the next cell from the past counts, at resolutions of 2 to
  128 cells and on a partition that is fine in the tails. Its likelihood ratio to the null grows if the
  distribution differs (scale, location, lattice, tail).
* order: the same predictor predicts the next cell from the cell of an earlier draw (shared noise, stuck or
  antithetic generators).
* repeats: a continuous distribution never gives the same number twice (reused noise, seeds set in the loop, a
  coarse lattice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.statistics.capital import log_average
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = [
    "FitPaths",
    "fit_log_wealth",
    "order_log_wealth",
    "probability_transform",
    "repeat_log_wealth",
    "uniform_log_wealth",
]

RESOLUTIONS = tuple(2**r for r in range(1, 8))
ORDER_RESOLUTIONS = (2, 4, 8, 16)
TAIL_DEPTH = 24
#: Two draws of a continuous distribution coincide as floats with a probability far below this.
FLOAT_ATOM = 2.0**-40
REPEAT_RATES = np.array([0.001, 0.01, 0.1, 0.5])


@dataclass(frozen=True)
class FitPaths:
    """Log-wealth after each draw, shape (n,): ``total`` for the verdict, and ``parts`` for the diagnosis."""

    total: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]]

    @property
    def suspect(self) -> str:
        """Return the part with the largest wealth: ``cells``, ``order`` or ``repeats``."""
        return max(self.parts, key=lambda name: float(np.max(self.parts[name], initial=0.0)))


def probability_transform(
    draws: ArrayLike, distribution: Distribution, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return F(x) for a distribution with a density, or F(x-) + V P(X = x) with V uniform for a discrete one.

    The result has the shape of ``draws``.
    """
    x = np.asarray(draws)
    if x.dtype.kind not in "biuf" or not np.all(np.isfinite(x)):
        raise InvalidParameterError(
            f"draws must be finite numbers, got NaN, infinities or dtype {x.dtype}.",
            code="E-DRAWS-NOT-FINITE",
        )
    upper = np.asarray(distribution.cdf(x), dtype=float)
    if upper.shape != x.shape:
        raise InvalidParameterError(
            f"draws must fit the shape {distribution.batch_shape} of the distribution, got {x.shape}. The "
            "first axis is for the draws.",
            code="E-DRAWS-SHAPE",
        )
    if distribution.base_measure is BaseMeasure.COUNTING:
        upper = upper - rng.random(x.shape) * np.exp(distribution.logp(x))
    clipped: NDArray[np.float64] = np.clip(upper, 0.0, 1.0)
    return clipped


def fit_log_wealth(draws: ArrayLike, distribution: Distribution, *, rng: np.random.Generator) -> FitPaths:
    """Return the log-wealth against "the draws are independent and follow ``distribution``".

    ``draws`` has shape (n,), or (n, d) for d coordinates that should be independent. The wealth is given
    after each draw in C order. A draw outside the support refutes at once.
    """
    x = np.asarray(draws)
    if x.ndim not in (1, 2) or x.size == 0:
        raise InvalidParameterError(
            f"draws must have shape (n,) or (n, d) with n > 0, got {x.shape}.", code="E-DRAWS-SHAPE"
        )
    uniform = probability_transform(x, distribution, rng=rng)
    impossible = np.where(np.isneginf(np.asarray(distribution.logp(x))).ravel(), np.inf, 0.0)
    lags = (1,) if x.ndim == 1 or x.shape[1] == 1 else (1, x.shape[1])
    parts = {
        "cells": uniform_log_wealth(uniform.ravel()),
        "order": order_log_wealth(uniform.ravel(), lags=lags),
    }
    if distribution.base_measure is BaseMeasure.LEBESGUE:
        parts["repeats"] = repeat_log_wealth(x.ravel())
    parts = {name: path + np.maximum.accumulate(impossible) for name, path in parts.items()}
    return FitPaths(
        log_average(np.vstack(list(parts.values())), np.full(len(parts), 1.0 / len(parts))), parts
    )


def uniform_log_wealth(u: ArrayLike) -> NDArray[np.float64]:
    """Return the log-wealth against "the values are uniform on [0, 1] given their past", shape (n,)."""
    values = _uniforms(u)
    paths = [_predict(_cells(values, k), k) for k in RESOLUTIONS]
    paths.append(_predict_tails(values))
    return log_average(np.vstack(paths), np.full(len(paths), 1.0 / len(paths)))


def order_log_wealth(u: ArrayLike, *, lags: Sequence[int] = (1,)) -> NDArray[np.float64]:
    """Return the log-wealth against "the values are uniform given their past", shape (n,).

    Each cell is predicted from the cell ``lag`` values earlier.
    """
    values = _uniforms(u)
    if not lags or any(lag < 1 for lag in lags):
        raise InvalidParameterError(f"lags must be positive integers, got {lags!r}.", code="E-LAGS-RANGE")
    paths = [_predict_from_lag(_cells(values, k), k, lag) for lag in lags for k in ORDER_RESOLUTIONS]
    return log_average(np.vstack(paths), np.full(len(paths), 1.0 / len(paths)))


def repeat_log_wealth(draws: ArrayLike, *, atom: float = FLOAT_ATOM) -> NDArray[np.float64]:
    """Return the log-wealth against "no value has probability above ``atom`` given the past", shape (n,).

    Under this null, the event "equal to an earlier draw" has conditional probability at most
    (number of earlier draws) * atom.
    """
    values = np.asarray(draws, dtype=float).ravel()
    seen = running_counts(values) > 0
    limit = np.minimum(np.arange(len(values)) * atom, 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(limit < REPEAT_RATES, np.log(REPEAT_RATES / limit), 0.0)
        miss = np.where(limit < REPEAT_RATES, np.log1p(-REPEAT_RATES) - np.log1p(-limit), 0.0)
    path = np.cumsum(np.where(seen[:, None], hit, miss), axis=0)
    return log_average(path, np.full(len(REPEAT_RATES), 1.0 / len(REPEAT_RATES)), axis=1)


def running_counts(labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return how often the label of each entry occurred before it, shape (n,)."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    is_start = np.ones(len(labels), dtype=bool)
    is_start[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_start)
    lengths = np.diff(np.append(starts, len(labels)))
    counts = np.empty(len(labels), dtype=np.int64)
    counts[order] = np.arange(len(labels)) - np.repeat(starts, lengths)
    return counts


def _uniforms(u: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(u, dtype=float)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise InvalidParameterError(
            f"u must be a vector in [0, 1], got {u!r}. Apply probability_transform to the draws.",
            code="E-UNIFORMS-RANGE",
        )
    return values


def _cells(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.minimum((values * count).astype(np.int64), count - 1)


def _predict(cells: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the log-wealth of the Krichevsky-Trofimov predictor.

    The predicted probability of the next cell is (its count + 1/2) / (n + count/2). Under the null, it is
    1/count.
    """
    past = np.arange(len(cells))
    return np.cumsum(np.log((running_counts(cells) + 0.5) / (past + 0.5 * count)) + np.log(count))


def _predict_tails(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-wealth of the predictor on the cells (2^-j-1, 2^-j] of both tails.

    The pseudo-counts are near the null probabilities, with a small addition for the far cells.
    """
    near = np.minimum(values, 1.0 - values)
    with np.errstate(divide="ignore"):
        depth = np.clip(np.floor(-np.log2(near)), 1, TAIL_DEPTH).astype(np.int64)
    cells = depth * 2 + (values > 0.5)
    null = 2.0 ** -(np.arange(TAIL_DEPTH + 1) + 1.0)
    null[TAIL_DEPTH] *= 2  # the last cell holds the rest of the tail
    pseudo = 8.0 * null + 0.01
    total = 2 * pseudo[1:].sum()
    predicted = (running_counts(cells) + pseudo[depth]) / (np.arange(len(values)) + total)
    return np.cumsum(np.log(predicted / null[depth]))


def _predict_from_lag(cells: NDArray[np.int64], count: int, lag: int) -> NDArray[np.float64]:
    gains = np.zeros(len(cells))
    if len(cells) > lag:
        before, now = cells[:-lag], cells[lag:]
        joint, context = running_counts(before * count + now), running_counts(before)
        gains[lag:] = np.log((joint + 0.5) / (context + 0.5 * count)) + np.log(count)
    return np.cumsum(gains)
