"""A check that is stopped says what is known so far, and a slow one says on a terminal how far it is."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from hypothesis import strategies as st

from dpaudit import GaussianDP, PureDP, check
from dpaudit.blackbox.bounds import lower_bound
from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.blackbox.search import Target
from dpaudit.blackbox.smallest import smallest
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.suite import Neighbours
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0.0, 1.0)]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def interrupted_after(calls: int, scale: float):
    """A mechanism during whose given call the user presses Ctrl-C."""
    count = [0]

    def run(x, rng):
        count[0] += 1
        if count[0] == calls:
            raise KeyboardInterrupt
        return x + rng.laplace(0, scale)

    return run


def test_ctrl_c_gives_what_is_known() -> None:
    """The runs before the interruption stand, with their bound; before the first block there is none."""
    result = check(interrupted_after(400, 0.5), ONE, neighbours=UNITS, stop_early=False)
    assert 300 < result.samples < 400
    assert result.evidence.lower > 0
    assert f"interrupted after {result.samples} runs" in str(result)
    nothing = check(interrupted_after(20, 0.5), ONE, neighbours=UNITS)
    assert nothing.verdict == "inconclusive"
    assert nothing.samples == 0
    assert nothing.not_audited
    assert "interrupted after 0 runs" in str(nothing)
    assert "every output on both inputs was equal" not in str(nothing)


def test_the_limit_of_a_call_is_not_one_of_many_calls() -> None:
    """Calls that each keep the limit pass it together; one that does not is stopped, wherever it comes."""
    calls = [0]

    def hangs_late(x, rng):
        calls[0] += 1
        time.sleep(0.03 if calls[0] < 20 else 5)
        return x + rng.laplace()

    start = time.monotonic()
    with raises(MechanismError, code="E-CALL-TIMEOUT", match=r"timeout=0\.2"):
        check(hangs_late, ONE, neighbours=UNITS, timeout=0.2)
    assert calls[0] == 20
    assert time.monotonic() - start < 4


def test_the_time_limit_holds_between_two_calls() -> None:
    """A slow mechanism is stopped soon after the limit, not at the end of a long block."""

    def slow(x, rng):
        time.sleep(0.02)
        return x + rng.laplace()

    start = time.monotonic()
    result = check(slow, ONE, neighbours=UNITS, seconds=1.2)
    assert time.monotonic() - start < 4
    assert result.verdict == "inconclusive"
    assert 0 < result.samples < 100
    assert f"the time limit was reached after {result.samples} runs" in str(result)


def test_the_time_limit_holds_with_workers() -> None:
    """Two workers stop as one does."""
    start = time.monotonic()
    result = check(sleepy, ONE, neighbours=UNITS, seconds=2, jobs=2)
    assert time.monotonic() - start < 60  # all its runs take minutes; a busy machine starts workers slowly
    assert "the time limit was reached" in str(result)


def sleepy(x, rng):
    """A slow mechanism that workers can import."""
    time.sleep(0.02)
    return x + rng.laplace()


def test_the_bound_shares_the_time_of_the_runs() -> None:
    """A refuted claim whose bound at six points and on twenty pairs takes far longer than the runs."""

    def vector(x, rng):
        return np.asarray(x, float) + rng.laplace(0, 0.1, len(x))

    pairs = [Neighbours("one record moves all", [0.0] * 50, [1.0] * 50)] * 20
    start = time.monotonic()
    result = check(vector, GaussianDP(mu=1), neighbours=pairs, seconds=4, stop_early=False)
    assert time.monotonic() - start < 9
    assert result.verdict == "refuted"
    assert any("the time limit was reached" in note for note in result.notes)


def test_a_bound_that_is_cut_short_still_tells_whether_the_claim_holds() -> None:
    """Without time for values above the tested one the bound is that one; with time it is the usual one."""
    claim = PureDP(epsilon=1)
    result = check(lambda x, rng: x + rng.laplace(0, 0.4), claim, neighbours=UNITS, stop_early=False)
    family, replay = family_of(claim), result.replay
    assert replay is not None
    whole = lower_bound(replay, family, alpha=0.05)
    assert lower_bound(replay, family, alpha=0.05, deadline=time.monotonic() + 1e6) == whole
    cut = lower_bound(replay, family, alpha=0.05, deadline=0.0)
    assert cut == lower_bound(replay, family, alpha=0.05, up_to_tested=True)
    assert cut.value == family.values[family.place] < whole.value


def test_a_claim_that_stands_has_the_same_bound_without_time() -> None:
    """Values below the claim are tested whatever the time, so that the bound is no guess."""
    result = check(lambda x, rng: x + rng.laplace(0, 1.2), ONE, neighbours=UNITS, max_samples=20_000)
    assert result.verdict == "inconclusive"
    assert result.replay is not None
    bounds = [
        lower_bound(result.replay, family_of(ONE), alpha=0.05, deadline=until).value for until in (None, 0.0)
    ]
    assert bounds[0] == bounds[1] > 0


def test_the_smallest_pair_so_far_is_told_when_the_time_ends_in_a_call() -> None:
    """What was found before the limit counts, also where it passes in the middle of a block."""
    calls, clock = [0], Clock(3.0, goal=1000, alpha=0.05)

    def late(x, rng):
        calls[0] += 1
        if calls[0] == 200:
            time.sleep(3.1)
        return x + rng.laplace(0, 1e-3)

    target = Target(late, False, None, 0, family_of(ONE).tested, False)
    numbers = st.integers(0, 10**6)
    found = smallest(st.tuples(numbers, numbers), target, runs=100, alpha=0.05, clock=clock)
    assert calls[0] >= 200
    assert found is not None
    assert found[0].left != found[0].right


def test_a_limit_must_be_positive() -> None:
    """No time at all is refused."""
    with raises(InvalidParameterError, code="E-SECONDS-RANGE"):
        check(sleepy, ONE, neighbours=UNITS, seconds=0)


def test_progress_is_shown_on_a_terminal_only_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, rewritten, with runs, seconds and evidence; nothing in a file, nothing for a fast check."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        now[0] = 0.0
        clock = Clock(None, goal=1000, alpha=0.05, stream=stream)
        for _ in clock.watch(range(3), samples=240, log_wealth=0.0):
            now[0] += 0.9
        assert stream.getvalue() == ""
        for _ in clock.watch(range(3), samples=480, log_wealth=0.0):
            now[0] += 0.9
        clock.clear()
    shown = terminal.getvalue()
    assert file.getvalue() == ""
    assert "480 of at most 1,000 runs, 3 s, e-value 1 (refutes at 20)" in shown
    assert shown.endswith("\r")
    assert "\n" not in shown
