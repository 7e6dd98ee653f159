"""The suite on public packages: two routes to each refutation, no row without its package, and its page."""

from __future__ import annotations

import re
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from audits.libraries import released as made
from audits.libraries.released import ENTRIES, Entry, released
from audits.libraries.second_routes import event, laplace_tail, laplaces_apart
from audits.libraries.subsampled_test import still_open
from audits.libraries.suite import suite
from benchmarks.libraries import main, page_of
from dpaudit.blackbox.adapters.adapted import Adapted
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.verdicts import judge
from dpaudit.report.file.report import Report
from tests.cli.suites import invoke
from tests.rates import FALSE_FAILURE_RATE
from tests.report.sample import typed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "libraries.md").read_text(encoding="utf-8")
CLAIM = PureDP(epsilon=1)


def test_a_dozen_packages_and_thirty_mechanisms() -> None:
    """Each row is in the suite, or its package is listed with the row's name as not looked at."""
    assert len({entry.package for entry in ENTRIES.values()}) >= 12
    assert len(ENTRIES) >= 30
    running = {row.id for row in suite.rows}
    left_out = {
        f"{package} {name}"
        for package, reasons in made._SKIPPED.items()
        for names in reasons.values()
        for name in names
    }
    for entry in ENTRIES.values():
        assert (entry.id in running) != (f"{entry.package} {_short(entry)}" in left_out)
    assert {id for id, _ in suite.unchecked} == {f"LIB/{package}" for package in made._SKIPPED}


def _short(entry: Entry) -> str:
    return entry.id.removeprefix("LIB/").split("/", 1)[1]


@pytest.mark.parametrize("name", sorted(name for name, entry in ENTRIES.items() if entry.second))
def test_the_second_route_is_above_the_claim(name: str) -> None:
    """By the formula alone, with no package installed; computed again as a report's reader would."""
    entry = ENTRIES[name]
    assert entry.second is not None
    witness = entry.second(entry.claim)
    assert judge(entry.claim, [witness]).verdict == "refuted"
    assert recompute(witness, entry.claim) == witness.bound


def test_tails_of_laplace_noise() -> None:
    """Against scipy's distribution, and against the integral for two variates."""
    assert float(laplace_tail(3, 2)) == pytest.approx(stats.laplace.sf(3, scale=2), rel=1e-12)

    def both(x: float) -> float:
        return float(stats.laplace.pdf(x) * stats.laplace.sf(x + 1.8))

    apart = sum(integrate.quad(both, *ends)[0] for ends in ((-60, -1.8), (-1.8, 0), (0, 60)))
    assert float(laplaces_apart(Fraction(9, 5))) == pytest.approx(apart, rel=1e-9)


def test_the_recursion_of_the_subsampled_test_agrees_with_a_simulation() -> None:
    """40,000 streams of 46 ones, the first one 0 or not, by vectorised draws of all that the test draws."""
    for zero in (False, True):
        low, high = still_open(46, zero=zero)
        assert 0 < high - low < 0.001
        count, runs = _open_streams(46, zero), 40_000
        reach = (
            stats.binom.isf(FALSE_FAILURE_RATE / 4, runs, high),
            stats.binom.ppf(FALSE_FAILURE_RATE / 4, runs, low),
        )
        assert reach[1] <= count <= reach[0]


def _open_streams(steps: int, zero: bool) -> int:
    """Of 40,000 streams, how many have no decision after so many observations."""
    rng = np.random.default_rng(np.random.SeedSequence(5))
    runs, rate = 40_000, 0.1**0.5
    step = np.arange(1, steps + 1.0)
    values = np.ones(steps)
    values[0] -= zero
    entered = rng.random((runs, steps)) < rate
    count = np.maximum(entered.cumsum(axis=1), 1)
    mean = (entered * values).cumsum(axis=1) / count + rng.laplace(size=(runs, steps)) * 4 * rate / step
    shift = rng.laplace(size=(runs, 1)) * 2 * rate / step
    shift = shift + 6 * rate * np.log(2 * step**1.134 * 8.049572 / 0.05) / step
    odds = np.log(9.0)
    divergence = 0.8 * odds  # of the coins 0.1 and 0.9
    cut = (np.log(40.0) / count - divergence) / (2 * odds)
    stopped = (mean >= 0.9 + cut + shift) | (mean <= 0.1 - cut - shift)
    return int((~(stopped & entered.cumsum(axis=1).astype(bool)).any(axis=1)).sum())


