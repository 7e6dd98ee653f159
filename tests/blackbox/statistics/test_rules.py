"""What the statistics promise besides their error level: closed testing, families, blocks, and errors that
say what to do.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy import integrate

from dpaudit.blackbox.statistics import (
    Capital,
    CellBetting,
    CellBlock,
    Failure,
    PairBetting,
    Steps,
    bonferroni,
    cell_stakes,
    e_benjamini_hochberg,
    epsilon_grid,
    log_average,
    nested_lower_bound,
    pair_weight,
    probability_transform,
    run_in_blocks,
    tail_log_wealth,
)
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.continuous import Laplace
from tests.errors import raises


def test_lower_bound_needs_all_smaller_values() -> None:
    """A rejected value above a standing one counts for nothing; the bound is the last value before the
    first that stands.
    """
    grid = [0.5, 1.0, 1.5, 2.0]
    assert nested_lower_bound(grid, [9, 9, 0, 9], alpha=0.05) == 1.0
    assert nested_lower_bound(grid, [0, 9, 9, 9], alpha=0.05) is None
    assert nested_lower_bound(grid, [9, 9, 9, 9], alpha=0.05) == 2.0


def test_grid_holds_a_value_just_above_the_claim() -> None:
    """The value that refutes is above the claim by more than the judge's margin of 1e-9, and by very
    little.
    """
    grid = epsilon_grid(0.1)
    nearest = grid[np.argmin(np.abs(grid - 0.1))]
    assert 1e-9 < nearest / 0.1 - 1 < 1e-7
    assert np.all(np.diff(grid) > 0)


def test_capital_in_pieces_is_capital_in_one() -> None:
    """Blocks change nothing: playing 1000 payoffs at once or in pieces gives the same wealth."""
    g = np.random.default_rng(0).uniform(-1, 1, 1000)
    whole, parts = Capital([1.0]), Capital([1.0])
    path = whole.update(g)
    pieces = [parts.update(piece) for piece in np.split(g, [1, 10, 400])]
    assert np.allclose(np.concatenate(pieces), path, atol=1e-9)
    assert parts.peak == pytest.approx(whole.peak)


def test_no_stake_can_lose_more_than_everything() -> None:
    """For any counts, epsilon and delta the factor of a pair stays positive in every pair of cells."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        known = rng.integers(0, 500, (2, 3, 6)) * rng.integers(0, 2, (2, 3, 6))
        epsilons, deltas = rng.uniform(0, 12, 4), rng.choice([0.0, 1e-5, 0.1, 0.5], 4)
        first, second, fee = cell_stakes(known, epsilons, deltas)
        odds = np.exp(epsilons)[:, None, None]
        assert np.all(1 + first - odds * second - fee[..., None] > 0)
        assert np.all(1 + second - odds * first - fee[..., None] > 0)
        assert np.all(fee >= 0.5 * deltas[:, None] * (first.max(-1) + second.max(-1)) - 1e-15)


def test_expected_factor_of_a_pair_is_at_most_one() -> None:
    """Over random outputs that are exactly (epsilon, delta)-close, the mean factor of a pair never exceeds
    1.
    """
    rng = np.random.default_rng(2)
    for epsilon, delta in [(0.0, 0.0), (1.0, 0.0), (0.5, 0.05), (3.0, 0.2)]:
        for _ in range(50):
            known = rng.integers(0, 300, (2, 1, 4))
            first, second, fee = (
                part[0, 0] for part in cell_stakes(known, np.array([epsilon]), np.array([delta]))
            )
            p, q = _close_pair(rng, epsilon, delta)
            mean_one = p @ (1 + first - math.exp(epsilon) * second - fee)
            mean_two = q @ (1 + second - math.exp(epsilon) * first - fee)
            assert mean_one * mean_two <= 1 + 1e-12


