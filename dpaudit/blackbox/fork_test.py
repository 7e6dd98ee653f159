"""Fresh copies of a mechanism: does an output that never changes come from the data, or from a memory?

A mechanism that adds no noise, and one that remembers its first answer, both return the same output for any
generator. Copies of this process from before the first call tell them apart: without noise they all agree,
and a memory fills in each of them anew; so it does where it adds a little noise to what it remembers.
One copy is forked at the start and waits; it calls nothing unless it is asked, so that connections and files
of the caller's are left alone. Without fork nothing is known.

A fork has the locks of all threads and none of the threads, so that a library whose threads held one, or
that waits for its own threads, stalls in a copy. Where no copy has answered for a while, the one that waits
pickles the mechanism, which it has in its first state, and a new process, which has no threads yet, makes the
copies.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from joblib.externals.loky.cloudpickle_wrapper import dumps as pickled_by_value

__all__ = ["FreshCopies", "serve_copies"]

#: Copies that run at once.
WAVE = 8
#: Seconds that all copies together may take to answer.
LIMIT = 60.0
#: Seconds for which copies are asked at least, when the time of a check is over: they guard its verdict.
LEAST = 5.0
#: Seconds without any answer after which forks count as stalled, and seconds for pickling then.
STALL, PICKLING = 5.0, 5.0

#: What a new process runs; its import path is the caller's.
NEW_PROCESS = """
import sys
sys.path[:] = {path!r}
from dpaudit.blackbox.fork_test import serve_copies
serve_copies({writer})
"""

Answer = Callable[[int], Any]


class FreshCopies:
    """Copies of this process as it is when the context is entered; ``answer(k)`` is what copy k is asked,
    k = 0..count-1. All copies together have ``limit`` seconds (60). ``may_stall``: whether a new process is
    asked if none has answered for a while, as slow ones do not; ``spawned``: whether the last answers came
    from one.
    """

    def __init__(
        self, answer: Answer, count: int, *, limit: float | None = None, may_stall: bool = True
    ) -> None:
        self.spawned = False
        self._answer, self._count = answer, count
        self._limit = LIMIT if limit is None else limit
        self._may_stall = may_stall
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

    def answers(
        self, count: int | None = None, *, start: int = 0, deadline: float | None = None
    ) -> list[Any] | None:
        """``answer(k)`` for each k from ``start`` on, or the first ``count`` of them, each in a copy of its
        own; ``None`` where a copy failed, took too long, or returned what cannot be pickled, and where there
        is no fork. ``deadline``: when the caller's time is over (``time.monotonic``). It can be asked once.
        """
        if self._waiting is None:
            return None
        now, wanted = time.monotonic(), range(start, min(self._count, start + (count or self._count)))
        limit = now + self._limit
        limit = limit if deadline is None else min(limit, max(deadline, now + LEAST))
        with suppress(BrokenPipeError):
            os.write(self._ask, pickle.dumps((wanted, limit)))
        found = self._waiting.read(limit + 1)
        if not isinstance(found, bytes):
            return found  # type: ignore[no-any-return]
        answers = _answers_of_new_process(found, wanted, limit)
        self.spawned = answers is not None
        return answers

    def _wait(self, asked: int) -> list[Any] | bytes | None:
        """In the copy: wait for the question, or for the end of the one who could ask it. The answers, or the
        pickled mechanism where forks stall."""
        os.close(self._ask)
        with suppress(ValueError):  # not in a main thread; then Ctrl-C ends the copy and nothing is known
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        question = os.read(asked, 4096)
        if not question:
            return None
        wanted, limit = pickle.loads(question)
        return _ask_forks(self._answer, wanted, limit, may_stall=self._may_stall)


def _ask_forks(answer: Answer, wanted: range, limit: float, *, may_stall: bool) -> list[Any] | bytes | None:
    """What forks of this process answer to ``wanted``, until ``limit``. ``may_stall``: where the first of
    them do not answer, ``answer`` itself, pickled, if it can be."""
    answers: list[Any] = []
    while len(answers) < len(wanted) and None not in answers:
        wave = wanted[len(answers) : len(answers) + WAVE]
        forks = [_Fork(lambda k=k: answer(k)) for k in wave]  # type: ignore[misc]
        stalled = may_stall and not answers and not _any_ready(forks, min(limit, time.monotonic() + STALL))
        pickled = _pickled(answer, limit) if stalled else None
        if not isinstance(pickled, bytes):
            answers += [fork.read(limit) for fork in forks]
        for fork in forks:
            fork.end()
        if isinstance(pickled, bytes):
            return pickled
    return None if None in answers else answers


def _any_ready(forks: list[_Fork], deadline: float) -> bool:
    """Whether one of them has begun to answer, or ended, before the deadline."""
    pipes = [fork.pipe for fork in forks]
    return bool(select.select(pipes, [], [], max(0.0, deadline - time.monotonic()))[0])


def _pickled(answer: Answer, limit: float) -> bytes | None:
    """``answer`` for another process; from a fork, since a library may stall in this as well."""
    fork = _Fork(lambda: pickled_by_value(answer))
    try:
        return fork.read(min(limit, time.monotonic() + PICKLING))  # type: ignore[no-any-return]
    finally:
        fork.end()


def _answers_of_new_process(pickled: bytes, wanted: range, limit: float) -> list[Any] | None:
    """The answers of copies of a new process that has read ``pickled``."""
    reader, writer = os.pipe()
    path = [folder for folder in sys.path if isinstance(folder, str)]
    try:
        with tempfile.TemporaryFile() as question:
            pickle.dump((pickled, wanted, limit - time.monotonic()), question)
            question.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-c", NEW_PROCESS.format(path=path, writer=writer)],
                stdin=question,
                pass_fds=(writer,),
                start_new_session=True,  # it and its copies are ended together
            )
    except (OSError, ValueError):  # there is no interpreter to start, or no more processes
        os.close(reader)
        return None
    finally:
        os.close(writer)
    try:
        return _read(reader, limit)  # type: ignore[no-any-return]
    finally:
        os.close(reader)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def serve_copies(writer: int) -> None:
    """In a new process: read a question from standard input, ask forks, and write their answers."""
    pickled, wanted, seconds = pickle.load(sys.stdin.buffer)
    limit = time.monotonic() + seconds
    data = pickle.dumps(_ask_forks(pickle.loads(pickled), wanted, limit, may_stall=False))
    while data:
        data = data[os.write(writer, data) :]


def _read(pipe: int, deadline: float) -> Any:
    """What is written to a pipe until its end; ``None`` where there is nothing to unpickle, or no end before
    the deadline."""
    parts = []
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        parts.append(os.read(pipe, 2**16))
        if not parts[-1]:
            break
    try:
        return pickle.loads(b"".join(parts))
    except Exception:  # nothing was written, or not all of it
        return None


class _Fork:
    """A fork of this process that writes one result to a pipe and ends."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self.pipe, writer = os.pipe()
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
        return _read(self.pipe, deadline)

    def end(self) -> None:
        """End the fork, whatever it does."""
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):  # where the caller has told the system to reap its children
            os.waitpid(self._process, 0)