def outcome_of(function: Any, second: Any = None) -> Outcome:
    """What a row finds; numpy stands for a package that is installed, in the version that was read."""
    rows = Group()
    released(rows, "here/row", package="numpy", version=version("numpy"), claim=CLAIM, second=second)(
        function
    )
    try:
        row = rows.rows[0]
        return row.evaluate(Run(profile="quick", alpha=1e-3, seed=1, row_id=row.id))
    finally:
        del ENTRIES["LIB/here/row"]


HALF = event("it is above 1", inputs=(1, 0), p=lambda: Fraction(1, 2), q=lambda: laplace_tail(2))


def half_the_noise() -> Any:
    """A value with half of the noise that it needs"""
    return (lambda data, rng: data + rng.laplace(scale=0.5)), [(0.0, 1.0)]


def enough_noise() -> Any:
    """A value with the noise that it needs"""
    return (lambda data, rng: data + rng.laplace()), [(0.0, 1.0)]


def test_both_routes_stand_in_a_refuted_row() -> None:
    """The runs, and the witness of the formula."""
    found = outcome_of(half_the_noise, HALF)
    assert [type(item).__name__ for item in found.evidence] == ["Estimate", "Witness"]
    assert judge(CLAIM, found.evidence, alpha=1e-3).verdict == "refuted"


def test_a_formula_alone_refutes_nothing() -> None:
    """Where the runs of the package do not, the witness is left out: the source may have changed."""
    found = outcome_of(enough_noise, HALF)
    assert judge(CLAIM, found.evidence, alpha=1e-3).verdict == "inconclusive"
    assert any("withheld" in note for note in found.notes)


def test_a_formula_that_does_not_reach_the_claim_is_an_error() -> None:
    """The row crashes, and does not rest on runs alone."""
    weak = event("anything", inputs=(1, 0), p=lambda: Fraction(1, 2), q=lambda: Fraction(1, 4))
    with pytest.raises(CertificateError, match="must be above the claim"):
        outcome_of(half_the_noise, weak)


def test_runs_without_a_second_route_say_so() -> None:
    """The row is then refuted against expectation, by an estimate."""
    found = outcome_of(half_the_noise)
    assert any("no second route" in note for note in found.notes)


def test_an_object_must_claim_what_its_row_does() -> None:
    """An adapter reads the claim; another epsilon is an error of the row."""

    def adapted() -> Adapted:
        """An object with another claim"""
        return Adapted(mechanism=lambda data, rng: data, claim=PureDP(epsilon=2), neighbours=[(0, 1)])

    with pytest.raises(InvalidParameterError, match="must claim what its row does"):
        outcome_of(adapted)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row is not there; the suite lists it with the command that installs it."""
    monkeypatch.setattr(made, "_SKIPPED", {})
    rows = Group()
    released(rows, "gone/row", package="no-such-package", version="1", claim=CLAIM)(enough_noise)
    del ENTRIES["LIB/gone/row"]
    assert rows.rows == []
    (said,) = made.skipped()
    assert said == ("no-such-package", "no-such-package is not installed (pip install no-such-package): row")


def test_another_version_has_no_second_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is to be refuted is left out, since nobody has read that source; another one runs."""
    monkeypatch.setattr(made, "_SKIPPED", {})
    rows = Group()
    for name, second in (("short", HALF), ("right", None)):
        released(rows, f"old/{name}", package="numpy", version="0", claim=CLAIM, second=second)(enough_noise)
        del ENTRIES[f"LIB/old/{name}"]
    (row,) = rows.rows
    assert row.id == "LIB/old/right"
    ((package, reason),) = made.skipped()
    assert package == "numpy"
    assert reason.endswith("the source was read in 0: short")
    notes = row.evaluate(Run(profile="quick", alpha=1e-3, seed=1, row_id=row.id)).notes
    assert "the row was written for version 0" in notes


