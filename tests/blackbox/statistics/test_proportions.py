"""Probabilities from a fixed number of trials, and families of p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpaudit.blackbox.statistics import excess_p_value, holm, proportion_bounds
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (7, 7), (3, 50), (999, 1000)])
def test_bounds_are_where_the_binomial_tails_say(hits: int, trials: int) -> None:
    """At the lower end so many hits or more have probability alpha/2, at the upper end so many or fewer."""
    low, high = proportion_bounds(hits, trials, alpha=0.01)
    if hits:
        assert stats.binom.sf(hits - 1, trials, low) == pytest.approx(0.005, rel=1e-6)
    else:
        assert low == 0
    if hits < trials:
        assert stats.binom.cdf(hits, trials, high) == pytest.approx(0.005, rel=1e-6)
    else:
        assert high == 1


def test_bounds_cover_for_every_probability() -> None:
    """Exactly computed: the chance that the interval misses p is at most alpha, for 20 trials and any p."""
    ends = np.array([proportion_bounds(hits, 20, alpha=0.1) for hits in range(21)])
    for p in np.linspace(0.001, 0.999, 97):
        missed = (p < ends[:, 0]) | (p > ends[:, 1])
        assert stats.binom.pmf(np.arange(21), 20, p)[missed].sum() <= 0.1


def test_the_p_value_is_the_binomial_tail() -> None:
    """P(hits or more) under the largest probability that the claim allows."""
    assert excess_p_value(8, 100, at_most=0.05) == pytest.approx(stats.binom.sf(7, 100, 0.05))
    assert excess_p_value(0, 100, at_most=0.05) == 1


def test_holm_is_sharper_than_bonferroni_and_no_sharper_than_it_may_be() -> None:
    """The smallest needs alpha/m, the next one alpha/(m - 1), and so on; the first that fails ends it."""
    assert holm([0.016, 0.02, 0.04], alpha=0.05).tolist() == [True, True, True]
    assert holm([0.016, 0.026, 0.001], alpha=0.05).tolist() == [True, True, True]
    assert holm([0.017, 0.02, 0.04], alpha=0.05).tolist() == [False, False, False]
    assert holm([0.016, 0.026, 0.04], alpha=0.05).tolist() == [True, False, False]


def test_wrong_counts_and_p_values_are_refused() -> None:
    """More hits than trials, no trials, a level of 0, an e-value among the p-values."""
    for hits, trials in ((3, 2), (-1, 2), (0, 0)):
        with raises(InvalidParameterError, code="E-HITS-RANGE"):
            proportion_bounds(hits, trials, alpha=0.05)
        with raises(InvalidParameterError, code="E-HITS-RANGE"):
            excess_p_value(hits, trials, at_most=0.5)
    with raises(InvalidParameterError, code="E-ALPHA-RANGE"):
        proportion_bounds(1, 2, alpha=0.0)
    with raises(InvalidParameterError, code="E-P-VALUE-RANGE"):
        holm([0.5, 20.0], alpha=0.05)
