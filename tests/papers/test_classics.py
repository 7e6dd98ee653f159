"""Proves that the classics are short, by the public API alone, and come out as the literature says."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from audits.classics.suite import suite
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Run

ROWS = Path(__file__).parents[2] / "audits" / "classics" / "rows"
FILES = sorted(path for path in ROWS.glob("*.py") if path.name != "__init__.py")


def lines_of_code(path: Path) -> int:
    """Lines of a module that are neither imports, docstrings, comments nor empty."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if documented or isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = [line.strip() for i, line in enumerate(text.splitlines(), start=1) if i not in left_out]
    return sum(bool(line) and not line.startswith("#") for line in kept)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_audit_takes_at_most_25_lines(path: Path) -> None:
    """Programs, claims and rows of a file, divided by its rows; none registers a distribution or a rule."""
    text = path.read_text(encoding="utf-8")
    rows = len(import_module(f"audits.classics.rows.{path.stem}").rows.rows)
    assert rows >= 2
    assert lines_of_code(path) <= 25 * rows
    assert "register" not in text.replace("registered", "")


@pytest.mark.parametrize("name", ["SVT/5", "SVT/3", "LINUCB/leak", "SHUFFLE/clones", "SHUFFLE/below"])
def test_rows_that_take_a_second_come_out_as_expected(name: str) -> None:
    """A row of every kind of evidence: infinite losses, a leak, a certificate, tables."""
    row = next(row for row in suite.rows if row.id == name)
    run = Run(profile="quick", alpha=0.01, seed=0, row_id=row.id)
    found = row.evaluate(run)
    judged = judge_row(row.claim, found.evidence, found.cells, unmet=found.unmet, alpha=run.alpha)
    assert judged.whole.judgement.verdict.value == row.expect