def listed() -> dict[str, list[str]]:
    """Row -> the columns of its line on the page."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| `LIB/")]
    return {line.split("`")[1]: [cell.strip() for cell in line.split(" | ")] for line in lines}


def test_the_page_has_every_row_with_its_verdict_and_version() -> None:
    """As the suite expects it, in the version that was read, on a day; each finding with its reason."""
    rows = listed()
    assert set(rows) == set(ENTRIES)
    for name, entry in ENTRIES.items():
        _, title, verdict, _, _, day = rows[name]
        assert title.startswith(f"{entry.package} {entry.version}: "), name
        assert verdict.startswith(f"**{entry.expect}**"), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \|", day), name
    found = re.findall(r"^`(LIB/[^`]+)`, model", PAGE, flags=re.MULTILINE)
    assert sorted(found) == sorted(name for name, entry in ENTRIES.items() if entry.second)


def result(name: str, verdict: str, day: str, lower: float = 2.0) -> Report:
    """A report with one row, as much of it as the page reads."""
    row = {
        "id": f"LIB/{name}",
        "title": f"{name} 1.0: noise_of_it is ε-DP",
        "paper": "libraries",
        "source": f"{name} 1.0",
        "verdict": verdict,
        "role": "printed",
        "quantity": "epsilon",
        "lower": lower,
        "claimed": 1.0,
        "upper": None,
        "claim": {"model": "ideal", "adjacency": "replace-one"},
        "samples": 1200,
        "notes": ["The noise is short."],
    }
    stamps = {"started": f"{day}T01:02:03+00:00", "command": ""}
    return typed({"stamps": stamps, "results": [row, {**row, "paper": "other"}]})


def test_the_page_is_made_from_several_reports() -> None:
    """The later report counts. The page has the rows of this suite only: first findings, then all rows."""
    made_page = page_of(
        [
            result("one", "inconclusive", "2026-01-01"),
            result("two", "inconclusive", "2026-01-02"),
            result("one", "refuted", "2026-01-03"),
        ]
    )
    assert "2 rows on 2 packages: 1 refuted, 1 inconclusive." in made_page
    assert "the formula gives epsilon at least 2, and 1 is claimed. Refuted after 1,200 runs. " in made_page
    lines = [line for line in made_page.splitlines() if line.startswith("| `LIB/")]
    assert [line.split(" | ")[-1] for line in lines] == ["2026-01-03 |", "2026-01-02 |"]
    with pytest.raises(InvalidParameterError, match="rows of the suite"):
        page_of([])


def test_the_page_must_have_its_markers(tmp_path: Path) -> None:
    """A page without the markers is not overwritten."""
    page = tmp_path / "page.md"
    page.write_text("by hand\n", encoding="utf-8")
    with pytest.raises(InvalidParameterError, match="must hold <!-- libraries -->"):
        main([str(tmp_path / "none.json"), str(page)])
    assert page.read_text(encoding="utf-8") == "by hand\n"


def _as_read(entry: Entry) -> bool:
    """Whether the package is installed in the version that the page is about."""
    try:
        return version(entry.package) == entry.version
    except PackageNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_rows_that_can_run_here_come_out_as_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the packages that are installed in the versions of the page, run anew."""
    if not any(map(_as_read, ENTRIES.values())):
        pytest.skip("none of the packages is installed in the version of the page")
    monkeypatch.chdir(tmp_path)
    result = invoke("run", ROOT / "audits" / "libraries", "--quick", "--no-html", "--json", "l.json")
    assert result.exit_code == 0, result.stdout
    from dpaudit import Report

    frame = Report.read("l.json").to_frame().set_index("id")
    for name, entry in ENTRIES.items():
        if _as_read(entry) and name in frame.index:
            assert listed()[name][2].startswith(f"**{frame.loc[name, 'verdict']}**")


def test_the_loss_of_a_subset_is_the_one_that_its_row_states() -> None:
    """e times 27/7, by counting ordered subsets of 3 out of 10."""
    kept = 3 * exp(1) / (3 * exp(1) + 7)
    assert kept / ((1 - kept) / 9) == pytest.approx(exp(1) * 27 / 7, rel=1e-12)
