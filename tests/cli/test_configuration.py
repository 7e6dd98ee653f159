"""``[tool.dpaudit]`` sets the defaults of ``dpaudit run``, and nothing that a report says depends on it."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dpaudit.cli.configuration import find_configuration
from tests.cli.suites import VERIFIED, invoke, write_suite

DOCS = Path(__file__).parents[2] / "docs"

ALL = """
[tool.dpaudit]
suites = ["claims"]
alpha = 0.01
profile = "full"
seed = 7
jobs = 1
timeout = 60
accept = "consistent"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a suite in ``claims``, which is not the default, and the current folder in it."""
    write_suite(tmp_path / "claims" / "suite.py", VERIFIED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def report_of(*words: str, code: int = 0) -> dict[str, Any]:
    """Return the report of a run in the current folder."""
    result = invoke("run", "--no-html", "--json", "r.json", *words)
    assert result.exit_code == code, result.output
    report: dict[str, Any] = json.loads(Path("r.json").read_text(encoding="utf-8"))
    return report


def settings(report: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(report[name] for name in ("alpha", "profile", "seed", "accept"))


def test_every_key_is_a_default(folder: Path) -> None:
    """The suites and settings of the table are used, and the run names the file and the values."""
    configure(folder, ALL)
    report = report_of()
    assert settings(report) == (0.01, "full", 7, "consistent")
    assert [suite["suite"] for suite in report["suites"]] == ["claims/suite.py"]
    assert report["stamps"]["command"] == "dpaudit run claims --seed 7 --full --alpha 0.01 --no-config"
    said = invoke("run", "--no-html", "--json", "r.json").stderr.splitlines()[0]
    assert said.startswith(f"defaults from {folder / 'pyproject.toml'}: suites = ['claims'], alpha = 0.01")


def test_jobs_and_timeout_reach_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in no report, so the settings of the plan are looked at."""
    import dpaudit.cli.run as command

    seen = []
    plan = command.plan_run

    def spy(paths: Any, settings: Any, *rest: Any, **more: Any) -> Any:
        seen.append((settings.jobs, settings.timeout))
        return plan(paths, settings, *rest, **more)

    monkeypatch.setattr(command, "plan_run", spy)
    configure(folder, ALL)
    report_of()
    report_of("--jobs", "2", "--timeout", "50")
    assert seen == [(1, 60.0), (2, 50.0)]


def test_the_command_line_wins(folder: Path) -> None:
    """Also where an option has the value that is the default without a configuration."""
    configure(folder, ALL)
    write_suite(folder / "other.py", VERIFIED)
    report = report_of("other.py", "--alpha", "0.05", "--quick", "--seed", "0")
    assert settings(report) == (0.05, "quick", 0, "consistent")
    assert [suite["suite"] for suite in report["suites"]] == ["other.py"]


def test_no_config_reads_nothing(folder: Path) -> None:
    """Not even a file that is broken."""
    configure(folder, "[tool.dpaudit")
    assert settings(report_of("claims", "--no-config")) == (0.05, "quick", 0, None)


@pytest.mark.parametrize("later", ["", ALL, '[tool.dpaudit]\nalpha = 0.5\nseed = 3\nrequire = "proved"'])
@pytest.mark.parametrize("options", [(), ("--alpha", "0.05")], ids=["defaults", "an option"])
def test_the_command_of_a_row_does_not_depend_on_the_configuration(
    folder: Path, options: tuple[str, ...], later: str
) -> None:
    """It gives the same row under the same configuration, another one, and none."""
    configure(folder, ALL)
    report = report_of(*options)
    (row,) = report["results"]
    configure(folder, later)
    words = shlex.split(row["reproduce"])[1:]
    assert invoke(*words, "--no-html").exit_code == 0
    again = json.loads((folder / "fine.json").read_text(encoding="utf-8"))
    assert settings(again)[:3] == settings(report)[:3]
    same = {name: value for name, value in row.items() if name != "seconds"}
    assert {name: value for name, value in again["results"][0].items() if name != "seconds"} == same
    assert invoke("verify", "r.json").exit_code == 0


def test_a_report_without_the_option_in_its_commands_is_not_verified(folder: Path) -> None:
    """A reader who pastes such a command may get the result of another configuration."""
    configure(folder, ALL)
    report = report_of()
    text = json.dumps(report).replace(" --no-config", "")
    Path("r.json").write_text(text, encoding="utf-8")
    result = invoke("verify", "r.json")
    assert result.exit_code == 1
    assert "a command must be written as dpaudit writes it" in result.output


