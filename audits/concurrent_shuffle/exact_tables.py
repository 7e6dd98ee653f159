"""Compute exact tables of probabilities for the lemmas of Appendix B.

The tables cover public protocols, mechanisms on few bits, and the transcripts of small concurrent
algorithms. Every probability is a ``Fraction``. Privacy is evaluated at rational e^ε.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audits.concurrent_shuffle.hard_inputs import HardInputs

__all__ = [
    "Batch",
    "Joint",
    "NextBatch",
    "Table",
    "bit_table",
    "dependence",
    "divergence",
    "likelihood_ratios",
    "mixed",
    "outside",
    "public_protocol",
    "released_with",
    "small_transcripts",
    "sum_table",
]

Bits = tuple[int, ...]
#: A distribution: outcomes and their probabilities.
Distribution = dict[object, Fraction]
#: A mechanism: the distribution of its output for every dataset.
Table = dict[Bits, Distribution]
#: Transcripts of positive probability, each with the integer weight of every value of the hidden bits.
Joint = dict[object, dict[Bits, int]]


def _bits(n: int) -> Iterator[Bits]:
    return itertools.product((0, 1), repeat=n)


# Distributions


def divergence(
    first: Mapping[object, Fraction], second: Mapping[object, Fraction], ratio: Fraction
) -> Fraction:
    """Return the least δ with P(B) <= ratio Q(B) + δ for all B in both directions.

    This is the hockey-stick divergence at e^ε = ``ratio``.
    """
    keys = {**first, **second}
    zero = Fraction(0)

    def one_way(p: Mapping[object, Fraction], q: Mapping[object, Fraction]) -> Fraction:
        return sum((max(zero, p.get(y, zero) - ratio * q.get(y, zero)) for y in keys), zero)

    return max(one_way(first, second), one_way(second, first))


def outside(first: Mapping[object, Fraction], second: Mapping[object, Fraction], ratio: Fraction) -> Fraction:
    """Return the probability of the outcomes whose likelihood ratio is outside [1/ratio², ratio²].

    The result is the larger of the probabilities under the two distributions.
    """
    zero, square = Fraction(0), ratio**2
    p_out = q_out = zero
    for y in {**first, **second}:
        p, q = first.get(y, zero), second.get(y, zero)
        if p > square * q or q > square * p:
            p_out, q_out = p_out + p, q_out + q
    return max(p_out, q_out)


def mixed(table: Table, weights: Mapping[Bits, Fraction], *, index: int, value: int) -> Distribution:
    """Return the distribution of M(D) if D is drawn with ``weights`` and entry ``index`` is overwritten by
    ``value``."""
    distribution: Distribution = {}
    for data, weight in weights.items():
        changed = (*data[:index], value, *data[index + 1 :])
        for y, p in table[changed].items():
            distribution[y] = distribution.get(y, Fraction(0)) + weight * p
    return distribution


def bit_table(n: int, *, outcomes: int, seed: int, floor: int = 0) -> Table:
    """Return a mechanism on n bits with random rational tables. Every weight is from ``floor`` to ``floor``
    + 9."""
    rng = np.random.default_rng(seed)
    table: Table = {}
    for data in _bits(n):
        weights = rng.integers(floor, floor + 10, size=outcomes)
        weights[0] += weights.sum() == 0
        total = int(weights.sum())
        table[data] = {y: Fraction(int(w), total) for y, w in enumerate(weights)}
    return table


def sum_table(n: int, *, trials: int) -> Table:
    """Return the mechanism that releases the number of ones among n bits and ``trials`` fair bits."""
    scale = 2**trials
    return {
        data: {sum(data) + j: Fraction(math.comb(trials, j), scale) for j in range(trials + 1)}
        for data in _bits(n)
    }


def released_with(table: Table, indices: Callable[[object], Iterable[int]]) -> Table:
    """Return (M(D), D_I): the output and the data at ``indices(output)``."""
    return {
        data: {(y, tuple((i, data[i]) for i in indices(y))): p for y, p in distribution.items()}
        for data, distribution in table.items()
    }


# Public protocols


def public_protocol(
    n: int, *, rounds: int, seed: int, shared_coin: bool = False, correlated: bool = False
) -> Joint:
    """Return a random protocol of n parties, each with a biased bit x and a fair private coin r that it
    keeps.

    In each round the history determines a speaker. The speaker publishes a bit that is 1 with a probability
    (in quarters) that depends on the history, its x and its r. The result is the joint distribution of all
    messages and x, summed over the coins.

    ``shared_coin`` gives all parties one coin. ``correlated`` makes equal bits more likely. Lemma B.1
    excludes both.
    """
    rng = np.random.default_rng(seed)
    histories = [h for j in range(rounds) for h in _bits(j)]
    speaker = {h: int(rng.integers(n)) for h in histories}
    quarters = {(h, x, r): int(rng.integers(0, 5)) for h in histories for x in (0, 1) for r in (0, 1)}
    ones = [int(rng.integers(1, 8)) for _ in range(n)]
    joint: dict[Bits, dict[Bits, int]] = {t: dict.fromkeys(_bits(n), 0) for t in _bits(rounds)}
    for x in _bits(n):
        prior = math.prod(ones[i] if x[i] else 8 - ones[i] for i in range(n))
        prior *= 3 if correlated and len(set(x)) == 1 else 1
        for coins in _bits(1 if shared_coin else n):
            for t in joint:
                weight = prior
                for j, message in enumerate(t):
                    h, who = t[:j], speaker[t[:j]]
                    chance = quarters[h, x[who], coins[0 if shared_coin else who]]
                    weight *= chance if message else 4 - chance
                joint[t][x] += weight
    return {t: weights for t, weights in joint.items() if any(weights.values())}


def dependence(joint: Joint) -> Fraction:
    """Return the largest |P(x | t) - Π P(x_i | t)| over transcripts t of positive probability and all x."""
    largest = Fraction(0)
    for weights in joint.values():
        total, m = sum(weights.values()), len(next(iter(weights)))
        ones = [sum(w for x, w in weights.items() if x[i]) for i in range(m)]
        for x, weight in weights.items():
            product = math.prod(ones[i] if x[i] else total - ones[i] for i in range(m))
            if weight * total ** (m - 1) != product:
                apart = Fraction(abs(weight * total ** (m - 1) - product), total**m)
                largest = max(largest, apart)
    return largest


# Transcripts of small concurrent algorithms


@dataclass(frozen=True)
class Batch:
    """Users ``start`` to ``stop``, whose bits are shuffled with ``trials`` fair bits."""

    start: int
    stop: int
    trials: int


#: Map the outputs so far to the next batch that closes, or to ``None`` at the end.
NextBatch = Callable[[Bits], Batch | None]


#: The largest number of fair noise bits in a batch.
MOST_TRIALS = 8


def small_transcripts(member: HardInputs, marked: Sequence[int], next_batch: NextBatch) -> Joint:
    """Return the joint distribution of the marked bits and the transcript of M'.

    The transcript consists of all batch outputs, in the order in which batches close, and all fair bits
    that are not marked. Every run has the same number of batches, each with at most 8 fair noise bits.
    """
    numbers = [int(member.blocks[user - 1]) for user in marked]
    others = [i for i in range(member.bits) if i not in numbers]
    joint: Joint = {}
    for fair in _bits(member.bits):
        data = member.values(np.array(fair)).tolist()
        hidden, revealed = tuple(fair[i] for i in numbers), tuple(fair[i] for i in others)
        for outputs, weight in _outputs(data, next_batch, ()):
            cell = joint.setdefault((outputs, revealed), dict.fromkeys(_bits(len(numbers)), 0))
            cell[hidden] += weight
    return joint


def _outputs(data: Sequence[int], next_batch: NextBatch, history: Bits) -> Iterator[tuple[Bits, int]]:
    """Yield all outputs from ``history`` on. All weights are the same multiple of the probabilities."""
    batch = next_batch(history)
    if batch is None:
        yield history, 1
        return
    ones = sum(data[batch.start - 1 : batch.stop])
    for j in range(batch.trials + 1):
        weight = math.comb(batch.trials, j) << (MOST_TRIALS - batch.trials)
        for outputs, rest in _outputs(data, next_batch, (*history, ones + j)):
            yield outputs, weight * rest


def likelihood_ratios(weights: Mapping[Bits, int]) -> list[tuple[int, int]]:
    """Return (P(t, X_i = 1), P(t, X_i = 0)) of one transcript for each hidden bit.

    The bits are fair, so the quotient is the likelihood ratio.
    """
    m = len(next(iter(weights)))
    return [
        (sum(w for x, w in weights.items() if x[i]), sum(w for x, w in weights.items() if not x[i]))
        for i in range(m)
    ]
