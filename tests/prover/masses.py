"""Integrate probabilities of polytopes under independent noise, for the tests of the prover.

For one draw, use the closed form of its distribution function. For more draws, integrate one of them by
Gauss-Legendre between all kinks of the integrand (the vertices of the arrangement of the rows and of the
planes n = 0, where densities have their kink), on meshes graded towards both ends. The other draws fall into
independent groups, which are integrated in the same way. ``test_oracle.py`` compares the results with closed
forms, to a relative 1e-7.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Noise", "TooWideError", "polytope_mass"]

Floats = NDArray[np.float64]
Kind = Literal["laplace", "exponential", "gaussian"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Scales beyond the last kink at which a tail is cut.
_TAIL = 60.0


class TooWideError(Exception):
    """More draws depend on each other than can be integrated quickly."""


@dataclass(frozen=True)
class Noise:
    """One continuous draw: its kind and its scale (the standard deviation, for a Gaussian)."""

    kind: Kind
    scale: float

    def density(self, t: Floats) -> Floats:
        if self.kind == "exponential":
            return np.where(t < 0, 0.0, np.exp(-np.maximum(t, 0) / self.scale) / self.scale)
        if self.kind == "gaussian":
            return np.exp(-((t / self.scale) ** 2) / 2) / (self.scale * np.sqrt(2 * np.pi))
        return np.exp(-np.abs(t) / self.scale) / (2 * self.scale)

    def between(self, low: Floats, high: Floats) -> Floats:
        """Return P(low < n < high) with relative accuracy in both tails, or 0 if low >= high."""
        high = np.maximum(low, high)
        if self.kind == "exponential":
            return _decay(np.maximum(low, 0), np.maximum(high, 0), self.scale)
        if self.kind == "gaussian":
            from scipy.special import ndtr

            flip = low > 0
            left, right = np.where(flip, -high, low), np.where(flip, -low, high)
            return np.asarray(ndtr(right / self.scale) - ndtr(left / self.scale))
        above = _decay(np.maximum(low, 0), np.maximum(high, 0), self.scale)
        below = _decay(np.maximum(-high, 0), np.maximum(-low, 0), self.scale)
        return (above + below) / 2


def _decay(low: Floats, high: Floats, scale: float) -> Floats:
    """Return the integral of exp(-t/scale)/scale over [low, high], both >= 0, high possibly infinite."""
    width = np.where(np.isinf(low), 0.0, high - np.where(np.isinf(low), 0.0, low))
    return np.exp(-low / scale) * -np.expm1(-np.maximum(width, 0) / scale)


def polytope_mass(noise: Sequence[Noise], rows: Floats, constants: Floats) -> float:
    """Return P(rows @ n + constants <= 0) for independent ``noise``, with shapes (m, k) and (m,)."""
    return float(_mass(tuple(noise), rows, constants[:, None])[0])


def _mass(noise: tuple[Noise, ...], rows: Floats, constants: Floats) -> Floats:
    """Return the masses for a batch of constants, shape (m, B): rows without a draw, then group by group."""
    empty = ~rows.any(axis=1)
    total = np.where((constants[empty] <= 0).all(axis=0), 1.0, 0.0)
    rows, constants = rows[~empty], constants[~empty]
    for group in _groups(rows, len(noise)):
        touching = rows[:, group].any(axis=1)
        inner, distribution = rows[np.ix_(touching, group)], tuple(noise[i] for i in group)
        if len(group) == 1:
            total = total * _line(distribution[0], inner[:, 0], constants[touching])
        else:
            total = total * _group(distribution, inner, constants[touching])
    return total


def _groups(rows: Floats, size: int) -> list[list[int]]:
    """Return groups of draws that rows connect. Draws in no row are left out (their mass is 1)."""
    groups: list[set[int]] = []
    for row in rows:
        tied = {int(i) for i in np.flatnonzero(row)}
        apart = [g for g in groups if not g & tied]
        groups = [*apart, tied.union(*(g for g in groups if g & tied))]
    return [sorted(g) for g in groups]


def _line(distribution: Noise, row: Floats, constants: Floats) -> Floats:
    ends = -constants / row[:, None]
    width = constants.shape[1]
    low = np.max(ends[row < 0], axis=0, initial=-np.inf) if (row < 0).any() else np.full(width, -np.inf)
    high = np.min(ends[row > 0], axis=0, initial=np.inf) if (row > 0).any() else np.full(width, np.inf)
    return distribution.between(low, high)


def _group(distribution: tuple[Noise, ...], rows: Floats, constants: Floats) -> Floats:
    if len(distribution) > 7:
        raise TooWideError(f"{len(distribution)} draws hang together")
    pivot = min(
        range(len(distribution)), key=lambda v: (_largest_rest(rows, v), -np.count_nonzero(rows[:, v]))
    )
    if _largest_rest(rows, pivot) > 2:
        raise TooWideError("more than two draws hang together whatever draw is fixed")
    return np.array([_integral(distribution, rows, column, pivot) for column in constants.T])


def _largest_rest(rows: Floats, pivot: int) -> int:
    rest = _groups(np.delete(rows, pivot, axis=1), rows.shape[1] - 1)
    return max((len(g) for g in rest), default=0)


def _integral(distribution: tuple[Noise, ...], rows: Floats, constants: Floats, pivot: int) -> float:
    alone = (np.count_nonzero(rows, axis=1) == 1) & (rows[:, pivot] != 0)
    ends = -constants[alone] / rows[alone, pivot]
    signs = rows[alone, pivot]
    low = max(ends[signs < 0], default=-np.inf)
    high = min(ends[signs > 0], default=np.inf)
    if distribution[pivot].kind == "exponential":
        low = max(low, 0.0)
    if low >= high:
        return 0.0
    kinks = _kinks(rows, constants, pivot, distribution)
    nodes, weights = _mesh(kinks, low, high, distribution, rows, pivot)
    others = [i for i in range(len(distribution)) if i != pivot]
    inner = rows[:, others]
    shifted = constants[:, None] + rows[:, [pivot]] * nodes[None, :]
    masses = _mass(tuple(distribution[i] for i in others), inner, shifted)
    return float(np.sum(weights * distribution[pivot].density(nodes) * masses))


def _kinks(rows: Floats, constants: Floats, pivot: int, distribution: tuple[Noise, ...]) -> list[float]:
    """Return the values of the pivot at which the mass of the other draws can have a kink."""
    found = {0.0}
    others = [i for i in range(len(distribution)) if i != pivot]
    for group in _groups(rows[:, others], len(others)):
        inside = [others[i] for i in group]
        touching = rows[:, inside].any(axis=1)
        planes = [*zip(rows[touching], constants[touching], strict=True)]
        planes += [(np.eye(len(distribution))[i], 0.0) for i in inside]
        columns = [*inside, pivot]
        for chosen in itertools.combinations(planes, len(columns)):
            matrix = np.array([plane[columns] for plane, _ in chosen])
            if abs(np.linalg.det(matrix)) > 1e-12:
                found.add(float(np.linalg.solve(matrix, [-c for _, c in chosen])[-1]))
    return sorted(found)


def _mesh(
    kinks: list[float], low: float, high: float, distribution: tuple[Noise, ...], rows: Floats, pivot: int
) -> tuple[Floats, Floats]:
    """Return nodes and weights on (low, high), cut at the kinks, each piece graded towards both ends."""
    reach = _TAIL * distribution[pivot].scale
    marks = [k for k in kinks if low < k < high]
    first = low if np.isfinite(low) else min([*marks, min(high, 0.0)]) - reach
    last = high if np.isfinite(high) else max([*marks, max(first, 0.0)]) + reach
    marks = sorted({first, *(k for k in marks if first < k < last), last})
    sizes = np.abs(rows[rows != 0])
    step = min(n.scale for n in distribution) * float(sizes.min() / sizes.max())
    edges: list[float] = []
    for left, right in itertools.pairwise(marks):
        half = (right - left) / 2
        offsets, width = [0.0], step
        while offsets[-1] + width < half:
            offsets.append(offsets[-1] + width)
            width *= 1.5
        edges += [left + o for o in offsets] + [right - o for o in reversed(offsets[1:])]
    cuts = np.array([*edges, last])
    halves, middles = np.diff(cuts) / 2, (cuts[1:] + cuts[:-1]) / 2
    nodes = (middles[:, None] + halves[:, None] * _NODES[None, :]).ravel()
    return nodes, (halves[:, None] * _WEIGHTS[None, :]).ravel()
