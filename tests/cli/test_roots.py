"""Suites are found where they lie and run with their own root on the path: nothing shadows anything."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.core.claims import ErrorRate
from dpaudit.core.harness import is_harness_file
from dpaudit.core.suite import Outcome, Row, Suite
from dpaudit.run import process
from dpaudit.run.describe import describe
from dpaudit.run.plan import load_suites
from dpaudit.run.stamps import Sources, commit_of, imported_below
from dpaudit.run.targets import SuiteFile, bundled_audits, find_suites
from tests.cli.suites import VERIFIED, by_id, invoke, run, start, write_suite

USES_MECHANISM = """
from mechanisms.noise import NAME

@suite.row("uses-{0}", title="uses its own module", kind="utility", claim=CLAIM)
def uses(run):
    return Outcome([exactly(0, 0.5)], notes=[NAME, sys.path[0]])
"""


def repository(folder: Path, name: str) -> Path:
    """A repository of the usual shape: a mechanism, and an audit that imports it."""
    (folder / "mechanisms").mkdir(parents=True)
    (folder / "mechanisms" / "noise.py").write_text(f"NAME = {name!r}\n")
    return write_suite(folder / "audits" / "suite.py", USES_MECHANISM.format(name))


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_repositories_with_the_same_module_names_run_side_by_side(tmp_path: Path, jobs: int) -> None:
    """Each suite sees the ``mechanisms`` of its own root, in one run."""
    one, two = repository(tmp_path / "one", "one"), repository(tmp_path / "two", "two")
    report = tmp_path / "r.json"
    assert invoke("run", one, two, "--jobs", jobs, "--json", report, "--no-html").exit_code == 0
    rows = by_id(json.loads(report.read_text()))
    for name in ("one", "two"):
        assert rows[f"uses-{name}"]["notes"] == [name, str((tmp_path / name).resolve())]


def test_many_suites_share_few_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is not asked makes room, and its suite is imported again when its rows come."""
    monkeypatch.setattr(process, "KEPT", 1)
    for name in ("a", "b", "c"):
        write_suite(tmp_path / "audits" / f"{name}.py", VERIFIED.replace('"fine"', f'"fine-{name}"'))
    pool = process.Pool(1)
    try:
        load_suites([str(tmp_path)], pool)
        assert [worker.file.path.stem for worker in pool._workers] == ["c"]
    finally:
        pool.close()
    _, report = run(tmp_path / "audits", report=tmp_path / "r.json")
    assert [row["verdict"] for row in report["results"]] == ["verified"] * 3


