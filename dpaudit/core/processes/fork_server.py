"""Fork processes from a common parent that has imported the modules that they share.

The common parent (``serve_starts``) imports modules on request, forks, and reports when a child has ended. It
does nothing else, and no code of a suite runs in it. A child runs in a separate session and holds no
resources of its siblings: the ends of its pipes come with the request, and the common parent closes them
after the fork. If a process cannot be forked, ``ForkServer.start`` returns ``None``, and the caller starts a
process in the ordinary way.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from json import dumps, loads
from os import _exit
from queue import SimpleQueue
from typing import IO, NoReturn

from dpaudit.core.processes.serving import is_single_threaded

__all__ = ["CAN_FORK", "ForkServer", "Forked", "serve_starts"]

#: Whether this system can fork and send open files to another process.
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")

#: Seconds between two checks for children that have ended.
POLL_SECONDS = 0.01

_CHUNK = 1 << 16


class Forked:
    """A process forked by the common parent, with the methods of ``subprocess.Popen`` that ``Child`` uses."""

    stdin: IO[bytes]
    stdout: IO[bytes]

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None
        self._ended = threading.Event()

    def end(self, code: int) -> None:
        """Record the end of the process: its exit code, or minus the number of a signal."""
        self._code = code
        self._ended.set()

    def poll(self) -> int | None:
        """Return its exit code if it has ended, else ``None``."""
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code. Raises ``subprocess.TimeoutExpired``."""
        self._ended.wait(timeout)
        if self._code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return self._code

    def kill(self) -> None:
        """Kill the process if it has not ended."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """The client of a common parent. It can be used from several threads.

    ``command`` starts the common parent. The number of a socket for ``serve_starts`` is appended to it.
    Raises ``OSError`` if the system refuses the process.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._children: dict[int, Forked] = {}
        self._replies: SimpleQueue[Forked | None] = SimpleQueue()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C reaches only the parent
            )
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, output: IO[bytes], *, modules: Iterable[str] = ()) -> Forked | None:
        """Return a new child that prints to ``output``, or ``None`` if it cannot be forked.

        The common parent imports ``modules`` first.
        """
        question, writing = os.pipe()
        reading, answer = os.pipe()
        try:
            child = self._ask([question, answer, output.fileno()], modules)
        finally:
            os.close(question)
            os.close(answer)
        stdin, stdout = os.fdopen(writing, "wb", buffering=0), os.fdopen(reading, "rb", buffering=0)
        if child is None:
            stdin.close()
            stdout.close()
            return None
        child.stdin, child.stdout = stdin, stdout
        return child

    def prepare(self, modules: Iterable[str]) -> None:
        """Let the common parent import ``modules`` in advance, without waiting for it."""
        with self._lock, suppress(OSError):  # if it is gone, the next start reports it
            self._socket.sendall(_line_of(modules))

    def _ask(self, ends: Sequence[int], modules: Iterable[str]) -> Forked | None:
        line = _line_of(modules)
        with self._lock:  # one request at a time, so that each reply belongs to the last request
            try:
                sent = socket.send_fds(self._socket, [line], ends)
                self._socket.sendall(line[sent:])
            except OSError:  # it is gone
                return None
            return self._replies.get()

    def _read(self) -> None:
        """Read the messages of the common parent: a child's start, its end with its code, or a refusal."""
        with self._socket.makefile("rb") as lines, suppress(OSError):
            for line in lines:
                pid, code = loads(line)
                if code is not None:
                    self._children.pop(pid).end(code)
                elif pid is not None:
                    self._children[pid] = Forked(pid)
                    self._replies.put(self._children[pid])
                else:
                    self._replies.put(None)
        for child in self._children.values():  # no process would report their end
            child.kill()
            child.end(-signal.SIGKILL)
        self._replies.put(None)

    def close(self) -> None:
        """End the common parent. Call this only when no child is needed any more."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.kill()
        self._process.wait()
        self._socket.close()


def _line_of(modules: Iterable[str]) -> bytes:
    return dumps(sorted(modules)).encode() + b"\n"


def serve_starts(descriptor: int, run: Callable[[], object]) -> NoReturn:
    """Fork a child for each request on the socket ``descriptor``, until the socket is closed.

    A request without pipes asks only to import modules, and has no reply. A child calls ``run`` with its two
    pipes as standard input and output, and exits when ``run`` returns.
    """
    requests = socket.socket(fileno=descriptor)
    children: set[int] = set()
    while True:
        if select.select([requests], [], [], POLL_SECONDS if children else None)[0]:
            modules, ends = _request(requests)
            for name in modules:
                with suppress(BaseException):  # the child that needs the module reports the error
                    importlib.import_module(name)
            if ends:
                pid = _fork(requests, ends, run)
                if pid is not None:
                    children.add(pid)
                _report(requests, pid, None)
        for child in list(children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                children.remove(child)
                _report(requests, child, os.waitstatus_to_exitcode(status))


def _request(requests: socket.socket) -> tuple[list[str], list[int]]:
    """Return the modules to import and a child's three descriptors, or none.

    The process exits after the last request.
    """
    text, ends = b"", list[int]()
    while not text.endswith(b"\n"):
        more, new, _, _ = socket.recv_fds(requests, _CHUNK, 3)
        if not more:
            _exit(0)
        text, ends = text + more, ends + new
    modules = [name for line in text.splitlines() for name in loads(line)]  # requests may arrive together
    return modules, ends


def _fork(requests: socket.socket, ends: list[int], run: Callable[[], object]) -> int | None:
    """Return a child's process id, or ``None`` if the system refuses it or another thread may hold a lock."""
    try:
        pid = os.fork() if is_single_threaded() else None
    except OSError:
        pid = None
    if pid == 0:
        _be_child(requests, ends, run)
    for end in ends:
        os.close(end)
    return pid


def _be_child(requests: socket.socket, ends: list[int], run: Callable[[], object]) -> NoReturn:
    try:
        os.setsid()
        requests.close()
        for number, end in enumerate(ends):
            os.dup2(end, number)
            os.close(end)
        run()
    except BaseException:
        traceback.print_exc()
    finally:
        _exit(1)


def _report(requests: socket.socket, pid: int | None, code: int | None) -> None:
    try:
        requests.sendall(dumps([pid, code]).encode() + b"\n")
    except OSError:  # the client is gone
        _exit(0)
