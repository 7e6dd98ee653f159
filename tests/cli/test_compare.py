"""``dpaudit compare`` names what got worse, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from dpaudit.report import comparison
from dpaudit.report.file.document import write_report
from dpaudit.report.file.report import Report
from tests.cli.suites import invoke
from tests.report.sample import sample_report


def changed(report: dict[str, Any], place: int, **fields: Any) -> dict[str, Any]:
    """The report with other fields in one of its rows."""
    other = copy.deepcopy(report)
    other["results"][place].update(fields)
    return other


def got_worse(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return comparison.got_worse(Report.from_json(old), Report.from_json(new))


def got_better(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return comparison.got_better(Report.from_json(old), Report.from_json(new))


def fine_row(report: dict[str, Any]) -> int:
    """The place of a verified row that was accepted and has evidence."""
    rows = enumerate(report["results"])
    return next(i for i, row in rows if row["verdict"] == "verified" and row["accepted"])


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "refuted", "accepted": False},
        {"verdict": "crashed", "accepted": False},
        {"verdict": "inconclusive", "expect": "inconclusive"},
        {"strength": "none"},
        {"accepted": False},
    ],
    ids=["refuted", "crashed", "expected less", "weaker", "not accepted"],
)
def test_each_loss_is_worse_and_its_return_better(fields: dict[str, Any]) -> None:
    """A verified row that lost something is named once; the other way round it is better, not worse."""
    old = sample_report()
    place = fine_row(old)
    new = changed(old, place, **fields)
    (line,) = got_worse(old, new)
    assert line.startswith(f"{old['results'][place]['id']}: verified")
    assert got_better(old, new) == []
    assert got_worse(new, old) == []
    assert len(got_better(new, old)) == 1


def test_known_findings_are_not_worse() -> None:
    """A report with failures, refutations and crashes is not worse than itself."""
    report = sample_report()
    assert any(not row["accepted"] for row in report["results"])
    assert got_worse(report, report) == got_better(report, report) == []


def test_a_row_that_is_gone_and_a_new_finding_are_worse(tmp_path: Path) -> None:
    """The command exits with 1 for either, names the row, and with 0 where nothing changed."""
    report = sample_report()
    bad = next(i for i, row in enumerate(report["results"]) if not row["accepted"] and not row["cells"])
    name = report["results"][bad]["id"]
    without = report | {"results": [row for row in report["results"] if row["id"] != name]}
    whole, less = tmp_path / "whole.json", tmp_path / "less.json"
    write_report(whole, report)
    write_report(less, without)
    for first, second, word in ((whole, less, "gone now"), (less, whole, "new, ")):
        result = invoke("compare", first, second)
        assert result.exit_code == 1
        assert any(name in line and word in line for line in result.output.splitlines())
        assert "1 worse, 0 better" in result.output
    assert invoke("compare", whole, whole).exit_code == 0


def exit_code(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> int:
    """The exit code of the command for two reports."""
    for name, report in (("old.json", old), ("new.json", new)):
        write_report(folder / name, report)
    return invoke("compare", folder / "old.json", folder / "new.json").exit_code


BROKEN = {"broken": [{"suite": "audits/mine.py", "reason": "it does not import"}]}


@pytest.mark.parametrize(
    "fields",
    [
        {"complete": False},
        BROKEN,
        {"profile": "quick"},
        {"alpha": 0.5},
        {"require": None},
        {"accept": "consistent"},
    ],
    ids=["stopped", "broken", "profile", "alpha", "require", "accept"],
)
def test_a_run_that_looked_at_less_is_worse(tmp_path: Path, fields: dict[str, Any]) -> None:
    """With the same rows and verdicts: exit code 1; the other way round 0."""
    old = sample_report() | {"require": "proved"}
    assert exit_code(tmp_path, old, old | fields) == 1
    assert exit_code(tmp_path, old | fields, old) == 0
    assert exit_code(tmp_path, old, old) == 0


def test_a_suite_that_is_not_run_twice_is_worse_twice(tmp_path: Path) -> None:
    """A report is worse than itself while it has a suite of which nothing is known, or was stopped."""
    for fields in (BROKEN, {"complete": False}):
        report = sample_report() | fields
        assert exit_code(tmp_path, report, report) == 1


ESTIMATE = {
    "evidence": "computation", "quantity": "error", "lower": 0.0, "upper": 0.5, "confidence": 1.0,
    "samples": 10, "method": "grid", "scope": "n = 1 to 10", "seed": None, "covers_claim": True,
    "details": {},
}  # fmt: skip
PROOF = {
    "evidence": "certificate", "quantity": "epsilon", "bound": "1", "tree": {},
    "assumptions": ["sums are exact"],
}  # fmt: skip


def assuming(*assumptions: str) -> dict[str, Any]:
    return PROOF | {"assumptions": list(assumptions)}


COMPUTED = {"strength": "computation", "confidence": 1.0}


@pytest.mark.parametrize(
    ("verdict", "about", "before", "now", "worse"),
    [
        ("verified", COMPUTED, ESTIMATE, ESTIMATE | {"samples": 9}, True),
        ("verified", COMPUTED, ESTIMATE, ESTIMATE | {"scope": "n = 11 to 20"}, True),
        ("verified", COMPUTED, ESTIMATE, ESTIMATE | {"scope": "n = 1 to 20", "samples": 20}, False),
        ("verified", COMPUTED, ESTIMATE, ESTIMATE | {"upper": 0.75}, False),
        ("inconclusive", COMPUTED, ESTIMATE, ESTIMATE | {"samples": 9}, True),
        ("refuted", COMPUTED, ESTIMATE, ESTIMATE | {"samples": 9}, False),
        ("consistent", {"strength": "accounted"}, PROOF, assuming("a", "sums are exact"), True),
        ("consistent", {"strength": "accounted"}, PROOF, assuming("another"), True),
        ("consistent", {"strength": "accounted"}, assuming("a", "b"), assuming("a"), False),
    ],
)  # fmt: skip
def test_the_same_verdict_on_less_is_worse(
    tmp_path: Path, verdict: str, about: dict[str, Any], before: Any, now: Any, worse: bool
) -> None:
    """Fewer points, another grid, more assumptions: exit code 1; more points, fewer assumptions, another
    bound, or a refutation: 0."""
    report = sample_report()
    place = next(i for i, row in enumerate(report["results"]) if not row["cells"])
    stated = about | {"verdict": verdict, "expect": verdict, "accepted": True}
    old = changed(report, place, **stated, evidence=[before])
    assert exit_code(tmp_path, old, changed(old, place, evidence=[now])) == worse
    assert exit_code(tmp_path, old, old) == 0


@pytest.mark.parametrize(
    ("before", "now", "worse"),
    [
        ("consistent", "verified", False),
        ("verified", "consistent", True),
        ("consistent", "inconclusive", True),
        ("inconclusive", "consistent", False),
        ("consistent", "consistent", False),
    ],
)
@pytest.mark.parametrize("expect", ["verified", "consistent", "now"])
def test_consistent_is_less_than_verified_and_more_than_inconclusive(
    before: str, now: str, worse: bool, expect: str
) -> None:
    """Whatever the suite expects; what is no longer worse is better."""
    strength = {"verified": "proved", "consistent": "accounted", "inconclusive": "none"}
    report = sample_report()
    place = next(i for i, row in enumerate(report["results"]) if not row["cells"])

    def at(verdict: str) -> dict[str, Any]:
        wanted = verdict if expect == "now" else expect
        expected = verdict == wanted
        about = {"expect": wanted, "as_expected": expected, "accepted": expected}
        return changed(report, place, verdict=verdict, strength=strength[verdict], **about)

    assert bool(got_worse(at(before), at(now))) is worse
    assert bool(got_better(at(before), at(now))) is (before != now and not worse)


@pytest.mark.parametrize(("scope", "worse"), [("data of size 2", True), ("data of size 5", False)])
def test_a_proof_in_another_scope_is_worse(tmp_path: Path, scope: str, worse: bool) -> None:
    """A program that was proved for data of five records, and is proved for two by now."""
    report = sample_report()
    place = fine_row(report)
    old = changed(report, place, strength="proved in scope", scope="data of size 5")
    assert exit_code(tmp_path, old, changed(old, place, scope=scope)) == worse


def test_a_cell_that_no_longer_decides_its_row_is_worse() -> None:
    """Its next refutation would not be the row's; that it decides again is neither worse nor better."""
    old = sample_report()
    place = next(i for i, row in enumerate(old["results"]) if row["cells"])
    cells = copy.deepcopy(old["results"][place]["cells"])
    cells[0]["deciding"] = True
    old = changed(old, place, cells=cells)
    cells = copy.deepcopy(cells)
    cells[0]["deciding"] = False
    new = changed(old, place, cells=cells)
    (line,) = got_worse(old, new)
    assert f"[{cells[0]['name']}]: it decided its row before and does not now" in line
    assert got_worse(new, old) == got_better(new, old) == []


