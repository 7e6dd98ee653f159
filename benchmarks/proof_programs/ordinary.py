"""Mechanisms as users write them in numpy, each with wrong versions that a proof must reject."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.proof_programs.registry import List
from dpaudit.core.data import EVERY, Anything, Ball, Integers, Interval, Records, Table
from dpaudit.distributions import DiscreteLaplace, Gaussian, Laplace

__all__ = ["ORDINARY"]

ORDINARY = List("ordinary")
right, wrong = ORDINARY.right, ORDINARY.wrong

EPS = 1.0


E1, E2 = {"epsilon": 1}, {"epsilon": 2}
X, XN = Records(Anything(), size=200), Records(Anything(), size=EVERY, at_least=2)
B, BN = Records(Interval(0, 1), size=200), Records(Interval(0, 1), size=EVERY, at_least=2)
BITS, BITSN = Records(Integers(0, 1), size=50), Records(Integers(0, 1), size=EVERY)
CAT, CATN = Records(Integers(0, 4), size=200), Records(Integers(0, 4), size=EVERY)
ROWS, ROWSN = Records(Anything(), size=100, width=3), Records(Anything(), size=EVERY, width=3)
BALL, BALLN = Records(Ball(1, width=3), size=100), Records(Ball(1, width=3), size=EVERY)
AR = {"adjacency": "add-remove"}


# 1 clipped sum
@right(E1, X, XN)
def clipped_sum(data, rng):
    return float(np.clip(data, 0, 10).sum()) + rng.laplace(scale=10 / EPS)


@wrong(E1, X, XN)
def clipped_sum_w1(data, rng):
    return float(np.clip(data, -10, 10).sum()) + rng.laplace(scale=10 / EPS)


@wrong(E1, X, XN)
def clipped_sum_w2(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=10 / EPS)


@wrong(E1, X, XN)
def clipped_sum_w3(data, rng):
    return float(np.clip(data, 0, 10).sum() + 100 * np.sin(8 * data).sum()) + rng.laplace(scale=10 / EPS)


# 2 mean
@right(E1, X, XN)
def mean(data, rng):
    n = len(data)
    x = np.clip(data, 0, 1)
    return x.mean() + rng.laplace(0, 1 / (n * EPS))


@wrong(E1, X, XN)
def mean_w1(data, rng):
    n = len(data)
    x = np.clip(data, 0, 1)
    return x.mean() + rng.laplace(0, 1 / (n * n * EPS))


@wrong(E1, Records(Interval(0, 2), size=200), Records(Interval(0, 2), size=EVERY))
def mean_w2(data, rng):
    return data.mean() + rng.laplace(0, 1 / (data.size * EPS))


# 3 count
@right(E1, X, XN)
def count(data, rng):
    return int((data > 3).sum()) + rng.laplace(scale=1 / EPS)


@right(E1, X, XN, **AR)
def count_addremove(data, rng):
    return np.count_nonzero(data > 3) + rng.laplace(scale=1 / EPS)


@wrong(E1, X, XN)
def count_w1(data, rng):
    return int((data > 3).sum()) + rng.laplace(scale=0.5 / EPS)


@wrong(E1, X, XN, **AR)
def count_w2(data, rng):
    return [np.sum(data > 3) + rng.laplace(scale=1 / EPS), len(data)]


@wrong(E1, X, XN)
def count_w3(data, rng):
    return int((data > 3).sum()) + rng.laplace(scale=1 / EPS), bool((data == 7).any())


# 4 histogram
@right(E1, X, XN)
def histogram(data, rng):
    counts, _edges = np.histogram(data, bins=10, range=(0, 100))
    return counts + rng.laplace(scale=2 / EPS, size=10)


@right(E1, X, XN, **AR)
def histogram_addremove(data, rng):
    counts, _ = np.histogram(data, bins=[0, 10, 20, 50, 100])
    return np.maximum(counts + rng.laplace(scale=1 / EPS, size=len(counts)), 0).round()


@wrong(E1, X, XN)
def histogram_w1(data, rng):
    counts, _edges = np.histogram(data, bins=10, range=(0, 100))
    return counts + rng.laplace(scale=1 / EPS, size=10)


@wrong(E1, X, XN)
def histogram_w2(data, rng):
    counts, edges = np.histogram(data, bins=10)
    return counts + rng.laplace(scale=2 / EPS, size=10), edges


@wrong(E1, X, XN)
def histogram_w3(data, rng):
    counts, _edges = np.histogram(data, bins=10, range=(0, 100))
    return counts + rng.laplace(scale=2 / EPS)


# 5 bincount
@right(E1, CAT, CATN)
def bincount(data, rng):
    return np.bincount(data, minlength=5) + rng.laplace(scale=2 / EPS, size=5)


@right({"rho": "1/8"}, CAT, CATN)
def bincount_gauss(data, rng):
    return np.bincount(data, minlength=5) + rng.normal(0, math.sqrt(8), size=5)


@wrong(E1, CAT, CATN)
def bincount_w1(data, rng):
    return np.bincount(data, minlength=4)[:4] + rng.laplace(scale=2 / EPS, size=4)


@wrong({"rho": "1/8"}, CAT, CATN)
def bincount_w2(data, rng):
    return np.bincount(data, minlength=5) * 2 + rng.normal(0, math.sqrt(8), size=5)


# 6 one-hot histogram by comparison, released one by one through coins
@right(E1, CAT, CATN)
def one_by_one(coins, data):
    counts = (data[:, None] == np.arange(5)).sum(axis=0)
    return [coins.release(counts[k], Laplace(scale=2), site="c") for k in range(5)]


@wrong(E1, CAT, CATN)
def one_by_one_w1(coins, data):
    counts = (data[:, None] >= np.arange(5)).sum(axis=0)
    return [coins.release(counts[k], Laplace(scale=2), site="c") for k in range(5)]


@wrong(E1, CAT, CATN)
def one_by_one_w2(coins, data):
    counts = (data[:, None] == np.array([0, 1, 1, 1, 1])).sum(axis=0)
    return [coins.release(counts[k], Laplace(scale=2), site="c") for k in range(5)]


# 7 groups by a condition in a loop (parallel composition over values)
@right(E1, CAT, CATN, **AR)
def groups_loop(data, rng):
    return [np.sum(data == k) + rng.laplace(scale=1 / EPS) for k in range(5)]


@right(E2, CAT, CATN)
def groups_loop_replace(data, rng):
    return [np.sum(data == k) + rng.laplace(scale=1 / EPS) for k in range(5)]


@wrong(E1, CAT, CATN, **AR)
def groups_loop_w1(data, rng):
    return [np.sum(data <= k) + rng.laplace(scale=1 / EPS) for k in range(5)]


@wrong(E1, CAT, CATN)
def groups_loop_w2(data, rng):
    return [np.sum(data == k) + rng.laplace(scale=1 / EPS) for k in range(5)]


# 8 DP-SGD step: per-row clip, sum, Gaussian
@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def dpsgd(data, rng):
    C, sigma = 1.5, 1.0
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    clipped = data * np.minimum(1, C / (norms + 1e-12))
    return clipped.sum(axis=0) + rng.normal(0, sigma * C, size=3)


@right({"mu": 1}, ROWS, ROWSN)
def dpsgd_replace(data, rng):
    C, sigma = 1.5, 2.0
    norms = np.linalg.norm(data, axis=1)
    clipped = data / np.maximum(1.0, norms / C)[:, None]
    return np.sum(clipped, axis=0) + rng.normal(0, sigma * C, size=3)


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def dpsgd_noguard(data, rng):
    C, sigma = 1.5, 1.0
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    return (data * np.minimum(1, C / norms)).sum(axis=0) + rng.normal(
        0, sigma * C, size=3
    )  # a zero row: C / 0 = inf, min(1, inf) = 1


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def dpsgd_w1(data, rng):
    C, sigma = 1.5, 1.0
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    return (data * (C / norms)).sum(axis=0) + rng.normal(0, sigma * C, size=3)  # 0 * inf = nan on a zero row


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def dpsgd_w2(data, rng):
    C, sigma = 1.5, 1.0
    g = data.sum(axis=0)
    return g * np.minimum(1, C / (np.linalg.norm(g) + 1e-9)) + rng.normal(0, sigma * C / 2, size=3)


@wrong({"mu": 1}, ROWS, ROWSN)
def dpsgd_w3(data, rng):
    C, sigma = 1.5, 1.0
    norms = np.linalg.norm(data, axis=1)
    return np.sum(data / np.maximum(1.0, norms / C)[:, None], axis=0) + rng.normal(0, sigma * C, size=3)


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def dpsgd_w4(data, rng):
    C, sigma = 1.5, 1.0
    norms = np.linalg.norm(data, axis=1, keepdims=True, ord=np.inf)
    return (data * np.minimum(1, C / (norms + 1e-9))).sum(axis=0) + rng.normal(0, sigma * C, size=3)


# 9 second moment / covariance
@right({"rho": "1/4"}, BALL, BALLN)
def second_moment(data, rng):
    return data.T @ data + rng.normal(0, 2, size=(3, 3))


@wrong({"rho": "1/8"}, BALL, BALLN)
def second_moment_w1(data, rng):
    return data.T @ data + rng.normal(0, 2, size=(3, 3))


@wrong(
    {"rho": "1/4"}, Records(Interval(-1, 1), size=100, width=3), Records(Interval(-1, 1), size=EVERY, width=3)
)
def second_moment_w2(data, rng):
    return data.T @ data + rng.normal(0, 2, size=(3, 3))


# 10 quantile by the exponential mechanism on a grid
@right(E1, X, XN)
def quantile(data, rng):
    grid = np.linspace(0, 10, 21)
    below = (data[:, None] <= grid).sum(axis=0)
    scores = -np.abs(below - 0.5 * len(data))
    p = np.exp(EPS * (scores - scores.max()) / 2)
    return grid[rng.choice(21, p=p / p.sum())]


@wrong(E1, X, XN)
def quantile_w1(data, rng):
    grid = np.linspace(0, 10, 21)
    scores = -np.abs((data[:, None] <= grid).sum(axis=0) - 0.5 * len(data))
    p = np.exp(EPS * scores)
    return grid[rng.choice(21, p=p / p.sum())]


@wrong(E1, X, XN)
def quantile_w2(data, rng):
    return float(np.median(np.clip(data, 0, 10))) + rng.laplace(scale=1 / EPS)


@right(E1, Records(Interval(0, 1), size=9), BN)
def honest_median(data, rng):
    return float(np.median(data)) + rng.laplace(scale=1 / EPS)


# 11 sparse vector on counts
@right(E1, X, XN)
def svt(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for t in range(4):
        if (data > t).sum() + coins.draw(Laplace(scale=4), site="q") >= level:
            return t
    return None


@right(E1, X, XN)
def svt_long(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for t in range(12):
        if (data > t).sum() + coins.draw(Laplace(scale=4), site="q") >= level:
            return t
    return None


@right(E1, X, XN)
def svt_gap_threshold(data, rng):
    level = 100 + rng.laplace(scale=2)
    found = []
    for t in range(8):
        if np.clip(data - t, 0, 1).sum() + rng.laplace(scale=4) > level:
            found.append(t)
            break
    return found


@wrong(E1, X, XN)
def svt_long_w1(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    out = []
    for t in range(6):
        out.append(2 * (data > t).sum() + coins.draw(Laplace(scale=4), site="q") >= level)
        if out[-1]:
            return out
    return out


@wrong(E1, X, XN)
def svt_w1(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for t in range(4):
        if (data > t).sum() >= level:
            return t
    return None


@wrong(E1, X, XN)
def svt_w2(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    out = []
    for t in range(8):
        out.append(bool((data > t).sum() + coins.draw(Laplace(scale=4), site="q") >= level))
    return out


@wrong(E1, X, XN)
def svt_w3(coins, data):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for t in range(5):
        q = (data > t).sum() + coins.draw(Laplace(scale=4), site="q")
        if q >= level:
            return t, q
    return None


# 12 noisy max on counts, by argmax and by a loop
@right(E1, CAT, CATN)
def noisy_max(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.laplace(scale=2 / EPS, size=5)))


@right(E1, CAT, CATN, **AR)
def noisy_max_addremove(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.exponential(scale=1 / EPS, size=5)))


@right(E1, CAT, CATN)
def noisy_max_loop(coins, data):
    best, place = coins.draw(Laplace(scale=2), site="0") + (data >= 0).sum(), 0
    for k in range(1, 4):
        v = (data >= k).sum() + coins.draw(Laplace(scale=2), site="k")
        if v > best:
            best, place = v, k
    return place


@wrong(E1, CAT, CATN)
def noisy_max_w1(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.laplace(scale=1 / EPS, size=5)))


@wrong(E1, CAT, CATN)
def noisy_max_w2(data, rng):
    v = np.bincount(data, minlength=5) + rng.laplace(scale=2 / EPS, size=5)
    return int(np.argmax(v)), v[0], float(np.bincount(data, minlength=5).max())


@wrong(E1, CAT, CATN)
def noisy_max_w3(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.laplace(scale=2 / EPS)))


# 13 voting (PATE)
@right(E1, CAT, CATN)
def vote(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.gumbel(scale=2 / EPS, size=5)))


@wrong(E1, CAT, CATN)
def vote_w1(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5)))


# 14 top k
@right(E1, CAT, CATN)
def topk(data, rng):
    return np.argsort(np.bincount(data, minlength=5) + rng.gumbel(scale=2 * 2 / EPS, size=5))[-2:]


@wrong(E1, CAT, CATN)
def topk_w1(data, rng):
    return np.argsort(np.bincount(data, minlength=5) + rng.gumbel(scale=2 / EPS, size=5))[-2:]


# 15 k-means step
@right({"rho": "3/8"}, BALL, BALLN)
def kmeans(data, rng):
    centres = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    d = (
        np.stack([((data - c) ** 2).sum(axis=1) for c in centres])
        if False
        else ((data[:, None, :] - centres) ** 2).sum(axis=2)
    )
    near = d.argmin(axis=1)
    out = []
    for k in range(3):
        mine = data[near == k]
        s = mine.sum(axis=0) + rng.normal(0, 4, size=3)
        m = len(mine) + rng.normal(0, 4)
        out.append(s / max(m, 1))
    return out


@wrong({"rho": "3/8"}, BALL, BALLN)
def kmeans_w1(data, rng):
    centres = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    near = ((data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    out = []
    for k in range(3):
        mine = data[near == k]
        out.append((mine.sum(axis=0) + rng.normal(0, 4, size=3)) / max(len(mine), 1))
    return out


@wrong({"rho": "3/8"}, BALL, BALLN)
def kmeans_w2(data, rng):
    centres = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    near = ((data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return [data[near == k].mean(axis=0) + rng.normal(0, 4, size=3) for k in range(3)]


# 16 propose-test-release on a count
@right(E1, X, XN, **AR)
def ptr(data, rng):
    big = len(data) + rng.laplace(scale=2 / EPS)
    if big < 50:
        return None
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=2 / EPS)


@wrong(E1, X, XN, **AR)
def ptr_w1(data, rng):
    if len(data) < 50:
        return None
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPS)


@wrong(E1, X, XN)
def ptr_w2(data, rng):
    if (data > 0).sum() < 50:
        return None
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1 / EPS)


# 17 randomised response
@right({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response(data, rng):
    keep = rng.random(len(data)) < 0.75
    return np.where(keep, data, 1 - data)


@right({"epsilon": "27/10"}, CAT, CATN)
def k_ary_response(data, rng):
    keep = rng.random(len(data)) < 0.7
    return np.where(keep, data, rng.integers(5, size=len(data))).mean()


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def rr_w1(data, rng):
    keep = rng.random(len(data)) < 0.8
    return np.where(keep, data, 1 - data)


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def rr_w2(data, rng):
    keep = rng.random(len(data)) < 0.75
    return np.where(keep, data, 0)


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def rr_w3(data, rng):
    keep = rng.random(len(data)) < 0.75
    return np.where(keep, data, 1 - data), keep


# 18 prefix sums and trees
@right(E1, Records(Interval(0, 1), size=16))
def prefix_sums(data, rng):
    return np.cumsum(data) + rng.laplace(scale=16 / EPS, size=16)


@right(E1, Records(Interval(0, 1), size=16))
def tree(data, rng):
    out = []
    for level in range(5):
        s = data.reshape(-1, 2**level).sum(axis=1)
        out.append(s + rng.laplace(scale=5 / EPS, size=s.shape))
    return out


@right(E1, Records(Interval(0, 1), size=16))
def tree_slices(coins, data):
    return [
        coins.release(sum(data[i : i + w]), Laplace(scale=5), site="n")
        for w in (1, 2, 4, 8, 16)
        for i in range(0, 16, w)
    ]


@wrong(E1, Records(Interval(0, 1), size=16))
def prefix_sums_w1(data, rng):
    return np.cumsum(data) + rng.laplace(scale=15 / EPS, size=16)


@wrong(E1, Records(Interval(0, 1), size=16))
def tree_w1(data, rng):
    out = []
    for level in range(5):
        s = data.reshape(-1, 2**level).sum(axis=1)
        out.append(s + rng.laplace(scale=4 / EPS, size=s.shape))
    return out


@wrong(E1, Records(Interval(0, 1), size=16))
def tree_w2(coins, data):
    return [
        coins.release(sum(data[i : i + w]), Laplace(scale=5), site="n")
        for w in (1, 2, 4, 8, 16)
        for i in range(17 - w)
    ]


# 19 matrix factorisation
ROOT = np.linalg.cholesky(np.tril(np.ones((8, 8))) @ np.tril(np.ones((8, 8))).T)
CC = np.tril(
    np.array(
        [
            [float(math.comb(2 * (i - j), i - j)) / 4 ** (i - j) if i >= j else 0.0 for j in range(8)]
            for i in range(8)
        ]
    )
)
SENS = float(np.sqrt((CC**2).sum(axis=0).max())) + 1e-12


@right({"rho": "1/2"}, Records(Interval(0, 1), size=8))
def factorisation(data, rng):
    noisy = CC @ data + rng.normal(0, SENS, size=8)
    return CC @ noisy


@wrong({"rho": "1/2"}, Records(Interval(0, 1), size=8))
def factorisation_w1(data, rng):
    return CC @ (data + rng.normal(0, 0.5, size=8))


@wrong({"rho": "1/2"}, Records(Interval(0, 2), size=8))
def factorisation_w2(data, rng):
    return CC @ (CC @ data + rng.normal(0, SENS, size=8))


# 20 linear regression from noisy sufficient statistics, DataFrame-ish columns
REG = Table({"x": Interval(-1, 1), "y": Interval(-1, 1)}, size=100)
REGN = Table({"x": Interval(-1, 1), "y": Interval(-1, 1)}, size=EVERY)


@right({"epsilon": 2}, REG, REGN)
def regression(data, rng):
    x, y = data["x"], data["y"]
    xx = (x * x).sum() + rng.laplace(scale=1 / 1.0)
    xy = np.dot(x, y) + rng.laplace(scale=2 / 1.0)
    return xy / max(xx, 1.0)


@wrong({"epsilon": 2}, REG, REGN)
def regression_w1(data, rng):
    x, y = data["x"], data["y"]
    return np.dot(x, y) / np.dot(x, x) + rng.laplace(scale=1 / 1.0)


@wrong({"epsilon": 2}, REG, REGN)
def regression_w2(data, rng):
    x, y = data["x"], data["y"]
    xx = (x * x).sum() + rng.laplace(scale=1 / 1.0)
    xy = np.dot(x, y) + rng.laplace(scale=1 / 1.0)
    return xy / max(xx, 1.0)


# 21 group-by of one column by another
GB = Table({"pay": Interval(0, 10), "dept": Integers(0, 3)}, size=100)
GBN = Table({"pay": Interval(0, 10), "dept": Integers(0, 3)}, size=EVERY)


@right(E1, GB, GBN, **AR)
def group_by(data, rng):
    return {k: data["pay"][data["dept"] == k].sum() + rng.laplace(scale=10 / EPS) for k in range(4)}


@wrong(E1, GB, GBN)
def group_by_w1(data, rng):
    return {k: data["pay"][data["dept"] == k].sum() + rng.laplace(scale=10 / EPS) for k in range(4)}


@wrong(E1, GB, GBN, **AR)
def group_by_w2(data, rng):
    return {
        k: data["pay"][data["dept"] == k].sum() + rng.laplace(scale=10 / EPS)
        for k in range(4)
        if (data["dept"] == k).any()
    }


@wrong(E1, GB, GBN, **AR)
def group_by_w3(data, rng):
    return {k: data["pay"][data["dept"] == k].mean() + rng.laplace(scale=10 / EPS) for k in range(4)}


# 22 adaptive two steps
@right({"rho": "17/32"}, Records(Interval(0, 1), size=3))
def two_looks(coins, data):
    first = coins.release(sum(data), Gaussian(sigma=4), site="first")
    if first > 3:
        coins.release(data[0] - first, Gaussian(sigma=2), site="second")
    else:
        coins.release(2 * data[0], Gaussian(sigma=2), site="second")


@right(E2, X, XN)
def adaptive_clip(data, rng):
    top = max(np.clip(data, 0, 100).sum() * 0.01 + rng.laplace(scale=1.0), 1.0)
    return np.clip(data, 0, top).sum() + rng.laplace(scale=top / 1.0)


@wrong(E2, X, XN)
def adaptive_clip_w1(data, rng):
    top = data.max()
    return np.clip(data, 0, top).sum() + rng.laplace(scale=1.0)


@wrong(E2, X, XN)
def adaptive_clip_w2(data, rng):
    top = np.clip(data, 0, 100).sum() * 0.01 + rng.laplace(scale=1.0)
    return np.clip(data, -top, top).sum() + rng.laplace(scale=2.0)


# 23 mean, then variance around the noisy mean
@right(E2, B, BN)
def mean_then_variance(data, rng):
    n = len(data)
    m = np.clip(data.mean() + rng.laplace(scale=1 / n), 0, 1)
    v = np.clip((data - m) ** 2, 0, 1).mean() + rng.laplace(scale=1 / n)
    return m, np.sqrt(np.maximum(v, 0))


@right(E1, B, BN)
def plain_variance(data, rng):
    return np.var(data) + rng.laplace(scale=1 / (len(data) * EPS))


@wrong(E2, B, BN)
def mean_then_variance_w1(data, rng):
    n = len(data)
    m = data.mean()
    return m + rng.laplace(scale=1 / n), ((data - m) ** 2).sum() / n + rng.laplace(scale=0.5 / n)


@wrong(E1, B, BN)
def plain_variance_w1(data, rng):
    return np.std(data) + rng.laplace(scale=1 / (len(data) * EPS))


# 24 bandit: UCB with batches; rewards of a round go to the arm pulled
@right(E1, Records(Interval(0, 1), size=12))
def bandit(data, rng):
    means, bonus, out, at = [0.0, 0.0], [9.0, 9.0], [], 0
    for _batch in range(4):
        arm = 0 if means[0] + bonus[0] >= means[1] + bonus[1] else 1
        rewards = data[at : at + 3]
        at += 3
        means[arm] = (np.sum(rewards) + rng.laplace(scale=1 / EPS)) / 3
        bonus[arm] = bonus[arm] / 2
        out.append(arm)
    return out


@wrong(E1, Records(Interval(0, 1), size=12))
def bandit_w1(data, rng):
    means, out, at = [0.0, 0.0], [], 0
    for _batch in range(4):
        arm = 0 if means[0] >= means[1] else 1
        rewards = data[0 : at + 3]
        at += 3
        means[arm] = (np.sum(rewards) + rng.laplace(scale=1 / EPS)) / 3
        out.append(arm)
    return out


@wrong(E1, Records(Interval(0, 1), size=12))
def bandit_w2(data, rng):
    means, out, at = [0.5, 0.5], [], 0
    for _batch in range(4):
        arm = 0 if means[0] >= means[1] else 1
        means[arm] = np.sum(data[at : at + 3]) / 3
        at += 3
        out.append(arm)
    return out


# 25 disjoint slices
@right(E1, B)
def slices(data, rng):
    return [data[:100].sum() + rng.laplace(scale=1), data[100:].sum() + rng.laplace(scale=1)]


@wrong(E1, B)
def slices_w1(data, rng):
    return [data[:101].sum() + rng.laplace(scale=1), data[100:].sum() + rng.laplace(scale=1)]


@wrong(E1, B)
def slices_w2(data, rng):
    return [data[::2].sum() + rng.laplace(scale=1), data[::3].sum() + rng.laplace(scale=1)]


# 26 user level: a user is a row of 5 events
@right(E1, Records(Interval(0, 1), size=40, width=5), Records(Interval(0, 1), size=EVERY, width=5))
def user_level(data, rng):
    return np.clip(data.sum(axis=1), 0, 2).sum() + rng.laplace(scale=2 / EPS)


@right(
    E1,
    Records(Interval(0, 1), size=200, group=3),
    Records(Interval(0, 1), size=EVERY, group=3, at_least=3),
    unit="user",
)
def user_group(data, rng):
    return data.sum() + rng.laplace(scale=3 / EPS)


@wrong(E1, Records(Interval(0, 1), size=40, width=5), Records(Interval(0, 1), size=EVERY, width=5))
def user_level_w1(data, rng):
    return data.sum() + rng.laplace(scale=1 / EPS)


@wrong(
    E1,
    Records(Interval(0, 1), size=200, group=3),
    Records(Interval(0, 1), size=EVERY, group=3, at_least=3),
    unit="user",
)
def user_group_w1(data, rng):
    return data.sum() + rng.laplace(scale=1 / EPS)


# 27 pure Python
@right(E1, Records(Anything(), size=40))
def pure_python(coins, data):
    total = 0.0
    for x in data:
        total += min(max(x, 0), 1)
    return coins.release(total, Laplace(scale=1), site="sum")


@wrong(E1, Records(Anything(), size=40))
def pure_python_w1(coins, data):
    total = 0.0
    for x in data:
        total += max(x, 1)
    return coins.release(total, Laplace(scale=1), site="sum")


@wrong(E1, Records(Anything(), size=40))
def pure_python_w2(coins, data):
    total = 0.0
    for x in data:
        if x > 0:
            total += min(x, 1)
    return coins.release(total, Laplace(scale=0.5), site="sum")


# 28 discrete Laplace on a count, geometric post-processing
@right(E1, X, XN)
def discrete(coins, data):
    return max(0, round(coins.release((data > 1).sum(), DiscreteLaplace(scale=1), site="n")))


@wrong(E1, X, XN)
def discrete_w1(coins, data):
    return coins.release((data > 1).mean(), DiscreteLaplace(scale=1), site="n")


# 29 exponential mechanism over public candidates
COSTS = np.array([1.0, 2.0, 5.0, 10.0])


@right(E1, Records(Interval(0, 10), size=100), Records(Interval(0, 10), size=EVERY))
def auction(data, rng):
    revenue = np.array([p * (data >= p).sum() for p in COSTS])
    w = np.exp(revenue * EPS / (2 * 10))
    return COSTS[rng.choice(4, p=w / w.sum())]


@wrong(E1, Records(Interval(0, 10), size=100), Records(Interval(0, 10), size=EVERY))
def auction_w1(data, rng):
    revenue = np.array([p * (data >= p).sum() for p in COSTS])
    w = np.exp(revenue * EPS / 10)
    return COSTS[rng.choice(4, p=w / w.sum())]


@wrong(E1, Records(Interval(0, 10), size=100), Records(Interval(0, 10), size=EVERY))
def auction_w2(data, rng):
    revenue = np.array([p * (data >= p).sum() for p in COSTS])
    return COSTS[int(np.argmax(revenue))]


# 30 noisy sum and noisy count, add-remove mean
@right(E1, X, XN, **AR)
def ratio(data, rng):
    s = np.clip(data, 0, 1).sum() + rng.laplace(scale=2 / EPS)
    n = len(data) + rng.laplace(scale=2 / EPS)
    return s / max(n, 1)


@wrong(E1, X, XN, **AR)
def ratio_w1(data, rng):
    return np.clip(data, 0, 1).mean() + rng.laplace(scale=1 / (len(data) * EPS))


# 31 gradient descent, several steps, (eps, delta)
@right({"epsilon": 2, "delta": "1/100000"}, REG, REGN)
def descent(data, rng):
    x, y, w = data["x"], data["y"], 0.0
    for _t in range(5):
        g = np.clip(x * (x * w - y), -1, 1)
        w = w - 0.1 * (g.sum() + rng.normal(0, 12)) / 100
    return w


@wrong({"epsilon": 2, "delta": "1/100000"}, REG, REGN)
def descent_w1(data, rng):
    x, y, w = data["x"], data["y"], 0.0
    for _t in range(5):
        g = x * (x * w - y)
        w = w - 0.1 * (g.sum() + rng.normal(0, 12)) / 100
    return w


# 32 zero-out adjacency
@right(E1, Records(Interval(0, 5), size=50), Records(Interval(0, 5), size=EVERY), adjacency="zero-out")
def zero_out(data, rng):
    return data.sum() + rng.laplace(scale=5 / EPS)


@wrong(E1, Records(Interval(-5, 5), size=50), Records(Interval(-5, 5), size=EVERY), adjacency="zero-out")
def zero_out_w1(data, rng):
    return [data.sum() + rng.laplace(scale=5 / EPS), abs(data).sum() + rng.laplace(scale=5 / EPS)]


# 33 a marginal of two columns
@right(E1, Table({"a": Integers(0, 1), "b": Integers(0, 2)}, size=100), None)
def marginal(data, rng):
    return np.bincount(data["a"] * 3 + data["b"], minlength=6).reshape(2, 3) + rng.laplace(
        scale=2 / EPS, size=(2, 3)
    )


@wrong(E1, Table({"a": Integers(0, 2), "b": Integers(0, 2)}, size=100), None)
def marginal_w1(data, rng):
    return np.bincount(data["a"] * 3 + data["b"], minlength=6) + rng.laplace(scale=2 / EPS, size=6)


# 34 logistic scores with bounded derivative
@right(E1, BALL, BALLN)
def logistic(data, rng):
    w = np.array([1.0, -2.0, 0.5])
    return np.tanh(data @ w).sum() + rng.laplace(scale=2 / EPS)


@wrong(E1, BALL, BALLN)
def logistic_w1(data, rng):
    w = np.array([1.0, -2.0, 0.5])
    return (data @ w).sum() + rng.laplace(scale=2 / EPS)


# 35 filtered mean of one column, public denominators
@right(E1, GB, GBN)
def filtered(data, rng):
    return np.where(data["dept"] == 2, data["pay"], 0).sum() / 50 + rng.laplace(scale=10 / 50)


@wrong(E1, GB, GBN)
def filtered_w1(data, rng):
    return data["pay"][data["dept"] == 2].sum() / (data["dept"] == 2).sum() + rng.laplace(scale=10 / 50)


# 36 DP-SGD, five steps, weights are outcomes
XY = Table({"X": (Interval(-1, 1), 3), "y": Interval(-1, 1)}, size=100)
XYN = Table({"X": (Interval(-1, 1), 3), "y": Interval(-1, 1)}, size=EVERY)


@right({"rho": "5/8"}, XY, XYN, **AR)
def dpsgd_loop(data, rng):
    X, y, w = data["X"], data["y"], np.zeros(3)
    for _step in range(5):
        g = X * (X @ w - y)[:, None]
        g = g / np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.1 * (g.sum(axis=0) + rng.normal(0, 2, size=3))
    return w


@wrong({"rho": "5/8"}, XY, XYN, **AR)
def dpsgd_loop_w1(data, rng):
    X, y, w = data["X"], data["y"], np.zeros(3)
    for _step in range(5):
        g = X * (X @ w - y)[:, None]
        w = w - 0.1 * (g.sum(axis=0) + rng.normal(0, 2, size=3))
    return w


@wrong({"rho": "5/8"}, XY, XYN, **AR)
def dpsgd_loop_w2(data, rng):
    X, y, w = data["X"], data["y"], np.zeros(3)
    for _step in range(6):
        g = X * (X @ w - y)[:, None]
        g = g / np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.1 * (g.sum(axis=0) + rng.normal(0, 2, size=3))
    return w


# 37 a generator created inside the function
@right(E1, X, XN)
def own_generator(data):
    rng = np.random.default_rng()
    return np.clip(data, 0, 10).sum() + rng.laplace(0, 10)


@wrong(E1, X, XN)
def own_generator_w1(data):
    rng = np.random.default_rng(7)
    return np.clip(data, 0, 10).sum() + rng.laplace(0, 10)
