"""Find the suite files that the paths of a command line name, each with its root.

A suite's root is the folder on the import path while the suite runs, as with a test runner: the parent of the
``audits`` folder that holds the suite, or the suite's own folder if there is none. Suites with different
roots never share a process.
"""

from __future__ import annotations

import ast
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.harness import BUNDLED, PACKAGE

__all__ = [
    "AUDITS",
    "PAPERS",
    "SuiteFile",
    "bundled_audits",
    "default_paths",
    "each_once",
    "find_suites",
    "no_suite",
    "suites_around",
    "suites_at",
    "written_paths",
]

#: The path of the suites that ship with dpaudit.
PAPERS = "papers"

AUDITS = "audits"

#: Folders that hold copies made by tools, not the user's own files.
_COPIES = ("__pycache__", ".git", ".hg", ".svn", ".ipynb_checkpoints", "site-packages", "dist-packages")

#: Names of dpaudit with which a file can declare rows.
_DECLARING = frozenset(("Suite", "Group", "Row", "Outcome", "Cell", "Run", "suite", "rows"))


Kind = Literal["suite", "maybe", "part"]


@dataclass(frozen=True)
class SuiteFile:
    """A suite file: its path, its root, and its ``label``, the name in reports.

    ``kind`` is ``"suite"`` if the file was named or assigns ``suite`` in a plain statement, so that it must
    set a suite. It is ``"maybe"`` for a file found in a folder that binds ``suite`` in another form. It is
    ``"part"`` for a file that imports a suite or names that can declare rows. A part matters only if no suite
    imports it.
    """

    path: Path
    root: Path
    label: str
    kind: Kind = "suite"

    @property
    def module(self) -> str:
        """Return the dotted module name of the file below its root."""
        return ".".join(self.path.relative_to(self.root).with_suffix("").parts)


def find_suites(paths: Sequence[str]) -> list[SuiteFile]:
    """Return the suite files that ``paths`` name, and parts of suites, in order and each once.

    A path is a suite file, a folder of suites, a folder that holds an ``audits`` folder, ``papers``, or one
    of the papers such as ``papers:classics``. Without a path, use the ``audits`` folder of the current
    folder, or ``papers`` if there is none. Raises ``InvalidParameterError`` for any other path.
    """
    return each_once(suites_at(path) for path in paths or default_paths())


def each_once(suites: Iterable[Sequence[SuiteFile]]) -> list[SuiteFile]:
    """Return the files of several paths, each once, as a suite if one of the paths names the file itself."""
    found: dict[Path, SuiteFile] = {}
    for suite in itertools.chain.from_iterable(suites):
        known = found.setdefault(suite.path, suite)
        if suite.kind == "suite" != known.kind:
            found[suite.path] = suite
    return list(found.values())


def suites_at(path: str) -> list[SuiteFile]:
    """Return the suite files, and parts of suites, of one path. Raises as ``find_suites`` does."""
    return _bundled(path) if path.split(":")[0] == PAPERS else _named(path)


def suites_around(suite: SuiteFile) -> list[SuiteFile]:
    """Return all suite files and parts below the ``audits`` folder around ``suite``, or its own folder."""
    audits = suite.root / AUDITS
    return [
        SuiteFile(path, suite.root, path.relative_to(suite.root).as_posix(), kind)
        for path, kind in _files_below(audits if audits.is_dir() else suite.root)
    ]


def default_paths() -> list[str]:
    """Return the default path: ``audits`` in the current folder, or ``papers`` if there is none."""
    return [AUDITS if Path(AUDITS).is_dir() else PAPERS]


