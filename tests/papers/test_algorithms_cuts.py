"""Caps on simulated regret and what lies beyond: cumulants, bounds on leaving and staying, charged caps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from audits.distributed_mab.experiment_runs import corner_arms
from audits.distributed_mab.experiment_settings import COMPETITORS, FAILURE_PROB, FIGURES, instances
from dpaudit.reference.algorithms.mab.competitors import Competitor, simulated
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS, variant
from dpaudit.reference.algorithms.mab.distributed_regret import noisy_sums
from dpaudit.reference.algorithms.mab.elimination_cuts import (
    Tails,
    _most_regret,
    _reward_log_mgf,
    cut_of,
    leave_bounds,
    stay_bounds,
    tails_of,
)
from dpaudit.reference.algorithms.mab.reward_models import (
    ClippedGaussians,
    RewardLevels,
    RewardModel,
    bernoulli_arms,
)
from tests.rates import FALSE_FAILURE_RATE

SIGMAS = float(stats.norm.isf(FALSE_FAILURE_RATE / 2))
LOCATIONS = np.array([-0.05, 0.3, 0.5, 0.97])


@pytest.mark.parametrize("name", DESIGNS)
def test_noise_cumulants_bound_those_of_the_distribution(name: str) -> None:
    """log E e^{rate noise / g} from the probabilities: equal but for discrete Gaussians (an upper bound)."""
    sheet = variant(name, epsilon="1/2", failure_prob="0.1", scale_factor=2).sheet(16)
    rates = np.array([0.02, 0.1, 0.24])
    ours = DESIGNS[name].cumulant(rates / sheet.precision, sheet, Fraction(1, 2))
    parts = sheet.users if name in ("ldp_se", "dist_cdp_se") else 1
    distribution = sheet.total_noise() if parts == 1 else sheet.share
    k = np.arange(-4000, 4001)
    exact = parts * np.log(
        np.exp(distribution.logp(k)[None] + rates[:, None] * k / sheet.precision).sum(axis=1)
    )
    if name == "dist_cdp_se":
        assert np.all(exact <= ours * (1 + 1e-9))
        assert np.all(ours < 1.05 * exact)
    else:
        np.testing.assert_allclose(ours, exact, rtol=1e-6)


def test_reward_cumulants_bound_those_of_the_distribution() -> None:
    """Clipped Gaussians by quadrature: below the sub-Gaussian bound, above nine tenths of it in the middle;
    levels by enumeration."""
    rates = np.array([-8.0, -1.0, 0.5, 6.0])
    for location in LOCATIONS:
        model = ClippedGaussians([[location]], deviation=0.1)
        distribution, mean = stats.norm(location, 0.1), model.means[0, 0]
        for rate, bound in zip(rates, _reward_log_mgf(model, rates), strict=True):
            inner = integrate.quad(
                lambda x, rate=rate, distribution=distribution, mean=mean: (
                    math.exp(rate * (x - mean)) * distribution.pdf(x)
                ),
                0,
                1,
            )[0]
            exact = math.log(
                inner
                + distribution.cdf(0) * math.exp(-rate * mean)
                + distribution.sf(1) * math.exp(rate * (1 - mean))
            )
            assert exact <= bound + 1e-9
            if location == 0.5:
                assert exact > 0.9 * bound
    levels = RewardLevels([0, "1/4", 1], [[[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]])
    found = _reward_log_mgf(levels, rates)
    for arm, chances in enumerate(([0.2, 0.3, 0.5], [0.0, 0.0, 1.0])):
        x = np.array([0, 0.25, 1]) - levels.means[0, arm]
        np.testing.assert_allclose(
            found[0, arm], [math.log(chances @ np.exp(r * x)) for r in rates], atol=1e-12
        )


def _frequencies(tails: Tails, model: RewardModel, competitor: Competitor, epsilon: str, size: int) -> Any:
    """How often each arm leaves, and how often it stays beside the best, in ``size`` simulated batches."""
    rng = np.random.default_rng(11)
    sheet = variant(
        competitor.name, epsilon=epsilon, failure_prob="0.1", scale_factor=competitor.scale_factor
    ).sheet(tails.users)
    copies = model.rows(np.zeros(size, dtype=np.int64))
    cells = np.ones(copies.means.shape, dtype=bool)
    totals = copies.encoded_sums(rng, cells, users=tails.users, precision=sheet.precision)
    sums = noisy_sums(sheet, totals, rng).reshape(copies.means.shape)
    out = sums.max(axis=1, keepdims=True) - sums > tails.reach
    best = int(np.argmax(model.means[0]))
    behind = sums[:, [best]] - sums > tails.reach
    return out.mean(axis=0), 1 - behind.mean(axis=0)


@pytest.mark.parametrize("competitor", [COMPETITORS[1], COMPETITORS[2], Competitor("dist_cdp_se", 10)])
def test_bounds_on_leaving_and_staying_hold_in_simulated_batches(competitor: Competitor) -> None:
    """Batches 2 to 5 of three instances, one with means at the ends: frequencies stay below the bounds; some
    frequencies are positive, and halving the reach in the bounds' favour breaks one."""
    size = 8000
    broken = positive = 0
    for model in (
        ClippedGaussians([[0.5, 0.35, 0.1]], deviation=0.1),
        bernoulli_arms([[0.5, 0.0, 0.0]]),
        bernoulli_arms([[1.0, 0.6, 0.5]]),
    ):
        for batch in range(2, 6):
            tails = tails_of(competitor, model, batch=batch, n_active=3, epsilon="1/2", failure_prob="0.1")
            leave, stay = _frequencies(tails, model, competitor, "1/2", size)
            for frequency, bound in ((leave, leave_bounds(tails)[0]), (stay, stay_bounds(tails)[0])):
                slack = SIGMAS * np.sqrt(np.maximum(bound, 1 / size) / size) + 12 / size
                assert np.all(frequency <= bound + slack)
            positive += int((leave > 0).any())
            generous = Tails(**(tails.__dict__ | {"reach": 2 * tails.reach + tails.users / 4}))
            broken += int(np.any(leave > leave_bounds(generous)[0] + 0.01))
    assert positive > 0
    assert broken > 0


