"""Run each row in a fork of the process that has imported the suite, in a separate group and session.

Each child has a pipe that no other process of the run writes to, so its answer cannot be mistaken for that of
another row. It answers only from the process that was forked here, with the id of its command. When it has
answered, hung or died, its whole group is killed. Nothing here waits for the end of a pipe, so a process that
still holds the other side causes no delay.
"""

from __future__ import annotations

import os
import select
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# Bind the functions that a child needs after a row has run, so that a row cannot replace them.
from json import loads
from os import _exit, getpid
from typing import IO, Any, NoReturn

from dpaudit.core.processes.serving import Do, end_group, last_lines, message, send

__all__ = ["serve_forked"]

Prepare = Callable[[dict[str, Any]], None]

#: Seconds between two checks whether a child is still alive.
POLL_SECONDS = 0.1


@dataclass
class _Child:
    """A running row: the process ``pid``, the pipe for its answer, and the file for its output."""

    command: str
    pid: int
    pipe: int
    output: IO[bytes]
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    is_open: bool = True

    def receive(self) -> None:
        """Read the available data of the pipe."""
        while self.is_open:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return
            self.received += data
            self.is_open = bool(data)

    def answer(self) -> bytes | None:
        """Return its answer if it is complete and belongs to this command, else ``None``."""
        start = message(self.command, answer=None).partition(b"null")[0]
        whole = self.received.split(b"\n")[:-1] if b"\n" in self.received[-1:] else []
        return next((bytes(line) + b"\n" for line in whole if line.startswith(start)), None)

    def end(self) -> None:
        """Kill the process and everything that it started."""
        for kill in (os.killpg, os.kill):  # the group, or only the child if it has not made its group yet
            try:
                kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            break


def serve_forked(commands: int, answers: int, do: Do, prepare: Prepare) -> None:
    """Serve commands from one pipe to another, each in a fork, until the first pipe is closed.

    Parameters
    ----------
    commands, answers : int
        The descriptors of the two pipes. A command's ``seconds`` are its limit of wall clock.
    do : callable
        ``do(command)`` returns the answer to a command, and raises nothing.
    prepare : callable
        ``prepare(command)`` is called in this process before the fork, so that forks share its imports. It
        raises nothing.
    """
    _Server(commands, answers, do, prepare).serve()


class _Server:
    def __init__(self, commands: int, answers: int, do: Do, prepare: Prepare) -> None:
        self.commands = commands
        self.answers = answers
        self.do = do
        self.prepare = prepare
        self.children: list[_Child] = []
        self.unread = bytearray()

    def serve(self) -> None:
        while True:
            pipes = [child.pipe for child in self.children if child.is_open]
            ready, _, _ = select.select(
                [self.commands, *pipes], [], [], POLL_SECONDS if self.children else None
            )
            if self.commands in ready:
                self._take_commands()
            for child in list(self.children):
                self._poll(child)

    def _take_commands(self) -> None:
        data = os.read(self.commands, 1 << 16)
        if not data:
            for child in self.children:
                child.end()
            end_group()
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            self._start(loads(line))

    def _start(self, command: dict[str, Any]) -> None:
        self.prepare(command)
        try:
            child = self._fork(command)
        except OSError as error:
            reason = f"a row cannot start because the system refused a process ({error.strerror})"
            answer = {"failed": reason, "traceback": None, "value": None}
            send(self.answers, message(command["id"], answer=answer))
            return
        self.children.append(child)
        send(self.answers, message(command["id"], started=child.pid))

    def _fork(self, command: dict[str, Any]) -> _Child:
        output = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        reading, writing = os.pipe()
        try:
            pid = os.fork()
            if pid == 0:
                self._run(command, writing, output)
        finally:
            os.close(writing)  # only the child has this end
        os.set_blocking(reading, False)
        return _Child(command["id"], pid, reading, output, deadline=time.monotonic() + command["seconds"])

    def _run(self, command: dict[str, Any], writing: int, output: IO[bytes]) -> NoReturn:
        """Execute the command in the child, send the answer, and exit."""
        try:
            own = getpid()
            os.setsid()
            for descriptor in (self.commands, self.answers, *(child.pipe for child in self.children)):
                os.close(descriptor)
            for descriptor in (1, 2):
                os.dup2(output.fileno(), descriptor)
            answer = self.do(command)
            if getpid() == own:  # otherwise this is a process that the row forked, and the row itself answers
                send(writing, message(command["id"], answer=answer))
                _exit(0)
        except BaseException as error:
            send(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
        finally:
            _exit(1)

    def _poll(self, child: _Child) -> None:
        """Read the messages of a child. If it answered, died or ran out of time, report this and end it."""
        child.receive()
        line = child.answer()
        ended, status = (0, 0) if line else os.waitpid(child.pid, os.WNOHANG)
        if ended:
            child.receive()  # it may have written before it ended
            code = os.waitstatus_to_exitcode(status)
            line = child.answer() or message(child.command, ended=code, output=last_lines(child.output))
        elif not line and time.monotonic() >= child.deadline:
            line = message(child.command, hung=True)
        if line:
            self.children.remove(child)
            child.end()
            if not ended:
                os.waitpid(child.pid, 0)
            os.close(child.pipe)
            child.output.close()
            send(self.answers, line)
