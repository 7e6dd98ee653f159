"""Distinguish dpaudit's own files (the harness) from programs under audit.

Files of the harness are not traced, counted or hashed with a suite. Files of ``dpaudit.reference`` and of the
audits that a wheel includes lie in the package too, but are programs, like a user's own files.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

import dpaudit

__all__ = [
    "BUNDLED",
    "LIBRARIES",
    "PACKAGE",
    "REFERENCE",
    "hide_checkout",
    "installed_folders",
    "is_harness_file",
    "is_harness_module",
    "is_library_file",
    "is_program_file",
]

#: The folder of the installed package.
PACKAGE = Path(dpaudit.__file__).parent
#: The names of its folders that hold programs: the reference content, and in a wheel the audits.
REFERENCE, BUNDLED = "reference", "_bundled"

#: Installed packages that the harness itself uses for computations.
LIBRARIES = frozenset({"flint", "hypothesis", "numpy", "pandas", "scipy"})

_PYTHON = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_OWN = frozenset(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_HARNESS = str(PACKAGE) + os.sep
_PROGRAMS = tuple(_HARNESS + folder + os.sep for folder in (REFERENCE, BUNDLED))


def hide_checkout(root: Path) -> list[str]:
    """Hide all but the package itself in a source checkout of dpaudit, for programs below ``root``.

    If the folder of a checkout is on the import path, a folder with an ``__init__.py`` in it would win over a
    folder of the same name below ``root`` without one, although the root comes first. Return the entries of
    the path that were changed. Removing them from ``sys.path_importer_cache`` undoes the change.
    """
    checkout = PACKAGE.parent.resolve()
    if root.resolve() == checkout or not any(path.is_symlink() for path in (PACKAGE / REFERENCE).iterdir()):
        return []
    hidden = [entry for entry in sys.path if Path(entry).resolve() == checkout]
    sys.path_importer_cache.update({entry: _OnlyThePackage(entry) for entry in hidden})
    return hidden


class _OnlyThePackage(FileFinder):
    """A finder that finds only the dpaudit package in a folder."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, (SourceFileLoader, SOURCE_SUFFIXES))

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        return super().find_spec(fullname, target) if fullname == PACKAGE.name else None


def installed_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages, each with a separator at its end.

    These are the folders of this interpreter, and those that a ``.pth`` file, an environment made with
    ``--system-site-packages`` or ``PYTHONPATH`` adds.
    """
    return _installed(tuple(sys.path))


@lru_cache(maxsize=64)
def _installed(paths: tuple[str, ...]) -> tuple[str, ...]:
    beside = {path for path in paths if Path(path).name in ("site-packages", "dist-packages")}
    return tuple(sorted(path + os.sep for path in _OWN | beside))


def is_library_file(filename: str) -> bool:
    """Return whether a source file belongs to Python or to a numeric library that the harness uses.

    Other installed packages may hold mechanisms.
    """
    return _is_library_file(filename, installed_folders())


@lru_cache(maxsize=16_384)  # called with the same few files for every function that a program reaches
def _is_library_file(filename: str, installed: tuple[str, ...]) -> bool:
    if filename.startswith("<frozen "):
        return True
    packages = [path for path in installed if path not in _PYTHON and filename.startswith(path)]
    if packages:
        below = filename[len(max(packages, key=len)) :]
        return below.split(os.sep)[0].partition(".")[0] in LIBRARIES
    return filename.startswith(_PYTHON)


@lru_cache(maxsize=16_384)  # a tracer calls this at every call of the program
def is_harness_file(filename: str) -> bool:
    """Return whether a source file belongs to the harness."""
    return filename.startswith(_HARNESS) and not is_program_file(filename)


def is_program_file(filename: str) -> bool:
    """Return whether a source file is a program that ships with dpaudit: reference content or an audit."""
    return filename.startswith(_PROGRAMS)


def is_harness_module(name: str) -> bool:
    """Return whether a dotted name belongs to a module of the harness below ``dpaudit``."""
    return name.startswith("dpaudit.") and f"{name}.".split(".")[1] not in (REFERENCE, BUNDLED)
