"""dp-accounting's events: what they describe is run, and the accountant's number is the claim."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.blackbox import adapters
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises

accounting = pytest.importorskip("dp_accounting")


def test_an_event_runs_as_it_is_described() -> None:
    """Ten Gaussian releases show ten numbers; half of its epsilon would be refuted, its own is not."""
    event = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(3.0), 10)
    adapted = adapters.dp_event(event, delta="0.01")
    assert 1.5 < float(adapted.claim.epsilon) < 3
    assert adapted.check(max_samples=3000, record_draws=False).verdict == "inconclusive"
    less = adapters.Adapted(
        mechanism=adapted.mechanism,
        claim=type(adapted.claim)(epsilon="0.5", delta="0.01"),
        neighbours=adapted.neighbours,
    )
    assert less.check(max_samples=20_000, record_draws=False).verdict == "refuted"


def test_compositions_draw_what_their_parts_draw() -> None:
    """A sampled Laplace event shows one number, a composed one those of all parts, nothing nothing."""
    sampled = accounting.PoissonSampledDpEvent(0.5, accounting.LaplaceDpEvent(1.0))
    both = accounting.ComposedDpEvent([sampled, accounting.NoOpDpEvent(), accounting.GaussianDpEvent(1.0)])
    adapted = adapters.dp_event(both, delta="0.01")
    assert adapted.mechanism([1], np.random.default_rng(0)).shape == (2,)


def test_events_that_are_not_understood_are_refused() -> None:
    """zCDP says no mechanism; a delta of 0 no number; too many rounds."""
    with raises(InvalidParameterError, code="E-EVENT-KIND", match="ZCDpEvent"):
        adapters.dp_event(accounting.ZCDpEvent(1.0), delta="0.01")
    with raises(InvalidParameterError, code="E-DELTA-RANGE"):
        adapters.dp_event(accounting.GaussianDpEvent(1.0), delta=0)
    long = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(100.0), 5000)
    with raises(InvalidParameterError, code="E-EVENT-DRAWS-RANGE", match="4096"):
        adapters.dp_event(long, delta="0.01")
