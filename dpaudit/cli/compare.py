"""``dpaudit compare``: what got worse from one report to the next."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.text import Text

from dpaudit.cli.console import make_console
from dpaudit.report.comparison import got_better, got_worse
from dpaudit.report.file.document import read_report
from dpaudit.report.terminal import one_line

__all__ = ["compare_command"]

GOT_WORSE = 1


@click.command("compare")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
def compare_command(old: Path, new: Path) -> None:
    """Say what got worse from the report OLD to the report NEW, and what got better.

    Worse is a row or cell that is no longer as expected, no longer verified (consistent is less), no longer
    consistent and not verified either, that crashes now, that holds by weaker evidence, that is new and
    against its expectation, that states another claim or has another role, or that is gone. What was against
    its expectation before, and is so in the same way, is not worse. Worse is also a verdict of the same
    strength that assumes more or was looked at on less, and a run that was stopped, that could not run a
    suite, or that has a smaller profile, a larger error level or a weaker --require, or accepts more.

    Exit code 0: nothing got worse. 1: something did. 2: a report cannot be read.
    """
    before, after = read_report(old), read_report(new)
    console = make_console()
    worse, better = got_worse(before, after), got_better(before, after)
    for mark, style, lines in (("✗ ", "bold red", worse), ("✓ ", "green", better)):
        for line in lines:
            console.print(Text.assemble((mark, style), one_line(line)))
    console.print(f"{len(worse)} worse, {len(better)} better")
    sys.exit(GOT_WORSE if worse else 0)
