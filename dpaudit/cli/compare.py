"""Provide ``dpaudit compare``: list what got worse from one report to the next."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.text import Text

from dpaudit.cli.console import make_console
from dpaudit.report.comparison import got_better, got_worse
from dpaudit.report.file.report import Report
from dpaudit.report.terminal import one_line

__all__ = ["compare_command"]

GOT_WORSE = 1


@click.command("compare")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
def compare_command(old: Path, new: Path) -> None:
    """Print what got worse from the report OLD to the report NEW, and what got better.

    A row or cell is worse if it is no longer as expected, no longer verified (consistent is less), no longer
    consistent and not verified either, crashes now, holds by weaker evidence, is new and not as expected,
    states another claim, has another role, or is gone. A row that was not as expected before, in the same
    way, is not worse. A verdict of the same strength is worse if it assumes more or covers less. A run is
    worse if it was stopped, could not run a suite, has a smaller profile, a larger significance level or a
    weaker --require, or accepts more.

    Exit code 0: nothing got worse. 1: something did. 2: a report cannot be read.
    """
    before, after = Report.read(old), Report.read(new)
    console = make_console()
    worse, better = got_worse(before, after), got_better(before, after)
    for mark, style, lines in (("✗ ", "bold red", worse), ("✓ ", "green", better)):
        for line in lines:
            console.print(Text.assemble((mark, style), one_line(line)))
    console.print(f"{len(worse)} worse, {len(better)} better")
    sys.exit(GOT_WORSE if worse else 0)
