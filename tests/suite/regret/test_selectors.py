"""The best private selector, where its error has a closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.regret.selectors import smallest_selection_error
from tests.errors import raises

COINS = [{(0,): 1 - p, (1,): p} for p in (Fraction(1, 4), Fraction(3, 4))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_one_toss_is_answered_by_randomised_response(epsilon: float) -> None:
    """Which of two opposite coins was tossed once: the toss itself, kept with probability e^ε/(1 + e^ε)."""
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    error = 0.75 * (1 - kept) + 0.25 * kept
    assert smallest_selection_error(COINS, n=1, epsilon=epsilon) == pytest.approx(error, abs=1e-7)


def test_more_tosses_help_and_one_answer_for_all_distributions_does_not() -> None:
    """The error falls with n; among three equal distributions it is that of a guess, 2/3."""
    errors = [smallest_selection_error(COINS, n=n, epsilon=1.0) for n in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] - 0.01
    assert smallest_selection_error([COINS[0]] * 3, n=2, epsilon=1.0) == pytest.approx(2 / 3, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 17.0, math.nan])
def test_an_epsilon_that_the_solver_cannot_take_is_refused(epsilon: float) -> None:
    """Nothing, a negative number, one whose exponential is too large, and none at all."""
    with raises(InvalidParameterError, code="E-EPSILON-RANGE"):
        smallest_selection_error(COINS, n=1, epsilon=epsilon)
