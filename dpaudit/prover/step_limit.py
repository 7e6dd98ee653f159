"""A run that does not end is cut: it may enter so many lines of its own, and no more (H11).

Lines are counted, never seconds, so that the same program is cut at the same place on any machine. A loop
inside a library, such as a sum over an endless iterator, enters no line and is not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dpaudit.core.harness import is_harness_file
from dpaudit.prover.symbols import RefusedError

__all__ = ["MAX_LINES", "of_limited_length"]

#: Lines that one run of a program may enter.
MAX_LINES = 1_000_000


@contextmanager
def of_limited_length(limit: int = MAX_LINES) -> Iterator[None]:
    """Raise ``RefusedError`` in the program after ``limit`` lines outside dpaudit. Where a debugger or a
    measure of coverage traces already, nothing is counted."""
    if sys.gettrace() is not None:
        yield
        return
    left = limit

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        return None if is_harness_file(frame.f_code.co_filename) else line

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise RefusedError(
                f"one run entered more than {limit} lines (line {frame.f_lineno}); the prover cannot follow "
                "this."
            )
        return line

    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(None)
