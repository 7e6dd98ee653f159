"""Bets on Rényi divergences: exact expectations on small alphabets, for claims that are just true."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from dpaudit.blackbox.statistics.cells import CellBlock
from dpaudit.blackbox.statistics.divergences import LARGEST_LOSS, DivergenceBetting, payoffs
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises

ORDERS = (1.0, 1.5, 2.0, 8.0, 32.0)
#: Summing floats over all outcomes errs by less than this.
ROUNDING = 1e-9


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The definition, on a finite alphabet (infinite where p is not dominated)."""
    if np.any((q == 0) & (p > 0)):
        return math.inf
    p, q = p[p > 0], q[p > 0]
    if order == 1:
        return float(np.sum(p * np.log(p / q)))
    return float(np.log(np.sum(p**order * q ** (1 - order))) / (order - 1))


def claimed(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The smallest true claim: the larger of both directions."""
    return max(divergence(p, q, order), divergence(q, p, order))


def pairs_of_distributions() -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs on three and four cells: near and far, with a rare cell, and drawn at random."""
    rng = np.random.default_rng(5)
    drawn = [tuple(rng.dirichlet(np.full(cells, 0.7), 2)) for cells in (3, 3, 4, 4)]
    return [
        (np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.2])),
        (np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])),
        (np.array([0.98, 0.01, 0.01]), np.array([0.989, 0.01, 0.001])),
        *drawn,
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_payoffs_have_means_of_at_most_zero_under_the_claim(order: float) -> None:
    """Whatever counts the past had, both directions pay at most 0 on average, for every pair of the claim;
    with the true score, they pay nearly 0, so the bound is not an empty one."""
    rng = np.random.default_rng(1)
    for p, q in pairs_of_distributions():
        bound = np.array([[claimed(p, q, order)]])
        for _ in range(40):
            known = rng.integers(0, 30, (2, 1, len(p)))
            places = np.sort(rng.normal(size=(1, len(p))))
            first, second = payoffs(known, np.array([order]), bound, places=places)
            assert np.all(first @ p + second @ q <= ROUNDING * np.abs(second).max())


