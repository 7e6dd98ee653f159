"""Run trials in blocks on any number of workers, and use their results in the order of their seeds.

A test that may stop at any time is still wrong if the set of available results depends on how long they took.
Therefore results arrive in fixed blocks, in seed order, and the test may stop only at the end of a block. The
verdict is the same for every number of workers. A trial that raises, or that exceeds its step limit, is a
separate outcome, because dropping it would bias the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar

from joblib import Parallel, delayed
from numpy.random import SeedSequence

from dpaudit.blackbox.statistics.cluster import TlsScheduler, connect, packed, run_packed
from dpaudit.core.errors import CodedError, InvalidParameterError
from dpaudit.core.raised import held_by

__all__ = ["Failure", "LostWorkersError", "StepLimitError", "Steps", "Workers", "run_in_blocks"]

T = TypeVar("T")

#: Time limit for closing a cluster, in seconds.
CLOSE_SECONDS = 10
#: Largest number of characters of an exception's message in an outcome.
MESSAGE = 200


@dataclass(frozen=True)
class Failure:
    """Outcome of a trial that raised an exception.

    ``symbol`` is the class name of the exception, ``reason`` its first line, and ``held`` a digest of
    everything that it holds (``dpaudit.core.raised``).
    """

    symbol: str
    reason: str
    held: str = field(default="", compare=False, repr=False)

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Convert an exception to a failure."""
        try:
            text = str(error)
        except Exception:  # an exception class of the program may fail here as well
            text = ""
        held = hashlib.sha256(held_by(error).encode(errors="surrogatepass")).hexdigest()
        return cls(type(error).__name__, (text.splitlines() or [""])[0][:MESSAGE], held)


class StepLimitError(Exception):
    """Error inside a trial that exceeds its step limit. It becomes ``Failure("StepLimitError", ...)``."""


class Steps:
    """Step counter of a trial. It turns an endless loop into an outcome after ``limit`` steps."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise InvalidParameterError(f"limit must be at least 1, got {limit}.", code="E-STEP-LIMIT-RANGE")
        self.limit = limit
        self.taken = 0

    def tick(self, count: int = 1) -> None:
        """Count ``count`` more steps, and raise ``StepLimitError`` beyond the limit."""
        self.taken += count
        if self.taken > self.limit:
            raise StepLimitError(f"more than {self.limit} steps")


class LostWorkersError(CodedError):
    """Error if a cluster lost one worker after another on a task, or is not reachable."""

    code = "E-WORKERS-LOST"


class Workers:
    """Context manager that runs tasks on workers and returns their results in the order of the tasks.

    The workers are ``jobs`` joblib workers (-1: all processors), or the Dask cluster at the address
    ``scheduler``. With one job and no cluster, the tasks run in this process. The first exception of a task
    is raised.
    """

    def __init__(self, jobs: int = 1, *, scheduler: str | TlsScheduler | None = None) -> None:
        if jobs == 0 or jobs < -1:
            raise InvalidParameterError(
                f"jobs must be a number of workers, or -1 for all processors, got {jobs}.",
                code="E-JOBS-RANGE",
            )
        self._jobs = jobs
        self._pool = Parallel(n_jobs=jobs)
        self._client: Any = None if scheduler is None else connect(scheduler)

    def __enter__(self) -> Workers:
        if self._jobs != 1:
            self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._jobs != 1:
            self._pool.__exit__(*error)
        if self._client is not None:
            with suppress(Exception):  # the cluster may be unreachable by now
                self._client.close(timeout=CLOSE_SECONDS)

    def run(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """Return the results of the tasks in order.

        If a cluster loses a worker, its tasks run again. Raises ``LostWorkersError`` if the cluster could not
        finish them.
        """
        if self._client is not None:
            return self._on_cluster(list(tasks))
        if self._jobs == 1:
            return [task() for task in tasks]
        return list(self._pool(delayed(task)() for task in tasks))

    def _on_cluster(self, tasks: list[Callable[[], T]]) -> list[T]:
        from distributed import CancelledError, KilledWorker

        sent = [packed(task) for task in tasks]
        try:
            futures = [self._client.submit(run_packed, item, pure=False) for item in sent]
            found: list[T] = self._client.gather(futures)
        except KilledWorker as error:
            ended = error.allowed_failures + 1
            raise LostWorkersError(
                f"{ended} workers of the cluster ended, one after another", code="E-WORKERS-LOST"
            ) from error
        except (CancelledError, OSError) as error:
            raise LostWorkersError(
                f"the cluster is not reachable ({type(error).__name__})", code="E-CLUSTER-UNREACHABLE"
            ) from error
        return found


@dataclass(frozen=True)
class _Guarded(Generic[T]):
    """Trial whose exceptions are outcomes. It is a class because workers receive it by pickling."""

    trial: Callable[[SeedSequence], T]
    seed: SeedSequence

    def __call__(self) -> T | Failure:
        try:
            return self.trial(self.seed)
        except Exception as error:
            return Failure.of(error)


def run_in_blocks(
    trial: Callable[[SeedSequence], T],
    seeds: Iterable[SeedSequence],
    *,
    block_size: int | Iterable[int],
    update: Callable[[list[T | Failure]], None],
    stop: Callable[[], bool],
    jobs: int = 1,
) -> int:
    """Run ``trial(seed)`` for the seeds in order, block by block, and return the number of trials.

    Parameters
    ----------
    trial : callable
        ``trial(seed) -> outcome``. An exception becomes a ``Failure``.
    seeds : iterable of SeedSequence
        The run ends after the last seed.
    block_size : int or iterable of int
        One size, or the size of each block in turn. The last size is repeated.
    update : callable
        Receives the outcomes of each block in seed order. Its errors are raised.
    stop : callable
        Called after ``update``. The run ends if it returns True. Its errors are raised.
    jobs : int, default 1
        Number of joblib workers, or -1 for all processors. It changes no result.
    """
    queue, count = iter(seeds), 0
    with Workers(jobs) as workers:
        for size in _sizes(block_size):
            outcomes = workers.run([_Guarded(trial, seed) for seed in islice(queue, size)])
            if not outcomes:
                return count
            count += len(outcomes)
            update(outcomes)
            if stop():
                return count
    return count


def _sizes(block_size: int | Iterable[int]) -> Iterator[int]:
    size = 0
    for size in [block_size] if isinstance(block_size, int) else block_size:
        if size < 1:
            break
        yield size
    if size < 1:
        raise InvalidParameterError(f"block_size must be at least 1, got {size}.", code="E-BLOCK-SIZE-RANGE")
    while True:
        yield size
