"""The black-box check refutes nothing by calls that are not independent: generators that workers repeat,
answers that are remembered, outputs that depend on how often the mechanism was called.
"""

from __future__ import annotations

import functools
import importlib
import os
import secrets
import signal
import threading
import time

import numpy as np
import pytest

from dpaudit.blackbox import runs
from dpaudit.blackbox.check import check
from dpaudit.blackbox.independence import _repeats, sign_in_copies
from dpaudit.blackbox.runs import chunks_of, run_compared
from dpaudit.blackbox.statistics.blocks import Workers
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.verdicts import VerdictKind
from tests.blackbox.own_generators import OWN_GENERATORS
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0.0, 1.0)]


@pytest.fixture
def always_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short calls go to workers as long ones do."""
    monkeypatch.setattr(runs, "WORTH_SENDING", 0.0)


@pytest.mark.sample(5)
@pytest.mark.usefixtures("always_sent")
@pytest.mark.parametrize("name", OWN_GENERATORS)
def test_two_jobs_agree_with_one_on_generators_of_their_own(name: str) -> None:
    """A correct mechanism with a generator of its own is not refuted with two workers, as it is not with
    one, and the result says why there was one process only. Some draw from the system: alpha is the rate at
    which this test may fail.
    """
    np.random.seed(1)  # noqa: NPY002 - the legacy state is what one of them draws from
    one, two = (
        check(OWN_GENERATORS[name](), ONE, neighbours=UNITS, jobs=jobs, max_samples=1500, alpha=1e-7)
        for jobs in (1, 2)
    )
    assert one.verdict is two.verdict is VerdictKind.INCONCLUSIVE
    seeded = name in ("legacy numpy.random", "random")  # check seeds these two, so workers draw the same
    assert any(("which this check seeds" if seeded else "one process") in note for note in two.notes)


def test_small_blocks_are_compared_at_first_only() -> None:
    """Where nothing is compared, the task that was timed here is not sent as well."""
    sent = []

    class Noting(Workers):
        def run(self, tasks):
            sent.append(len(list(tasks)))
            return [task() for task in tasks]

    def slow(x, rng):
        time.sleep(0.006)
        return x + rng.laplace()

    tasks = chunks_of(slow, 0.0, 20, seed=0, key=(0,), batch=False, timeout=None, deadline=None)
    twice = [run_compared(Noting(), tasks, compared=places) for places in ((0,), ())]
    assert sent == [2, 1]
    assert twice[0] == twice[1]


def test_short_calls_stay_in_this_process() -> None:
    """Tasks of short calls never reach the workers; tasks of calls of 5 ms or more do."""

    class Asked(Exception):
        pass

    class Refusing(Workers):
        def run(self, tasks):
            raise Asked

    def tasks(mechanism):
        return chunks_of(mechanism, 0.0, 20, seed=0, key=(0,), batch=False, timeout=None, deadline=None)

    outputs, was_sent = run_compared(Refusing(), tasks(lambda x, rng: x + rng.laplace()), compared=(0,))
    assert not was_sent
    assert [len(part) for part in outputs] == [16, 4]
    with pytest.raises(Asked):
        run_compared(Refusing(), tasks(lambda x, rng: time.sleep(0.006)), compared=(0,))


@pytest.mark.usefixtures("always_sent")
def test_workers_are_used_where_they_are_safe() -> None:
    """A mechanism that draws from the given generator alone runs on two workers, without a note."""
    result = check(lambda x, rng: x + rng.laplace(), ONE, neighbours=UNITS, jobs=2, max_samples=400)
    assert not any("one process" in note for note in result.notes)


@pytest.mark.usefixtures("always_sent")
def test_what_cannot_be_sent_to_workers_runs_here() -> None:
    """A mechanism that holds a lock cannot be pickled: it is run in one process, and told how to be sent."""
    lock = threading.Lock()

    def locked(x, rng):
        with lock:
            return x + rng.laplace(0, 0.2)

    result = check(locked, ONE, neighbours=UNITS, jobs=2)
    assert result.verdict is VerdictKind.REFUTED
    [note] = [note for note in result.notes if "one process" in note]
    assert "pickle" in note


def memoised() -> object:
    """An answer for each pair of data and generator is kept."""

    @functools.lru_cache
    def run(x, rng):
        return x + rng.laplace(0, 100)

    return run


def memoised_by_data() -> object:
    """One answer for each data set is kept for good, as a query cache does."""
    kept: dict[float, float] = {}

    def run(x, rng):
        if x not in kept:
            kept[x] = x + rng.laplace(0, 100)
        return kept[x]

    return run


def memoised_with_own_randomness() -> object:
    """The same with randomness from the system."""

    @functools.lru_cache
    def answer(x):
        return x + secrets.randbelow(1000)

    return lambda x, rng: answer(x)


def memoised_with_own_generator() -> object:
    """The same with a seeded generator of its own: a fresh copy draws the same numbers again."""
    generator = np.random.default_rng(3)

    @functools.lru_cache
    def answer(x):
        return x + generator.laplace(0, 100)

    return lambda x, rng: answer(x)


def memoised_answers() -> object:
    """A cache of randomised answers, which may be the same for both inputs by chance."""
    kept: dict[float, bool] = {}
    return lambda x, rng: kept.setdefault(x, (rng.random() < 0.73) == bool(x))


def noise_from_a_table() -> object:
    """A thousand noisy numbers are drawn once and used again and again."""
    table = np.random.default_rng(4).laplace(0, 1, 100)
    count = iter(range(10**9))
    return lambda x, rng: x + table[next(count) % len(table)]


def drifts() -> object:
    """A mechanism whose noise has a mean that grows by a tenth with each call."""
    count = iter(range(10**9))
    return lambda x, rng: x + rng.laplace() + next(count) / 10


def random_walk() -> object:
    """Each noise is added to the one before."""
    state = [0.0]

    def run(x, rng):
        state[0] += rng.normal()
        return x + state[0]

    return run


def budget() -> object:
    """Raises for good after 500 calls."""
    left = [500]

    def run(x, rng):
        left[0] -= 1
        if left[0] < 0:
            raise PermissionError("budget spent")
        return x + rng.laplace()

    return run


DEPENDENT = {
    "lru_cache": memoised,
    "cache by data": memoised_by_data,
    "cache of system randomness": memoised_with_own_randomness,
    "cache of own generator": memoised_with_own_generator,
    "cache of answers": memoised_answers,
    "table of noise": noise_from_a_table,
    "drift": drifts,
    "random walk": random_walk,
    "budget": budget,
}


@pytest.mark.sample(1, each=("name",))
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", DEPENDENT)
def test_calls_that_depend_on_each_other_are_named(name: str, jobs: int, seed: int) -> None:
    """No verdict, no bound and no confidence, but the reason and what to do."""
    result = check(DEPENDENT[name](), ONE, neighbours=UNITS, seed=seed, max_samples=4000, jobs=jobs)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert result.evidence.lower is None
    text = str(result)
    assert "not independent" in text
    assert "confidence" not in text
    assert "this run would have detected" not in text


def test_the_part_that_changes_with_the_calls_is_named() -> None:
    """A counter or a clock in the output is named, so that it can be left out."""
    count = iter(range(10**9))
    result = check(
        lambda x, rng: {"call": next(count), "sum": x + rng.laplace()}, ONE, neighbours=UNITS, max_samples=500
    )
    assert "output['call'] changed with the number of calls" in str(result)


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda x, rng: x,
        lambda x, rng: x + np.random.default_rng(5).laplace(),
        lambda x, rng: "high" if x else "low",
        lambda x, rng: [x, 2 * x],
        lambda x, rng: type("Local", (), {"__init__": lambda self: setattr(self, "total", x)})(),
    ],
    ids=["no noise", "the same seed in each call", "labels", "a list", "what cannot be pickled"],
)
def test_a_deterministic_function_of_the_data_is_refuted(mechanism) -> None:
    """Constant outputs that a fresh copy of the mechanism repeats are no memory: the data show."""
    result = check(mechanism, ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED


class Jittery:
    """Remembers its noisy answer on each input, and adds a little noise to it in each call."""

    def __init__(self):
        self.known = {}

    def __call__(self, x, rng):
        if x not in self.known:
            self.known[x] = x + rng.laplace()
        return self.known[x] + rng.normal(0, 1e-4)


def test_a_memory_behind_a_little_noise_is_no_refutation() -> None:
    """Fresh copies of the mechanism give numbers that it never gives here; a mechanism with so little noise
    and no memory is refuted as ever."""
    result = check(Jittery(), ONE, neighbours=UNITS, max_samples=3000)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "fresh copies of the mechanism gave numbers outside the range" in str(result)
    bare = check(lambda x, rng: x + rng.normal(0, 1e-4), ONE, neighbours=UNITS, max_samples=3000)
    assert bare.verdict is VerdictKind.REFUTED


def test_copies_that_lie_far_out_count_by_how_many_there_are() -> None:
    """The bound on their probability holds for independent outputs, and many far ones of few are below it."""
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(100, 1))
    assert sign_in_copies(seen, rng.normal(size=(16, 1)).tolist()) == ""
    assert "12 of 16" in sign_in_copies(seen, [[9.0]] * 12 + [[0.0]] * 4)
    assert sign_in_copies(seen, [[9.0]] * 3 + [[0.0]] * 13) == ""
    assert sign_in_copies(seen, [[np.nan]] * 16) == ""


class Clustered:
    """The size of its noise is the same for 64 calls, its sign is not."""

    def __init__(self):
        self.calls, self.size = 0, 0.0

    def __call__(self, x, rng):
        if self.calls % 64 == 0:
            self.size = rng.exponential()
        self.calls += 1
        return x + self.size * rng.choice([-1, 1]) + rng.normal(0, 1e-3)


def test_noise_whose_size_is_remembered_is_named() -> None:
    """How far outputs lie from the middle goes with the output before."""
    result = check(Clustered(), ONE, neighbours=UNITS, max_samples=3000)
    assert result.verdict is VerdictKind.INCONCLUSIVE
    assert "not independent" in str(result)


def test_few_outcomes_do_not_look_like_a_sequence_that_comes_again() -> None:
    """Pairs of successive outputs that are one of two values: their number lies far out now and then, which
    is chance. Of a thousand fair sequences, three and more were accused by a threshold for normal counts."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2, (1000, 600)).astype(np.uint64)
    assert not any(_repeats(row, np.random.default_rng(0)) for row in keys)


