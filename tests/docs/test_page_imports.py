"""Pages, docstrings and what ``dpaudit init`` writes import from at most two levels of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpaudit.cli.starter import STARTER

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "first_audit.ipynb"]

#: An import from a third level. `dpaudit.reference` is the corpus: its files are imported one by one.
DEEP = re.compile(r"(?:from|import) (dpaudit\.(?!reference)\w+\.[\w.]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_imports_public_names(page: Path) -> None:
    """A reader copies imports from pages."""
    assert DEEP.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", STARTER)
def test_the_first_files_of_a_project_import_public_names(file: str) -> None:
    """``dpaudit init`` writes them, and people go on from them."""
    assert DEEP.findall(STARTER[file]) == []


def test_docstring_examples_import_public_names() -> None:
    """Examples in docstrings are copied as well."""
    assert DEEP.findall("from dpaudit.core.views import user") == ["dpaudit.core.views"]
    for path in (ROOT / "dpaudit").rglob("*.py"):
        if "reference" not in path.relative_to(ROOT).parts:
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if ">>> " in line]
            assert DEEP.findall("\n".join(lines)) == [], path.relative_to(ROOT)
