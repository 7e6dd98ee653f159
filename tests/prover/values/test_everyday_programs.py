"""Outcomes may be rounded, listed, sorted and formatted, and models may be fitted from noisy statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.data import Ball, Categories, Interval, Records, Table
from dpaudit.prover.values.prove import prove_values

E1 = PureDP(epsilon=1)
RHO1 = ZeroConcentratedDP(rho=1)
NUMBERS = Records(Interval(0, 10), size=20)
PAIRS: Any = Table({"x": (Interval(-1, 1), 3), "y": Interval(-1, 1)})
CLASSES: Any = Table({"x": (Interval(0, 1), 3), "y": Categories(3)})
UNIT_ROWS: Any = Table({"x": Ball(1, width=3), "y": Categories(2)})


def histogram(data, rng):
    return np.histogram(data, bins=5, range=(0, 10))[0] + rng.laplace(scale=2, size=5)


def named_bins(data, rng):
    return dict(zip("abcde", histogram(data, rng).tolist(), strict=True))


def sorted_bins(data, rng):
    return sorted(np.round(histogram(data, rng), 1).tolist(), reverse=True)


def described(data, rng):
    x = data.mean() + rng.laplace(scale=0.5)
    level = "high" if x > 5 else "low"
    return level + ": " + str(round(x, 1))


def python_number(data, rng):
    return np.clip(data, 0, 5).sum().item() + rng.laplace(scale=5)


def list_of_clipped(data, rng):
    found = []
    for x in data:
        found.append(0.0 if x < 1 else 5.0 if x > 5 else float(x))
    return np.mean(found) + rng.laplace(scale=5 / 20)


@pytest.mark.parametrize("program", [named_bins, sorted_bins, described, python_number, list_of_clipped])
def test_outcomes_are_post_processed(program: Any) -> None:
    """Lists, sorting, text and conversions of outcomes are post-processing."""
    proof = prove_values(program, E1, data=NUMBERS)
    assert proof.verdict == "verified", proof.reason


def solved(x, y, rng, scale):
    a = x.T @ x + rng.laplace(scale=2 * scale, size=(3, 3))
    b = x.T @ y + rng.laplace(scale=scale, size=3)
    return np.linalg.solve(a + np.eye(3), b)


def ridge(table, rng):
    return solved(table["x"], table["y"], rng, 13)


def ridge_bad(table, rng):
    return solved(table["x"], table["y"], rng, 6)


def with_intercept(table, rng):
    x, y = table["x"], table["y"]
    x = np.hstack([x, np.ones((len(y), 1))])
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    a = x.T @ x + rng.normal(scale=2, size=(4, 4))
    b = x.T @ y + rng.normal(scale=2, size=4)
    return np.linalg.lstsq((a + a.T) / 2 + np.eye(4), b, rcond=None)[0]


def naive_bayes(table, rng):
    x, y = table["x"], table["y"]
    counts = np.maximum(np.bincount(y, minlength=3) + rng.laplace(scale=4, size=3), 1)
    sums = []
    for c in range(3):
        sums.append(x[y == c].sum(axis=0) + rng.laplace(scale=24, size=3))
    return counts / counts.sum(), np.array(sums) / counts[:, None]


def k_means(rows, rng):
    centres = np.array([[0.0, 0.0], [1.0, 1.0]])
    for _ in range(3):
        nearest = ((rows[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        new = []
        for k in range(2):
            n = (nearest == k).sum() + rng.laplace(scale=24)
            total = rows[nearest == k].sum(axis=0) + rng.laplace(scale=24, size=2)
            new.append(total / max(n, 1))
        centres = np.array(new)
    return centres


def descended(table, rng, scale):
    x, y = table["x"], table["y"]
    w = np.zeros(3)
    for _ in range(5):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -10, 10)))
        g = x * (p - y)[:, None]
        g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.1 * (g.sum(axis=0) + rng.normal(scale=scale, size=3)) / len(y)
    return w


def logistic(table, rng):
    return descended(table, rng, math.sqrt(10))


def logistic_bad(table, rng):
    return descended(table, rng, 2)


@pytest.mark.parametrize(
    ("program", "claim", "data", "right"),
    [
        (ridge, E1, PAIRS, True),
        (ridge_bad, E1, PAIRS, False),
        (with_intercept, RHO1, PAIRS, True),
        (naive_bayes, E1, CLASSES, True),
        (k_means, E1, Records(Ball(1, width=2)), True),
        (logistic, RHO1, UNIT_ROWS, True),
        (logistic_bad, RHO1, UNIT_ROWS, False),
    ],
)
def test_models_are_fitted_from_noisy_statistics(program: Any, claim: Any, data: Any, right: bool) -> None:
    """Fitted models are verified for every size, and not verified with too little noise."""
    assert (prove_values(program, claim, data=data).verdict == "verified") == right