def test_the_closest_table_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without the table is passed over, and paths are relative to the file that has it."""
    configure(folder, ALL)
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    configure(inner, "[tool.ruff]\n")
    monkeypatch.chdir(inner)
    report = report_of()
    assert report["seed"] == 7
    assert [suite["suite"] for suite in report["suites"]] == [f"{folder.as_posix()}/claims/suite.py"]
    configure(folder / "a", '[tool.dpaudit]\nsuites = ["../claims"]\nseed = 8\n')
    report = report_of()
    assert (report["seed"], report["alpha"]) == (8, 0.05)


def test_papers_are_those_of_dpaudit_unless_a_path_says_otherwise(folder: Path) -> None:
    """As on the command line."""
    configure(folder, '[tool.dpaudit]\nsuites = ["papers:classics", "./papers"]\n')
    found = find_configuration(folder)
    assert found is not None
    assert found.defaults == {"paths": ["papers:classics", str(folder / "papers")]}


@pytest.mark.parametrize(
    ("table", "key", "code"),
    [
        ("alhpa = 0.1", "alhpa", "E-CONFIG-KEY"),
        ("suites = 'claims'", "suites", "E-CONFIG-TYPE"),
        ("suites = []", "suites", "E-CONFIG-TYPE"),
        ("suites = ['claims', 3]", "suites", "E-CONFIG-TYPE"),
        ("alpha = '0.1'", "alpha", "E-CONFIG-TYPE"),
        ("seed = 1.0", "seed", "E-CONFIG-TYPE"),
        ("jobs = true", "jobs", "E-CONFIG-TYPE"),
        ("timeout = false", "timeout", "E-CONFIG-TYPE"),
        ("profile = ['quick']", "profile", "E-CONFIG-TYPE"),
        ("alpha = 0.6", "alpha", "E-ALPHA-RANGE"),
        ("alpha = nan", "alpha", "E-ALPHA-RANGE"),
        ("profile = 'slow'", "profile", "E-PROFILE-UNKNOWN"),
        ("seed = -1", "seed", "E-SEED-RANGE"),
        ("jobs = 0", "jobs", "E-JOBS-RANGE"),
        ("timeout = inf", "timeout", "E-TIMEOUT-RANGE"),
        ("require = 'luck'", "require", "E-REQUIRE-UNKNOWN"),
        ("accept = 'refuted'", "accept", "E-ACCEPT-UNKNOWN"),
        (
            "suites = ['claims']\nrequire = 'proved'\naccept = 'consistent'",
            "require, accept",
            "E-REQUIRE-ACCEPT",
        ),
    ],
)
def test_a_wrong_table_is_refused(folder: Path, table: str, key: str, code: str) -> None:
    """The error names the key and the file, the exit code is 2, and no row runs."""
    configure(folder, f"[tool.dpaudit]\n{table}\n")
    result = invoke("run", "claims")
    assert result.exit_code == 2
    assert f"error [{code}]: {key} in [tool.dpaudit] of {folder / 'pyproject.toml'}" in result.stderr
    assert not list(folder.rglob("*.ran"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"[tool.dpaudit", "E-CONFIG-READ"),
        (b'x = "\xff"', "E-CONFIG-READ"),
        (b"[tool]\ndpaudit = 3", "E-CONFIG-TYPE"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(folder: Path, content: bytes, code: str) -> None:
    """It may hold the table, so it is not passed over."""
    (folder / "pyproject.toml").write_bytes(content)
    result = invoke("run", "claims")
    assert result.exit_code == 2
    assert f"error [{code}]: " in result.stderr
    assert str(folder / "pyproject.toml") in result.stderr
    assert not list(folder.rglob("*.ran"))


def test_an_option_cannot_contradict_the_configuration(folder: Path) -> None:
    """``--accept`` does not silently remove what the project requires."""
    configure(folder, '[tool.dpaudit]\nrequire = "proved"\n')
    result = invoke("run", "claims", "--accept", "consistent")
    assert result.exit_code == 2
    assert "error [E-REQUIRE-ACCEPT]" in result.stderr


def test_the_example_of_the_page_is_right(folder: Path) -> None:
    """Its table is accepted, and has every key."""
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    configure(folder, example)
    found = find_configuration(folder)
    assert found is not None
    assert found.table == tomllib.loads(example)["tool"]["dpaudit"]
    assert {*found.table, "accept"} == {
        *("suites", "alpha", "profile", "seed", "jobs", "timeout", "require", "accept")
    }
