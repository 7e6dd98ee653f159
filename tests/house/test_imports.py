"""How the package's modules hang together: no circles, a kernel that needs nobody, and rooms below others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpaudit"

Graph = dict[str, set[str]]


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module of the package that a file names in an import: at its top, inside functions, for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module in FILES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module


def graph() -> Graph:
    """Who imports whom. The front door is left out: it loads names on first use, from everywhere."""
    edges = {name: set(imported(ast.parse(path.read_text()))) for name, path in FILES.items()}
    edges.pop("dpaudit")
    return {name: others - {"dpaudit", name} for name, others in edges.items()}


def folders() -> Graph:
    """Which folder of the package imports which; a single file beside them is a folder of its own."""
    edges: Graph = {}
    for name, others in graph().items():
        here = folder_of(name)
        edges.setdefault(here, set()).update(folder_of(other) for other in others)
    return {name: others - {name} for name, others in edges.items()}


def folder_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def require_no_circle(edges: Graph) -> None:
    TopologicalSorter(edges).prepare()


def test_no_module_needs_itself() -> None:
    """No circle of imports, those inside functions and those for annotations included."""
    require_no_circle(graph())


def test_no_folder_needs_itself() -> None:
    """No circle of folders: each is above or below another one, never both."""
    edges = folders()
    assert {"dpaudit.replay", "dpaudit.blackbox", "dpaudit.report", "dpaudit.verify"} <= set(edges)
    require_no_circle(edges)


def test_a_circle_of_folders_would_be_seen() -> None:
    """Where no module is in a circle: the lower folder imports a file of the upper one."""
    edges = folders()
    edges["dpaudit.certify"].add("dpaudit.replay")
    with pytest.raises(CycleError):
        require_no_circle(edges)


def test_a_circle_would_be_seen() -> None:
    """The same check on the graph with one import turned back."""
    edges = graph()
    edges["dpaudit.core.errors"].add("dpaudit.core.verdicts")
    with pytest.raises(CycleError):
        require_no_circle(edges)


#: The rooms of the package, from the bottom up, and all the rooms that each may import.
BELOW = {
    "kernel": set(),
    "core": {"kernel"},
    "distributions": {"core", "kernel"},
    "coins": {"core", "distributions", "kernel"},
    "certify": {"core", "distributions", "kernel"},
    "prover": {"certify", "coins", "core", "distributions", "kernel"},
    "blackbox": {"coins", "core", "distributions", "kernel"},
    "replay": {"blackbox", "certify", "coins", "core", "distributions", "kernel"},
    "suite": {"blackbox", "certify", "coins", "core", "distributions", "kernel", "prover", "replay"},
    "report": {"certify", "core"},
    "run": {"blackbox", "certify", "core", "kernel", "replay", "report"},
    "verify": {"certify", "core", "kernel", "report", "run"},
    "cli": {"blackbox", "certify", "core", "report", "run", "verify"},
    "pytest_plugin": {"blackbox", "core", "report", "run"},
}
#: The files beside the rooms: the door to the package, and ``audit``, which uses three rooms.
BESIDE_ROOMS = {"dpaudit.__main__", "dpaudit.auditing", "dpaudit.moved"}


def test_rooms_know_nothing_of_those_above() -> None:
    """Each room imports exactly the rooms of the table, and every folder of the package is in it."""
    edges = folders()
    rooms = {name for name in edges if name not in BESIDE_ROOMS and name != "dpaudit.reference"}
    assert rooms == {f"dpaudit.{room}" for room in BELOW}
    for room, below in BELOW.items():
        used = {name.split(".")[1] for name in edges[f"dpaudit.{room}"]} - {"__version__"}
        assert used == below, room


#: What the folders beside the package may import of each other.
BESIDE = {
    "dpaudit": set(),
    "mechanisms": {"mechanisms"},
    "algorithms": {"mechanisms", "algorithms"},
    "audits": {"mechanisms", "algorithms", "audits"},
}


def top_level(path: Path) -> set[str]:
    """The dotted names that a file imports, at its top and inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("folder", BESIDE)
def test_folders_know_only_those_below(folder: str) -> None:
    """The harness imports none of the others, mechanisms no algorithm, algorithms no audit."""
    others = {*BESIDE, "dpaudit/reference", "benchmarks", "tests"} - {"dpaudit"}
    files = [
        path for path in (ROOT / folder).rglob("*.py") if folder != "dpaudit" or "reference" not in path.parts
    ]
    assert files
    for path in files:
        # The two folders at the top are imported as dpaudit.reference.mechanisms and .algorithms.
        names = [f"{name.removeprefix('dpaudit.reference.').replace('.', '/')}/" for name in top_level(path)]
        used = {other for other in others for name in names if name.startswith(f"{other}/")}
        assert used - {"dpaudit/reference"} <= BESIDE[folder], path.relative_to(ROOT)
        assert folder != "dpaudit" or not used, path.relative_to(ROOT)


def test_no_paper_imports_another_one() -> None:
    """A paper's folder imports its own rows and mathematics, and what the papers share."""
    papers = {path.parent.name for path in (ROOT / "audits").glob("*/suite.py")}
    assert len(papers) >= 2
    for paper in papers:
        for path in (ROOT / "audits" / paper).rglob("*.py"):
            used = {name.split(".")[1] for name in top_level(path) if name.startswith("audits.")}
            assert used & papers <= {paper}, path.relative_to(ROOT)
