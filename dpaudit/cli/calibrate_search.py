"""Run the search of ``dpaudit calibrate`` with a time limit, and show its progress."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console

from dpaudit.certify.calibrate import Calibration, calibrate
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import Claim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import in_figures

__all__ = ["search", "within"]


class _OutOfTime(BaseException):  # not an Exception, so that no caller treats it as a refused parameter
    pass


@dataclass
class _Progress:
    """The number of tried parameters, and the bracket so far."""

    tried: int = 0
    enough: Fraction | None = None
    short: Fraction | None = None

    def saw(self, parameter: Fraction, good: bool) -> None:
        self.tried += 1
        if good:
            self.enough = parameter if self.enough is None else min(parameter, self.enough)
        else:
            self.short = parameter if self.short is None else max(parameter, self.short)

    def in_words(self) -> str:
        ends = (("certified", self.enough), ("too small", self.short))
        known = ", ".join(f"{word} {in_figures(end)}" for word, end in ends if end is not None)
        return f"{self.tried} parameters tried{': ' if known else ''}{known}"


def search(
    name: str,
    claim: Claim,
    proof: Callable[[Fraction], Proof],
    *,
    start: Fraction,
    seconds: float,
) -> Calibration:
    """Run ``calibrate`` for the mechanism called ``name`` from ``start``, for at most ``seconds``.

    On a terminal, standard error shows the progress. Raises ``InvalidParameterError`` after ``seconds``.
    """
    progress, until = _Progress(), time.monotonic() + seconds
    status = Console(stderr=True, markup=False, emoji=False).status(f"{name}: searching")

    def watch(parameter: Fraction, good: bool) -> None:
        progress.saw(parameter, good)
        status.update(f"{name}: {progress.in_words()}")
        if time.monotonic() > until:
            raise _OutOfTime

    shown = sys.stderr.isatty()
    if shown:
        status.start()
    try:
        with _interrupted_after(seconds):
            return calibrate(claim, proof, start=start, watch=watch)
    except _OutOfTime:
        raise InvalidParameterError(
            f"the search for {name} did not end within --seconds {seconds:g} "
            f"({progress.in_words()}). Allow more seconds, fewer --steps or a wider --grid.",
            code="E-CALIBRATE-TIMEOUT",
        ) from None
    finally:
        if shown:
            status.stop()


def within(seconds: float, compute: Callable[[], Fraction | None], *, what: str) -> Fraction | None:
    """Return what ``compute`` returns. Raises ``InvalidParameterError`` after ``seconds``."""
    try:
        with _interrupted_after(seconds):
            return compute()
    except _OutOfTime:
        raise InvalidParameterError(
            f"the bound for {what} was not found within --seconds {seconds:g}. Allow more seconds, or take a "
            "parameter closer to the smallest one.",
            code="E-CALIBRATE-TIMEOUT",
        ) from None


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise ``_OutOfTime`` inside the block after ``seconds``, if the system has interval timers.

    Without them, a search checks the time between two parameters. A timer that was running before continues
    at the end.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: object) -> None:
        raise _OutOfTime

    remaining = signal.setitimer(signal.ITIMER_REAL, 0.0)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # Fire again every second, in case some code catches the first interruption.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *remaining)