def test_wraps_are_part_of_the_bound() -> None:
    """At a mean of 0 with p = 0.1 the best arm is put out by wraps alone: a bound without the analyzer's
    window is far below the frequency."""
    model, competitor = corner_arms(), COMPETITORS[1]
    tails = tails_of(competitor, model, batch=4, n_active=10, epsilon="1", failure_prob="0.1")
    leave, _ = _frequencies(tails, model, competitor, "1", 20_000)
    assert 0.15 < leave[0] <= leave_bounds(tails)[0, 0]
    unwrapped = Tails(**(tails.__dict__ | {"margin": math.inf}))
    assert leave_bounds(unwrapped)[0, 0] < 0.01


def test_the_largest_regret_under_caps_is_the_linear_program_s() -> None:
    """Σ gap N with N below caps and Σ N below T, against an independent solver."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        gaps, most, horizon = rng.random(6), rng.random(6) * 100, float(rng.integers(20, 400))
        solved = optimize.linprog(
            -gaps, A_ub=np.ones((1, 6)), b_ub=[horizon], bounds=[(0, cap) for cap in most]
        )
        ours = _most_regret(gaps[None], most[None], horizon)  # type: ignore[arg-type]
        assert ours[0] == pytest.approx(-solved.fun, rel=1e-7)


@pytest.mark.parametrize("competitor", [*COMPETITORS, *FIGURES[4].competitors])
def test_caps_are_near_the_regret_and_cheap(competitor: Competitor) -> None:
    """Easy instances at ε = 0.1: no run of 60 above the cap, which is at most 2.6 means; beyond it lies less
    than 0.2 % of the mean."""
    model, horizon = instances("easy", runs=3), 10**6
    cut = cut_of(competitor, model, epsilon="0.1", failure_prob="0.1", horizon=horizon)
    runs = model.rows(np.arange(60) % 3)
    final = simulated(competitor, "0.1", runs, horizon=horizon, seed=1, failure_prob=FAILURE_PROB).final
    assert final.max() <= cut.cap <= 2.6 * final.mean()
    assert cut.excess < 0.002 * final.mean()


def test_a_cap_pays_for_a_failing_analyzer() -> None:
    """Where the analyzer fails one run in five, cap and excess pay for it; with p = 1/T they need not."""
    cut = cut_of(COMPETITORS[1], corner_arms(), epsilon="1", failure_prob="0.1", horizon=10**8)
    assert cut.cap + cut.excess >= 0.2 * 0.5 * 10**8
    repaired = cut_of(COMPETITORS[1], corner_arms(), epsilon="1", failure_prob="1/100000000", horizon=10**8)
    assert repaired.cap + repaired.excess < 0.05 * 0.5 * 10**8
