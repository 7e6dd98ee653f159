"""The lines of ``dpaudit verify``: what was confirmed of each piece of evidence, and what it cannot know."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Accounting, ErrorRate, PureDP
from dpaudit.core.views import SERVER, View
from dpaudit.report.beyond_the_file import CANNOT_KNOW
from dpaudit.verify.report import verify_results
from dpaudit.verify.statement import certificate_in_words, setting_in_words
from tests.cli.suites import VERIFIED, invoke, run, write_suite
from tests.report.sample import page_of
from tests.verify.test_report import CLAIM, report, row

ROOT = Path(__file__).parents[2]


def reasons(results: list[dict[str, Any]]) -> list[str]:
    return [finding.reason for finding in verify_results(results, seconds_per_result=None)]


def test_each_line_names_what_was_confirmed() -> None:
    """The lines name the mechanism and assumptions of a certificate, and the transcript of a witness."""
    noise = build.laplace_mechanism(sensitivity=1, scale=2)
    touched = Site("sum", mechanism=noise)
    declared = build.accounted([touched], declared="one sum").certify(CLAIM)
    said = reasons([*report()["results"], row("sums", CLAIM, [declared], expect="verified")])
    assert said[0] == (
        "arithmetic of the certificate for mechanism laplace(sensitivity 1, scale 2), for replace-one, per "
        "event, view public, participation everybody, without further assumptions: epsilon is at most 0.5 "
        "(by tier T0)"
    )
    assert said[1] == "verified (proved): it follows from the evidence"
    assert said[2].startswith("loss of the recorded transcript (1 site): epsilon is at least ")
    assert "mechanism accounted(" in said[4]
    assert f"assuming {declared.assumptions[0][:60]}" in said[4]


def test_a_computation_is_not_counted_as_confirmed(tmp_path: Path) -> None:
    """A computation at confidence 1 has its own mark and count, and is never called an estimate."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    run(suite, report=tmp_path / "r.json")
    output = invoke("verify", "-v", tmp_path / "r.json").output
    assert "· fine computation: computed by the row's own code (10 points, confidence 1)" in output
    assert "✓ fine verdict: verified (tested): it follows from unchecked computations" in output
    assert "1 confirmed, 0 not; 1 computations taken from the report, not checked" in output
    assert "not checked\n" in output  # no significance level, because nothing is statistical
    assert output.count(CANNOT_KNOW) == 1


def test_an_estimate_keeps_its_error_level(tmp_path: Path) -> None:
    """A bound at a confidence below 1 is called an estimate, with the level that all estimates share."""
    sampled = VERIFIED.replace("exactly(0.25, 0.5)", "exactly(0.25, 0.5, confidence=0.9999, seed=1)")
    run(write_suite(tmp_path / "suite.py", sampled), report=tmp_path / "r.json")
    output = invoke("verify", "-v", tmp_path / "r.json").output
    assert "· fine estimate: taken from the report (10 samples, confidence 0.9999)" in output
    assert "it follows from unchecked estimates" in output
    assert (
        "1 estimates taken from the report, not checked, at significance level 0.05 for the whole run\n"
        in output
    )


def test_a_mechanism_of_many_parts_stays_one_line() -> None:
    """A composition of fifty mechanisms is shortened to one line of a terminal."""
    parts = [build.laplace_mechanism(sensitivity=1, scale=200 + i) for i in range(50)]
    certificate = build.compose_sequential(parts).certify(CLAIM)
    assert certificate.bound < Fraction(1, 2)
    said = reasons([row("many", CLAIM, [certificate], expect="verified")])
    assert said[0].startswith("arithmetic of the certificate for mechanism sequential(")
    assert len(said[0]) < 420


def test_no_assumption_hides_behind_a_long_one() -> None:
    """Each assumption is shortened by itself, so the second is shown in full."""
    item = build.laplace_mechanism(sensitivity=1, scale=2).certify(CLAIM)
    said = certificate_in_words(replace(item, assumptions=("x" * 5000, "nobody looks")), CLAIM, "1/2", "T0")
    assert "assuming (1) xxx" in said
    assert "...; (2) nobody looks: epsilon is at most" in said
    assert len(said) < 600


def test_a_long_assumption_ends_with_a_whole_word() -> None:
    """A shortened assumption is not cut within a word."""
    item = build.laplace_mechanism(sensitivity=1, scale=2).certify(CLAIM)
    said = certificate_in_words(replace(item, assumptions=("positions " * 100,)), CLAIM, "1/2", "T0")
    assert "positions positions...: epsilon is at most" in said


def test_a_line_names_the_setting_of_the_claim() -> None:
    """The setting has adjacency, unit, view and participation, without a view for accounting claims."""
    claim = PureDP(
        epsilon=1,
        adjacency="add-remove",
        unit="user",
        view=View.of(SERVER),
        participation="half of all users",
    )
    wanted = "for add-remove, per user, view server, participation half of all users"
    assert setting_in_words(claim) == wanted
    accounting = Accounting(epsilon=1, declared="one sum", adjacency="zero-out")
    assert setting_in_words(accounting) == "for zero-out, per event, participation everybody"
    assert setting_in_words(ErrorRate(text="the error is at most 1", claimed=1)) == ""


def test_the_clipping_of_a_bounded_sum_is_named() -> None:
    """The line names the query and the interval from which the sensitivity is derived."""
    noise = build.laplace_mechanism(sensitivity=build.BoundedSum(lower=-1, upper="1/2"), scale=3)
    said = reasons([row("sum", CLAIM, [noise.certify(CLAIM)], expect="verified")])
    assert "laplace(sensitivity of a sum of records clipped to [-1, 1/2], scale 3, dimension 1)" in said[0]


@pytest.mark.parametrize("page", ["README.md", "docs/verify.md"])
def test_the_pages_have_the_same_text(page: str) -> None:
    """The README and the page about verifying contain the text of the command."""
    assert CANNOT_KNOW in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_html_has_the_same_text() -> None:
    """The footer of the HTML report contains the text of the command."""
    page = page_of({"results": [], "unchecked": []})
    footer = " ".join(page.partition("<footer>")[2].split())
    assert CANNOT_KNOW.replace("'", "&#39;") in footer
