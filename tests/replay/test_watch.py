"""A watched run is cut at its limit, and the outcomes of its conditions are recorded."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Recorder, force, record, replay
from dpaudit.coins.limits import Limits
from dpaudit.coins.unwatched import _is_inert
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Bernoulli, Laplace, Sum
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval, ListedPairs
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.replay.watch import Watch
from tests.errors import raises

NOISE = Laplace(scale=1)
PAIRS = [Neighbours("first record 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))]
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


def verdict(program: Callable[[Coins, Any], Any], **options: Any) -> VerdictKind:
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=[Site("sum", total=1)],
        proof=laplace_mechanism(sensitivity=1, scale=1),
        **({"domain": ListedPairs()} | options),
    )
    found = privacy_outcome(audit, RUN)
    return judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha).verdict


def released(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), NOISE, site="sum"))


def in_the_window(noisy: float) -> bool:
    return 4.00001 < noisy < 4.00002


def into_the_window(site: str, occurrence: int, distribution: Any) -> float:
    """Force the history that enters the branch."""
    return 4.000015


# Leaks in a narrow window of outcomes


def returned(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    return float(data[0]) if in_the_window(noisy) else noisy


def suppressed(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    with suppress(ValueError):
        if in_the_window(noisy):
            raise ValueError(coins.reveal(float(data[0]), site="leak"))
    return noisy


def in_a_closure(coins: Coins, data: Any) -> float:
    def spare() -> float:
        return float(data[0])

    noisy = released(coins, data)
    return spare() if in_the_window(noisy) else noisy


def in_a_thread(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    found: list[float] = []

    def work() -> None:
        if in_the_window(noisy):
            found.append(float(data[0]))
        found.append(noisy)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


WINDOWS = [returned, suppressed, in_a_closure, in_a_thread]


@pytest.mark.parametrize("program", WINDOWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("histories", [{}, {"window": into_the_window}], ids=["searched", "forced"])
def test_a_leak_in_a_window_is_refuted(program: Callable[[Coins, Any], Any], histories: Any) -> None:
    """The search finds the window by the conditions at its ends, without a history that is forced by name."""
    before = threading.gettrace()
    assert verdict(program, histories=histories) is VerdictKind.REFUTED
    assert threading.gettrace() is before


# Conditions that share a line


def conditional_expression(noisy: float) -> float:
    return 1.0 if noisy > 4.5 else noisy


def second_part_of_and(noisy: float) -> float:
    return 1.0 if abs(noisy) < 1e9 and noisy > 4.5 else noisy


def link_of_a_comparison(noisy: float) -> float:
    return 1.0 if 0.5 <= noisy <= 4.5 else noisy


def filter_of_a_comprehension(noisy: float) -> list[float]:
    return [noisy for _ in range(2) if noisy > 4.5]


def assertion(noisy: float) -> float:
    with suppress(AssertionError):
        assert noisy < 4.5
    return noisy


CONDITIONS = [
    conditional_expression,
    second_part_of_and,
    link_of_a_comparison,
    filter_of_a_comprehension,
    assertion,
]


@pytest.mark.parametrize("decide", CONDITIONS, ids=lambda f: f.__name__)
def test_each_condition_of_a_line_is_told_apart(decide: Callable[[float], Any]) -> None:
    """Outcomes on the same side of 4.5 have one path, and those on both sides have two."""
    watch = Watch(lambda coins, data: decide(released(coins, data)))
    watch.tracking = True

    def path(value: float) -> frozenset[Any]:
        force(watch.program, np.zeros(2), watch.aside(lambda *_: value), rng=np.random.default_rng(0))
        return frozenset(watch.path)

    assert path(2.0) == path(3.0)
    assert path(5.0) == path(6.0)
    assert path(3.0) != path(5.0)


def test_only_recordings_with_tracking_have_a_path() -> None:
    """A replay follows the branches of its recording, and a plain recording is only counted."""
    watch = Watch(lambda coins, data: conditional_expression(released(coins, data)))
    recording = record(watch.program, np.zeros(2), rng=np.random.default_rng(0))
    assert not watch.path
    watch.tracking = True
    replay(watch.program, np.ones(2), recording)
    assert not watch.path


def test_a_history_is_no_part_of_the_program() -> None:
    """Functions of a history do not count, even in the same file."""

    def choose(site: str, occurrence: int, distribution: Any) -> float | None:
        return 0.0 if occurrence > 10**6 else None

    watch = Watch(released)
    paths = []
    for history in (lambda *_: None, choose):
        watch.tracking = True
        force(watch.program, np.zeros(3), watch.aside(history), rng=np.random.default_rng(0))
        paths.append((frozenset(watch.path), watch.steps))
    assert paths[0] == paths[1]


def test_another_tracer_comes_back() -> None:
    """A debugger's tracer is restored after a run of a function, a ``partial`` or a callable object."""

    class Released:
        def __call__(self, coins: Coins, data: Any, scale: float = 1.0) -> float:
            return float(coins.release(scale * float(data.sum()), NOISE, site="sum"))

    def tracer(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    for program in (released, Released(), partial(Released(), scale=1.0)):
        watch = Watch(program)
        sys.settrace(tracer)
        try:
            watch.program(Recorder(np.random.default_rng(0)), np.zeros(2))
            assert sys.gettrace() is tracer
        finally:
            sys.settrace(before)
        assert watch.steps >= 1


def test_a_program_in_a_package_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package's function that is itself the program is traced, and its file's hash is known."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "noisy_package_here.py").write_text("def double(coins, data):\n    return 2 * data\n")
    monkeypatch.syspath_prepend(str(folder))
    watch = Watch(__import__("noisy_package_here").double)
    watch.program(Recorder(np.random.default_rng(0)), 1)
    assert [Path(file).name for file in watch.sources()] == ["noisy_package_here.py"]


# Runs that do not end


class Steps:
    """An iterator of its own without an end."""

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> int:
        return 1


def by_count(coins: Coins, data: float) -> None:
    for _ in itertools.count():
        if data == 0:
            break


def by_sentinel(coins: Coins, data: float) -> None:
    for _ in iter(int, 1):
        if data == 0:
            break


def by_class(coins: Coins, data: float) -> None:
    for _ in Steps():
        if data == 0:
            break


def by_while(coins: Coins, data: float) -> None:
    while data != 0:
        pass


@pytest.mark.parametrize("program", [by_count, by_sentinel, by_class, by_while])
def test_a_replay_without_an_end_is_cut(program: Callable[[Coins, float], None]) -> None:
    """Replays count steps only where a loop may have no end: a ``for`` over such an iterator is one."""
    watch = Watch(program, limit=2000)
    result = replay(watch.program, 1.0, record(watch.program, 0.0, rng=np.random.default_rng(0)))
    assert [leak.neighbour for leak in result.leaks] == ["no end: more than 2000 lines executed"]


@pytest.mark.parametrize("tracking", [False, True])
@pytest.mark.parametrize("program", [by_count, by_sentinel, by_class, by_while])
def test_a_recording_without_an_end_is_cut(program: Callable[[Coins, float], None], tracking: bool) -> None:
    """The same when the program is recorded, also after every condition had both outcomes."""
    watch = Watch(program, limit=2000)
    watch.tracking = tracking
    found = record(watch.program, 1.0, rng=np.random.default_rng(0), limits=Limits())
    assert (found.cut, watch.stopped) == ("more than 2000 lines executed", True)


def test_every_line_of_a_recording_counts() -> None:
    """Also in a ``for`` over numbers."""

    def program(coins: Coins, data: int) -> float:
        total = 0.0
        for i in range(data):
            total += i
        return total

    watch = Watch(program, limit=1000)
    rng = np.random.default_rng(0)
    assert record(watch.program, 600, rng=rng, limits=Limits()).cut == "more than 1000 lines executed"
    assert record(watch.program, 300, rng=rng, limits=Limits()).cut == ""
    assert 600 <= watch.steps <= 700


@pytest.mark.parametrize("searched", [None, (2, None)])
def test_the_first_run_of_a_program_is_cut_too(
    searched: tuple[int, None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that never ends is an error in words, whatever is run first: a fingerprint, a search."""

    def program(coins: Coins, data: Any) -> float:
        noisy = released(coins, data)
        while data.sum() >= 0:
            noisy += 1
        return noisy

    monkeypatch.setitem(cast(Any, Watch.__init__).__kwdefaults__, "limit", 2000)
    with raises(MechanismError, code="E-MECHANISM-NO-END", match="no end"):
        verdict(program, searched=searched, domain=Interval(0, 1))


# Primitives are hidden from the tracer only if no code of the program can run in them


class Own(Laplace):
    """A distribution of the program: which line runs depends on the draw."""

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Any:
        drawn = super().sample(rng, size)
        for _ in range(50):
            drawn = drawn + 0
        return drawn


class Spoofed(Laplace):
    __module__ = "dpaudit.distributions.continuous"


def shown(noise: Any, coins: Coins, data: Any) -> Any:
    return coins.release(data, noise, site="noise")


def test_a_distribution_of_the_program_is_traced_inside_a_primitive() -> None:
    """The lines of its own ``sample`` count, and those of a library's do not."""
    steps = []
    for noise in (Own(scale=1), NOISE):
        watch = Watch(partial(shown, noise))
        record(watch.program, 0.5, rng=np.random.default_rng(0))
        steps.append(watch.steps)
    assert steps[0] > 50 > steps[1]


@pytest.mark.parametrize(
    ("value", "inert"),
    [
        (Laplace(scale=1).shift(Fraction(1, 3)), True),
        ([Bernoulli(p="1/2").shift(np.arange(3))] * 4, True),
        (Sum(), True),
        ({"a": (1, 2.0, "text", None, np.float64(1))}, True),
        (Own(scale=1), False),
        ([Laplace(scale=1), Own(scale=1).shift(2)], False),
        (Spoofed(scale=1), False),
        (np.array([object()], dtype=object), False),
        (type("Number", (float,), {})(1.0), False),
        (iter([1]), False),
    ],
)
def test_inert_values_hold_no_code(value: Any, inert: bool) -> None:
    assert _is_inert((value,)) is inert
