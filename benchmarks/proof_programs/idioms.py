"""Other ways in which users write these mechanisms: loops over records, formulas of sigma, tables."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.proof_programs.registry import List
from dpaudit.core.data import EVERY, Anything, Integers, Records, Table

__all__ = ["IDIOMS"]

IDIOMS = List("idioms")
right, wrong = IDIOMS.right, IDIOMS.wrong

E1 = {"epsilon": 1}
AR = {"adjacency": "add-remove"}
X, XN = Records(Anything(), size=40), Records(Anything(), size=EVERY, at_least=10)
CAT, CATN = Records(Integers(0, 4), size=40), Records(Integers(0, 4), size=EVERY)
BITS, BITSN = Records(Integers(0, 1), size=20), Records(Integers(0, 1), size=EVERY)
ROWS, ROWSN = Records(Anything(), size=20, width=3), Records(Anything(), size=EVERY, width=3)
PAIR = Table({"a": Integers(0, 1), "b": Integers(0, 2)}, size=40)
PAIRN = Table({"a": Integers(0, 1), "b": Integers(0, 2)}, size=EVERY)


# A count in a loop
@right(E1, X, XN)
def count_in_a_loop(data, rng):
    count = 0
    for x in data:
        if x > 0.5:
            count += 1
    return count + rng.laplace(scale=1)


@right(E1, X, XN)
def count_in_a_generator(data, rng):
    return sum(1 for x in data if x > 0.5) + rng.laplace(scale=1)


@wrong(E1, X, XN)
def count_in_a_loop_w1(data, rng):
    count = 0
    for x in data:
        if x > 0.5:
            count += 2
    return count + rng.laplace(scale=1)


# Counts in a dictionary
@right(E1, CAT, CATN, **AR)
def counts_in_a_list(data, rng):
    counts = [0] * 5
    for x in data:
        counts[x] += 1
    return [count + rng.laplace(scale=1) for count in counts]


@wrong(E1, CAT, CATN, **AR)
def counts_in_a_dictionary_w1(data, rng):
    counts = {}
    for x in data:
        counts[x] = counts.get(x, 0) + 1
    return {key: count + rng.laplace(scale=1) for key, count in counts.items()}


# Randomised response in a comprehension
@right({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response_in_a_comprehension(data, rng):
    return [x if rng.random() < 0.75 else 1 - x for x in data]


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response_in_a_comprehension_w1(data, rng):
    keep = rng.random() < 0.75
    return [x if keep else 1 - x for x in data]


# Randomised response by an exclusive or of bits and flips
@right({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response_by_flips(data, rng):
    flips = rng.random(len(data)) < 0.25
    return np.abs(data - flips)


@right({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response_estimate(data, rng):
    answers = np.where(rng.random(len(data)) < 0.75, data, 1 - data)
    return (answers.mean() - 0.25) / 0.5


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def randomised_response_by_flips_w1(data, rng):
    flips = rng.random(len(data)) < 0.1
    return np.abs(data - flips)


# Sigma by the formula of Dwork and Roth (2014, Theorem A.1), for epsilon below 1
@right({"epsilon": "1/2", "delta": "1/100000"}, X, XN)
def gaussian_by_formula(data, rng):
    epsilon, delta, sensitivity = 0.5, 1e-5, 10.0
    sigma = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return np.clip(data, 0, 10).sum() + rng.normal(0, sigma)


@wrong({"epsilon": "1/2", "delta": "1/100000"}, X, XN)
def gaussian_by_formula_w1(data, rng):
    epsilon, delta, sensitivity = 0.5, 1e-5, 5.0
    sigma = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return np.clip(data, 0, 10).sum() + rng.normal(0, sigma)


# Gradients clipped one by one
@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def gradients_in_a_comprehension(data, rng):
    clipped = [g * min(1.0, 1.0 / max(np.linalg.norm(g), 1e-12)) for g in data]
    return np.sum(clipped, axis=0) + rng.normal(0, 1, size=3)


@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def gradients_in_a_loop(data, rng):
    total = np.zeros(3)
    for g in data:
        total = total + g / max(1.0, np.linalg.norm(g))
    return total + rng.normal(0, 1, size=3)


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def gradients_in_a_loop_w1(data, rng):
    total = np.zeros(3)
    for g in data:
        total = total + g
    return total / max(1.0, np.linalg.norm(total)) + rng.normal(0, 1, size=3)


# Sampled DP-SGD, claimed without amplification
@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def sampled_gradients(data, rng):
    chosen = rng.random(len(data)) < 0.1
    clipped = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    return (clipped * chosen[:, None]).sum(axis=0) + rng.normal(0, 1, size=3)


@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def sampled_rows(data, rng):
    batch = data[rng.random(len(data)) < 0.1]
    clipped = batch / np.maximum(1.0, np.linalg.norm(batch, axis=1, keepdims=True))
    return clipped.sum(axis=0) + rng.normal(0, 1, size=3)


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def sampled_rows_w1(data, rng):
    batch = data[rng.random(len(data)) < 0.9]
    clipped = batch / np.maximum(1.0, np.linalg.norm(batch, axis=1, keepdims=True))
    return clipped.sum(axis=0) + rng.normal(0, 0.1, size=3)


# A trimmed mean: between the order statistics, a replaced record moves the sum by at most the width
@right(E1, X, None)
def trimmed_mean(data, rng):
    ordered = np.sort(np.clip(data, 0, 1))
    return ordered[4:-4].mean() + rng.laplace(scale=1 / 32)


@wrong(E1, X, None)
def trimmed_mean_w1(data, rng):
    ordered = np.sort(np.clip(data, 0, 1))
    return ordered[4:-4].mean() + rng.laplace(scale=1 / 320)


# A table of two columns
@right(E1, PAIR, PAIRN)
def table_by_histogram(data, rng):
    table, _, _ = np.histogram2d(data["a"], data["b"], bins=[2, 3], range=[[0, 2], [0, 3]])
    return table + rng.laplace(scale=2, size=(2, 3))


@right(E1, PAIR, PAIRN)
def table_by_comparison(data, rng):
    return [
        [((data["a"] == i) & (data["b"] == j)).sum() + rng.laplace(scale=12) for j in range(3)]
        for i in range(2)
    ]


@right({"epsilon": 1}, PAIR, PAIRN, **AR)
def table_by_comparison_disjoint(data, rng):
    return [
        [((data["a"] == i) & (data["b"] == j)).sum() + rng.laplace(scale=1) for j in range(3)]
        for i in range(2)
    ]


@wrong(E1, PAIR, PAIRN)
def table_by_histogram_w1(data, rng):
    table, _, _ = np.histogram2d(data["a"], data["b"], bins=[2, 3], range=[[0, 2], [0, 3]])
    return table + rng.laplace(scale=1, size=(2, 3))


# Selection by Python
@right(E1, CAT, CATN)
def noisy_max_by_key(data, rng):
    noisy = np.bincount(data, minlength=5) + rng.laplace(scale=2, size=5)
    return max(range(5), key=lambda i: noisy[i])


@right(E1, CAT, CATN)
def noisy_max_by_list(data, rng):
    noisy = [np.sum(data == k) + rng.laplace(scale=2) for k in range(5)]
    return noisy.index(max(noisy))


@wrong(E1, CAT, CATN)
def noisy_max_by_list_w1(data, rng):
    noisy = [np.sum(data == k) + rng.laplace(scale=1) for k in range(5)]
    return noisy.index(max(noisy))


# Distinct values and a covariance
@wrong(E1, CAT, CATN)
def unique_counts_w1(data, rng):
    keys, counts = np.unique(data, return_counts=True)
    return keys, counts + rng.laplace(scale=2, size=len(counts))


@right({"rho": "1/2"}, ROWS, None)
def covariance_by_products(data, rng):
    x = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    second = (x.T @ x + rng.normal(0, 2, size=(3, 3))) / 20
    mean = (x.sum(axis=0) + rng.normal(0, 4, size=3)) / 20
    return second - np.outer(mean, mean)


@right({"rho": "2"}, ROWS, None)
def covariance_by_numpy(data, rng):
    x = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    return np.cov(x, rowvar=False) + rng.normal(0, 1, size=(3, 3))


@wrong({"rho": "1/2"}, ROWS, None)
def covariance_by_products_w1(data, rng):
    x = data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    return x.T @ x + rng.normal(0, 0.5, size=(3, 3))
