"""Extract one row of a suite into a single file, for ``dpaudit init --from``.

The file contains the statement that declares the row, and the statements that its names need from its module
and from the suite's other modules. Everything else stays an import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dpaudit.core.errors import InvalidParameterError

__all__ = ["row_source"]


@dataclass
class _Module:
    """The statements of a file, and which of them are needed."""

    path: Path
    lines: list[str]
    body: list[ast.stmt]
    taken: set[int] = field(default_factory=set)
    #: Lines that declare other rows by the same function.
    dropped: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> _Module:
        text = path.read_text(encoding="utf-8")
        return cls(path, text.splitlines(), ast.parse(text).body)

    def binding(self, name: str) -> list[int]:
        """Return the indices of the top-level statements that bind a name."""
        return [i for i, statement in enumerate(self.body) if name in _bound(statement)]

    def at(self, line: int) -> int | None:
        """Return the index of the top-level statement that contains a line."""
        spans = enumerate((_first_line(one), one.end_lineno or 0) for one in self.body)
        return next((i for i, (first, last) in spans if first <= line <= last), None)

    def text(self, i: int) -> str:
        """Return the text of a statement with its decorators and the comments directly above it."""
        first = _first_line(self.body[i]) - 1
        while first and self.lines[first - 1].startswith("#"):
            first -= 1
        last = self.body[i].end_lineno or first
        return "\n".join(self.lines[n] for n in range(first, last) if n + 1 not in self.dropped)

    def drop_other_rows(self, i: int, line: int) -> None:
        """Drop a function's decorators that declare other rows of the same group than the one at ``line``."""
        statement = self.body[i]
        decorators = _decorators(statement)
        kept = [item for item in decorators if item.lineno <= line <= (item.end_lineno or 0)]
        if not kept or not isinstance(statement, ast.FunctionDef):
            return
        for item in decorators:
            if item not in kept and _group_of(item) == _group_of(kept[0]) != "":
                self.dropped |= set(range(item.lineno, (item.end_lineno or item.lineno) + 1))
            elif item not in kept:
                kept.append(item)
        statement.decorator_list = kept

    def drop_missing_repairs(self, i: int) -> None:
        """Drop ``repairs=`` arguments that name rows outside the extracted statement, or may do so."""
        for call in [node for node in ast.walk(self.body[i]) if isinstance(node, ast.Call)]:
            for keyword in [item for item in call.keywords if item.arg == "repairs"]:
                mended = _texts(keyword.value)
                made = any(isinstance(node, ast.JoinedStr) for node in ast.walk(keyword.value))
                call.keywords.remove(keyword)
                if not made and mended <= _texts(self.body[i]):
                    call.keywords.append(keyword)
                else:
                    self._cut(keyword)

    def _cut(self, keyword: ast.keyword) -> None:
        """Remove an argument and the comma after it from the lines."""
        first, last = keyword.lineno, keyword.end_lineno or keyword.lineno
        before = self.lines[first - 1].encode()[: keyword.col_offset].decode()  # offsets count bytes
        after = self.lines[last - 1].encode()[keyword.end_col_offset or 0 :].decode()
        after = after.removeprefix(",").lstrip()
        self.dropped |= set(range(first + 1, last + 1))
        self.lines[first - 1] = f"{before}{after}".rstrip()
        if not self.lines[first - 1]:
            self.dropped.add(first)


