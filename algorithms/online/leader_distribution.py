"""The exact expected regret of follow-the-noisy-leader algorithms on Bernoulli instances, without simulation.

Epoch r has 2^r rounds and plays the leader of epoch r - 1 alone (Algorithm 2), so the pseudo-regret is sum
over r of 2^r * sum over j of gap_j * P(leader of epoch r - 1 is j). With independent coordinates a score is
Binomial(n, mean) + Laplace(b). P(leader in group g) is a one-dimensional integral of a density times products
of distribution functions, which are piecewise sums of exponentials: Gauss-Legendre between the kinks, at the
integers. The probabilities must add up to 1, which is checked at every epoch.

Epochs so long that a bound on all later epochs is negligible are covered by that bound. The result then holds
for every horizon: the regret by round T only grows with T.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.chernoff import best_bound

__all__ = ["Actions", "ExactRegret", "exact_regret", "leader_probabilities", "selection_tail"]

Floats = NDArray[np.float64]

#: Cells of one sum, and of one step towards it, whose arrays stay in a processor's cache.
CHUNK_CELLS, BLOCK_CELLS = 1 << 15, 1 << 11
#: Ends of the pieces within a unit cell, in noise scales from the nearest integer.
GRADES = (1.5, 3.5, 6, 9, 13, 18, 25)
#: Mass of a Binomial that is left out on either side, in standard deviations; and of a Laplace, in scales.
BINOMIAL_REACH = 11.0
LAPLACE_REACH = 45.0
#: The probabilities of all groups add up to 1 within this, or the quadrature is wrong.
QUADRATURE_ERROR = 1e-9
#: The quadrature's pieces are cut into so many parts, in turn, until the mass is right.
REFINEMENTS = (1, 2, 4, 8, 16)
LAST_EPOCH = 44
#: Rates that the Chernoff bound tries, as shares of the largest useful rate.
_SHARES = np.linspace(0.02, 0.998, 64)


@dataclass(frozen=True)
class Actions:
    """A full-information instance: ``counts[g]`` actions of mean ``means[g]``, independent Bernoulli
    coordinates.

    The best group comes first, with one action (unless ties are meant).
    """

    means: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if (
            len(self.means) != len(self.counts)
            or len(self.means) < 2
            or not all(0 <= mean <= 1 for mean in self.means)
            or not all(count >= 1 for count in self.counts)
            or self.means[0] != max(self.means)
        ):
            raise InvalidParameterError(
                "an instance must have two or more groups with means in [0, 1], the best one first, and "
                f"counts of 1 or more, got {self.means} and {self.counts}."
            )

    @classmethod
    def of_gaps(cls, gaps: Sequence[float], counts: Sequence[int] | None = None) -> Actions:
        """Return one best action and groups of these gaps; means are around 1/2 if they fit."""
        best = min(1.0, 0.5 + max(gaps) / 2)
        sizes = [1] * len(gaps) if counts is None else list(counts)
        return cls((best, *(max(0.0, best - gap) for gap in gaps)), (1, *sizes))

    @property
    def n_actions(self) -> int:
        return sum(self.counts)

    @property
    def gaps(self) -> tuple[float, ...]:
        return tuple(self.means[0] - mean for mean in self.means)

    @property
    def min_gap(self) -> float:
        return min(gap for gap in self.gaps if gap > 0)

    def brackets(self) -> dict[int, int]:
        """Return k >= 1 -> |J_k|, for the non-empty J_k = {j : 2^(k-1) min_gap <= gap_j < 2^k min_gap}."""
        found: dict[int, int] = {}
        for gap, count in zip(self.gaps, self.counts, strict=True):
            if gap > 0:
                # A ratio of two gaps that is a power of two up to rounding starts the next bracket.
                k = math.floor(math.log2(gap / self.min_gap) + 1e-12) + 1
                found[k] = found.get(k, 0) + count
        return found


class _Score:
    """Binomial(n, mean) + Laplace(b): distribution function and density at k + u, k an integer."""

    def __init__(self, n: int, mean: float, scale: float) -> None:
        reach = BINOMIAL_REACH * math.sqrt(n * mean * (1 - mean)) + 60 * (0 < mean < 1)
        self.low = max(0, math.floor(n * mean - reach))
        self.high = min(n, math.ceil(n * mean + reach))
        masses = stats.binom.pmf(np.arange(self.low, self.high + 1), n, mean)
        decay = math.exp(-1 / scale)
        zero = np.zeros(1)
        # Entry i belongs to k = low - 1 + i: mass up to k, and the sums of p(m) exp(-distance / b) on
        # either side, the right one measured from k + 1.
        self.below = np.concatenate([zero, np.cumsum(masses)])
        self.left = np.concatenate([zero, signal.lfilter([1.0], [1.0, -decay], masses)])
        self.right = np.concatenate([signal.lfilter([1.0], [1.0, -decay], masses[::-1])[::-1], zero])
        self._scale = scale

    def at(self, k: NDArray[np.int64], decays: _Decays) -> tuple[Floats, Floats]:
        """Return (F, f) at k + u, with the decays from k to k + u and from there to k + 1."""
        anchor = np.minimum(np.maximum(k, self.low - 1), self.high)
        entry = anchor - (self.low - 1)
        left, right = self.left.take(entry), self.right.take(entry)
        beyond = k - anchor
        if beyond.any():
            left = left * np.exp(-np.maximum(beyond, 0) / self._scale)
            right = right * np.exp(-np.maximum(-beyond, 0) / self._scale)
        falling, rising = left * decays[0], right * decays[1]
        density = falling + rising
        density /= 2 * self._scale
        falling -= rising
        falling *= 0.5
        return np.subtract(self.below.take(entry), falling, out=falling), density


#: exp(-u / b) and exp(-(1 - u) / b) at the nodes u in [0, 1]: the same for every score of one scale. Shapes
#: broadcast with the cells', (cells, 1) with (nodes,) for a grid.
_Decays = tuple[Floats, Floats]


def _cell_nodes(scale: float, refinement: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, 1], graded towards both ends if the noise is narrower than the lattice.

    Every piece is cut into ``refinement`` parts.
    """
    if scale >= 4:  # one smooth piece, whose exponents change by 1/scale only
        return _gauss(np.linspace(0, 1, refinement + 1), nodes=3 if scale >= 32 else 4)
    half = [0.0, *(reach * scale for reach in GRADES if reach * scale < 0.5), 0.5]
    coarse = np.array(half + [1 - end for end in half[-2::-1]])
    steps = np.arange(len(coarse) * refinement - refinement + 1) / refinement
    return _gauss(np.interp(steps, np.arange(len(coarse)), coarse), nodes=6)


