"""Tracing and monitoring record the same lines, outcomes and steps, in threads and generators."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, Recorder
from dpaudit.coins.limits import StepLimitError
from dpaudit.replay import coverage as entered
from dpaudit.replay import monitoring
from dpaudit.replay.coverage import Watch
from dpaudit.replay.monitoring import AVAILABLE, monitored
from dpaudit.replay.tracing import traced

needs_monitoring = pytest.mark.skipif(
    not AVAILABLE, reason="sys.monitoring with one event for branches: Python 3.12 and 3.13"
)


def helper(x: float) -> float:
    return 1.0 if x > 2 and x < 5 else x


def branches(coins: Coins, data: float) -> list[float]:
    found = [y for y in (1.0, data) if y > 1]
    while data < 2: data += 0.5  # noqa: E701  # fmt: skip
    if data is None or not found:
        return [helper(data)]
    assert data > 0, "never"
    return found if 2 < data <= 3 else [data, helper(3.0)]


def generated(coins: Coins, data: float) -> Iterator[float]:
    for i in range(3):
        if i > data:
            return
        yield helper(i)


def threaded(coins: Coins, data: float) -> float:
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(helper(data)))
    thread.start()
    thread.join()
    return found[0]


def caught(coins: Coins, data: float) -> float:
    try:
        return 1 / data
    except ZeroDivisionError:
        return float("inf") if data == 0 else 0.0
    finally:
        data = 2 if data > 1 else 3


def seen(program: Any, looking: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Return what is missing after each of a few runs, and the outcomes of the last run."""
    monkeypatch.setattr(entered, "_looking", looking)
    # Python 3.12 reports single operations to no tracer before the one after the first that asks.
    Watch(program).program(Recorder(np.random.default_rng(0)), 0.0)
    watch = Watch(program)
    missing = []
    for data in (0.0, 0.75, 2.5, 7.0):
        watch.program(Recorder(np.random.default_rng(0)), data)
        missing.append(watch.missing())
    watch.tracking = True
    watch.program(Recorder(np.random.default_rng(0)), 0.75)
    return missing, watch.path, watch.functions


@needs_monitoring
@pytest.mark.parametrize("program", [branches, generated, threaded, caught])
def test_both_see_the_same(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lines and conditions are missing after each run, and a run goes the same ways."""
    by_trace = seen(program, traced, monkeypatch)
    assert by_trace == seen(program, monitored, monkeypatch)
    assert by_trace[0][0]


def on_one_line(coins: Coins, data: float) -> None:
    while data: data += 1  # noqa: E701  # fmt: skip


def in_a_comprehension(coins: Coins, data: float) -> None:
    [0 for _ in itertools.count()]


def over_lines(coins: Coins, data: float) -> None:
    while data:
        data += 1


@pytest.mark.parametrize("looking", [traced, pytest.param(monitored, marks=needs_monitoring)])
@pytest.mark.parametrize(
    ("program", "run"),
    [
        (on_one_line, "program"),
        (over_lines, "program"),
        (on_one_line, "counted"),
        (over_lines, "counted"),
        (in_a_comprehension, "counted"),
    ],
)
def test_a_run_without_an_end_is_cut(
    program: Any, run: str, looking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that does not end is cut, wherever it loops and whether or not its lines are traced."""
    monkeypatch.setattr(entered, "_looking", looking)
    watch = Watch(program, limit=1000)
    with pytest.raises(StepLimitError, match="more than 1000 lines"):
        getattr(watch, run)(Recorder(np.random.default_rng(0)), 1.0)


@needs_monitoring
def test_monitoring_disturbs_no_tracer_and_ends_with_the_run() -> None:
    """A debugger's tracer stays; after the run nothing is reported, of the program or of anything else."""
    events: list[str] = []

    def tracer(frame: Any, event: str, argument: Any) -> None:
        events.append(frame.f_code.co_name)

    watch = Watch(branches)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        watch.program(Recorder(np.random.default_rng(0)), 0.0)
    finally:
        sys.settrace(before)
    assert "branches" in events
    steps = watch.steps
    branches(Recorder(np.random.default_rng(0)), 0.0)
    assert watch.steps == steps > 0


@needs_monitoring
def test_what_is_set_aside_is_not_seen() -> None:
    """Functions of a history are not part of the program, even in the same file."""

    def program(coins: Coins, data: float) -> float:
        return choose(data)

    watch = Watch(program)
    choose: Callable[[float], float] = watch.aside(helper)
    assert watch.program(Recorder(np.random.default_rng(0)), 3.0) == 1.0
    assert (watch.functions, watch.missing()) == (1, [])


@needs_monitoring
def test_two_watches_see_one_function_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second watch traces a function again, whatever the first one saw."""
    for _ in range(2):
        watch = Watch(generated)
        tuple(watch.program(Recorder(np.random.default_rng(0)), 2.0))
        assert watch.functions == 2
        with monitored(None):
            helper(1.0)


@needs_monitoring
def test_without_a_free_number_a_tracer_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """If other tools use all tool numbers, a tracer is used."""
    monkeypatch.setattr(monitoring, "_MONITOR", monitoring._Monitor())
    monkeypatch.setattr(monitoring, "_FREE", ())
    watch = Watch(branches)
    watch.program(Recorder(np.random.default_rng(0)), 0.0)
    assert (watch.functions, watch.steps > 0, sys.gettrace()) == (2, True, sys.gettrace())
