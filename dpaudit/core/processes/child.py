"""The parent's side of a child process: start it, send it requests, and detect that it hangs or dies.

Each request has an id that cannot be guessed, and each answer repeats it. The output of the child goes to a
separate file. If the child dies, the error contains the last lines of this file.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from dpaudit.core.errors import MechanismError
from dpaudit.core.processes.fork_server import Forked
from dpaudit.core.processes.serving import last_lines

__all__ = ["Answer", "Child", "ChildDiedError", "ChildHungError"]

POLL_SECONDS = 0.5
#: The time in seconds for a child to end after its pipe is closed.
LEAVE_SECONDS = 2.0

Answer = dict[str, Any]


class ChildDiedError(MechanismError):
    """The process ended before it answered a request."""

    code = "E-PROCESS-DIED"


class ChildHungError(MechanismError):
    """The process did not answer in time."""

    code = "E-PROCESS-HUNG"


@dataclass
class _Asked:
    """A pending request: its incoming messages, and the process that works on it, if not the child itself."""

    messages: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)
    pid: int | None = None


class Child:
    """A child process. It can be used from several threads.

    Parameters
    ----------
    command : sequence of str
        The command that starts the process.
    environment : mapping
        Its environment variables.
    folder : Path, optional
        Its working folder.
    fork : callable, optional
        ``fork(output)`` returns a forked process that prints to the file ``output`` and replaces ``command``,
        or ``None`` to use ``command``.

    Raises
    ------
    OSError
        The system refuses the process.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path | None = None,
        fork: Callable[[IO[bytes]], Forked | None] = lambda output: None,
    ) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._process = fork(self._output) or subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            cwd=folder,
            env=environment,
            # A separate group, so that Ctrl-C reaches only the parent, and a kill reaches the child's
            # children.
            start_new_session=True,
        )
        self._questions = cast(IO[bytes], self._process.stdin)  # not None, because stdin is a pipe
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()
        self._is_killed = False
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    def is_gone(self) -> bool:
        """Return whether the process cannot take requests any more."""
        return self._is_killed or self._process.poll() is not None

    def ask(self, question: Mapping[str, Any], *, seconds: float, grace: float = 0.0) -> Answer:
        """Send a request and wait for its answer.

        The request states the limit ``seconds``. The child is ended ``grace`` seconds after it. Raises
        ``ChildHungError`` or ``ChildDiedError`` with the reason.
        """
        token = secrets.token_hex(16)  # no process can answer a request that it did not get
        line = json.dumps({"id": token, **question, "seconds": seconds}).encode() + b"\n"
        asked = self._asked[token] = _Asked()
        try:
            with self._lock:
                _write_all(self._questions, line)
            return self._wait(asked, seconds, deadline=time.monotonic() + seconds + grace)
        except (OSError, ValueError):  # one end of the pipe is closed
            raise self._died() from None
        finally:
            del self._asked[token]

    def _wait(self, asked: _Asked, seconds: float, *, deadline: float) -> Answer:
        while True:
            left = deadline - time.monotonic()
            try:
                news = asked.messages.get(timeout=max(0.0, min(left, POLL_SECONDS)))
            except queue.Empty:
                # The pipe may stay open after the child's death if a process that it started holds it.
                if self._process.poll() is not None and asked.messages.empty():
                    raise self._died() from None
                if left <= 0:
                    self.kill()
                    raise _hung(seconds) from None
                continue
            if "answer" in news:
                answer: Answer = news["answer"]
                return answer
            if "hung" in news:
                raise _hung(seconds)
            if "ended" in news:
                raise _dead(news["ended"], news["output"])
            asked.pid = news["started"]

    def kill(self) -> None:
        """End the process and everything that it started at once.

        A child ends its forks itself when its request pipe is closed. If it does not end in time, this method
        ends its forks.
        """
        with self._lock:
            if self._is_killed:
                return
            self._is_killed = True
            with suppress(OSError):
                self._questions.close()
            groups = [self._process.pid]
            try:
                self._process.wait(timeout=LEAVE_SECONDS)
            except subprocess.TimeoutExpired:
                groups += [asked.pid for asked in list(self._asked.values()) if asked.pid is not None]
            for group in groups:
                _kill_group(group)
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the process and release its resources. Call this only when no thread uses it any more."""
        self.kill()
        self._output.close()

    def _read(self, pipe: IO[bytes]) -> None:
        """Pass each line of the pipe to the request that it answers.

        Only this thread reads and closes the pipe. If a process that the child started keeps the pipe open,
        this thread stays alive and delays no other.
        """
        with pipe:
            unread = bytearray()
            while data := os.read(pipe.fileno(), 1 << 16):
                *lines, unread = (unread + data).split(b"\n")
                for line in lines:
                    self._deliver(line)

    def _deliver(self, line: bytes | bytearray) -> None:
        try:
            news = json.loads(line)
            asked = self._asked[news["id"]]
        except (ValueError, KeyError, TypeError):
            return  # not an answer to a request of this child
        asked.messages.put(news)

    def _died(self) -> ChildDiedError:
        self.kill()
        return _dead(self._process.wait(), last_lines(self._output))


def _write_all(pipe: IO[bytes], line: bytes) -> None:
    """Write a line to an unbuffered pipe, which may accept only a part at a time."""
    view = memoryview(line)
    while view:
        view = view[pipe.write(view) :]


def _kill_group(pid: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _hung(seconds: float) -> ChildHungError:
    return ChildHungError(
        f"must finish within {seconds:g} s of wall clock, was still running. Increase --timeout"
    )


def _dead(code: int, output: str) -> ChildDiedError:
    how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
    tail = f"; its last output: {output}" if output else ""
    return ChildDiedError(f"ended its process with {how}{tail}")


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    return f"{name} (out of memory?)" if name == "SIGKILL" else name
