"""Fresh copies of a mechanism: does an output that never changes come from the data, or from a memory?

A mechanism that adds no noise, and one that remembers its first answer, both return the same output for any
generator. Copies of this process from before the first call tell them apart: without noise they all agree,
and a memory fills in each of them anew. The copies are forked; where that is impossible nothing is known.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["COPIES", "fresh_answers"]

COPIES = 4
#: Seconds that the copies may take together.
LIMIT = 20.0


def fresh_answers(answer: Callable[[int], Any]) -> list[Any] | None:
    """``answer(k)`` for k = 0..COPIES-1, each in a copy of this process as it is now; ``None`` where a copy
    failed, took too long, or returned what cannot be pickled, and where there is no fork.
    """
    if not hasattr(os, "fork"):
        return None
    copies = [_forked(answer, number) for number in range(COPIES)]
    deadline = time.monotonic() + LIMIT
    try:
        found = [_read(pipe, deadline) for _, pipe in copies]
    finally:
        for process, pipe in copies:
            os.close(pipe)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):  # where a caller has told the system to reap its children
                os.waitpid(process, 0)
    try:
        return [pickle.loads(data) for data in found]
    except Exception:  # a copy that ended early wrote nothing, or half of it
        return None


def _forked(answer: Callable[[int], Any], number: int) -> tuple[int, int]:
    """Start one copy; return its process and the pipe that its answer comes from."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: a copy that hangs is ended
        process = os.fork()
    if process:
        os.close(writer)
        return process, reader
    try:
        data = pickle.dumps(answer(number))
        while data:
            data = data[os.write(writer, data) :]
    finally:
        os._exit(0)  # no handler, buffer or `finally` of the caller's may run in a copy


def _read(pipe: int, deadline: float) -> bytes:
    """All that comes from the pipe until it is closed; what came until the deadline."""
    parts = []
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 2**16)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)
