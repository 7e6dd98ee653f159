"""P_GD as a program: against plain projected descent, explicit bits, and the distribution of its calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.rows.descent import (
    RECORDS,
    RIGHT,
    audit,
    doubled_on_one_side,
    features_shown,
    pairs,
    unclipped_at_half,
)
from dpaudit.coins import Program, Sampler
from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.shuffled_gradient_descent import (
    ShuffledGradientDescent,
    clipped,
    in_every_step,
    in_one_step,
    vector_call,
)
from dpaudit.replay.privacy import privacy_outcome, short_outcome


def logistic(scores: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-scores)))


def _users(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.column_stack([points, rng.integers(0, 2, size=n)])


def plain(coins: Coins, step: int, gradients: np.ndarray) -> np.ndarray:
    return np.asarray(clipped(gradients, 2.0).sum(axis=0))


def test_without_noise_it_is_projected_descent() -> None:
    """The mean of theta_0, ..., theta_{T-1} of descent written out, ridge and projection included."""
    users, steps, rate, radius, ridge = _users(7, 2), 6, 2.5, 0.4, 0.3
    run = ShuffledGradientDescent(
        call=plain, mean=logistic, steps=steps, rate=rate, radius=radius, ridge=ridge
    )
    theta, seen = np.zeros(2), []
    for _ in range(steps):
        seen.append(theta)
        slopes = [(1 / (1 + np.exp(-x[:2] @ theta)) - x[2]) * x[:2] for x in users]
        theta = theta - rate * (np.mean(slopes, axis=0) + ridge * theta)
        theta = theta if np.linalg.norm(theta) <= radius else radius * theta / np.linalg.norm(theta)
    assert run(Sampler(np.random.default_rng(1)), users) == pytest.approx(np.mean(seen, axis=0))


def test_clipping_keeps_directions() -> None:
    """Short rows stay, long ones have the length and the direction."""
    given = np.array([[0.1, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert clipped(given, 1.0) == pytest.approx(np.array([[0.1, 0.0], [0.6, 0.8], [0.0, 0.0]]))


@pytest.mark.parametrize("grid", [None, 1])
def test_a_call_has_the_distribution_of_its_sheet(grid: int | None) -> None:
    """Unbiased for the clipped sum, with the deviation of Bin(nb, p), and rounding where there is no grid."""
    sheet, length = VectorSheet(dim=2, batch_size=3, precision=4, trials=60), 0.5
    gradients = np.array([[2.0, 0.0], [0.0, -3.0], [0.0, 0.0]]) if grid else _users(3, 2)[:, :2] * 0.3
    call, coins = vector_call(sheet, length, grid=grid), Sampler(np.random.default_rng(7))
    found = np.array([call(coins, 0, gradients) for _ in range(3000)])
    expected = clipped(gradients, length).sum(axis=0)
    spread = length / 4 * np.sqrt(180 * 3 / 16 + (0 if grid else 3 / 4))
    assert np.abs(found.mean(axis=0) - expected).max() < 5 * spread / np.sqrt(3000)
    assert (found.std(axis=0) < 1.1 * spread).all()
    if grid:
        places = np.rint(found[:, 0] / length * 4) + 3 * 4 + 45 - 16
        assert stats.kstest(places, lambda x: stats.binom.cdf(x, 180, 0.25)).statistic < 0.15
        with pytest.raises(InvalidParameterError):
            call(coins, 0, gradients / 20)


def test_blocks_cover_all_users_once() -> None:
    """One step each, or every step."""
    blocks = [in_one_step(step, 3, 12) for step in range(3)]
    assert sorted(place for block in blocks for place in block) == list(range(12))
    assert list(in_every_step(1, 3, 12)) == list(range(12))


@pytest.mark.parametrize(
    "program",
    [
        replace(RIGHT, call=unclipped_at_half),
        replace(RIGHT, call=doubled_on_one_side),
        features_shown,
    ],
)
def test_the_audit_sees_all_of_its_domain(program: Program) -> None:
    """Mistakes at a reward of 1/2, at two users on one side, and about x alone are not verified."""
    made, run = audit(program), Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    found = short_outcome(made, run) or privacy_outcome(made, run)
    verdict = judge(made.claim, found.evidence, unmet=found.unmet, alpha=0.01).verdict
    assert verdict is VerdictKind.REFUTED


def test_every_record_of_the_domain_is_replayed() -> None:
    """In either user's place, whatever the profile."""
    given = pairs(Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    for place in (0, 1):
        moved = [p for p in given if (p.left[place] != p.right[place]).any()]
        assert {tuple(side[place]) for p in moved for side in (p.left, p.right)} == set(RECORDS)


def test_refusals() -> None:
    """No step, no radius, data without a reward."""
    for steps, rate, radius in [(0, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, 0.0)]:
        with pytest.raises(InvalidParameterError):
            ShuffledGradientDescent(call=plain, mean=logistic, steps=steps, rate=rate, radius=radius)
    right = ShuffledGradientDescent(call=plain, mean=logistic, steps=1, rate=1.0, radius=1.0)
    with pytest.raises(InvalidParameterError):
        right(Sampler(np.random.default_rng(1)), np.zeros((3, 1)))