def _close_pair(rng: np.random.Generator, epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response over two cells, and delta of mass on a cell of its own for each input."""
    share = 1 / (1 + math.exp(-epsilon))
    p = np.array([(1 - delta) * share, (1 - delta) * (1 - share), delta, 0.0])
    q = np.array([(1 - delta) * (1 - share), (1 - delta) * share, 0.0, delta])
    order = rng.permutation(4)
    return p[order], q[order]


def test_tail_mixture_equals_its_integral() -> None:
    """The closed form of the beta mixture agrees with numerical integration of the likelihood ratio."""
    p, events = 0.1, np.array([True] * 5 + [False] * 15)
    path = tail_log_wealth(events, probability=p)

    def density(q: float) -> float:
        return q ** (5 - 0.5) * (1 - q) ** (15 - 0.5)

    top = integrate.quad(density, p, 1)[0]
    prior = integrate.quad(lambda q: (q * (1 - q)) ** -0.5, p, 1)[0]
    beta = top / prior / (p**5 * (1 - p) ** 15)
    points = p * np.array([1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0])
    ratios = (points / p) ** 5 * ((1 - points) / (1 - p)) ** 15
    assert math.exp(path[-1]) == pytest.approx(0.5 * beta + 0.5 * ratios.mean(), rel=1e-6)


def test_pair_weights_sum_to_one() -> None:
    """The weights of an endless search sum to 1: the first m to 1 - 1/(m+1)."""
    assert sum(pair_weight(i) for i in range(1, 1000)) == pytest.approx(1 - 1 / 1000)


def test_families() -> None:
    """Bonferroni needs each e-value alone to reach m/alpha; e-BH rejects more where several are large."""
    values = [100.0, 25.0, 1.0, 0.0]
    assert bonferroni(values, alpha=0.05).tolist() == [True, False, False, False]
    assert bonferroni(values, alpha=0.05, weights=[0.1, 0.8, 0.05, 0.05]).tolist() == [
        False,
        True,
        False,
        False,
    ]
    assert e_benjamini_hochberg([100.0, 41.0, 1.0, 0.0], alpha=0.05).tolist() == [True, True, False, False]
    assert not e_benjamini_hochberg([39.0, 1.0, 1.0], alpha=0.05).any()


def test_discrete_transform_is_uniform_at_atoms() -> None:
    """A discrete distribution's transform falls into the jump of its distribution function, and never outside
    [0, 1].
    """
    from dpaudit.distributions import DiscreteLaplace

    distribution = DiscreteLaplace(scale=2)
    rng = np.random.default_rng(3)
    x = distribution.sample(rng, (2000,))
    u = probability_transform(x, distribution, rng=rng)
    upper = distribution.cdf(x)
    assert np.all((u <= upper + 1e-12) & (u >= upper - np.exp(distribution.logp(x)) - 1e-12))


# Blocks


def square(seed: np.random.SeedSequence, *, bad: int = -1) -> float:
    """A trial: one number of its own; the trial with spawn key ``bad`` raises."""
    if seed.spawn_key[-1] == bad:
        raise ZeroDivisionError("on purpose")
    return float(np.random.default_rng(seed).random())


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_are_the_same_for_every_number_of_workers(jobs: int) -> None:
    """Same outcomes in the same blocks, the failed trial in its place, and the stop at the same block end."""
    blocks: list[list[object]] = []
    count = run_in_blocks(
        functools.partial(square, bad=3),
        np.random.SeedSequence(5).spawn(40),
        block_size=[4, 8],
        update=blocks.append,
        stop=lambda: sum(len(block) for block in blocks) >= 20,
        jobs=jobs,
    )
    assert count == 20
    assert [len(block) for block in blocks] == [4, 8, 8]
    flat = [item for block in blocks for item in block]
    assert flat[3] == Failure("ZeroDivisionError", "on purpose")
    expected = [square(seed) for seed in np.random.SeedSequence(5).spawn(20)]
    assert [a for k, a in enumerate(flat) if k != 3] == [b for k, b in enumerate(expected) if k != 3]


def test_blocks_end_with_the_seeds() -> None:
    """The last block may be short; nothing is asked after the seeds end."""
    sizes: list[int] = []
    count = run_in_blocks(
        square,
        np.random.SeedSequence(6).spawn(10),
        block_size=4,
        update=lambda block: sizes.append(len(block)),
        stop=lambda: False,
    )
    assert (count, sizes) == (10, [4, 4, 2])


def test_step_limit_is_an_outcome() -> None:
    """A loop that would not end becomes an outcome after its limit, and is not dropped."""

    def endless(seed: np.random.SeedSequence) -> int:
        steps = Steps(100)
        while True:
            steps.tick()

    outcomes: list[object] = []
    run_in_blocks(
        endless, np.random.SeedSequence(7).spawn(2), block_size=2, update=outcomes.extend, stop=lambda: False
    )
    assert outcomes == [Failure("StepLimitError", "more than 100 steps")] * 2


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: PairBetting([1.0]).update([2.0], [0.0]), "E-PAYOFF-RANGE"),
        (lambda: PairBetting([1.0]).update([1.0], [0.0, 1.0]), "E-PAYOFF-SHAPE"),
        (lambda: PairBetting([-1.0]), "E-EPSILON-RANGE"),
        (lambda: PairBetting([1.0], deltas=1.0), "E-DELTA-RANGE"),
        (lambda: Capital([1.0]).update([-1.5]), "E-PAYOFF-RANGE"),
        (lambda: Capital([0.0]), "E-LIMITS-RANGE"),
        (lambda: nested_lower_bound([2.0, 1.0], [0.0, 0.0], alpha=0.05), "E-GRID-NOT-INCREASING"),
        (lambda: nested_lower_bound([1.0], [0.0], alpha=1.0), "E-ALPHA-RANGE"),
        (lambda: log_average(np.zeros(2), [1.0, 1.0]), "E-WEIGHTS-SUM"),
        (lambda: CellBetting([1.0], deltas=0.0, weights=[0.5], follow=0.1), "E-WEIGHTS-SUM"),
        (lambda: tail_log_wealth(np.array([0.0, 1.0]), probability=0.1), "E-EVENTS-NOT-BOOLEAN"),
        (lambda: tail_log_wealth(np.array([True]), probability=1.0), "E-PROBABILITY-RANGE"),
        (lambda: pair_weight(0), "E-PAIR-INDEX-RANGE"),
        (lambda: bonferroni([-1.0], alpha=0.05), "E-FAMILY-RANGE"),
        (lambda: Steps(0), "E-STEP-LIMIT-RANGE"),
        (
            lambda: probability_transform(np.array([np.nan]), Laplace(scale=1), rng=np.random.default_rng(0)),
            "E-DRAWS-NOT-FINITE",
        ),
    ],
)
def test_bad_arguments_have_codes(call, code: str) -> None:
    """A bad argument raises InvalidParameterError with the code of its fault."""
    with raises(InvalidParameterError, code=code):
        call()


def test_empty_data_are_no_evidence() -> None:
    """A block without pairs leaves the wealth at 1."""
    betting = CellBetting([1.0], deltas=0.0, weights=[0.7], follow=0.3)
    empty = np.zeros((2, 1, 3), dtype=np.int64)
    assert betting.update(CellBlock(empty, empty))[0] == pytest.approx(0.0)
    assert PairBetting([1.0]).update([], []).shape == (0, 1)
