"""The console that every command prints on: no markup, no emoji, no guessing of what a number might be.

A reader that goes away (``| head``) or a full disk under the output ends the printing, nothing else: the
command does its work, writes its files, and exits with its own code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, TextIO, cast

import click
from rich.console import Console

from dpaudit.report.notation import clean
from dpaudit.run.plan import BrokenSuite

__all__ = ["BROKEN_SUITE", "discard", "make_console", "show_broken", "show_error"]

#: Where the output is not a terminal nothing is wrapped: a line stays a line for whoever reads the pipe.
PIPE_WIDTH = 10_000

#: Exit code where a suite could not be imported; its neighbours were served.
BROKEN_SUITE = 2


def make_console() -> Console:
    """A console on standard output."""
    console = Console(markup=False, emoji=False, highlight=False, file=cast(IO[str], _Patient(sys.stdout)))
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def show_broken(suites: Iterable[BrokenSuite]) -> None:
    """Say on standard error why suites could not be served, as for any other error."""
    for suite in suites:
        show_error(suite.reason)


def show_error(text: str) -> None:
    """One error on standard error, if anybody reads it."""
    with suppress(OSError):
        click.echo(f"Error: {clean(text)}", err=True)


def discard(stream: TextIO) -> None:
    """Send the rest of a stream nowhere; what it still holds too, which the interpreter writes at its end."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _Patient:
    """A text stream that swallows what can no longer be written; in all else the stream that it wraps."""

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
