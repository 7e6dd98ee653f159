"""Rows cannot touch each other: what one does to its process, to its children or to shared objects stays with
it.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dpaudit.run import process
from dpaudit.run.targets import find_suites
from tests.cli.suites import REFUTED, VERIFIED, by_id, run, write_suite

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these rows fork")

#: Seconds that a row may take in these suites.
LIMIT = 3

#: A suite whose import leaves a thread behind cannot be forked: each row gets a process of its own.
THREAD = """
import threading
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
"""

FORKS = """
@suite.row("forks", title="both processes return", kind="utility", claim=CLAIM)
def forks(run):
    os.fork()
    return Outcome([exactly(0.25, 0.5)])

@suite.row("forks-late", title="the child returns during the next row", kind="utility", claim=CLAIM)
def forks_late(run):
    if os.fork() == 0:
        os.setsid()  # out of reach of a kill by group
        time.sleep(0.5)
    return Outcome([exactly(0.25, 0.5)])

@suite.row("waits", title="does not hold, and takes a while", kind="utility", claim=CLAIM, expect="refuted")
def waits(run):
    time.sleep(1)
    return Outcome([exactly(1.25, 1.5)])
"""

STATE = """
SEEN = []  # a row sees its own fingerprint and itself

def add(name):
    def evaluate(run):
        SEEN.append(name)
        return Outcome([exactly(0, 0.5 if len(SEEN) == 2 else 2)], notes=[str(len(SEEN))])
    suite.add(Row(id=name, title=name, kind="utility", claim=CLAIM, evaluate=evaluate,
                  fingerprint=lambda seed: SEEN.append(name) or str(len(SEEN))))

for name in ("first", "second", "third", "fourth"):
    add(name)
"""

SPOILS = """
import json

@suite.row("spoils", title="spoils what it shares", kind="utility", claim=CLAIM)
def spoils(run):
    json.dumps = json.loads = os.write = os.getpid = Outcome.__init__ = None
    return Outcome([exactly(0.25, 0.5)])

@suite.row("spoils-one", title="spoils what reads the next command", kind="utility", claim=CLAIM)
def spoils_one(run):
    json.loads = None
    return Outcome([exactly(0.25, 0.5)])

@suite.row("closes", title="closes every descriptor", kind="utility", claim=CLAIM)
def closes(run):
    os.closerange(0, 4096)
    return Outcome([exactly(0.25, 0.5)])

@suite.row("talks", title="writes what looks like answers", kind="utility", claim=CLAIM)
def talks(run):
    for number in (1, 2):
        os.write(number, b'{"id": "", "answer": {}}\\n{"value": null}\\n' * 100)
    return Outcome([exactly(0.25, 0.5)])
"""

HANGS = """
def leave_behind(name, *, escape):
    pid = os.fork()
    if pid == 0:
        if escape:
            os.setsid()
        time.sleep(60)
        os._exit(0)
    Path(__file__).with_name(f"{name}.pid").write_text(str(pid))

@suite.row("leaves-child", title="answers", kind="utility", claim=CLAIM)
def leaves_child(run):
    leave_behind("leaves-child", escape=False)
    return Outcome([exactly(0.25, 0.5)])

@suite.row("hangs", title="hangs with a child", kind="utility", claim=CLAIM)
def hangs(run):
    leave_behind("hangs", escape=False)
    time.sleep(60)

@suite.row("dies", title="dies, its child holds what it held", kind="utility", claim=CLAIM)
def dies(run):
    leave_behind("dies", escape=False)
    os._exit(3)

@suite.row("hangs-escaped", title="hangs, its child out of reach", kind="utility", claim=CLAIM)
def hangs_escaped(run):
    leave_behind("escaped", escape=True)
    time.sleep(60)
"""

KINDS = pytest.mark.parametrize("before", ["", THREAD], ids=["forked", "a process each"])


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {name: row["verdict"] for name, row in by_id(report).items()}


@KINDS
def test_a_forked_child_does_not_answer_for_the_next_row(tmp_path: Path, before: str) -> None:
    """A row whose child returns too, at once or later, costs no other row its own verdict."""
    suite = write_suite(tmp_path / "suite.py", before, FORKS, REFUTED)
    _, report = run(suite, "--timeout", 20)
    expected = {"forks": "verified", "forks-late": "verified", "waits": "refuted", "false": "refuted"}
    assert verdicts(report) == expected


@KINDS
def test_module_state_does_not_pass_from_row_to_row(tmp_path: Path, before: str) -> None:
    """Every row and every fingerprint finds the suite as it was imported, whatever the number of workers."""
    suite = write_suite(tmp_path / "suite.py", before, STATE)
    for jobs in (1, 2):
        _, report = run(suite, "--jobs", jobs)
        assert verdicts(report) == dict.fromkeys(("first", "second", "third", "fourth"), "verified")


@KINDS
def test_a_row_that_spoils_its_process_costs_itself_alone(tmp_path: Path, before: str) -> None:
    """Spoilt libraries and closed descriptors crash their row at once; what a row writes is never an
    answer.
    """
    suite = write_suite(tmp_path / "suite.py", before, SPOILS, VERIFIED)
    started = time.monotonic()
    _, report = run(suite, "--timeout", 60)
    assert time.monotonic() - started < 30
    crashed = dict.fromkeys(("spoils", "spoils-one", "closes"), "crashed")
    assert verdicts(report) == crashed | {"talks": "verified", "fine": "verified"}
    assert "exit code 1" in by_id(report)["closes"]["reasons"][0]


@pytest.mark.sample(1)
@KINDS
def test_nobody_waits_for_what_a_row_left_behind(tmp_path: Path, before: str) -> None:
    """Children of a row end with it, and one that cannot be reached delays nothing."""
    suite = write_suite(tmp_path / "suite.py", before, HANGS, VERIFIED)
    started = time.monotonic()
    try:
        _, report = run(suite, "--timeout", LIMIT)
        assert time.monotonic() - started < 30
        assert verdicts(report) == {
            "leaves-child": "verified",
            "fine": "verified",
            **dict.fromkeys(("hangs", "dies", "hangs-escaped"), "crashed"),
        }
        assert "exit code 3" in by_id(report)["dies"]["reasons"][0]
        for name in ("leaves-child", "hangs", "dies"):
            assert ended(int((tmp_path / f"{name}.pid").read_text())), name
    finally:
        os.kill(int((tmp_path / "escaped.pid").read_text()), signal.SIGKILL)


def test_a_row_sees_the_collectors_objects(tmp_path: Path) -> None:
    """Audits empty the caches of a program's files and find them among the objects of the collector."""
    row = """
import functools, gc
@functools.lru_cache
def cached():
    pass

@suite.row("collector", title="looks for a cache", kind="utility", claim=CLAIM)
def collector(run):
    return Outcome([exactly(0, 0.5 if any(item is cached for item in gc.get_objects()) else 2)])
"""
    _, report = run(write_suite(tmp_path / "suite.py", row))
    assert verdicts(report) == {"collector": "verified"}


