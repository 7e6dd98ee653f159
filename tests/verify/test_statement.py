"""What verifying says of itself: for each piece of evidence what was confirmed, and what it cannot know."""

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
from dpaudit.report.html import render_html
from dpaudit.verify.report import verify_report
from dpaudit.verify.statement import certificate_in_words, setting_in_words
from tests.cli.suites import VERIFIED, invoke, run, write_suite
from tests.verify.test_report import CLAIM, report, row

ROOT = Path(__file__).parents[2]


def reasons(results: list[dict[str, Any]]) -> list[str]:
    return [finding.reason for finding in verify_report({"results": results}, seconds_per_result=None)]


def test_each_line_says_what_was_confirmed() -> None:
    """The mechanism and the assumptions of a certificate, the transcript of a witness."""
    noise = build.laplace_mechanism(sensitivity=1, scale=2)
    touched = Site("sum", mechanism=noise)
    declared = build.accounted([touched], declared="one sum").certify(CLAIM)
    said = reasons([*report()["results"], row("sums", CLAIM, [declared], expect="verified")])
    assert said[0] == (
        "arithmetic of the certificate for mechanism laplace(sensitivity 1, scale 2), for replace-one, per "
        "event, in the view of public, participation everybody, assuming nothing more: epsilon is at "
        "most 0.5 (by "
        "tier T0)"
    )
    assert said[1] == "verified (proved): it follows from the evidence"
    assert said[2].startswith("loss of the recorded transcript (1 site): epsilon is at least ")
    assert "mechanism accounted(" in said[4]
    assert f"assuming {declared.assumptions[0][:60]}" in said[4]


def test_a_computation_is_not_counted_as_confirmed(tmp_path: Path) -> None:
    """What the row computed at no error level is called so, never a statistical estimate. Its line
    has its own mark, its verdict says on what it rests, and the end counts it apart; what cannot be known is
    said once."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    run(suite, report=tmp_path / "r.json")
    output = invoke("verify", "-v", tmp_path / "r.json").output
    assert "· fine computation: computed in the row's own code (10 points, at no error level)" in output
    assert "✓ fine verdict: verified (tested): it follows from computations, as they stand" in output
    assert "1 confirmed, 0 not; 1 computations taken from the report, not checked" in output
    assert "not checked\n" in output  # no error level: nothing of it is statistical
    assert output.count(CANNOT_KNOW) == 1


def test_an_estimate_keeps_its_error_level(tmp_path: Path) -> None:
    """What holds at a confidence below 1 is called an estimate, with the level that all of them share."""
    sampled = VERIFIED.replace("exactly(0.25, 0.5)", "exactly(0.25, 0.5, confidence=0.9999, seed=1)")
    run(write_suite(tmp_path / "suite.py", sampled), report=tmp_path / "r.json")
    output = invoke("verify", "-v", tmp_path / "r.json").output
    assert "· fine estimate: taken from the report as it stands (10 samples, confidence 0.9999)" in output
    assert "it follows from estimates, as they stand" in output
    assert (
        "1 estimates taken from the report, not checked, at significance level 0.05 for the whole run\n" in output
    )


def test_a_mechanism_of_many_parts_stays_one_line() -> None:
    """A composition of fifty noises is cut to a line that a terminal can show."""
    parts = [build.laplace_mechanism(sensitivity=1, scale=200 + i) for i in range(50)]
    certificate = build.compose_sequential(parts).certify(CLAIM)
    assert certificate.bound < Fraction(1, 2)
    said = reasons([row("many", CLAIM, [certificate], expect="verified")])
    assert said[0].startswith("arithmetic of the certificate for mechanism sequential(")
    assert len(said[0]) < 420


def test_no_assumption_hides_behind_a_long_one() -> None:
    """Each is cut by itself: the second one is shown whole, however long the first is."""
    item = build.laplace_mechanism(sensitivity=1, scale=2).certify(CLAIM)
    said = certificate_in_words(replace(item, assumptions=("x" * 5000, "nobody looks")), CLAIM, "1/2", "T0")
    assert "assuming (1) xxx" in said
    assert "...; (2) nobody looks: epsilon is at most" in said
    assert len(said) < 600


def test_a_long_assumption_ends_with_a_whole_word() -> None:
    """No word is cut in two where a line ends early."""
    item = build.laplace_mechanism(sensitivity=1, scale=2).certify(CLAIM)
    said = certificate_in_words(replace(item, assumptions=("positions " * 100,)), CLAIM, "1/2", "T0")
    assert "positions positions...: epsilon is at most" in said


def test_a_line_says_what_is_protected_and_from_whom() -> None:
    """The setting of the claim: adjacency, unit, view and participation; an accounting has no view, and a
    claim about noise none of them."""
    claim = PureDP(
        epsilon=1,
        adjacency="add-remove",
        unit="user",
        view=View.of(SERVER),
        participation="half of all users",
    )
    wanted = "for add-remove, per user, in the view of server, participation half of all users"
    assert setting_in_words(claim) == wanted
    accounting = Accounting(epsilon=1, declared="one sum", adjacency="zero-out")
    assert setting_in_words(accounting) == "for zero-out, per event, participation everybody"
    assert setting_in_words(ErrorRate(text="the error is at most 1", claimed=1)) == ""


def test_the_clipping_of_a_bounded_sum_is_told() -> None:
    """What the sensitivity is derived from: the ends of the interval, and that it is a sum."""
    noise = build.laplace_mechanism(sensitivity=build.BoundedSum(lower=-1, upper="1/2"), scale=3)
    said = reasons([row("sum", CLAIM, [noise.certify(CLAIM)], expect="verified")])
    assert "laplace(sensitivity of a sum of records clipped to [-1, 1/2], scale 3, dimension 1)" in said[0]


@pytest.mark.parametrize("page", ["README.md", "docs/verify.md"])
def test_the_pages_say_the_same(page: str) -> None:
    """One text: the command's, the README's, that of the page about verifying, and that of the HTML."""
    assert CANNOT_KNOW in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_html_says_the_same() -> None:
    """At the end of every page, outside of what opens and closes."""
    page = render_html({"results": [], "unchecked": []})
    footer = " ".join(page.partition("<footer>")[2].split())
    assert CANNOT_KNOW.replace("'", "&#39;") in footer
