"""``dpaudit doctor`` says what is installed, what the machine offers, and what a run would use."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest

import dpaudit
from dpaudit.cli import doctor
from dpaudit.run.process import available_cpus
from tests.cli.suites import VERIFIED, invoke, start, write_suite


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*, code: int = 0) -> dict[str, str]:
    """Return the lines of the command by what they are about."""
    result = invoke("doctor")
    assert result.exit_code == code, result.output
    return dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)


def test_what_is_installed_is_named_with_its_version() -> None:
    """dpaudit, Python, and each package that dpaudit requires without an extra."""
    lines = told()
    assert lines["dpaudit"].startswith(f"{dpaudit.__version__} in ")
    assert lines["Python"] == f"{platform.python_version()} (>=3.11 is needed)"
    assert lines["numpy"] == version("numpy")
    needed = [text for text in requires("dpaudit") or () if "extra" not in text]
    assert len(needed) > 10
    assert {name for name in lines if any(text.startswith(name) for text in needed)} >= {"scipy", "click"}
    assert invoke("doctor").stdout.endswith("Nothing that dpaudit needs is broken.\n")


@pytest.mark.parametrize(("installed", "said"), [(None, "not installed"), ("1.26.4", "1.26.4")])
def test_a_package_that_is_missing_or_too_old_is_broken(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, said: str
) -> None:
    """The exit code is 1, and the line says how to install it."""

    def other(name: str) -> str:
        if name != "numpy":
            return version(name)
        if installed is None:
            raise PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(doctor, "version", other)
    assert told(code=1)["numpy"] == f"BROKEN: {said}. Use: pip install 'numpy>=2.0'"
    assert invoke("doctor").stdout.splitlines()[-1] == "1 broken"


def test_a_package_that_cannot_be_imported_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version may look right all the same."""

    def refuse(name: str) -> None:
        if name == "flint":
            raise OSError("undefined symbol")

    monkeypatch.setattr(doctor, "import_module", refuse)
    assert told(code=1)["flint"] == "BROKEN: it cannot be imported. Install it again"


def test_a_missing_extra_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line names what is missing and the line for pip."""

    def other(name: str) -> str:
        if name == "distributed":
            raise PackageNotFoundError(name)
        return "99.0"

    monkeypatch.setattr(doctor, "version", other)
    lines = told()
    assert lines["extra dask"] == "missing distributed. Use: pip install 'dpaudit[dask]'"
    assert lines["extra interop"] == "installed"


def test_a_python_that_is_too_old_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the package declares."""
    monkeypatch.setattr(platform, "python_version", lambda: "3.10.2")
    assert told(code=1)["Python"] == "BROKEN: 3.10.2 (>=3.11 is needed)"


def test_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processors, the smallest memory limit, and whether a fork answers."""
    lines = told()
    assert lines["processors"] == str(available_cpus())
    assert lines["fork"] == ("works" if hasattr(os, "fork") else doctor._fork_works())
    (tmp_path / "memory.max").write_text(f"{2**28}\n")
    (tmp_path / "unlimited").write_text("max\n")
    files = (str(tmp_path / "unlimited"), str(tmp_path / "no-such"), str(tmp_path / "memory.max"))
    monkeypatch.setattr(doctor, "CGROUP_FILES", files)
    assert told()["memory limit"] == "0.2 GiB"
    monkeypatch.setattr(doctor, "_memory_limit", lambda: None)
    monkeypatch.setattr(doctor, "can_fork_itself", lambda: False)
    lines = told()
    assert lines["memory limit"] == "unknown"
    assert lines["fork"] == "does not work: workers start anew, which is slower"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_that_does_not_answer_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command waits for it no longer than its limit."""
    monkeypatch.setattr(doctor, "FORK_SECONDS", 0.1)
    monkeypatch.setattr(os, "getpid", lambda: time.sleep(0.5))
    assert not doctor._fork_works()


def test_an_empty_folder_has_no_suites(folder: Path) -> None:
    """The command says what a run would take instead."""
    lines = told()
    assert lines["configuration"] == "none"
    assert lines["suites"].startswith("none here, so dpaudit run takes the ")
    write_suite(folder / "audits" / "mine.py", VERIFIED)
    assert told()["suites"] == "1 in audits"


def test_the_configuration_is_shown(folder: Path) -> None:
    """With its file, and the suites are those that it names."""
    write_suite(folder / "claims" / "mine.py", VERIFIED)
    (folder / "pyproject.toml").write_text('[tool.dpaudit]\nsuites = ["claims"]\nalpha = 0.01\n')
    lines = told()
    assert lines["configuration"] == f"{folder / 'pyproject.toml'}: suites = ['claims'], alpha = 0.01"
    assert lines["suites"] == f"1 in {folder / 'claims'}"


@pytest.mark.parametrize(
    ("table", "about", "code"),
    [("alpha = 2.0", "configuration", "E-ALPHA-RANGE"), ("suites = ['none']", "suites", "E-")],
)
def test_a_configuration_that_a_run_refuses_is_broken(
    folder: Path, table: str, about: str, code: str
) -> None:
    """The line has the error of ``dpaudit run``."""
    (folder / "pyproject.toml").write_text(f"[tool.dpaudit]\n{table}\n")
    assert told(code=1)[about].startswith(f"BROKEN: [{code}")
    assert invoke("run").exit_code == 2


def test_the_answer_takes_less_than_two_seconds_of_computing(folder: Path) -> None:
    """As a process of its own. The time of its processors is measured, because other processes run here."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start("doctor", cwd=folder)
    assert process.communicate()[0].endswith("is broken.\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