def test_what_audits_need_is_imported_once_and_leaves_the_process_to_be_forked(tmp_path: Path) -> None:
    """The process of a suite imports the replays before its first row with a program, and not for others; it
    has one thread then, too."""
    rows = """
def add(name, **options):
    def evaluate(run):
        loaded = "dpaudit.replay.privacy" in sys.modules
        tasks = Path(f"/proc/{os.getppid()}/task")
        threads = len(list(tasks.iterdir())) if tasks.is_dir() else 1
        return Outcome([exactly(0.25, 0.5)], notes=[f"{loaded}, {threads}"])
    suite.add(Row(id=name, title=name, kind="utility", claim=CLAIM, evaluate=evaluate, **options))

add("without")
add("with", fingerprint=str)
add("after")
"""
    _, report = run(write_suite(tmp_path / "suite.py", rows), "--jobs", 1)
    found = {name: row["notes"] for name, row in by_id(report).items()}
    assert found == {"without": ["False, 1"], "with": ["True, 1"], "after": ["True, 1"]}


def ended(pid: int) -> bool:
    """Whether a process is gone, or waits only for its parent to take notice."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_suite_that_forks_at_import_has_one_process_that_answers(tmp_path: Path) -> None:
    """The other half of a fork at import time does not take commands."""
    _, report = run(write_suite(tmp_path / "suite.py", "\nos.fork()\n", VERIFIED, REFUTED), "--timeout", 20)
    assert verdicts(report) == {"fine": "verified", "false": "refuted"}


def test_a_system_that_refuses_processes_costs_rows_their_verdict_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no process starts once the suites are loaded, every row crashes with the reason, and the report
    is written.
    """

    class Refused(process.Child):
        def __init__(self, command: Any, *, environment: Any, **options: Any) -> None:
            if environment["PYTHONHASHSEED"] != "0":
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            super().__init__(command, environment=environment, **options)

    monkeypatch.setattr(process, "Child", Refused)
    result, report = run(write_suite(tmp_path / "suite.py", STATE, VERIFIED))
    assert result.exit_code == 3
    assert verdicts(report) == {"fine": "verified"} | dict.fromkeys(
        ("first", "second", "third", "fourth"), "crashed"
    )
    assert "the system refused a process (Cannot allocate memory)" in by_id(report)["first"]["reasons"][0]


def test_a_process_that_starts_while_the_run_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was still starting when the run was stopped serves nobody, and leaves nothing behind."""
    begun, stopped, pids, errors = threading.Event(), threading.Event(), list[int](), list[str]()

    class Slow(process.Child):
        def __init__(self, command: Any, **options: Any) -> None:
            begun.set()
            stopped.wait(60)
            super().__init__(command, **options)
            pids.append(self.pid)

    def load() -> None:
        try:
            pool.load(file)
        except process.ChildDiedError as error:
            errors.append(str(error))

    monkeypatch.setattr(process, "Child", Slow)
    (file,) = find_suites([str(write_suite(tmp_path / "suite.py", VERIFIED))])
    pool = process.Pool(1)
    thread = threading.Thread(target=load)
    thread.start()
    assert begun.wait(60)
    pool.close()
    stopped.set()
    thread.join(60)
    assert errors == ["cannot start because the run was stopped"]
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_row_that_cannot_be_forked_crashes(tmp_path: Path) -> None:
    """Where the process of the suite may start no other, each row says so, and the run ends."""
    refuse = """
import errno

def refuse():
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

os.fork = refuse
"""
    result, report = run(write_suite(tmp_path / "suite.py", refuse, VERIFIED, REFUTED))
    assert result.exit_code == 3
    assert verdicts(report) == {"fine": "crashed", "false": "crashed"}
    assert "the system refused a process (Resource" in by_id(report)["fine"]["reasons"][0]
