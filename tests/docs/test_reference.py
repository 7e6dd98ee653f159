"""The reference has a page for each public module, with every name of its ``__all__``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import dpaudit

ROOT = Path(__file__).parents[2]


def site_pages() -> ModuleType:
    """Load docs/site_pages.py, which is no module of a package."""
    spec = spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = site_pages()


@pytest.mark.parametrize("public", PAGES.REFERENCE)
def test_a_page_has_every_public_name_and_where_it_is_defined(public: str) -> None:
    """Each name stands there under its public name, and what it points to exists."""
    where, _ = PAGES.REFERENCE[public]
    text = PAGES.reference(public)
    for name in import_module(where).__all__:
        assert f"## `{public}.{name}`" in text
    for line in text.splitlines():
        if line.startswith("::: "):
            module, _, name = line.removeprefix("::: ").rpartition(".")
            assert hasattr(import_module(module), name), line


def test_the_top_has_32_names_and_every_module_it_offers_is_in_the_navigation() -> None:
    """32 names at the top; the rest is in modules, each with a page."""
    assert len(dpaudit.__all__) == 32
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for public in PAGES.REFERENCE:
        assert PAGES.page_of(public) in listed
    offered = {name for name in dir(dpaudit) if isinstance(getattr(dpaudit, name), ModuleType)}
    assert {f"dpaudit.{name}" for name in offered} <= set(PAGES.REFERENCE)
