"""Fresh copies of a mechanism: does an output that never changes come from the data, or from a memory?

A mechanism that adds no noise, and one that remembers its first answer, both return the same output for any
generator. Copies of this process from before the first call tell them apart: without noise they all agree,
and a memory fills in each of them anew; so it does where it adds a little noise to what it remembers.
One copy is forked at the start and waits; it calls nothing unless it is asked, so that connections and files
of the caller's are left alone. Without fork nothing is known.
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

__all__ = ["FreshCopies"]

#: Copies that run at once.
WAVE = 8
#: Seconds that all copies together may take to answer.
LIMIT = 60.0


class FreshCopies:
    """Copies of this process as it is when the context is entered; ``answer(k)`` is what copy k is asked,
    k = 0..count-1. All copies together have ``limit`` seconds (60).
    """

    def __init__(self, answer: Callable[[int], Any], count: int, *, limit: float | None = None) -> None:
        self._answer, self._count = answer, count
        self._limit = LIMIT if limit is None else limit
        self._waiting: _Fork | None = None
        self._ask = -1

    def __enter__(self) -> FreshCopies:
        if hasattr(os, "fork"):
            asked, self._ask = os.pipe()
            try:
                self._waiting = _Fork(lambda: self._wait(asked))
            except OSError:  # the system has no more processes: as good as no fork
                os.close(self._ask)
            os.close(asked)
        return self

    def __exit__(self, *error: object) -> None:
        if self._waiting:
            os.close(self._ask)
            self._waiting.end()

    def answers(self, count: int | None = None, *, start: int = 0) -> list[Any] | None:
        """``answer(k)`` for each k from ``start`` on, or the first ``count`` of them, each in a copy of its
        own; ``None`` where a copy failed, took too long, or returned what cannot be pickled, and where there
        is no fork. It can be asked once.
        """
        if self._waiting is None:
            return None
        with suppress(BrokenPipeError):
            count = min(self._count - start, count or self._count)
            os.write(self._ask, count.to_bytes(4, "big") + start.to_bytes(4, "big"))
        found: list[Any] | None = self._waiting.read(time.monotonic() + self._limit + 1)
        return found

    def _wait(self, asked: int) -> list[Any] | None:
        """In the copy: wait for the question, or for the end of the one who could ask it."""
        os.close(self._ask)
        with suppress(ValueError):  # not in a main thread; then Ctrl-C ends the copy and nothing is known
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        question = os.read(asked, 8)
        count, start = (int.from_bytes(part, "big") for part in (question[:4], question[4:]))
        if not count:
            return None
        deadline = time.monotonic() + self._limit
        answers: list[Any] = []
        while len(answers) < count and None not in answers:
            wave = range(len(answers), min(len(answers) + WAVE, count))
            forks = [_Fork(lambda k=k: self._answer(start + k)) for k in wave]  # type: ignore[misc]
            answers += [fork.read(deadline) for fork in forks]
            for fork in forks:
                fork.end()
        return None if None in answers else answers


class _Fork:
    """A fork of this process that writes one result to a pipe and ends."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self._pipe, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: a fork that hangs is ended
            self._process = os.fork()
        if self._process:
            os.close(writer)
            return
        try:
            data = pickle.dumps(task())
            while data:
                data = data[os.write(writer, data) :]
        finally:
            os._exit(0)  # no handler, buffer or `finally` of the caller's may run in a fork

    def read(self, deadline: float) -> Any:
        """The result; ``None`` where the fork ended without one or did not end before the deadline."""
        parts = []
        while select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            parts.append(os.read(self._pipe, 2**16))
            if not parts[-1]:
                break
        try:
            return pickle.loads(b"".join(parts))
        except Exception:  # nothing was written, or not all of it
            return None

    def end(self) -> None:
        """End the fork, whatever it does."""
        os.close(self._pipe)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):  # where the caller has told the system to reap its children
            os.waitpid(self._process, 0)
