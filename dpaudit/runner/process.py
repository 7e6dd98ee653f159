"""Worker processes as the parent sees them: start one, ask it, and find out when it hangs or dies.

A worker is persistent, since importing the numeric libraries takes longer than most rows; one that hung or
died is replaced.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

import dpaudit
from dpaudit.errors import MechanismError

__all__ = ["Pool", "Worker", "WorkerDiedError", "WorkerHungError", "available_cpus"]

#: The child finds dpaudit where the parent found it, and nothing else there: the suite's root comes first on
#: its path.
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dpaudit.runner.worker import main; "
    "sys.path.pop(0); main(sys.argv[2], int(sys.argv[3]))"
)

#: One thread of linear algebra a worker: otherwise the last digits of a sum depend on the machine's load and
#: on --jobs.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}

OUTPUT_LINES = 8
POLL_SECONDS = 0.5
#: Seconds in which an idle worker must leave when asked to.
LEAVE_SECONDS = 2.0


def available_cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerDiedError(MechanismError):
    """The worker process ended while it was asked."""


class WorkerHungError(MechanismError):
    """The worker did not answer in time."""


class Worker:
    """One worker process for the suites of one root.

    ``seed`` is that of string hashes and of the global generators: 0, and others in the fresh-process checks.
    """

    def __init__(self, root: Path, *, seed: int) -> None:
        self.root = root
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the worker
        location = str(Path(dpaudit.__file__).resolve().parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOTSTRAP, location, str(root), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            env=os.environ | _ONE_THREAD | {"PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8"},
            # A group of its own: Ctrl-C reaches only the parent, and a kill reaches what a row started.
            start_new_session=True,
        )
        self._commands = cast(IO[bytes], self._process.stdin)  # both exist, since we asked for pipes
        self._pipe = cast(IO[bytes], self._process.stdout)
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, command: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        """Send a command and wait for its answer, at most ``timeout`` seconds.

        Raises ``WorkerHungError`` or ``WorkerDiedError``, with the reason; the worker is of no more use then.
        """
        self._output.seek(0)  # the child writes where we are: what it says from here on is about this command
        self._output.truncate()
        try:
            self._commands.write(json.dumps(command).encode() + b"\n")
            self._commands.flush()
        except OSError:
            raise self._died() from None
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                line = self._answers.get(timeout=max(0.0, min(left, POLL_SECONDS)))
            except queue.Empty:
                # The pipe may stay open after the worker's death, where a child that the row forked holds it.
                if self._process.poll() is not None and self._answers.empty():
                    raise self._died() from None
                if left <= 0:
                    self.kill()
                    raise WorkerHungError(
                        f"must finish within {timeout:g} s of wall clock, was still running; raise --timeout"
                    ) from None
                continue
            if line is None or not line.endswith(b"\n"):  # nothing, or half an answer
                raise self._died()
            answer: dict[str, Any] = json.loads(line)
            return answer

    def kill(self) -> None:
        """End the process, and whatever it started, at once."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        except ProcessLookupError:
            pass
        self._process.wait()

    def close(self) -> None:
        """Ask an idle process to leave; end it if it does not."""
        try:
            self._commands.close()
            self._process.wait(timeout=LEAVE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.kill()
        self._reader.join(timeout=LEAVE_SECONDS)
        self._pipe.close()
        self._output.close()

    def _read(self) -> None:
        for line in self._pipe:
            self._answers.put(line)
        self._answers.put(None)

    def _died(self) -> WorkerDiedError:
        self.kill()
        code = self._process.returncode
        how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
        self._output.seek(0)
        said = self._output.read().decode(errors="replace").strip().splitlines()[-OUTPUT_LINES:]
        tail = f"; its last output: {' | '.join(said)}" if said else ""
        return WorkerDiedError(f"must leave its process alive, ended it with {how}{tail}")


class Pool:
    """At most ``size`` workers, each of one root. Safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def take(self, root: Path) -> Worker:
        """An idle worker of ``root``, or a new one.

        An idle worker of another root makes room where there are too many.
        """
        with self._lock:
            worker = next((item for item in self._idle if item.root == root), None)
            leaves = None
            if worker is not None:
                self._idle.remove(worker)
                self._busy.add(worker)
            elif self._idle and len(self._idle) + len(self._busy) >= self._size:
                leaves = self._idle.pop(0)
        if leaves is not None:
            leaves.close()
        return worker or self._start(root, seed=0)

    def fresh(self, root: Path, *, seed: int) -> Worker:
        """A new process with other hash and global seeds. Never re-used: give it back with ``drop``."""
        return self._start(root, seed=seed)

    def give(self, worker: Worker) -> None:
        """Hand back a worker that answered."""
        with self._lock:
            self._busy.discard(worker)
            if not self._closed:
                self._idle.append(worker)
                return
        worker.close()

    def drop(self, worker: Worker) -> None:
        """Hand back a worker that is of no more use."""
        with self._lock:
            self._busy.discard(worker)
        worker.close()

    def close(self) -> None:
        """End every process, busy ones too. Whoever waits for one gets ``WorkerDiedError``."""
        with self._lock:
            self._closed = True
            busy, idle = list(self._busy), list(self._idle)
            self._idle.clear()
        for worker in busy:
            worker.kill()  # the thread that asked it closes it
        for worker in idle:
            worker.close()

    def _start(self, root: Path, *, seed: int) -> Worker:
        with self._lock:  # under the lock, so that no worker starts behind the back of ``close``
            if self._closed:
                raise WorkerDiedError("must not start once the run was stopped")
            worker = Worker(root, seed=seed)
            self._busy.add(worker)
        return worker


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    return f"{name} (out of memory?)" if name == "SIGKILL" else name
