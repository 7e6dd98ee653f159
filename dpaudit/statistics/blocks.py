"""Blocks: trials run on any number of workers, and their results enter in the order of their seeds.

A test that may stop at any time is still wrong if *which* results it has seen depends on how long they
took. So results are handed over in fixed blocks, in seed order, and the test may stop only at the end of a
block: the verdict is the same for every number of workers. A trial that raises, or that exceeds its step
limit, is an outcome of its own; dropping it would bias what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from joblib import Parallel, delayed
from numpy.random import SeedSequence

from dpaudit.errors import InvalidParameterError

__all__ = ["Failure", "StepLimitError", "Steps", "run_in_blocks"]

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """The outcome of a trial that did not return: ``symbol`` is the exception's class name, ``reason`` its
    first line.
    """

    symbol: str
    reason: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure that an exception stands for."""
        return cls(type(error).__name__, (str(error).splitlines() or [""])[0][:200])


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


@dataclass(frozen=True)
class _Guarded(Generic[T]):
    """A trial whose exceptions are outcomes. A class, not a closure: workers receive it by pickling."""

    trial: Callable[[SeedSequence], T]

    def __call__(self, seed: SeedSequence) -> T | Failure:
        try:
            return self.trial(seed)
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
    guarded, queue, count = _Guarded(trial), iter(seeds), 0
    with Parallel(n_jobs=jobs) as pool:
        for size in _sizes(block_size):
            block = list(islice(queue, size))
            if not block:
                return count
            outcomes = (
                [guarded(seed) for seed in block]
                if jobs == 1
                else pool(delayed(guarded)(seed) for seed in block)
            )
            count += len(block)
            update(list(outcomes))
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
