"""Running a black box: each call with its own limit, each chunk of calls with its own generator.

A chunk is a fixed number of calls on one input. Its generator is spawned from the check's seed by (pair,
block, input, chunk), so that the outputs do not depend on the number of workers. An exception is an outcome
(``Failure``); a call that exceeds the wall-clock limit is none (``CallTooLongError``), because an outcome
must not depend on the machine's load: its block is left out and the runs end.

Workers receive the mechanism by pickling, and with it the state of any generator that it holds: each task
would draw the same numbers. So a few tasks are also run here, and workers are given up where they disagree.
"""

from __future__ import annotations

import math
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib.externals.loky.process_executor import BrokenProcessPool

from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.statistics.blocks import Failure, LostWorkersError, Workers
from dpaudit.core.errors import DpauditError, MechanismError

__all__ = [
    "CallTooLongError",
    "Chunk",
    "OutOfTimeError",
    "UnfitForWorkersError",
    "can_limit_time",
    "chunks_of",
    "limit_calls",
    "run_compared",
]

#: Calls that share one generator: small enough to keep several workers busy, and in a long block enough of
#: them to make its cost vanish. They depend on the block's length alone, never on the number of workers.
CALLS_PER_CHUNK = 16
CHUNKS_PER_BLOCK = 64
CALLS_PER_BATCH = 2**16


#: A chunk of more calls is not repeated here only to compare it.
MAX_COMPARED = 4096
#: Calls shorter than this many seconds cost less here than on their way to a worker and back.
WORTH_SENDING = 0.005
#: A timer of 0 seconds would be none.
SHORTEST_TIMER = 1e-6


class OutOfTimeError(DpauditError):
    """The time for the whole check was over between two calls; the block is dropped."""


class CallTooLongError(MechanismError):
    """A call did not return within its limit."""


class UnfitForWorkersError(DpauditError):
    """The mechanism must run in one process; the text says why."""


class _TimeLimit(BaseException):
    """Raised inside a call by the timer. Not an ``Exception``: a mechanism that catches all of these must
    not catch this.
    """


