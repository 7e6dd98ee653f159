"""The run's error level is spent once over its rows: by weight, whatever is selected, resumed or reseeded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpaudit.report.file.document import journal_path
from tests.cli.suites import HEAD, by_id, run, write_suite

ROWS = """
def add(name, weight):
    def evaluate(run):
        count(name)
        return Outcome([exactly(1.5, None, confidence=1 - run.alpha, seed=run.seed)], notes=[str(run.alpha)])
    suite.add(Row(id=name, title=name, kind="utility", claim=CLAIM, evaluate=evaluate, weight=weight))

add("light", 1)
add("even", 1)
add("heavy", 2)
"""


def levels(report: dict[str, Any]) -> dict[str, float]:
    """Each row's level as the report states it, which is what the row itself was told."""
    assert all(row["notes"] == [str(row["alpha"])] for row in report["results"])
    return {name: row["alpha"] for name, row in by_id(report).items()}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite.py", ROWS)


def test_the_rows_share_the_level_by_weight(suite: Path) -> None:
    """All rows together err with at most the run's level, and ``--alpha`` sets it."""
    assert levels(run(suite)[1]) == pytest.approx({"light": 0.0125, "even": 0.0125, "heavy": 0.025})
    assert sum(levels(run(suite, "--alpha", 0.001)[1]).values()) == pytest.approx(0.001)


def test_a_selected_row_keeps_its_share(suite: Path) -> None:
    """``-k`` neither saves level nor spends it: run one by one, the rows err together as in one run."""
    whole = levels(run(suite)[1])
    alone = [levels(run(suite, "-k", name)[1]) for name in whole]
    assert alone == [{name: level} for name, level in whole.items()]


def test_a_resumed_run_is_the_same_run(suite: Path) -> None:
    """Rows kept and rows run later have the shares of one run, and the kept ones do not run again."""
    file = suite.parent / "r.json"
    whole = run(suite, report=file)[1]
    journal = journal_path(file)
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    resumed = run(suite, "--resume", report=file)[1]
    assert levels(resumed) == levels(whole)
    assert [len((suite.parent / f"{name}.ran").read_text()) for name in levels(whole)] == [1, 2, 2]


def test_another_seed_is_another_look(suite: Path) -> None:
    """Each seed spends the whole level anew: the report of each states it."""
    first, second = (run(suite, "--seed", seed)[1] for seed in (0, 1))
    assert levels(first) == levels(second)
    assert first["alpha"] == second["alpha"] == 0.05
    assert (first["seed"], second["seed"]) == (0, 1)


def test_suites_run_together_share_one_level(suite: Path, tmp_path: Path) -> None:
    """Two suites of one command have half the level each; each by itself has all of it."""
    other = write_suite(tmp_path / "other.py", ROWS.replace('add("', 'add("other-'), head=HEAD)
    alone = levels(run(suite)[1])
    together = levels(run(tmp_path)[1])
    assert sum(together.values()) == pytest.approx(0.05)
    assert [together[name] for name in alone] == pytest.approx([level / 2 for level in alone.values()])
    assert other.exists()