@pytest.mark.parametrize("what", ["claim", "role"])
def test_another_claim_or_role_is_worse_and_never_better(what: str) -> None:
    """A row that states another claim, or states it in another role, is named in both directions."""
    old = sample_report()
    place = fine_row(old)
    row = old["results"][place]
    other = row["claim"] | {"claimed": 7.0, "in_words": "something weaker"} if what == "claim" else "what-if"
    new = changed(old, place, **{what: other})
    for before, after in ((old, new), (new, old)):
        (line,) = got_worse(before, after)
        assert line.startswith(f"{row['id']}: ")
        assert ("another claim" if what == "claim" else "its role was") in line
        assert got_better(before, after) == []
    reworded = changed(old, place, claim=row["claim"] | {"in_words": "the same in other words"})
    assert got_worse(old, reworded) == got_better(old, reworded) == []


def test_verdicts_count_and_not_what_the_row_says_of_them() -> None:
    """A row against its expectation that says that it was accepted is not better than one that does not."""
    old = sample_report()
    place = next(i for i, row in enumerate(old["results"]) if row["verdict"] != row["expect"])
    assert not old["results"][place]["accepted"]
    new = changed(old, place, accepted=True, as_expected=True)
    assert got_better(old, new) == []


def test_a_report_with_one_id_twice_is_refused(tmp_path: Path) -> None:
    """Of two rows with one id no command takes the first, nor the last."""
    report = sample_report()
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    write_report(old, report)
    write_report(new, report | {"results": [*report["results"], report["results"][0]]})
    for words in (("compare", old, new), ("report", new)):
        said = invoke(*words)
        assert said.exit_code == 2
        assert "E-ID-TWICE" in said.output
