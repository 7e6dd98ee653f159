"""Compute the rows of a run in processes of this machine, joblib's workers, or a Dask cluster.

The process that was started does the planning and writes the journal and the report. It sends one command at
a time (``dpaudit.run.remote``), so that every backend gives the same results, bit for bit.
"""

from __future__ import annotations

import os
import platform
import tempfile
import threading
import time
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.processes.child import Answer, ChildDiedError
from dpaudit.run.process import FRESH_SEEDS, Pool, available_cpus
from dpaudit.run.remote import Asked, Executor, RemoteError, Stamp, answer, end_run, stamp_of
from dpaudit.run.targets import SuiteFile

if TYPE_CHECKING:  # statistics load the distributions, which most runs need only in their workers
    from dpaudit.blackbox.statistics.cluster import TlsScheduler

__all__ = ["BACKENDS", "Backend", "start_backend"]

Backend = Literal["processes", "joblib", "dask"]

BACKENDS: tuple[str, ...] = get_args(Backend)

#: The time in seconds for workers to end what a stopped run is still doing.
END_SECONDS = 10


def start_backend(
    backend: Backend, *, jobs: int | None = None, scheduler: str | TlsScheduler | None = None
) -> tuple[Executor, int]:
    """Start a backend and return it with the number of rows that it runs at a time.

    Parameters
    ----------
    backend : "processes", "joblib" or "dask"
        The backend.
    jobs : int, optional
        The number of rows at a time. Default: the capacity of the machine or of the cluster.
    scheduler : str, optional
        The address of a Dask scheduler. Default: ``dask`` starts a cluster on this machine.

    Raises
    ------
    InvalidParameterError
        Packages are missing, no scheduler answers at the address, or the backend takes no scheduler.
    """
    if scheduler is not None and backend != "dask":
        raise InvalidParameterError(
            f"--scheduler requires --backend dask, got {backend}.", code="E-SCHEDULER-BACKEND"
        )
    if backend == "dask":
        cluster = _Dask(scheduler, jobs)
        return cluster, jobs or cluster.size()
    size = available_cpus() if jobs is None else jobs
    return (_Joblib(size) if backend == "joblib" else Pool(size, seeds=FRESH_SEEDS)), size


class _Remote:
    """A backend that imports suites here once, for the plan, and sends each command to another process."""

    def __init__(self) -> None:
        self._run = f"{platform.node()}-{os.getpid()}-{time.time_ns()}"
        self._folder = os.getcwd()
        self._here = Pool(1)
        self._stamps: dict[SuiteFile, Stamp] = {}
        self._also: dict[SuiteFile, tuple[str, ...]] = {}

    def load(self, file: SuiteFile) -> Answer:
        """Return the description of a suite, from a process of this machine."""
        found = self._here.load(file)
        self._also[file] = tuple(found.get("files", ()))
        self._stamps[file] = stamp_of(file, also=self._also[file])
        return found

    def ask(self, file: SuiteFile, command: dict[str, Any], *, seconds: float, seed: int = 0) -> Answer:
        """Return the answer of another process. Raises as ``Pool.ask`` does, and ``RemoteError``."""
        asked = Asked(
            run=self._run,
            folder=self._folder,
            path=str(file.path),
            root=str(file.root),
            label=file.label,
            also=self._also[file],
            stamp=self._stamps[file],
            command=command,
            seconds=seconds,
            seed=seed,
        )
        return self._send(asked)

    def forget(self, file: SuiteFile, *, seed: int) -> None:
        """Do nothing, because each process ends the workers that it has not used for long."""

    def close(self) -> None:
        """End the processes of this run, on this machine and on others."""
        self._here.close()
        self._end()

    @abstractmethod
    def _send(self, asked: Asked) -> Answer:
        """Send a command and wait for its answer."""

    @abstractmethod
    def _end(self) -> None:
        """End what the other processes are doing for this run."""


class _Joblib(_Remote):
    """A backend of the worker processes of joblib's default backend, on this machine."""

    def __init__(self, size: int) -> None:
        from joblib.externals.loky import ProcessPoolExecutor

        super().__init__()
        self._executor = ProcessPoolExecutor(max_workers=size)

    def _send(self, asked: Asked) -> Answer:
        from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        try:
            found: Answer = self._executor.submit(answer, asked).result()
        except BrokenProcessPool as error:
            raise RemoteError(
                "one of joblib's workers died. Use --resume, with fewer --jobs if memory ran out.",
                code="E-REMOTE-DIED",
            ) from error
        except ShutdownExecutorError as error:
            raise ChildDiedError("cannot start because the run was stopped", code="E-RUN-STOPPED") from error
        return found

    def _end(self) -> None:
        self._executor.shutdown(wait=False, kill_workers=True)


class _Dask(_Remote):
    """A Dask cluster: the cluster of a scheduler, or a cluster on this machine with one process a job."""

    def __init__(self, scheduler: str | TlsScheduler | None, jobs: int | None) -> None:
        from dpaudit.blackbox.statistics.cluster import connect, distributed, private_cluster

        distributed()
        super().__init__()
        self._cluster: Any = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        if scheduler is None:  # the folder is private to this user, and removed when the process ends
            self._scratch = tempfile.TemporaryDirectory(prefix="dpaudit-", ignore_cleanup_errors=True)
            self._cluster = private_cluster(jobs or available_cpus(), self._scratch.name)
        self._client: Any = connect(self._cluster or scheduler)

    def size(self) -> int:
        """Return the number of rows that the cluster can run at a time: the threads of all its workers."""
        threads = sum(self._client.nthreads().values())
        if not threads:
            raise InvalidParameterError(
                "a cluster must have at least one worker, got none. Start one, or pass --jobs to wait.",
                code="E-CLUSTER-EMPTY",
            )
        return int(threads)

    def _send(self, asked: Asked) -> Answer:
        from distributed import CancelledError, KilledWorker

        try:
            future = self._client.submit(answer, asked, pure=False)
            found: Answer = future.result()
        except DpauditError:
            raise
        except KilledWorker as error:
            raise ChildDiedError(
                f"ended {error.allowed_failures + 1} workers of the cluster, one by one",
                code="E-REMOTE-DIED",
            ) from error
        except (CancelledError, OSError, RuntimeError) as error:
            raise RemoteError(
                f"the cluster cannot be reached ({type(error).__name__}). Use --resume.",
                code="E-REMOTE-UNREACHABLE",
            ) from error
        return found

    def _end(self) -> None:
        ending = threading.Thread(target=self._end_cluster, daemon=True)
        ending.start()
        ending.join(3 * END_SECONDS)  # a frozen scheduler must not delay the report

    def _end_cluster(self) -> None:
        with suppress(Exception):  # the cluster may be gone already
            self._client.run(end_run, self._run, on_error="ignore")
        with suppress(Exception):
            self._client.close(timeout=END_SECONDS)
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.close(timeout=END_SECONDS)
        if self._scratch is not None:
            self._scratch.cleanup()
