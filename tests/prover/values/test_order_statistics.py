"""Numbers computed from a sorted vector: rules that hold on all neighbours of small data."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.kernel.values.info import Info, RefusedStepError
from dpaudit.kernel.values.order_statistics import (
    AtMost,
    Form,
    Forms,
    Sorted,
    count_change,
    growth,
    sensitivity,
)
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.private_scale import private_scale_cost
from dpaudit.kernel.values.release_after_test import failure_of_test

ENTRIES = (0, 1, 3, 4)
ONE = Poly.of(1)


def difference(low: int, high: int, factor: Fraction = Fraction(1), *, size: int, top: int = 4) -> Form:
    """Return factor (x_(high) - x_(low)), with x_(0) = 0 and x_(size+1) = top."""
    constant = factor * top if high == size + 1 else Fraction(0)
    ends = ((low, -factor), (high, factor))
    return constant, tuple((place, a) for place, a in ends if 1 <= place <= size)


def levels(size: int, factors: Any) -> list[Forms]:
    """Return the local sensitivity of the median at each distance, times a factor."""
    m = (size + 1) // 2
    return [
        frozenset(
            difference(max(m + t - k - 1, 0), min(m + t, size + 1), Fraction(factor), size=size)
            for t in range(k + 2)
        )
        for k, factor in enumerate(factors)
    ]


def number(forms: Forms, x: Any) -> Fraction:
    return max(c + sum((a * x[place - 1] for place, a in terms), Fraction(0)) for c, terms in forms)


def neighbours(size: int) -> Any:
    """Yield all pairs of sorted data that differ in one record, in both orders."""
    for rest in itertools.combinations_with_replacement(ENTRIES, size - 1):
        for one, other in itertools.product(ENTRIES, repeat=2):
            yield sorted([*rest, one]), sorted([*rest, other])


def info(name: str, fact: Any) -> Info:
    return Info(change1=ONE, change2=ONE, change=ONE, facts={name: fact})


def random_forms(source: random.Random, size: int) -> Forms:
    """Return a maximum of random differences, often with one of the whole range."""
    found = set()
    for _ in range(source.randint(1, 5)):
        low, high = sorted(source.sample(range(size + 2), 2))
        found.add(difference(low, high, Fraction(source.randint(1, 6), 3), size=size))
    if source.random() < 0.7:
        found.add((Fraction(source.randint(1, 4), 8), ()))
    return frozenset(found)


@pytest.mark.parametrize("seed", range(40))
def test_growth_and_sensitivity_hold_for_all_neighbours(seed: int) -> None:
    """No pair of neighbours exceeds the derived factors, for random maxima and random linear forms."""
    source = random.Random(seed)
    size = source.choice([2, 3, 4])
    vector = Sorted(0, size, Fraction(0), Fraction(4))
    scale, other = random_forms(source, size), random_forms(source, size)
    places = source.sample(range(1, size + 1), source.randint(1, 2))
    value = frozenset(
        [(Fraction(1), tuple((p, Fraction(source.choice([-2, -1, 1, 2]))) for p in sorted(places)))]
    )
    r, q = growth(vector, scale, other), sensitivity(vector, value, scale)
    for x, y in neighbours(size):
        assert r is None or number(scale, y) <= r * number(other, x)
        change = abs(number(value, y) - number(value, x))
        assert q is None or change <= q * min(number(scale, x), number(scale, y))


def test_random_forms_reach_both_rules() -> None:
    """Many of the random cases above have a bound, so that the test can fail."""
    found = 0
    for seed in range(40):
        source = random.Random(seed)
        size = source.choice([2, 3, 4])
        vector = Sorted(0, size, Fraction(0), Fraction(4))
        found += growth(vector, random_forms(source, size), random_forms(source, size)) is not None
    assert found >= 20


@pytest.mark.parametrize("size", [3, 5])
def test_the_smooth_sensitivity_of_the_median_grows_by_the_factor_of_its_weights(size: int) -> None:
    """The bound is e^beta, and it is 1 for the median. Without a level there is no bound, or a larger one."""
    vector = Sorted(0, size, Fraction(0), Fraction(4))
    weights = [Fraction(9, 10) ** k for k in range(size + 1)]
    smooth = frozenset[Form]().union(*levels(size, weights))
    median = frozenset([(Fraction(0), (((size + 1) // 2, Fraction(1)),))])
    assert growth(vector, smooth, smooth) == Fraction(10, 9)
    assert sensitivity(vector, median, smooth) == 1
    later = frozenset[Form]().union(*levels(size, weights)[1:])
    assert sensitivity(vector, median, later) == Fraction(10, 9)
    assert growth(vector, levels(size, weights)[0], levels(size, weights)[0]) is None


def test_a_median_of_an_even_number_moves_by_half_of_each_gap() -> None:
    vector = Sorted(0, 4, Fraction(0), Fraction(4))
    value = frozenset([(Fraction(0), ((2, Fraction(1, 2)), (3, Fraction(1, 2))))])
    wide = frozenset([difference(2, 4, size=4), difference(1, 3, size=4)])
    assert sensitivity(vector, value, wide) == Fraction(1, 2)
    assert sensitivity(vector, value, frozenset([difference(2, 4, size=4)])) is None


@pytest.mark.parametrize("order", ["rising", "falling", "without one level", "repeated"])
def test_a_count_of_levels_changes_by_one(order: str) -> None:
    """The levels in their order change by 1. In another order or with gaps they are charged for more."""
    size, vector = 5, Sorted(0, 5, Fraction(0), Fraction(4))
    chosen = levels(size, [1, 1, 1])
    chosen = {
        "rising": chosen,
        "falling": chosen[::-1],
        "without one level": chosen[::2],
        "repeated": [chosen[0]] * 3,
    }[order]
    tests = tuple(AtMost(forms, Fraction(1), strict=False) for forms in chosen)
    bound = count_change(info("tests", (vector, (tests,))))
    assert bound is not None
    assert bound == {"rising": 1, "falling": 3, "without one level": 1, "repeated": 3}[order]
    counts = [[sum(number(forms, x) <= 1 for forms in chosen) for x in pair] for pair in neighbours(size)]
    worst = max(abs(a - b) for a, b in counts)
    assert worst == bound if order != "falling" else worst <= bound


def scale_cost(law: str, r: Fraction, a: Fraction, split: Fraction = Fraction(0)) -> Any:
    """Return the cost of noise whose scale changes by a factor of r, for a value that moves by a scales."""
    vector = Sorted(0, 1, Fraction(0), Fraction(4))
    scale = frozenset([difference(0, 1, size=1), difference(1, 2, size=1), (4 / r, ())])
    value = frozenset([(Fraction(0), ((1, Fraction(1)),))])
    order = [info("order", (vector, (forms,))) for forms in (value, scale)]
    return private_scale_cost(order[0], order[1], law, Poly.of(1 / a), str(split))[0]


def cauchy_loss(m: float, t: float) -> float:
    y = np.linspace(-50, 50, 400_001)
    return float(np.abs(np.log((t * t + (y - m) ** 2) / (t * (1 + y * y)))).max())


@pytest.mark.parametrize("r", ["1", "6/5", "2"])
@pytest.mark.parametrize("a", ["1/6", "1"])
def test_the_cost_of_cauchy_noise_is_the_largest_loss(r: str, a: str) -> None:
    """The bound covers all shifts and scales, and the worst one attains it."""
    factor, shift = float(Fraction(r)), float(Fraction(a))
    scales = [s**sign for s in np.linspace(1, factor, 9) for sign in (1, -1)]
    worst = max(cauchy_loss(shift * min(1, t), t) for t in scales)
    cost = scale_cost("cauchy", Fraction(r), Fraction(a))
    assert worst <= float(cost.epsilon) * (1 + 1e-9)
    assert worst == pytest.approx(float(cost.epsilon), rel=1e-4)
    assert cost.delta == 0


def laplace_delta(epsilon: float, m: float, t: float) -> float:
    y = np.linspace(-80, 80, 1_600_001)
    p, other = np.exp(-np.abs(y)) / 2, np.exp(-np.abs(y - m) / t) / (2 * t)
    return float(np.maximum(p - math.exp(epsilon) * other, 0).sum() * (y[1] - y[0]))


@pytest.mark.parametrize(("r", "a", "split"), [("6/5", "1/2", "1/2"), ("2", "1/4", "1"), ("1", "1/2", "0")])
def test_the_delta_of_laplace_noise_covers_all_shifts_and_scales(r: str, a: str, split: str) -> None:
    """The bound covers the worst shift and scale, and a change of the scale alone attains it."""
    factor, shift = float(Fraction(r)), float(Fraction(a))
    cost = scale_cost("laplace", Fraction(r), Fraction(a), Fraction(split))
    assert cost.epsilon == Fraction(a) + Fraction(split)
    for t in (1 / factor, 1.0, factor):
        for m in (0.0, shift * min(1, t)):
            assert laplace_delta(float(cost.epsilon), m, t) <= float(cost.delta) + 1e-7
    alone = laplace_delta(float(Fraction(split)), 0.0, 1 / factor)
    assert alone == pytest.approx(float(cost.delta), abs=1e-6)


def test_a_part_below_the_change_of_the_scale_gives_no_bound() -> None:
    """A part of epsilon below log r gives delta 1, and a negative part is refused."""
    assert scale_cost("laplace", Fraction(2), Fraction(1), Fraction(1, 2)).delta == 1
    with pytest.raises(RefusedStepError, match="must not be negative"):
        scale_cost("laplace", Fraction(2), Fraction(1), Fraction(-1))
    with pytest.raises(RefusedStepError, match="cannot have a private scale"):
        scale_cost("gaussian", Fraction(2), Fraction(1))


def test_the_failure_of_a_test_is_the_tail_of_its_noise() -> None:
    """The probability that Laplace noise exceeds the threshold, rounded up, and 1 for a threshold of 0."""
    bound = failure_of_test(Poly.of(2), Fraction(5))
    assert float(bound) == pytest.approx(math.exp(-5 / 2) / 2, rel=1e-15)
    assert failure_of_test(Poly.of(2), Fraction(0)) == 1
