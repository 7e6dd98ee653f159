"""``dpaudit init``: a suite, a test and a workflow to begin with, the suite perhaps with a known row."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
from rich.text import Text

from dpaudit.cli.console import make_console
from dpaudit.cli.inspect import rows_named
from dpaudit.cli.starter import STARTER, SUITE, suite_from
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.terminal import one_line

__all__ = ["init_command"]


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--from",
    "row_id",
    metavar="ID",
    help="Begin with this row of the suites of `dpaudit list papers`.",
)
def init_command(folder: Path, row_id: str | None) -> None:
    """Write a suite, a test and a GitHub workflow to FOLDER [default: the current one].

    The suite, audits/mine.py, has one row that comes out as expected; the test, tests/test_privacy.py, uses
    the pytest plugin; the workflow, .github/workflows/dpaudit.yml, runs both. With --from the suite has a row
    of dpaudit's own, with all that it needs in one file, to be changed.

    Exit code 0: written. 2: one of the files is there already (nothing is written), or cannot be written.
    """
    paths = {folder / name: text for name, text in STARTER.items()}
    if row_id is not None:
        with rows_named(row_id, ("papers",)) as found:
            paths[folder / SUITE] = suite_from(*found[0])
    there = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if there:
        raise InvalidParameterError(
            f"init must not overwrite a file, got {', '.join(there)} in place; move it away, or name another "
            "folder."
        )
    console = make_console()
    for path, text in paths.items():
        _write_new(path, text)
        console.print(Text(f"written: {one_line(path)}"))
    there_to = "" if folder == Path() else " in that folder"
    first = "" if find_spec("pytest") else "pip install pytest; "  # dpaudit runs without it
    console.print(f"next{there_to}: dpaudit run audits; {first}python -m pytest tests/test_privacy.py")


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, with its folders."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidParameterError(
            f"init must be able to write {path}, got: {error.strerror or error}; name a folder that is yours "
            "to write."
        ) from error