def test_the_current_folder_is_not_on_the_path(tmp_path: Path) -> None:
    """A file called numpy.py where the command runs, or in the suite's root, does not replace numpy."""
    (tmp_path / "numpy.py").write_text("raise ImportError('the wrong numpy')\n")
    write_suite(tmp_path / "suite.py", VERIFIED)
    process = start("run", "suite.py", "--no-html", cwd=tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_an_id_is_unique_in_a_run(tmp_path: Path) -> None:
    """Two suites with the same id cannot run together: a report could not tell them apart."""
    suites = [write_suite(tmp_path / name / "suite.py", VERIFIED) for name in ("one", "two")]
    result = invoke("run", *suites, "--no-html")
    assert result.exit_code == 2
    assert "a row's id must be unique in a run, got 'fine'" in result.stderr


def test_a_folder_gives_the_files_that_bind_suite(tmp_path: Path) -> None:
    """Helpers, caches, installed packages and environments are left out; hidden folders and a file that does
    not parse are kept.
    """
    for name, text in {
        "audits/b.py": "suite = 1",
        "audits/a.py": "suite: object = 1",
        "audits/deep/c.py": "suite = 2",
        "audits/_parts.py": "from audits.a import suite",
        "audits/helper.py": "def f():\n    suite = 1",
        "audits/broken.py": "suite = (",
        "audits/.hidden/d.py": "suite = 1",
        "audits/__pycache__/e.py": "suite = 1",
        "audits/.venv/pyvenv.cfg": "",
        "audits/.venv/lib/f.py": "suite = 1",
        "audits/lib/site-packages/g.py": "suite = 1",
        "audits/loop.py": "names = [suite for suite in ()]",
        "audits/notes.txt": "suite = 1",
        "other.py": "suite = 1",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    audits = tmp_path / "audits"
    names = {
        "_parts.py": "part",
        "a.py": "suite",
        "b.py": "suite",
        "broken.py": "suite",
        ".hidden/d.py": "suite",
        "deep/c.py": "suite",
    }
    found = {suite.path: suite.kind for suite in find_suites([str(tmp_path)])}
    assert found == {audits.resolve() / name: kind for name, kind in names.items()}
    assert find_suites([str(audits), str(audits / "a.py")]) == find_suites([str(tmp_path)])
    assert {suite.root for suite in find_suites([str(tmp_path)])} == {tmp_path.resolve()}


def test_without_a_path_the_folder_audits_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``audits`` here if there is one; ``papers`` always means the bundled ones."""
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "audits" / "mine.py", VERIFIED)
    assert [suite.label for suite in find_suites([])] == ["audits/mine.py"]
    (tmp_path / "papers").mkdir()
    bundled = find_suites(["papers"])
    assert bundled
    assert all(suite.path.is_relative_to(bundled_audits()) for suite in bundled)
    assert all(suite.label.startswith("papers:") for suite in bundled)


def test_the_source_hash_follows_imports_and_nothing_else(tmp_path: Path) -> None:
    """A change in an imported module, in one imported inside a function or by a call that names it, or in a
    package's door changes the hash.
    """
    root = tmp_path
    for name, text in {
        "audits/suite.py": "import mechanisms.noise\nfrom . "
        "import parts\nsuite = 1\ndef f():\n    import late\n"
        "    return __import__('named'), importlib.import_module('mechanisms.called'), "
        "import_module('.beside', __package__)\n",
        "audits/beside.py": "",
        "mechanisms/called.py": "",
        "named.py": "",
        "audits/parts.py": "",
        "mechanisms/__init__.py": "",
        "mechanisms/noise.py": "from mechanisms import deeper",
        "mechanisms/deeper.py": "",
        "mechanisms/unused.py": "",
        "late.py": "",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    suite = SuiteFile(root / "audits" / "suite.py", root, "audits/suite.py")
    before = Sources().hash_of(suite)
    imported = ["audits/parts.py", "mechanisms/__init__.py", "mechanisms/deeper.py", "late.py"]
    for name in [*imported, "audits/beside.py", "mechanisms/called.py", "named.py"]:
        text = (root / name).read_text()
        (root / name).write_text(text + "# changed\n")
        assert Sources().hash_of(suite) != before, name
        (root / name).write_text(text)
    (root / "mechanisms" / "unused.py").write_text("# changed\n")
    assert Sources().hash_of(suite) == before


def test_only_modules_of_the_root_s_own_are_hashed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root above Python and its packages has neither in its hash, nor dpaudit; its own modules it has."""
    below = imported_below(Path("/"))
    assert not [name for name in below if Path("/", name) in {Path(json.__file__), Path(np.__file__)}]
    assert not [name for name in below if is_harness_file(f"/{name}")]
    (tmp_path / "of_its_own.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert imported_below(tmp_path) == []
    monkeypatch.setitem(sys.modules, "of_its_own", importlib.import_module("of_its_own"))
    assert imported_below(tmp_path) == ["of_its_own.py"]


def test_the_commit_is_that_of_the_repository_that_tracks_the_suite(tmp_path: Path) -> None:
    """Tracked and clean, tracked and modified, untracked, no repository: each is told apart."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    file = SuiteFile(suite, tmp_path, "suite.py")
    assert commit_of(file) == (None, None)

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "empty")
    assert commit_of(file) == (None, None)
    git("add", "suite.py")
    git("commit", "-q", "-m", "a suite")
    assert commit_of(file) == (git("rev-parse", "HEAD"), False)
    suite.write_text(suite.read_text() + "# changed\n")
    assert commit_of(file) == (git("rev-parse", "HEAD"), True)
    assert run(suite)[1]["suites"][0]["modified"] is True


def test_the_command_runs_as_installed(tmp_path: Path) -> None:
    """``--version`` tells the package's version; without a command the help lists all of them."""
    assert dpaudit.__version__ in invoke("--version").stdout
    text = invoke("--help").stdout
    for name in ("run", "list", "explain", "report", "verify"):
        assert f"\n  {name}" in text


def test_a_place_outside_the_root_is_not_told(tmp_path: Path) -> None:
    """A row's file is named as seen from the suite's folder; a path of this machine enters no report."""
    suite = Suite(paper="mine", title="Mine")
    claim = ErrorRate(text="the error is at most 1", claimed=1)
    for name, file in (("inside", tmp_path / "shared.py"), ("outside", tmp_path.parent / "elsewhere.py")):
        place = (str(file), 3)
        suite.add(Row(name, name, "utility", claim, lambda run: Outcome([]), location=place))
    told = describe(suite, file=str(tmp_path / "audits" / "suite.py"), root=tmp_path)["rows"]
    assert [row["location"] for row in told] == [{"file": "../shared.py", "line": 3}, None]
