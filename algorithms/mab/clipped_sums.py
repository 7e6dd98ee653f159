"""Sums of many clipped Gaussians without a loop over users, exact in distribution.

The density of N(location, deviation²) on (0, 1) is cut into equal blocks. On each block a line lies below it:
the chord, lowered by the largest possible sag of the curve. A line is a constant plus a ramp, density 2u or
2(1 - u) on the block. The clipped distribution is therefore a mixture of constants, ramps, the rest above the
lines, and two atoms.

* One multinomial draw gives the number of the n users on each part.
* A user on a constant is uniform on the block: the binary digits of the place are fair coins. A user on a
  rising ramp is, with probability 1/2, uniform on the right half; else on a rising ramp on one of the halves,
  each with the same chance (falling ramps: mirrored). All users' offsets therefore take a few binomial
  draws for each digit.
* The rest above the lines holds a share of about 6/blocks² (at deviation 0.1). Its few users are drawn
  one by one, by rejection.
* Users on an atom count as 0 or 1.

With a number of blocks of the order of n^(1/3) the total cost is of the order n^(1/3) and not n. The only
approximation is floating point: offsets have 53 binary digits, as numpy's uniforms.
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
    """The users of M rows by part.

    Counts on the lines of C blocks (M, C); in all on constants, rising and falling ramps (M, each); above the
    lines (flat points and their rows); on the atom 1 (M,). The remaining users are on the atom 0.
    """

    lines: Integers
    constant: Integers
    rising: Integers
    falling: Integers
    points: Floats
    rows: Integers
    ones: Integers


class _Pieces(NamedTuple):
    """The decomposition of M densities on C blocks, all (M, C).

    It holds the masses of constants and ramps and whether a ramp rises. For the rest it holds the mass, the
    line's end heights and an upper bound on its height.
    """

    constant: Floats
    ramp: Floats
    rises: NDArray[np.bool_]
    rest: Floats
    left: Floats
    right: Floats
    highest: Floats


def best_blocks(users: int, deviation: float) -> int:
    """Return about how many blocks make sums of ``users`` cheapest; 0 if drawing users one by one is
    cheaper.
    """
    blocks = math.ceil(2.4 * (users * (0.1 / deviation) ** 2) ** (1 / 3))
    return blocks if 16 * blocks < users else 0


def reward_sums(
    rng: np.random.Generator, locations: Floats, deviation: float, *, users: int, blocks: int
) -> Floats:
    """Draw Σ x of ``users`` clipped Gaussians for each of ``locations`` (M,), with ``blocks`` blocks of
    [0, 1].
    """
    edges = np.arange(blocks + 1) / blocks
    sums = []
    for chunk in _chunks(locations, blocks):
        split = _split(rng, chunk, deviation, users, edges)
        coins, _, _, _ = _digits(rng, split, DIGITS)
        offsets = coins @ 2.0 ** -np.arange(1.0, DIGITS + 1)
        rests = np.bincount(split.rows, weights=split.points, minlength=len(chunk))
        sums.append((split.lines @ np.arange(blocks) + offsets) / blocks + rests + split.ones)
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
    """Draw Σ x̂ of ``users`` randomly rounded clipped Gaussians for each of ``locations`` (M,).

    x̂ is in 0, ..., g = ``precision``. Blocks are 2^``digits`` cells [k/g, (k+1)/g] wide: the offset counts
    cells. On its cell a user is uniform or still on a ramp, and is rounded up with probability 1/2, 2/3
    (rising) or 1/3 (falling).
    """
    width = 2**digits
    blocks = precision // width
    edges = np.arange(blocks + 1) * (width / precision)
    sums = []
    for chunk in _chunks(locations, blocks):
        split = _split(rng, chunk, deviation, users, edges)
        coins, uniform, rising, falling = _digits(rng, split, digits)
        totals = split.lines @ (width * np.arange(blocks)) + coins @ (width >> np.arange(1, digits + 1))
        totals += rng.binomial(uniform, 0.5) + rng.binomial(rising, 2 / 3) + rng.binomial(falling, 1 / 3)
        scaled = split.points * precision
        down = np.floor(scaled)
        encodings = (down + (rng.random(len(scaled)) < scaled - down)).astype(np.int64)
        np.add.at(totals, split.rows, encodings)
        sums.append(totals + precision * split.ones)
    return np.concatenate(sums)


def _chunks(locations: Floats, blocks: int) -> list[Floats]:
    rows = max(1, _CHUNK // (blocks + 1))
    return np.split(locations, range(rows, len(locations), rows))


def _digits(
    rng: np.random.Generator, split: _Split, digits: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Draw how many users on lines have each binary digit of their offset set, (M, digits).

    Also return how many users are then uniform on their interval, on a rising and on a falling ramp, (M,)
    each.
    """
    uniform, rising, falling = split.constant, split.rising, split.falling
    coins = np.zeros((len(uniform), digits), dtype=np.int64)
    for digit in range(digits):
        up, down = (rng.binomial(ramp, 0.5) if ramp.any() else ramp for ramp in (rising, falling))
        rising, falling = rising - up, falling - down
        coins[:, digit] = up + rng.binomial(uniform + rising + falling, 0.5)
        uniform = uniform + up + down
    return coins, uniform, rising, falling


