"""Overtakes between refreshes: a stretch declared settled holds in every round of the plain comparison."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from dpaudit.coins import Sampler
from dpaudit.reference.algorithms.environment import BernoulliArms
from dpaudit.reference.algorithms.mab.lazy_ucb import strategy
from dpaudit.reference.algorithms.mab.race import index, leader, rounds_in_lead
from dpaudit.reference.algorithms.play import play


def test_the_index_is_equation_4() -> None:
    """Eq. (4) at 50 digits, to 4 units in the last place."""
    for mean, size, t, epsilon in [(0.7, 1, 6, 0.5), (-0.25, 1024, 10**6, 0.125), (0.75, 2**30, 10**12, 8.0)]:
        with mpmath.workdps(50):
            exact = mean + mpmath.sqrt(3 * mpmath.log(t) / size) + 3 * mpmath.log(t) / (epsilon * size)
            assert abs(index(mean, size, math.log(t), epsilon) - exact) <= 4 * 2.0**-52 * exact


@pytest.mark.parametrize("overtake", [40, 10**4, 10**9, 10**12])
def test_settled_stretches_hold_and_are_not_cut_short(overtake: int) -> None:
    """Leaders with a long array, overtaken near a chosen round: the plain comparison names the leader in
    every round tried of the stretch, and another arm a few rounds after its end.
    """
    rng = np.random.default_rng(overtake)
    cut_short = 0
    for _ in range(300):
        epsilon = float(rng.choice([0.1, 1.0, 64.0]))
        sizes = [2 ** int(size) for size in rng.integers(0, 20, size=int(rng.integers(2, 6)))]
        # Equal indices at the chosen round, then every rival put back a little: the overtakes spread out
        # behind it.
        level = [index(0.0, size, math.log(overtake), epsilon) for size in sizes]
        means = [float(max(level) - bonus + rng.exponential() * 1e-12) for bonus in level]
        t = max(3, int(overtake * (1 - rng.random() / 2)))
        arm = leader(means, sizes, t, epsilon)
        limit = overtake
        count = rounds_in_lead(arm, means, sizes, t, epsilon, limit=limit)
        assert 1 <= count <= limit
        inside = {t, t + count - 1, *rng.integers(t, t + count, size=20).tolist()}
        assert all(leader(means, sizes, round_, epsilon) == arm for round_ in inside)
        if 1 < count < limit:
            cut_short += 1
            assert leader(means, sizes, t + count + 4 + overtake // 10**7, epsilon) != arm
    assert cut_short > 100


def test_ties_go_to_the_lower_arm_for_the_whole_stretch() -> None:
    """Equal means and sizes tie in every round: settled at once, in favour of the lower number."""
    assert leader([0.5, 0.5], [4, 4], 10, 1.0) == 0
    assert rounds_in_lead(0, [0.5, 0.5], [4, 4], 10, 1.0, limit=10**9) == 10**9


def test_a_lead_inside_the_rounding_error_is_stepped() -> None:
    """Means one unit in the last place apart, the higher arm ahead: only the present round is promised."""
    ahead = float(np.nextafter(0.5, 1))
    assert rounds_in_lead(1, [0.5, ahead], [4, 4], 10, 1.0, limit=1000) == 1
    assert rounds_in_lead(0, [ahead, 0.5], [4, 4], 10, 1.0, limit=1000) == 1000


def test_a_horizon_of_a_million_million_takes_few_requests() -> None:
    """Steps stay rare at t = 10^12, where a round moves an index by less than a unit in the last place."""
    for seed in range(5):
        requests = 0

        def counted(coins: Any, n_arms: int) -> Any:
            nonlocal requests
            pulls = strategy(epsilon="1/10")(coins, n_arms)
            batch = None
            while True:
                request = pulls.send(batch)
                requests += 1
                batch = yield request

        rngs = [np.random.default_rng([seed, i]) for i in range(2)]
        environment = BernoulliArms([0.75, 0.7, 0.7, 0.7, 0.7], rngs[0], horizon=10**12)
        play(counted, Sampler(rngs[1]), environment)
        assert requests < 2000
