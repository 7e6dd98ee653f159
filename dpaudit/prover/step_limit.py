"""Limit the number of lines that one run of a program executes, so that an endless run is stopped (H11).

Lines are counted rather than seconds, so that a program stops at the same place on every machine. A loop
inside a compiled function, such as ``sum`` over an endless iterator, executes no line and is not counted.
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

#: Lines that one run of a program may execute.
MAX_LINES = 1_000_000


@contextmanager
def of_limited_length(limit: int = MAX_LINES) -> Iterator[None]:
    """Raise ``RefusedError`` in the program after ``limit`` lines outside dpaudit.

    Nothing is counted if a debugger or a coverage tool already traces the process.
    """
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
                f"one run executed more than {limit} lines (line {frame.f_lineno}).", code="E-RUN-TOO-LONG"
            )
        return line

    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(None)
