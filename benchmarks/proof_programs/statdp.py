"""Programs of StatDP, DP-Finder, DP-Sniper and Lyu, Su and Li whose names differ from CheckDP's.

Sources: StatDP (Ding, Wang, Wang, Zhang and Kifer, CCS 2018), DP-Finder (Bichsel et al., CCS 2018), DP-Sniper
(Bichsel, Steffen, Bogunovic and Vechev, S&P 2021), and the variants 1 to 6 of sparse vector (Lyu, Su and Li,
VLDB 2017, Figure 1) with c = 2 positive answers, or c = 1 where the violation then needs fewer queries.
"""

from __future__ import annotations

import numpy as np

from benchmarks.proof_programs.registry import List, Queries
from dpaudit.core.data import EVERY, Integers, Interval, Records
from dpaudit.distributions import DiscreteLaplace, Exponential, Laplace
from dpaudit.prover.data import Symbols

__all__ = ["STATDP"]

STATDP = List("statdp")
right, wrong = STATDP.right, STATDP.wrong

E1 = {"epsilon": 1}
ALL, EIGHT, ALLN = Queries(Symbols(4)), Queries(Symbols(8)), Queries(Symbols(EVERY))
ROWS = Records(Interval(0, 1), size=50, width=5)
ROWSN = Records(Interval(0, 1), size=EVERY, width=5)
CAT, CATN = Records(Integers(0, 4), size=50), Records(Integers(0, 4), size=EVERY)
BITS, BITSN = Records(Integers(0, 1), size=5), Records(Integers(0, 1), size=EVERY)
STREAM, STREAMN = Records(Interval(0, 1), size=10), Records(Interval(0, 1), size=EVERY)


# noisyMax1a, 1b: Laplace noise, position or value. noisyMax2a, 2b: exponential noise.
@right(E1, ROWS, ROWSN)
def noisy_max_1a(data, rng):
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=2, size=5))


@wrong(E1, ROWS, ROWSN)
def noisy_max_1b(data, rng):
    return (data.sum(axis=0) + rng.laplace(scale=2, size=5)).max()


@right(E1, ROWS, ROWSN)
def noisy_max_2a(data, rng):
    return np.argmax(data.sum(axis=0) + rng.exponential(scale=2, size=5))


@wrong(E1, ROWS, ROWSN)
def noisy_max_2b(data, rng):
    return (data.sum(axis=0) + rng.exponential(scale=2, size=5)).max()


@wrong(E1, ROWS, ROWSN)
def noisy_max_2a_w1(data, rng):
    return np.argmax(data.sum(axis=0) + rng.exponential(scale=1, size=5))


@right(E1, ALL, ALLN)
def noisy_max_2a_loop(coins, queries):
    best, place, i = None, 0, 0
    for answer in queries:
        noisy = answer + coins.draw(Exponential(scale=2), site="noise")
        if best is None or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


@wrong(E1, ALL, ALLN)
def noisy_max_2a_loop_w1(coins, queries):
    best, place, i = None, 0, 0
    for answer in queries:
        noisy = answer + coins.draw(Exponential(scale=1), site="noise")
        if best is None or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


# noisyHist1a has scale 1 / epsilon, noisyHist1b has scale epsilon.
@right({"epsilon": "1/4"}, CAT, CATN, adjacency="add-remove")
def noisy_hist_1a(data, rng):
    return [np.sum(data == k) + rng.laplace(scale=4) for k in range(5)]


@wrong({"epsilon": "1/4"}, CAT, CATN, adjacency="add-remove")
def noisy_hist_1b(data, rng):
    return [np.sum(data == k) + rng.laplace(scale=0.25) for k in range(5)]


# SVT1 to SVT6.
@right(E1, ALL, ALLN)
def svt_1(coins, queries):
    level, count = 1 + coins.draw(Laplace(scale=2), site="level"), 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=8), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count >= 2:
                return
        else:
            coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def svt_1_numpy(data, rng):
    level, count, out = 1 + rng.laplace(scale=2), 0, []
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=8) >= level:
            out.append(True)
            count += 1
            if count >= 2:
                break
        else:
            out.append(False)
    return out


