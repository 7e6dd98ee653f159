"""``docs/map.md`` names every folder and only what is there; references to the design have a target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.rooms_picture import picture

ROOT = Path(__file__).parents[2]
TOP = ("dpaudit", "mechanisms", "algorithms", "audits", "benchmarks", "docs", "tests")
MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")

#: Text files of the tree that may refer to the design.
SUFFIXES = {".py", ".md", ".toml"}


def files() -> list[Path]:
    """Every file below the folders of the tree, none of what tools leave there."""
    paths = [path for top in TOP for path in (ROOT / top).rglob("*") if path.is_file()]
    return [path for path in paths if not {"__pycache__"} & set(path.parts)]


def folders() -> set[str]:
    """Every folder that holds a file, and those above it, as the map writes them."""
    within = {parent for path in files() for parent in path.relative_to(ROOT).parents if parent != Path(".")}
    return {f"{folder.as_posix()}/" for folder in within}


def named() -> set[str]:
    """Every path of the tree that the map names."""
    return {path for path in re.findall(r"`([^`<> ]+)`", MAP) if path.startswith(tuple(f"{t}/" for t in TOP))}


def test_every_folder_stands_in_the_map() -> None:
    """A new folder without a line in the map fails here."""
    assert folders() - named() == set()


def test_every_path_of_the_map_is_there() -> None:
    """A file or folder that was moved or removed fails here."""
    assert len(named()) > len(TOP)
    assert [path for path in sorted(named()) if not (ROOT / path).exists()] == []


def test_the_rules_of_the_design_are_numbered_without_a_gap() -> None:
    """1, 2, 3, ... in the order of the page."""
    numbers = [int(number) for number in re.findall(r"^\*\*(\d+)\. ", DESIGN, flags=re.M)]
    assert numbers == list(range(1, len(numbers) + 1))


REFERENCE = re.compile(r"docs/design\.md, rule (\d+)(?: ([a-z])\b)?")


def references() -> list[tuple[str, str, str]]:
    """File, number and letter of every reference to a rule of the design."""
    texts = [*files(), ROOT / "README.md", ROOT / "pyproject.toml"]
    return [
        (path.relative_to(ROOT).as_posix(), number, letter)
        for path in texts
        if path.suffix in SUFFIXES and path != Path(__file__)
        for number, letter in REFERENCE.findall(path.read_text(encoding="utf-8"))
    ]


def rule(number: str) -> str:
    """The text of a rule, up to the next one or the next heading; empty if there is none."""
    text = re.search(rf"^\*\*{number}\. .*?(?=^\*\*\d+\. |^## |\Z)", DESIGN, flags=re.M | re.S)
    return text[0] if text else ""


def test_every_reference_to_the_design_has_its_rule() -> None:
    """The code refers to rules by number, and by letter where a rule has parts."""
    pointers = references()
    assert pointers
    for path, number, letter in pointers:
        assert rule(number), f"{path}: rule {number}"
        assert not letter or f"* ({letter})" in rule(number), f"{path}: rule {number} {letter}"


def test_no_reference_goes_to_a_page_that_is_not_here() -> None:
    """The design's earlier name and its sections are gone."""
    for path in files():
        if path.suffix in SUFFIXES and path != Path(__file__):
            assert not re.search(r"\bDESIGN, ", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("number", ["0", "99"])
def test_a_rule_that_is_not_there_is_not_found(number: str) -> None:
    """The check above can fail."""
    assert rule(number) == ""


def test_the_picture_of_the_rooms_is_made_from_the_imports() -> None:
    """docs/rooms.svg is what ``tests/house/rooms_picture.py`` draws from the table of imports."""
    assert (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8") == picture()
