"""The examples of the documentation run, and print what stands below them."""

from __future__ import annotations

import json
import linecache
import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.cli.suites import invoke
from tests.prover.frames import needs_frames

DOCS = Path(__file__).parents[2] / "docs"

#: Pages whose examples stand one after the other, with what they print below each.
PAGES = (
    "prove_numpy",
    pytest.param("tutorial", marks=needs_frames),
    "check",
    "claims",
    "joint",
    "shuffle",
    "paper",
    "calibrate",
    "training_runs",
    "audit_library",
)

#: A fenced block of Python or of commands, and the lines below that show what it prints.
BLOCK = re.compile(
    r'^```(python|sh)(?: title="([^"\n]*)")?\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?', re.MULTILINE | re.DOTALL
)


def words(text: str) -> str:
    """Text with single spaces: columns of the terminal depend on what else is shown."""
    return " ".join(text.split())


def run_block(kind: str, title: str, code: str, names: dict[str, Any], folder: Path) -> str:
    """What a block prints; one with a title is written to the file of that name, and prints nothing."""
    if title:
        path = folder / title
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
        return ""
    if kind == "sh":
        return "".join(invoke(*shlex.split(line)[1:]).stdout for line in code.splitlines())
    printed = StringIO()
    with redirect_stdout(printed):
        # A proof reads the source of a function, so each block is a file of its own, as in a notebook.
        file = f"<block {hash(code):x}>"
        linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
        exec(compile(code, file, "exec", dont_inherit=True), names)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block by block, in one namespace and one folder; each shown line is printed."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    compared = 0
    for kind, title, code, shown in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        printed = words(run_block(kind, title, code, names, tmp_path))
        for line in shown.splitlines():
            assert words(line) in printed
            compared += 1
        if "dpaudit run" in code:
            assert invoke("verify", "dpaudit-report.json").exit_code == 0
    assert compared


def test_the_notebook_prints_what_it_holds() -> None:
    """Its cells, run again, give the outputs that are stored with them."""
    notebook = json.loads((DOCS / "first_audit.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            printed = run_block("python", "", "".join(cell["source"]), names, DOCS)
            stored = "".join("".join(out["text"]) for out in cell["outputs"])
            # Each block is a file of its own, named by its hash; the stored outputs say "cell".
            assert re.sub(r"<block [^>]*>", "cell", printed).rstrip("\n") == stored.rstrip("\n")


def test_every_page_is_in_the_navigation() -> None:
    """A page of the folder that the site does not list would be found by nobody."""
    listed = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [
        path.name for path in DOCS.iterdir() if path.suffix in (".md", ".ipynb") and path.name not in listed
    ]
    assert not missing


def test_no_page_calls_verified_what_is_accounted() -> None:
    """What is accounted is consistent, also in tables and in the notebook."""
    pages = [*DOCS.iterdir(), DOCS.parent / "README.md", *(DOCS.parent / "dpaudit").rglob("*.j2")]
    for path in (path for path in pages if path.suffix in (".md", ".ipynb", ".j2")):
        assert not re.search(r"verified[*` ]*/ accounted", words(path.read_text(encoding="utf-8"))), path.name
        for row in re.findall(
            r"^\|.*\*\*(.*) / accounted\*\*", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            assert row == "consistent"


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link of a page names a file of the repository."""
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
