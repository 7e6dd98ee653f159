"""Lines and branches of the program that no replay ran prevent ``verified``.

The histories at quantiles, which would find the windows here, are left out (``test_quantiles``).
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import dpaudit
from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Choice, Coins, Recorder, force, record, replay
from dpaudit.coins.limits import Limits
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Outcome, Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Laplace
from dpaudit.replay import replay_plan as gathering
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.coverage import Watch, excuse_for
from dpaudit.replay.domains import Interval, ListedPairs
from dpaudit.replay.privacy import privacy_outcome
from tests.errors import raises

NOISE = Laplace(scale=1)
PAIRS = [Neighbours("first record 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))]
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


@pytest.fixture(autouse=True)
def _no_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "quantile_histories", lambda *arguments, **options: [])


def leaks_between_two_values(coins: Coins, data: Any) -> float:
    """Leak in a window of noisy values that no typical or huge noise reaches."""
    noisy = float(coins.release(float(data.sum()), NOISE, site="sum"))
    if 4.00001 < noisy < 4.00002:
        return float(data[0])
    return noisy


def refuses_between_two_values(coins: Coins, data: Any) -> float:
    """The same window, but the branch raises."""
    noisy = float(coins.release(float(data.sum()), NOISE, site="sum"))
    if 4.00001 < noisy < 4.00002:
        raise MechanismError(f"the noisy value must not be {noisy}; run again.")
    return noisy


def into_the_window(site: str, occurrence: int, distribution: Any) -> float:
    """Force the history that enters the branch."""
    return 4.000015


def outcome(program: Callable[[Coins, Any], Any], **options: Any) -> tuple[VerdictKind, Outcome]:
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=[Site("sum", total=1)],
        proof=laplace_mechanism(sensitivity=1, scale=1),
        **({"domain": ListedPairs()} | options),
    )
    found = privacy_outcome(audit, RUN)
    judged = judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha)
    return judged.verdict, found


def test_a_line_that_no_replay_entered_is_named() -> None:
    """The unmet condition names file, line and function."""
    verdict, found = outcome(leaks_between_two_values)
    line = leaks_between_two_values.__code__.co_firstlineno + 4
    assert verdict is VerdictKind.INCONCLUSIVE
    assert found.unmet == [
        f"no replay ran test_coverage.py:{line} in leaks_between_two_values: force a history that does"
    ]


def test_a_history_that_enters_it_finds_the_leak() -> None:
    """A forced history that enters the branch refutes the claim."""
    verdict, _ = outcome(leaks_between_two_values, histories={"window": into_the_window})
    assert verdict is VerdictKind.REFUTED


def test_lines_that_only_raise_are_asked_for() -> None:
    """Lines that only raise count, and a reason for them excuses no other line."""
    verdict, found = outcome(refuses_between_two_values)
    line = refuses_between_two_values.__code__.co_firstlineno + 4
    assert verdict is VerdictKind.INCONCLUSIVE
    assert f"test_coverage.py:{line} in refuses_between_two_values (raise)" in found.unmet[0]
    reason = {"refuses_between_two_values (raise)": "never mind"}
    assert outcome(refuses_between_two_values, unentered=reason)[0] is VerdictKind.CONSISTENT
    other = {"leaks_between_two_values (raise)": "never mind"}
    assert outcome(leaks_between_two_values, unentered=other)[0] is VerdictKind.INCONCLUSIVE


def test_a_function_may_be_excused_with_a_reason() -> None:
    """The row prints the reason."""
    verdict, found = outcome(leaks_between_two_values, unentered={"leaks_between_two_values": "never mind"})
    assert verdict is VerdictKind.CONSISTENT
    assert "not every line of leaks_between_two_values was run: never mind" in found.notes


def test_a_function_that_is_defined_and_never_called_counts() -> None:
    """A function defined in a called function is part of the program."""

    def program(coins: Coins, data: Any) -> float:
        def spare() -> float:
            return float(data[0])

        noisy = float(coins.release(float(data.sum()), NOISE, site="sum"))
        return spare() if 4.00001 < noisy < 4.00002 else noisy

    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert "in test_a_function_that_is_defined_and_never_called_counts.program.spare" in found.unmet[0]


def test_annotations_are_no_function_of_the_program() -> None:
    """Annotation code of Python 3.14 does not count, but a function with its name does."""

    def annotated(coins: Coins, data: Any) -> float:
        def own(numbers: Any, offset: float = 0) -> float:
            total: float = float(numbers.sum()) + offset
            return total

        return float(coins.release(own(data), NOISE, site="sum"))

    def hidden(coins: Coins, data: Any) -> float:
        def __annotate__(format: Any, /) -> float:
            if format == 2:
                raise NotImplementedError
            return float(data[0])

        noisy = float(coins.release(float(data.sum()), NOISE, site="sum"))
        return __annotate__(1) if 4.00001 < noisy < 4.00002 else noisy

    assert outcome(annotated)[0] is VerdictKind.CONSISTENT
    verdict, found = outcome(hidden)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert "hidden.__annotate__" in found.unmet[0]


def test_a_generator_that_runs_in_place_asks_nothing() -> None:
    """The test whether ``tuple`` is the builtin, in Python 3.14, is not a condition of the source."""

    def program(coins: Coins, data: Any) -> float:
        numbers = tuple(float(x) for x in data)
        return float(coins.release(sum(numbers), NOISE, site="sum"))

    verdict, found = outcome(program)
    assert (verdict, found.unmet) == (VerdictKind.CONSISTENT, [])


def test_neither_histories_nor_libraries_are_part_of_the_program() -> None:
    """Functions of numpy, of the harness and of the search are not traced."""

    def choose(site: str, occurrence: int, distribution: Any) -> float | None:
        if occurrence > 10**6:
            return 0.0
        return None

    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(float(np.median(data) + data.sum()), NOISE, site="sum"))

    watch = Watch(program)
    aside: Choice = watch.aside(choose)
    force(watch.program, np.zeros(3), aside, rng=np.random.default_rng(0))
    assert watch.functions == 1
    assert watch.missing() == []


def test_wrapped_programs_are_watched_and_another_tracer_comes_back() -> None:
    """A ``partial`` and a callable object are traced, and a debugger's tracer is restored."""

    class Released:
        def __call__(self, coins: Coins, data: Any, scale: float = 1.0) -> float:
            if scale > 2:
                scale = 2.0
            return float(coins.release(scale * float(data.sum()), NOISE, site="sum"))

    def tracer(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    for program in (Released(), partial(Released(), scale=1.0)):
        watch = Watch(program)
        sys.settrace(tracer)
        try:
            watch.program(Recorder(np.random.default_rng(0)), np.zeros(2))
            assert sys.gettrace() is tracer
        finally:
            sys.settrace(before)
        assert [function.rpartition(".")[2] for _, function in watch.missing()] == ["__call__"]


# A line that raises is a branch like any other where something catches it


def in_the_window(noisy: float) -> bool:
    return 4.00001 < noisy < 4.00002


def released(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), NOISE, site="sum"))


