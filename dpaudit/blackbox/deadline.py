"""Limit the total time of a check, and show a progress line on a terminal when a check is slow.

The betting is valid at the end of every block. Neither a time limit nor Ctrl-C invalidates a result, because
the unfinished block is discarded as a whole.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import TextIO, TypeVar

from dpaudit.core.errors import InvalidParameterError

__all__ = ["Clock"]

#: Seconds before the first progress line, and between two updates.
PATIENCE = 2.0
INTERVAL = 0.5
#: Share of the time limit after which a refuted claim gets no more runs.
RUNS_SHARE = 0.75
#: Share of the time limit that the bound may take beyond the limit.
BOUND_SHARE = 0.5

T = TypeVar("T")


class Clock:
    """Time limit and progress line of a check.

    Parameters
    ----------
    seconds : float or None
        The limit, or None for no limit.
    goal : int
        Total number of runs.
    alpha : float
        Significance level, in (0, 1).
    stream : file, optional
        Where the progress line is written, if it is a terminal. Default: standard error.

    Raises
    ------
    InvalidParameterError
        ``seconds`` is not positive.
    """

    def __init__(
        self, seconds: float | None, *, goal: int, alpha: float, stream: TextIO | None = None
    ) -> None:
        if seconds is not None and not (isinstance(seconds, Real) and seconds > 0):
            raise InvalidParameterError(
                f"seconds must be a positive number, or None for no limit, got {seconds!r}.",
                code="E-SECONDS-RANGE",
            )
        self._start = time.monotonic()
        self.deadline = None if seconds is None else self._start + seconds
        #: When runs that only raise a bound above the claim end. Computing the bound takes time as well.
        self.runs_end = None if seconds is None else self._start + RUNS_SHARE * seconds
        #: When the bound ends, if its values up to the claim alone take longer than the limit.
        self.bound_end = None if seconds is None else self._start + (1 + BOUND_SHARE) * seconds
        self._goal, self._alpha = goal, alpha
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._start + PATIENCE - INTERVAL
        self._width = 0

    @property
    def over(self) -> bool:
        """Return whether the limit has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def runs_over(self) -> bool:
        """Return whether a refuted claim should get no more runs."""
        return self.runs_end is not None and time.monotonic() >= self.runs_end

    def watch(self, tasks: Iterable[T], *, samples: int, log_wealth: float) -> Iterator[T]:
        """Yield the tasks, and update the progress line before each of them if it is old enough."""
        for task in tasks:
            self._show(samples, log_wealth)
            yield task

    def _show(self, samples: int, log_wealth: float) -> None:
        now = time.monotonic()
        if now - self._shown < INTERVAL or not self._stream.isatty():
            return
        self._shown = now
        line = (
            f"dpaudit: {samples:,} of at most {self._goal:,} runs, {now - self._start:.0f} s, "
            f"e-value {math.exp(min(log_wealth, 700)):.3g} (refutes at {1 / self._alpha:.3g})"
        )
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Remove the progress line."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
