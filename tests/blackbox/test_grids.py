"""What the bits of floats show: which outputs can be the input plus a float, and what the inputs suggest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit import PureDP, check
from dpaudit.blackbox import AS_RUN
from dpaudit.blackbox.experts import Experts
from dpaudit.blackbox.grids import FloatSum, guesses
from dpaudit.blackbox.outcomes import OutcomeEncoder, Outcomes


def outcomes(values: Any) -> Outcomes:
    """Outputs of one number each."""
    column = np.asarray(values, dtype=float)[:, None]
    return Outcomes(column, np.zeros(len(column), np.int64), np.zeros(len(column), np.uint64))


def test_a_sum_of_floats_is_known_as_one() -> None:
    """What is the number plus a float is never taken for what it cannot be, at scales from 2^-20 to 2^20; a
    fair share of what is not is told from it."""
    rng = np.random.default_rng(0)
    for scale in 2.0 ** np.arange(-20, 21, 4):
        for first, second in ((0.0, 1.0), (3.0, 4.0), (1 / 3, 2 / 3)):
            noise = rng.laplace(0, scale, 2000)
            feature = FloatSum("sum", first, second)
            assert np.all(feature.values(outcomes(first + noise)) >= 0)
            assert np.all(feature.values(outcomes(second + noise)) <= 0)
    seen = FloatSum("sum", 0.0, 1.0).values(outcomes(rng.laplace(0, 1, 2000)))
    assert seen.mean() > 0.3  # between -1/2 and 1/2 nearly every output, beyond it some


def test_what_is_no_number_has_no_sum() -> None:
    """NaN and infinities are in the cell of what lacks the feature."""
    found = FloatSum("sum", 0.0, 1.0).values(outcomes([np.nan, np.inf, 0.1, 1.5]))
    assert np.array_equal(found, [np.nan, np.nan, 1.0, 0.0], equal_nan=True)


class Hostile:
    """Data that cannot be made an array."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ((0.0, 1.0), (("sum", 0.0, 1.0),)),
        (([0, 1, 1], [1, 1, 1]), (("sum", 2.0, 3.0), ("mean", 2 / 3, 1.0))),
        (([1.0, 0.0], [0.0, 1.0]), ()),
        (([1, 1], [1]), (("sum", 2.0, 1.0),)),
        (("a", "b"), ()),
        (({"x": 1}, {"x": 2}), ()),
        (([[1, 2], [3]], [[1, 2], [4]]), ()),
        ((np.inf, 0.0), ()),
        ((np.nan, 0.0), ()),
        (([], [1]), ()),
        ((Hostile(), 1.0), ()),
    ],
    ids=[
        "numbers",
        "lists",
        "swapped",
        "shorter",
        "text",
        "mapping",
        "ragged",
        "inf",
        "nan",
        "empty",
        "hostile",
    ],
)
def test_what_the_inputs_suggest(data: Any, expected: Any) -> None:
    """Sum and mean where the inputs are numbers and differ there, nothing otherwise, never an error."""
    assert guesses(data) == expected


def test_experts_of_sums_partition_and_bet_boldly() -> None:
    """With guesses each output is still counted once by every expert, and the shares still sum to 1."""
    rng = np.random.default_rng(1)
    past = (outcomes(rng.laplace(size=60)), outcomes(1 + rng.laplace(size=60)))
    guessed = guesses((0.0, 1.0))
    plain = Experts(past, epsilon=1.0, bits=True, reader=OutcomeEncoder())
    experts = Experts(past, epsilon=1.0, bits=True, reader=OutcomeEncoder(), guessed=guessed)
    assert np.all(experts.fit(past).sum(axis=-1) == 60)
    assert sum(experts.weights) + experts.follow == pytest.approx(1.0)
    assert experts.bold.sum() == plain.bold.sum() + 1


def laplace(data: Any, rng: np.random.Generator, size: int) -> Any:
    """numpy's own Laplace noise on the sum: epsilon 1 for real numbers, infinite for floats."""
    return np.sum(data) + rng.laplace(0, 1, size)


def test_the_floats_of_a_sum_of_a_list_are_seen() -> None:
    """Against twice its ideal epsilon, as it runs: refuted by what its floats show, at every seed."""
    for seed in range(4):
        result = check(
            laplace,
            PureDP(epsilon=2, model=AS_RUN),
            neighbours=[([0, 1, 1], [1, 1, 1])],
            batch=True,
            seed=seed,
            alpha=1e-3,
            max_samples=3000,
            record_draws=False,
        )
        assert result.verdict == "refuted"
        assert "plus a float" in result.event


def rounded(data: Any, rng: np.random.Generator, size: int) -> Any:
    """Noise whose sum with the data is rounded to a grid of 2^-10: 1-DP, since floats of the noise are finer
    by 2^40 and the scale leaves a part in a hundred."""
    return np.round((np.sum(data) + rng.laplace(0, 1.01, size)) * 1024) / 1024


@pytest.mark.parametrize("seeds", [6, pytest.param(12, marks=pytest.mark.slow)])
def test_a_rounded_sum_stands(seeds: int) -> None:
    """Outputs on a coarse grid can be sums of either input: audits as it runs refute nothing (the claim
    holds; each errs with probability at most 1e-7)."""
    for seed in range(seeds):
        claim = PureDP(epsilon=1, model=AS_RUN)
        result = check(
            rounded,
            claim,
            neighbours=[([0, 1, 1], [1, 1, 1])],
            batch=True,
            seed=seed,
            alpha=1e-7,
            max_samples=4000,
            record_draws=False,
        )
        assert result.verdict == "inconclusive"
