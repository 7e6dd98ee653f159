"""The page on the classics shows what a fresh quick run finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.suites import invoke

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "classics.md"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_is_the_report_of_a_fresh_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick run of the suite, put into a copy of the page as it says, leaves the page as it is."""
    monkeypatch.chdir(ROOT)
    report, copy = tmp_path / "c.json", tmp_path / "classics.md"
    shutil.copy(PAGE, copy)
    assert invoke("run", "audits/classics", "--no-html", "--json", report).exit_code == 0
    assert invoke("report", report, "--markdown", copy).exit_code == 0
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
