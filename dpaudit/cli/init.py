"""Provide ``dpaudit init``: write a first suite, a test and a workflow, optionally from a row of dpaudit."""

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
    help="Start from this row of the suites that ship with dpaudit (`dpaudit list papers`).",
)
def init_command(folder: Path, row_id: str | None) -> None:
    """Write a suite, a test and a GitHub workflow to FOLDER [default: the current one].

    The suite, audits/mine.py, has one row, which is as expected. The test, tests/test_privacy.py, uses the
    pytest plugin. The workflow, .github/workflows/dpaudit.yml, runs both. With --from, the suite is a copy of
    a row of dpaudit's own suites, in one file, for you to change.

    Exit code 0: written. 2: one of the files exists already (nothing is written), or cannot be written.
    """
    paths = {folder / name: text for name, text in STARTER.items()}
    if row_id is not None:
        with rows_named(row_id, ("papers",)) as found:
            paths[folder / SUITE] = suite_from(*found[0])
    existing = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if existing:
        raise InvalidParameterError(
            f"init does not overwrite files, but these exist: {', '.join(existing)}.", code="E-INIT-EXISTS"
        )
    console = make_console()
    for path, text in paths.items():
        _write_new(path, text)
        console.print(Text(f"written: {one_line(path)}"))
    place = "" if folder == Path() else " in that folder"
    first = "" if find_spec("pytest") else "pip install pytest; "  # dpaudit itself does not need pytest
    console.print(f"next{place}: dpaudit run audits; {first}python -m pytest tests/test_privacy.py")


def _write_new(path: Path, text: str) -> None:
    """Write a new file and create its folders."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidParameterError(
            f"init must be able to write {path}, got: {error.strerror or error}.", code="E-OUTPUT-WRITE"
        ) from error