def written_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of a command, written like the labels of suites."""
    return tuple(
        path if path.split(":")[0] == PAPERS else _label(Path(path).resolve())
        for path in paths or default_paths()
    )


def bundled_audits() -> Path:
    """Return the folder of the suites that ship with dpaudit, in the wheel or in the source checkout."""
    for folder in (PACKAGE / BUNDLED / AUDITS, PACKAGE.parent / AUDITS):
        if folder.is_dir():
            return folder.resolve()
    raise InvalidParameterError(
        f"the bundled papers must be in {PACKAGE / BUNDLED}, found none. Install dpaudit again.",
        code="E-PAPERS-MISSING",
    )


def _bundled(path: str) -> list[SuiteFile]:
    """Return the suites that ship with dpaudit, or for ``papers:NAME`` those in this folder or file."""
    suites = _all_bundled()
    labels = [suite.label for suite in suites if suite.kind == "suite"]
    kept = [suite for suite in suites if f"{suite.label}/".startswith(path.rstrip("/") + "/")]
    if path == PAPERS or kept:
        return suites if path == PAPERS else kept
    names = ", ".join(label.rpartition("/")[0] for label in labels)
    raise InvalidParameterError(f"{PAPERS} must be one of {names}, got {path}.", code="E-PAPERS-UNKNOWN")


def _all_bundled() -> list[SuiteFile]:
    folder = bundled_audits()
    suites = [
        SuiteFile(path, folder.parent, f"{PAPERS}:{path.relative_to(folder).as_posix()}", kind)
        for path, kind in _files_below(folder)
    ]
    if not suites:
        raise InvalidParameterError(
            f"the bundled papers must hold at least one suite, found none in {folder}. Reinstall dpaudit.",
            code="E-PAPERS-MISSING",
        )
    return suites


def _named(name: str) -> list[SuiteFile]:
    path = Path(name)
    if path.is_file():
        if path.suffix != ".py":
            raise InvalidParameterError(f"a suite must be a Python file, got {name}.", code="E-SUITE-FILE")
        return [_suite(path)]
    if not path.is_dir():
        raise InvalidParameterError(
            f"a path must be a suite file, a folder of suites, {PAPERS!r} or one of these such as "
            f"'{PAPERS}:classics', got {name}.",
            code="E-PATH-UNKNOWN",
        )
    folder = path / AUDITS if (path / AUDITS).is_dir() else path
    suites = [_suite(file, kind) for file, kind in _files_below(folder)]
    if not suites:
        raise no_suite(name)
    return suites


def no_suite(name: str) -> InvalidParameterError:
    """Return the error for a folder without suites."""
    return InvalidParameterError(
        "a folder of suites must hold a Python file that sets `suite = Suite(name=..., title=...)`, found "
        f"none in {name}.",
        code="E-SUITE-MISSING",
    )


def _suite(path: Path, kind: Kind = "suite") -> SuiteFile:
    full = path.resolve()
    # Use the innermost of several folders called audits: an outer one may only contain the repository.
    audits = next((folder for folder in full.parents if folder.name == AUDITS), None)
    return SuiteFile(full, audits.parent if audits else full.parent, _label(full), kind)


def _label(full: Path) -> str:
    """Return a resolved path as reports write it: relative to the current folder if it is below."""
    here = Path.cwd().resolve()
    return (full.relative_to(here) if full.is_relative_to(here) else full).as_posix()


def _files_below(folder: Path) -> Iterator[tuple[Path, Kind]]:
    """Yield the Python files below a folder, hidden and linked folders included, that bind ``suite`` or may
    declare rows, each with its kind.

    Version control, caches, virtual environments and installed packages hold copies and are left out.
    """
    seen: set[Path] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        if Path(parent).resolve() in seen or "pyvenv.cfg" in names:
            folders.clear()
            continue
        seen.add(Path(parent).resolve())  # a link may lead back up
        folders[:] = sorted(name for name in folders if name not in _COPIES)
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix == ".py" and path.is_file():
                kind = _kind(path)
                if kind is not None:
                    yield path, kind


def _kind(path: Path) -> Kind | None:
    """Return the kind of a file from its syntax, or ``None`` if it cannot hold a part of a suite.

    A file that cannot be read or parsed counts as a suite, because loading it then reports the error.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return "suite"
    plain = (target for node in tree.body for target in _targets(node))
    if any(isinstance(target, ast.Name) and target.id == "suite" for target in plain):
        return "suite"
    if any(_binds_suite(node) for node in _at_module_level(tree)):
        return "maybe"
    return "part" if any(_may_declare(node) for node in ast.walk(tree)) else None


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _at_module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every node that runs in the module's namespace.

    Of functions and classes only the name does, unless a function declares ``suite`` global.
    """
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        is_scope = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        if not is_scope or any(
            isinstance(inner, ast.Global) and "suite" in inner.names for inner in ast.walk(node)
        ):
            own = node.target if isinstance(node, ast.comprehension) else None  # bound in the loop alone
            waiting.extend(child for child in ast.iter_child_nodes(node) if child is not own)


def _binds_suite(node: ast.AST) -> bool:
    """Return whether a node binds the name ``suite`` other than by an import.

    It may be a target of any kind, the name of a function, class or exception, or part of a pattern.
    """
    if isinstance(node, ast.Name):
        return node.id == "suite" and isinstance(node.ctx, ast.Store)
    named = getattr(node, "name", None) or getattr(node, "rest", None)
    return named == "suite" and not isinstance(node, ast.alias)


def _may_declare(node: ast.AST) -> bool:
    """Return whether a node imports a suite or a name that can declare rows, or contains the string "suite".

    The string may bind it, as in ``globals()["suite"]``.
    """
    if isinstance(node, ast.Constant):
        return node.value == "suite"
    if isinstance(node, ast.Attribute):
        return node.attr in ("Suite", "Group", "Row")
    if isinstance(node, ast.Import):
        return any(
            "suite" in (alias.asname, alias.name)
            or alias.name.startswith(("dpaudit.core.suite", "dpaudit.suite"))
            for alias in node.names
        )
    if not isinstance(node, ast.ImportFrom):
        return False
    module = node.module or ""
    if module.split(".")[0] == "dpaudit" and not node.level:
        return module.startswith(("dpaudit.core.suite", "dpaudit.suite")) or (
            module == "dpaudit" and any(alias.name in _DECLARING or alias.name == "*" for alias in node.names)
        )
    return any("suite" in (alias.name, alias.asname) or alias.name == "*" for alias in node.names)
