"""From the paths of a command line to suite files, each with its root.

A suite's root is the folder that goes on the import path while the suite runs, as a test runner does it: the
parent of the ``audits`` folder that holds the suite, or the suite's own folder where there is none. Suites of
different roots never share a process.
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

#: The path that always means the suites that ship with dpaudit.
PAPERS = "papers"

AUDITS = "audits"


#: Folders that hold copies made by tools, not the user's own files.
_COPIES = ("__pycache__", ".git", ".hg", ".svn", ".ipynb_checkpoints", "site-packages", "dist-packages")

#: Names of dpaudit with which a file can declare rows.
_DECLARING = frozenset(("Suite", "Group", "Row", "Outcome", "Cell", "Run", "suite", "rows"))


Kind = Literal["suite", "maybe", "part"]


@dataclass(frozen=True)
class SuiteFile:
    """One suite file: where it lies, its root, and ``label``, the name under which reports know it.

    ``kind``: a ``"suite"`` was named, or assigns ``suite`` in a plain statement, so that it must set one. A
    file found in a folder that binds ``suite`` in another form is ``"maybe"`` one. A ``"part"`` imports a
    suite, or what declares rows: it is of interest only if no suite imports it.
    """

    path: Path
    root: Path
    label: str
    kind: Kind = "suite"

    @property
    def module(self) -> str:
        """The dotted module name that the file has from its root."""
        return ".".join(self.path.relative_to(self.root).with_suffix("").parts)


def find_suites(paths: Sequence[str]) -> list[SuiteFile]:
    """Return the suite files that ``paths`` name, in order, each once, and the parts of suites beside them.

    A path is a suite file, a folder of suites, a folder that holds an ``audits`` folder, ``papers``, or one
    of these such as ``papers:classics``. No path at all means the ``audits`` folder of the current folder, or
    ``papers`` where there is none. Raises ``InvalidParameterError`` for anything else.
    """
    return each_once(suites_at(path) for path in paths or default_paths())


def each_once(suites: Iterable[Sequence[SuiteFile]]) -> list[SuiteFile]:
    """Return the files of several paths, each once: as a suite where one of the paths names it itself."""
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
    labels = [suite.label for suite in suites if suite.kind == "suite"]
    kept = [suite for suite in suites if f"{suite.label}/".startswith(path.rstrip("/") + "/")]
    if path == PAPERS or kept:
        return suites if path == PAPERS else kept
    names = ", ".join(label.rpartition("/")[0] for label in labels)
    raise InvalidParameterError(f"of {PAPERS} there are {names}, got {path}; name one of them.")


def _all_bundled() -> list[SuiteFile]:
    folder = bundled_audits()
    suites = [
        SuiteFile(path, folder.parent, f"{PAPERS}:{path.relative_to(folder).as_posix()}", kind)
        for path, kind in _files_below(folder)
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
    suites = [_suite(file, kind) for file, kind in _files_below(folder)]
    if not suites:
        raise no_suite(name)
    return suites


def no_suite(name: str) -> InvalidParameterError:
    """Return the error for a folder without suites."""
    return InvalidParameterError(
        f"a folder of suites must hold a Python file that sets `suite`, found none in {name}; "
        f"write `suite = Suite(paper=..., title=...)` in one, or name another folder."
    )


def _suite(path: Path, kind: Kind = "suite") -> SuiteFile:
    full = path.resolve()
    # Of several folders called audits the innermost counts: the suite's own neighbourhood, not where the
    # repository happens to lie.
    audits = next((folder for folder in full.parents if folder.name == AUDITS), None)
    return SuiteFile(full, audits.parent if audits else full.parent, _label(full), kind)


def _label(full: Path) -> str:
    """A resolved path as reports write it: seen from the current folder if it is below."""
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
    """Return what a file is by its syntax; ``None`` if it can hold no part of a suite.

    One that cannot be read or parsed counts as a suite: loading it will say what is wrong.
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
    """Yield every node that runs in the module's own namespace: of functions and classes their names alone,
    unless a function declares ``suite`` global."""
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
    """Whether a node binds the name ``suite`` other than by an import: as a target of any kind, as the name
    of a function, of a class or of an exception, or in a pattern."""
    if isinstance(node, ast.Name):
        return node.id == "suite" and isinstance(node.ctx, ast.Store)
    named = getattr(node, "name", None) or getattr(node, "rest", None)
    return named == "suite" and not isinstance(node, ast.alias)


def _may_declare(node: ast.AST) -> bool:
    """Whether a node imports a suite or what declares rows, or names ``suite`` in a string, as for
    ``globals()["suite"]``."""
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
