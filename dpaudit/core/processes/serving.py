"""A child process as it sees itself: its pipes, its answers, its limits, and its end.

Before any code of others runs, the child moves the two pipes aside: what a row or a library prints, at
whatever level, goes elsewhere.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator

# What a child needs after a row has run is bound here, out of reach of a row that spoils its libraries.
from json import JSONEncoder, loads
from os import _exit, getpid, write
from pathlib import Path
from typing import IO, Any, NoReturn

__all__ = [
    "OUTPUT_LINES",
    "Do",
    "end_group",
    "end_with",
    "is_single_threaded",
    "last_lines",
    "limit",
    "message",
    "read_lines",
    "send",
    "serve",
    "take_over_stdio",
]

#: How much of what a dead process printed is told.
OUTPUT_LINES = 8
OUTPUT_BYTES = 1 << 16

#: How faulthandler begins what it prints when a signal ends the process.
FATAL = "Fatal Python error: "

#: Linux: the number of the request "kill me when my parent dies".
_PR_SET_PDEATHSIG = 1

_encode = JSONEncoder(allow_nan=False).encode

Do = Callable[[dict[str, Any]], dict[str, Any]]


def take_over_stdio() -> tuple[int, int]:
    """Keep the parent's two pipes for the exchange, questions and answers; leave an empty standard input, and
    standard error for output.
    """
    questions, answers = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  lives as long as the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its children itself
    return questions, answers


def message(question: str, **content: Any) -> bytes:
    """One line to the parent about the question of that id: its ``answer``, that it ``started`` as a process,
    ``hung``, or ``ended`` without an answer.
    """
    return (_encode({"id": question, **content}) + "\n").encode()


def send(descriptor: int, data: bytes) -> None:
    """Write all of ``data``."""
    while data:
        data = data[write(descriptor, data) :]


def read_lines(descriptor: int) -> Iterator[bytes]:
    """The lines of a pipe until its end, read byte by byte: what follows a line stays in the pipe."""
    line = bytearray()
    while byte := os.read(descriptor, 1):
        line += byte
        if byte == b"\n":
            yield bytes(line)
            line.clear()


def serve(questions: int, answers: int, do: Do) -> NoReturn:
    """Answer one question after the other in this process, until their pipe ends.

    ``do`` gives the answer and raises nothing. A thread waits for the end of the pipe: it ends this process
    and what it started, whatever is being computed.
    """
    own = getpid()
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        with open(questions, "rb", closefd=False) as pipe:
            for line in pipe:
                waiting.put(line)
        end_group()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        question = loads(waiting.get())
        answer = do(question)
        if getpid() != own:
            _exit(0)  # a fork that the work made: its parent answers
        send(answers, message(question["id"], answer=answer))


def last_lines(output: IO[bytes]) -> str:
    """The last lines of an output file, on one line; empty where there are none. A fatal error of Python's is
    told from its beginning, since its innermost call comes first."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - OUTPUT_BYTES))
    text = output.read().decode(errors="replace")
    _, fatal, after = text.rpartition(FATAL)
    lines = [line.strip() for line in (fatal + after).splitlines() if line.strip()]
    return " | ".join(lines[:OUTPUT_LINES] if fatal else lines[-OUTPUT_LINES:])


def is_single_threaded() -> bool:
    """Whether this process may be forked: a lock that another thread holds would never open in the child."""
    tasks = Path("/proc/self/task")  # on Linux the threads of libraries count too
    return threading.active_count() == 1 and (not tasks.is_dir() or len(list(tasks.iterdir())) == 1)


def end_group() -> NoReturn:
    """End this process and everything it started: the parent is gone, or done with us."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    _exit(0)


def end_with(parent: int) -> None:
    """Where the system offers it, be killed when the process ``parent`` dies, even inside one long
    computation."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):  # another C library: the end of the questions remains
        return
    if os.getppid() != parent:  # it died before the request
        _exit(0)


def limit(*, megabytes: int, seconds: int, written: int) -> None:
    """Limit this process: ``megabytes`` of address space, ``seconds`` of processor time, ``written`` bytes to
    any one file, no core dump. Where the system knows no such limit there is none."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    limits = {
        resource.RLIMIT_AS: megabytes << 20,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: written,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):  # a lower limit is in force, or the system knows none
            continue
