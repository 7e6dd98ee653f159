"""From the paths of a command line to suite files, each with its root.

A suite's root is the folder that goes on the import path while the suite runs, as a test runner does it: the
parent of the ``audits`` folder that holds the suite, or the suite's own folder where there is none. Suites of
different roots never share a process.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpaudit.errors import InvalidParameterError
from dpaudit.harness import BUNDLED, PACKAGE

__all__ = ["AUDITS", "PAPERS", "SuiteFile", "bundled_audits", "default_paths", "find_suites", "written_paths"]

#: The path that always means the suites that ship with dpaudit.
PAPERS = "papers"

AUDITS = "audits"


@dataclass(frozen=True)
class SuiteFile:
    """One suite file: where it lies, its root, and ``label``, the name under which reports know it."""

    path: Path
    root: Path
    label: str

    @property
    def module(self) -> str:
        """The dotted module name that the file has from its root."""
        return ".".join(self.path.relative_to(self.root).with_suffix("").parts)


def find_suites(paths: Sequence[str]) -> list[SuiteFile]:
    """The suite files that ``paths`` name, in order, each once.

    A path is a suite file, a folder of suites, a folder that holds an ``audits`` folder, ``papers``, or one
    of these such as ``papers:classics``. No path at all means the ``audits`` folder of the current folder, or
    ``papers`` where there is none. Raises ``InvalidParameterError`` for anything else.
    """
    found: dict[Path, SuiteFile] = {}
    for path in paths or default_paths():
        for suite in _bundled(path) if path.split(":")[0] == PAPERS else _named(path):
            found.setdefault(suite.path, suite)
    return list(found.values())


def default_paths() -> list[str]:
    """What a command without a path means: the ``audits`` folder here, or ``papers`` where there is none."""
    return [AUDITS if Path(AUDITS).is_dir() else PAPERS]


def written_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths of a command, written like the labels of the suites that they name."""
    return tuple(
        path if path.split(":")[0] == PAPERS else _label(Path(path).resolve())
        for path in paths or default_paths()
    )


def bundled_audits() -> Path:
    """The folder of the suites that ship with dpaudit: inside the wheel, or beside the package in a source
    checkout.
    """
    for folder in (PACKAGE / BUNDLED / AUDITS, PACKAGE.parent / AUDITS):
        if folder.is_dir():
            return folder.resolve()
    raise InvalidParameterError(
        f"the bundled papers must lie in {PACKAGE / BUNDLED}, found none; install dpaudit again."
    )


def _bundled(path: str) -> list[SuiteFile]:
    """The suites that ship with dpaudit, or of ``papers:NAME`` those of that folder, or that very file."""
    suites = _all_bundled()
    labels = [suite.label for suite in suites]
    kept = [suite for suite in suites if f"{suite.label}/".startswith(path.rstrip("/") + "/")]
    if path == PAPERS or kept:
        return suites if path == PAPERS else kept
    names = ", ".join(label.rpartition("/")[0] for label in labels)
    raise InvalidParameterError(f"of {PAPERS} there are {names}, got {path}; name one of them.")


def _all_bundled() -> list[SuiteFile]:
    folder = bundled_audits()
    suites = [
        SuiteFile(path, folder.parent, f"{PAPERS}:{path.relative_to(folder).as_posix()}")
        for path in _suites_below(folder)
    ]
    if not suites:
        raise InvalidParameterError(
            f"the bundled papers must hold at least one suite, found none in {folder}; install dpaudit again."
        )
    return suites


def _named(name: str) -> list[SuiteFile]:
    path = Path(name)
    if path.is_file():
        if path.suffix != ".py":
            raise InvalidParameterError(
                f"a suite must be a Python file, got {name}; name a .py file or a folder of suites."
            )
        return [_suite(path)]
    if not path.is_dir():
        raise InvalidParameterError(
            f"a path must be a suite file, a folder of suites, {PAPERS!r} or one of these such as "
            f"'{PAPERS}:classics', got {name}; check the path."
        )
    folder = path / AUDITS if (path / AUDITS).is_dir() else path
    suites = [_suite(file) for file in _suites_below(folder)]
    if not suites:
        raise InvalidParameterError(
            f"a folder of suites must hold a Python file that sets `suite`, found none in {folder}; "
            f"write `suite = Suite(paper=..., title=...)` in one, or name another folder."
        )
    return suites


def _suite(path: Path) -> SuiteFile:
    full = path.resolve()
    # Of several folders called audits the innermost counts: the suite's own neighbourhood, not where the
    # repository happens to lie.
    audits = next((folder for folder in full.parents if folder.name == AUDITS), None)
    return SuiteFile(full, audits.parent if audits else full.parent, _label(full))


def _label(full: Path) -> str:
    """A resolved path as reports write it: seen from the current folder if it is below."""
    here = Path.cwd().resolve()
    return (full.relative_to(here) if full.is_relative_to(here) else full).as_posix()


def _suites_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix == ".py" and _sets_suite(path):
                yield path


def _sets_suite(path: Path) -> bool:
    """Whether a file sets ``suite`` at its top level.

    One that cannot be parsed counts: loading it will say what is wrong.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return True
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if any(isinstance(target, ast.Name) and target.id == "suite" for target in targets):
            return True
    return False
