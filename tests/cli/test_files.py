"""What a run writes: as a whole or not at all, by one run at a time, and not lost because a disk is full or a
reader has gone.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dpaudit
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.file.document import Journal, read_report, write_text
from tests.cli.suites import REFUTED, UNEXPECTED, VERIFIED, invoke, start, write_suite

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions, links and pipes as POSIX has them")

SLOW = """
@suite.row("slow", title="slow", kind="utility", claim=CLAIM)
def slow(run):
    count("slow")
    time.sleep(30)
"""


@POSIX
def test_no_link_is_followed_beside_an_output(tmp_path: Path) -> None:
    """Links at every name that a process number could give lead nowhere; only the output itself is there."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    for suffix in (f"{os.getpid()}.tmp", "tmp"):
        for prefix in ("", "."):
            (out / f"{prefix}r.json.{suffix}").symlink_to(victim)
    planted = set(out.iterdir())
    write_text(out / "r.json", "new")
    assert victim.read_text() == "precious"
    assert set(out.iterdir()) - planted == {out / "r.json"}
    assert (out / "r.json").read_text() == "new"


@POSIX
def test_an_output_keeps_its_permissions(tmp_path: Path) -> None:
    """A file that is there keeps its mode; a new one has what the umask gives."""
    path = tmp_path / "r.json"
    before = os.umask(0o027)
    try:
        write_text(path, "one")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_text(path, "two")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the old file stays whole and nothing else is left."""
    path = tmp_path / "r.json"
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InvalidParameterError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def full_disk(*arguments: Any, **about: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_journal_belongs_to_one_run(tmp_path: Path) -> None:
    """While one run has it open a second one is refused, with its lines untouched; afterwards it is free."""
    path = tmp_path / "r.jsonl"
    with Journal(path, keep=False) as journal:
        journal.append("key", {"a": 1})
        for keep in (False, True):
            with pytest.raises(InvalidParameterError, match="another run is writing"):
                Journal(path, keep=keep)
        assert len(path.read_bytes().splitlines()) == 1
    with Journal(path, keep=False):
        assert path.read_bytes() == b""


@POSIX
def test_a_second_run_in_one_directory_says_so(tmp_path: Path) -> None:
    """It exits with 2 and leaves the first one's files alone."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED, SLOW)
    process = start("run", suite, "--jobs", 1, "--json", "r.json", "--no-html", cwd=tmp_path)
    try:
        wait_for(tmp_path / "slow.ran", process)
        while not (journal := (tmp_path / "r.jsonl").read_bytes()).endswith(b"\n"):
            time.sleep(0.02)  # the next row begins while the first one's line is on its way
        for options in ((), ("--resume",)):
            second = invoke("run", suite, "--json", tmp_path / "r.json", "--no-html", "-k", "fine", *options)
            assert second.exit_code == 2
            assert "another run is writing" in second.stderr
        assert (tmp_path / "r.jsonl").read_bytes() == journal
        assert not (tmp_path / "r.json").exists()
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert [row["id"] for row in read_report(tmp_path / "r.json")["results"]] == ["fine"]


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@POSIX
@pytest.mark.parametrize(("rows", "code"), [((VERIFIED, REFUTED), 0), ((VERIFIED, UNEXPECTED), 1)])
@pytest.mark.parametrize("reader", ["gone", "/dev/full"])
def test_nobody_reads_the_output(tmp_path: Path, rows: tuple[str, ...], code: int, reader: str) -> None:
    """Where a reader such as ``head`` has gone, or the output's disk is full, the report is written and the
    exit code is that of the run.
    """
    if reader != "gone" and not Path(reader).exists():
        pytest.skip("no such device here")
    suite = write_suite(tmp_path / "suite.py", *rows)
    output: Any = subprocess.PIPE if reader == "gone" else os.open(reader, os.O_WRONLY)
    command = "from dpaudit.cli import main; main(prog_name='dpaudit')"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", command, "run", str(suite), "--jobs", "1", "--json", "r.json"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(dpaudit.__file__).parent.parent)},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
    )
    if process.stdout is not None:
        process.stdout.close()
    else:
        os.close(output)
    assert process.stderr is not None
    with process.stderr as errors:
        text = errors.read()
    assert process.wait(timeout=60) == code, text
    assert [line for line in text.splitlines() if not line.startswith("loading ")] == []
    assert len(read_report(tmp_path / "r.json")["results"]) == 2
    assert (tmp_path / "r.html").exists()


def test_a_full_disk_costs_the_journal_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the journal cannot be written the run goes on, says so once, and the report has every row."""
    monkeypatch.setattr(Journal, "append", full_disk)
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED)
    result = invoke("run", suite, "--jobs", 1, "--json", tmp_path / "r.json", "--no-html")
    assert result.exit_code == 0
    assert result.stderr.count("No space left") == 1
    assert len(read_report(tmp_path / "r.json")["results"]) == 2


def test_a_report_that_cannot_be_written_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put into the folder for temporary files, the message names it, and the exit code is 2."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    suite = write_suite(tmp_path / "suite.py", VERIFIED, UNEXPECTED)
    target = tmp_path / "r.json"
    replace = Path.replace

    def refuse(self: Path, other: Path) -> Path:
        if other == target:
            full_disk()
        return replace(self, other)

    monkeypatch.setattr(Path, "replace", refuse)
    result = invoke("run", suite, "--jobs", 1, "--json", target, "--no-html")
    assert result.exit_code == 2
    [saved] = (tmp_path / "elsewhere").rglob("*.json")
    assert str(saved) in result.stderr
    assert len(json.loads(saved.read_text())["results"]) == 2
