"""The noise of the sums that a policy sees, drawn at once for a batch from its exact distribution.

A noise has two pure functions: ``init(R, d)`` and ``step(state, batch, rng)``. The state holds the noise
accumulated over the batches so far, ``vec`` (R, d) and ``mat`` (R, d, d), symmetric. Independent batches add
up. A tree's noise is the noise of the nodes that make up the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual import checks
from dpaudit.reference.algorithms.contextual.environments import Batch

__all__ = [
    "AggregateNoise",
    "BinomialNoise",
    "GaussianNoise",
    "NoNoise",
    "NoiseState",
    "Symmetry",
    "TreeNoise",
    "WishartTreeNoise",
    "symmetric_gaussians",
]

Floats = NDArray[np.float64]
#: How a matrix of independent N(0, s²) becomes symmetric: ``copy`` the upper triangle (every entry s²),
#: ``average`` with the transpose (s² on the diagonal, s²/2 off it), ``scaled`` by a further sqrt(2).
Symmetry = Literal["copy", "average", "scaled"]
_LARGEST_TRIALS = 2**62


class NoiseState(NamedTuple):
    """Accumulated noise after ``batches`` batches; ``nodes`` hold a tree's vectors and matrices by level."""

    batches: int
    vec: Floats
    mat: Floats
    nodes: tuple[Floats, Floats] | None = None


class AggregateNoise(Protocol):
    """The noise of the sums of all batches so far."""

    def init(self, replicates: int, dim: int) -> NoiseState:
        """Return the state before the first batch."""

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        """Return the state after one more batch."""


def _nothing(replicates: int, dim: int) -> NoiseState:
    return NoiseState(0, np.zeros((replicates, dim)), np.zeros((replicates, dim, dim)))


def _added(state: NoiseState, vec: Floats, mat: Floats) -> NoiseState:
    return state._replace(batches=state.batches + 1, vec=state.vec + vec, mat=state.mat + mat)


def _std(std: float | Sequence[float] | Floats, axes: int) -> Floats:
    """Return a number, or one number per replicate, broadcast against arrays with ``axes`` further axes."""
    return np.asarray(std, dtype=float).reshape((-1,) + (1,) * axes)


def _require_gaussians(
    std_vec: float | Floats, std_mat: float | Floats, symmetry: str, n_batches: int = 1
) -> None:
    checks.at_least(std_vec, 0, name="std_vec")
    checks.at_least(std_mat, 0, name="std_mat")
    checks.whole(n_batches, name="n_batches")
    if symmetry not in get_args(Symmetry):
        raise InvalidParameterError(
            f"symmetry must be one of {', '.join(get_args(Symmetry))}, got {symmetry!r}."
        )


def symmetric_gaussians(rng: np.random.Generator, shape: tuple[int, ...], symmetry: Symmetry) -> Floats:
    """Return symmetric matrices (..., d, d) from independent standard normal entries."""
    drawn = rng.normal(size=shape)
    if symmetry == "copy":
        upper = np.triu(drawn)
        return np.asarray(upper + np.triu(drawn, 1).swapaxes(-1, -2))
    total = drawn + drawn.swapaxes(-1, -2)
    return np.asarray(total / 2 if symmetry == "average" else total / np.sqrt(2))


