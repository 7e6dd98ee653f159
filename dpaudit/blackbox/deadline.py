"""The time of a check: a limit on all of it, and one line of progress on a terminal for the slow ones.

A check may stop at any time at the end of a block, so that neither a limit nor Ctrl-C costs its meaning; the
block that was under way is dropped whole.
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

#: Seconds before the first line, and between two of them.
PATIENCE = 2.0
INTERVAL = 0.5
#: The share of the time after which a refuted claim gets no more runs.
RUNS_SHARE = 0.75

T = TypeVar("T")


class Clock:
    """``seconds``: the limit, or ``None``. ``goal``: runs in all. ``stream``: where progress goes if it is a
    terminal (default: standard error).
    """

    def __init__(
        self, seconds: float | None, *, goal: int, alpha: float, stream: TextIO | None = None
    ) -> None:
        if seconds is not None and not (isinstance(seconds, Real) and seconds > 0):
            raise InvalidParameterError(
                f"seconds must be a positive number, got {seconds!r}; pass a time limit, or None for none."
            )
        self._start = time.monotonic()
        self.deadline = None if seconds is None else self._start + seconds
        #: When runs end that only raise a bound above the claim: computing it takes time as well.
        self.runs_end = None if seconds is None else self._start + RUNS_SHARE * seconds
        self._goal, self._alpha = goal, alpha
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._start + PATIENCE - INTERVAL
        self._width = 0

    @property
    def over(self) -> bool:
        """Whether the limit has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def runs_over(self) -> bool:
        """Whether the share of the time for runs on a refuted claim has passed."""
        return self.runs_end is not None and time.monotonic() >= self.runs_end

    def watch(self, tasks: Iterable[T], *, samples: int, log_wealth: float) -> Iterator[T]:
        """The tasks, with a line of progress now and then before the next one."""
        for task in tasks:
            self._show(samples, log_wealth)
            yield task

    def _show(self, samples: int, log_wealth: float) -> None:
        now = time.monotonic()
        if now - self._shown < INTERVAL or not self._stream.isatty():
            return
        self._shown = now
        line = (
            f"dpaudit: {samples:,} of at most {self._goal:,} runs, {now - self._start:.0f} s; evidence "
            f"against the claim {math.exp(min(log_wealth, 700)):.3g}, {1 / self._alpha:.3g} refutes it"
        )
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
