"""A run that was killed goes on where it was, re-uses only what has not changed, and Ctrl-C leaves a valid
report.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dpaudit.cli.run import _stoppable, _Stopped, run_command
from dpaudit.report.file.document import Journal, journal_path, read_journal, read_report
from tests.cli.suites import RAISES, VERIFIED, by_id, invoke, run, start, write_suite

COUNTED = """
import helper

def add(name):
    def evaluate(run):
        count(name)
        return Outcome([exactly(0, helper.BOUND)])
    suite.add(Row(id=name, title=name, kind="utility", claim=CLAIM, evaluate=evaluate))

add("first")
add("second")

@suite.row("slow", title="slow once", kind="utility", claim=CLAIM)
def slow(run):
    count("slow")
    if not (Path(__file__).parent / "quick").exists():
        time.sleep(60)
    return Outcome([exactly(0, 0.5)])

add("last")
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("BOUND = 0.5\n")
    return write_suite(tmp_path / "suite.py", COUNTED)


def ran(folder: Path) -> dict[str, int]:
    """How often each row ran."""
    return {path.stem: len(path.read_text()) for path in folder.glob("*.ran")}


def start_run(suite: Path, *options: str) -> subprocess.Popen[str]:
    return start("run", suite, "--jobs", 1, "--json", "r.json", "--no-html", *options, cwd=suite.parent)


def resume(suite: Path) -> str:
    """Go on with a run that was stopped, to its end; what it printed."""
    process = start_run(suite, "--resume")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output


def start_until_slow(suite: Path) -> subprocess.Popen[str]:
    """Start a run on one worker and return once two rows are on disk and the slow one is under way."""
    process = start_run(suite)
    deadline = time.monotonic() + 60
    while not (suite.parent / "slow.ran").exists() or len(read_journal(suite.parent / "r.jsonl")) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


def children(folder: Path) -> list[int]:
    """Processes that still run a worker for this folder (Linux only; elsewhere none is seen)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*") if Path("/proc").is_dir() else ():
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(folder) in arguments and any(b"dpaudit.run.worker" in item for item in arguments):
            found.append(int(entry.name))
    return found


def gone(folder: Path) -> bool:
    deadline = time.monotonic() + 10
    while children(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not children(folder)


def test_a_killed_run_resumes_without_computing_anything_twice(suite: Path) -> None:
    """After SIGKILL in the third row, ``--resume`` runs that one and the fourth, to a complete report."""
    process = start_until_slow(suite)
    assert children(suite.parent) or not Path("/proc").is_dir()
    process.kill()
    process.communicate()
    assert ran(suite.parent) == {"first": 1, "second": 1, "slow": 1}
    assert gone(suite.parent), "a worker outlived its parent"
    (suite.parent / "quick").touch()
    output = resume(suite)
    report = read_report(suite.parent / "r.json")
    assert ran(suite.parent) == {"first": 1, "second": 1, "slow": 2, "last": 1}
    assert [row["id"] for row in report["results"]] == ["first", "second", "slow", "last"]
    assert report["complete"]
    assert "2 rows were finished before" in output


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupted_run_leaves_a_valid_partial_report(suite: Path, name: str, code: int) -> None:
    """Ctrl-C, SIGTERM and SIGHUP end the workers and write what was finished, marked as partial."""
    process = start_until_slow(suite)
    process.send_signal(getattr(signal, name))
    output, errors = process.communicate(timeout=20)
    assert process.returncode == code, errors
    report = read_report(suite.parent / "r.json")
    assert not report["complete"]
    assert report["stamps"]["finished"] is None
    assert [row["id"] for row in report["results"]] == ["first", "second"]
    assert "partial" in output
    assert "Traceback" not in errors
    assert gone(suite.parent)
    (suite.parent / "quick").touch()
    resume(suite)
    assert ran(suite.parent) == {"first": 1, "second": 1, "slow": 2, "last": 1}
    assert read_report(suite.parent / "r.json")["complete"]


def test_a_stop_while_suites_are_imported_is_said_in_a_sentence(tmp_path: Path) -> None:
    """There is no report then: exit code 130 and one line, no traceback."""
    suite = write_suite(tmp_path / "suite.py", "(Path(__file__).parent / 'began').touch()\ntime.sleep(60)\n")
    process = start_run(suite)
    while not (tmp_path / "began").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.splitlines()[1:] == [
        "error [E-RUN-STOPPED]: the run was stopped while the suites were imported, before the first row. "
        "No report."
    ]
    assert not output
    assert not (tmp_path / "r.json").exists()


def test_resuming_without_a_journal_says_so(suite: Path) -> None:
    """One line, and all rows run; with a journal there is none."""
    (suite.parent / "quick").touch()
    assert "no journal" in resume(suite)
    assert "no journal" not in resume(suite)


@pytest.mark.parametrize("two", [("--quick", "--full"), ("--paper", "--quick")])
def test_two_profiles_are_a_usage_error(suite: Path, two: tuple[str, str]) -> None:
    """Neither of them is the one that was meant; the same one twice is."""
    result = invoke("run", suite, *two)
    assert result.exit_code == 2
    assert f"{two[0]} and {two[1]} cannot be used together" in result.stderr
    for flags, profile in ((["--full", "--full"], "full"), (["--full"], "full"), ([], "quick")):
        assert run_command.make_context("run", [*flags, "x.py"]).params["profile"] == profile


@pytest.mark.skipif(os.name != "posix", reason="a process sends itself signals as POSIX has them")
def test_nothing_cuts_off_the_report_of_a_stopped_run() -> None:
    """The first signal stops the run; those that follow, of any kind, wait until everything is written. One
    that was ignored before (nohup) stays ignored.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _stoppable():
            signal.raise_signal(signal.SIGHUP)
            with pytest.raises(_Stopped) as stopped:
                signal.raise_signal(signal.SIGTERM)
            for number in numbers:
                signal.raise_signal(number)
        assert stopped.value.code == 143
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        with _stoppable() as go_on:
            go_on()
            signal.raise_signal(signal.SIGINT)
    finally:
        for number in numbers:
            signal.signal(number, before[number])