def test_a_payoff_with_the_true_ratio_attains_the_bound() -> None:
    """From very many outputs, the unclipped ratio would attain the divergence; here it comes near from below,
    and a claim of half the divergence is broken."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.35, 0.3, 0.35])
    known = np.round(1e9 * np.stack([p, q]))[:, None, :]
    for order in (1.0, 1.5, 2.0):
        bound = claimed(p, q, order)
        means = {}
        for share in (1.0, 0.5):
            first, second = payoffs(known, np.array([order]), np.array([[share * bound]]))
            means[share] = float((first @ p + second @ q)[:, 0, 0].max())
        assert -0.05 * bound < means[1.0] <= 0 < means[0.5]


@pytest.mark.parametrize("order", ORDERS)
def test_the_expected_wealth_is_at_most_one_for_all_outcomes_of_blocks(order: float) -> None:
    """All outcomes of three blocks of one pair of runs each, with their exact probabilities: the wealth of
    the mixture, with everything that it learns in between, has a mean of at most 1 (all steps together, and
    from every past by itself)."""
    for p, q in pairs_of_distributions()[1:4]:
        bounds = np.array([[claimed(p, q, order)]])
        start = np.array([[[3.0] + [0.0] * (len(p) - 1)], [[0.0] * (len(p) - 1) + [3.0]]])
        total = _expected(bounds, order, start, p, q, past=[], left=3)
        assert total <= 1 + ROUNDING


def _expected(bounds, order, start, p, q, *, past, left) -> float:
    """The mean of the final wealth given the past blocks. It must not exceed the wealth before."""
    betting = DivergenceBetting([order], bounds, weights=[1.0])
    known = start.copy()
    for block in past:
        betting.update(CellBlock(known, block))
        known = known + block
    before = math.exp(betting.log_wealth[0])
    if not left:
        return before
    mean = 0.0
    for y, z in itertools.product(range(len(p)), repeat=2):
        seen = np.zeros((2, 1, len(p)))
        seen[0, 0, y] = seen[1, 0, z] = 1
        mean += p[y] * q[z] * _expected(bounds, order, start, p, q, past=[*past, seen], left=left - 1)
    assert mean <= before * (1 + ROUNDING)
    return mean


@pytest.mark.parametrize("order", [1.0, 2.0, 8.0])
def test_no_pair_of_the_claim_lets_the_wealth_grow(order: float) -> None:
    """The worst pair is searched by an optimiser, among all pairs within the claim, for stakes that were
    learnt from outputs far beyond it."""
    claim, cells = 0.4, 3
    known = np.array([[[60.0, 30.0, 3.0]], [[5.0, 30.0, 58.0]]])
    betting = DivergenceBetting([order], [[claim]], weights=[1.0])
    for _ in range(2):  # the first block only shows what the scores pay
        betting.update(CellBlock(known, known))
    earned = betting.log_wealth[0]
    assert earned > 1
    growth = np.empty((cells, cells))
    for y, z in itertools.product(range(cells), repeat=2):
        seen = np.zeros((2, 1, cells))
        seen[0, 0, y] = seen[1, 0, z] = 1
        growth[y, z] = math.exp(copy.deepcopy(betting).update(CellBlock(known, seen))[0] - earned)

    def grown(logits: np.ndarray) -> tuple[float, float]:
        p, q = (np.exp(part - np.logaddexp.reduce(part)) for part in logits.reshape(2, cells))
        return float(p @ growth @ q), claimed(p, q, order)

    def penalised(logits: np.ndarray) -> float:
        mean, spent = grown(logits)
        return 100 * max(0.0, spent - claim) - mean

    rng, best = np.random.default_rng(3), 0.0
    for _ in range(8):
        found = optimize.minimize(penalised, rng.normal(size=2 * cells), method="Nelder-Mead").x
        mean, spent = grown(found)
        best = max(best, mean if spent <= claim else 0.0)
    assert 0.8 < best <= 1 + ROUNDING
    assert grown(np.log(known + 0.5).ravel())[0] > 1.05  # beyond the claim, the wealth grows


def test_no_output_takes_more_than_the_largest_loss() -> None:
    """Outputs that never occurred before, on the side where they cost most."""
    betting = DivergenceBetting([1.0, 4.0], [[0.01, 0.02]], weights=[0.5, 0.5])
    known = np.array([[[500.0, 1.0, 0.0]] * 2, [[1.0, 500.0, 0.0]] * 2])
    betting.update(CellBlock(known, known))
    before = betting.experts.copy()
    seen = np.array([[[0.0, 1.0, 0.0]] * 2, [[1.0, 0.0, 0.0]] * 2])
    betting.update(CellBlock(known, seen))
    assert np.all(betting.experts - before >= 2 * math.log(1 - LARGEST_LOSS) - 1e-9)
    assert np.any(betting.experts < before)


def test_the_claims_are_checked() -> None:
    """Orders below 1 have no such bound, and a negative bound is none."""
    for orders, bounds, code in (
        ([0.5], [[1.0]], "E-ORDER-RANGE"),
        ([1.0001], [[1.0]], "E-ORDER-RANGE"),
        ([math.inf], [[1.0]], "E-ORDER-RANGE"),
        ([2.0], [[-1.0]], "E-DIVERGENCE-RANGE"),
        ([2.0], [1.0], "E-DIVERGENCE-RANGE"),
    ):
        with raises(InvalidParameterError, code=code):
            DivergenceBetting(orders, bounds, weights=[1.0])
    with raises(InvalidParameterError, code="E-WEIGHTS-SUM"):
        DivergenceBetting([2.0], [[1.0]], weights=[0.0])
