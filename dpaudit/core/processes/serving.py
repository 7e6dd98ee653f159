"""The child's side of a child process: its pipes, its answers, its limits, and its end.

Before any code of a suite runs, the child moves its two pipes to other descriptors, so that output of a row
or a library, in Python or C, does not reach them.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator

# Bind the functions that a child needs after a row has run, so that a row cannot replace them.
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

#: The largest part of the output of a dead process that an error contains.
OUTPUT_LINES = 8
OUTPUT_BYTES = 1 << 16

#: The beginning of faulthandler's output when a signal ends the process.
FATAL = "Fatal Python error: "

#: Linux: the number of the request "kill me when my parent dies".
_PR_SET_PDEATHSIG = 1

_encode = JSONEncoder(allow_nan=False).encode

Do = Callable[[dict[str, Any]], dict[str, Any]]


def take_over_stdio() -> tuple[int, int]:
    """Move the parent's two pipes to new descriptors and return them: requests and answers.

    Standard input is empty afterwards, and standard output goes to standard error.
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
    """Return a line to the parent about the request with the id ``question``.

    It holds its ``answer``, or that its process ``started``, ``hung``, or ``ended`` without an answer.
    """
    return (_encode({"id": question, **content}) + "\n").encode()


def send(descriptor: int, data: bytes) -> None:
    """Write all of ``data``."""
    while data:
        data = data[write(descriptor, data) :]


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a pipe until its end, read byte by byte, so that later data stay in the pipe."""
    line = bytearray()
    while byte := os.read(descriptor, 1):
        line += byte
        if byte == b"\n":
            yield bytes(line)
            line.clear()


def serve(questions: int, answers: int, do: Do) -> NoReturn:
    """Answer one request after the other in this process, until their pipe is closed.

    ``do`` returns the answer and raises nothing. A thread waits for the end of the pipe. It then ends this
    process and everything that it started, even during a computation.
    """
    own = getpid()
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with open(questions, "rb", closefd=False) as pipe:
            for line in pipe:
                waiting.put(line)
        end_group()

    threading.Thread(target=read, daemon=True).start()
    while True:
        question = loads(waiting.get())
        answer = do(question)
        if getpid() != own:
            _exit(0)  # a fork that the computation made, whose parent answers
        send(answers, message(question["id"], answer=answer))


def last_lines(output: IO[bytes]) -> str:
    """Return the last lines of an output file on one line, which is empty if there are none.

    After a fatal error of Python, return its first lines, because the innermost call comes first.
    """
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - OUTPUT_BYTES))
    text = output.read().decode(errors="replace")
    _, fatal, after = text.rpartition(FATAL)
    lines = [line.strip() for line in (fatal + after).splitlines() if line.strip()]
    return " | ".join(lines[:OUTPUT_LINES] if fatal else lines[-OUTPUT_LINES:])


def is_single_threaded() -> bool:
    """Return whether forking is safe: a lock of another thread would never be released in the child."""
    tasks = Path("/proc/self/task")  # on Linux the threads of libraries count too
    return threading.active_count() == 1 and (not tasks.is_dir() or len(list(tasks.iterdir())) == 1)


def end_group() -> NoReturn:
    """End this process and everything it started, because the parent is gone or needs no more answers."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    _exit(0)


def end_with(parent: int) -> None:
    """Let the system kill this process when ``parent`` dies, even in a long computation (on Linux only)."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):  # another C library, where only the closed pipe ends this process
        return
    if os.getppid() != parent:  # the parent died before this call
        _exit(0)


def limit(*, megabytes: int, seconds: int, written: int) -> None:
    """Limit the resources of this process, as far as the system supports it.

    Parameters
    ----------
    megabytes : int
        The address space in MiB.
    seconds : int
        The processor time.
    written : int
        The bytes written to any one file. Core dumps are disabled.
    """
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
        except (ValueError, OSError):  # a lower limit is in force, or the system does not support it
            continue
