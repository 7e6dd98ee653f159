"""The e-processes beside their formulas written out by hand, one number at a time, and the ends of ranges."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dpaudit.blackbox.statistics import (
    Capital,
    Failure,
    PairBetting,
    StepLimitError,
    Steps,
    Workers,
    bonferroni,
    capital,
    delta_bounds,
    delta_log_wealth,
    difference_log_wealth,
    e_benjamini_hochberg,
    epsilon_grid,
    epsilon_lower_bound,
    fit_log_wealth,
    hockey_stick,
    log_average,
    mean_bounds,
    mean_log_wealth,
    nested_lower_bound,
    order_log_wealth,
    pair_weight,
    probability_transform,
    repeat_log_wealth,
    run_in_blocks,
    sub_exponential_log_wealth,
    sub_gaussian_log_wealth,
    tail_log_wealth,
    uniform_log_wealth,
)
from dpaudit.blackbox.statistics.fit import running_counts
from dpaudit.blackbox.statistics.tails import LAMBDAS
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Laplace, PointMass
from tests.errors import raises

UNIFORMS = np.random.default_rng(0).random(40)


def capital_by_hand(payoffs: list[float], limit: float) -> list[float]:
    """Half the wealth on fixed shares, half on mean / second moment of the past, clipped to [0, 0.9]."""
    fixed, adaptive, seen, path = [1.0] * len(capital.SHARES), 1.0, [], []
    for payoff in payoffs:
        g = payoff * limit
        share = min(max(sum(seen) / (0.25 + sum(x * x for x in seen)), 0.0), 0.9)
        fixed = [wealth * (1 + s * g) for wealth, s in zip(fixed, capital.SHARES, strict=True)]
        adaptive *= 1 + share * g
        seen.append(g)
        path.append(math.log(0.5 * sum(fixed) / len(fixed) + 0.5 * adaptive))
    return path


@pytest.mark.parametrize("limit", [1.0, 0.25, 3.0])
def test_capital_is_the_mixture_that_it_says(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wealth and peak after every step equal the sums written out, in blocks and chunks of any size."""
    for payoffs in ((UNIFORMS - 0.4) / limit, (UNIFORMS - 0.9) / limit, UNIFORMS / limit):
        expected = capital_by_hand(payoffs.tolist(), limit)
        for entries in (capital.CHUNK_ENTRIES, 1, 17 * 7):
            monkeypatch.setattr(capital, "CHUNK_ENTRIES", entries)
            bettor = Capital([limit])
            assert bettor.update(payoffs)[:, 0] == pytest.approx(expected, rel=1e-12, abs=1e-13)
            assert bettor.log_wealth[0] == pytest.approx(expected[-1], rel=1e-12, abs=1e-13)
            assert bettor.peak[0] == pytest.approx(max(0.0, *expected), rel=1e-12, abs=1e-13)
            assert bettor.steps == len(payoffs)


def test_games_of_one_capital_do_not_mix() -> None:
    """Each column is a game of its own, with its own limit."""
    payoffs = np.column_stack([UNIFORMS - 0.3, 4 * (UNIFORMS - 0.8)])
    both = Capital([1.0, 0.25]).update(payoffs)
    for column, limit in enumerate((1.0, 0.25)):
        assert both[:, column] == pytest.approx(Capital([limit]).update(payoffs[:, column])[:, 0])


def test_what_a_game_may_lose_ends_at_its_limit() -> None:
    """A payoff of -1/limit, and a rounding below it, is played; one clearly below is refused."""
    for payoff in (-4.0, -4.0 * (1 + 1e-10)):
        assert np.isfinite(Capital([0.25]).update([payoff])).all()
    for payoffs in ([-4.0 * (1 + 1e-8)], [math.nan]):
        with raises(InvalidParameterError, code="E-PAYOFF-RANGE"):
            Capital([0.25]).update(payoffs)


