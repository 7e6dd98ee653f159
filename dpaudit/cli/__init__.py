"""Provide the command line.

Exit code 0 means that all rows are as expected, and 1 that a claim is not. Exit code 2 is a usage or
configuration error, such as a suite that does not import or an output that cannot be written. Exit code 3 is
a crash. A command that is stopped by a signal writes its results and exits with 128 plus the signal number.
If the reader of the output goes away (``| head``), the exit code does not change, except for commands that
only print: these exit with 141.

Every error that dpaudit raises on purpose becomes one message, ``error [E-CODE]: text``, and exit code 2.
Only a bug in dpaudit shows a traceback, with exit code 3.
"""

from __future__ import annotations

import errno
import sys
import traceback
from importlib import import_module
from typing import IO, Any

import click

from dpaudit import __version__
from dpaudit.cli.console import discard, error_line
from dpaudit.core.errors import DpauditError, code_of

__all__ = ["main"]

USAGE, CRASHED = 2, 3
BROKEN_PIPE = 128 + 13  # as a shell reports SIGPIPE

#: The module of each command. It is imported when the command is used, because some load all distributions.
COMMANDS = {
    "run": "run",
    "list": "inspect",
    "explain": "explain",
    "report": "report",
    "verify": "report",
    "compare": "compare",
    "audit-library": "audit_library",
    "check": "check",
    "init": "init",
    "calibrate": "calibrate",
    "doctor": "doctor",
}


class _Refused(click.ClickException):
    """A DpauditError as click shows it."""

    exit_code = USAGE

    def __init__(self, error: DpauditError) -> None:
        super().__init__(str(error))
        self.code = code_of(error)

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(error_line(self.message, code=self.code), err=True)


class _BadUsage(click.UsageError):
    """A usage error of click with the usage line and the code ``E-USAGE``."""

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(error.format_message(), error.ctx)

    def show(self, file: IO[Any] | None = None) -> None:
        if self.ctx is not None:
            click.echo(self.ctx.get_usage(), err=True)
            click.echo(f"Try '{self.ctx.command_path} --help' for help.\n", err=True)
        click.echo(error_line(self.message, code="E-USAGE"), err=True)


class _Group(click.Group):
    """The group of all commands. It imports a command when it is used, and turns errors into messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"dpaudit.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise _BadUsage(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DpauditError as error:
            raise _Refused(error) from error
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise _BadUsage(error) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                for stream in (sys.stdout, sys.stderr):
                    discard(stream)
                ctx.exit(BROKEN_PIPE)
            traceback.print_exc()
            message = "dpaudit itself failed. Please report the lines above as a bug."
            click.echo(error_line(message, code="E-INTERNAL"), err=True)
            ctx.exit(CRASHED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpaudit")
def main() -> None:
    """Test differential-privacy claims. The answer is verified, refuted or inconclusive, with evidence."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ≤ or ε shows ?