HONEST = {
    "rare events": lambda x, rng, size: (rng.random(size) < 0.001) * 1.0,
    "repeated integers": lambda x, rng, size: rng.geometric(0.3, size),
    "rounded noise": lambda x, rng, size: np.round(rng.laplace(0, 3, size)),
    "heavy tails": lambda x, rng, size: rng.standard_cauchy((size, 3)),
    "NaN": lambda x, rng, size: np.where(rng.random(size) < 0.3, np.nan, rng.random(size)),
}


@pytest.mark.sample(3, each=("name",))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", HONEST)
def test_independent_calls_are_not_accused(name: str, seed: int) -> None:
    """Repeated outputs, rare events and long runs of one answer are no sign of memory: of 40 audits, all of
    which a test that accuses one in four would pass in one of 100 000 cases, 15 are not slow.
    """
    result = check(HONEST[name], ONE, neighbours=UNITS, batch=True, seed=seed, max_samples=1500)
    assert "not independent" not in str(result)


class KeepsTheLastInput:
    """Each call is 1-DP in its own input and shows the input of the call before, noised as well."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, x, rng):
        output = x + self.last + rng.laplace()
        self.last = x
        return output


@pytest.mark.parametrize("jobs", [1, 2])
def test_data_carried_over_refute_nothing(jobs: int) -> None:
    """Runs after the same input move twice as far; the check names the carrying and gives no bound."""
    found = check(KeepsTheLastInput(), ONE, neighbours=UNITS, max_samples=4000, jobs=jobs)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert found.evidence.lower is None
    assert "carries data from call to call" in str(found)


def test_a_generator_of_its_own_is_no_carrying() -> None:
    """What moves on with every call tells nothing, and stays refuted where its noise is too small."""
    own = np.random.default_rng(3)
    found = check(lambda x, rng: x + own.laplace(scale=0.25), ONE, neighbours=UNITS)
    assert found.verdict is VerdictKind.REFUTED


@pytest.fixture(scope="module")
def cluster():
    """Two workers of a Dask cluster on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    ) as found:
        yield found