def test_an_average_of_logs_is_the_log_of_the_average() -> None:
    """Weights up to 1 in sum, along either axis, without overflow; a weight of 0 leaves its entry out."""
    logs = np.array([[0.0, 900.0], [math.log(3), 900.0 + math.log(3)]])
    assert log_average(logs, [0.5, 0.5]) == pytest.approx([math.log(2), 900 + math.log(2)])
    assert log_average(logs.T, [0.25, 0.25], axis=1) == pytest.approx([0.0, 900.0])
    assert log_average(np.array([1.0, np.inf]), [1.0, 0.0][::-1])[()] == np.inf
    for weights in ([0.6, 0.5], [1.5, -0.5]):
        with raises(InvalidParameterError, code="E-WEIGHTS-SUM"):
            log_average(np.zeros(2), weights)


# Betting against (epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.25)])
def test_a_pair_pays_its_payoffs_difference(epsilon: float, delta: float) -> None:
    """The game is f(Y) - e^epsilon f(Y') - delta at limit 1/(e^epsilon + delta)."""
    first, second = UNIFORMS[:20], UNIFORMS[20:]
    process = PairBetting([epsilon], deltas=delta)
    path = process.update(first, second)[:, 0]
    payoffs = (first - math.exp(epsilon) * second - delta).tolist()
    expected = capital_by_hand(payoffs, 1 / (math.exp(epsilon) + delta))
    assert path == pytest.approx(expected, abs=1e-12)
    assert process.log_wealth[0] == pytest.approx(expected[-1], abs=1e-12)
    assert (process.pairs, process.peak[0]) == (20, pytest.approx(max(0.0, *expected), abs=1e-12))


def test_the_ends_of_what_can_be_bet_against() -> None:
    """epsilon 0 and nearly 700, delta 0 and nearly 1 are allowed; 700 and 1 are not."""
    PairBetting([0.0, 699.9], deltas=[0.0, 0.999])
    PairBetting([1.0]).update([0.0, 1.0], [1.0, 0.0])
    for epsilon, delta in ((700.0, 0.0), (-1e-9, 0.0), (1.0, 1.0), (1.0, -1e-9), (math.nan, 0.0)):
        for good in ([], [1.0]):  # one bad claim among good ones is refused as well
            with pytest.raises(InvalidParameterError):
                PairBetting([*good, epsilon], deltas=[*(0.5 for _ in good), delta])
    for payoff in (-1e-9, 1 + 1e-9, math.nan):
        with raises(InvalidParameterError, code="E-PAYOFF-RANGE"):
            PairBetting([1.0]).update([payoff], [0.0])


def test_wealth_of_exactly_one_over_alpha_rejects() -> None:
    """The threshold itself is a rejection; a hair below it is none."""
    level = math.log(1 / 0.05)
    assert nested_lower_bound([1.0, 2.0], [level, level], alpha=0.05) == 2.0
    assert nested_lower_bound([1.0, 2.0], [level, level - 1e-12], alpha=0.05) == 1.0
    assert nested_lower_bound([1.0], [level - 1e-12], alpha=0.05) is None
    for alpha in (0.0, 1.0, -1.0, 2.0):
        with raises(InvalidParameterError, code="E-ALPHA-RANGE"):
            nested_lower_bound([1.0], [level], alpha=alpha)
    for grid, peak in (([1.0, 1.0], [0.0, 0.0]), ([1.0, 2.0], [0.0]), ([[1.0]], [[0.0]])):
        with raises(InvalidParameterError, code="E-GRID-NOT-INCREASING"):
            nested_lower_bound(grid, peak, alpha=0.05)


def test_an_epsilon_bound_belongs_to_one_delta() -> None:
    """No pair, no bound; a grid with several deltas has none."""
    assert epsilon_lower_bound(PairBetting([0.5, 1.0], deltas=0.1), alpha=0.05) == 0.0
    with raises(InvalidParameterError, code="E-DELTA-NOT-UNIQUE"):
        epsilon_lower_bound(PairBetting([0.5, 1.0], deltas=[0.1, 0.2]), alpha=0.05)


