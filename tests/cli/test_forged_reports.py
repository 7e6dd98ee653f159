"""A corpus of forged reports: ``verify --suite`` refuses every one; ``verify`` alone refuses all that
arithmetic can, and each one that it lets through is of a kind that it says it cannot know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpaudit.report.beyond_the_file import CANNOT_KNOW
from dpaudit.run.process import Pool
from tests.cli.forged import ROWS, again, confirmed, remember_runs
from tests.cli.forged_cells import CELLS
from tests.cli.forged_evidence import EVIDENCE
from tests.cli.forged_junk import JUNK
from tests.cli.forged_rows import REPORTS
from tests.cli.suites import by_id, run, write_suite

CORPUS = EVIDENCE | REPORTS | CELLS | JUNK


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path, Pool]]:
    """A report, another one of other sources, the first one's suite, and one pool for all runs."""
    folder = tmp_path_factory.mktemp("forged")
    first = write_suite(folder / "audits" / "a.py", ROWS)
    second = write_suite(
        folder / "other" / "audits" / "b.py", ROWS.replace("exactly(0.25, 0.5", "exactly(0, 0.125")
    )
    texts = [json.dumps(run(suite, report=folder / f"{suite.stem}.json")[1]) for suite in (first, second)]
    pool = Pool(1)
    with pytest.MonkeyPatch.context() as patch:
        remember_runs(patch)
        yield texts[0], texts[1], first, pool
    pool.close()


def test_the_true_reports_are_confirmed(made: tuple[str, str, Path, Pool], tmp_path: Path) -> None:
    """The control: unchanged, and written anew, the report passes both."""
    text, _, suite, pool = made
    for honest in (text, json.dumps(json.loads(text), indent=3)):
        assert confirmed(again(honest, tmp_path))
        assert confirmed(again(honest, tmp_path, [suite], pool)), again(honest, tmp_path, [suite], pool)


@pytest.mark.parametrize("name", CORPUS)
def test_a_forged_report_is_refused(made: tuple[str, str, Path, Pool], tmp_path: Path, name: str) -> None:
    """``--suite`` refuses it; ``verify`` alone too, or what was forged is named among what it cannot know."""
    text, second, suite, pool = made
    report, other = json.loads(text), json.loads(second)
    edit, unknown = CORPUS[name]
    forged = edit(report, by_id(report), other)
    if not isinstance(forged, str):
        forged = json.dumps(report)
    assert forged != text, "nothing was forged"
    findings = again(forged, tmp_path)
    refused = [f"{finding.id} {finding.what}: {finding.reason}" for finding in findings if not finding.ok]
    if unknown:
        assert not refused
        assert unknown in CANNOT_KNOW
    else:
        assert refused
    assert not confirmed(again(forged, tmp_path, [suite], pool))


def test_the_corpus_is_large() -> None:
    """At least 45 kinds; most of them are refused by arithmetic."""
    assert len(CORPUS) == len(EVIDENCE) + len(REPORTS) + len(CELLS) + len(JUNK) >= 150
    assert sum(not unknown for _, unknown in CORPUS.values()) > len(CORPUS) / 2