@lru_cache(maxsize=8)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return places, weights


def _gauss(ends: Floats, *, nodes: int) -> tuple[Floats, Floats]:
    """Return composite Gauss-Legendre over the pieces between increasing ``ends``: positions and weights."""
    places, weights = _legendre(nodes)
    half = np.diff(ends)[:, None] / 2
    return ((ends[:-1, None] + half * (1 + places)).ravel(), (half * weights).ravel())


def _panels(
    scores: Sequence[_Score], scale: float, refinement: int
) -> list[tuple[NDArray[np.int64], Floats, Floats]]:
    """Return cells (k, nodes, weights) that cover every place where a score can be.

    They are unit cells on the supports, and wider cells of half a noise scale where there is Laplace noise
    alone.
    """
    spans = sorted((score.low - 1, score.high + 1) for score in scores)
    merged = [list(spans[0])]
    for low, high in spans[1:]:
        if low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    unit_nodes, unit_weights = _cell_nodes(scale, refinement)
    found = []
    for low, high in merged:
        cells = np.arange(low, high, dtype=np.int64)
        for start in range(0, len(cells), CHUNK_CELLS):
            found.append((cells[start : start + CHUNK_CELLS, None], unit_nodes, unit_weights))
    reach = math.ceil(LAPLACE_REACH * scale) + 1
    between = [(left[1], right[0]) for left, right in itertools.pairwise(merged)]
    for low, high in [(merged[0][0] - reach, merged[0][0]), *between, (merged[-1][1], merged[-1][1] + reach)]:
        pieces = max(2, min(20_000, math.ceil((high - low) * 2 * refinement / scale)))
        # Pieces of at least one unit end at integers; narrower ones are graded within the unit cells.
        if pieces >= high - low:
            found.append((np.arange(low, high, dtype=np.int64)[:, None], unit_nodes, unit_weights))
            continue
        ends = np.linspace(low, high, pieces + 1)
        nodes, weights = _gauss(ends, nodes=8)
        k = np.floor(nodes).astype(np.int64)
        found.append((k, nodes - k, weights))
    return found


def leader_probabilities(actions: Actions, *, rounds: int, scale: float) -> Floats:
    """Return P(the leader after an epoch of ``rounds`` rounds is in group g), noise Laplace(``scale``) on
    each sum.

    Raises ``ArithmeticError`` if the probabilities do not add up to 1 within 1e-9.
    """
    if rounds < 1 or not scale > 0:
        raise InvalidParameterError(f"rounds must be 1 or more and scale positive, got {rounds} and {scale}.")
    scores = [_Score(rounds, mean, scale) for mean in actions.means]
    for refinement in REFINEMENTS:
        distribution = _quadrature(actions, scores, scale, refinement)
        if abs(distribution.sum() - 1) <= QUADRATURE_ERROR:
            return distribution
    raise ArithmeticError(
        f"the leader's distribution must have mass 1, got {distribution.sum():.12f} for {actions}, "
        f"{rounds} rounds, scale {scale}"
    )