def test_the_grid_spans_what_it_says() -> None:
    """From claimed/below to claimed*above, geometric, with the value just above the claim among them."""
    grid = epsilon_grid(2.0, ratio=1.1, below=4.0, above=16.0)
    assert 0.5 / 1.1 < grid[0] <= 0.5 * (1 + 1e-7) < 32.0 <= grid[-1] < 32.0 * 1.11
    assert grid[1:] / grid[:-1] == pytest.approx(1.1)
    assert 2.0 * (1 + 1e-8) in grid
    assert epsilon_grid(2.0, below=1.0, above=1.0) == pytest.approx([2.0 * (1 + 1e-8)], rel=1e-12)
    bad = [{"ratio": 1.0}, {"below": 0.9}, {"above": 0.9}]
    for options in bad:
        with raises(InvalidParameterError, code="E-GRID-RANGE"):
            epsilon_grid(2.0, **options)
    for claimed in (0.0, -1.0, math.inf, math.nan):
        with raises(InvalidParameterError, code="E-GRID-RANGE"):
            epsilon_grid(claimed)


# Means


def below_by_hand(x: list[float], m: float, alpha: float) -> float:
    """The largest log-wealth of the bettor on "the mean is above m" (Waudby-Smith & Ramdas, eq. 26)."""
    wealth, best, total, squares, variance = 0.0, -math.inf, 0.5, 0.25, 0.25
    for t, value in enumerate(x, start=1):
        bet = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(t + 1)))
        wealth += math.log1p(min(bet, 0.5 / m) * (value - m))
        best = max(best, wealth)
        total += value
        squares += (value - total / (t + 1)) ** 2
        variance = squares / (t + 1)
    return best


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_mean_bounds_end_where_the_bettors_wealth_reaches_its_threshold(alpha: float) -> None:
    """Just inside the interval neither bettor has refuted the mean, just outside one has."""
    x = np.random.default_rng(1).permutation(np.concatenate([UNIFORMS, UNIFORMS**2, UNIFORMS / 2]))
    low, high = mean_bounds(x, low=0.0, high=1.0, alpha=alpha)
    threshold = math.log(2 / alpha)
    assert 0 < low < x.mean() < high < 1
    assert below_by_hand(x.tolist(), low * (1 - 1e-9), alpha) >= threshold
    assert below_by_hand(x.tolist(), low * (1 + 1e-9), alpha) < threshold
    assert below_by_hand((1 - x).tolist(), (1 - high) * (1 - 1e-9), alpha) >= threshold
    assert below_by_hand((1 - x).tolist(), (1 - high) * (1 + 1e-9), alpha) < threshold


def test_mean_bounds_of_nothing_and_of_constants() -> None:
    """No data, no news; the ends of the range are values like others."""
    assert mean_bounds([], low=-1.0, high=3.0, alpha=0.05) == (-1.0, 3.0)
    assert mean_bounds([0.0] * 50, low=0.0, high=1.0, alpha=0.05)[0] == 0.0
    low, high = mean_bounds([1.0] * 200, low=0.0, high=1.0, alpha=0.05)
    assert 0.9 < low < high == 1.0
    for values in ([-0.1], [1.1], [math.nan], [[0.5]]):
        with raises(InvalidParameterError, code="E-VALUES-RANGE"):
            mean_bounds(values, low=0.0, high=1.0, alpha=0.05)
    for low, high, alpha in ((1.0, 1.0, 0.05), (0.0, math.inf, 0.05), (0.0, 1.0, 0.0), (0.0, 1.0, 1.0)):
        with pytest.raises(InvalidParameterError):
            mean_bounds([], low=low, high=high, alpha=alpha)


def test_mean_tests_play_the_stated_game() -> None:
    """x - m at limit 1/(m - low); a difference is a mean on twice the width."""
    path = mean_log_wealth(UNIFORMS, low=0.0, high=1.0, at_most=0.4)
    assert path == pytest.approx(capital_by_hand((UNIFORMS - 0.4).tolist(), 1 / 0.4), abs=1e-12)
    path = difference_log_wealth(UNIFORMS, UNIFORMS[::-1], low=0.0, high=1.0, at_most=0.1)
    game = (UNIFORMS - UNIFORMS[::-1] - 0.1).tolist()
    assert path == pytest.approx(capital_by_hand(game, 1 / 1.1), abs=1e-12)
    assert mean_log_wealth([0.0], low=0.0, high=1.0, at_most=0.0)[0] == pytest.approx(0.0, abs=1e-12)
    assert mean_log_wealth([0.5], low=0.0, high=1.0, at_most=0.0)[0] > math.log(20)
    for bound in (-0.1, 1.0):
        with raises(InvalidParameterError, code="E-MEAN-RANGE"):
            mean_log_wealth([0.5], low=0.0, high=1.0, at_most=bound)
    with raises(InvalidParameterError, code="E-SHAPES-DIFFER"):
        difference_log_wealth([0.5], [0.5, 0.5], low=0.0, high=1.0)