def _density(z: Floats, deviation: float) -> Floats:
    return np.asarray(np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * deviation))


def _pieces(means: Floats, deviation: float, ends: Floats, blocks: int) -> _Pieces:
    """Decompose the densities, with ``means`` (M, 1) and ``ends`` (C + 1,).

    From block ``blocks`` on nothing is on a line.
    """
    z = (ends - means) / deviation
    heights, widths = _density(z, deviation), np.diff(ends)
    bends = heights * (z * z - 1) / deviation**2  # the second derivative; its maxima are at z = ±sqrt(3)
    sag = np.maximum(bends[:, :-1], bends[:, 1:])
    swell = np.maximum(-bends[:, :-1], -bends[:, 1:])
    top = _density(np.zeros(1), deviation)[0]
    for turn in (-math.sqrt(3), math.sqrt(3)):
        inside = (z[:, :-1] < turn) & (turn < z[:, 1:])
        sag[inside] = 2 * math.exp(-1.5) * top / deviation**2
    mode = (z[:, :-1] < 0) & (z[:, 1:] > 0)
    swell[mode] = top / deviation**2
    lowered = np.maximum(sag, 0) * widths**2 / 8 * (1 + 1e-9)
    left, right = heights[:, :-1] - lowered, heights[:, 1:] - lowered
    least = np.minimum(heights[:, :-1], heights[:, 1:])  # one mode: the minimum is at an end
    flat = (np.minimum(left, right) < 0) | (left + right < 2 * least)
    flat[:, blocks:], least[:, blocks:] = True, 0.0
    left, right = np.where(flat, least, left), np.where(flat, least, right)
    peaks = np.where(mode, top, np.maximum(heights[:, :-1], heights[:, 1:]))
    bulge = lowered + np.maximum(swell, 0) * widths**2 / 8 * (1 + 1e-9)
    constant, ramp = widths * np.minimum(left, right), widths * np.abs(right - left) / 2
    rest = np.maximum(np.diff(special.ndtr(z), axis=1) - constant - ramp, 0.0)
    return _Pieces(constant, ramp, right > left, rest, left, right, np.where(flat, peaks - least, bulge))


def _split(
    rng: np.random.Generator, locations: Floats, deviation: float, users: int, edges: Floats
) -> _Split:
    """Split the users among the parts; ``edges`` (C + 1,) start at 0.

    The part of [0, 1] beyond the edges is one more block, without a line.
    """
    means, blocks = locations[:, None], len(edges) - 1
    ends = edges if edges[-1] >= 1 else np.append(edges, 1.0)
    pieces = _pieces(means, deviation, ends, blocks)
    line = (pieces.constant + pieces.ramp)[:, :blocks]
    atoms = [special.ndtr((means - 1) / deviation), special.ndtr(-means / deviation)]
    chances = np.concatenate([line, pieces.rest.sum(axis=1, keepdims=True), *atoms], axis=1)
    counts = rng.multinomial(users, chances / chances.sum(axis=1, keepdims=True))
    lines = counts[:, :blocks]
    ramps = rng.binomial(lines, pieces.ramp[:, :blocks] / np.maximum(line, 1e-300))
    rising = (ramps * pieces.rises[:, :blocks]).sum(axis=1)
    falling = ramps.sum(axis=1) - rising
    rows = np.repeat(np.arange(len(locations)), counts[:, blocks])
    points = _points_above(rng, pieces, locations, deviation, ends, rows)
    constant = lines.sum(axis=1) - rising - falling
    return _Split(lines, constant, rising, falling, points, rows, counts[:, blocks + 1])


def _points_above(
    rng: np.random.Generator,
    pieces: _Pieces,
    locations: Floats,
    deviation: float,
    ends: Floats,
    rows: Integers,
) -> Floats:
    """Draw one point above the lines of its row for each entry of ``rows``, by rejection from rectangles."""
    block = _drawn_blocks(rng, pieces.rest, rows)
    points = np.empty(len(rows))
    waiting = np.arange(len(rows))
    while len(waiting):
        own, cell = rows[waiting], block[waiting]
        along = rng.random(len(waiting))
        x = ends[cell] + (ends[cell + 1] - ends[cell]) * along
        line = pieces.left[own, cell] * (1 - along) + pieces.right[own, cell] * along
        height = _density((x - locations[own]) / deviation, deviation)
        # The slack is rounding: a block whose rest is only rounding accepts at once.
        excess = height - line + 1e-13 * height
        accepted = rng.random(len(waiting)) * pieces.highest[own, cell] <= excess
        points[waiting[accepted]] = x[accepted]
        waiting = waiting[~accepted]
    return points


def _drawn_blocks(rng: np.random.Generator, rests: Floats, rows: Integers) -> Integers:
    """Draw one block for each entry of ``rows``, with the chances of that row of ``rests``.

    All rows are inverted on one line, row i on [i, i + 1].
    """
    below = np.cumsum(rests, axis=1)
    line = below / np.maximum(below[:, -1:], 1e-300) + np.arange(len(rests))[:, None]
    found = np.searchsorted(line.ravel(), rows + rng.random(len(rows)), side="right")
    return np.asarray(np.minimum(found - rows * rests.shape[1], rests.shape[1] - 1))
