"""Find changed lines of the core that no test detects: ``python -m benchmarks.mutants judge``.

Takes a seeded sample of small changes (a comparison flipped, an integer one off, min for max, and for or,
plus for minus, a ``not`` or a statement left out) and runs the tests on each, in a copy of the repository. A
change that no test detects is printed: either a test is missing, or the change affects no promised behaviour.
Slow (a second or more per mutant), and not a part of the tests.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

__all__ = ["PARTS", "main", "mutations"]

ROOT = Path(__file__).resolve().parent.parent
COPIED = (
    "dpaudit",
    "audits",
    "benchmarks",
    "tests",
    "pyproject.toml",
    "README.md",
)

#: Tests that detected other changes of a file are tried first, at most this many.
KNOWN = 12

#: The changed files, and the tests that must detect changes, from the repository's root.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "judge": (
        (
            "dpaudit/core/verdicts.py",
            "dpaudit/core/row_verdicts.py",
            "dpaudit/core/evidence.py",
            "dpaudit/core/exact.py",
        ),
        ("tests/core",),
    ),
    "statistics": (("dpaudit/blackbox/statistics",), ("tests/blackbox/statistics",)),
    "coins": (("dpaudit/coins",), ("tests/coins",)),
    "distributions": (("dpaudit/distributions",), ("tests/distributions",)),
    "kernel": (("dpaudit/kernel",), ("tests/kernel", "tests/certify")),
    "replays": (("dpaudit/replay",), ("tests/replay",)),
}

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
_SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil"}
_SWAPPED |= {other: name for name, other in _SWAPPED.items()}
#: Skipped, like annotations: the text of an error.
_SKIPPED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


def mutations(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield every node that can be changed, with a replacement, in the order of the text."""
    yield from ((tree, other) for other in _others(tree))
    if isinstance(tree, ast.FunctionDef):
        inside: list[ast.AST] = [*tree.body]
    elif isinstance(tree, ast.AnnAssign):
        inside = [tree.value] if tree.value else []
    else:
        inside = [] if isinstance(tree, _SKIPPED) else [*ast.iter_child_nodes(tree)]
    for child in inside:
        yield from mutations(child)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARED[type(operator)]:
                changed = copy.deepcopy(node)
                changed.ops[place] = other()
                yield changed
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (ast.Constant(node.value + step) for step in (1, -1))
    elif isinstance(node, ast.Name) and node.id in _SWAPPED:
        yield ast.Name(_SWAPPED[node.id], ast.Load())
    elif isinstance(node, ast.Attribute) and node.attr in _SWAPPED:
        yield ast.Attribute(node.value, _SWAPPED[node.attr], ast.Load())
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.Raise | ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()


def _sample(files: Sequence[Path], *, seed: int, limit: int) -> list[tuple[Path, str, str]]:
    """Return at most ``limit`` mutants: a file, a description of the change, and the whole changed text."""
    counts = {file: sum(1 for _ in mutations(_parsed(file))) for file in files}
    places = [(file, place) for file, count in counts.items() for place in range(count)]
    chosen = sorted(random.Random(seed).sample(places, min(limit, len(places))))
    return [(file, *_changed(file, place)) for file, place in chosen]


def _changed(file: Path, place: int) -> tuple[str, str]:
    tree = _parsed(file)
    node, other = next(itertools.islice(mutations(tree), place, None))
    before, after = (ast.unparse(item).splitlines()[0][:70] for item in (node, other))
    changed = ast.unparse(_Swap(node, other).visit(tree))
    return f"line {getattr(node, 'lineno', '?')}: {before}  ->  {after}", changed


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


class _Swap(ast.NodeTransformer):
    """Replaces ``old`` by ``new``."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        changed: ast.AST = self.new if node is self.old else self.generic_visit(node)
        return changed


class _Named:
    """Writes the name of a test that fails into ``file``."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.file.write_text(report.nodeid, encoding="utf-8")


def _failing(tests: Sequence[str], *, seconds: int, names: Path) -> str | None:
    """Return the test that fails first in a child process, or ``None`` if all pass.

    The result is empty if the child did not name a test or took longer.
    """
    names.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)  # a mutant that loops at import is detected, and a mutant that loops in a test:
        limit = ["-p", "no:cacheprovider", "--timeout", str(seconds)]
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(int(pytest.main(["-x", "-q", "-n", "0", *limit, *tests], [_Named(names)]) != 0))
    if os.waitpid(child, 0)[1] == 0:
        return None
    return names.read_text(encoding="utf-8") if names.exists() else ""


def _noticed(tests: Sequence[str], known: list[str], *, seconds: int, names: Path) -> bool:
    """Check whether a test fails: first the ``known`` tests, which detected other changes of the same
    file.
    """
    if known and _failing(known[-KNOWN:], seconds=seconds, names=names) is not None:
        return True
    failed = _failing(tests, seconds=seconds, names=names)
    if failed and failed not in known:
        known.append(failed)
    return failed is not None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the mutants that survive; 0 if there are none, 1 if there are."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutants", description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=50, help="mutants to try")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument(
        "--tests", nargs="+", help="tests that must detect changes, instead of the part's tests"
    )
    options = parser.parse_args(arguments)
    sources, tests = PARTS[options.part]
    tests = options.tests or tests
    for heavy in ("numpy", "scipy.stats", "scipy.special", "flint", "joblib", "jsonschema"):
        importlib.import_module(heavy)  # once, for every child
    with tempfile.TemporaryDirectory() as folder:
        return _try_out(Path(folder), sources, tests, options)


def _try_out(folder: Path, sources: Sequence[str], tests: Sequence[str], options: argparse.Namespace) -> int:
    for name in COPIED:
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, folder / name)
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder)}
    os.chdir(folder)
    files = [path for name in sources for path in [*Path(name).rglob("*.py"), Path(name)] if path.is_file()]
    start = time.perf_counter()
    names = folder / "failing"
    if _failing(tests, seconds=3600, names=names) is not None:
        sys.stdout.write("the tests must pass before anything is changed.\n")
        return 2
    seconds = 10 + int(2 * (time.perf_counter() - start))
    chosen = [path for path in sorted(files) if options.only in str(path)]
    survived = 0
    known: dict[Path, list[str]] = {}
    mutants = _sample(chosen, seed=options.seed, limit=options.limit)
    for number, (file, words, changed) in enumerate(mutants):
        sys.stderr.write(f"{number} of {len(mutants)} tried\r")
        original = file.read_text(encoding="utf-8")
        file.write_text(changed, encoding="utf-8")
        if not _noticed(tests, known.setdefault(file, []), seconds=seconds, names=names):
            survived += 1
            sys.stdout.write(f"survived: {file}, {words}\n")
            sys.stdout.flush()
        file.write_text(original, encoding="utf-8")
    sys.stdout.write(f"{survived} of {len(mutants)} mutants survived\n")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
