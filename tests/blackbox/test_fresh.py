"""Fresh copies of the process answer as if nothing had been called, leave nothing behind, and are not asked
for nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dpaudit import PureDP, check
from dpaudit.blackbox import fork_test as fresh
from dpaudit.blackbox.fork_test import FreshCopies

ONE = PureDP(epsilon=1)
UNITS = [(0.0, 1.0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_copies_know_nothing_and_end() -> None:
    """Each answer comes from another process with the state at the start; afterwards none of them is left."""
    state = ["at the start"]
    with FreshCopies(lambda k: (k, os.getpid(), state[0]), 20) as copies:
        state[0] = "later"
        answers = copies.answers()
    assert answers is not None
    assert [(k, said) for k, _, said in answers] == [(k, "at the start") for k in range(20)]
    processes = {process for _, process, _ in answers}
    assert len(processes) == 20
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "answer",
    [lambda k: 1 / 0, lambda k: lambda: k, lambda k: os._exit(1), lambda k: time.sleep(60)],
    ids=["raises", "no pickle", "ends", "hangs"],
)
def test_a_copy_that_does_not_answer_is_no_answer(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens in a copy, the caller gets ``None`` in time."""
    monkeypatch.setattr(fresh, "LIMIT", 0.5)
    start = time.monotonic()
    with FreshCopies(answer, 3) as copies:
        assert copies.answers() is None
    assert time.monotonic() - start < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_ordinary_check_calls_the_mechanism_in_this_process_only(tmp_path: Path) -> None:
    """The copy that waits runs nothing where outputs vary: connections of the caller's are safe."""
    log = tmp_path / "processes"

    def run(x, rng):
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return x + rng.laplace()

    check(run, ONE, neighbours=UNITS, max_samples=200)
    assert set(log.read_text().split()) == {str(os.getpid())}


def test_without_fork_constant_outputs_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no copy can be made, no noise and a memory look the same: inconclusive, with what to do."""
    monkeypatch.delattr(os, "fork", raising=False)
    result = check(lambda x, rng: x, ONE, neighbours=UNITS, max_samples=1000)
    assert result.verdict == "inconclusive"
    assert "Call it in two new processes" in str(result)
    assert check(lambda x, rng: x + rng.laplace(0, 0.2), ONE, neighbours=UNITS).verdict == "refuted"


#: Mechanisms that wait for a lock, and what they know.
LOCKED = """
import threading

LOCK, MEMORY, SHIFT = threading.Lock(), {}, []


def no_noise(x, rng):
    with LOCK:
        return x


def remembers(x, rng):
    with LOCK:
        return MEMORY.setdefault(x, x + rng.laplace())


def remembers_in_part(x, rng):
    with LOCK:
        return MEMORY.setdefault(x, 3 * x + rng.laplace()) + 0.01 * rng.laplace()


def was_told(x, rng):
    with LOCK:
        return x + SHIFT[0] if SHIFT else 0.0


def noisy(x, rng):
    with LOCK:
        return x + rng.laplace()


def loud(x, rng):
    with LOCK:
        return x + rng.laplace(0, 0.02)
"""


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module whose lock is held whenever a check forks its copy, as by a thread that no copy has."""
    (tmp_path / "locked_mechanisms.py").write_text(LOCKED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("locked_mechanisms")
    enter = FreshCopies.__enter__

    def enter_locked(copies: FreshCopies) -> FreshCopies:
        with module.LOCK:
            return enter(copies)

    monkeypatch.setattr(FreshCopies, "__enter__", enter_locked)
    monkeypatch.setattr(fresh, "STALL", 0.5)
    yield module
    del sys.modules["locked_mechanisms"]


def _asked_anew(result) -> bool:
    return any("in a new process" in note for note in result.notes)


@pytest.mark.sample(2)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("no_noise", "refuted"),
        ("loud", "refuted"),
        ("remembers", "inconclusive"),
        ("remembers_in_part", "inconclusive"),
        ("was_told", "inconclusive"),  # the new process gives 0, always: another constant
        ("noisy", "inconclusive"),  # whether it keeps its first input
    ],
)
def test_a_lock_that_a_fork_never_gets_back_stalls_no_check(
    locked: ModuleType, name: str, verdict: str
) -> None:
    """Copies are asked in a new process, in seconds, and say of noise and memory what forks would."""
    locked.SHIFT.append(7.0)
    start = time.monotonic()
    result = check(getattr(locked, name), ONE, neighbours=UNITS, max_samples=2000)
    assert time.monotonic() - start < 30
    assert (result.verdict, _asked_anew(result)) == (verdict, True)
    if verdict == "inconclusive":
        assert (result.evidence.lower is None) == (name != "noisy")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_stalled_copy_that_cannot_be_pickled_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no new process can be sent is waited for, and then nothing is known."""
    monkeypatch.setattr(fresh, "STALL", 0.2)
    monkeypatch.setattr(fresh, "LIMIT", 1.5)
    lock = threading.Lock()  # cannot be pickled

    def answer(k: int) -> bool:
        time.sleep(60)
        return lock.locked()

    with FreshCopies(answer, 3) as copies:
        assert copies.answers() is None
        assert not copies.spawned


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_slow_copies_answer_from_either_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that is slow and not stalled gives the same answers, however long forks are waited for."""

    def answer(k: int) -> tuple[int, float]:
        time.sleep(0.5)
        return k, float(np.sqrt(k))

    expected = [(k, float(np.sqrt(k))) for k in range(3)]
    for stall, spawned in ((0.1, True), (30.0, False)):
        monkeypatch.setattr(fresh, "STALL", stall)
        with FreshCopies(answer, 3) as copies:
            assert copies.answers() == expected
            assert copies.spawned is spawned


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_copies_end_with_the_time_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that has passed leaves the copies the least time only."""
    monkeypatch.setattr(fresh, "LEAST", 0.3)
    start = time.monotonic()
    with FreshCopies(lambda k: time.sleep(60), 3) as copies:
        assert copies.answers(deadline=start) is None
    assert time.monotonic() - start < 10
