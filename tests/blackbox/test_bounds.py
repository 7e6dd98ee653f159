"""The lower bound of a black-box check is the last value of its family below the first one that stands."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.blackbox.bounds import CHUNK, FINE, lower_bound
from dpaudit.blackbox.hypotheses import Family, Points, family_of
from dpaudit.blackbox.replay import Played, Replay
from dpaudit.blackbox.statistics.cells import CellBlock
from tests.blackbox.black_boxes import laplace
from tests.errors import raises
from tests.rates import FALSE_FAILURE_RATE


class Told:
    """A replay in which a claim of value v is rejected after ``after(v)`` runs at the level alpha, and never
    at a smaller level."""

    def __init__(self, after, *, alpha: float) -> None:
        self._after, self._most = after, math.log(1 / (0.9 * alpha)) + 1e-9

    def rejected_after(self, points, *, log_threshold, deadline=None):
        found = np.array([self._after(float(value)) for value in points.epsilons[:, 0]])
        return np.where(np.broadcast_to(log_threshold, len(found)) <= self._most, found, np.inf)


def _family(place: int) -> Family:
    values = np.arange(1.0, 3 * CHUNK + 1)
    return Family(values, place, lambda value: Points(np.array([value]), np.zeros(1)))


@pytest.mark.parametrize("first_standing", [0.5, 1.0, 4.3, 5.0, 12.0, 12.9, 30.01, 99.0])
def test_the_bound_is_the_value_before_the_first_that_stands(first_standing: float) -> None:
    """Values above a standing one count for nothing, also where they are rejected; a bound between two coarse
    values is less than one fine step below what stands."""

    def after(value: float) -> float:
        return math.inf if first_standing <= value <= first_standing + 2 else 100.0

    found = lower_bound(Told(after, alpha=0.05), _family(5), alpha=0.05).value
    values = _family(5).values
    below = values[values < first_standing]
    assert found < first_standing
    if not len(below):
        assert found == 0
    elif first_standing <= values[-1]:
        # Between 5 and 6, the tested value, there is no fine one.
        high = values[len(below)]
        step = high / below[-1] if high == values[5] else (high / below[-1]) ** (1 / FINE)
        assert found >= below[-1]
        assert found * step >= first_standing * (1 - 1e-9)
    else:
        assert found == values[-1]


def test_the_history_says_when_a_value_and_all_before_it_were_rejected() -> None:
    """A large value that went early counts only when the last smaller one has gone."""
    times = {1.0: 40.0, 2.0: 90.0, 3.0: 10.0, 4.0: 200.0}

    def after(value: float) -> float:
        return times.get(value, math.inf if value > 4 else 5.0)

    found = lower_bound(Told(after, alpha=0.05), _family(0), alpha=0.05)
    assert dict(found.history)[40] < 2 <= dict(found.history)[90]
    assert dict(found.history)[90] >= 3
    assert found.value >= 4
    assert [runs for runs, _ in found.history] == sorted(runs for runs, _ in found.history)


def test_a_replay_bets_as_the_run_did() -> None:
    """The claim that was tested is rejected in the replay after the runs at which the check stopped, and the
    wealth of a claim with several points is the average over them."""
    claim = dpaudit.GaussianDP(mu=1)
    result = dpaudit.check(
        lambda x, rng, size: x + rng.normal(0, 0.5, size), claim, neighbours=[(0.0, 1.0)], batch=True
    )
    family = family_of(claim)
    points = family.points(family.values[[family.place]])
    stopped = result.replay.rejected_after(points, log_threshold=math.log(20))
    assert result.verdict == "refuted"
    betting = result.replay.played[0].betting(points)
    for block in result.replay.played[0].blocks:
        wealth = float(betting.update(block)[0])
    assert result.replay.rejected_after(points, log_threshold=wealth - 1e-9)[0] <= result.samples
    assert stopped[0] == result.samples


def test_every_point_of_a_claim_is_implied_by_it() -> None:
    """Against formulas in floats: the points of GDP, zCDP and Rényi DP are never below what the claim
    implies, and for GDP they are on the curve."""
    points = family_of(dpaudit.GaussianDP(mu="0.7")).tested
    mu = 0.7 * (1 + 1e-8)
    for epsilon, delta in zip(points.epsilons, points.deltas, strict=True):
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        curve = stats.norm.cdf(near) - math.exp(epsilon) * stats.norm.cdf(far)
        assert delta == pytest.approx(curve, rel=1e-9)
    concentrated, renyi = dpaudit.ZeroConcentratedDP(rho="0.5"), dpaudit.RenyiDP(order=2, epsilon=1)
    for claim, order in ((concentrated, None), (renyi, 2)):
        tested = family_of(claim).tested
        for epsilon, delta in zip(tested.epsilons, tested.deltas, strict=True):
            # The Gaussian mechanism with mu = 1 meets both claims, so its curve is a floor.
            floor = stats.norm.cdf(0.5 - epsilon) - math.exp(epsilon) * stats.norm.cdf(-0.5 - epsilon)
            assert floor <= delta
            orders = [order] if order else 1 + np.geomspace(1e-2, 1e2, 4000)
            best = min(a / 2 + math.log(1 / (a * delta)) / (a - 1) + math.log(1 - 1 / a) for a in orders)
            assert epsilon == pytest.approx(max(best, 0.0), abs=1e-4)


def test_larger_values_of_a_family_claim_less() -> None:
    """At each point the epsilon and the delta of a weaker claim allow all that the stronger one does."""
    for claim in (
        dpaudit.PureDP(epsilon=1),
        dpaudit.ApproxDP(epsilon=1, delta="0.01"),
        dpaudit.RenyiDP(order=3, epsilon=1),
        dpaudit.ZeroConcentratedDP(rho="0.1"),
        dpaudit.Profile(points=[(0, "0.2"), (1, "0.05")]),
    ):
        family = family_of(claim)
        assert np.all(np.diff(family.values) > 0)
        points = family.points(family.values[:: max(1, len(family.values) // 6)])
        assert np.all(np.diff(points.epsilons, axis=0) >= -1e-12)
        assert np.all(np.diff(points.deltas, axis=0) >= 0)
        assert np.all(np.diff(points.divergences, axis=0) > 0)


def test_claims_that_no_sample_refutes_are_refused() -> None:
    """An epsilon beyond all samples, a delta of 1 everywhere, and a claim about something else."""
    for claim, value in (
        (dpaudit.PureDP(epsilon=41), "at most 40"),
        (dpaudit.ApproxDP(epsilon=1, delta=1), "below 1"),
        (dpaudit.Profile(points=[(0, 1), (1, 1)]), "below 1"),
        (dpaudit.GaussianDP(mu=100), "below 1"),
        (dpaudit.RenyiDP(order=2, epsilon=1000), "below 1"),
    ):
        with raises(dpaudit.core.errors.InvalidParameterError, code="E-CLAIM-NOT-REFUTABLE", match=value):
            family_of(claim)


def test_the_bound_on_laplace_noise_comes_near_and_stays_below() -> None:
    """With all runs spent the bound at 20,000 runs lies between 1.75 and the true 2, and the history rises to
    it; at a fixed delta and on the curve, between 0 and the truth."""
    result = dpaudit.check(
        laplace(0.5),
        dpaudit.PureDP(epsilon=1),
        neighbours=[(0.0, 1.0)],
        batch=True,
        max_samples=20_000,
        stop_early=False,
        record_draws=False,
        delta="0.01",
    )
    assert 1.75 < result.evidence.lower <= 2.0
    runs, rising = zip(*result.history, strict=True)
    assert rising[-1] == result.evidence.lower
    assert list(rising) == sorted(rising)
    assert runs[-1] <= result.samples
    assert "at delta = 0.01" in str(result)
    assert 1.4 < result.epsilon_at("0.01") <= math.log(math.exp(2))
    curve = result.curve
    for epsilon, delta in zip(curve.at_epsilons, curve.deltas, strict=True):
        # The exact profile of Laplace noise of scale 1/2 on inputs one apart.
        assert delta <= max(0.0, 1 - math.exp((epsilon - 2) / 2))
    assert curve.deltas[0] > 0.55
    assert curve.epsilons[0] > 1.5
    assert curve.to_dict()["simultaneous"] is True
    assert list(curve.to_frame().columns) == ["bounded", "epsilon", "delta"]


def test_a_true_value_is_rejected_at_most_as_often_as_alpha() -> None:
    """Fair outputs at exactly epsilon = 1, whose family has the truth between two coarse values: the bound is
    above the truth no more often than alpha allows; with a test that peeks the same count would say so."""

    def above(known_of) -> int:
        wrong, rng = 0, np.random.default_rng(5)
        for _ in range(60):
            truth = 1 / (1 + math.e)
            counts = np.array([[[0, 0]], [[0, 0]]])
            blocks = []
            for size in [8] * 30:
                ones = rng.binomial(size, [truth, 1 - truth])
                seen = np.array([[[ones[0], size - ones[0]]], [[ones[1], size - ones[1]]]])
                blocks.append(CellBlock(known_of(counts, seen), seen))
                counts = counts + seen
            replay = Replay([Played((1.0,), 0.0, (1.0,), 0, blocks)], [0] * (1 + len(blocks)))
            values = np.array([0.3, 0.6, 0.97, 1.04, 1.3, 1.6])
            family = Family(values, 1, lambda value: Points(np.array([value]), np.zeros(1)))
            wrong += lower_bound(replay, family, alpha=0.05).value > 1
        return wrong

    assert stats.binom.sf(above(lambda known, seen: known) - 1, 60, 0.05) > FALSE_FAILURE_RATE
    peeking = above(lambda known, seen: 1000 * seen)
    assert stats.binom.sf(peeking - 1, 60, 0.05) < FALSE_FAILURE_RATE


def test_points_are_rounded_up() -> None:
    """Neither an epsilon nor a delta of a profile is below the exact number stated."""
    stated = [(Fraction(1, 3), Fraction(1, 7)), (Fraction(2, 3), Fraction(1, 11))]
    points = family_of(dpaudit.Profile(points=stated)).tested
    for (epsilon, delta), one, two in zip(stated, points.epsilons, points.deltas, strict=True):
        assert Fraction(one) >= epsilon
        assert Fraction(two) > delta
