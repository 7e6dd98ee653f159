"""The programs of ShadowDP (Wang, Ding, Wang, Kifer and Zhang, PLDI 2019, Table 1), by their names there.

``coins`` forms take the queries' answers, each of which changes by at most 1 (or one of which does).
``_numpy`` forms compute queries over records in [0, 1]. N is the number of positive answers. Epsilon is 1.
"""

from __future__ import annotations

import numpy as np

from benchmarks.proof_programs.registry import List, Queries
from dpaudit.core.data import EVERY, Interval, Records
from dpaudit.distributions import Laplace
from dpaudit.prover.data import OneReplaced, Symbols

__all__ = ["SHADOWDP"]

SHADOWDP = List("shadowdp")
right, wrong = SHADOWDP.right, SHADOWDP.wrong

E1 = {"epsilon": 1}
ALL, EIGHT, ALLN = Queries(Symbols(5)), Queries(Symbols(8)), Queries(Symbols(EVERY))
ONE, ONEN = (Queries(Symbols(n), OneReplaced(by=1)) for n in (6, EVERY))
ROWS = Records(Interval(0, 1), size=60, width=6)
ROWSN = Records(Interval(0, 1), size=EVERY, width=6)
STREAM, STREAMN = Records(Interval(0, 1), size=9), Records(Interval(0, 1), size=EVERY)


# NoisyMax. The first answer is taken by its position, as in the paper.
@right(E1, ALL, ALLN)
def noisy_max(coins, queries):
    best = place = i = 0
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=2), site="noise")
        if i == 0 or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


@right(E1, ROWS, ROWSN)
def noisy_max_numpy(data, rng):
    noisy = data.sum(axis=0) + rng.laplace(0, 2, size=6)
    return int(noisy.argmax())


@wrong(E1, ALL, ALLN)
def noisy_max_w1(coins, queries):
    best = place = i = 0
    shared = coins.draw(Laplace(scale=2), site="noise")
    for answer in queries:
        noisy = answer + shared
        if i == 0 or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


@wrong(E1, ROWS, ROWSN)
def noisy_max_numpy_w1(data, rng):
    noisy = data.sum(axis=0) + rng.laplace(0, 2)
    return int(noisy.argmax())


# SparseVector, N = 1.
@right(E1, ALL, ALLN)
def sparse_vector_1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        if answer + coins.draw(Laplace(scale=4), site="query") >= level:
            coins.reveal(True, site="above")
            return
        coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def sparse_vector_1_numpy(data, rng):
    answers = data.sum(axis=0)
    level = 5 + rng.laplace(0, 2)
    for i in range(6):
        if answers[i] + rng.laplace(0, 4) >= level:
            return i
    return -1


@wrong(E1, ALL, ALLN)
def sparse_vector_1_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        if answer + coins.draw(Laplace(scale=2), site="query") >= level:
            coins.reveal(True, site="above")
            return
        coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def sparse_vector_1_numpy_w1(data, rng):
    answers = data.sum(axis=0)
    level, noise = 5 + rng.laplace(0, 2), rng.laplace(0, 4)
    for i in range(6):
        if answers[i] * 2 + noise >= level:
            return i
    return -1


# SparseVector, N = 3.
@right(E1, ALL, ALLN)
def sparse_vector_n(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if count >= 3:
            return
        if answer + coins.draw(Laplace(scale=12), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
        else:
            coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def sparse_vector_n_numpy(data, rng):
    level, out = 5 + rng.laplace(0, 2), []
    for answer in data.sum(axis=0):
        out.append(bool(answer + rng.laplace(0, 12) >= level))
        if sum(out) == 3:
            break
    return out


@wrong(E1, EIGHT, ALLN)
def sparse_vector_n_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if count >= 3:
            return
        if answer + coins.draw(Laplace(scale=4), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
        else:
            coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def sparse_vector_n_numpy_w1(data, rng):
    level, out = 5 + rng.laplace(0, 2), []
    for answer in data.sum(axis=0):
        out.append(bool(answer + rng.laplace(0, 4) >= level))
        if sum(out) == 3:
            break
    return out


# NumericalSparseVector, N = 1 and N = 3.
@right(E1, ALL, ALLN)
def numerical_sparse_vector_1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=3), site="level")
    for answer in queries:
        if answer + coins.draw(Laplace(scale=6), site="query") >= level:
            coins.release(answer, Laplace(scale=3), site="value")
            return
        coins.reveal(False, site="above")


@right(E1, ALL, ALLN)
def numerical_sparse_vector_n(coins, queries):
    level = 5 + coins.draw(Laplace(scale=3), site="level")
    count = 0
    for answer in queries:
        if count >= 3:
            return
        if answer + coins.draw(Laplace(scale=18), site="query") >= level:
            coins.release(answer, Laplace(scale=9), site="value")
            count += 1
        else:
            coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def numerical_sparse_vector_numpy(data, rng):
    epsilon, n = 1.0, 3
    level, count, out = 5 + rng.laplace(0, 3 / epsilon), 0, []
    for answer in data.sum(axis=0):
        if answer + rng.laplace(0, 6 * n / epsilon) >= level:
            out.append(answer + rng.laplace(0, 3 * n / epsilon))
            count += 1
        else:
            out.append(None)
        if count >= n:
            break
    return out


@wrong(E1, ALL, ALLN)
def numerical_sparse_vector_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=3), site="level")
    for answer in queries:
        if answer + coins.draw(Laplace(scale=6), site="query") >= level:
            coins.release(answer, Laplace(scale=1), site="value")
            return
        coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def numerical_sparse_vector_numpy_w1(data, rng):
    epsilon, n = 1.0, 3
    level, count, out = 5 + rng.laplace(0, 3 / epsilon), 0, []
    for answer in data.sum(axis=0):
        noise = rng.laplace(0, 3 / epsilon)
        if answer + noise >= level:
            out.append(answer + noise)
            count += 1
        else:
            out.append(None)
        if count >= n:
            break
    return out


