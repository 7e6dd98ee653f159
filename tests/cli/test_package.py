"""What an installed dpaudit carries beside its code, and that every way to install it carries the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from dpaudit.run.stamps import Sources, tool_hash
from dpaudit.run.targets import find_suites
from tests.cli.suites import by_id, write_suite

ROOT = Path(__file__).parent.parent.parent
LINKED = ("mechanisms", "algorithms")
ROW = "SGD/long"


def test_type_checkers_are_told_that_the_types_are_inline() -> None:
    """Without the marker file a user's type checker ignores every annotation."""
    assert files("dpaudit").joinpath("py.typed").is_file()


def test_the_licence_that_is_declared_is_the_text_that_is_shipped() -> None:
    """The metadata name the licence and its file, and the file holds the whole text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("name", LINKED)
def test_the_reference_folders_are_links_to_those_at_the_top(name: str) -> None:
    """Relative ones, so that a copy of the repository is whole."""
    link = ROOT / "dpaudit" / "reference" / name
    assert link.readlink() == Path("..", "..", name)
    assert link.resolve() == (ROOT / name).resolve()
    assert not (ROOT / name).is_symlink()


def test_the_type_checker_follows_the_links() -> None:
    """Every module of both folders is among those of the package that mypy is told to check."""
    finder, options = pytest.importorskip("mypy.modulefinder"), pytest.importorskip("mypy.options")
    paths = finder.SearchPaths((str(ROOT),), (), (), ())
    found = finder.FindModuleCache(paths, None, options.Options()).find_modules_recursive("dpaudit")
    checked = {source.module for source in found}
    for name in LINKED:
        for path in (ROOT / name).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            assert f"dpaudit.reference.{module}" in checked


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What hatchling makes: a wheel of the tree, an editable one, a source distribution, and a wheel of that;
    each by the names of its files, with their contents."""
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder
    sdist = pytest.importorskip("hatchling.builders.sdist").SdistBuilder
    pytest.importorskip("editables")  # hatchling asks for it to build an editable wheel
    folder = tmp_path_factory.mktemp("built")

    def build(builder: Any, root: Path, version: str) -> Path:
        place = folder / f"{builder.__name__}-{root.name}-{version}"
        return Path(next(iter(builder(str(root)).build(directory=str(place), versions=[version]))))

    archive = build(sdist, ROOT, "standard")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
        members = [member for member in file.getmembers() if not member.isdir()]
    assert all(member.isfile() for member in members)
    source = folder / archive.name.removesuffix(".tar.gz")
    names = [str(Path(member.name).relative_to(source.name)) for member in members]
    assert len(names) == len(set(names))
    return {
        "tree": _contents(build(wheel, ROOT, "standard")),
        "editable": _contents(build(wheel, ROOT, "editable")),
        "sdist": {name: (source / name).read_bytes() for name in names},
        "of sdist": _contents(build(wheel, source, "standard")),
    }


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        assert len(file.namelist()) == len(set(file.namelist()))
        return {name: file.read(name) for name in file.namelist()}


def _below(folder: Path, name: str) -> dict[str, bytes]:
    """The files of a folder as they are named below ``name``; links are followed."""
    return {
        os.path.join(name, os.path.relpath(os.path.join(parent, file), folder)): Path(
            parent, file
        ).read_bytes()
        for parent, _, found in os.walk(folder, followlinks=True)
        for file in found
        if not parent.endswith("__pycache__")
    }


def test_wheels_and_source_distributions_hold_the_same_files(built: dict[str, dict[str, bytes]]) -> None:
    """The package with what its links lead to and the audits, each file once, by whichever way."""
    package = _below(ROOT / "dpaudit", "dpaudit")
    wheel = package | _below(ROOT / "audits", "dpaudit/_bundled/audits")
    assert {name: data for name, data in built["tree"].items() if ".dist-info/" not in name} == wheel
    assert built["of sdist"] == built["tree"]
    told = {name: data for name, data in built["sdist"].items() if name.startswith("dpaudit/")}
    assert told == package
    for name in LINKED:
        for data in _below(ROOT / name, name).values():
            copies = Counter(held == data for held in built["sdist"].values())
            assert copies[True] == Counter(held == data for held in package.values())[True]