def test_hockey_sticks_of_losses() -> None:
    """(1 - e^(epsilon - L))+ at its ends, and the bounds and the test that it feeds."""
    sticks = hockey_stick([math.inf, -math.inf, 1.0, 1.0 + math.log(2), 0.0], epsilon=1.0)
    assert sticks == pytest.approx([1.0, 0.0, 0.0, 0.5, 0.0])
    assert hockey_stick([math.log(4)], epsilon=0.0) == pytest.approx([0.75])
    losses = np.log(UNIFORMS * 4)
    x = hockey_stick(losses, epsilon=0.5)
    assert delta_bounds(losses, epsilon=0.5, alpha=0.1) == mean_bounds(x, low=0.0, high=1.0, alpha=0.1)
    expected = mean_log_wealth(x, low=0.0, high=1.0, at_most=0.2)
    assert delta_log_wealth(losses, epsilon=0.5, delta=0.2) == pytest.approx(expected)
    for losses_, epsilon in (([math.nan], 1.0), ([[1.0]], 1.0), ([1.0], -0.1), ([1.0], math.inf)):
        with pytest.raises(InvalidParameterError):
            hockey_stick(losses_, epsilon=epsilon)


# Tails


def exponential_by_hand(x: list[float], lambdas: list[float], proxy: float) -> list[float]:
    """The average over both signs of capital played on exp(lambda x - lambda^2 proxy/2) - 1."""
    signed = [sign * value for value in lambdas for sign in (1, -1)]
    games = [[math.expm1(value * y - value**2 * proxy / 2) for y in x] for value in signed]
    paths = np.array([capital_by_hand(game, 1.0) for game in games])
    return np.log(np.exp(paths).mean(axis=0)).tolist()


def test_exponential_tests_play_every_lambda_in_both_signs() -> None:
    """Sub-Gaussian: lambda in units of 1/s; sub-exponential: those below 1/scale, and 1/4, 1/2, 1 of it."""
    x = stats.laplace.ppf(UNIFORMS).tolist()
    found = sub_gaussian_log_wealth(x, variance_proxy=4.0)
    assert found == pytest.approx(exponential_by_hand(x, (LAMBDAS / 2).tolist(), 4.0), abs=1e-11)
    for scale in (2.5, 2.0):  # at scale 2 the largest, 1/2, is a lambda of the grid too: it enters once
        admitted = [value / 2 for value in LAMBDAS if value / 2 < 1 / scale]
        admitted += [0.25 / scale, 0.5 / scale, 1 / scale]
        found = sub_exponential_log_wealth(x, variance_proxy=4.0, scale=scale)
        assert found == pytest.approx(exponential_by_hand(x, admitted, 4.0), abs=1e-11)


