"""RecordedDraws where others draw at the same time, and in many sessions: nothing stays behind."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dpaudit import PureDP, check, record_draws


def test_other_threads_are_not_recorded() -> None:
    """A thread that draws all the while is neither listed nor disturbed."""
    stop, drawn = threading.Event(), []

    def draw_on():
        while not stop.is_set():
            drawn.append(np.random.default_rng(1).integers(100))

    thread = threading.Thread(target=draw_on)
    thread.start()
    try:
        recorded = record_draws(lambda data, rng: sum(data) + rng.laplace(), ([0], [1])).recording.first
    finally:
        stop.set()
        thread.join()
    assert [draw.family for draw in recorded.draws] == ["laplace"]
    assert recorded.seedings == []
    assert len(set(drawn)) == 1


def test_sessions_in_several_threads_leave_nothing_behind() -> None:
    """Each waits for the other; the sources of randomness are numpy's own at the end."""
    before, costs = np.random.default_rng, []

    def hear(scale):
        recorded = record_draws(lambda data, rng: sum(data) + rng.laplace(0, scale), ([0], [1]))
        costs.append(recorded.cost.epsilon * scale)

    threads = [threading.Thread(target=hear, args=(scale,)) for scale in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert costs == pytest.approx([1.0] * 4)
    assert np.random.default_rng is before


def test_a_batched_mechanism_is_recorded() -> None:
    """One output of a batch: the same notes as call by call."""
    result = check(
        lambda data, rng, size: sum(data) + rng.laplace(0, 0.4, size),
        PureDP(epsilon=1),
        neighbours=[([0], [1])],
        batch=True,
        max_samples=200,
    )
    assert any("has epsilon 2.5" in note for note in result.notes)
    assert result.heard[-1] == "1 number drawn, 1 value returned"
