"""The page of verdicts lists the rows that its own command selects, with the verdicts that they have."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from dpaudit.core.suite import Row
from dpaudit.run.select import selector
from tests.cli.suites import invoke
from tests.prover.frames import needs_frames

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
PAPERS = (
    "concurrent_shuffle",
    "distributed_mab",
    "glm_bandits",
    "private_online_learning",
    "shuffle_linear_bandits",
)


def expression() -> str:
    """What the page's command gives to -k."""
    found = re.search(r'-k "(.*?)"', PAGE, flags=re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())


def lines_of(text: str) -> dict[str, str]:
    """Id -> line, of the lines of the tables."""
    rows = [line for line in text.splitlines() if line.startswith(("| ✓ |", "| ✗ |"))]
    return {re.sub(r"\\(.)", r"\1", line.split("|")[2].strip()): line for line in rows}


def selected(paper: str) -> dict[str, Row]:
    matches = selector(expression())
    suite = importlib.import_module(f"audits.{paper}.suite").suite
    return {row.id: row for row in suite.rows if matches(row.id)}


@needs_frames
@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_lists_what_its_command_selects(paper: str) -> None:
    """Each selected row stands there once, with the verdict that its suite expects."""
    rows, listed = selected(paper), lines_of(PAGE)
    prefixes = {row.split("-")[0] for row in rows}
    assert {key for key in listed if key.split("-")[0] in prefixes} == set(rows)
    for key, row in rows.items():
        assert f"**{row.expect}" in listed[key], key


@pytest.mark.slow
def test_the_lines_on_generalized_linear_bandits_come_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run anew, the rows of this paper have the bounds and cells that the page shows, to the letter; but for
    bounds that were drawn, whose error level is shared with the rows of all papers."""
    monkeypatch.chdir(tmp_path)
    suite = str(ROOT / "audits" / "glm_bandits")
    run = ("run", suite, "-k", expression(), "--json", "t.json", "--no-html", "--jobs", 1)
    assert invoke(*run).exit_code == 0
    invoke("report", "t.json", "--markdown", "new.md")
    found = lines_of((tmp_path / "new.md").read_text(encoding="utf-8"))
    assert found
    results = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["results"]
    drawn = {row["id"] for row in results if any(item.get("confidence", 1) < 1 for item in row["evidence"])}
    assert len(drawn) <= 2
    shown = lines_of(PAGE)
    assert {key: _comparable(shown[key], key in drawn) for key in found} == {
        key: _comparable(line, key in drawn) for key, line in found.items()
    }


def _comparable(line: str, drawn: bool) -> list[str]:
    """A line's columns, those between which the drawn bounds stand left out."""
    columns = [column.strip() for column in line.replace("\\|", "¦").split("|")]
    return [*columns[:5], columns[6], *columns[8:]] if drawn else columns
