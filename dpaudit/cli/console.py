"""Make the console of every command, and print errors with their codes.

The console interprets no markup and no emoji, and does not colour numbers. If the output can no longer be
written (``| head``, a full disk), printing stops and the command continues: it writes its files and exits
with its own code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, TextIO, cast

import click
from rich.console import Console

from dpaudit.core.errors import code_of
from dpaudit.report.notation import clean
from dpaudit.run.plan import BrokenSuite

__all__ = ["BROKEN_SUITE", "discard", "error_line", "make_console", "show_broken", "show_error"]

#: Width of an output that is not a terminal. Lines are not wrapped there, so that programs can read them.
PIPE_WIDTH = 10_000

#: Exit code if a suite does not import. The other suites are processed all the same.
BROKEN_SUITE = 2


def make_console() -> Console:
    """Return a console on standard output."""
    console = Console(
        markup=False, emoji=False, highlight=False, file=cast(IO[str], _TolerantStream(sys.stdout))
    )
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def error_line(error: BaseException | str, *, code: str | None = None) -> str:
    """Return an error as the command line prints it: ``error [E-ALPHA-RANGE]: text``.

    The code is that of the exception, unless ``code`` is given. The text may quote a file that is not
    trusted, so control characters are removed.
    """
    if code is None:
        code = code_of(error) if isinstance(error, BaseException) else "E-OTHER"
    return f"error [{code}]: {clean(str(error))}"


def show_broken(suites: Iterable[BrokenSuite]) -> None:
    """Print on standard error why suites could not be loaded."""
    for suite in suites:
        show_error(suite.reason, code="E-SUITE-BROKEN")


def show_error(error: BaseException | str, *, code: str | None = None) -> None:
    """Print one error on standard error. Do nothing if standard error is closed."""
    with suppress(OSError):
        click.echo(error_line(error, code=code), err=True)


def discard(stream: TextIO) -> None:
    """Discard the rest of a stream, including buffered text that the interpreter would write at exit."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _TolerantStream:
    """Text stream that discards text if the wrapped stream can no longer be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError:
            discard(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            discard(self._stream)
