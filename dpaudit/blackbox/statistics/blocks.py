"""Blocks: trials run on any number of workers, and their results enter in the order of their seeds.

A test that may stop at any time is still wrong if *which* results it has seen depends on how long they
took. So results are handed over in fixed blocks, in seed order, and the test may stop only at the end of a
block: the verdict is the same for every number of workers. A trial that raises, or that exceeds its step
limit, is an outcome of its own; dropping it would bias what is left.
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
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.raised import held_by

__all__ = ["Failure", "LostWorkersError", "StepLimitError", "Steps", "Workers", "run_in_blocks"]

T = TypeVar("T")

#: Seconds that a cluster has to take leave.
CLOSE_SECONDS = 10
#: Characters of the message of an exception that an outcome shows.
MESSAGE = 200


@dataclass(frozen=True)
class Failure:
    """The outcome of a trial that did not return: ``symbol`` is the exception's class name, ``reason`` its
    first line, ``held`` a digest of all that it holds (``dpaudit.core.raised``).
    """

    symbol: str
    reason: str
    held: str = field(default="", compare=False, repr=False)

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure that an exception stands for."""
        try:
            text = str(error)
        except Exception:  # an exception of the program's own may fail here as well
            text = ""
        held = hashlib.sha256(held_by(error).encode(errors="surrogatepass")).hexdigest()
        return cls(type(error).__name__, (text.splitlines() or [""])[0][:MESSAGE], held)


class StepLimitError(Exception):
    """A trial took more steps than its limit. Raised inside the trial; it becomes the outcome
    ``Failure("StepLimitError", ...)``.
    """


class Steps:
    """A counter that a trial ticks, so that a loop that would not end becomes an outcome after a fixed
    number of steps.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise InvalidParameterError(
                f"limit must be 1 or more, got {limit}; pass the largest number of steps allowed."
            )
        self.limit = limit
        self.taken = 0

    def tick(self, count: int = 1) -> None:
        """Count ``count`` more steps; raises ``StepLimitError`` beyond the limit."""
        self.taken += count
        if self.taken > self.limit:
            raise StepLimitError(f"more than {self.limit} steps")


class LostWorkersError(DpauditError):
    """A cluster lost the workers that a task ran on, one after another, or is gone itself."""


class Workers:
    """Calls tasks on ``jobs`` joblib workers (-1: all processors), or on the Dask cluster of the address
    ``scheduler``, and returns their results in the order of the tasks.

    A context manager. With one job and no cluster the tasks run here. The first exception of a task is
    raised.
    """

    def __init__(self, jobs: int = 1, *, scheduler: str | TlsScheduler | None = None) -> None:
        if jobs == 0 or jobs < -1:
            raise InvalidParameterError(
                f"jobs must be a positive number or -1 for all processors, got {jobs}; pass 1."
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
            with suppress(Exception):  # a cluster that is gone has nothing left to close
                self._client.close(timeout=CLOSE_SECONDS)

    def run(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """The tasks' results, in order. Raises ``LostWorkersError`` where a cluster could not finish them; a
        worker that it loses once is none: its tasks run again."""
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
            raise LostWorkersError(f"{ended} workers of the cluster ended, one by one") from error
        except (CancelledError, OSError) as error:
            raise LostWorkersError(f"the cluster is not reachable ({type(error).__name__})") from error
        return found


@dataclass(frozen=True)
class _Guarded(Generic[T]):
    """A trial whose exceptions are outcomes. A class, not a closure: workers receive it by pickling."""

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
    """Run ``trial(seed)`` for the seeds in order, a block at a time, until ``stop()`` or the seeds end;
    return the number of trials.

    ``block_size``: one size, or the size of each block in turn (the last one is repeated). After each block
    ``update`` receives its outcomes in seed order, then ``stop`` is asked. ``jobs``: joblib workers (-1:
    all processors); it changes no result. An error of ``update`` or ``stop`` is the caller's and is raised.
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
        raise InvalidParameterError(
            f"block_size must be 1 or more, got {size}; pass the number of trials between two looks."
        )
    while True:
        yield size
