"""Manage the worker processes of a run: start them, assign commands to them, and replace them.

A worker imports one suite and then serves commands about it, because importing the numeric libraries takes
longer than most rows. If the system can fork, a worker serves many commands at a time, each in a separate
process (``dpaudit.run.worker``). Otherwise it serves one command and is replaced. Workers with the same root
and seed are forked from one process (``dpaudit.core.processes.fork_server``), which runs no suite.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import dpaudit
from dpaudit.core.harness import is_harness_module
from dpaudit.core.processes.child import Answer, Child, ChildDiedError
from dpaudit.core.processes.fork_server import CAN_FORK, Forked, ForkServer
from dpaudit.run.targets import SuiteFile

__all__ = ["FRESH_SEEDS", "IMPORT_SECONDS", "Pool", "available_cpus"]

#: The hash seeds and global seeds of the two fresh processes that check a program. Ordinary workers have 0.
FRESH_SEEDS = (1, 2)

#: The child imports dpaudit from the folder where the parent found it, and then removes that folder from its
#: path, so that nothing else in it can be imported. The suite's root comes first on its path.
_BOOTSTRAP = (
    "import os, sys; folder = sys.argv.pop(1); folder and os.chdir(folder); "
    "sys.path.insert(0, sys.argv[1]); from dpaudit.run.worker import {0}; "
    "sys.path.pop(0); {0}(sys.argv[2], *map(int, sys.argv[3:]))"
)

#: Each worker uses one thread of linear algebra. Otherwise the last digits of a sum depend on the machine's
#: load and on --jobs. It also makes forking safe, because a library without threads holds no lock then.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}

#: The time limit in seconds for importing one suite.
IMPORT_SECONDS = 120.0

#: The time in seconds beyond a command's limit for a worker to report that the command ran out of time.
GRACE_SECONDS = 10.0
#: The number of idle workers to keep, the last used ones. A worker takes some hundred megabytes.
KEPT = 6


def available_cpus() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _command(function: str, root: Path, seed: int, *, folder: str) -> list[str]:
    """Return the command for a process that calls a function of ``dpaudit.run.worker``.

    The process runs in ``folder`` ("" means the folder of this process). The function gets a root and a seed.
    """
    location = str(Path(dpaudit.__file__).resolve().parent.parent)
    return [sys.executable, "-P", "-c", _BOOTSTRAP.format(function), folder, location, str(root), str(seed)]


def _environment(seed: int) -> dict[str, str]:
    return os.environ | _ONE_THREAD | {"PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8"}


class _ForkServers:
    """The processes from which workers are forked, one for each root and seed.

    Such a process imports the modules of the harness that earlier suites have imported before it forks again.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._started: dict[tuple[Path, int], ForkServer] = {}
        self._modules: set[str] = set()
        self._closed = False

    def fork(self, root: Path, seed: int, output: IO[bytes]) -> Forked | None:
        """Return a worker that prints to ``output``, or ``None`` if the system cannot fork."""
        found = self._fork_server(root, seed)
        return found and found[0].start(output, modules=found[1])

    def prepare(self, root: Path, seed: int) -> None:
        """Start the fork server and let it import modules in advance, without waiting for it."""
        with suppress(OSError):  # the worker that needs it reports the error
            found = self._fork_server(root, seed)
            if found:
                found[0].prepare(found[1])

    def _fork_server(self, root: Path, seed: int) -> tuple[ForkServer, list[str]] | None:
        """Return the fork server and the modules that it must import, or ``None`` without fork."""
        with self._lock:
            if not CAN_FORK or self._closed:
                return None
            if (root, seed) not in self._started:
                command = _command("serve_workers", root, seed, folder=self.folder)
                self._started[root, seed] = ForkServer(command, environment=_environment(seed))
            return self._started[root, seed], sorted(self._modules)

    def share(self, modules: Iterable[str]) -> None:
        """Add modules that a suite has imported, of the harness only."""
        with self._lock:
            self._modules.update(name for name in modules if is_harness_module(name))

    def close(self) -> None:
        """End all fork servers. Call this only when no worker is needed any more."""
        with self._lock:
            self._closed = True
            for fork_server in self._started.values():
                fork_server.close()
            self._started.clear()


