"""Children that share imports: each has its own pipes and its own end, and nothing of the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpaudit
from dpaudit.core.processes.fork_server import CAN_FORK, Forked, ForkServer

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="needs fork")

#: Children that answer each line: with what they have loaded, their open files, or by an end.
SERVER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from dpaudit.core.processes.fork_server import serve_starts

def run():
    for line in open(0):
        word = line.strip()
        if word.isdigit():
            os._exit(int(word))
        if word == "files":
            os.write(1, f"{len(os.listdir('/proc/self/fd'))}\\n".encode())
        elif word == "raise":
            raise ValueError("told to")
        else:
            os.write(1, f"{word in sys.modules}, {os.getppid()}, {os.getsid(0) == os.getpid()}\\n".encode())

if len(sys.argv) > 3:
    import threading, time
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
serve_starts(int(sys.argv[-1]), run)
"""

LOCATION = str(Path(dpaudit.__file__).parent.parent)


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    started = ForkServer([sys.executable, "-c", SERVER, LOCATION], environment=dict(os.environ))
    yield started
    started.close()


def start(fork_server: ForkServer, *modules: str) -> Forked:
    with tempfile.TemporaryFile() as output:
        child = fork_server.start(output, modules=modules)
    assert child is not None
    return child


def ask(child: Forked, word: str) -> str:
    child.stdin.write(word.encode() + b"\n")
    return os.read(child.stdout.fileno(), 1000).decode().strip()


def close(*children: Forked) -> None:
    for child in children:
        child.stdin.close()
        child.stdout.close()


def test_imports_can_be_asked_for_before_a_child_is(fork_server: ForkServer) -> None:
    """What was prepared is there in the next child, however the requests arrive, and it has its pipes."""
    fork_server.prepare([f"nowhere_{number}" for number in range(8000)])
    fork_server.prepare(["colorsys", "a_module_that_is_nowhere"])
    one = start(fork_server)
    fork_server.prepare(["this"])
    two = start(fork_server)
    assert [ask(child, word).split(", ")[0] for child, word in ((one, "colorsys"), (one, "this"))] == [
        "True",
        "False",
    ]
    assert ask(two, "this").split(", ")[0] == "True"
    close(one, two)


def test_children_share_imports_and_nothing_else(fork_server: ForkServer) -> None:
    """The second one finds what was imported for it, the first one does not; each leads a session."""
    one = start(fork_server)
    two = start(fork_server, "colorsys", "a_module_that_is_nowhere")
    (first, parent, leads), second = ask(one, "colorsys").split(", "), ask(two, "colorsys")
    assert (first, leads, second) == ("False", "True", f"True, {parent}, True")
    close(one, two)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the list of open files")
def test_a_child_has_no_file_of_another(fork_server: ForkServer) -> None:
    """A pipe that a sibling held would not end with its own process."""
    children = [start(fork_server) for _ in range(3)]
    assert len({ask(child, "files") for child in children}) == 1
    close(*children)


def test_the_end_of_a_child_is_told_with_its_code(fork_server: ForkServer) -> None:
    """An exit code, an error, a signal; the others go on."""
    children = [start(fork_server) for _ in range(4)]
    for child, word in zip(children, ("7", "raise"), strict=False):
        child.stdin.write(word.encode() + b"\n")
    children[2].kill()
    assert [child.wait(timeout=20) for child in children[:3]] == [7, 1, -signal.SIGKILL]
    assert children[3].poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        children[3].wait(timeout=0.1)
    close(*children)


def test_without_the_common_parent_nothing_waits_for_ever(fork_server: ForkServer) -> None:
    """Where it was killed, its children end, and the next one has to be started in another way."""
    child = start(fork_server)
    os.kill(int(ask(child, "colorsys").split(", ")[1]), signal.SIGKILL)
    assert child.wait(timeout=20) == -signal.SIGKILL
    deadline = time.monotonic() + 20
    with tempfile.TemporaryFile() as output:
        while fork_server.start(output) is not None:
            assert time.monotonic() < deadline
    close(child)


def test_a_process_with_threads_is_not_forked() -> None:
    """A lock that another thread holds would stay closed in the child."""
    fork_server = ForkServer(
        [sys.executable, "-c", SERVER, LOCATION, "threads"], environment=dict(os.environ)
    )
    try:
        with tempfile.TemporaryFile() as output:
            assert fork_server.start(output) is None
    finally:
        fork_server.close()
