"""Run fresh copies of a mechanism, to find out whether a constant output comes from the data or from state.

A mechanism without noise and a mechanism that keeps its first answer both return the same output for any
generator. Copies of this process from before the first call distinguish them. Without noise, all copies
agree. With a state leak, each copy keeps a different answer, even if it adds a little noise to the answer.
One copy is forked at the start and waits. It calls nothing before it gets a request, so that connections and
files of the caller are not used. Without fork, nothing is known.

A library whose threads held a lock, or that waits for its own threads, stalls in a fork (``own_fork``). If no
copy answers for a while, the waiting copy pickles the mechanism, which it holds in its first state, and a new
process without threads makes the copies.
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
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from joblib.externals.loky.cloudpickle_wrapper import dumps as pickled_by_value

from dpaudit.core.processes.own_fork import OwnFork, can_fork_itself, read_pickled

__all__ = ["FreshCopies", "serve_copies"]

#: Number of copies that run at once.
WAVE = 8
#: Time limit for the answers of all copies, in seconds.
LIMIT = 60.0
#: Smallest time limit for copies after the time limit of a check, in seconds. Copies protect its verdict.
LEAST = 5.0
#: Seconds without any answer after which forks count as stalled, and time limit for pickling.
STALL, PICKLING = 5.0, 5.0

#: Code of a new process, with the import path of the caller.
NEW_PROCESS = """
import sys
sys.path[:] = {path!r}
from dpaudit.blackbox.fork_test import serve_copies
serve_copies({writer})
"""

Answer = Callable[[int], Any]


class FreshCopies:
    """Copies of this process in its state when the context is entered.

    ``spawned`` states whether the last answers came from a new process.

    Parameters
    ----------
    answer : callable
        Copy k computes ``answer(k)``, k = 0..count-1.
    count : int
        Largest number of copies.
    limit : float, optional
        Time limit for all copies, in seconds. Default: 60.
    may_stall : bool, default True
        Whether a new process makes the copies if no fork answers for a while. Slow answers have the same
        sign.
    """

    def __init__(
        self, answer: Answer, count: int, *, limit: float | None = None, may_stall: bool = True
    ) -> None:
        self.spawned = False
        self._answer, self._count = answer, count
        self._limit = LIMIT if limit is None else limit
        self._may_stall = may_stall
        self._waiting: OwnFork | None = None
        self._ask = -1

    def __enter__(self) -> FreshCopies:
        if can_fork_itself():
            asked, self._ask = os.pipe()
            try:
                self._waiting = OwnFork(lambda: self._wait(asked))
            except OSError:  # the system has no more processes, so there is no copy
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
        """Return ``answer(k)`` for ``count`` values k (default: all) from ``start`` on, in separate copies.

        The result is None if a copy failed, took too long, or returned something that cannot be pickled, and
        on systems without fork. ``deadline`` is the end of the caller's time (``time.monotonic``). Call this
        method at most once.
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
        """Wait, in the copy, for a request or for the end of the parent.

        Return the answers, or the pickled mechanism if forks stall.
        """
        os.close(self._ask)
        with suppress(ValueError):  # outside the main thread, Ctrl-C ends the copy, and nothing is known
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        question = os.read(asked, 4096)
        if not question:
            return None
        wanted, limit = pickle.loads(question)
        return _ask_forks(self._answer, wanted, limit, may_stall=self._may_stall)


def _ask_forks(answer: Answer, wanted: range, limit: float, *, may_stall: bool) -> list[Any] | bytes | None:
    """Return the answers of forks of this process to ``wanted``, until ``limit``.

    If ``may_stall`` and the first forks do not answer, return the pickled ``answer`` function, if possible.
    """
    answers: list[Any] = []
    while len(answers) < len(wanted) and None not in answers:
        wave = wanted[len(answers) : len(answers) + WAVE]
        forks = [OwnFork(lambda k=k: answer(k)) for k in wave]  # type: ignore[misc]
        stalled = may_stall and not answers and not _any_ready(forks, min(limit, time.monotonic() + STALL))
        pickled = _pickled(answer, limit) if stalled else None
        if not isinstance(pickled, bytes):
            answers += [fork.read(limit) for fork in forks]
        for fork in forks:
            fork.end()
        if isinstance(pickled, bytes):
            return pickled
    return None if None in answers else answers


def _any_ready(forks: list[OwnFork], deadline: float) -> bool:
    """Return whether a fork started to answer, or ended, before the deadline."""
    pipes = [fork.pipe for fork in forks]
    return bool(select.select(pipes, [], [], max(0.0, deadline - time.monotonic()))[0])


def _pickled(answer: Answer, limit: float) -> bytes | None:
    """Return the pickled ``answer`` function. A fork pickles it, because a library may stall in this too."""
    fork = OwnFork(lambda: pickled_by_value(answer))
    try:
        return fork.read(min(limit, time.monotonic() + PICKLING))  # type: ignore[no-any-return]
    finally:
        fork.end()


def _answers_of_new_process(pickled: bytes, wanted: range, limit: float) -> list[Any] | None:
    """Return the answers of copies of a new process that has read ``pickled``."""
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
                start_new_session=True,  # so that one signal ends the process and its copies
            )
    except (OSError, ValueError):  # there is no interpreter to start, or the system has no more processes
        os.close(reader)
        return None
    finally:
        os.close(writer)
    try:
        return read_pickled(reader, limit)  # type: ignore[no-any-return]
    finally:
        os.close(reader)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def serve_copies(writer: int) -> None:
    """Serve a request in a new process: read it from standard input, run forks, and write their answers."""
    pickled, wanted, seconds = pickle.load(sys.stdin.buffer)
    limit = time.monotonic() + seconds
    data = pickle.dumps(_ask_forks(pickle.loads(pickled), wanted, limit, may_stall=False))
    while data:
        data = data[os.write(writer, data) :]