def test_draws_beyond_all_bounds_refute_and_do_not_overflow() -> None:
    """A thousand draws of a million deviations: the wealth is a number, and large."""
    path = sub_gaussian_log_wealth(np.full(1000, 1e6), variance_proxy=1.0)
    assert np.isfinite(path).all()
    assert path[0] > math.log(1e100)
    assert (np.diff(path) > 0).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: sub_gaussian_log_wealth([1.0], variance_proxy=0.0),
        lambda: sub_gaussian_log_wealth([1.0], variance_proxy=math.inf),
        lambda: sub_gaussian_log_wealth([1.0, math.inf], variance_proxy=1.0),
        lambda: sub_gaussian_log_wealth([[1.0]], variance_proxy=1.0),
        lambda: sub_exponential_log_wealth([1.0], variance_proxy=1.0, scale=0.0),
        lambda: sub_exponential_log_wealth([1.0], variance_proxy=1.0, scale=math.inf),
        lambda: tail_log_wealth(np.array([[True]]), probability=0.1),
        lambda: tail_log_wealth(np.array([True]), probability=-0.1),
        lambda: order_log_wealth(UNIFORMS, lags=()),
        lambda: order_log_wealth(UNIFORMS, lags=(0,)),
        lambda: uniform_log_wealth([1.1]),
        lambda: uniform_log_wealth([-0.1]),
        lambda: fit_log_wealth([], Laplace(scale=1), rng=np.random.default_rng(0)),
        lambda: fit_log_wealth(np.zeros((1, 1, 1)), Laplace(scale=1), rng=np.random.default_rng(0)),
        lambda: Capital([math.inf]),
        lambda: Capital([[1.0]]),
        lambda: Capital([1.0, 0.0]),
        lambda: Capital([1.0]).update(np.zeros((1, 1, 1))),
        lambda: Capital([1.0, 1.0]).update([0.0]),
        lambda: Workers(0),
        lambda: Workers(-2),
        lambda: pair_weight(-1),
        lambda: bonferroni([], alpha=0.05),
        lambda: bonferroni([1.0], alpha=0.0),
        lambda: bonferroni([1.0], alpha=1.0),
        lambda: bonferroni([1.0, 1.0], alpha=0.05, weights=[1.0]),
        lambda: bonferroni([1.0, 1.0], alpha=0.05, weights=[1.0, 0.1]),
        lambda: bonferroni([1.0, 1.0], alpha=0.05, weights=[1.1, -0.1]),
        lambda: e_benjamini_hochberg([[1.0]], alpha=0.05),
        lambda: e_benjamini_hochberg([math.nan], alpha=0.05),
    ],
)
def test_what_is_outside_a_range_is_refused(call: Callable[[], object]) -> None:
    """Each bad argument raises before anything is computed."""
    with pytest.raises(InvalidParameterError):
        call()


def test_rare_events_use_the_alternatives_below_one() -> None:
    """Where twice p is above 1 the likelihood ratio still has an alternative; one event is a ratio of q/p."""
    path = tail_log_wealth(np.array([True]), probability=0.9)
    ratio = 0.5 * (0.9 * 1.02 / 0.9 + 0.9 * 1.05 / 0.9 + 0.9 * 1.1 / 0.9) / 3
    prior = stats.beta(0.5, 0.5)
    beta = prior.expect(lambda q: q, lb=0.9, ub=1.0) / prior.sf(0.9) / 0.9
    assert math.exp(path[0]) == pytest.approx(0.5 * beta + ratio, rel=1e-6)
    path = tail_log_wealth(np.array([False]), probability=0.99)  # every multiple is above 1: q = 0.995
    beta = prior.expect(lambda q: 1 - q, lb=0.99, ub=1.0) / prior.sf(0.99) / 0.01
    assert math.exp(path[0]) == pytest.approx(0.5 * beta + 0.5 * 0.005 / 0.01, rel=1e-5)


# Fit


def predictor_by_hand(cells: list[int], count: int, contexts: list[object]) -> list[float]:
    """Krichevsky-Trofimov in each context against 1/count."""
    seen: dict[object, list[int]] = {}
    total, path = 0.0, []
    for cell, context in zip(cells, contexts, strict=True):
        if context is not None:
            past = seen.setdefault(context, [])
            total += math.log((past.count(cell) + 0.5) / (len(past) + count / 2) * count)
            past.append(cell)
        path.append(total)
    return path


def test_order_is_predicted_from_the_cell_one_lag_earlier() -> None:
    """The average of the predictors at 2, 4, 8 and 16 cells, for every lag; none before the lag is over."""
    for lags in ((1,), (3,), (1, 3), (100,)):
        paths = []
        for lag in lags:
            for count in (2, 4, 8, 16):
                cells = (UNIFORMS * count).astype(int).tolist()
                contexts = [None] * min(lag, 40) + cells[: max(40 - lag, 0)]
                paths.append(predictor_by_hand(cells, count, contexts))
        expected = np.log(np.exp(paths).mean(axis=0))
        assert order_log_wealth(UNIFORMS, lags=lags) == pytest.approx(expected, abs=1e-12)


