"""A program that calls untraced functions is not verified, and their names are printed.

Code of Python and of the numeric libraries does not count as untraced.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Outcome, Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Laplace
from dpaudit.replay import replay_plan as gathering
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.replay.privacy import privacy_outcome

NOISE = Laplace(scale=1)
PAIRS = [Neighbours("first record 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))]
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")

PACKAGE = '''
"""A mechanism that shows its data if they are 17; here installed as a package."""
import functools

def release(coins, data, noise):
    if float(data[0]) == 17.0:
        return float(data[0])
    return float(coins.release(float(data.sum()), noise, site="sum"))

def clipped_sum(data):
    return 1000.0 if float(data[0]) == 17.0 else float(data.sum())

def each(coins, data, noise):
    total = float(data.sum())
    if total == 17.0:
        yield total
    yield float(coins.release(total, noise, site="sum"))

def call_back(function, data):
    if float(data[0]) == 17.0:
        return 17.0
    return function(data)

def noisy(function):
    @functools.wraps(function)
    def inner(coins, data, noise):
        return float(coins.release(function(data), noise, site="sum"))
    return inner

class Mechanism:
    def __init__(self, noise):
        self.noise = noise

    def __call__(self, coins, data):
        return release(coins, data, self.noise)

    def run(self, coins, data):
        return release(coins, data, self.noise)

    @property
    def scale(self):
        return 1.0 if self.noise else 2.0
'''

EXECUTED: dict[str, Any] = {}
exec(  # code without a file of its own, as a program may make it
    "def released(coins, data, noise):\n"
    "    if float(data[0]) == 17.0:\n"
    "        return float(data[0])\n"
    "    return float(coins.release(float(data.sum()), noise, site='sum'))\n",
    EXECUTED,
)


@pytest.fixture(autouse=True)
def _no_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "quantile_histories", lambda *arguments, **options: [])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "noisy_package.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(folder))
    yield __import__("noisy_package")
    del sys.modules["noisy_package"]


def outcome(program: Callable[[Coins, Any], Any], **options: Any) -> tuple[VerdictKind, Outcome]:
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=[Site("sum", total=1)],
        proof=laplace_mechanism(sensitivity=1, scale=1),
        domain=Values(0, 1),
        **options,
    )
    found = privacy_outcome(audit, RUN)
    judged = judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha)
    return judged.verdict, found


def wrapped(package: ModuleType, how: str) -> Callable[[Coins, Any], Any]:
    """A program of this suite that calls the package's function."""

    def called(coins: Coins, data: Any) -> Any:
        return package.release(coins, data, NOISE)

    def through_partial(coins: Coins, data: Any) -> Any:
        return functools.partial(package.release, noise=NOISE)(coins, data)

    def mapped(coins: Coins, data: Any) -> Any:
        return next(map(package.release, [coins], [data], [NOISE]))

    def as_a_key(coins: Coins, data: Any) -> Any:
        shown: list[float] = []
        sorted([data], key=lambda one: shown.append(package.release(coins, one, NOISE)) or 0)
        return shown[0]

    def decorated(coins: Coins, data: Any) -> Any:
        return package.noisy(lambda one: float(one.sum()))(coins, data, NOISE)

    def method(coins: Coins, data: Any) -> Any:
        return package.Mechanism(NOISE).run(coins, data)

    def instance(coins: Coins, data: Any) -> Any:
        return package.Mechanism(NOISE)(coins, data)

    def generator(coins: Coins, data: Any) -> Any:
        return list(package.each(coins, data, NOISE))

    def back(coins: Coins, data: Any) -> Any:
        return package.call_back(lambda one: float(coins.release(float(one.sum()), NOISE, site="sum")), data)

    def computed(coins: Coins, data: Any) -> Any:
        return float(coins.release(package.clipped_sum(data), NOISE, site="sum"))

    def threaded(coins: Coins, data: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(package.release, coins, data, NOISE).result()

    def reduced(coins: Coins, data: Any) -> Any:
        return functools.reduce(lambda one, step: step(coins, one, NOISE), [package.release], data)

    def vectorised(coins: Coins, data: Any) -> Any:
        return float(
            np.vectorize(lambda one: package.release(coins, data, NOISE), otypes=[float])(np.zeros(1))[0]
        )

    def inherited(coins: Coins, data: Any) -> Any:
        return type("Own", (package.Mechanism,), {})(NOISE).run(coins, data)

    return locals()[how]  # type: ignore[no-any-return]


CALLED = (
    *("called", "through_partial", "mapped", "as_a_key", "decorated", "method", "instance", "generator"),
    *("back", "computed", "threaded", "reduced", "vectorised", "inherited"),
)


@pytest.mark.parametrize("how", CALLED)
def test_what_a_package_does_is_not_taken_for_tested(package: ModuleType, how: str) -> None:
    """A called function of an installed package is named and prevents `verified`, however it is called."""
    verdict, found = outcome(wrapped(package, how))
    assert verdict is VerdictKind.INCONCLUSIVE
    assert any("noisy_package." in text for text in found.unmet)


def test_an_inherited_program_is_the_packages(package: ModuleType) -> None:
    """A method that a package defines is not traced in an instance of the suite's own class."""
    verdict, found = outcome(type("Own", (package.Mechanism,), {"__module__": __name__})(NOISE))
    assert verdict is VerdictKind.INCONCLUSIVE
    assert any("noisy_package.Mechanism.__call__" in text for text in found.unmet)


def test_code_without_a_file_is_named() -> None:
    """A function made by exec is named, because its branches cannot be counted."""

    def program(coins: Coins, data: Any) -> Any:
        return EXECUTED["released"](coins, data, NOISE)

    verdict, found = outcome(program)
    assert verdict is VerdictKind.INCONCLUSIVE
    assert any("without a file" in text for text in found.unmet)


def test_a_program_in_a_package_is_watched_and_hashed(package: ModuleType) -> None:
    """A package's function that is itself the program is traced, and a note has the hash of its file."""
    verdict, found = outcome(functools.partial(package.release, noise=NOISE))
    assert verdict is VerdictKind.INCONCLUSIVE
    assert any("no replay ran noisy_package.py" in text for text in found.unmet)
    assert not any("not traced" in text for text in found.unmet)
    assert any("noisy_package.py, SHA-256" in text for text in found.notes)


def test_a_reason_excuses_a_package(package: ModuleType) -> None:
    """A reason in `unentered` excuses a package's function and is printed."""
    verdict, found = outcome(wrapped(package, "called"), unentered={"noisy_package": "read by hand"})
    assert verdict is VerdictKind.CONSISTENT
    assert any("read by hand" in text for text in found.notes)


class Pair(NamedTuple):
    total: float
    count: int = 2


@dataclass(order=True)
class Sum:
    total: float
    parts: list[float] = field(default_factory=list)

    def noisy(self, coins: Coins) -> float:
        return float(coins.release(self.total, NOISE, site="sum"))


@dataclass
class AtOnce:
    """A class that uses the coins while it is constructed."""

    coins: Any
    total: float
    parts: list[float] = field(default_factory=list)
    shown: float = 0.0

    def __post_init__(self) -> None:
        self.shown = float(self.coins.release(self.total, NOISE, site="sum"))


def plain_numpy(coins: Coins, data: Any) -> Any:
    total = np.add.reduce(np.clip(np.asarray(data), 0.0, 1.0))
    return float(np.round(coins.release(float(np.sum(total)), NOISE, site="sum"), 6))


def fractions_of(coins: Coins, data: Any) -> Any:
    total = sum((Fraction(x) for x in data.tolist()), Fraction(0))
    return float(coins.release(float(total), NOISE, site="sum"))


def iterated(coins: Coins, data: Any) -> Any:
    total = functools.reduce(lambda a, b: a + b, itertools.chain(data.tolist(), [0.0]))
    return float(coins.release(total, NOISE, site="sum"))


def of_dataclasses(coins: Coins, data: Any) -> Any:
    sums = sorted([Sum(float(data.sum())), Sum(-100.0, [1.0])])
    return sums[-1].noisy(coins), repr(Pair(1.0)), Sum(1.0) == Sum(1.0)


def in_post_init(coins: Coins, data: Any) -> Any:
    return AtOnce(coins, float(data.sum())).shown


def called_back(coins: Coins, data: Any) -> Any:
    released = lambda total: coins.release(float(total), NOISE, site="sum")  # noqa: E731
    return float(np.apply_along_axis(lambda row: released(row.sum()), 0, data))


@contextmanager
def session(coins: Coins, total: float) -> Iterator[float]:
    yield float(coins.release(total, NOISE, site="sum"))


def in_a_context(coins: Coins, data: Any) -> Any:
    with session(coins, float(data.sum())) as shown:
        return shown


@functools.singledispatch
def dispatched(data: Any, coins: Coins) -> float:
    return float(coins.release(float(data.sum()), NOISE, site="sum"))


def by_dispatch(coins: Coins, data: Any) -> Any:
    return dispatched(data, coins)


def with_scipy(coins: Coins, data: Any) -> Any:
    noisy = float(coins.release(float(data.sum()), NOISE, site="sum"))
    return noisy, float(stats.norm.cdf(noisy))


def with_pandas(coins: Coins, data: Any) -> Any:
    total = pd.DataFrame({"x": data})["x"].clip(0, 1).sum()
    return float(coins.release(float(total), NOISE, site="sum"))


def imports_here(coins: Coins, data: Any) -> Any:
    import statistics

    return float(coins.release(2 * statistics.fmean(data.tolist()), NOISE, site="sum"))


def prints(coins: Coins, data: Any) -> Any:
    print("one run")  # noqa: T201
    return float(coins.release(float(data.sum()), NOISE, site="sum"))


def straight_exec(coins: Coins, data: Any) -> Any:
    names: dict[str, Any] = {}
    exec("def total(data):\n    return float(data.sum())", names)
    return float(coins.release(names["total"](data), NOISE, site="sum"))


HONEST = (
    *(plain_numpy, fractions_of, iterated, of_dataclasses, in_post_init, called_back, in_a_context),
    *(by_dispatch, with_scipy, with_pandas, imports_here, prints, straight_exec),
)


@pytest.mark.parametrize("program", HONEST, ids=lambda program: program.__name__)
def test_libraries_are_no_unwatched_code(program: Callable[[Coins, Any], Any]) -> None:
    """Numpy, fractions, itertools, functools, dataclasses, scipy, pandas and contexts need no excuse."""
    verdict, found = outcome(program)
    assert not [text for text in found.unmet if "not traced" in text]
    assert verdict is VerdictKind.CONSISTENT, found.unmet
