"""Fresh copies of the process answer as if nothing had been called, leave nothing behind, and are not asked
for nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dpaudit import PureDP, check
from dpaudit.blackbox import fresh
from dpaudit.blackbox.fresh import FreshCopies

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
    assert "call it in two fresh processes" in str(result)
    assert check(lambda x, rng: x + rng.laplace(0, 0.2), ONE, neighbours=UNITS).verdict == "refuted"
