"""A child process as its parent sees it: start it, ask it, and find out when it hangs or dies.

Each question has an id that nobody can guess, and each answer repeats it. What the child prints goes to a
file of its own, of which the last lines are told if it dies.
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
#: Seconds in which a child must leave when asked to.
LEAVE_SECONDS = 2.0

Answer = dict[str, Any]


class ChildDiedError(MechanismError):
    """The process ended while it was asked."""


class ChildHungError(MechanismError):
    """The process did not answer in time."""


@dataclass
class _Asked:
    """A question under way: what came in on it, and the process that works on it, if not the child itself."""

    messages: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)
    pid: int | None = None


class Child:
    """One child process. Safe to use from several threads. ``OSError`` where the system refuses one.

    ``fork``, where it is given, has a process forked that prints to the file that it is called with, instead
    of ``command``; where it gives ``None``, ``command`` it is.
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
            # A group of its own: Ctrl-C reaches only the parent, and a kill reaches what the child started.
            start_new_session=True,
        )
        self._questions = cast(IO[bytes], self._process.stdin)  # both exist, since we asked for pipes
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()
        self._is_killed = False
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def is_gone(self) -> bool:
        """Whether it cannot be asked any more."""
        return self._is_killed or self._process.poll() is not None

    def ask(self, question: Mapping[str, Any], *, seconds: float, grace: float = 0.0) -> Answer:
        """Send a question and wait for its answer.

        The child is told that it has ``seconds``, and is ended ``grace`` seconds later. Raises
        ``ChildHungError`` or ``ChildDiedError``, with the reason.
        """
        token = secrets.token_hex(16)  # nobody can answer a question that it was not given
        line = json.dumps({"id": token, **question, "seconds": seconds}).encode() + b"\n"
        asked = self._asked[token] = _Asked()
        try:
            with self._lock:
                _write_all(self._questions, line)
            return self._wait(asked, seconds, deadline=time.monotonic() + seconds + grace)
        except (OSError, ValueError):  # its end of the pipe is closed, or ours
            raise self._died() from None
        finally:
            del self._asked[token]

    def _wait(self, asked: _Asked, seconds: float, *, deadline: float) -> Answer:
        while True:
            left = deadline - time.monotonic()
            try:
                news = asked.messages.get(timeout=max(0.0, min(left, POLL_SECONDS)))
            except queue.Empty:
                # The pipe may stay open after the child's death, where something that it started holds it.
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
        """End the process, and whatever it started, at once.

        A child ends its forks itself when its questions end; those of one that cannot are ended from here.
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
        """End the process and give back what it holds; only once nobody asks it any more."""
        self.kill()
        self._output.close()

    def _read(self, pipe: IO[bytes]) -> None:
        """Hand each line to whom it answers.

        This thread alone reads the pipe and closes it: where something that the child started keeps it open,
        the thread stays behind and delays nobody.
        """
        with pipe:
            unread = bytearray()
            while data := os.read(pipe.fileno(), 1 << 16):
                *lines, unread = (unread + data).split(b"\n")
                for line in lines:
                    self._hand_over(line)

    def _hand_over(self, line: bytes | bytearray) -> None:
        try:
            news = json.loads(line)
            asked = self._asked[news["id"]]
        except (ValueError, KeyError, TypeError):
            return  # no answer of ours
        asked.messages.put(news)

    def _died(self) -> ChildDiedError:
        self.kill()
        return _dead(self._process.wait(), last_lines(self._output))


def _write_all(pipe: IO[bytes], line: bytes) -> None:
    """Write a line to an unbuffered pipe, which takes only what there is room for."""
    view = memoryview(line)
    while view:
        view = view[pipe.write(view) :]


def _kill_group(pid: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _hung(seconds: float) -> ChildHungError:
    return ChildHungError(
        f"must finish within {seconds:g} s of wall clock, was still running; raise --timeout"
    )


def _dead(code: int, output: str) -> ChildDiedError:
    how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
    tail = f"; its last output: {output}" if output else ""
    return ChildDiedError(f"must leave its process alive, ended it with {how}{tail}")


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    return f"{name} (out of memory?)" if name == "SIGKILL" else name