@pytest.mark.parametrize("change", ["nothing", "suite", "helper", "seed", "alpha", "profile", "no --resume"])
def test_only_what_has_not_changed_is_re_used(suite: Path, change: str) -> None:
    """A changed suite, a changed module that it imports, another seed, level or profile: everything runs
    again.
    """
    (suite.parent / "quick").touch()
    run(suite)
    options: list[object] = ["--resume"]
    if change == "suite":
        suite.write_text(suite.read_text() + "# changed\n")
    elif change == "helper":
        (suite.parent / "helper.py").write_text("BOUND = 0.25\n")
    elif change != "nothing":
        options = {
            "seed": ["--resume", "--seed", 1],
            "alpha": ["--resume", "--alpha", 0.01],
            "profile": ["--resume", "--full"],
        }.get(change, [])
    _, report = run(suite, *options)
    times = 1 if change == "nothing" else 2
    assert ran(suite.parent) == dict.fromkeys(["first", "second", "slow", "last"], times)
    assert by_id(report)["first"]["upper"] == (0.25 if change == "helper" else 0.5)
    assert report["complete"]


COMPUTED = """
import importlib

LIMIT = importlib.import_module("hel" + "per").LIMIT
AT_MOST = ErrorRate(text="the error is at most the bound", claimed=os.environ["BOUND"])

@suite.row("read", title="reads a helper", kind="utility", claim=AT_MOST)
def read(run):
    count("read")
    return Outcome([exactly(0, LIMIT)])
"""


