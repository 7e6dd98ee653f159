"""The search of ``dpaudit calibrate`` with a limit on its time: what it has tried, and where it stands."""

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


class _OutOfTime(BaseException):  # not an Exception: nothing on the way may take it for a refused parameter
    pass


@dataclass
class _Progress:
    """Parameters tried, and the bracket so far."""

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
    """``calibrate`` of the mechanism called ``name``, from ``start``, in ``seconds`` at most; on a
    terminal standard error shows how far it is. Raises ``InvalidParameterError`` where the time is over.
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
            f"the search for {name} must end within --seconds {seconds:g}, it did not "
            f"({progress.in_words()}); allow more seconds, or ask for fewer --steps or a wider --grid."
        ) from None
    finally:
        if shown:
            status.stop()


def within(seconds: float, compute: Callable[[], Fraction | None], *, what: str) -> Fraction | None:
    """What ``compute`` returns, in ``seconds`` at most; raises ``InvalidParameterError`` where the time is
    over."""
    try:
        with _interrupted_after(seconds):
            return compute()
    except _OutOfTime:
        raise InvalidParameterError(
            f"the bound for {what} must be found within --seconds {seconds:g}, it was not; allow more "
            "seconds, or take a parameter nearer to the smallest one."
        ) from None


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise ``_OutOfTime`` inside after so many seconds, where the system can; elsewhere a search looks at
    the clock between two parameters. A timer that was running before goes on at the end."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: object) -> None:
        raise _OutOfTime

    remaining = signal.setitimer(signal.ITIMER_REAL, 0.0)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # It fires again every second, in case something swallows the first interruption.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *remaining)