def tails_by_hand(values: list[float]) -> list[float]:
    """Cells (2^-j-1, 2^-j] of both tails, with pseudo-counts of eight times the null's and 1/100."""
    null = {j: 2.0 ** -(j + 1) * (2 if j == 24 else 1) for j in range(1, 25)}
    total = 2 * sum(8 * share + 0.01 for share in null.values())
    seen: list[tuple[int, bool]] = []
    wealth, path = 0.0, []
    for value in values:
        near = min(value, 1 - value)
        depth = 24 if near == 0 else min(max(math.floor(-math.log2(near)), 1), 24)
        cell = (depth, value > 0.5)
        share = (seen.count(cell) + 8 * null[depth] + 0.01) / (len(seen) + total)
        wealth += math.log(share / null[depth])
        seen.append(cell)
        path.append(wealth)
    return path


@pytest.mark.parametrize(
    "values", [UNIFORMS, UNIFORMS**9, 1 - UNIFORMS**30, np.array([0.0, 1.0, 0.5, 0.6, 0.5, 0.4])]
)
def test_cells_are_predicted_at_every_resolution_and_in_the_tails(values: np.ndarray) -> None:
    """The average of the predictors at 2 to 128 cells and of the one on the tails' cells."""
    paths = []
    for count in (2, 4, 8, 16, 32, 64, 128):
        cells = [min(int(value * count), count - 1) for value in values]
        paths.append(predictor_by_hand(cells, count, [0] * len(cells)))
    paths.append(tails_by_hand(values.tolist()))
    found = uniform_log_wealth(values)
    assert found == pytest.approx(np.log(np.exp(paths).mean(axis=0)), abs=1e-10)


def test_repeats_pay_by_how_often_they_may_happen() -> None:
    """The n-th draw may repeat with probability at most n atom; the average over four rates of repeating."""
    draws, atom = [1.0, 2.0, 1.0, 3.0, 3.0, 4.0], 0.02
    paths = []
    for rate in (0.001, 0.01, 0.1, 0.5):
        wealth, path = 0.0, []
        for n, draw in enumerate(draws):
            limit = min(n * atom, 1.0)
            if limit < rate:
                seen = draw in draws[:n]
                wealth += math.log(rate / limit) if seen else math.log((1 - rate) / (1 - limit))
            path.append(wealth)
        paths.append(path)
    expected = np.log(np.exp(paths).mean(axis=0))
    assert repeat_log_wealth(draws, atom=atom) == pytest.approx(expected, abs=1e-12)
    assert running_counts(np.array(draws)).tolist() == [0, 0, 1, 0, 1, 0]
    rates = np.array([0.001, 0.01, 0.1, 0.5])
    assert repeat_log_wealth([1.0, 1.0])[-1] == pytest.approx(math.log((rates * (1 - rates) * 2**40).mean()))


def test_a_fit_is_the_average_of_its_parts() -> None:
    """Continuous distributions have three parts, discrete ones two; a draw off the support refutes for
    good."""
    rng = np.random.default_rng(1)
    draws = Laplace(scale=1).sample(rng, (30,))
    found = fit_log_wealth(draws, Laplace(scale=1), rng=rng)
    assert set(found.parts) == {"cells", "order", "repeats"}
    mean = np.log(np.mean([np.exp(path) for path in found.parts.values()], axis=0))
    assert found.total == pytest.approx(mean, abs=1e-12)
    uniforms = Laplace(scale=1).cdf(draws)
    assert found.parts["cells"] == pytest.approx(uniform_log_wealth(uniforms))
    assert found.parts["order"] == pytest.approx(order_log_wealth(uniforms))
    pairs = fit_log_wealth(draws.reshape(15, 2), Laplace(scale=1), rng=rng)
    assert pairs.parts["order"] == pytest.approx(order_log_wealth(uniforms, lags=(1, 2)))
    single = fit_log_wealth(draws.reshape(30, 1), Laplace(scale=1), rng=rng)
    assert single.total == pytest.approx(found.total)
    row = fit_log_wealth(draws.reshape(1, 30), Laplace(scale=1), rng=rng)
    assert row.parts["order"] == pytest.approx(order_log_wealth(uniforms, lags=(1, 30)))
    atoms = fit_log_wealth([3.0, 4.0, 3.0], PointMass(3), rng=rng)
    assert set(atoms.parts) == {"cells", "order"}
    assert np.isfinite(atoms.total).tolist() == [True, False, False]


