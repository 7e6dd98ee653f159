"""Import a suite file and describe it as plain data, which is all that the parent knows before rows run."""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpaudit.core.claims import Claim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.row_verdicts import claimed_of, quantity_of
from dpaudit.core.suite import Group, Row, Suite
from dpaudit.core.views import View

__all__ = ["Item", "declared", "describe", "held", "import_suite"]

#: A declaration: its kind, its id, and the file and line that made it, if they are known.
Item = tuple[str, str, str, int]


def import_suite(path: str, module: str, *, part: bool = False) -> Suite | None:
    """Import the file at ``path`` as ``module``, its dotted name from the root, even if that name is in use.

    Return ``None`` for a ``part`` that sets no suite. Raises ``InvalidParameterError`` if any other file sets
    none, and every exception of the file.
    """
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise InvalidParameterError(f"a suite must be a Python file, got {path}.", code="E-SUITE-FILE")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[module]
        raise
    suite = getattr(loaded, "suite", None)
    if not isinstance(suite, Suite):
        if part:
            return None
        raise InvalidParameterError(
            f"a suite file must set `suite = Suite(name=..., title=...)`, got {type(suite).__name__}.",
            code="E-SUITE-MISSING",
        )
    return suite


def held(suite: Suite) -> list[Item]:
    """Return the contents of a suite: itself, its rows, its questions and its uncheckable claims."""
    return [
        _item("suite", suite.short, suite.location),
        *(_item("row", row.id, row.location) for row in suite.rows),
        *(_item("question", question.id, None) for question in suite.questions),
        *(_item("unchecked claim", name, None) for name, _ in suite.unchecked),
    ]


def declared(made: Sequence[Row | Group]) -> list[Item]:
    """Return everything in the rows and groups ``made`` that must be in a suite.

    A suite that another suite includes is represented by its contents.
    """
    found: list[Item] = []
    for item in made:
        if isinstance(item, Row):
            found.append(_item("row", item.id, item.location))
        else:
            found += [_item("question", question.id, None) for question in item.questions]
            found += [_item("unchecked claim", name, None) for name, _ in item.unchecked]
            if isinstance(item, Suite) and not (item.rows or item.questions or item.unchecked):
                found.append(_item("suite", item.short, item.location))
    return list(dict.fromkeys(found))


def _item(what: str, name: object, location: tuple[str, int] | None) -> Item:
    return (what, str(name), *(location or ("", 0)))


def describe(suite: Suite, *, file: str, root: Path) -> dict[str, Any]:
    """Return a suite, imported from ``file`` below ``root``, and its rows as plain data.

    Raises ``InvalidParameterError`` for a row with a wrong field.
    """
    _require_repairs(suite)
    return {
        "paper": str(suite.short),
        "title": str(suite.title),
        "reference": str(suite.reference),
        "symbols": _symbols(suite),
        "unchecked": [{"id": str(name), "reason": str(reason)} for name, reason in suite.unchecked],
        "rows": [_describe_row(row) | _location(row, file, root) for row in suite.rows],
    }


def _symbols(suite: Suite) -> dict[str, str]:
    for name, meaning in suite.symbols.items():
        if not (isinstance(name, str) and isinstance(meaning, str) and name.strip() and meaning.strip()):
            raise InvalidParameterError(
                f"symbols must map non-empty strings to their meaning, got {name!r}: {meaning!r}.",
                code="E-SUITE-SYMBOLS",
            )
    return dict(suite.symbols)


def _require_repairs(suite: Suite) -> None:
    """Raise ``InvalidParameterError`` unless every repair names other rows of the suite."""
    ids = {row.id for row in suite.rows}
    for row in suite.rows:
        unknown = [name for name in row.repairs if name not in ids or name == row.id]
        if unknown:
            raise InvalidParameterError(
                f"{row.id}: repairs must name other rows of the suite, got {unknown[0]!r}.",
                code="E-ROW-REPAIRS",
            )


def _describe_row(row: Row) -> dict[str, Any]:
    if not isinstance(row.id, str) or not row.id.strip():
        raise InvalidParameterError(
            f"a row's id must be a non-empty string, got {row.id!r}.", code="E-ROW-ID"
        )
    if not isinstance(row.claim, Claim):
        raise InvalidParameterError(
            f"{row.id}: claim must be a dpaudit claim such as PureDP(...), got {type(row.claim).__name__}.",
            code="E-ROW-CLAIM",
        )
    weight = float(row.weight)
    if not 0 < weight < math.inf:
        raise InvalidParameterError(
            f"{row.id}: weight must be a positive number, got {weight}.", code="E-ROW-WEIGHT"
        )
    view = getattr(row.claim, "view", None)
    if isinstance(view, View) and row.view and row.view != str(view):
        raise InvalidParameterError(
            f"{row.id}: the row's view must be the claim's view, {str(view)!r}, got {row.view!r}.",
            code="E-ROW-VIEW",
        )
    return {
        "id": row.id,
        "title": str(row.title),
        "kind": row.kind,
        "view": str(row.view) or (str(view) if isinstance(view, View) else ""),
        "claim": row.claim.to_json(),
        "quantity": quantity_of(row.claim),
        "claimed": claimed_of(row.claim),
        "expect": row.expect,
        "source": str(row.source),
        "role": row.role,
        "repairs": list(row.repairs),
        "weight": weight,
        "has_fingerprint": row.fingerprint is not None,
        "does": _documentation(row),
    }


def _location(row: Row, file: str, root: Path) -> dict[str, Any]:
    """Return where the row is declared, with its file relative to the folder of the suite file.

    The location is ``None`` for a file outside the root, because its path depends on this machine.
    """
    if row.location is None or not Path(row.location[0]).is_relative_to(root):
        return {"location": None}
    path, line = row.location
    return {"location": {"file": Path(os.path.relpath(path, Path(file).parent)).as_posix(), "line": line}}


def _documentation(row: Row) -> str:
    """Return the docstring of the row function, or of the function that a partial calls."""
    function: Any = row.evaluate
    while hasattr(function, "func"):
        function = function.func
    return inspect.cleandoc(getattr(function, "__doc__", None) or "")
