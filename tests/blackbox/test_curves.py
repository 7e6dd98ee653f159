"""Claims about a whole curve of (epsilon, delta) are bet against at several points, and refuted sooner."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dpaudit
from dpaudit import (
    ApproxDP,
    GaussianDP,
    Profile,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    check,
)
from dpaudit.blackbox.features import SCORE_CELLS, CoordinateScore
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.core.claims import claim_from_json
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises

UNITS = [(0.0, 1.0)]
PROFILE = Profile(points=[(0, "0.383"), (1, "0.127"), (2, "0.021")])


def noise(deviation: float):
    """Gaussian noise in batches, for inputs one apart."""
    return lambda x, rng, size: x + rng.normal(0, deviation, size)


def run(deviation: float, claim, **options):
    """A check of Gaussian noise, of 20,000 runs at most."""
    options = {"max_samples": 20_000, "record_draws": False, **options}
    return check(noise(deviation), claim, neighbours=UNITS, batch=True, **options)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("claim", "most"),
    [
        pytest.param(GaussianDP(mu=1), 400, id="gdp"),
        pytest.param(ZeroConcentratedDP(rho="0.5"), 1000, id="zcdp"),
        pytest.param(RenyiDP(order=2, epsilon=1), 1000, id="renyi"),
        pytest.param(PROFILE, 400, id="profile"),
    ],
)
def test_half_the_noise_is_refuted(claim, most: int) -> None:
    """Half the deviation that 1-GDP needs: the median run is refuted within ``most`` runs, by a bound above
    the claim that is below the truth; the right noise is not refuted."""
    results = [run(0.5, claim, seed=seed) for seed in range(3)]
    assert all(result.verdict == "refuted" for result in results)
    assert np.median([result.samples for result in results]) <= most
    truth = {"mu": 2, "rho": 2, "renyi epsilon": 4, "excess delta": 0.39}[claim.quantity]
    assert all(claim.bound < result.evidence.lower <= truth for result in results)
    assert all("the claim allows" in result.event for result in results)
    assert run(1.0, claim, seed=7, max_samples=1500).verdict != "refuted"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("order", "divergence"), [("1.01", "0.01"), ("1.0001", "0.5"), ("1.9", "0.4")])
def test_renyi_claims_of_low_order_say_something(order: str, divergence: str) -> None:
    """By the total variation that they bound: a bare number is refuted, the right Gaussian noise is not."""
    claim = RenyiDP(order=order, epsilon=divergence)
    assert check(lambda x, rng: x, claim, neighbours=UNITS, max_samples=2000).verdict == "refuted"
    deviation = (float(order) / (2 * float(divergence))) ** 0.5
    assert run(deviation, claim, alpha=1e-6, max_samples=1500).verdict == "inconclusive"


def test_a_curve_is_refuted_sooner_than_one_point_of_it() -> None:
    """Noise of half the deviation that (1, 1e-5)-DP needs, 3.73: the curve is refuted within 3500 runs, where
    the point alone still stands after as many."""
    assert run(1.865, GaussianDP(mu="0.2681"), max_samples=3500).verdict == "refuted"
    assert run(1.865, ApproxDP(epsilon=1, delta="1e-5"), max_samples=3500).verdict == "inconclusive"


def test_the_result_shows_its_history() -> None:
    """The history is in the dict, the frame and the page for notebooks, whose text is escaped."""
    result = run(0.5, GaussianDP(mu=1), delta="1e-3")
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    frame = result.to_frame()
    assert data["history"][-1] == [frame["runs"].iloc[-1], frame["lower"].iloc[-1]]
    assert frame["lower"].iloc[-1] == result.evidence.lower
    assert data["epsilon_at_delta"]["epsilon_lower"] == result.epsilon_at("1e-3")
    page = result._repr_html_()
    assert "<b>REFUTED</b>" in page
    assert f"{result.evidence.lower:.4g}</td></tr></table>" in page
    assert "output &lt;" in page or "output &gt;" in page
    with raises(InvalidParameterError, code="E-DELTA-RANGE"):
        result.epsilon_at(1)
    with raises(InvalidParameterError, code="E-DELTA-RANGE"):
        run(0.5, GaussianDP(mu=1), delta=-0.1)


def test_where_nothing_holds_there_is_no_curve() -> None:
    """A mechanism that remembers gets no bound of any kind."""
    kept: dict[float, float] = {}
    result = check(
        lambda x, rng: kept.setdefault(x, rng.normal()), GaussianDP(mu=1), neighbours=UNITS, max_samples=200
    )
    assert result.evidence.lower is None
    assert result.curve is None
    assert result.epsilon_at("0.1") is None
    assert result.history == ()


def test_a_profile_is_a_claim_like_others() -> None:
    """Exact points in the order of epsilon, through JSON and back; points that are none are refused."""
    claim = Profile(points=[(1, "1/7"), ("0.5", 0.2)], adjacency="add-remove")
    assert claim_from_json(json.loads(json.dumps(claim.to_json()))) == claim
    assert [epsilon < 1 for epsilon, _ in claim.exact_points] == [True, False]
    assert "δ(0.5) <= 0.2" in claim.in_words()
    for points in ([], [(1, 2)], [(-1, "0.1")], [3], [("x", 0)]):
        with pytest.raises(InvalidParameterError, match=r"points must|delta must|epsilon must"):
            Profile(points=points)


def test_constant_outputs_are_named_with_the_runs_that_they_need() -> None:
    """Without noise the result says how many runs would refute before it makes any; at epsilon = 4 the
    number said is near the number it takes."""
    result = check(lambda x, rng: 2 * x, PureDP(epsilon=10), neighbours=[(0, 1)], max_samples=1000)
    assert (result.samples, "270,000 runs" in result.not_audited) == (0, True)
    open_result = check(lambda x, rng: 2 * x, PureDP(epsilon=4), neighbours=[(0, 1)], max_samples=150)
    said = re.search(r"requires ([0-9,]+) runs", open_result.not_audited)
    assert said is not None
    assert 300 <= int(said[1].replace(",", "")) <= 800
    refuted = check(lambda x, rng: 2 * x, PureDP(epsilon=4), neighbours=[(0, 1)])
    assert refuted.verdict == "refuted"
    assert 300 <= refuted.samples <= 450


def test_scores_of_many_columns_are_sums_over_columns() -> None:
    """Against a plain loop: cells by searching each column's cuts, tables by counting each column."""
    rng = np.random.default_rng(3)
    sides = [rng.normal(shift, 1, (200, 40)) for shift in (0.0, 0.3)]
    for side in sides:
        side[:, 5] = np.round(side[:, 5])  # few distinct values
        side[::7, 6] = np.nan
        side[::9, 7] = np.inf
    encoder = OutcomeEncoder()
    past = (encoder.encode(sides[0]), encoder.encode(sides[1]))
    feature = CoordinateScore("score", lambda values: values)
    feature.learn(past)
    new = rng.normal(0, 1, (50, 40))
    new[::7, 6] = np.nan
    expected = np.zeros(50)
    for k in range(40):
        pooled = np.concatenate([sides[0][:, k], sides[1][:, k]])
        pooled = np.sort(pooled[~np.isnan(pooled)])
        levels = np.arange(1, SCORE_CELLS) / SCORE_CELLS
        distinct = np.unique(pooled)
        cuts = distinct[1:]
        if len(distinct) > SCORE_CELLS:
            cuts = np.unique(pooled[np.ceil(levels * (len(pooled) - 1)).astype(int)])

        def counts(column, cuts=cuts):
            cells = np.searchsorted(cuts, column, side="right")
            cells[np.isnan(column)] = SCORE_CELLS
            return cells

        first, second = (np.bincount(counts(side[:, k]), minlength=SCORE_CELLS + 1) + 0.5 for side in sides)
        expected += np.log(first / second)[counts(new[:, k])]
    assert feature.values(encoder.encode(new)) == pytest.approx(expected, abs=1e-9)


def test_hashes_of_wide_rows_tell_rows_apart() -> None:
    """Equal wide rows have equal keys; a swap of two columns, or a change of the last bit, changes them."""
    rows = np.random.default_rng(1).normal(size=(100, 50))
    swapped, nudged = rows.copy(), rows.copy()
    swapped[:, [3, 4]] = rows[:, [4, 3]]
    nudged[:, 49] = np.nextafter(rows[:, 49], np.inf)
    encoder = OutcomeEncoder()
    keys = [encoder.encode(part).keys for part in (rows, rows.copy(), swapped, nudged)]
    assert np.array_equal(keys[0], keys[1])
    assert len(set(keys[0].tolist())) == 100
    assert not np.any(keys[0] == keys[2])
    assert not np.any(keys[0] == keys[3])


def test_an_audit_from_the_inside_refuses_a_profile() -> None:
    """Replays cost a program in one number, which a profile has not: said at once, with the next move."""
    with pytest.raises(InvalidParameterError, match="ApproxDP at each of its points"):
        dpaudit.PrivacyAudit(
            claim=PROFILE, program=lambda data, coins: None, neighbours=lambda run: [], sites=[]
        )