def test_an_editable_installation_holds_no_sources(built: dict[str, dict[str, bytes]]) -> None:
    """What is edited in the tree is what runs: nothing is copied but the metadata and the path."""
    path, *metadata = built["editable"]
    assert built["editable"][path].decode().split() == [str(ROOT)]
    assert path.endswith(".pth")
    assert all(".dist-info/" in name for name in metadata)


HASHES = """
import json
from dpaudit.run.stamps import Sources, tool_hash
from dpaudit.run.targets import find_suites
print(json.dumps([tool_hash(), {suite.label: Sources().hash_of(suite) for suite in find_suites(["papers"])}]))
"""


@pytest.mark.slow
def test_a_wheel_runs_the_papers_as_the_tree_does(built: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    """The hashes of the tool and of all suites are the same, and a row comes out as it should."""
    for name, data in built["tree"].items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_bytes(data)
    told = json.loads(_python(tmp_path / "site", tmp_path, "-c", HASHES))
    own = {suite.label: Sources().hash_of(suite) for suite in find_suites(["papers"])}
    suites = [suite.label for suite in find_suites(["papers:classics"]) if suite.kind == "suite"]
    assert told == [tool_hash(), own]
    arguments = ("papers:classics", "-k", ROW, "--jobs", "1", "--no-html", "--json", "report.json")
    _python(tmp_path / "site", tmp_path, "-m", "dpaudit", "run", *arguments)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert by_id(report)[ROW]["verdict"] == "verified"
    assert [(suite["suite"], suite["sha256"]) for suite in report["suites"]] == [
        (label, own[label]) for label in suites
    ]
    arguments = (
        "papers:distributed_mab",
        "-k",
        "CZ23-T6P/protocol",
        "--jobs",
        "1",
        "--no-html",
        "--json",
        "two.json",
    )
    _python(tmp_path / "site", tmp_path, "-m", "dpaudit", "run", *arguments)
    report = json.loads((tmp_path / "two.json").read_text(encoding="utf-8"))
    assert by_id(report)["CZ23-T6P/protocol"]["verdict"] == "verified"  # its program is reference content


def _python(path: Path, folder: Path, *arguments: str) -> str:
    """What Python prints in a folder with another one first on its path."""
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


OWN_FOLDERS = """
import importlib
from algorithms.mine import NAME as algorithm
from audits.classics import NAME as audit
from mechanisms.mine import NAME as mechanism

def has_ours():
    try:
        importlib.import_module("mechanisms.report_noisy_max")
    except ModuleNotFoundError:
        return False
    return True

@suite.row("own", title="uses its own folders", kind="utility", claim=CLAIM)
def own(run):
    import dpaudit.reference.mechanisms.report_noisy_max
    return Outcome([exactly(0, 0.5)], notes=[algorithm, audit, mechanism, str(has_ours())])
"""


@pytest.mark.parametrize("package", [False, True])
def test_a_suite_s_own_folders_win_over_those_of_a_checkout(tmp_path: Path, package: bool) -> None:
    """Folders called as ours, with and without ``__init__.py``, while this repository is on the path; ours
    are not found under these names at all."""
    for name in ("algorithms/mine.py", "audits/classics.py", "mechanisms/mine.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"NAME = {name!r}\n", encoding="utf-8")
        if package:
            (tmp_path / name).with_name("__init__.py").write_text("", encoding="utf-8")
    write_suite(tmp_path / "audits" / "suite.py", OWN_FOLDERS)
    arguments = ("audits", "--jobs", "1", "--no-html", "--json", "report.json")
    _python(ROOT, tmp_path, "-m", "dpaudit", "run", *arguments)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert by_id(report)["own"]["notes"] == [
        "algorithms/mine.py",
        "audits/classics.py",
        "mechanisms/mine.py",
        "False",
    ]


def test_dpaudit_check_finds_the_current_folder_s_own_mechanisms(tmp_path: Path) -> None:
    """The function that is named, also where this repository has a folder of that name and is on the path."""
    (tmp_path / "mechanisms").mkdir()
    source = "def mine(x, rng):\n    return x + rng.laplace(0, 2.0)\n"
    (tmp_path / "mechanisms" / "mine.py").write_text(source, encoding="utf-8")
    arguments = ("mechanisms.mine:mine", "--epsilon", "1", "--pair", "0", "1", "--max-samples", "400")
    told = _python(ROOT, tmp_path, "-m", "dpaudit", "check", *arguments)
    assert "INCONCLUSIVE" in told