class _Worker:
    """A worker process for one suite. It can be used from several threads.

    ``seed`` is the seed of string hashes and of the global generators: 0, or another in fresh-process checks.
    """

    def __init__(self, file: SuiteFile, *, seed: int, fork_servers: _ForkServers) -> None:
        self.about = (file.path, seed)
        self.file = file
        self.users = 0  # the number of threads that use it, counted by the pool
        self._is_taken = False
        self._is_ended = False
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._loaded: Answer | None = None
        self._fork_servers = fork_servers
        self._child: Child | None = None  # started by the first thread that needs it, because that takes long

    def load(self) -> Answer:
        """Import the suite once and return its description with ``forks``, or ``failed`` with the reason.

        Raises ``ChildHungError`` or ``ChildDiedError`` with the reason. The worker cannot be used then.
        """
        with self._loading:
            if self._loaded is None:
                command: dict[str, Any] = {"do": "load", "path": str(self.file.path)}
                command |= {"module": self.file.module, "part": self.file.kind != "suite"}
                self._loaded = self._start().ask(command, seconds=IMPORT_SECONDS)
                self._fork_servers.share(self._loaded.pop("modules", ()))
            return self._loaded

    def _start(self) -> Child:
        """Return its process. End the process at once if the worker was ended meanwhile."""
        if self._child is not None:
            return self._child
        file, seed = self.file, self.about[1]
        try:
            child = Child(
                _command("main", file.root, seed, folder=self._fork_servers.folder),
                environment=_environment(seed),
                fork=lambda output: self._fork_servers.fork(file.root, seed, output),
            )
        except OSError as error:  # no memory, or no space for its output
            self._is_ended = True
            raise ChildDiedError(
                f"cannot start because the system refused a process ({error.strerror})",
                code="E-PROCESS-REFUSED",
            ) from error
        with self._lock:
            self._child = child
            if not self._is_ended:
                return child
        child.kill()
        raise ChildDiedError("cannot start because the run was stopped", code="E-RUN-STOPPED")

    def reserve(self) -> bool:
        """Return whether a command may be sent: always if each command gets a fork, otherwise once."""
        with self._lock:
            is_first, self._is_taken = not self._is_taken, True
        return is_first or bool(self.load()["forks"])

    def is_spent(self) -> bool:
        """Return whether it cannot serve another command."""
        if self._is_ended or (self._child is not None and self._child.is_gone()):
            return True
        loaded = self._loaded
        return loaded is not None and ("failed" in loaded or (self._is_taken and not loaded["forks"]))

    def ask(self, command: dict[str, Any], *, seconds: float) -> Answer:
        """Send a command and wait at most ``seconds`` for its answer.

        Raises ``ChildHungError`` or ``ChildDiedError`` with the reason.
        """
        grace = GRACE_SECONDS if self.load()["forks"] else 0.0
        return self._start().ask(command, seconds=seconds, grace=grace)

    def kill(self) -> None:
        """End the process and everything that it started at once, and start no other."""
        with self._lock:
            self._is_ended = True
            child = self._child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End the process and release its resources. Call this only when no thread uses it any more."""
        self.kill()
        if self._child is not None:
            self._child.close()


class Pool:
    """The workers of a run, started when they are needed. A pool can be used from several threads.

    Parameters
    ----------
    size : int
        The number of threads that send commands.
    seeds : sequence of int
        The seeds of fork servers that are prepared while suites with programs are imported.
    folder : str
        The folder that rows run in ("" means the folder of this process).
    """

    def __init__(self, size: int, *, seeds: Sequence[int] = (), folder: str = "") -> None:
        self._kept = max(KEPT, size)
        self._seeds = seeds
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []  # the workers that can still be used, the last used at the end
        self._fork_servers = _ForkServers(folder)
        self._closed = False

    def load(self, file: SuiteFile) -> Answer:
        """Return the description of a suite, or ``failed`` with the reason. Raises as ``ask`` does."""
        worker = self._claim(file, seed=0)
        try:
            loaded = worker.load()
        finally:
            self._release(worker)
        if any(row["has_fingerprint"] for row in loaded.get("rows", ())):
            for seed in self._seeds:
                self._fork_servers.prepare(file.root, seed)
        return loaded

    def ask(self, file: SuiteFile, command: dict[str, Any], *, seconds: float, seed: int = 0) -> Answer:
        """Return the answer of a worker for ``file`` with ``seed``, or ``failed`` if the suite's code raised.

        Raises ``ChildHungError`` or ``ChildDiedError`` with the reason if there is no answer within
        ``seconds``, counted from the end of the import.
        """
        while True:
            worker = self._claim(file, seed=seed)
            try:
                loaded = worker.load()
                if "failed" in loaded:
                    return {"value": None, **loaded}
                if worker.reserve():
                    return worker.ask(command, seconds=seconds)
            finally:
                self._release(worker)

    def forget(self, file: SuiteFile, *, seed: int) -> None:
        """End the workers of ``file`` with ``seed``, which will get no further command."""
        self._close_where(lambda worker: worker.about == (file.path, seed))

    def close(self) -> None:
        """End every process, including busy ones. Threads that wait for them get ``ChildDiedError``."""
        with self._lock:
            self._closed = True
            busy = [worker for worker in self._workers if worker.users]
        for worker in busy:
            worker.kill()  # the last thread that uses it closes it
        self._close_where(lambda worker: True)
        self._fork_servers.close()

    def _claim(self, file: SuiteFile, *, seed: int) -> _Worker:
        """Return a worker that can take a command, or a new worker."""
        about = (file.path, seed)
        with self._lock:
            if self._closed:
                raise ChildDiedError("cannot start because the run was stopped", code="E-RUN-STOPPED")
            worker = next((item for item in self._workers if item.about == about), None)
            if worker is None:
                worker = _Worker(file, seed=seed, fork_servers=self._fork_servers)
            else:
                self._workers.remove(worker)
            self._workers.append(worker)
            worker.users += 1
            return worker

    def _release(self, worker: _Worker) -> None:
        """Return a worker to the pool. End it if it is spent, and end the oldest if there are too many."""
        with self._lock:
            worker.users -= 1
            if worker.is_spent() and worker in self._workers:
                self._workers.remove(worker)
            ends = not worker.users and (worker not in self._workers or self._closed)
            idle = [item for item in self._workers if not item.users]
            oldest = idle[: -self._kept]
        if ends:
            worker.close()
        self._close_where(lambda item: item in oldest)

    def _close_where(self, matches: Callable[[_Worker], bool]) -> None:
        """End the workers that match and that no thread uses."""
        with self._lock:
            gone = [worker for worker in self._workers if not worker.users and matches(worker)]
            self._workers = [worker for worker in self._workers if worker not in gone]
        for worker in gone:
            worker.close()