@pytest.mark.usefixtures("always_sent")
def test_a_cluster_gives_the_result_of_one_process(cluster) -> None:
    """Verdict, bound, runs and event are the same, for a mechanism that lives in this test alone."""

    def half(x, rng):
        return x + rng.laplace(scale=0.5)

    here = check(half, ONE, neighbours=UNITS, max_samples=3000, record_draws=False)
    there = check(
        half, ONE, neighbours=UNITS, max_samples=3000, record_draws=False, scheduler=cluster.scheduler_address
    )
    assert str(there) == str(here)
    assert here.verdict is VerdictKind.REFUTED


@pytest.mark.usefixtures("always_sent")
def test_the_calls_of_a_lost_worker_run_again(cluster, tmp_path) -> None:
    """One worker is killed by the first call that it gets: the result is that of one process."""
    marker, here_pid = tmp_path / "killed", os.getpid()

    def kills_once(x, rng):
        if os.getpid() != here_pid and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x + rng.laplace()

    there = check(
        kills_once,
        ONE,
        neighbours=UNITS,
        max_samples=300,
        record_draws=False,
        scheduler=cluster.scheduler_address,
    )
    assert marker.exists()
    here = check(lambda x, rng: x + rng.laplace(), ONE, neighbours=UNITS, max_samples=300, record_draws=False)
    assert str(there) == str(here)


