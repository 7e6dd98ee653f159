"""Programs that keep an earlier input are found by running the inputs in reverse order.

They do the same in every process that runs the same input first. The histories at quantiles are left out, as
in ``test_coverage``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, enumerate_view
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.evidence import Certificate
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Bernoulli, Laplace
from dpaudit.replay import replay_plan as gathering
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import Values
from dpaudit.replay.enumeration import enumerated
from dpaudit.replay.input_order import each_input, reversed_inputs
from dpaudit.replay.privacy import digest_of, privacy_outcome
from tests.errors import raises

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

NOISE = Laplace(scale=1)
PAIRS = [Neighbours("first record 0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))]
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
BITS = DataSets(records=2, values=(0, 1))
SMALL = PureDP(epsilon=2, domain=str(BITS))

Total = Callable[[Any], float]


@pytest.fixture(autouse=True)
def _no_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "quantile_histories", lambda *arguments, **options: [])


def audit_of(total: Total) -> PrivacyAudit:
    """One release of what a program computes from its data; each says its noisy sum."""

    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(total(data), NOISE, site="sum"))

    return PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: PAIRS,
        sites=[Site("sum", total=1)],
        proof=laplace_mechanism(sensitivity=1, scale=1),
        domain=Values(0, 1),
    )


def small_program(total: Total) -> Callable[[Coins, Any], Any]:
    """Randomised response on whether the sum is positive."""

    def program(coins: Coins, data: Any) -> Any:
        likely = total(np.asarray(data)) > 0
        return coins.observe(Bernoulli(p=Fraction(3, 4) if likely else Fraction(1, 4)), site="bit")

    return program


def by_setdefault() -> Total:
    kept: dict[str, float] = {}
    return lambda data: kept.setdefault("total", float(data.sum()))


def by_a_default_argument() -> Total:
    def total(data: Any, kept: list[float] = []) -> float:  # noqa: B006
        kept.append(float(data.sum()))
        return kept[0]

    return lambda data: total(data)


def by_a_cached_property() -> Total:
    class Kept:
        now = 0.0

        @functools.cached_property
        def total(self) -> float:
            return self.now

    kept = Kept()

    def total(data: Any) -> float:
        kept.now = float(data.sum())
        return kept.total

    return total


def by_a_cache() -> Total:
    now: list[float] = []

    @functools.lru_cache
    def first() -> float:
        return now[-1]

    def total(data: Any) -> float:
        now.append(float(data.sum()))
        return first()

    return total


def by_a_maximum() -> Total:
    most = [-np.inf]

    def total(data: Any) -> float:
        most[0] = max(most[0], float(data.sum()))
        return most[0]

    return total


def by_a_minimum() -> Total:
    least = [np.inf]

    def total(data: Any) -> float:
        least[0] = min(least[0], float(data.sum()))
        return least[0]

    return total


def by_an_attribute() -> Total:
    def total(data: Any) -> float:
        total.__dict__.setdefault("first", float(data.sum()))
        return float(data.sum()) - float(total.__dict__["first"])

    return total


def by_a_closure() -> Total:
    first: float | None = None

    def total(data: Any) -> float:
        nonlocal first
        first = float(data.sum()) if first is None else first
        return first

    return total


def by_the_third_run() -> Total:
    """The first two runs, one of each input, are as they should be."""
    seen: list[float] = []

    def total(data: Any) -> float:
        seen.append(float(data.sum()))
        return seen[-1] if len(seen) < 3 else seen[2]

    return total


KEEPING = (
    *(by_setdefault, by_a_default_argument, by_a_cached_property, by_a_cache, by_a_maximum),
    *(by_a_minimum, by_an_attribute, by_a_closure, by_the_third_run),
)


@pytest.mark.parametrize("make", KEEPING, ids=lambda make: make.__name__)
def test_a_first_data_set_that_is_kept_is_found(make: Callable[[], Total]) -> None:
    """An audit of a program that keeps its first dataset raises an error."""
    with raises(MechanismError, code="E-MECHANISM-STATE"):
        privacy_outcome(audit_of(make()), RUN)


@pytest.mark.parametrize("make", KEEPING, ids=lambda make: make.__name__)
def test_fingerprints_differ_in_reverse_order(make: Callable[[], Total]) -> None:
    """Two fresh processes have other fingerprints where one runs the inputs backwards."""
    forward = digest_of(audit_of(make()), 0, row_id="row")
    assert digest_of(audit_of(make()), 0, row_id="row") == forward
    with reversed_inputs():
        assert digest_of(audit_of(make()), 0, row_id="row") != forward


@pytest.mark.parametrize("make", KEEPING[:-1], ids=lambda make: make.__name__)
def test_an_enumeration_in_reverse_order_finds_it(make: Callable[[], Total]) -> None:
    """Tables of a program that keeps its first data set are those of no fixed program."""
    with raises(MechanismError, code="E-MECHANISM-STATE"):
        enumerated(SMALL, small_program(make()), over=BITS)(RUN)


def test_a_distribution_that_changes_on_a_repeated_path_is_found() -> None:
    """The first site is run again for each outcome of the second; its distribution must be the same each
    time."""
    runs = [0]

    def program(coins: Coins, data: Any) -> Any:
        runs[0] += 1
        p = Fraction(1, 2) if runs[0] < 2 else Fraction(1, 3)
        return [coins.observe(Bernoulli(p=q), site="bit") for q in (p, Fraction(1, 2))]

    with pytest.raises(MechanismError):
        enumerate_view(program, [0])


def test_what_is_shown_on_a_repeated_path_is_compared() -> None:
    """A counter that is shown before the first draw differs from path to path."""
    runs = [0]

    def program(coins: Coins, data: Any) -> Any:
        runs[0] += 1
        coins.reveal(runs[0], site="count")
        return coins.observe(Bernoulli(p=Fraction(1, 2)), site="bit")

    with pytest.raises(MechanismError):
        enumerate_view(program, [0])


def in_a_file(path: Path) -> Total:
    def total(data: Any) -> float:
        if not path.exists():
            path.write_text(str(float(data.sum())))
        return float(path.read_text())

    return total


def test_files_are_no_place_to_keep_a_data_set(tmp_path: Path) -> None:
    """Every process finds the file, in whatever order it runs: writing one stands against a verdict."""
    audit = audit_of(in_a_file(tmp_path / "kept"))
    found = privacy_outcome(audit, RUN)
    verdict = judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha).verdict
    assert verdict is VerdictKind.INCONCLUSIVE
    assert any("file system (kept)" in text for text in found.unmet)


def test_a_file_that_one_process_makes_changes_its_fingerprint(tmp_path: Path) -> None:
    """The process that makes the file says so, the next one finds it."""
    audit = audit_of(in_a_file(tmp_path / "kept"))
    assert digest_of(audit, 0, row_id="row") != digest_of(audit, 0, row_id="row")
    tables = enumerated(SMALL, small_program(in_a_file(tmp_path / "other")), over=BITS)
    assert tables.fingerprint(0) != tables.fingerprint(0)


def test_no_certificate_for_a_program_that_writes_files(tmp_path: Path) -> None:
    """The enumeration has a lower bound only."""
    found = enumerated(SMALL, small_program(in_a_file(tmp_path / "kept")), over=BITS)(RUN)
    assert found
    assert not any(isinstance(item, Certificate) for item in found)


def plain(data: Any) -> float:
    return float(data.sum())


@functools.lru_cache
def _of(items: tuple[float, ...]) -> float:
    return sum(items)


def cached(data: Any) -> float:
    return _of(tuple(data.tolist()))


class _Table:
    @functools.cached_property
    def weights(self) -> tuple[float, ...]:
        return (1.0, 1.0)


TABLE = _Table()


def with_a_table(data: Any) -> float:
    return float(np.dot(data, TABLE.weights))


def with_a_log(data: Any, log: list[str] = []) -> float:  # noqa: B006
    log.append(str(data))  # kept, and never read
    return float(data.sum())


def reads_a_file(data: Any) -> float:
    return float(data.sum()) if Path(__file__).read_text() else 0.0


def imports_late(data: Any) -> float:
    import statistics

    return 2 * statistics.fmean(data.tolist())


HONEST = (plain, cached, with_a_table, with_a_log, reads_a_file, imports_late)


@pytest.mark.parametrize("total", HONEST, ids=lambda total: total.__name__)
def test_honest_programs_stay_verified(total: Total) -> None:
    """No false alarm: caches of functions, constants made on first use, files that are read, late imports."""
    audit = audit_of(total)
    found = privacy_outcome(audit, RUN)
    assert not found.unmet
    with reversed_inputs():
        backwards = digest_of(audit, 0, row_id="row")
    assert digest_of(audit, 0, row_id="row") == backwards
    verdict = judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha).verdict
    assert verdict is VerdictKind.CONSISTENT


@pytest.mark.parametrize("total", HONEST, ids=lambda total: total.__name__)
def test_honest_enumerations_stay_certified(total: Total) -> None:
    """No false alarm in an enumeration either."""
    found = enumerated(SMALL, small_program(total), over=BITS)(RUN)
    assert any(isinstance(item, Certificate) for item in found)


def test_results_keep_their_places() -> None:
    """In reverse order the calls are, not the results."""
    calls: list[int] = []
    with reversed_inputs():
        assert each_input([1, 2, 3], lambda item: calls.append(item) or item) == [1, 2, 3]
    assert calls == [3, 2, 1]
