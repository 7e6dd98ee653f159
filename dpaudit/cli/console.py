"""The console that every command prints on: no markup, no emoji, no guessing of what a number might be."""

from __future__ import annotations

from rich.console import Console

__all__ = ["make_console"]

#: Where the output is not a terminal nothing is wrapped: a line stays a line for whoever reads the pipe.
PIPE_WIDTH = 10_000


def make_console() -> Console:
    """A console on standard output."""
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