@right(E1, ALL, ALLN)
def svt_2(coins, queries):
    level, count = 1 + coins.draw(Laplace(scale=4), site="level"), 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=8), site="query") >= level:
            coins.reveal(True, site="above")
            level = 1 + coins.draw(Laplace(scale=4), site="level")
            count += 1
            if count >= 2:
                return
        else:
            coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def svt_2_numpy(data, rng):
    level, count, out = 1 + rng.laplace(scale=4), 0, []
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=8) >= level:
            out.append(True)
            level = 1 + rng.laplace(scale=4)
            count += 1
            if count >= 2:
                break
        else:
            out.append(False)
    return out


# Wrong: a new threshold after each positive answer, with the noise of one.
@wrong(E1, ALL, ALLN)
def svt_2_w1(coins, queries):
    level, count = 1 + coins.draw(Laplace(scale=2), site="level"), 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=2), site="query") >= level:
            coins.reveal(True, site="above")
            level = 1 + coins.draw(Laplace(scale=2), site="level")
            count += 1
            if count >= 2:
                return
        else:
            coins.reveal(False, site="above")


@wrong(E1, EIGHT, ALLN)
def svt_3(coins, queries):
    level = 1 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=2), site="query")
        if noisy >= level:
            coins.reveal(noisy, site="value")
            return
        coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def svt_3_numpy(data, rng):
    level, out = 1 + rng.laplace(scale=2), []
    for answer in data.sum(axis=0):
        noisy = answer + rng.laplace(scale=2)
        if noisy >= level:
            out.append(noisy)
            break
        out.append(None)
    return out


@wrong(E1, ALL, ALLN)
def svt_4(coins, queries):
    level, count = 1 + coins.draw(Laplace(scale=4), site="level"), 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale="4/3"), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count >= 2:
                return
        else:
            coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def svt_4_numpy(data, rng):
    level, count, out = 1 + rng.laplace(scale=4), 0, []
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=4 / 3) >= level:
            out.append(True)
            count += 1
            if count >= 2:
                break
        else:
            out.append(False)
    return out


@wrong(E1, ALL, ALLN)
def svt_5(coins, queries):
    level = 1 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        coins.reveal("above" if answer >= level else "below", site="answer")


@wrong(E1, ALL, ALLN)
def svt_6(coins, queries):
    level = 1 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        coins.reveal(
            "above" if answer + coins.draw(Laplace(scale=2), site="q") >= level else "below", site="a"
        )


@wrong(E1, ROWS, ROWSN)
def svt_5_numpy(data, rng):
    return list(data.sum(axis=0) >= 1 + rng.laplace(scale=2))


@wrong(E1, ROWS, ROWSN)
def svt_6_numpy(data, rng):
    return (data.sum(axis=0) + rng.laplace(scale=2, size=5) >= 1 + rng.laplace(scale=2)).tolist()


# SVT34Parallel: variants 3 and 4 on the same answers.
@wrong(E1, ROWS, ROWSN)
def svt_34_parallel(data, rng):
    answers, out = data.sum(axis=0), []
    level = 1 + rng.laplace(scale=2)
    for answer in answers:
        noisy = answer + rng.laplace(scale=2)
        if noisy >= level:
            out.append(noisy)
            break
        out.append(None)
    level = 1 + rng.laplace(scale=4)
    for answer in answers:
        out.append(bool(answer + rng.laplace(scale=4 / 3) >= level))
        if out[-1]:
            break
    return out


# NumericalSVT (Dwork and Roth 2014, section 3.6).
@right(E1, ROWS, ROWSN)
def numerical_svt(data, rng):
    level = 1 + rng.laplace(scale=9 / 4)
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=9 / 2) >= level:
            return answer + rng.laplace(scale=9)
    return None


@wrong(E1, ROWS, ROWSN)
def numerical_svt_w1(data, rng):
    level = 1 + rng.laplace(scale=9 / 4)
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=9 / 2) >= level:
            return answer + rng.laplace(scale=1)
    return None