def _quadrature(actions: Actions, scores: Sequence[_Score], scale: float, refinement: int) -> Floats:
    total = np.zeros(len(scores))
    for k, nodes, weights in _panels(scores, scale, refinement):
        decays = np.exp(-nodes / scale), np.exp(-(1 - nodes) / scale)
        starts = range(0, len(k), BLOCK_CELLS) if k.ndim == 2 else (0,)
        blocks = [
            _integrated(
                actions, scores, k[start : start + BLOCK_CELLS] if k.ndim == 2 else k, decays, weights
            )
            for start in starts
        ]
        for g, parts in enumerate(zip(*blocks, strict=True)):
            total[g] += actions.counts[g] * float(np.concatenate(parts, axis=None).sum())
    return total


def _integrated(
    actions: Actions, scores: Sequence[_Score], k: NDArray[np.int64], decays: _Decays, weights: Floats
) -> list[Floats]:
    """Return for every group the weighted sums over the nodes of each cell that one of its actions leads
    there.
    """
    values = [score.at(k, decays) for score in scores]
    everyone = np.ones(values[0][0].shape)
    for count, (below, _) in zip(actions.counts, values, strict=True):
        everyone *= below if count == 1 else below**count
    found = []
    for below, density in values:
        np.maximum(below, 1e-300, out=below)
        others = np.divide(everyone, below, out=below)
        others *= density
        found.append(others @ weights)
    return found


def selection_tail(gap: float, *, rounds: float, scale: float) -> float:
    """Return Chernoff's bound on P(an action of this gap scores at least the best action's score).

    Both scores are independent Binomials with Laplace(``scale``).
    """
    rates = min(2 * gap, 1 / scale) * _SHARES
    logs = rates**2 * rounds / 4 - rates * rounds * gap - 2 * np.log1p(-((rates * scale) ** 2))
    return float(best_bound(logs))


@dataclass(frozen=True)
class ExactRegret:
    """Expected regret by the end of epoch r, ``by_epoch[r]`` (horizon 2^(r+1) - 1).

    ``remainder`` bounds what all later epochs can add. ``error`` bounds the quadrature's error of the last
    entry.
    """

    by_epoch: tuple[float, ...]
    remainder: float
    error: float

    @property
    def lower(self) -> float:
        """Return a bound below the regret at the last horizon computed."""
        return max(0.0, self.by_epoch[-1] - self.error)

    @property
    def upper(self) -> float:
        """Return a bound above the regret at every horizon."""
        return self.by_epoch[-1] + self.remainder + self.error


@lru_cache(maxsize=4096)
def exact_regret(
    actions: Actions, *, scale: Fraction, last_epoch: int = LAST_EPOCH, precision: float = 1e-6
) -> ExactRegret:
    """Return the expected regret of the epoch schedule whose leader maximises sums + Laplace(``scale``).

    Epoch 0 plays a worst action (an adversary numbers the actions). Stops after ``last_epoch``, or once the
    remainder is below ``precision`` of the regret so far.
    """
    b, gaps = float(scale), np.array(actions.gaps)
    regret = [float(gaps.max())]
    error = 0.0
    for r in range(1, last_epoch + 1):
        remainder = _remainder(actions, b, r)
        if remainder <= precision * regret[-1]:
            break
        distribution = leader_probabilities(actions, rounds=2 ** (r - 1), scale=b)
        regret.append(regret[-1] + 2.0**r * float(gaps @ distribution))
        # The mass that the check above allows to be misplaced, at the largest gap; in fact it is far less.
        error += 2.0**r * float(gaps.max()) * abs(float(distribution.sum()) - 1)
    return ExactRegret(tuple(regret), _remainder(actions, b, len(regret)), error + 1e-9 * regret[-1])


def _remainder(actions: Actions, scale: float, epoch: int) -> float:
    """Bound the expected regret of all epochs from ``epoch`` on from above."""
    total = 0.0
    for gap, count in zip(actions.gaps, actions.counts, strict=True):
        if gap > 0:
            for r in range(epoch, epoch + 64):
                rounds = 2.0 ** (r - 1)
                term = 2.0**r * gap * min(1.0, count * selection_tail(gap, rounds=rounds, scale=scale))
                total += term
                if term < 1e-12 * rounds * gap:  # from here on the terms fall faster than geometrically
                    break
    return total * (1 + 1e-6)
