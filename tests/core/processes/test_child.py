"""A child process answers what it is asked, and a parent learns in time that it hangs or dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dpaudit
from dpaudit.core.processes.child import Child, ChildDiedError, ChildHungError
from dpaudit.core.processes.serving import OUTPUT_LINES, last_lines
from tests.errors import raises

#: A child that does what the question says.
SERVER = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from dpaudit.core.processes.serving import limit, serve, take_over_stdio

def do(question):
    if question["do"] == "sleep":
        time.sleep(question["for"])
    if question["do"] == "start":
        return {"pid": subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid}
    if question["do"] == "leave":
        print("about to leave", flush=True)
        os._exit(3)
    if question["do"] == "fill":
        limit(megabytes=1 << 20, seconds=100, written=1 << 10)
        print("x" * (1 << 12), flush=True)
    return {"value": question.get("value")}

serve(*take_over_stdio(), do)
"""


@pytest.fixture
def child() -> Iterator[Child]:
    location = str(Path(dpaudit.__file__).parent.parent)
    started = Child([sys.executable, "-c", SERVER, location], environment=dict(os.environ))
    yield started
    started.close()


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_each_thread_gets_the_answer_to_its_own_question(child: Child) -> None:
    """Questions from eight threads at once: no answer goes to another one's question."""
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda k: child.ask({"do": "echo", "value": k}, seconds=60), range(40)))
    assert [answer["value"] for answer in answers] == list(range(40))


def test_a_question_larger_than_a_pipe_arrives_whole(child: Child) -> None:
    """A megabyte is far more than a pipe holds."""
    text = "ä" * (1 << 20)
    assert child.ask({"do": "echo", "value": text}, seconds=60)["value"] == text


def test_a_child_that_hangs_is_ended(child: Child) -> None:
    """The parent gets its error soon after the time is up, and the process is gone."""
    child.ask({"do": "echo"}, seconds=60)  # the start takes its own time
    started = time.monotonic()
    with raises(ChildHungError, code="E-PROCESS-HUNG", match=r"within 0\.2 s"):
        child.ask({"do": "sleep", "for": 60}, seconds=0.2)
    assert time.monotonic() - started < 20
    assert child.is_gone()


def test_a_child_that_dies_is_named_with_what_it_said_last(child: Child) -> None:
    """The exit code and the last lines of its output, which is no answer."""
    with raises(ChildDiedError, code="E-PROCESS-DIED", match="exit code 3; its last output: about to leave"):
        child.ask({"do": "leave"}, seconds=60)


def test_a_fatal_error_is_told_from_its_innermost_call(tmp_path: Path) -> None:
    """Of what faulthandler prints the beginning is told, of anything else the end."""
    calls = [f'  File "deep.py", line {line} in call' for line in range(40)]
    for head, told in (("Fatal Python error: Aborted", "line 0 in call"), ("so many words", "line 39 in")):
        (tmp_path / "output").write_text("\n".join(["printed before", head, "", *calls]))
        with (tmp_path / "output").open("rb") as output:
            words = last_lines(output)
        assert told in words
        assert "printed before" not in words
        assert len(words.split(" | ")) == OUTPUT_LINES


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for the process in /proc")
def test_what_a_child_started_ends_with_it(child: Child) -> None:
    """The whole group is killed."""
    grandchild = child.ask({"do": "start"}, seconds=60)["pid"]
    assert alive(grandchild)
    child.close()
    deadline = time.monotonic() + 20
    while alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="limits on files")
def test_a_child_that_writes_too_much_is_ended(child: Child) -> None:
    """Beyond the limit of bytes the system ends it, or the write fails: there is no answer either way."""
    with raises(ChildDiedError, code="E-PROCESS-DIED"):
        child.ask({"do": "fill"}, seconds=60)
