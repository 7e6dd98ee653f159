"""Binomial noise on rounded vectors, in closed form, against sums over all outcomes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.certify.build import Proof, binomial_vectors, compose_sequential, vector_noise
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError
from dpaudit.kernel.ball import arb, ball
from dpaudit.kernel.t1.binomial_vectors import BinomialVectors

ORDERS = [Fraction(k, 2) for k in (3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)]
LOOSE = ApproxDP(epsilon="1/2", delta=1)


def stated(**changes: Any) -> Proof:
    given = {"trials": 4000, "probability": "1/4", "dimension": 2, "l2_squared": 18, "largest": 3}
    given |= {"orders": ORDERS, "deviation": 150, **changes}
    return binomial_vectors(**given)


def hockey_stick(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    """Of both directions the larger, of two product distributions given by their factors."""
    forth = np.maximum(one - math.exp(epsilon) * two, 0).sum()
    return float(max(forth, np.maximum(two - math.exp(epsilon) * one, 0).sum()))


def rounded(value: float, *, trials: int, chance: float, room: int) -> np.ndarray:
    """The distribution of floor(value) + Ber(fraction) + Bin(trials, chance) on 0, ..., trials + room."""
    points, low = np.arange(trials + room + 1), math.floor(value)
    up = value - low
    pmf = stats.binom.pmf
    return np.asarray(
        (1 - up) * pmf(points - low, trials, chance) + up * pmf(points - low - 1, trials, chance)
    )


@pytest.mark.parametrize("chance", ["1/2", "1/4", "7/10"])
@pytest.mark.parametrize("epsilon", ["1/10", "1/2"])
@pytest.mark.parametrize(("here", "there"), [((0.0, 0.0), (2.3, 0.4)), ((1.5, 0.25), (0.25, 1.5))])
def test_two_rounded_entries_summed_out(
    chance: str, epsilon: str, here: tuple[float, float], there: tuple[float, float]
) -> None:
    """delta of two entries, rounded and noised, summed over all pairs of outcomes, is at most the bound."""
    trials, p = 900, float(Fraction(chance))
    distributions = [
        np.multiply.outer(*(rounded(v, trials=trials, chance=p, room=4) for v in side))
        for side in (here, there)
    ]
    squares = sum(Fraction(a - b) ** 2 for a, b in zip(here, there, strict=True))
    largest = max(abs(Fraction(a - b)) for a, b in zip(here, there, strict=True))
    proof = binomial_vectors(
        trials=trials,
        probability=chance,
        dimension=2,
        l2_squared=squares,
        largest=largest,
        rounding="unbiased",
        orders=ORDERS,
        deviation=60,
    )
    bound = proof.certify(ApproxDP(epsilon=epsilon, delta=1)).bound
    summed = vector_noise(
        "binomial",
        trials=trials,
        probability=chance,
        dimension=2,
        l2_squared=squares,
        largest=math.ceil(largest),
        rounding="unbiased",
        orders=ORDERS,
    )
    other = summed.certify(ApproxDP(epsilon=epsilon, delta=1)).bound
    assert bound is not None
    assert other is not None
    assert hockey_stick(*distributions, epsilon=float(Fraction(epsilon))) <= float(min(bound, other))
    assert max(bound, other) < 1


@pytest.mark.parametrize("chance", [Fraction(1, 4), Fraction(2, 3)])
@pytest.mark.parametrize("shift", [-5, -1, 1, 5])
def test_one_entry_in_moments(chance: Fraction, shift: int) -> None:
    """log E exp((a - 1) loss), summed over the range, is at most (a - 1) R; and R is no more than a seventh
    and what rho allows above it."""
    trials, deviation = 20_000, 400
    noise = BinomialVectors(trials, chance, 1, Fraction(shift**2), Fraction(abs(shift)), False, deviation, 1)
    mean = trials * float(chance)
    points = np.arange(math.ceil(mean - deviation), math.floor(mean + deviation) + 1)
    pmf = stats.binom(trials, float(chance)).logpmf
    for order in (2, 16, 64):
        moment = np.logaddexp.reduce(order * pmf(points) - (order - 1) * pmf(points - shift))
        _, bound = noise.cut(Fraction(order))
        assert moment / (order - 1) <= float(bound.upper())
        rho = 1 / trials * 4 + float(noise.width) ** 2
        assert float(bound.upper()) <= 1.15 * moment / (order - 1) + rho * abs(shift)


def test_what_is_left_out() -> None:
    """The mass beyond the deviation, by the distribution function, is at most the stated one."""
    noise = BinomialVectors(5000, Fraction(1, 4), 1, Fraction(1), Fraction(1), False, 120, 1)
    outside, _ = noise.cut(Fraction(2))
    distribution = stats.binom(5000, 0.25)
    truth = distribution.cdf(1250 - 121) + distribution.sf(1250 + 120)
    assert truth <= float(outside.upper()) <= 100 * truth


def test_rounding_of_both_sides_by_the_same_coin() -> None:
    """The move of an integer has the mean of the real one, and a second moment of c^2 + f(1 - f), f the
    fraction of c: by integration over the coin."""
    coin = (np.arange(100_000) + 0.5) / 100_000
    for value, move in itertools.product((0.0, 0.3, 0.99), (0.0, 0.4, 1.7, -2.25)):
        moved = np.floor(value + move + coin) - np.floor(value + coin)
        fraction = abs(move) % 1
        assert moved.mean() == pytest.approx(move, abs=1e-4)
        assert (moved**2).mean() == pytest.approx(move**2 + fraction * (1 - fraction), abs=1e-4)
        assert set(np.abs(moved)) <= {math.floor(abs(move)), math.ceil(abs(move))}


def test_against_the_sums() -> None:
    """Where ``vector-noise`` can sum, its bound is the smaller one, and a hundred times more trials bring the
    two within a twentieth, at the order that is the best for either."""
    claim = ApproxDP(epsilon="3/1000", delta=1)
    shape = {"dimension": 3, "l2_squared": 12, "largest": 2, "trials": 40_000_000, "probability": "1/4"}
    orders = [2400]
    exact = vector_noise("binomial", orders=orders, **shape).certify(claim).bound  # type: ignore[arg-type]
    closed = binomial_vectors(orders=orders, deviation=22_000, **shape).certify(claim).bound  # type: ignore[arg-type]
    assert exact is not None
    assert closed is not None
    assert exact < closed < Fraction(21, 20) * exact + Fraction(1, 10**9)


def test_times_is_a_composition() -> None:
    """Three releases in one leaf are three leaves composed, and cost more than one."""
    claim = ApproxDP(epsilon=1, delta=1)
    thrice = stated(times=3).certify(claim).bound
    composed = compose_sequential([stated()] * 3).certify(claim).bound
    assert thrice is not None
    assert composed is not None
    assert float(thrice) == pytest.approx(float(composed), rel=1e-9)
    assert thrice > 2 * (stated().certify(claim).bound or 0)


def test_more_trials_hide_more() -> None:
    """Bin(N + n) = Bin(N) + Bin(n): the true delta falls with the trials, and so do these bounds."""
    bounds = [stated(trials=4000 * 4**k, deviation=150 * 2**k).certify(LOOSE).bound for k in range(4)]
    assert all(a is not None and b is not None and a > b for a, b in itertools.pairwise(bounds))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"probability": 0}, "probability"),
        ({"probability": 1}, "probability"),
        ({"deviation": 998}, "deviation"),
        ({"largest": "5/2"}, "largest must be an integer"),
        ({"orders": [1]}, "orders"),
        ({"times": 0}, "times"),
        ({"l2_squared": -1}, "l2_squared"),
    ],
)
def test_refused(changes: dict[str, Any], words: str) -> None:
    """What the statement does not cover is refused, with the parameter named."""
    with pytest.raises(CertificateError, match=words):
        stated(**changes)


def test_a_smaller_bound_is_false() -> None:
    """A certificate that leaves out the rounding states less than the truth would need: rounding costs."""
    plain, paid = stated().certify(LOOSE).bound, stated(rounding="unbiased").certify(LOOSE).bound
    assert plain is not None
    assert paid is not None
    assert plain < paid


def test_the_widest_noise_is_nearly_gaussian() -> None:
    """At 10^16 trials the divergence is that of Gaussian noise, a S / 2V, to a thousandth."""
    noise = BinomialVectors(10**16, Fraction(1, 4), 20, Fraction(450), Fraction(20), False, 4 * 10**8, 1)
    outside, found = noise.cut(Fraction(100_000))
    gaussian = ball(Fraction(100_000 * 450, 2) / Fraction(3 * 10**16, 16))
    assert outside < arb("1e-15")
    assert abs(found / gaussian - 1) < arb("0.001")
