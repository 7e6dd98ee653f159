"""``dpaudit init`` writes files that work as they are, and overwrites none."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpaudit
from dpaudit.cli.starter import STARTER, suite_from
from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.describe import describe
from dpaudit.run.plan import load_suites
from dpaudit.run.process import Pool
from tests.cli.suites import by_id, invoke, start


def test_what_init_writes_comes_out_as_expected(tmp_path: Path) -> None:
    """In a new folder: init, then ``dpaudit run`` exits with 0 and verifies its row; the test passes too."""
    folder = tmp_path / "project"
    assert invoke("init", folder).exit_code == 0
    run = start("run", "--no-html", "--jobs", "1", cwd=folder)
    said = run.communicate()
    assert run.returncode == 0, said
    (row,) = by_id(json.loads((folder / "dpaudit-report.json").read_text(encoding="utf-8"))).values()
    assert (row["id"], row["verdict"], row["strength"]) == ("noisy-sum", "verified", "proved in scope")
    # One in a million, not in twenty: this test must not fail by a new stream of random numbers.
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "dpaudit_alpha=1e-6", "tests"]
    path = {"PYTHONPATH": str(Path(dpaudit.__file__).parent.parent)}
    tests = subprocess.run(
        [sys.executable, *words], cwd=folder, env=os.environ | path, capture_output=True, text=True
    )
    assert tests.returncode == 0, tests.stdout
    assert "1 passed" in tests.stdout


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("row_id", "verdict"),
    [("HHM-RNM/repaired", "verified"), ("CZ23-T6C/below", "refuted"), ("SVT/3", "refuted")],
    ids=["a row of two decorators", "a row that imports from other modules", "a row that is refuted"],
)
def test_a_suite_begins_with_a_known_row(tmp_path: Path, row_id: str, verdict: str) -> None:
    """What ``init --from`` writes has the row and no other, runs as it stands, and comes out as the original
    does."""
    result = invoke("init", tmp_path, "--from", row_id.lower())
    assert result.exit_code == 0, result.output
    json_path = tmp_path / "r.json"
    run = invoke("run", tmp_path / "audits", "--no-html", "--json", json_path)
    assert run.exit_code == 0, run.output
    rows = by_id(json.loads(json_path.read_text(encoding="utf-8")))
    assert list(rows) == [row_id]
    assert rows[row_id]["verdict"] == verdict
    text = (tmp_path / "audits" / "mine.py").read_text(encoding="utf-8")
    assert "import audits" not in text
    assert "from audits" not in text


def test_every_repair_that_is_taken_out_makes_a_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it names the row that it mends, which may stay behind: the file builds a suite that has it,
    and nine in ten can be taken out."""
    pool = Pool(1)
    try:
        suites = load_suites(("papers",), pool)
    finally:
        pool.close()
    repairs = [(suite, row) for suite in suites for row in suite.rows if row["role"] == "repaired"]
    taken = 0
    for suite, row in repairs:
        try:
            text = suite_from(suite, row)
        except InvalidParameterError:
            continue
        module = ModuleType("started")
        monkeypatch.setitem(sys.modules, "started", module)
        exec(compile(text, "started.py", "exec"), vars(module))
        described = describe(module.suite, file="started.py", root=Path())
        assert row["id"] in [item["id"] for item in described["rows"]]
        taken += 1
    assert len(repairs) > 50
    assert taken >= 0.9 * len(repairs)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("row_id", "why"),
    [("SVT/proved", "a function makes it"), ("HHM-NONE", "Did you mean")],
    ids=["made by a function", "unknown"],
)
def test_a_row_that_cannot_be_taken_out_is_named(tmp_path: Path, row_id: str, why: str) -> None:
    """Exit code 2 with the reason, and nothing is written."""
    result = invoke("init", tmp_path / "new", "--from", row_id)
    assert result.exit_code == 2
    assert why in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", STARTER)
def test_no_file_is_overwritten(tmp_path: Path, name: str) -> None:
    """Where one of the files is there, init exits with 2, names it, and writes none of the others."""
    mine = tmp_path / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    result = invoke("init", tmp_path)
    assert result.exit_code == 2
    assert str(mine) in result.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A FOLDER that is a file is exit code 2 with the reason, not a traceback."""
    (tmp_path / "file").touch()
    result = invoke("init", tmp_path / "file")
    assert result.exit_code == 2
    assert "must be able to write" in result.stderr


def test_the_workflow_runs_both() -> None:
    """The workflow is YAML with one job whose steps run the test and the suite that init writes."""
    yaml: Any = importlib.import_module("yaml")
    (job,) = yaml.safe_load(STARTER[".github/workflows/dpaudit.yml"])["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert "python -m pytest tests/test_privacy.py" in runs
    assert any(line.startswith("dpaudit run audits") for line in runs)


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pytest is not installed, the last line installs it first; elsewhere it does not."""
    assert "pip install" not in invoke("init", tmp_path / "one").output
    monkeypatch.setattr("dpaudit.cli.init.find_spec", lambda name: None)
    assert "pip install pytest; python -m pytest" in invoke("init", tmp_path / "two").output
