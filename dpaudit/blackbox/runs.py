"""Run a mechanism, with a time limit for each call and a generator for each chunk of calls.

A chunk is a fixed number of calls on one input. Its generator is spawned from the seed of the check by (pair,
block, input, chunk), so the outputs do not depend on the number of workers. An exception is an outcome
(``Failure``). A call that exceeds the wall-clock limit is not an outcome (``CallTooLongError``), because an
outcome must not depend on the load of the machine. Its block is discarded, and the runs end.

Workers receive the mechanism by pickling, with the state of any generator that it holds, so each task would
draw the same numbers. Therefore a few tasks also run in this process, and workers are not used if they
disagree.
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

from dpaudit.blackbox.global_generators import seed_all
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.statistics.blocks import Failure, LostWorkersError, Workers
from dpaudit.core.errors import CodedError, MechanismError

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

#: Number of calls that share one generator. It is small enough to keep several workers busy, and in a long
#: block large enough that the cost of the generator is negligible. It depends only on the length of the
#: block, never on the number of workers.
CALLS_PER_CHUNK = 16
CHUNKS_PER_BLOCK = 64
CALLS_PER_BATCH = 2**16


#: A chunk with more calls is not repeated in this process for comparison.
MAX_COMPARED = 4096
#: Calls shorter than this many seconds are faster in this process than with the transfer to a worker.
WORTH_SENDING = 0.005
#: Shortest timer in seconds. A timer of 0 seconds would be switched off.
SHORTEST_TIMER = 1e-6


class OutOfTimeError(CodedError):
    """Error if the time limit of the check is reached between two calls. The block is discarded."""

    code = "E-CHECK-TIMEOUT"


class CallTooLongError(MechanismError):
    """Error if a call does not return within its time limit."""

    code = "E-CALL-TIMEOUT"


class UnfitForWorkersError(CodedError):
    """Error if the mechanism must run in one process. The text explains why."""

    code = "E-MECHANISM-NOT-PARALLEL"


class _TimeLimit(BaseException):
    """Exception that the timer raises inside a call.

    It is not an ``Exception``, because a mechanism that catches every ``Exception`` must not catch it.
    """


def can_limit_time() -> bool:
    """Return whether a call can be interrupted: in the main thread, on a system with interval timers."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class _Limit:
    """Wall-clock limit of one call.

    The system timer is set once for many calls. When it fires, it checks how long the current call has
    lasted, so each call costs only two stores and one reading of the clock.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: Start time of the current call. Infinite between calls.
        self.started = math.inf

    def interrupt(self, signum: int, frame: object) -> None:
        """Stop a call that has exceeded the limit. Otherwise, set the timer to the end of its limit."""
        left = self.seconds - (time.monotonic() - self.started)
        if left <= 0:
            # Fire again every second, in case a bare `except` catches the first interruption.
            signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
            raise _TimeLimit
        signal.setitimer(signal.ITIMER_REAL, max(min(left, self.seconds), SHORTEST_TIMER))


#: The active limits, with the innermost last.
_limits: list[_Limit] = []


@contextmanager
def limit_calls(seconds: float | None) -> Iterator[_Limit | None]:
    """Limit each call in the block to ``seconds``, or yield None if calls have no limit or cannot have one.

    A nested block with the same number of seconds shares the active limit. A timer that was running before is
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
    """Calls of a mechanism on one input. Call it for a list of outputs, or an array (``batch``)."""

    mechanism: Callable[..., Any]
    data: Any
    calls: int
    seed: np.random.SeedSequence
    batch: bool
    timeout: float | None
    deadline: float | None = None
    seed_globals: bool = True

    def __call__(self) -> Any:
        # Use a new seed object each time, because it counts the generators that a mechanism spawns.
        seed = np.random.SeedSequence(self.seed.entropy, spawn_key=self.seed.spawn_key)
        if self.seed_globals:
            seed_all(seed)
        rng = np.random.default_rng(seed)
        with limit_calls(self.timeout) as limit:
            if self.batch:
                return self._checked_batch(self._one(limit, self.data, rng, self.calls))
            return [self._one(limit, self.data, rng) for _ in range(self.calls)]

    def _one(self, limit: _Limit | None, *arguments: Any) -> Any:
        now = time.monotonic()
        if self.deadline is not None and now >= self.deadline:
            raise OutOfTimeError("the time limit of this check was reached", code="E-CHECK-TIMEOUT")
        try:
            if limit is not None:
                limit.started = now
            return self.mechanism(*arguments)
        except _TimeLimit:
            raise CallTooLongError(
                f"a call did not return within timeout={self.timeout:g} seconds.", code="E-CALL-TIMEOUT"
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, GeneratorExit and cancelled tasks are outcomes too
            return Failure.of(error)
        finally:
            if limit is not None:
                limit.started = math.inf

    def _checked_batch(self, outputs: Any) -> Any:
        if isinstance(outputs, Failure):
            raise MechanismError(
                f"a batched mechanism must return an array, but it raised {outputs.symbol}: {outputs.reason}."
                " With batch=False, exceptions are outcomes.",
                code="E-BATCH-RAISES",
            )
        array = outputs if isinstance(outputs, np.ndarray) else np.asarray(outputs)
        if array.ndim == 0 or len(array) != self.calls:
            raise MechanismError(
                f"a batched mechanism must return {self.calls} outputs along axis 0 (its third argument), "
                f"got shape {array.shape}.",
                code="E-BATCH-SHAPE",
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
    seed_globals: bool = True,
) -> list[Chunk]:
    """Split ``calls`` calls on ``data`` into chunks.

    Each chunk has a generator that is spawned from ``seed`` by ``key`` and the number of the chunk.
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
            seed_globals,
        )
        for number, start in enumerate(starts)
    ]


def run_compared(workers: Workers, tasks: Sequence[Chunk], compared: Sequence[int]) -> tuple[list[Any], bool]:
    """Run the tasks on workers, and return their outputs and whether workers ran any.

    If the calls of the first task are short, all tasks run in this process, in order. The tasks at the
    indices ``compared`` run in this process as well. They run first, so that a generator that the mechanism
    holds is in another state when it is sent.

    Raises
    ------
    UnfitForWorkersError
        A worker gave different outputs, or the mechanism or its data cannot be sent.
    MechanismError
        A worker ended.
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
            f"a mechanism must return or raise, but {error}. To debug it, use jobs=1 and no scheduler.",
            code="E-WORKERS-LOST",
        ) from error
    except BrokenProcessPool as error:
        if "un-serialize" in str(error):
            raise UnfitForWorkersError(
                _not_sent(error.__cause__ or error), code="E-MECHANISM-NOT-PICKLABLE"
            ) from None
        raise MechanismError(
            f"a mechanism must return or raise, but a worker that ran it ended: {_first_line(error)}. To "
            "debug it, use jobs=1.",
            code="E-WORKERS-LOST",
        ) from error
    except ImportError as error:  # an import error of a call would be an outcome
        raise UnfitForWorkersError(
            f"a worker cannot import a module of the mechanism ({_first_line(error)})",
            code="E-WORKER-IMPORT",
        ) from None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if not any(word in str(error) for word in ("pickle", "serialize")):  # words of joblib and of Dask
            raise
        raise UnfitForWorkersError(
            _not_sent(error.__cause__ or error), code="E-MECHANISM-NOT-PICKLABLE"
        ) from None
    if any(not _equal(output, results[place]) for place, output in here.items()):
        raise UnfitForWorkersError(
            "it draws from another source than rng or keeps state between calls, which would start again in "
            "each worker",
            code="E-MECHANISM-NOT-PARALLEL",
        )
    return results, True


def _not_sent(error: BaseException) -> str:
    return (
        f"it or its data cannot be sent to workers ({type(error).__name__}: {_first_line(error)}). Define it "
        "at the top level of a module, and let it hold only objects that can be pickled"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]


def _equal(first: Any, second: Any) -> bool:
    encoder = OutcomeEncoder()
    return bool(np.array_equal(encoder.encode(first).keys, encoder.encode(second).keys))
