"""Names of modules and of what is in them, where docstrings and pages mention them, are names that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = ("dpaudit", "audits", "benchmarks", "docs", "tests")

#: A dotted name between backticks.
NAME = re.compile(rf"`((?:{'|'.join(TOP[:3])})(?:\.[A-Za-z_]\w*)+)`")


def mentioned() -> dict[str, str]:
    """Every such name, with one file that mentions it. The changelog speaks of names that are gone."""
    names: dict[str, str] = {}
    texts = [ROOT / "README.md", *(path for top in TOP for path in (ROOT / top).rglob("*"))]
    for path in texts:
        if path.suffix in {".py", ".md"}:
            for name in NAME.findall(path.read_text(encoding="utf-8")):
                names.setdefault(name, path.relative_to(ROOT).as_posix())
    return names


def exists(name: str) -> bool:
    """Whether a dotted name is a module, a folder of modules, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:length])
        if place.with_suffix(".py").is_file() or place.is_dir():
            break
    if length == len(parts):
        return True
    value: object = import_module(".".join(parts[:length]))
    for part in parts[length:]:
        value = getattr(value, part, None)
    return value is not None


def test_every_name_that_is_mentioned_exists() -> None:
    """A module that moved, or a function that was renamed, is not spoken of under its old name."""
    names = mentioned()
    assert len(names) > 20
    assert {name: path for name, path in names.items() if not exists(name)} == {}


@pytest.mark.parametrize(
    "name", ["dpaudit.distributions.nothing", "dpaudit.core.exact.nothing", "benchmarks.no.such"]
)
def test_a_name_that_is_not_there_is_noticed(name: str) -> None:
    """The check above can fail: no such module, no such function."""
    assert not exists(name)
