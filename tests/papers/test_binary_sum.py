"""Private sums of bits: golden numbers of fair bits, delta by other routes, unbiasedness, optimal proxies."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.coins import Sampler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.binary_sum import (
    binary_sum_mechanism,
    binomial_delta,
    passes,
    smallest_probability,
    smallest_trials,
)

GOLDEN = [
    ("1", "1/1000", 30),
    ("1", "1/1000000", 80),
    ("1/2", "1/1000", 88),
    ("1/2", "1/1000000", 268),
    ("1/10", "1/1000", 1213),
    ("1/10", "1/1000000", 5279),
]


def delta_by_sums(trials, p, epsilon):
    """Second route: positive parts summed over all counts, in fractions of exact binomial coefficients."""
    mass = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)] + [0]
    e = Fraction(math.exp(epsilon))
    forth = sum(max(mass[k] - e * (mass[k - 1] if k else 0), 0) for k in range(trials + 2))
    back = sum(max((mass[k - 1] if k else 0) - e * mass[k], 0) for k in range(trials + 2))
    return float(max(forth, back))


@pytest.mark.parametrize(("epsilon", "delta", "trials"), GOLDEN)
def test_smallest_numbers_of_fair_bits(epsilon, delta, trials):
    """N* at six budgets; one bit fewer fails, the kernel says so."""
    budget = {"epsilon": Fraction(epsilon), "delta": Fraction(delta)}
    assert smallest_trials(**budget) == trials
    assert passes(trials=trials, p=Fraction(1, 2), **budget)
    assert not passes(trials=trials - 1, p=Fraction(1, 2), **budget)


@pytest.mark.parametrize("trials", [1, 2, 5, 30, 88])
@pytest.mark.parametrize("p", ["1/2", "1/3", "1/20"])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_delta_of_binomial_noise_by_two_routes(trials, p, epsilon):
    """Half-lines and distribution functions against positive parts of exact masses."""
    expected = delta_by_sums(trials, Fraction(p), epsilon)
    assert binomial_delta(trials=trials, p=float(Fraction(p)), epsilon=epsilon) == pytest.approx(
        expected, rel=1e-9, abs=1e-13
    )


@pytest.mark.parametrize("n_users", [100, 268, 269, 400, 2**14])
def test_sparse_probabilities_are_the_smallest(n_users):
    """p passes in balls, and one percent less does not; few users must send fair bits, several each."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    if n_users < 268:
        with pytest.raises(InvalidParameterError, match="more bits"):
            smallest_probability(n_users=n_users, epsilon=epsilon, delta=delta)
        assert binary_sum_mechanism(n_users, epsilon, delta).trials == 3
        return
    p = smallest_probability(n_users=n_users, epsilon=epsilon, delta=delta)
    assert passes(trials=n_users, p=p, epsilon=epsilon, delta=delta)
    assert not passes(trials=n_users, p=p * 99 / 100, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("variant", ["calibrated", "tkms21_recalled"])
@pytest.mark.parametrize("bits", [*itertools.product((0, 1), repeat=1), (1, 0), (1, 0, 1), (1, 1, 0, 0)])
def test_estimates_are_unbiased_by_enumeration(variant, bits):
    """The mean of the estimate over all outcomes of the shuffler is the true sum; its variance is the stated
    one."""
    mechanism = binary_sum_mechanism(len(bits), 3, "1/5", variant=variant)
    distribution = mechanism.noise
    chances = np.exp(distribution.logp(np.arange(distribution.trials + 1)))
    estimates = mechanism.analyze(sum(bits) + np.arange(distribution.trials + 1))
    assert chances @ estimates == pytest.approx(sum(bits), abs=1e-9)
    assert chances @ (estimates - sum(bits)) ** 2 == pytest.approx(float(mechanism.variance), rel=1e-9)


def test_the_program_shows_the_shuffler_the_same_distribution():
    """Summed out under coins: the number of ones is the true sum plus binomial noise."""
    mechanism = binary_sum_mechanism(3, 3, "1/5")
    estimates = [
        mechanism(Sampler(np.random.default_rng(seed)), [1, 0, 1], site="sum") for seed in range(4000)
    ]
    spread = math.sqrt(float(mechanism.variance))
    assert abs(np.mean(estimates) - 2) < 4.5 * spread / math.sqrt(4000)
    assert np.var(estimates) == pytest.approx(spread**2, rel=0.12)
    with pytest.raises(InvalidParameterError, match="3 users"):
        mechanism(Sampler(np.random.default_rng(0)), [1], site="sum")


@pytest.mark.parametrize("n_users", [50, 400, 2**14])
def test_proxies_are_optimal(n_users):
    """log E exp(sX) <= proxy s^2 / 2 on a grid, with equality at s = 2 log((1-p)/p) (at s -> 0 for fair
    bits)."""
    mechanism = binary_sum_mechanism(n_users, "1/2", "1/1000000")
    p, total, proxy = float(mechanism.p), mechanism.noise.trials, float(mechanism.proxy)

    def ratio(s):
        return total * (math.log1p(p * math.expm1(s)) - s * p) * 2 / s**2

    grid = [sign * s for s in np.geomspace(1e-3, 50, 400) for sign in (1, -1)]
    best = 2 * math.log((1 - p) / p) if mechanism.p != Fraction(1, 2) else 1e-3
    assert max(map(ratio, grid)) <= proxy * (1 + 1e-9)
    assert ratio(best) == pytest.approx(proxy, rel=1e-6)


@pytest.mark.parametrize("wrong", [(0, 1, "1/2"), (3, 0, "1/2"), (3, 1, 0), (3, 1, 1)])
def test_impossible_budgets_are_refused(wrong):
    """No users, no epsilon, delta at an end."""
    with pytest.raises(InvalidParameterError, match="must"):
        binary_sum_mechanism(*wrong)
