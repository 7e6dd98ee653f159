"""Compute the stamps of a result: source hashes, the suite's commit, and the versions of all libraries.

``Sources`` follows the import statements of a suite (including those inside functions) to every file below
the suite's root, so that a change in a mechanism re-runs the audits that use it. dpaudit itself has a
separate hash. Imports by computed names are found if they happen while the suite is imported
(``imported_below``).
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.harness import PACKAGE, REFERENCE, installed_folders, is_harness_file
from dpaudit.run.targets import SuiteFile

__all__ = [
    "Sources",
    "commit_of",
    "forget_versions",
    "imported_below",
    "library_versions",
    "now",
    "platform_name",
    "python_version",
    "tool_hash",
]

LIBRARIES = ("numpy", "scipy", "python-flint")

#: The time limit in seconds for one git command. Beyond it, the report lacks the commit.
GIT_PATIENCE = 10


def now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def platform_name() -> str:
    """Return the operating system and the processor family. Floats may differ between two of them."""
    return f"{platform.system()} {platform.machine()}"


def python_version() -> str:
    """Return the version of Python that runs here."""
    return platform.python_version()


def library_versions() -> dict[str, str | None]:
    """Return the versions of the numeric libraries, or ``None`` for a library that is not installed."""
    return {name: _version(name) for name in LIBRARIES}


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def tool_hash() -> str:
    """Return the SHA-256 of dpaudit's own source files.

    The reference content and the bundled audits are left out. They are hashed with the suites that import
    them.
    """
    names = {
        path: path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")
    }
    own = {path: name for path, name in names.items() if is_harness_file(str(path))}
    return _digest({name.as_posix(): _read(path) for path, name in own.items()})


def forget_versions() -> None:
    """Clear the cached versions and hash of dpaudit, which may change in a process that outlives a run."""
    _version.cache_clear()
    tool_hash.cache_clear()


def imported_below(root: Path) -> list[str]:
    """Return the files of this process's modules below ``root``, relative to it.

    Files of dpaudit, Python and installed packages are left out, although their folders may be below it too.
    """
    installed, below = installed_folders(), os.path.join(root, "")
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    own = [file for file in files if isinstance(file, str) and file.startswith(below)]
    own = [file for file in own if file.endswith(".py") and not file.startswith(installed)]
    own = [file for file in own if not is_harness_file(file)]
    return sorted(Path(file).relative_to(root).as_posix() for file in own)


class Sources:
    """A cache of the source files of one run, each read and parsed once."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        self._imports: dict[tuple[Path, Path], list[Path]] = {}

    def hash_of(self, suite: SuiteFile, *, also: Iterable[str] = ()) -> str:
        """Return the SHA-256 of the suite file and all files that it imports, directly or not.

        Only files below its root or of ``dpaudit.reference`` are included. ``also`` are files below the root
        that were imported by computed names.
        """
        seen: set[Path] = set()
        waiting = [suite.path, *(suite.root / name for name in also)]
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                waiting.extend(self._local_imports(path, suite.root))
        names = {path: path.relative_to(_home(path, suite.root)).as_posix() for path in seen}
        return _digest({name: self._content(path) for path, name in names.items()})

    def _content(self, path: Path) -> bytes:
        if path not in self._contents:
            self._contents[path] = _read(path)
        return self._contents[path]

    def _local_imports(self, path: Path, root: Path) -> list[Path]:
        if (path, root) not in self._imports:
            names = _imported_names(self._content(path), path.parent.relative_to(_home(path, root)).parts)
            files = [file for name in names for file in _files_of(name, root)]
            self._imports[path, root] = files
        return self._imports[path, root]


def _home(path: Path, root: Path) -> Path:
    """Return the folder from which a file is imported: dpaudit's for reference content, else the root."""
    return PACKAGE.parent if path.is_relative_to(PACKAGE / REFERENCE) else root


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidParameterError(
            f"a source file must be readable, got {path} ({error.strerror}).", code="E-SOURCE-UNREADABLE"
        ) from error


def _digest(contents: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _imported_names(content: bytes, here: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names that a file imports. ``here`` is the dotted name of its package."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return  # importing the suite will report the error
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node.module or "", node.level, here)
            yield base
            yield from ((*base, alias.name) for alias in node.names)  # a name may be a submodule
    if b"import_module" in content or b"__import__" in content:
        yield from _names_in_calls(tree, here)


def _names_in_calls(tree: ast.Module, here: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names in calls of ``import_module`` and ``__import__`` with a literal string."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        name = getattr(node.args[0], "value", None)
        if called in ("import_module", "__import__") and isinstance(name, str):
            bare = name.lstrip(".")
            yield _absolute(bare, len(name) - len(bare), here)


def _absolute(name: str, level: int, here: tuple[str, ...]) -> tuple[str, ...]:
    """Return the absolute form of a dotted name after ``level`` dots in a file of the package ``here``."""
    return (here[: len(here) - level + 1] if level else ()) + (tuple(name.split(".")) if name else ())


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every statement, including nested ones, without expressions, which are most of a tree."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


def _files_of(name: tuple[str, ...], root: Path) -> Iterator[Path]:
    """Yield the files below ``root`` that importing the dotted ``name`` runs: its packages and the module.

    Of dpaudit only the reference content is included. ``tool_hash`` covers the rest.
    """
    if name[:1] == ("dpaudit",):
        root, start = PACKAGE.parent, 2
        if name[1:2] != (REFERENCE,):
            return
    else:
        start = 1
    for length in range(start, len(name) + 1):
        base = root.joinpath(*name[:length])
        for path in (base / "__init__.py", base.with_name(base.name + ".py")):
            if path.is_file():
                yield path


def commit_of(suite: SuiteFile) -> tuple[str | None, bool | None]:
    """Return the commit of the repository that tracks the suite file, and whether its work tree differs.

    Return ``(None, None)`` if there is none: no git, no repository, or a file that the repository does not
    track, such as a wheel inside .venv.
    """
    if _git(suite.path.parent, "ls-files", "--error-unmatch", "--", suite.path.name) is None:
        return None, None
    commit = _git(suite.path.parent, "rev-parse", "--verify", "HEAD")
    changes = _git(suite.root, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return commit, None if commit is None or changes is None else bool(changes)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_PATIENCE,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