# GapSparseVector, N = 1.
@right(E1, ALL, ALLN)
def gap_sparse_vector(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=4), site="query")
        if noisy >= level:
            coins.reveal(noisy - level, site="gap")
            return
        coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def gap_sparse_vector_numpy(data, rng):
    level = 5 + rng.laplace(0, 2)
    for i, answer in enumerate(data.sum(axis=0)):
        gap = answer + rng.laplace(0, 4) - level
        if gap >= 0:
            return i, gap
    return None


@wrong(E1, ALL, ALLN)
def gap_sparse_vector_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=4), site="query")
        if noisy >= level:
            coins.reveal(level, site="level")
            return
        coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def gap_sparse_vector_numpy_w1(data, rng):
    level = 5 + rng.laplace(0, 2)
    for i, answer in enumerate(data.sum(axis=0)):
        gap = answer + rng.laplace(0, 2) - level
        if gap >= 0:
            return i, gap
    return None


# PartialSum.
@right(E1, ONE, ONEN)
def partial_sum(coins, queries):
    total = 0
    for answer in queries:
        total += answer
    coins.reveal(total + coins.draw(Laplace(scale=1), site="noise"), site="sum")


@right(E1, STREAM, STREAMN)
def partial_sum_numpy(data, rng):
    return np.add(np.sum(data), rng.laplace())


@wrong(E1, ONE, ONEN)
def partial_sum_w1(coins, queries):
    total = 0
    for answer in queries:
        total += answer
        coins.release(total, Laplace(scale=1), site="sum")


@wrong(E1, STREAM, STREAMN)
def partial_sum_numpy_w1(data, rng):
    return np.add(np.sum(data * 2), rng.laplace())


# PrefixSum: noise is added to each answer once.
@right(E1, ONE, ONEN)
def prefix_sum(coins, queries):
    shown = 0
    for answer in queries:
        shown = shown + answer + coins.draw(Laplace(scale=1), site="noise")
        coins.reveal(shown, site="prefix")


@right(E1, STREAM, STREAMN)
def prefix_sum_numpy(data, rng):
    return np.cumsum(data + rng.laplace(size=len(data)))


@wrong(E1, ONE, ONEN)
def prefix_sum_w1(coins, queries):
    shown = total = 0
    for answer in queries:
        total = total + answer
        shown = total + coins.draw(Laplace(scale=1), site="noise")
        coins.reveal(shown, site="prefix")


@wrong(E1, STREAM, STREAMN)
def prefix_sum_numpy_w1(data, rng):
    return np.cumsum(data) + rng.laplace(size=len(data))


# SmartSum, blocks of three, 2-DP at scale 1.
@right(E1, ONE, ONEN)
def smart_sum(coins, queries):
    shown = total = i = 0
    for answer in queries:
        i += 1
        if i % 3 == 0:
            shown = shown + total + answer + coins.draw(Laplace(scale=2), site="block")
            total = 0
        else:
            shown = shown + answer + coins.draw(Laplace(scale=2), site="one")
            total = total + answer
        coins.reveal(shown, site="sum")


@right(E1, STREAM)
def smart_sum_numpy(data, rng):
    blocks = data.reshape(3, 3).sum(axis=1) + rng.laplace(0, 2, size=3)
    ones = data + rng.laplace(0, 2, size=9)
    before = np.concatenate([[0.0], np.cumsum(blocks)[:2]])
    return (before[:, None] + np.cumsum(ones.reshape(3, 3), axis=1)).ravel()


@wrong(E1, ONE, ONEN)
def smart_sum_w1(coins, queries):
    shown = total = i = 0
    for answer in queries:
        i += 1
        if i % 3 == 0:
            shown = shown + total + answer + coins.draw(Laplace(scale=2), site="block")
        else:
            shown = shown + answer + coins.draw(Laplace(scale=2), site="one")
            total = total + answer
        coins.reveal(shown, site="sum")


@wrong(E1, STREAM)
def smart_sum_numpy_w1(data, rng):
    blocks = data.reshape(3, 3).sum(axis=1) + rng.laplace(0, 1, size=3)
    ones = data + rng.laplace(0, 2, size=9)
    before = np.concatenate([[0.0], np.cumsum(blocks)[:2]])
    return (before[:, None] + np.cumsum(ones.reshape(3, 3), axis=1)).ravel()