@dataclass(frozen=True)
class NoNoise:
    """No noise: the sums are exact."""

    def init(self, replicates: int, dim: int) -> NoiseState:
        return _nothing(replicates, dim)

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        return state._replace(batches=state.batches + 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianNoise:
    """Gaussian messages: each user adds N(0, std²) to every entry of vector and matrix.

    This is P_Amp, and the local protocol (also B = 1). ``std_vec`` and ``std_mat`` are per user, numbers or
    one number per replicate. A batch of n users has n times the variance. Raises ``InvalidParameterError``
    for a negative or infinite deviation and for another symmetry.
    """

    std_vec: float | Floats
    std_mat: float | Floats
    symmetry: Symmetry = "copy"

    def __post_init__(self) -> None:
        _require_gaussians(self.std_vec, self.std_mat, self.symmetry)

    def init(self, replicates: int, dim: int) -> NoiseState:
        return _nothing(replicates, dim)

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        spread = np.sqrt(batch.users.sum(axis=1))
        vec = _std(self.std_vec, 1) * spread[:, None] * rng.normal(size=state.vec.shape)
        drawn = symmetric_gaussians(rng, state.mat.shape, self.symmetry)
        return _added(state, vec, _std(self.std_mat, 2) * spread[:, None, None] * drawn)


@dataclass(frozen=True, kw_only=True)
class BinomialNoise:
    """P_Vec (Algorithms 5 to 7): randomised rounding of every user's entries, and Bin(b n, p) bits.

    ``scale`` is the coordinate bound Delta; ``precision`` is g. ``debias_trials`` is the b that the analyzer
    subtracts, by default the b of the draw (the authors' code truncates one of them). The distribution is
    exact: the rounding errors of users with equal features and reward are one binomial draw.

    Raises ``InvalidParameterError`` if b n does not fit 62 bits.
    """

    precision: float
    trials: int
    prob: float = 0.25
    scale: float = 1.0
    debias_trials: float | None = None

    def __post_init__(self) -> None:
        checks.positive(self.precision, name="precision")
        checks.positive(self.scale, name="scale")
        checks.whole(self.trials, 0, name="trials")
        checks.in_unit(self.prob, name="prob")
        if self.debias_trials is not None:
            checks.at_least(self.debias_trials, 0, name="debias_trials")

    def init(self, replicates: int, dim: int) -> NoiseState:
        return _nothing(replicates, dim)

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        x, users, ones = batch.features, batch.users, batch.ones
        outer = x[..., :, None] * x[..., None, :]
        vec = self._rounding(x, ones[..., None], rng) + self._rounding(
            0.0 * x, (users - ones)[..., None], rng
        )
        mat = self._rounding(outer, users[..., None, None], rng)
        total = users.sum(axis=1)
        vec += self._bits(total[:, None], vec.shape, rng)
        mat += self._bits(total[:, None, None], mat.shape, rng)
        unit = self.scale / self.precision
        upper = np.triu(mat)
        return _added(state, unit * vec, unit * (upper + np.triu(mat, 1).swapaxes(-1, -2)))

    def _rounding(self, values: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Return Σ over users of (rounded - exact), in units of Delta/g.

        Users of one group round up with the fractional part of the shifted value.
        """
        part = (values + self.scale) * (self.precision / self.scale)
        part = part - np.floor(part)
        return np.asarray((rng.binomial(counts, part) - counts * part).sum(axis=1))

    def _bits(self, users: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        if self.trials * int(users.max()) > _LARGEST_TRIALS:
            raise InvalidParameterError(
                f"trials of a batch must be at most 2^62, got {self.trials * int(users.max()):.3g}; take "
                "GaussianNoise of the same standard deviation instead."
            )
        bits = rng.binomial(np.broadcast_to(self.trials * users, shape), self.prob)
        subtracted = self.trials if self.debias_trials is None else self.debias_trials
        return np.asarray(bits - self.prob * subtracted * users)


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeNoise:
    """A binary tree over the batches: every node has one draw of N(0, std²) per entry.

    A prefix is made of the nodes of its binary digits, so it contains at most ``log2(M) + 1`` draws.
    """

    std_vec: float | Floats
    std_mat: float | Floats
    n_batches: int
    symmetry: Symmetry = "copy"

    def __post_init__(self) -> None:
        _require_gaussians(self.std_vec, self.std_mat, self.symmetry, self.n_batches)

    def init(self, replicates: int, dim: int) -> NoiseState:
        levels = self.n_batches.bit_length()
        nodes = np.zeros((levels, replicates, dim)), np.zeros((levels, replicates, dim, dim))
        return _nothing(replicates, dim)._replace(nodes=nodes)

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        vec = _std(self.std_vec, 1) * rng.normal(size=state.vec.shape)
        mat = _std(self.std_mat, 2) * symmetric_gaussians(rng, state.mat.shape, self.symmetry)
        return _prefix(state, vec, mat, self.n_batches)


def _prefix(state: NoiseState, vec: Floats, mat: Floats, n_batches: int) -> NoiseState:
    """Replace the nodes below the node that the next batch closes."""
    closed = state.batches + 1
    if state.nodes is None or closed > n_batches:
        raise InvalidParameterError(
            f"a tree over {n_batches} batches must not see batch {closed}; make it larger, or call init."
        )
    level = (closed & -closed).bit_length() - 1
    vecs, mats = (nodes.copy() for nodes in state.nodes)
    vecs[:level], mats[:level] = 0.0, 0.0
    vecs[level], mats[level] = vec, mat
    return NoiseState(closed, vecs.sum(axis=0), mats.sum(axis=0), (vecs, mats))


@dataclass(frozen=True, kw_only=True)
class WishartTreeNoise:
    """The Wishart variant of Shariff and Sheffet (2018).

    A node's noise is Wishart with ``freedom`` degrees and ``scale`` (L² + B²) times the unit matrix of d + 1.
    The last column is the vector's noise. ``shift`` times the unit matrix is subtracted from every prefix.
    Raises ``InvalidParameterError`` for fewer degrees of freedom than d + 1.
    """

    scale: float
    freedom: int
    n_batches: int
    shift: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(self.scale, name="scale")
        checks.finite(self.shift, name="shift")
        checks.whole(self.freedom, name="freedom")
        checks.whole(self.n_batches, name="n_batches")

    def init(self, replicates: int, dim: int) -> NoiseState:
        if self.freedom < dim + 1:
            raise InvalidParameterError(
                f"degrees of freedom must be d + 1 = {dim + 1} or more, got {self.freedom}."
            )
        return TreeNoise(std_vec=0, std_mat=0, n_batches=self.n_batches).init(replicates, dim)

    def step(self, state: NoiseState, batch: Batch, rng: np.random.Generator) -> NoiseState:
        replicates, dim = state.vec.shape
        drawn = self.scale * self._wishart(replicates, dim + 1, rng)
        found = _prefix(state, drawn[:, :dim, dim], drawn[:, :dim, :dim], self.n_batches)
        return found._replace(mat=found.mat - self.shift * np.eye(dim))

    def _wishart(self, replicates: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw by Bartlett's decomposition: a triangle with normal entries and roots of chi-squares."""
        lower = np.tril(rng.normal(size=(replicates, size, size)), -1)
        degrees = self.freedom - np.arange(size)
        diagonal = np.sqrt(rng.chisquare(degrees, size=(replicates, size)))
        lower[:, np.arange(size), np.arange(size)] = diagonal
        return np.asarray(lower @ lower.transpose(0, 2, 1))
