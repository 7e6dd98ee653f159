"""The worker processes of a run: which there are, who may ask one, and when one is replaced.

A worker has imported one suite and serves it, since importing the numeric libraries takes longer than most
rows. Where the system can fork, one worker serves many commands at a time, each in a process of its own
(``dpaudit.run.worker``); elsewhere it serves one command and is replaced. Workers with the same root and
seed are forked from one process (``dpaudit.core.processes.fork_server``), which runs no suite.
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

#: Hash seeds and global seeds of the two fresh processes that check a program; ordinary workers have 0.
FRESH_SEEDS = (1, 2)

#: The child finds dpaudit where the parent found it, and nothing else there: the suite's root comes first on
#: its path.
_BOOTSTRAP = (
    "import os, sys; folder = sys.argv.pop(1); folder and os.chdir(folder); "
    "sys.path.insert(0, sys.argv[1]); from dpaudit.run.worker import {0}; "
    "sys.path.pop(0); {0}(sys.argv[2], *map(int, sys.argv[3:]))"
)

#: One thread of linear algebra a worker: otherwise the last digits of a sum depend on the machine's load and
#: on --jobs. It also makes forking safe: a library without threads holds no lock at that time.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}

#: Seconds that importing one suite may take.
IMPORT_SECONDS = 120.0

#: Seconds beyond a command's own in which a worker must say that the command ran out of time.
GRACE_SECONDS = 10.0
#: Workers without a command that are kept, the last used ones: a worker takes some hundred megabytes.
KEPT = 6


def available_cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _command(function: str, root: Path, seed: int, *, folder: str) -> list[str]:
    """What starts a process in ``folder`` ("" for this one's) that calls a function of
    ``dpaudit.run.worker`` with a root and a seed."""
    location = str(Path(dpaudit.__file__).resolve().parent.parent)
    return [sys.executable, "-P", "-c", _BOOTSTRAP.format(function), folder, location, str(root), str(seed)]


def _environment(seed: int) -> dict[str, str]:
    return os.environ | _ONE_THREAD | {"PYTHONHASHSEED": str(seed), "PYTHONIOENCODING": "utf-8"}


class _Nurseries:
    """For each root and seed the process from which its workers are forked.

    What the first suite has imported of the harness, it imports before it forks for the next one.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._started: dict[tuple[Path, int], ForkServer] = {}
        self._modules: set[str] = set()
        self._closed = False

    def fork(self, root: Path, seed: int, output: IO[bytes]) -> Forked | None:
        """A worker that prints to ``output``; ``None`` where the system cannot fork."""
        found = self._fork_server(root, seed)
        return found and found[0].start(output, modules=found[1])

    def prepare(self, root: Path, seed: int) -> None:
        """Start that process, and have it import what it can by now: nobody waits for it."""
        with suppress(OSError):  # the worker that needs it says why
            found = self._fork_server(root, seed)
            if found:
                found[0].prepare(found[1])

    def _fork_server(self, root: Path, seed: int) -> tuple[ForkServer, list[str]] | None:
        """That process and the modules that it has to import; ``None`` where the system cannot fork."""
        with self._lock:
            if not CAN_FORK or self._closed:
                return None
            if (root, seed) not in self._started:
                command = _command("serve_workers", root, seed, folder=self.folder)
                self._started[root, seed] = ForkServer(command, environment=_environment(seed))
            return self._started[root, seed], sorted(self._modules)

    def share(self, modules: Iterable[str]) -> None:
        """A suite has imported these modules of the harness."""
        with self._lock:
            self._modules.update(name for name in modules if is_harness_module(name))

    def close(self) -> None:
        """End them all; only once no worker is needed any more."""
        with self._lock:
            self._closed = True
            for fork_server in self._started.values():
                fork_server.close()
            self._started.clear()


class _Worker:
    """One worker process for one suite. Safe to use from several threads.

    ``seed`` is that of string hashes and of the global generators: 0, and others in the fresh-process checks.
    """

    def __init__(self, file: SuiteFile, *, seed: int, nurseries: _Nurseries) -> None:
        self.about = (file.path, seed)
        self.file = file
        self.users = 0  # threads that hold it, counted by the pool
        self._is_taken = False
        self._is_ended = False
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._loaded: Answer | None = None
        self._nurseries = nurseries
        self._child: Child | None = None  # started where it is asked, since that takes a while

    def load(self) -> Answer:
        """Import the suite, once: what it says of itself, ``forks``, or ``failed`` with the reason.

        Raises ``ChildHungError`` or ``ChildDiedError``, with the reason; the worker is of no more use then.
        """
        with self._loading:
            if self._loaded is None:
                command: dict[str, Any] = {"do": "load", "path": str(self.file.path)}
                command |= {"module": self.file.module, "part": self.file.kind != "suite"}
                self._loaded = self._start().ask(command, seconds=IMPORT_SECONDS)
                self._nurseries.share(self._loaded.pop("modules", ()))
            return self._loaded

    def _start(self) -> Child:
        """Its process, which is ended at once where the worker was ended meanwhile."""
        if self._child is not None:
            return self._child
        file, seed = self.file, self.about[1]
        try:
            child = Child(
                _command("main", file.root, seed, folder=self._nurseries.folder),
                environment=_environment(seed),
                fork=lambda output: self._nurseries.fork(file.root, seed, output),
            )
        except OSError as error:  # no memory, no room for its output
            self._is_ended = True
            raise ChildDiedError(
                f"must have a process of its own, the system refused one ({error.strerror})"
            ) from error
        with self._lock:
            self._child = child
            if not self._is_ended:
                return child
        child.kill()
        raise ChildDiedError("must not start once the run was stopped")

    def reserve(self) -> bool:
        """Whether a command may be sent: always where each gets a fork, else once."""
        with self._lock:
            is_first, self._is_taken = not self._is_taken, True
        return is_first or bool(self.load()["forks"])

    def is_spent(self) -> bool:
        """Whether it cannot serve another command."""
        if self._is_ended or (self._child is not None and self._child.is_gone()):
            return True
        loaded = self._loaded
        return loaded is not None and ("failed" in loaded or (self._is_taken and not loaded["forks"]))

    def ask(self, command: dict[str, Any], *, seconds: float) -> Answer:
        """Send a command and wait for its answer, at most ``seconds``.

        Raises ``ChildHungError`` or ``ChildDiedError``, with the reason.
        """
        grace = GRACE_SECONDS if self.load()["forks"] else 0.0
        return self._start().ask(command, seconds=seconds, grace=grace)

    def kill(self) -> None:
        """End the process, and whatever it started, at once; start none any more."""
        with self._lock:
            self._is_ended = True
            child = self._child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End the process and give back what it holds; only once nobody asks it any more."""
        self.kill()
        if self._child is not None:
            self._child.close()


class Pool:
    """The workers of a run, started as suites are asked. Safe to use from several threads.

    ``size`` is the number of threads that ask. Processes with ``seeds`` are prepared while suites with
    programs are imported. ``folder`` is the one that rows run in ("" for this process's).
    """

    def __init__(self, size: int, *, seeds: Sequence[int] = (), folder: str = "") -> None:
        self._kept = max(KEPT, size)
        self._seeds = seeds
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []  # those that may still be asked, the last used one at the end
        self._nurseries = _Nurseries(folder)
        self._closed = False

    def load(self, file: SuiteFile) -> Answer:
        """What a suite says of itself, or ``failed`` with the reason. Raises as ``ask`` does."""
        worker = self._claim(file, seed=0)
        try:
            loaded = worker.load()
        finally:
            self._release(worker)
        if any(row["has_fingerprint"] for row in loaded.get("rows", ())):
            for seed in self._seeds:
                self._nurseries.prepare(file.root, seed)
        return loaded

    def ask(self, file: SuiteFile, command: dict[str, Any], *, seconds: float, seed: int = 0) -> Answer:
        """The answer of a worker of ``file`` with ``seed``; ``failed`` where the suite's code raised.

        Raises ``ChildHungError`` or ``ChildDiedError``, with the reason, where there is none in
        ``seconds``, counted from when the suite has been imported.
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
        """End the workers of ``file`` with ``seed``: they are not asked again."""
        self._close_where(lambda worker: worker.about == (file.path, seed))

    def close(self) -> None:
        """End every process, busy ones too. Whoever waits for one gets ``ChildDiedError``."""
        with self._lock:
            self._closed = True
            busy = [worker for worker in self._workers if worker.users]
        for worker in busy:
            worker.kill()  # the last thread that asked it closes it
        self._close_where(lambda worker: True)
        self._nurseries.close()

    def _claim(self, file: SuiteFile, *, seed: int) -> _Worker:
        """A worker that may be asked, or a new one."""
        about = (file.path, seed)
        with self._lock:
            if self._closed:
                raise ChildDiedError("must not start once the run was stopped")
            worker = next((item for item in self._workers if item.about == about), None)
            if worker is None:
                worker = _Worker(file, seed=seed, nurseries=self._nurseries)
            else:
                self._workers.remove(worker)
            self._workers.append(worker)
            worker.users += 1
            return worker

    def _release(self, worker: _Worker) -> None:
        """Hand back a worker; end it where it is of no more use, and the oldest where there are too many."""
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
        """End the workers that match and that nobody asks."""
        with self._lock:
            gone = [worker for worker in self._workers if not worker.users and matches(worker)]
            self._workers = [worker for worker in self._workers if worker not in gone]
        for worker in gone:
            worker.close()