def test_a_helper_by_a_computed_name_and_a_claim_from_outside_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the import of a suite imported, by whatever name, and what the suite says by now: a change of
    either runs the row again, and nothing else does."""
    suite = write_suite(tmp_path / "suite.py", COMPUTED)
    verdicts = []
    for bound, limit in (("1", 0.5), ("1", 0.5), ("1", 2.0), ("3", 2.0)):
        monkeypatch.setenv("BOUND", bound)
        (tmp_path / "helper.py").write_text(f"LIMIT = {limit}", encoding="utf-8")
        _, report = run(suite, "--resume")
        verdicts.append((by_id(report)["read"]["upper"], len((tmp_path / "read.ran").read_text())))
    assert verdicts == [(0.5, 1), (0.5, 1), (2.0, 2), (2.0, 3)]


def test_a_cut_or_spoilt_journal_costs_only_the_rows_that_it_lost(suite: Path) -> None:
    """The line that a kill cut in half, and lines that somebody changed or broke, are run again; the others
    are kept."""
    (suite.parent / "quick").touch()
    run(suite)
    journal = journal_path(suite.parent / "dpaudit-report.json")
    lines = journal.read_text().splitlines()
    assert len(lines) == 4
    spoilt = json.loads(lines[1])
    spoilt["result"]["verdict"] = "refuted"
    with Journal(journal, keep=True) as ours:  # summed up as it should be, and no result
        ours.append(spoilt["key"], spoilt["result"] | {"verdict": "true"})
    unfit = journal.read_text().splitlines()[-1]
    cut = lines[3][: len(lines[3]) // 2]
    journal.write_text("\n".join([lines[0], json.dumps(spoilt), unfit, "not json", lines[2], cut]))
    for _ in range(
        2
    ):  # the second time nothing is missing any more: the cut line did not swallow what came after it
        _, report = run(suite, "--resume")
        assert ran(suite.parent) == {"first": 1, "second": 2, "slow": 1, "last": 2}
        assert len(report["results"]) == 4


def test_a_crashed_row_runs_again_on_resume(tmp_path: Path) -> None:
    """A crash may have been the machine's fault: ``--resume`` gives the row another chance, and keeps the
    rest.
    """
    suite = write_suite(
        tmp_path / "suite.py",
        VERIFIED,
        RAISES.replace("raise ValueError", "count('raises')\n    raise ValueError"),
    )
    run(suite)
    result, report = run(suite, "--resume")
    assert result.exit_code == 3
    assert ran(tmp_path) == {"fine": 1, "raises": 2}
    assert by_id(report)["fine"]["verdict"] == "verified"


def test_resume_applies_the_new_command_lines_require(tmp_path: Path) -> None:
    """What was accepted without ``--require`` is held against it on resume, without running again."""
    row = """
@suite.row("accounted", title="by accounting", kind="privacy", claim=PureDP(epsilon=1), expect="consistent")
def accounted(run):
    count("accounted")
    return Outcome([certificate(1, "declared")])
"""
    suite = write_suite(tmp_path / "suite.py", row)
    assert run(suite)[0].exit_code == 0
    assert run(suite, "--resume", "--require", "proved")[0].exit_code == 1
    assert ran(tmp_path) == {"accounted": 1}


def test_resume_without_a_journal_runs_everything(tmp_path: Path) -> None:
    """``--resume`` on a first run is no error."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    assert invoke("run", suite, "--json", tmp_path / "r.json", "--no-html", "--resume").exit_code == 0
    assert ran(tmp_path) == {"fine": 1}


READS = """
@suite.row("reads", title="reads data", kind="utility", claim=CLAIM)
def reads(run):
    count("reads")
    here = Path(__file__).parent
    {}
    return Outcome([exactly(0, float(bound))])

@suite.row("other", title="reads nothing", kind="utility", claim=CLAIM)
def other(run):
    count("other")
    return Outcome([exactly(0, 0.5)])
"""

