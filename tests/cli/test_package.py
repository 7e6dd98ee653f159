"""What an installed dpaudit carries beside its code."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_type_checkers_are_told_that_the_types_are_inline() -> None:
    """Without the marker file a user's type checker ignores every annotation."""
    assert files("dpaudit").joinpath("py.typed").is_file()


def test_the_licence_that_is_declared_is_the_text_that_is_shipped() -> None:
    """The metadata name the licence and its file, and the file holds the whole text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