@pytest.mark.usefixtures("always_sent")
def test_what_cannot_be_sent_to_a_cluster_runs_here(cluster) -> None:
    """A mechanism that holds a lock runs in this process, and the result says why."""
    lock = threading.Lock()

    def locked(x, rng):
        with lock:
            return x + rng.laplace()

    found = check(
        locked,
        ONE,
        neighbours=UNITS,
        max_samples=200,
        record_draws=False,
        scheduler=cluster.scheduler_address,
    )
    assert "the mechanism ran in one process" in str(found)


@pytest.mark.usefixtures("always_sent")
def test_what_workers_cannot_import_runs_here(cluster, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that this process alone has is named, and nothing fails, on the scheduler neither."""
    (tmp_path / "only_here.py").write_text("SCALE = 0.25", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    only_here = importlib.import_module("only_here")
    found = check(
        lambda x, rng: x + rng.laplace(scale=only_here.SCALE),
        ONE,
        neighbours=UNITS,
        max_samples=600,
        record_draws=False,
        scheduler=cluster.scheduler_address,
    )
    assert found.verdict is VerdictKind.REFUTED
    assert "a worker cannot import a module of the mechanism (No module named 'only_here')" in str(found)


def test_a_scheduler_that_is_not_there_is_named() -> None:
    """The address, and what to do, before a call is made."""
    pytest.importorskip("distributed")
    with raises(InvalidParameterError, code="E-SCHEDULER-NO-ANSWER", match="no-such-scheme"):
        check(lambda x, rng: x, ONE, neighbours=UNITS, scheduler="no-such-scheme://here")