# OneTimeRAPPOR and RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014) on one-hot bits, f = 3/4:
# epsilon = 2 log((1 - f/2) / (f/2)) = 2 log(5/3) = 1.0217.
@right({"epsilon": "103/100"}, CAT, CATN)
def one_time_rappor(data, rng):
    n = len(data)
    bits = data[:, None] == np.arange(5)
    replaced = rng.random((n, 5)) < 0.75
    fair = rng.random((n, 5)) < 0.5
    return np.where(replaced, fair, bits)


@right({"epsilon": "103/100"}, CAT, CATN)
def one_time_rappor_direct(data, rng):
    bits = data[:, None] == np.arange(5)
    return rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)


@right({"epsilon": "103/100"}, CAT, CATN)
def rappor(data, rng):
    bits = data[:, None] == np.arange(5)
    permanent = rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)
    return rng.random((len(data), 5)) < np.where(permanent, 0.75, 0.5)


@wrong({"epsilon": "103/100"}, CAT, CATN)
def one_time_rappor_w1(data, rng):
    bits = data[:, None] == np.arange(5)
    return rng.random((len(data), 5)) < np.where(bits, 0.75, 0.25)


@wrong({"epsilon": "103/100"}, CAT, CATN)
def rappor_w1(data, rng):
    bits = data[:, None] == np.arange(5)
    first = rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)
    second = rng.random((len(data), 5)) < np.where(bits, 0.625, 0.375)
    return first, second


# PrefixSum: noise on each element, then sums.
@right(E1, STREAM, STREAMN)
def prefix_sum(data, rng):
    return np.cumsum(data + rng.laplace(scale=1, size=len(data)))


@right(E1, STREAM)
def prefix_sum_loop(data, rng):
    out, total = [], 0.0
    for x in data:
        total = total + x + rng.laplace(scale=1)
        out.append(total)
    return out


@wrong(E1, STREAM)
def prefix_sum_w1(data, rng):
    out, total, noise = [], 0.0, rng.laplace(scale=1)
    for x in data:
        total = total + x
        out.append(total + noise)
    return out


# TruncatedGeometric (Ghosh, Roughgarden and Sundararajan 2009) on a count.
@right(E1, BITS, BITSN)
def truncated_geometric(coins, data):
    noisy = coins.release(data.sum(), DiscreteLaplace(scale=1), site="count")
    return min(max(noisy, 0), 5)


@right(E1, BITS, BITSN)
def truncated_geometric_numpy(data, rng):
    p = 1 - np.exp(-1.0)
    return np.clip(data.sum() + rng.geometric(p) - rng.geometric(p), 0, 5)


@wrong(E1, BITS, BITSN)
def truncated_geometric_w1(coins, data):
    noisy = coins.release(2 * data.sum(), DiscreteLaplace(scale=1), site="count")
    return min(max(noisy, 0), 10)


@wrong(E1, BITS, BITSN)
def truncated_geometric_numpy_w1(data, rng):
    return np.clip(data.sum() + rng.geometric(0.9), 0, 5)


# LaplaceMechanism and LaplaceParallel: one number, once, and 20 times with a twentieth of the budget each.
@right(E1, Records(Interval(0, 1), size=1))
def laplace_mechanism(data, rng):
    return data[0] + rng.laplace(scale=1)


@right(E1, Records(Interval(0, 1), size=1))
def laplace_parallel(data, rng):
    return [data[0] + rng.laplace(scale=20) for _ in range(20)]


@right(E1, Records(Interval(0, 1), size=1))
def laplace_parallel_array(data, rng):
    return data[0] + rng.laplace(scale=20, size=20)


@wrong(E1, Records(Interval(0, 1), size=1))
def laplace_mechanism_w1(data, rng):
    return data[0] + rng.laplace(scale=0.9)


@wrong(E1, Records(Interval(0, 1), size=1))
def laplace_parallel_w1(data, rng):
    return [data[0] + rng.laplace(scale=1) for _ in range(20)]
