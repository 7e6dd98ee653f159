"""What differs by rounding alone refutes no claim about real numbers, and it does one about floats."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.blackbox.check import AS_RUN, check
from dpaudit.blackbox.in_modes import unrounded_share
from dpaudit.blackbox.rounding import differ_by_rounding
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.rounding_modes import MODES
from dpaudit.core.verdicts import VerdictKind

ONE = PureDP(epsilon=1)
TENTHS = [([0.1, 0.2, 0.3], [0.1, 0.2, 1.0])]


def residual(data, rng):
    """The mean with noise, and what is left of the deviations from it: 0, but for rounding."""
    values = np.array(data)
    return {"mean": values.mean() + rng.laplace(0, 1 / 3), "left": float((values - values.mean()).sum())}


def thirds(data, rng):
    return [sum(data) + rng.laplace(), 0.1 + 0.2 if data[2] < 1 else 0.3]


@pytest.mark.parametrize("mechanism", [residual, thirds])
def test_rounding_refutes_nothing_under_exact_numbers(mechanism) -> None:
    """The same outputs refute a claim about the program as it runs."""
    result = check(mechanism, ONE, neighbours=TENTHS, max_samples=600, alpha=1e-6)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert any("within rounding were ignored" in note for note in result.notes)
    as_run = check(mechanism, PureDP(epsilon=1, model=AS_RUN), neighbours=TENTHS, max_samples=600)
    assert as_run.verdict is VerdictKind.REFUTED


@pytest.mark.parametrize("step", [1e-9, 1e-3, 1.0])
def test_a_small_number_that_is_shown_is_no_rounding(step: float) -> None:
    """What a function shows of its data without noise refutes, however small."""
    result = check(
        lambda data, rng: [sum(data) + rng.laplace(), step * data[2]], ONE, neighbours=TENTHS, max_samples=600
    )
    assert result.verdict is VerdictKind.REFUTED


def test_only_what_has_no_noise_and_is_not_whole_is_rounding() -> None:
    """Columns: rounding, rounding of something large, a difference, whole numbers, noise."""
    big = 2.0**50
    rows = np.array(
        [
            [0.3, big + 0.25, 0.3, 2.0**60, 1e-17],
            [0.3, big + 0.25, 0.3, 2.0**60, 2e-17],
            [0.1 + 0.2, big + 0.5, 0.4, 2.0**60 + 2**9, 1e-17],
            [0.1 + 0.2, big + 0.5, 0.4, 2.0**60 + 2**9, 3e-17],
        ]
    )
    assert set(differ_by_rounding(rows, 2, largest=1.0)) == {0, 1}
    assert differ_by_rounding(rows[[0, 2]], 1, largest=1.0) == {}


def swallowed(data, rng):
    return float(2**53 + sum(data) - 2**53) + rng.laplace()


def swallowed_bare(data, rng):
    return float(2**53 + data[0] / 4 - 2**53)


def swallowed_twice(data, rng, size):
    return np.sum(data) + 2.0**53 - 2.0**53 + rng.laplace(size=size)


def doubled(data, rng):
    return float(2**53 + 2 * sum(data) - 2**53) + rng.laplace()


@pytest.mark.skipif(not MODES, reason="the rounding modes of this processor are not known")
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("mechanism", "pair", "batch"),
    [
        (swallowed, ([0.0, 1.0], [1.0, 1.0]), False),
        (swallowed, ([0.4], [1.4]), False),
        (swallowed_bare, ([5.0], [4.0]), False),
        (swallowed_twice, ([0.0, 1.0], [1.0, 1.0]), True),
    ],
)
def test_a_sum_that_the_mechanism_rounds_refutes_no_claim_on_reals(mechanism, pair, batch) -> None:
    """Two where real numbers differ by at most one: inconclusive, and refuted as run."""
    options = {"neighbours": [pair], "max_samples": 20_000, "alpha": 1e-6, "batch": batch}
    result = check(mechanism, ONE, **options)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert any("rounding" in note for note in result.notes)
    assert check(mechanism, PureDP(epsilon=1, model=AS_RUN), **options).verdict is VerdictKind.REFUTED
    delta = check(mechanism, ApproxDP(epsilon=1, delta="1/100"), **options)
    assert delta.verdict is VerdictKind.INCONCLUSIVE


def test_as_large_a_difference_on_exact_numbers_is_refuted() -> None:
    """Twice the sum beside the same large number, which swallows nothing even."""
    pair = ([0.0, 1.0], [1.0, 1.0])
    found = check(doubled, ONE, neighbours=[pair], max_samples=20_000, alpha=1e-6)
    assert found.verdict is VerdictKind.REFUTED


def test_the_share_that_rounding_leaves() -> None:
    """All of an exact difference, of text, of what raises and of what has randomness of its own."""
    own = np.random.default_rng(0)
    for mechanism in (
        doubled,
        lambda data, rng: "a" if data[0] > 0 else "b",
        lambda data, rng: 1 / 0,
        lambda data, rng: data[0] + own.laplace(),
        lambda data, rng: [sum(data) + rng.laplace(), 0.1 + data[1] + data[0] * 1e-17],
    ):
        assert unrounded_share(mechanism, [0.0, 1.0], [1.0, 1.0], seed=0) > 1 - 1e-9