def can_limit_time() -> bool:
    """Whether a call can be interrupted here: only in the main thread, and only where the system has
    interval timers.
    """
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class _Limit:
    """The wall-clock limit of one call. The timer of the system is set once for many calls; when it fires it
    looks how long the present call has lasted, so that a call costs two stores and one look at the clock.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: When the present call began; infinite between calls.
        self.started = math.inf

    def interrupt(self, signum: int, frame: object) -> None:
        """Stop a call that has lasted too long; otherwise look again when it will have."""
        left = self.seconds - (time.monotonic() - self.started)
        if left <= 0:
            # It fires again every second, in case a bare `except` swallows the first interruption.
            signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
            raise _TimeLimit
        signal.setitimer(signal.ITIMER_REAL, max(min(left, self.seconds), SHORTEST_TIMER))


#: Limits in force, the innermost last.
_limits: list[_Limit] = []


@contextmanager
def limit_calls(seconds: float | None) -> Iterator[_Limit | None]:
    """Limit each call below to ``seconds``; None where there is no limit, or where none can be had. Within
    itself, at the same number of seconds, it is the limit in force. A timer that was running before is
    restored at the end.
    """
    if seconds is None or not can_limit_time():
        yield None
        return
    if _limits and _limits[-1].seconds == seconds:
        yield _limits[-1]
        return
    limit = _Limit(seconds)
    remaining = signal.setitimer(signal.ITIMER_REAL, 0.0)
    before = signal.signal(signal.SIGALRM, limit.interrupt)
    _limits.append(limit)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield limit
    finally:
        _limits.pop()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *remaining)


@dataclass(frozen=True)
class Chunk:
    """Some calls of a mechanism on one input; calling it returns the outputs, as a list or (``batch``) as
    an array.
    """

    mechanism: Callable[..., Any]
    data: Any
    calls: int
    seed: np.random.SeedSequence
    batch: bool
    timeout: float | None
    deadline: float | None = None

    def __call__(self) -> Any:
        # A seed of its own each time: it counts the generators that a mechanism spawns.
        seed = np.random.SeedSequence(self.seed.entropy, spawn_key=self.seed.spawn_key)
        rng = np.random.default_rng(seed)
        with limit_calls(self.timeout) as limit:
            if self.batch:
                return self._checked_batch(self._one(limit, self.data, rng, self.calls))
            return [self._one(limit, self.data, rng) for _ in range(self.calls)]

    def _one(self, limit: _Limit | None, *arguments: Any) -> Any:
        now = time.monotonic()
        if self.deadline is not None and now >= self.deadline:
            raise OutOfTimeError("the time for this check is over")
        try:
            if limit is not None:
                limit.started = now
            return self.mechanism(*arguments)
        except _TimeLimit:
            raise CallTooLongError(
                f"a call must return within {self.timeout:g} s, this one did not; "
                f"pass a larger timeout, or fix the loop that does not end."
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, GeneratorExit and a cancelled task are outcomes too
            return Failure.of(error)
        finally:
            if limit is not None:
                limit.started = math.inf

    def _checked_batch(self, outputs: Any) -> Any:
        if isinstance(outputs, Failure):
            raise MechanismError(
                f"a batched mechanism must return an array, it raised {outputs.symbol}: {outputs.reason}; "
                f"pass batch=False to count exceptions call by call."
            )
        array = outputs if isinstance(outputs, np.ndarray) else np.asarray(outputs)
        if array.ndim == 0 or len(array) != self.calls:
            raise MechanismError(
                f"a batched mechanism must return {self.calls} outputs along axis 0, got shape "
                f"{array.shape}; "
                f"use its third argument as the size."
            )
        return array


def chunks_of(
    mechanism: Callable[..., Any],
    data: Any,
    calls: int,
    *,
    seed: int,
    key: tuple[int, ...],
    batch: bool,
    timeout: float | None,
    deadline: float | None,
) -> list[Chunk]:
    """Split ``calls`` calls on ``data`` into chunks, with generators spawned from ``seed`` by ``key`` and
    the chunk's number.
    """
    size = CALLS_PER_BATCH if batch else max(CALLS_PER_CHUNK, calls // CHUNKS_PER_BLOCK)
    starts = range(0, calls, size)
    return [
        Chunk(
            mechanism,
            data,
            min(size, calls - start),
            np.random.SeedSequence(seed, spawn_key=(*key, number)),
            batch,
            timeout,
            deadline,
        )
        for number, start in enumerate(starts)
    ]


def run_compared(workers: Workers, tasks: Sequence[Chunk], compared: Sequence[int]) -> tuple[list[Any], bool]:
    """The outputs of the tasks, run by workers, and whether workers had any; the tasks at the places
    ``compared`` are run here as well.

    Where the calls of the first task turn out to be short, all tasks run here, in order. The compared ones
    run here first, so that a generator that the mechanism holds has moved on when it is sent. Raises
    ``UnfitForWorkersError`` where a worker's outputs are others than those here, or where the mechanism or
    its data cannot be sent; ``MechanismError`` where a worker ended.
    """
    start = time.perf_counter()
    first = tasks[0]()
    if time.perf_counter() - start < WORTH_SENDING * tasks[0].calls:
        return [first, *(task() for task in tasks[1:])], False
    here = {place: tasks[place]() for place in compared if place and tasks[place].calls <= MAX_COMPARED}
    here |= {0: first} if 0 in compared else {}
    try:
        results = workers.run(tasks) if compared else [first, *workers.run(tasks[1:])]
    except LostWorkersError as error:
        raise MechanismError(
            f"a mechanism must return or raise, and {error}; pass jobs=1 and no scheduler to see where."
        ) from error
    except BrokenProcessPool as error:
        if "un-serialize" in str(error):
            raise UnfitForWorkersError(_not_sent(error.__cause__ or error)) from None
        raise MechanismError(
            f"a mechanism must return or raise, a worker that ran it ended: {_first_line(error)}; pass "
            "jobs=1 to see where."
        ) from error
    except ImportError as error:  # of a call's own it would be an outcome
        raise UnfitForWorkersError(
            f"a worker cannot import what it needs ({_first_line(error)}); install that there to use more"
        ) from None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if not any(word in str(error) for word in ("pickle", "serialize")):  # joblib's word, and Dask's
            raise
        raise UnfitForWorkersError(_not_sent(error.__cause__ or error)) from None
    if any(not _equal(output, results[place]) for place, output in here.items()):
        raise UnfitForWorkersError(
            "it draws from elsewhere than the given rng or keeps something between calls, and what it holds "
            "would start anew in each worker; draw from rng and keep nothing to use more"
        )
    return results, True


def _not_sent(error: BaseException) -> str:
    return (
        f"it or its data cannot be sent to workers ({type(error).__name__}: {_first_line(error)}); make what "
        "it holds fit for pickle, or define it at the top of a module"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]


def _equal(first: Any, second: Any) -> bool:
    encoder = OutcomeEncoder()
    return bool(np.array_equal(encoder.encode(first).keys, encoder.encode(second).keys))
