"""Bounds from two lists of scores: the truth is not passed, violations are found, and nothing looks ahead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpaudit import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP, scores
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.verdicts import VerdictKind
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE

ALPHA = 0.2


def gaussian(mu: float, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of an exactly mu-GDP pair."""
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1, count), rng.normal(0, 1, count)


@pytest.mark.parametrize(
    ("claim", "quantity"), [(GaussianDP(mu=1), "mu"), (ZeroConcentratedDP(rho="0.5"), "rho")]
)
def test_half_the_noise_is_refuted_and_the_bound_is_below_the_truth(claim, quantity: str) -> None:
    """Two hundred scores a side at mu = 2 against 1."""
    result = scores(*gaussian(2.0, 200), claim, delta="1e-3")
    assert result.verdict is VerdictKind.REFUTED
    assert float(claim.bound) < result.evidence.lower <= 2
    assert result.evidence.quantity == quantity
    assert 0 < result.epsilon_at("1e-3") < 7
    assert "assuming that the scores are independent" in str(result)
    assert max(result.curve.deltas) < 0.69  # the total variation of the pair


def test_the_right_noise_is_refuted_at_most_at_the_level() -> None:
    """Null audits at the boundary of the claim, at alpha = 0.2 and with a declared false-failure rate."""
    audits = 60
    for claim in (GaussianDP(mu=1), ZeroConcentratedDP(rho="0.5")):
        count = sum(
            scores(*gaussian(1.0, 60, seed), claim, alpha=ALPHA).verdict == "refuted"
            for seed in range(audits)
        )
        assert stats.binom.sf(count - 1, audits, ALPHA) > FALSE_FAILURE_RATE


def test_a_bound_uses_only_scores_up_to_its_time() -> None:
    """Anytime-valid: a value that the first scores reject is rejected after as many scores when more are
    added, whatever they are. A reader that had looked at all scores first would change it."""
    first, second = gaussian(2.0, 400)
    claim = GaussianDP(mu=1)
    points = family_of(claim).points([0.3, 0.6, 1.0, 1.2])
    short = scores(first[:156], second[:156], claim)
    long = scores(first, second - 1e6 * (np.arange(400) >= 156), claim)
    times = [item.replay.rejected_after(points, log_threshold=3.0) for item in (short, long)]
    assert np.all(times[0] < 312)
    assert np.array_equal(times[0], times[1])


def test_the_longer_list_is_cut() -> None:
    """Ten scores more on one side change nothing but a note."""
    first, second = gaussian(2.0, 150)
    same = scores(first, second, PureDP(epsilon=1))
    longer = scores(np.append(first, np.zeros(10)), second, PureDP(epsilon=1))
    assert longer.evidence.lower == same.evidence.lower
    assert "10 scores of the longer list were left out" in longer.notes[0]


def test_few_scores_are_not_an_audit() -> None:
    """Twenty scores cannot refute epsilon = 5."""
    result = scores(*gaussian(9.0, 20), PureDP(epsilon=5))
    assert "cannot refute this claim" in result.not_audited


def test_what_is_no_score_is_refused() -> None:
    """NaN, infinities, matrices, empty lists, texts and ragged lists; claims and levels as in a check."""
    claim = ApproxDP(epsilon=1, delta="1e-5")
    for bad in ([], [np.nan], [np.inf], [[1.0]], ["a"], [[1.0], [1.0, 2.0]], [-1e300]):
        for pair in ((bad, [1.0]), ([1.0], bad)):
            with raises(InvalidParameterError, code="E-SCORES-FINITE"):
                scores(*pair, claim)
    with raises(InvalidParameterError, code="E-ALPHA-RANGE"):
        scores([1.0], [1.0], claim, alpha=0)
    with raises(InvalidParameterError, code="E-CLAIM-NOT-PRIVACY"):
        scores([1.0], [1.0], "private")
