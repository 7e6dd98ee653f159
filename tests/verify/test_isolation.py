"""Verifying starts nothing that lies beside the report, keeps its limits, and ends when it is left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dpaudit
from dpaudit.verify.bounded import BoundedChecker
from dpaudit.verify.report import verify_results
from tests.cli.suites import VERIFIED, run, write_suite
from tests.verify.test_report import report, with_noise

#: Modules of Python that a check imports, or that run by themselves, and packages of others.
MODULES = (
    *("fractions", "queue", "json", "subprocess", "decimal", "tempfile", "resource", "ctypes", "signal"),
    *("sitecustomize", "usercustomize", "numpy", "flint", "click", "rich", "jsonschema", "startup"),
)

HOSTILE = """
import os
with open({mark!r}, "a") as file:
    file.write(__name__ + " ")
print("9 confirmed, 0 not")
os._exit(0)
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder with a report whose verdict was edited, and with a hostile file for each of ``MODULES``."""
    suite = write_suite(tmp_path / "made" / "suite.py", VERIFIED)
    folder = tmp_path / "trap"
    folder.mkdir()
    _, document = run(suite, report=folder / "report.json")
    document["results"][0]["verdict"] = "refuted"
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    for name in MODULES:
        (folder / f"{name}.py").write_text(HOSTILE.format(mark=str(tmp_path / "mark")), encoding="utf-8")
    return folder


SCRIPT = [str(Path(sys.executable).parent / "dpaudit")]


def start(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [*command, "verify", "report.json"],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("how", ["script", "isolated"])
def test_files_beside_the_report_are_not_executed(trap: Path, how: str) -> None:
    """Files named like modules that the check imports: the honest answer comes out, from the
    console script and, whatever Python's variables name, from ``python -I -m dpaudit``."""
    if how == "script":
        done = start(trap, *SCRIPT)
    else:
        variables = {"PYTHONPATH": str(trap), "PYTHONSTARTUP": str(trap / "startup.py")}
        done = start(trap, sys.executable, "-I", "-m", "dpaudit", **variables)
    assert done.returncode == 1, done.stderr
    assert "the verdict must be 'verified'" in done.stdout
    assert "9 confirmed" not in done.stdout
    assert not (trap.parent / "mark").exists()


def test_a_start_that_looks_for_modules_beside_the_report_is_refused(trap: Path) -> None:
    """``python -m dpaudit`` has the current folder on its path: it ends before it imports anything from
    there. A path that names the folder is refused too, with the next move."""
    done = start(trap, sys.executable, "-m", "dpaudit")
    assert (done.returncode, done.stdout) == (1, "")
    assert "python -I -m dpaudit" in done.stderr
    for path in trap.glob("*.py"):
        path.unlink()  # what is left is the path itself
    done = start(trap, *SCRIPT, PYTHONPATH=os.pathsep)
    assert (done.returncode, done.stdout) == (2, "")
    assert "must not import from the report's or the current folder" in done.stderr
    assert not (trap.parent / "mark").exists()


def test_the_child_takes_nothing_from_folder_or_variables(
    trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child of a checker that is started inside the hostile folder, with Python's variables on it."""
    monkeypatch.chdir(trap)
    monkeypatch.setenv("PYTHONPATH", str(trap))
    monkeypatch.setenv("PYTHONSTARTUP", str(trap / "startup.py"))
    with BoundedChecker(seconds=60, megabytes=6144) as checker:
        assert all(finding.ok for finding in checker.check(report()["results"][0]))
    assert not (trap.parent / "mark").exists()


def slow() -> list[dict[str, object]]:
    """Two results, of which the first takes long."""
    sizes = {"dimension": "1", "l2_squared": "1", "largest": "180", "cut": "2000", "times": "1"}
    parameters = {"family": "skellam", "variance": "10000", **sizes, "orders": ["2", "3", "4"]}
    return with_noise("vector-noise", parameters)


def test_what_the_total_time_does_not_reach_is_not_confirmed() -> None:
    """The first result uses up the time for all: it fails, and so does the next, which is not checked."""
    findings = verify_results(slow(), seconds=1.5)
    assert [(f.id, f.ok, f.what) for f in findings] == [("good", False, "limits"), ("bad", False, "limits")]
    assert "within 1.5 seconds (--seconds)" in findings[0].reason
    assert "No time was left" in findings[1].reason


@pytest.mark.skipif(sys.platform != "linux", reason="limits on processor time and on memory")
def test_the_child_has_its_limits() -> None:
    """Memory, processor time, files and core dumps of a running child, as the system reports them."""
    with BoundedChecker(seconds=60, megabytes=6144, total=100) as checker:
        checker.check({})
        assert checker._child is not None
        lines = Path(f"/proc/{checker._child.pid}/limits").read_text().splitlines()
    limits = {line[:26].strip(): line[26:47].strip() for line in lines}
    assert limits["Max address space"] == str(6144 << 20)
    assert limits["Max cpu time"] == "220"
    assert limits["Max file size"] == str(1 << 20)
    assert limits["Max core file size"] == "0"


LEFT_ALONE = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from dpaudit.verify.bounded import BoundedChecker
import json
checker = BoundedChecker(seconds=600, megabytes=6144)
tell = lambda: (time.sleep(float(sys.argv[2])), print(checker._child.pid, flush=True))
threading.Thread(target=tell).start()
checker.check(json.loads(sys.argv[3]))
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for the process in /proc")
@pytest.mark.parametrize("busy", [True, False])
def test_the_child_ends_with_its_parent(busy: bool) -> None:
    """The parent is killed, while the child computes and while it waits: the child is gone in seconds."""
    root = str(Path(dpaudit.__file__).parent.parent)
    result = json.dumps(slow()[0] if busy else {})
    command = [sys.executable, "-P", "-c", LEFT_ALONE, root, "4", result]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _alive(child)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_budget_is_a_positive_number_of_seconds(tmp_path: Path) -> None:
    """No budget, and none that is no number, switches the limit off."""
    for text in ("0", "-1", "nan", "inf"):
        done = subprocess.run(
            [*SCRIPT, "verify", "--seconds", text, str(tmp_path / "none.json")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert "--seconds" in done.stderr
