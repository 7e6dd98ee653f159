"""Count the rounds of Claim A.6, whose norm has more than doubled since the last update, on any sequence.

A round is counted if ``‖φ‖²`` in V̂_{m_t}^-1 is above 4 times its value in V̂_{t-1}^-1. For a rational
sequence this is decided exactly (``exact_stale``). In floats (``stale_at_most``) a round within one part in
10^9 of the threshold counts as stale, so that the count is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["adversarial", "exact_stale", "stale_at_most"]

Floats = NDArray[np.float64]
Vector = Sequence[Fraction]
Matrix = list[list[Fraction]]


def stale_at_most(features: Floats, *, batch_size: int, min_eig: float) -> int:
    """Return an upper bound on |Ψ| for features (T, d)."""
    dim = features.shape[1]
    inverse = np.eye(dim) / min_eig
    sent, count = inverse, 0
    for t, x in enumerate(features):
        if t % batch_size == 0:
            sent = inverse
        p = inverse @ x
        now, then = float(x @ p), float(x @ sent @ x)
        count += now > 0 and then > 4 * now * (1 - 1e-9)
        inverse = inverse - np.outer(p, p) / (1 + now)
    return count


def exact_stale(features: Sequence[Vector], *, batch_size: int, min_eig: Fraction) -> int:
    """Return |Ψ|, exactly."""
    dim = len(features[0])
    inverse: Matrix = [[(1 / min_eig if i == j else Fraction(0)) for j in range(dim)] for i in range(dim)]
    sent, count = inverse, 0
    for t, x in enumerate(features):
        if t % batch_size == 0:
            sent = inverse
        p = [_dot(row, x) for row in inverse]
        now, then = _dot(x, p), _dot(x, [_dot(row, x) for row in sent])
        count += now > 0 and then > 4 * now
        inverse = [
            [v - a * b / (1 + now) for v, b in zip(row, p, strict=True)]
            for row, a in zip(inverse, p, strict=True)
        ]
    return count


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), start=Fraction(0))


def adversarial(kind: str, *, horizon: int, batch_size: int, dim: int) -> list[list[Fraction]]:
    """Return a named sequence of rational features of norm at most 1.

    ``cycling`` takes the unit vectors in turn, round by round. ``repeats`` takes one unit vector for a
    whole batch and the next vector for the next batch. ``growing`` takes one unit vector per batch, with
    length 1/2^k the k-th time from the end of the sequence. ``turning`` takes rational directions on the
    circle of the first two coordinates.
    """
    found = []
    for t in range(horizon):
        x = [Fraction(0)] * dim
        batch = t // batch_size
        if kind == "cycling":
            x[t % dim] = Fraction(1)
        elif kind == "repeats":
            x[batch % dim] = Fraction(1)
        elif kind == "growing":
            left = (horizon // batch_size - 1 - batch) // dim
            x[batch % dim] = Fraction(1, 2 ** min(left, 6))
        else:
            slope = Fraction(t % 17, 8)
            x[0], x[1] = (1 - slope**2) / (1 + slope**2), 2 * slope / (1 + slope**2)
        found.append(x)
    return found