def suppressed(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    with suppress(ValueError):
        if in_the_window(noisy):
            raise ValueError(coins.reveal(float(data[0]), site="leak"))
    return noisy


def caught_for_another_reason(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    try:
        if in_the_window(noisy):
            raise ValueError(float(data[0]))
        raise ValueError(noisy)
    except (KeyError, ValueError) as error:
        return float(error.args[0])


def left_by_finally(coins: Coins, data: Any) -> float:
    found = released(coins, data)
    try:
        if in_the_window(found):
            raise ValueError(found := float(data[0]))
    finally:
        return found  # noqa: B012


class Swallows:
    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> bool:
        return True


def swallowed(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    with Swallows():
        if in_the_window(noisy):
            raise ValueError(coins.reveal(float(data[0]), site="leak"))
    return noisy


@pytest.mark.parametrize(
    "program", [suppressed, caught_for_another_reason, left_by_finally, swallowed], ids=lambda f: f.__name__
)
def test_a_raise_that_something_catches_is_asked_for(program: Callable[[Coins, Any], Any]) -> None:
    """A raise that the program catches counts as a branch, and a history that enters it refutes the claim."""
    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert all(f"in {program.__name__}" in text for text in found.unmet)
    if "reveal" in program.__code__.co_names:
        assert outcome(program, histories={"window": into_the_window})[0] is VerdictKind.REFUTED


def test_a_handler_of_another_type_or_that_raises_does_not_count() -> None:
    """A handler of another type, or one that raises, does not make a refusal count as a branch."""

    def program(coins: Coins, data: Any) -> float:
        noisy = released(coins, data)
        try:
            with suppress(KeyError):
                if in_the_window(noisy):
                    raise MechanismError(f"the noisy value must not be {noisy}; run again.")
        except MechanismError as error:
            raise ValueError("no") from error
        return noisy

    name = "test_a_handler_of_another_type_or_that_raises_does_not_count.program"
    verdict, found = outcome(program, unentered={f"{name} (raise)": "no", "in_the_window (branch)": "no"})
    assert (verdict, found.unmet) == (VerdictKind.CONSISTENT, [])


# Conditions that share a line


def conditional_expression(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    return float(data[0]) if noisy == 4.5 else noisy


def second_part_of_and(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    return 1.0 if abs(noisy) < 1e9 and noisy == 4.5 else noisy


def link_of_a_comparison(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    return 1.0 if 0.5 <= noisy <= 0.5 else noisy


def assertion(coins: Coins, data: Any) -> float:
    noisy = released(coins, data)
    assert noisy != 4.5
    return noisy


def filter_of_a_comprehension(coins: Coins, data: Any) -> list[float]:
    noisy = released(coins, data)
    return [noisy for _ in range(2) if noisy != 4.5]


@pytest.mark.parametrize(
    ("program", "outcome_"),
    [
        (conditional_expression, "true"),
        (second_part_of_and, "true"),
        (link_of_a_comparison, "true"),
        (assertion, "false"),
        (filter_of_a_comprehension, "false"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_condition_that_comes_out_one_way_only_is_named(program: Any, outcome_: str) -> None:
    """A condition with one outcome only is named, although its line ran."""
    watch = Watch(program)
    for seed in range(20):
        watch.program(Recorder(np.random.default_rng(seed)), np.zeros(2))
    force(watch.program, np.zeros(2), lambda *_: 2.0**40, rng=np.random.default_rng(0))
    lines = [line for line, owner in watch.missing() if owner.startswith(program.__name__)]
    assert [line.partition(" ")[2] for line in lines] == [f"(never {outcome_})"]


def test_both_ways_of_every_condition_are_enough() -> None:
    """Nothing is missing once each condition has had both outcomes."""

    def program(coins: Coins, data: float) -> list[float]:
        found = [x for x in (1.0, 3.0) if x > data]
        while data < 2:
            data += 1
        return found if 2 < data <= 3 and found else [data]

    watch = Watch(program)
    for data in (0.0, 0.5, 2.0, 2.5, 3.0, 5.0):
        watch.program(Recorder(np.random.default_rng(0)), data)
    assert watch.missing() == []


# Functions that a watch could miss


def test_a_short_function_that_is_never_called_counts() -> None:
    """A lambda has no line of its own."""

    def program(coins: Coins, data: Any) -> float:
        noisy = released(coins, data)
        exact: Callable[[], float] = lambda: float(data[0])  # noqa: E731
        return exact() if in_the_window(noisy) else noisy

    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert "program.<lambda>" in found.unmet[0]


@lru_cache(maxsize=8)
def offset_of(level: int) -> float:
    if level == 2:
        return 1.0
    return 0.0


def test_a_function_behind_a_full_cache_is_watched() -> None:
    """A line that never ran is named, although the function's results were cached before the audit."""

    def program(coins: Coins, data: Any) -> float:
        noisy = released(coins, data)
        return noisy + offset_of(2 * int(in_the_window(noisy))) * float(data[0])

    assert offset_of(0) == 0
    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert "in offset_of" in found.unmet[0]


def test_threads_of_the_program_are_watched() -> None:
    """Code in a thread of the program counts as run."""

    def program(coins: Coins, data: Any) -> float:
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

    before = threading.gettrace()
    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert found.unmet[0].endswith("program.work: force a history that does")
    assert threading.gettrace() is before


def helper_at(path: Path) -> Callable[[int], int]:
    """A function with a branch, as if it were defined in the file ``path``."""
    space: dict[str, Any] = {}
    source = "def helper(x):\n    if x > 9:\n        return 9\n    return x\n"
    exec(compile(source, os.fspath(path), "exec"), space)
    return cast(Callable[[int], int], space["helper"])


def test_a_folder_whose_name_begins_like_the_harness_is_the_programs() -> None:
    """``dpaudit_next`` beside ``dpaudit`` is no part of the harness."""
    helper = helper_at(Path(dpaudit.__file__).parent.with_name("dpaudit_next") / "helper.py")
    watch = Watch(lambda coins, data: helper(data))
    watch.program(Recorder(np.random.default_rng(0)), 1)
    assert watch.missing() == [("helper.py:3", "helper")]


@pytest.mark.parametrize(
    ("folder", "is_library"), [("site-packages", True), ("dist-packages", True), ("packages", False)]
)
def test_packages_installed_beside_this_environment_are_no_part_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, is_library: bool
) -> None:
    """Those of another environment that is on the path, as with ``--system-site-packages``, are libraries; a
    folder of another name on the path is the program's."""
    monkeypatch.setattr(sys, "path", [*sys.path, os.fspath(tmp_path / folder)])
    helper = helper_at(tmp_path / folder / "package" / "helper.py")
    watch = Watch(lambda coins, data: helper(data))
    watch.program(Recorder(np.random.default_rng(0)), 1)
    assert watch.missing() == ([] if is_library else [("helper.py:3", "helper")])


def test_an_excuse_covers_what_is_inside_of_the_function_and_nothing_else() -> None:
    """By whole names: not a function whose name begins alike."""
    unentered = {"encode": "why", "Sheet.noise": "why"}
    assert excuse_for("encode", unentered) == "encode"
    assert excuse_for("encode.<listcomp>", unentered) == "encode"
    assert excuse_for("Sheet.noise.part", unentered) == "Sheet.noise"
    assert excuse_for("encoded", unentered) is None
    assert excuse_for("Sheet", unentered) is None


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


def test_a_counted_run_ends_and_enters_nothing() -> None:
    """Every line counts in it, in a ``for`` over numbers as well, and none of them counts as entered."""

    def program(coins: Coins, data: int) -> float:
        total = 0.0
        for i in range(data):
            total += i
        return total

    watch = Watch(program, limit=1000)
    rng = np.random.default_rng(0)
    assert record(watch.counted, 600, rng=rng, limits=Limits()).cut == "more than 1000 lines executed"
    assert record(watch.counted, 300, rng=rng, limits=Limits()).cut == ""
    assert 600 <= watch.steps <= 700
    assert (watch.functions, watch.missing()) == (0, [])


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

    monkeypatch.setitem(Watch.__init__.__kwdefaults__, "limit", 2000)
    with raises(MechanismError, code="E-MECHANISM-NO-END", match="no end"):
        outcome(program, searched=searched, domain=Interval(0, 1))
