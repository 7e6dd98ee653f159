"""Check outcomes at quantiles against closed forms and cumulated probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.coins.levels import outcome_at, outcomes_of, uniform_of
from dpaudit.distributions import Bernoulli, Categorical, DiscreteLaplace, Laplace


def test_each_entry_comes_out_at_its_own_level() -> None:
    """Quantiles of Laplace noise are scale * log 2q below the median, and symmetric above."""
    distribution = Laplace(scale=2).shift(np.zeros(3))
    found = outcome_at(distribution, [0.05, 0.5, 0.95])
    assert found == pytest.approx([2 * math.log(0.1), 0.0, -2 * math.log(0.1)], abs=1e-12)
    assert uniform_of(distribution, found) == pytest.approx([0.05, 0.5, 0.95], abs=1e-12)


def test_a_distribution_without_an_order_has_the_atom_at_the_level() -> None:
    """The cumulated weights 1/10, 1/2 and 1 select one of three atoms."""
    distribution = Categorical(weights=[1, 4, 5])
    assert [outcome_at(distribution, level) for level in (0.05, 0.3, 0.7)] == [0, 1, 2]


def test_few_outcomes_are_listed_and_many_are_not() -> None:
    """Only possible outcomes are listed, and none for too many, infinitely many, or a density."""
    assert sorted(map(int, outcomes_of(Bernoulli(p="1/3"), most=2))) == [0, 1]
    assert [int(value) for value in outcomes_of(Bernoulli(p=1), most=2)] == [1]
    assert outcomes_of(Categorical(weights=[1, 1, 1]), most=2) == []
    assert outcomes_of(DiscreteLaplace(scale=1), most=16) == []
    assert outcomes_of(Laplace(scale=1), most=16) == []