#: How a row gets at its data.
WAYS = {
    "open": "bound = open(here / 'data.csv').read()",
    "descriptor": "bound = os.read(os.open(here / 'data.csv', os.O_RDONLY), 9)",
    "numpy": "bound = np.loadtxt(here / 'data.csv')",
    "bytes of numpy": "np.fromfile(here / 'data.csv', dtype=np.uint8); bound = 0.5",
    "relative": "os.chdir(here); bound = open('data.csv').read()",
    "thread": "import threading; found = []; one = threading.Thread(target=lambda: "
    "found.append((here / 'data.csv').read_text())); one.start(); one.join(); bound = found[0]",
    "link": "bound = (here / 'link').read_text()",
    "a folder": "bound = [open(path).read() for path in sorted(here.glob('d*.csv'))][-1]",
    "mapped": "import mmap; file = open(here / 'data.csv', 'rb'); "
    "bound = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:]",
    "a module": "import importlib; importlib.import_module('da' + 'ta'); bound = 0.5",
    "sqlite": "import sqlite3; sqlite3.connect(here / 'data.csv'); bound = 0.5",
    "update": "file = open(here / 'data.csv', 'r+'); bound = file.read()",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_changed_data_run_their_row_again(tmp_path: Path, way: str) -> None:
    """The row that read the data runs again once they have changed, and only then; the other one is kept."""
    suite = write_suite(tmp_path / "audits" / "suite.py", READS.format(way))
    folder, report = suite.parent, tmp_path / "r.json"
    (folder / "link").symlink_to(folder / "data.csv")
    counts = []
    for bound in ("0.5", "0.5", "0.25", "0.25"):
        (folder / "data.csv").write_text(bound, encoding="utf-8")
        (tmp_path / "data.py").write_text(f"BOUND = {bound}", encoding="utf-8")
        run(suite, "--resume", report=report)
        counts.append(ran(folder))
    assert [count["reads"] for count in counts] == [1, 1, 2, 2] or way.startswith("bound = [open"), counts
    assert counts[-1]["reads"] >= 2
    assert {count["other"] for count in counts} == {1}


@pytest.mark.parametrize("change", ["a new file", "a file that is gone", "nothing"])
def test_files_that_come_and_go_count(tmp_path: Path, change: str) -> None:
    """A file that was missing, and one that is; what a row wrote before it read it does not count."""
    way = (
        "bound = float((here / 'new').exists() and open(here / 'new').read() or 0.5) if not "
        "(here / 'old').exists() else open(here / 'old').read()\n    try:\n        open(here / 'new')\n"
        "    except OSError:\n        pass\n    (here / 'scratch').write_text(str(time.time()))\n"
        "    (here / 'scratch').read_text()"
    )
    suite = write_suite(tmp_path / "suite.py", READS.format(way))
    (tmp_path / "old").write_text("0.25")
    run(suite)
    if change == "a new file":
        (tmp_path / "new").write_text("0.75")
    if change == "a file that is gone":
        (tmp_path / "old").unlink()
    (tmp_path / "scratch").write_text("another run of something else")
    run(suite, "--resume")
    assert ran(tmp_path) == {"reads": 1 if change == "nothing" else 2, "other": 1}


def test_data_that_the_import_reads_count_for_every_row(tmp_path: Path) -> None:
    """A suite that reads a table at its top: a change runs all its rows again."""
    text = "BOUND = (Path(__file__).parent / 'table.csv').read_text()\n" + READS.format("bound = BOUND")
    suite = write_suite(tmp_path / "suite.py", text)
    for bound, times in (("0.5", 1), ("0.5", 1), ("0.25", 2)):
        (tmp_path / "table.csv").write_text(bound)
        _, report = run(suite, "--resume")
        assert ran(tmp_path) == {"reads": times, "other": times}
    assert by_id(report)["reads"]["upper"] == 0.25


@pytest.mark.parametrize(
    "forged",
    [
        {"verdict": "verified", "as_expected": True, "accepted": True, "reasons": []},
        {"upper": 0.125, "upper_exact": "1/8"},
        {"strength": "proved"},
        {"id": "other"},
        {"expect": "refuted", "as_expected": True, "accepted": True},
        {"alpha": 0.04},
        {"title": "says more than it does"},
    ],
    ids=["verdict", "bound", "strength", "id", "expect", "alpha", "title"],
)
def test_a_journalled_result_that_verify_would_refuse_runs_again(
    tmp_path: Path, forged: dict[str, object]
) -> None:
    """Lines that are summed up as they should be: the judge's word counts, not theirs."""
    row = """
@suite.row("big", title="does not hold", kind="utility", claim=CLAIM)
def big(run):
    count("big")
    return Outcome([exactly(1.25, 1.5)])
"""
    suite = write_suite(tmp_path / "suite.py", row)
    _, honest = run(suite)
    journal = journal_path(tmp_path / "dpaudit-report.json")
    ((key, result),) = read_journal(journal).items()
    with Journal(journal, keep=False) as ours:
        ours.append(key, result | forged)
    code, report = run(suite, "--resume")
    assert (code.exit_code, ran(tmp_path)) == (1, {"big": 2})
    same = ("verdict", "upper", "strength", "id", "expect", "alpha", "title", "accepted")
    assert [by_id(report)["big"][name] for name in same] == [by_id(honest)["big"][name] for name in same]