def _decorators(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement.decorator_list
    return []


def _texts(node: ast.AST) -> set[str]:
    """Return the string constants of a piece of source."""
    constants = [item.value for item in ast.walk(node) if isinstance(item, ast.Constant)]
    return {value for value in constants if isinstance(value, str)}


def _group_of(decorator: ast.expr) -> str:
    """Return the first argument of a row's decorator, which names its group, or an empty text."""
    first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
    return first.id if isinstance(first, ast.Name) else ""


def _first_line(statement: ast.stmt) -> int:
    return min([statement.lineno, *(item.lineno for item in _decorators(statement))])


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


class _Taken:
    """The statements and imports needed so far for a row of the file ``path`` below ``root``."""

    def __init__(self, path: Path, root: Path) -> None:
        self.root, self.package = root, path.relative_to(root).parts[0]
        #: In the order of the output: a module comes after the modules that it imports from.
        self.modules: dict[Path, _Module] = {}
        self.imports: set[tuple[str, str, str]] = set()
        self.renamed: list[str] = []
        self._owners: dict[str, tuple[_Module, int]] = {}

    def module(self, path: Path) -> _Module:
        if path not in self.modules:
            self.modules[path] = _Module.read(path)
        return self.modules[path]

    def take(self, module: _Module, i: int) -> None:
        """Take a statement and everything that its names need."""
        if i in module.taken:
            return
        module.taken.add(i)
        for name in _bound(module.body[i]):
            owner, other = self._owners.setdefault(name, (module, i))
            if owner is not module and owner.text(other) != module.text(i):
                raise _not_extractable(f"{name!r} differs between {owner.path.name} and {module.path.name}")
        for node in ast.walk(module.body[i]):
            if isinstance(node, ast.Name):
                if node.id == "__file__":
                    raise _not_extractable("it reads files next to it")
                self.need(module, node.id)

    def need(self, module: _Module, name: str) -> None:
        """Take what binds a name in a module, if anything does."""
        for i in module.binding(name):
            statement = module.body[i]
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                self.take(module, i)
                continue
            for alias in statement.names:
                if (alias.asname or alias.name.split(".")[0]) == name:
                    self._import(statement, alias)

    def _import(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
        source = (statement.module or "") if isinstance(statement, ast.ImportFrom) else ""
        dotted = (source or alias.name).split(".")
        if getattr(statement, "level", 0) or dotted[0] != self.package:
            self.imports.add((source, alias.name, alias.asname or ""))
            return
        path = self.root.joinpath(*dotted).with_suffix(".py")
        if not source or not path.is_file():
            raise _not_extractable(f"it needs the whole module {'.'.join([*dotted, alias.name])}")
        before = list(self.modules)
        other = self.module(path)
        self.need(other, alias.name)
        if path not in before:  # a new module comes before the modules that import it
            ordered = {one: self.modules[one] for one in self.modules if one not in before}
            self.modules = ordered | {one: self.modules[one] for one in before}
        if alias.asname and alias.asname != alias.name:
            self.renamed.append(f"{alias.asname} = {alias.name}")

    def text(self) -> str:
        """Return the imports, then the statements of each module in their order."""
        parts = ["\n".join(self._import_lines())]
        for n, module in enumerate(self.modules.values()):
            if n == len(self.modules) - 1:
                parts += dict.fromkeys(self.renamed)
            parts += [module.text(i) for i in sorted(module.taken)]
        parts = list(dict.fromkeys(part for part in parts if part))
        small = [i > 0 and "\n" not in part for i, part in enumerate(parts)]
        text = parts[0]
        for i in range(1, len(parts)):
            text += ("\n" if small[i - 1] and small[i] else "\n\n\n") + parts[i]
        return text

    def _import_lines(self) -> Iterator[str]:
        by_source: dict[str, list[str]] = {}
        for source, name, other in sorted(self.imports):
            by_source.setdefault(source, []).append(f"{name} as {other}" if other else name)
        for whole in by_source.pop("", []):
            yield f"import {whole}"
        for source, names in by_source.items():
            if source != "__future__":
                yield f"from {source} import {', '.join(dict.fromkeys(names))}"


def _not_extractable(why: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"this row cannot be extracted into one file: {why}. Choose another row, or copy the suite.",
        code="E-ROW-EXTRACT",
    )


def row_source(path: Path, line: int, *, root: Path) -> tuple[str, str]:
    """Return the source of the row at a line of a file with everything it needs, and the name of its group.

    Statements are copied from modules of the file's own package below ``root``. Other modules are imported.
    Raises ``InvalidParameterError`` for a row that cannot be extracted, because a function makes it, or it
    needs whole modules, other files, or two definitions of one name.
    """
    taken = _Taken(path, root)
    module = taken.module(path)
    place = module.at(line)
    if place is None or not _declares(module.body[place], line):
        raise _not_extractable("a function makes it together with other rows")
    module.drop_other_rows(place, line)
    module.drop_missing_repairs(place)
    taken.take(module, place)
    groups = [
        name
        for i in sorted(module.taken)
        for name in sorted(_bound(module.body[i]))
        if isinstance(module.body[i], ast.Assign) and _is_group(module.body[i])
    ]
    if len(groups) != 1:
        raise _not_extractable("it belongs to no group of its module")
    return taken.text(), groups[0]


def _declares(statement: ast.stmt, line: int) -> bool:
    """Return whether the line runs on import. In a function, only the lines of decorators do."""
    decorated = any(item.lineno <= line <= (item.end_lineno or 0) for item in _decorators(statement))
    return decorated or not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _is_group(statement: ast.stmt) -> bool:
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Group"
