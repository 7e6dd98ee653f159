"""The command line.

Exit codes: 0 all as expected, 1 a claim came out against expectation, 2 usage or configuration (a suite that
does not import, and an output that cannot be written, among them), 3 a crash. A command that a signal stops
exits with 128 and the signal's number, once it has written what it knows. A reader of the output that goes
away (``| head``) changes nothing; only where there is no more to do than to print, the code is 141.

Every error that dpaudit raises on purpose becomes one message (constraint, value, next move) and exit code 2;
only a bug in dpaudit itself shows a traceback, with exit code 3.
"""

from __future__ import annotations

import errno
import sys
import traceback
from importlib import import_module
from typing import IO, Any

import click

from dpaudit import __version__
from dpaudit.cli.console import discard
from dpaudit.core.errors import DpauditError
from dpaudit.report.notation import clean

__all__ = ["main"]

USAGE, CRASHED = 2, 3
BROKEN_PIPE = 128 + 13  # as a shell reports SIGPIPE

#: The module of each command, which is imported when the command is used: some load all the distributions.
COMMANDS = {
    "run": "run",
    "list": "inspect",
    "explain": "inspect",
    "report": "report",
    "verify": "report",
    "compare": "compare",
    "check": "check",
    "init": "init",
    "calibrate": "calibrate",
}


class _Refused(click.ClickException):
    """A DpauditError as click shows it; its text may quote a file that is not to be trusted."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {clean(self.message)}", err=True)


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"dpaudit.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DpauditError as error:
            raise _Refused(str(error)) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                for stream in (sys.stdout, sys.stderr):
                    discard(stream)
                ctx.exit(BROKEN_PIPE)
            traceback.print_exc()
            click.echo("Error: dpaudit itself failed; please report the lines above.", err=True)
            ctx.exit(CRASHED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpaudit")
def main() -> None:
    """State a privacy claim; get verified, refuted or inconclusive, with evidence to re-check."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ≤ or ε shows ?, and the run goes on
