"""Bounds from the guesses of one run: exact error levels, an independent formula, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaudit import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP, one_run
from dpaudit.blackbox.one_run import p_value
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.verdicts import VerdictKind
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

ALPHA = 0.05


def refuted(canaries: int, made: int, correct: int, claim) -> bool:
    """Whether so many correct guesses refute the claim."""
    guesses = np.repeat([1, 0], [made, canaries - made])
    included = np.arange(canaries) < correct
    return one_run(guesses, claim, included=included, alpha=ALPHA).verdict == "refuted"


def test_the_p_value_is_the_formula_of_the_paper() -> None:
    """Theorem 5.2, summed in floats with scipy's binomial: the balls agree, and lie above."""
    for canaries, made, correct, epsilon, delta in (
        (100, 100, 75, math.log(3), 0.0),
        (1000, 100, 75, 0.4, 1e-4),
        (50, 40, 39, 2.0, 1e-3),
        (9, 5, 0, 0.5, 0.01),
    ):
        q = 1 / (1 + math.exp(-epsilon))
        tail = float(stats.binom.sf(correct - 1, made, q))
        near = [
            stats.binom.cdf(correct - 1, made, q) - stats.binom.cdf(correct - 1 - i, made, q)
            for i in range(1, correct + 1)
        ]
        slope = max((mass / i for i, mass in enumerate(near, 1)), default=0.0)
        exact = min(1.0, tail + 2 * canaries * delta * slope)
        found = p_value(
            canaries=canaries,
            made=made,
            correct=correct,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
        )
        assert found == pytest.approx(exact, rel=1e-9)
        assert found >= exact * (1 - 1e-13)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_randomised_response_is_refuted_with_probability_at_most_alpha(epsilon: float) -> None:
    """The worst mechanism of a pure claim: each canary is right with probability q. The chance of a
    refutation is summed exactly, and it comes near alpha, so the test is not an empty one."""
    canaries, claim = 100, PureDP(epsilon=epsilon)
    masses = stats.binom.pmf(np.arange(canaries + 1), canaries, 1 / (1 + math.exp(-epsilon)))
    chance = sum(mass for v, mass in enumerate(masses) if refuted(canaries, canaries, v, claim))
    assert 0.2 * ALPHA < chance <= ALPHA


def test_a_mechanism_that_shows_some_canaries_keeps_the_level() -> None:
    """Each canary is shown with probability delta, otherwise its answer is randomised: (epsilon, delta)-DP.
    Guessing all of them, or only those that are shown, refutes with probability at most alpha (exact
    sums)."""
    canaries, epsilon, delta = 40, 0.5, Fraction(1, 500)
    claim = ApproxDP(epsilon=epsilon, delta=delta)
    right = float(delta) + (1 - float(delta)) / (1 + math.exp(-epsilon))
    every = stats.binom.pmf(np.arange(canaries + 1), canaries, right)
    shown = stats.binom.pmf(np.arange(canaries + 1), canaries, float(delta))
    assert sum(mass for v, mass in enumerate(every) if refuted(canaries, canaries, v, claim)) <= ALPHA
    assert sum(mass for v, mass in enumerate(shown) if refuted(canaries, v, v, claim)) <= ALPHA


def test_canaries_that_share_one_noise_keep_the_level() -> None:
    """Interference: one noisy count decides all guesses at once. Simulated, with a declared false-failure
    rate."""
    rng, canaries, epsilon, audits = np.random.default_rng(4), 20, 1.0, 400
    count = 0
    for _ in range(audits):
        included = rng.random(canaries) < 0.5
        more = included.sum() + rng.laplace(0, 1 / epsilon) > canaries / 2
        guesses = np.full(canaries, 1 if more else -1)
        count += (
            one_run(guesses, PureDP(epsilon=epsilon), included=included, alpha=ALPHA).verdict == "refuted"
        )
    assert stats.binom.sf(count - 1, audits, ALPHA) > FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    "claim",
    [PureDP(epsilon=1), ApproxDP(epsilon=1, delta="1e-6"), GaussianDP(mu=1), ZeroConcentratedDP(rho="0.2"),
     RenyiDP(order=8, epsilon=1)],
)  # fmt: skip
def test_a_run_that_shows_every_canary_refutes(claim) -> None:
    """All of 1,000 guesses correct: each kind of claim is refuted, with a bound above it."""
    result = one_run([1, -1] * 500, claim, included=[True, False] * 500)
    assert result.verdict is VerdictKind.REFUTED
    assert result.evidence.lower > float(claim.bound)
    assert "1,000 of 1,000 guesses correct" in str(result)


def test_too_few_canaries_are_not_an_audit() -> None:
    """Three canaries can refute nothing at 0.05; sixty could, and half of them right refutes nothing."""
    assert one_run([1, 1, 1], PureDP(epsilon=1), included=[True] * 3).not_audited
    result = one_run([1] * 60, PureDP(epsilon=1), included=[True, False] * 30)
    assert (result.verdict, result.not_audited) == (VerdictKind.INCONCLUSIVE, "")
    assert result.evidence.lower == 0
    assert "loose" in str(result)


def test_what_is_no_guess_is_refused() -> None:
    """Codes of the errors for guesses, coins and numbers in a wrong order."""
    one = PureDP(epsilon=1)
    for guesses, included, code in (
        ([], [], "E-GUESSES-RANGE"),
        ([2], [True], "E-GUESSES-RANGE"),
        ([True], [True], "E-GUESSES-RANGE"),
        ([[1], [1, 1]], [True, True], "E-GUESSES-RANGE"),
        ([1], [[True], [True, True]], "E-INCLUDED-BOOLEAN"),
        ([[1]], [[True]], "E-GUESSES-RANGE"),
        ([1, 1], [True], "E-INCLUDED-BOOLEAN"),
        ([1, 1], [1, -1], "E-INCLUDED-BOOLEAN"),
    ):
        with raises(InvalidParameterError, code=code):
            one_run(guesses, one, included=included)
    with raises(InvalidParameterError, code="E-GUESSES-ORDER"):
        p_value(canaries=2, made=3, correct=1, epsilon=Fraction(1), delta=Fraction(0))
    with raises(InvalidParameterError, code="E-ALPHA-RANGE"):
        one_run([1], one, included=[True], alpha=2)