def test_a_transform_of_draws_that_do_not_fit_is_refused() -> None:
    """Text, NaN and a shape that is not the distribution's are no draws."""
    rng = np.random.default_rng(0)
    assert probability_transform([0.0], Laplace(scale=1), rng=rng) == pytest.approx([0.5])
    for draws in (["a"], [0.0, math.nan], [math.inf, 0.0]):
        with raises(InvalidParameterError, code="E-DRAWS-NOT-FINITE"):
            probability_transform(draws, Laplace(scale=1), rng=rng)


# Families and blocks


def test_families_at_their_thresholds() -> None:
    """Exactly 1/alpha after the weight rejects; weights sum to 1 at most; pairs weigh 1/2, 1/6, 1/12."""
    assert [pair_weight(i) for i in (1, 2, 3)] == pytest.approx([1 / 2, 1 / 6, 1 / 12])
    assert bonferroni([8.0, 7.999], alpha=0.25).tolist() == [True, False]
    assert bonferroni([4.0, 100.0], alpha=0.25, weights=[1.0, 0.0]).tolist() == [True, False]
    assert e_benjamini_hochberg([2.9, 2.9, 0.0], alpha=0.5).tolist() == [False, False, False]
    assert e_benjamini_hochberg([3.0, 6.0, 0.0], alpha=0.5).tolist() == [True, True, False]
    assert e_benjamini_hochberg([2.0, 6.0, 2.0], alpha=0.5).tolist() == [True, True, True]
    assert e_benjamini_hochberg([2.9, 5.9, 0.0], alpha=0.5).tolist() == [False, False, False]


def test_steps_end_after_their_limit() -> None:
    """The limit itself is allowed, one more is not, counted one by one or several at once."""
    steps = Steps(3)
    steps.tick()
    steps.tick(2)
    with pytest.raises(StepLimitError, match="more than 3 steps"):
        steps.tick()
    assert Steps(1).limit == 1


def test_a_failure_keeps_the_first_line_of_its_reason() -> None:
    """At most 200 characters; an exception without words has none."""
    assert Failure.of(ValueError("one\ntwo")) == Failure("ValueError", "one")
    assert Failure.of(ValueError()) == Failure("ValueError", "")
    assert len(Failure.of(ValueError("x" * 500)).reason) == 200


def test_block_sizes_come_in_turn_and_the_last_one_repeats() -> None:
    """One size or several; none, or a size of 0, is refused; a stop is asked after every block."""

    def sizes(block_size: int | list[int]) -> list[int]:
        seen: list[int] = []
        run_in_blocks(
            lambda seed: 0,
            np.random.SeedSequence(0).spawn(7),
            block_size=block_size,
            update=lambda block: seen.append(len(block)),
            stop=lambda: False,
        )
        return seen

    assert sizes(1) == [1] * 7
    assert sizes([1, 2]) == [1, 2, 2, 2]
    for bad in (0, [], [2, 0]):
        with raises(InvalidParameterError, code="E-BLOCK-SIZE-RANGE"):
            sizes(bad)
    with Workers(2) as workers:
        assert workers.run([int, float]) == [0, 0.0]
    assert Workers(-1)._jobs == -1


def test_a_bound_from_a_grid_of_one_epsilon() -> None:
    """It is that epsilon if it is rejected, and 0 otherwise."""
    process = PairBetting([0.5])
    assert epsilon_lower_bound(process, alpha=0.05) == 0.0
    process.update(np.ones(200), np.zeros(200))
    assert epsilon_lower_bound(process, alpha=0.05) == 0.5
