"""Where a result comes from: source hashes, the suite's commit, and the versions of what computed it.

``Sources`` follows the import statements of a suite (those inside functions too) to every file below the
suite's root, so that a change in a mechanism re-runs the audits that use it. dpaudit itself has a hash of its
own. What a suite imports by a computed name is seen if that happens while the suite is imported
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

#: Seconds that one question to git may take; beyond that the report goes without the answer.
GIT_PATIENCE = 10


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def platform_name() -> str:
    """The operating system and the processor family: floats may differ between two of them."""
    return f"{platform.system()} {platform.machine()}"


def python_version() -> str:
    """The version of Python that runs here."""
    return platform.python_version()


def library_versions() -> dict[str, str | None]:
    """Versions of the numeric libraries; ``None`` for one that is not installed."""
    return {name: _version(name) for name in LIBRARIES}


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def tool_hash() -> str:
    """SHA-256 over dpaudit's own source files (neither the reference content nor the audits that ride along,
    which are hashed with the suites that import them)."""
    names = {
        path: path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")
    }
    own = {path: name for path, name in names.items() if is_harness_file(str(path))}
    return _digest({name.as_posix(): _read(path) for path, name in own.items()})


def forget_versions() -> None:
    """Read versions and dpaudit's own sources anew: in a process that outlives a run they may be replaced."""
    _version.cache_clear()
    tool_hash.cache_clear()


def imported_below(root: Path) -> list[str]:
    """The files of this process's modules below ``root``, from there: neither dpaudit's own nor Python's nor
    installed packages, whose folders may lie below it too."""
    installed, found = installed_folders(), []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and not is_harness_file(file):
            path = Path(file)
            if path.is_relative_to(root) and not file.startswith(installed):
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


class Sources:
    """The source files of one run, each read and parsed once."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        self._imports: dict[tuple[Path, Path], list[Path]] = {}

    def hash_of(self, suite: SuiteFile, *, also: Iterable[str] = ()) -> str:
        """SHA-256 over the suite file and every file below its root, or of ``dpaudit.reference``, that it
        imports, directly or not. ``also``: files below the root that were imported by computed names."""
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
    """The folder from which a file is imported: that of the package for reference content, else the root."""
    return PACKAGE.parent if path.is_relative_to(PACKAGE / REFERENCE) else root


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidParameterError(
            f"a source file must be readable, got {path} ({error.strerror}); check its permissions."
        ) from error


def _digest(contents: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _imported_names(content: bytes, here: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that a file imports; ``here`` is the dotted name of its package."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return  # importing the suite will say what is wrong
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
    """The dotted names that ``import_module`` and ``__import__`` are called with, where a text says them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        name = getattr(node.args[0], "value", None)
        if called in ("import_module", "__import__") and isinstance(name, str):
            bare = name.lstrip(".")
            yield _absolute(bare, len(name) - len(bare), here)


def _absolute(name: str, level: int, here: tuple[str, ...]) -> tuple[str, ...]:
    """The dotted name after ``level`` dots in a file of the package ``here``; without dots as it stands."""
    return (here[: len(here) - level + 1] if level else ()) + (tuple(name.split(".")) if name else ())


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement, those inside others too: an import is one, and most of a tree are expressions."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())


def _files_of(name: tuple[str, ...], root: Path) -> Iterator[Path]:
    """The files below ``root`` that importing the dotted ``name`` runs: packages on the way, and the module
    itself. Of dpaudit only the reference content; the rest is ``tool_hash``'s.
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
    """The commit of the repository that tracks the suite file, and whether its work tree differs.

    ``(None, None)`` without one.
    """
    if _git(suite.path.parent, "ls-files", "--error-unmatch", "--", suite.path.name) is None:
        return (
            None,
            None,
        )  # no git, no repository, or a file that the repository does not know (a wheel inside .venv, say)
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
