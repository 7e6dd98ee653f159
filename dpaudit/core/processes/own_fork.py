"""Fork this process for one task, and read its result from a pipe.

A fork inherits the locks of all threads but none of the threads. A library whose threads held a lock, or that
waits for its own threads, stalls in a fork. So each result has a deadline.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

__all__ = ["OwnFork", "can_fork_itself", "read_pickled"]


def can_fork_itself() -> bool:
    """Return whether this system can fork."""
    return hasattr(os, "fork")


def read_pickled(pipe: int, deadline: float) -> Any:
    """Read a pickled object from a pipe, or None if it is not complete by the deadline."""
    parts = []
    while select.select([pipe], [], [], max(0.0, deadline - monotonic()))[0]:
        parts.append(os.read(pipe, 2**16))
        if not parts[-1]:
            break
    try:
        return pickle.loads(b"".join(parts))
    except Exception:  # the object is missing or incomplete
        return None


class OwnFork:
    """Fork of this process that writes one result to a pipe and ends."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self.pipe, writer = os.pipe()
        with warnings.catch_warnings():
            # Python warns of forks with threads. Here, a fork that hangs is ended.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if self._process:
            os.close(writer)
            return
        try:
            data = pickle.dumps(task())
            while data:
                data = data[os.write(writer, data) :]
        finally:
            os._exit(0)  # no handler, buffer or `finally` of the caller may run in a fork

    def read(self, deadline: float) -> Any:
        """Return the result, or None if the fork gave no result or did not end before the deadline."""
        return read_pickled(self.pipe, deadline)

    def end(self) -> None:
        """End the fork in any state."""
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):  # the caller may have set the system to reap its children
            os.waitpid(self._process, 0)
