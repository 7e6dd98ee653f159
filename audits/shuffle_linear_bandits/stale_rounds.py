"""Lemma A.6: rounds whose norm has more than doubled since the last update, counted on any sequence.

Membership is decided by squared norms, ``‖φ‖²`` in V̂_{m_t}^-1 above 4 times that in V̂_{t-1}^-1. Where the
sequence is rational it is decided exactly (``exact_stale``); in floats (``stale_at_most``) a round within one
part in 10^9 of the threshold counts as stale, so that the count is never too small.
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
    """An upper bound on |Ψ| for features (T, d)."""
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
    """|Ψ|, exactly."""
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
    """A sequence of rational features of norm at most 1, by name.

    ``cycling``: the unit vectors in turn, round by round. ``repeats``: a unit vector for a whole batch, the
    next one in the next. ``growing``: unit vectors a batch each, with length 1/2^k the k-th time from the end
    of the sequence. ``turning``: rational directions on the circle of the first two coordinates.
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
