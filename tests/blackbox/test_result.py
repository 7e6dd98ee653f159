"""A check's result can be asked by a test, written to a file and read by a person."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dpaudit
from dpaudit import PureDP, check
from dpaudit.blackbox import AS_RUN
from dpaudit.core.claims import Adjacency, Model
from dpaudit.core.errors import DpauditError, InvalidParameterError, RefutedError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.pairs import shown
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0.0, 1.0)]


def run(scale: float, **options):
    """A Laplace mechanism that is 1/scale-DP, checked against epsilon 1."""
    return check(lambda x, rng: x + rng.laplace(0, scale), ONE, neighbours=UNITS, max_samples=1500, **options)


def test_the_truth_value_is_refused_with_advice() -> None:
    """``if check(...)`` could mean two things, so it means none."""
    with raises(InvalidParameterError, code="E-RESULT-TRUTH-VALUE"):
        bool(run(0.25))


def test_the_verdict_compares_with_strings() -> None:
    """A verdict is equal to its name, and to nothing else."""
    assert run(0.25).verdict == "refuted"
    assert run(1.0).verdict == "inconclusive"
    assert run(1.0).verdict != "refuted"
    assert f"{run(1.0).verdict}" == "inconclusive"


def test_raise_if_refuted() -> None:
    """A refuted claim raises an assertion error that holds the evidence; another result is handed back."""
    with raises(RefutedError, code="E-REFUTED", match="confidence") as caught:
        run(0.25).raise_if_refuted()
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, DpauditError)
    result = run(1.0)
    assert result.raise_if_refuted() is result


def test_the_result_is_plain_data_on_request() -> None:
    """``to_dict`` survives JSON, and its evidence can be read again; also where nothing was concluded."""
    kept: dict[float, float] = {}
    memory = check(lambda x, rng: kept.setdefault(x, rng.normal()), ONE, neighbours=UNITS, max_samples=200)
    for result in (run(0.25), run(1.0), memory):
        data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert data["verdict"] == result.verdict
        assert data["claim"]["epsilon"] == 1
        assert data["notes"] == list(result.notes)
        assert evidence_from_json(data["evidence"]) == result.evidence


def test_the_repr_fits_an_assertion() -> None:
    """One line with the verdict, the bound, the confidence, the runs and the claim."""
    text = repr(run(0.25))
    assert len(text) < 120
    assert "\n" not in text
    for part in ("refuted", "epsilon > 1", "95% confidence", "runs", "claimed 1"):
        assert part in text


def test_ignored_bits_are_said_and_can_be_looked_at() -> None:
    """Over the reals, low-order bits are ignored and an open result says how to count them; with ``AS_RUN``
    they count, and of whole numbers nothing was ignored.
    """
    note = "model=dpaudit.blackbox.AS_RUN"
    assert note in str(run(1.0))
    assert note not in str(run(0.25))
    as_run = PureDP(epsilon="0.1", model=AS_RUN)

    def naive(x, rng, size):
        u = rng.random(size) - 0.5
        return x - 10.0 * np.sign(u) * np.log(1 - 2 * np.abs(u))

    result = check(naive, as_run, neighbours=UNITS, batch=True, max_samples=6000)
    assert result.verdict == "refuted"
    assert note not in str(result)
    assert "plus a float" in result.event
    whole = check(lambda x, rng: int(x + rng.integers(50)), ONE, neighbours=UNITS, max_samples=400)
    assert note not in str(whole)


def test_independence_is_said_to_be_assumed() -> None:
    """Every bound says what it assumes of the calls."""
    assert "assuming independent calls" in str(run(0.25))
    assert "assuming independent calls" in str(run(1.0))


def test_options_are_refused_at_once() -> None:
    """A misspelt adjacency, unit or model is refused where it is written, with the options; names will do."""
    with pytest.raises(InvalidParameterError, match="'replace-one', 'add-remove', 'zero-out', got 'foo'"):
        PureDP(epsilon=1, adjacency="foo")
    with pytest.raises(InvalidParameterError, match="'event', 'user'"):
        dpaudit.ApproxDP(epsilon=1, delta="0.1", unit="group")
    with pytest.raises(InvalidParameterError, match="'ideal', 'as_run'"):
        dpaudit.GaussianDP(mu=1, model=None)
    claim = PureDP(epsilon=1, adjacency="add-remove", model="as_run")
    assert claim.adjacency is Adjacency.ADD_REMOVE
    assert claim.model is Model.AS_RUN


def test_a_bound_of_0_is_no_bound() -> None:
    """An output that ignores the data: nothing is known to exceed 0, which the first lines say."""
    result = check(
        lambda data, rng: rng.random() < 0.5, PureDP(epsilon=1), neighbours=[(0, 1)], max_samples=400
    )
    assert "no bound on epsilon above 0" in str(result)
    assert "epsilon > 0 " not in str(result)


def test_a_bound_that_refutes_is_told_from_the_claim() -> None:
    """With as many figures as that takes: 1.00001 is not written as 1."""
    result = check(lambda data, rng: data, PureDP(epsilon=1), neighbours=[(0, 1)], max_samples=2000)
    assert result._in_figures(1.00001) == "1.00001"
    assert result._in_figures(1.2345678) == "1.234"
    assert result._in_figures(0.99999) == "0.9999"
    assert result._in_figures(1.00000001) == "1 (the claimed bound)"


@pytest.mark.parametrize("pairs", [[(0, 0.01), (0, 1)], [(0, 1), (0, 0.01)]])
def test_a_bound_over_several_pairs_names_the_one_that_it_is_about(pairs) -> None:
    """Also where neither refutes: a pair that loses at most 0.01 is not named beside a bound of 0.6."""
    result = check(
        lambda x, rng: x + rng.laplace(scale=1.1), PureDP(epsilon=1), neighbours=pairs, max_samples=6000
    )
    place = pairs.index((0, 1))
    assert result.evidence.lower > 0.3
    assert result.evidence.details["pair"] == place
    assert f"strongest evidence from pair {place} of 2: 0 and 1)" in str(result)


def test_a_pair_that_costs_more_by_its_noise_is_named() -> None:
    """A note on recorded draws names its pair and comes before other notes."""
    result = check(
        lambda x, rng: x + rng.laplace(scale=1),
        PureDP(epsilon=1),
        neighbours=[(0, 0.01), (0, 1), (0, 1.1)],
        max_samples=400,
    )
    assert result.verdict == "inconclusive"
    assert result.notes[0].startswith("recorded draws, pair 2 (0 and 1.1): ")
    assert "epsilon 1.1, above the claimed 1" in result.notes[0]


def test_tables_are_named_on_one_line() -> None:
    """A pair of data frames or wide arrays does not break the line that names it."""
    frames = [pd.DataFrame({"age": [30, k], "who": ["a", "b"]}) for k in (40, 41)]
    arrays = [np.arange(40).reshape(10, 4), np.arange(40).reshape(10, 4)]
    arrays[1][-1] = 0
    result = check(
        lambda table, rng: np.asarray(table).shape[0] + rng.laplace(),
        PureDP(epsilon=1),
        neighbours=[tuple(frames), (frames[0]["age"], frames[1]["age"]), tuple(arrays)],
        max_samples=400,
    )
    assert str(result).count("\n") == len(result.notes) + 2
    assert shown(frames[0]) == "{'age': [30, 40], 'who': ['a', 'b']}"
    assert "\n" not in shown(arrays[0])


def test_many_pairs_share_the_runs() -> None:
    """An open result on many pairs says that fewer would show more."""

    def private(data, rng):
        return sum(data) + rng.laplace(scale=2)

    claim = PureDP(epsilon=1)
    many = dpaudit.blackbox.corners([0, 1], size=8)
    assert len(many) >= 6
    said = [str(check(private, claim, neighbours=pairs, max_samples=4000)) for pairs in (many * 2, many[:2])]
    assert [f"{2 * len(many)} pairs of inputs shared the runs" in text for text in said] == [True, False]
