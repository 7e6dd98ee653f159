"""diffprivlib's mechanisms, estimators and tools: claims from their parameters, runs that repeat."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from dpaudit.blackbox import adapters
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.core.errors import InvalidParameterError

pytest.importorskip("diffprivlib")

from diffprivlib import mechanisms, models, tools

from tests.errors import raises


@pytest.mark.parametrize(
    ("made", "pair"),
    [
        (mechanisms.Laplace(epsilon=1, sensitivity=2), (0, 2)),
        (mechanisms.Geometric(epsilon=1, sensitivity=2), (0, 2)),
        (mechanisms.LaplaceTruncated(epsilon=1, sensitivity=1, lower=3, upper=9), (3, 4)),
        (mechanisms.Binary(epsilon=1, value0="a", value1="b"), ("a", "b")),
        (mechanisms.Snapping(epsilon=1, sensitivity=1, lower=0, upper=10), (0, 1)),
        (mechanisms.Staircase(epsilon=1, sensitivity=1), (0, 1)),
    ],
    ids=["Laplace", "Geometric", "LaplaceTruncated", "Binary", "Snapping", "Staircase"],
)
def test_a_mechanism_is_driven_by_the_given_generator(made: object, pair: tuple[object, object]) -> None:
    """The same seed gives the same outputs, another one others; the pair is a sensitivity apart."""
    adapted = adapters.diffprivlib(made)
    assert (adapted.neighbours[0], adapted.claim.bound) == (pair, 1)

    def outputs(seed: int) -> list[object]:
        rng = np.random.default_rng(seed)
        return [adapted.mechanism(pair[0], rng) for _ in range(16)]

    assert outputs(1) == outputs(1) != outputs(2)


def test_a_lie_about_the_sensitivity_is_refuted_and_repeats() -> None:
    """Values three sensitivities apart; the same runs twice."""
    adapted = adapters.diffprivlib(mechanisms.Laplace(epsilon=1, sensitivity=1))
    found = [adapted.check(neighbours=[(0, 3)], max_samples=20_000, record_draws=False) for _ in range(2)]
    assert found[0].verdict == "refuted"
    assert found[0].samples == found[1].samples


def test_a_delta_makes_an_approximate_claim() -> None:
    """Gaussian and uniform noise."""
    claim = adapters.diffprivlib(mechanisms.GaussianAnalytic(epsilon=1, delta=0.01, sensitivity=1)).claim
    assert isinstance(claim, ApproxDP)
    assert (float(claim.epsilon), float(claim.delta)) == (1, 0.01)


def test_an_estimator_shows_what_it_fitted() -> None:
    """Its fitted attributes, by the given generator; without bounds it is refused."""
    adapted = adapters.diffprivlib(models.GaussianNB(epsilon=2, bounds=(0, 1)))
    features, classes = np.linspace(0, 1, 8)[:, None], np.arange(8) % 2
    one, two = (adapted.mechanism((features, classes), np.random.default_rng(3)) for _ in range(2))
    assert {"theta_", "var_", "class_count_"} <= set(one)
    assert np.array_equal(one["theta_"], two["theta_"])
    assert adapted.claim.bound == 2
    with raises(InvalidParameterError, code="E-BOUNDS-MISSING", match="bounds"):
        adapters.diffprivlib(models.GaussianNB(epsilon=2))


def test_a_tool_with_its_arguments_bound() -> None:
    """The adjacency is the caller's, and a note says which one was assumed where none was given, and that a
    seed of the object was ignored."""
    count = functools.partial(tools.count_nonzero, epsilon=0.5)
    adapted = adapters.diffprivlib(count, adjacency="add-remove")
    assert adapted.claim.adjacency is Adjacency.ADD_REMOVE
    assert float(adapted.claim.bound) == 0.5
    assert adapted.notes == ()
    seeded = adapters.diffprivlib(functools.partial(count, random_state=3))
    result = seeded.check(neighbours=[([1, 1], [1, 0])], max_samples=400, record_draws=False)
    assert "replace-one was assumed" in result.notes[0]
    assert "random_state was ignored" in result.notes[1]


def test_other_objects_are_refused() -> None:
    """A function is none of the three."""
    with raises(InvalidParameterError, code="E-OBJECT-KIND"):
        adapters.diffprivlib(tools.mean)
