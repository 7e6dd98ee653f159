"""Sums of many clipped Gaussians without a loop over users, exact in law.

The density of N(location, deviation²) on (0, 1) is cut into equal blocks. On each block it is a constant,
its minimum there, plus a rest; clipped to [0, 1] the law is a mixture of these constants, the rests and two
atoms.

* How many of n users fall on each constant is one multinomial draw. A user on a constant is uniform on its
  block: block number plus an offset whose binary digits are independent fair coins. The offsets of N users
  together are Σ_i 2^i Binomial(N, 1/2), one draw for each digit.
* The rests hold a share of about 4/(blocks · 10 deviation) of the mass. Their few users are drawn one by one,
  by rejection.
* Users on an atom count as 0 or 1.

With a number of blocks of the order of sqrt(n) the whole costs sqrt(n) and not n. Nothing is approximated but
by floating point: offsets have 53 binary digits, as numpy's uniforms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["best_blocks", "encoded_block_sums", "reward_sums"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Binary digits of a uniform number.
DIGITS = 53
#: Numbers in the largest temporary array.
_CHUNK = 2**21


class _Split(NamedTuple):
    """``users`` of M rows: on the constants (M, C), on the rests (flat points and their rows), on the atom
    1 (M,); what is left is on the atom 0."""

    constants: Integers
    points: Floats
    rows: Integers
    ones: Integers


def best_blocks(users: int, deviation: float) -> int:
    """About how many blocks make sums of ``users`` cheapest; 0 where drawing users one by one is cheaper."""
    blocks = max(math.ceil(2 * math.sqrt(users)), math.ceil(6 / deviation))
    return blocks if 16 * blocks < users else 0


def reward_sums(
    rng: np.random.Generator, locations: Floats, deviation: float, *, users: int, blocks: int
) -> Floats:
    """Σ x of ``users`` clipped Gaussians for each of ``locations`` (M,), with ``blocks`` blocks of [0, 1]."""
    edges = np.arange(blocks + 1) / blocks
    sums = []
    for chunk in _chunks(locations, blocks):
        split = _split(rng, chunk, deviation, users, edges)
        whole = split.constants @ np.arange(blocks)
        offsets = _coins(rng, split.constants.sum(axis=1), DIGITS) @ 2.0 ** -np.arange(1.0, DIGITS + 1)
        rests = np.bincount(split.rows, weights=split.points, minlength=len(chunk))
        sums.append((whole + offsets) / blocks + rests + split.ones)
    return np.concatenate(sums)


def encoded_block_sums(
    rng: np.random.Generator,
    locations: Floats,
    deviation: float,
    *,
    users: int,
    precision: int,
    digits: int,
) -> Integers:
    """Σ x̂ of ``users`` randomly rounded clipped Gaussians, x̂ in 0, ..., g = ``precision``, for each of
    ``locations`` (M,).

    Blocks are 2^``digits`` cells [k/g, (k+1)/g] wide: the offset counts cells, and a user who is uniform on
    its cell is rounded up by a fair coin.
    """
    width = 2**digits
    blocks = precision // width
    edges = np.arange(blocks + 1) * (width / precision)
    sums = []
    for chunk in _chunks(locations, blocks):
        split = _split(rng, chunk, deviation, users, edges)
        whole = split.constants @ (width * np.arange(blocks))
        offsets = _coins(rng, split.constants.sum(axis=1), digits + 1)
        weights = np.append(2 ** np.arange(digits, dtype=np.int64), 1)
        scaled = split.points * precision
        down = np.floor(scaled)
        encodings = (down + (rng.random(len(scaled)) < scaled - down)).astype(np.int64)
        rests = np.zeros(len(chunk), dtype=np.int64)
        np.add.at(rests, split.rows, encodings)
        sums.append(whole + offsets @ weights + rests + precision * split.ones)
    return np.concatenate(sums)


def _chunks(locations: Floats, blocks: int) -> list[Floats]:
    rows = max(1, _CHUNK // (blocks + 1))
    return np.split(locations, range(rows, len(locations), rows))


def _coins(rng: np.random.Generator, users: Integers, digits: int) -> Integers:
    """How many of ``users`` (M,) have each of their binary digits set: shape (M, digits)."""
    return np.asarray(rng.binomial(users[:, None], 0.5, size=(len(users), digits)))


def _split(
    rng: np.random.Generator, locations: Floats, deviation: float, users: int, edges: Floats
) -> _Split:
    """``edges`` (C + 1,) start at 0. What they leave of [0, 1] is one more block, all of it rest."""
    means, blocks = locations[:, None], len(edges) - 1
    ends = edges if edges[-1] >= 1 else np.append(edges, 1.0)
    z = (ends - means) / deviation
    heights = np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * deviation)
    least = np.minimum(heights[:, :-1], heights[:, 1:])  # one mode: the minimum is at an end
    least[:, blocks:] = 0.0
    constants = least * np.diff(ends)
    rests = np.maximum(np.diff(special.ndtr(z), axis=1) - constants, 0.0)
    atom = special.ndtr(-z[:, -1:])
    chances = np.concatenate(
        [constants[:, :blocks], rests.sum(axis=1, keepdims=True), atom, special.ndtr(z[:, :1])], axis=1
    )
    counts = rng.multinomial(users, chances / chances.sum(axis=1, keepdims=True))
    rows = np.repeat(np.arange(len(locations)), counts[:, blocks])
    block = _drawn_blocks(rng, rests, rows)
    peaks = np.maximum(heights[:, :-1], heights[:, 1:])
    inside = (ends[:-1] < means) & (means < ends[1:])
    peaks[inside] = 1 / (math.sqrt(2 * math.pi) * deviation)
    low, high = least[rows, block], peaks[rows, block]
    points = np.empty(len(rows))
    waiting = np.arange(len(rows))
    while len(waiting):
        own, cell = rows[waiting], block[waiting]
        x = ends[cell] + (ends[cell + 1] - ends[cell]) * rng.random(len(waiting))
        z_own = (x - locations[own]) / deviation
        excess = np.exp(-z_own * z_own / 2) / (math.sqrt(2 * math.pi) * deviation) - low[waiting]
        accepted = rng.random(len(waiting)) * (high[waiting] - low[waiting]) <= excess
        points[waiting[accepted]] = x[accepted]
        waiting = waiting[~accepted]
    return _Split(counts[:, :blocks], points, rows, counts[:, blocks + 1])


def _drawn_blocks(rng: np.random.Generator, rests: Floats, rows: Integers) -> Integers:
    """One block for each entry of ``rows``, with the chances of that row of ``rests``: inversion of all rows
    on one line, row i on [i, i + 1]."""
    below = np.cumsum(rests, axis=1)
    line = below / np.maximum(below[:, -1:], 1e-300) + np.arange(len(rests))[:, None]
    found = np.searchsorted(line.ravel(), rows + rng.random(len(rows)), side="right")
    return np.minimum(found - rows * rests.shape[1], rests.shape[1] - 1)
