"""A row whose function raises while the suite is imported crashes alone; other rows keep their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpaudit.verify.result import verify_result
from tests.cli.suites import REFUTED, VERIFIED, by_id, invoke, run, write_suite

IMPORTS = """
from dpaudit.suite import Neighbours
from dpaudit.distributions import Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import controls, evidence, over, privacy, steps
from dpaudit.suite.program_proofs import Proving, proved

def spoiled(**point):
    raise ValueError(f"nothing to build {point}")
"""

#: One row of each kind that calls its function at import.
UNBUILT = {
    "privacy": """
@privacy(suite, "bad", "page 1")
def bad():
    "A sum is private"
    return PrivacyAudit(claim=PureDP(epsilon=-1), program=lambda coins, data: 0, neighbours=lambda run: [])
""",
    "privacy over a grid": """
@privacy(suite, "bad", "page 1", over=over(n=(1, 2)), expect="refuted")
def bad(n):
    "A sum is private"
    return spoiled(n=n)
""",
    "no audit": """
@privacy(suite, "bad", "page 1")
def bad():
    "A sum is private"
""",
    "controls": """
@controls(suite, "bad", "page 1")
def bad():
    "Broken sums are refuted"
    return spoiled()
""",
    "steps": """
@steps(suite, "bad", "page 1", kind="tail")
def bad():
    "Two inequalities"
    return spoiled()
""",
    "claim of a point": """
@evidence(suite, "bad", "page 1", claim=spoiled, over=over(n=(1, 2)))
def bad(run, n):
    "An error"
    return []
""",
    "proved": """
@proved(suite, "bad", "page 1")
def bad():
    "A sum is private"
    return Proving(program=None, data=None, adjacency=None)
""",
}


@pytest.mark.parametrize("bad", UNBUILT.values(), ids=list(UNBUILT))
def test_a_row_that_cannot_be_built_crashes_alone(tmp_path: Path, bad: str) -> None:
    """Exit code 3, the error and its traceback at that row, the row's source and place, others' verdicts."""
    result, report = run(write_suite(tmp_path / "suite.py", IMPORTS, VERIFIED, bad, REFUTED))
    assert result.exit_code == 3
    rows = by_id(report)
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "fine": "verified",
        "bad": "crashed",
        "false": "refuted",
    }
    row = rows["bad"]
    assert (row["claim"]["type"], row["source"], row["location"]["file"]) == ("unbuilt", "page 1", "suite.py")
    assert "Error" in row["traceback"]
    assert row["accepted"] is False
    assert all(finding.ok for item in report["results"] for finding in verify_result(item))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("unbuilt")
    _, report = run(write_suite(folder / "suite.py", IMPORTS, VERIFIED, UNBUILT["controls"]))
    return folder, report


def test_every_command_takes_such_a_report(made: tuple[Path, dict[str, Any]]) -> None:
    """``verify``, ``compare``, the pages, JUnit, SARIF, ``list`` and ``explain`` show the crash."""
    folder, _ = made
    file, suite = folder / "dpaudit-report.json", folder / "suite.py"
    assert invoke("verify", file).exit_code == 0
    assert invoke("compare", file, file).exit_code == 0
    pages = {"--html": "page.html", "--junit": "junit.xml", "--sarif": "out.sarif", "--markdown": "out.md"}
    written = invoke(
        "report", file, *(word for item in pages.items() for word in (item[0], folder / item[1]))
    )
    assert written.exit_code == 0, written.output
    shown = {name: (folder / name).read_text(encoding="utf-8") for name in pages.values()}
    assert all("nothing to build" in shown[name] for name in ("page.html", "junit.xml", "out.sarif"))
    assert "**crashed" in shown["out.md"]
    assert "bad" in invoke("list", suite).stdout
    assert "nothing to build" in invoke("explain", "bad", suite, "--report", file).stdout


def test_a_row_that_can_no_longer_be_built_is_worse(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Against a report in which the row was verified, ``compare`` exits with 1."""
    file = made[0] / "dpaudit-report.json"
    before = json.loads(file.read_text(encoding="utf-8"))
    fine, bad = (by_id(before)[name] for name in ("fine", "bad"))
    before["results"] = [fine, {**fine, "id": "bad", "reproduce": bad["reproduce"]}]
    old = tmp_path / "old.json"
    old.write_text(json.dumps(before), encoding="utf-8")
    compared = invoke("compare", old, file)
    assert (compared.exit_code, "bad" in compared.output) == (1, True)


@pytest.mark.parametrize("edit", [{"verdict": "inconclusive"}, {"verdict": "verified", "strength": "proved"}])
def test_a_row_without_a_claim_has_no_other_verdict(
    made: tuple[Path, dict[str, Any]], edit: dict[str, Any]
) -> None:
    """A report in which such a row comes out as anything but crashed was edited."""
    row = by_id(made[1])["bad"]
    assert all(finding.ok for finding in verify_result(row))
    assert not all(finding.ok for finding in verify_result({**row, **edit}))


def test_a_suite_that_does_not_import_stops_no_other(tmp_path: Path) -> None:
    """A syntax error and an import error are errors of their suites: exit code 2, the third suite's results
    stay."""
    audits = tmp_path / "audits"
    for name, text in (("syntax", "suite = ("), ("missing", "import no_such_module_here\nsuite = 1")):
        (audits / name).mkdir(parents=True)
        (audits / name / "suite.py").write_text(text, encoding="utf-8")
    (audits / "good").mkdir()
    write_suite(audits / "good" / "suite.py", VERIFIED)
    report = tmp_path / "report.json"
    result = invoke("run", audits, "--json", report)
    written = json.loads(report.read_text(encoding="utf-8"))
    assert result.exit_code == 2
    assert {row["id"]: row["verdict"] for row in written["results"]} == {"fine": "verified"}
    assert len(written["broken"]) == 2
