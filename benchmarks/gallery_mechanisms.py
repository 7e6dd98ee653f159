"""The gallery: textbook mechanisms and their known mistakes, each as ``(data, rng, size) -> outputs``.

Noise scales follow the mechanisms' definitions (Ding et al. 2018; Lyu, Su and Li 2017; Bichsel et al. 2021).
``data`` holds the answers of queries, each of which changes by at most 1 between neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ABORTED",
    "BELOW",
    "Mechanism",
    "clamped_geometric",
    "laplace",
    "naive_laplace",
    "noisy_argmax",
    "noisy_max",
    "numerical_sparse_vector",
    "prefix_sums",
    "rappor",
    "sparse_vector",
    "sparse_vector_showing",
    "two_sparse_vectors",
]

Floats = NDArray[np.float64]
Mechanism = Callable[[Any, np.random.Generator, int], NDArray[Any]]

#: Markers among noisy values: "below the threshold", and a query that was never answered.
BELOW, ABORTED = -1000.0, -2000.0


def laplace(scale: float) -> Mechanism:
    """Add Laplace noise of ``scale`` to every number of the data."""
    return lambda data, rng, size: np.asarray(data + rng.laplace(0, scale, (size, *np.shape(data))))


def naive_laplace(scale: float) -> Mechanism:
    """Draw Laplace noise as textbooks invert a float of 53 bits; its low-order bits reveal the data
    (Mironov 2012).
    """

    def run(data: Any, rng: np.random.Generator, size: int) -> Floats:
        uniform = 1.0 - rng.random(size)
        sign = np.where(rng.random(size) < 0.5, -1.0, 1.0)
        return np.asarray(data + sign * scale * np.log(uniform))

    return run


def clamped_geometric(epsilon: float, *, top: int) -> Mechanism:
    """Release a count between 0 and ``top`` with two-sided geometric noise, clamped to the same range."""
    stop = 1 - math.exp(-epsilon)

    def run(data: Any, rng: np.random.Generator, size: int) -> NDArray[Any]:
        noise = rng.geometric(stop, size) - rng.geometric(stop, size)
        return np.asarray(np.clip(data + noise, 0, top))

    return run


def _noisy(data: Any, rng: np.random.Generator, size: int, *, scale: float, exponential: bool) -> Floats:
    draw = rng.exponential if exponential else lambda scale, size: rng.laplace(0, scale, size)
    return np.asarray(data + draw(scale, (size, len(data))))


def noisy_argmax(scale: float, *, exponential: bool = False) -> Mechanism:
    """Return the index of the largest noisy answer: Laplace noise, or one-sided exponential noise."""
    return lambda data, rng, size: _noisy(data, rng, size, scale=scale, exponential=exponential).argmax(1)


def noisy_max(scale: float, *, exponential: bool = False) -> Mechanism:
    """Release the largest noisy answer itself, although only its index may be released."""
    return lambda data, rng, size: _noisy(data, rng, size, scale=scale, exponential=exponential).max(1)


def prefix_sums(scale: float) -> Mechanism:
    """Release partial sums of the noisy answers."""
    return lambda data, rng, size: np.cumsum(data + rng.laplace(0, scale, (size, len(data))), axis=1)


def _aborted(above: NDArray[np.bool_], stop_after: int | None) -> NDArray[np.bool_]:
    """Mark queries after the last allowed answer "above"."""
    before: NDArray[np.int64] = np.cumsum(above, axis=1) - above
    return np.zeros_like(above) if stop_after is None else np.asarray(before >= stop_after)


def sparse_vector(
    threshold: float, *, rho: float, nu: float | None, stop_after: int | None, again: bool = False
) -> Mechanism:
    """Return which answers lie above a noisy threshold (1, 0; -1 after the end).

    ``rho`` and ``nu`` are the scales of the noise of threshold and answers, ``None`` for no noise. With
    ``again`` the threshold's noise is drawn again after each answer "above".
    """

    def run(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        levels = threshold + rng.laplace(0, rho, size)
        ended, count = np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int64)
        flags = np.full((size, len(data)), -1, dtype=np.int64)
        for place, answer in enumerate(data):
            noise = 0.0 if nu is None else rng.laplace(0, nu, size)
            above = answer + noise >= levels
            flags[:, place] = np.where(ended, -1, above)
            count += above & ~ended
            ended = ended if stop_after is None else count >= stop_after
            if again:
                levels = np.where(above, threshold + rng.laplace(0, rho, size), levels)
        return flags

    return run


def sparse_vector_showing(threshold: float, *, rho: float, nu: float, stop_after: int) -> Mechanism:
    """Release the noisy value that was compared, if it lies above the threshold."""

    def run(data: Any, rng: np.random.Generator, size: int) -> Floats:
        noisy = data + rng.laplace(0, nu, (size, len(data)))
        above = noisy >= threshold + rng.laplace(0, rho, (size, 1))
        return np.where(_aborted(above, stop_after), ABORTED, np.where(above, noisy, BELOW))

    return run


def numerical_sparse_vector(threshold: float, *, rho: float, nu: float, value: float) -> Mechanism:
    """Release a value with fresh noise of scale ``value`` for the first two answers above the threshold."""

    def run(data: Any, rng: np.random.Generator, size: int) -> Floats:
        above = data + rng.laplace(0, nu, (size, len(data))) >= threshold + rng.laplace(0, rho, (size, 1))
        shown = data + rng.laplace(0, value, (size, len(data)))
        return np.where(_aborted(above, 2), ABORTED, np.where(above, shown, 0.0))

    return run


def two_sparse_vectors(first: Mechanism, second: Mechanism) -> Mechanism:
    """Release both outputs on the same data, side by side."""
    return lambda data, rng, size: np.concatenate([first(data, rng, size), second(data, rng, size)], axis=1)


def rappor(*, flip: float, low: float = 0.0, high: float = 1.0) -> Mechanism:
    """Apply randomised response to the bits of a Bloom filter (Erlingsson et al. 2014).

    Each bit is first kept with probability 1 - ``flip``, else replaced by a fair coin. Then a 1 is reported
    with probability ``high``, a 0 with ``low``.
    """

    def run(data: Any, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        shape = (size, len(data))
        kept = np.where(rng.random(shape) < flip, rng.random(shape) < 0.5, data)
        return (rng.random(shape) < np.where(kept, high, low)).astype(np.int64)

    return run
