"""The mutants that are tried are the changes that the command says, each one change of the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks import mutants

SOURCE = '''
def f(a: int = 3, *b):
    """At most 4 words."""
    if not a < 1 and min(b) == 2:
        raise ValueError(f"{a + 1} > 7")
    a -= b
    b.append(a)
    return a * -5
'''


def changes(text: str) -> list[str]:
    return [
        f"{ast.unparse(node).splitlines()[0]} -> {ast.unparse(other)}"
        for node, other in mutants.mutations(ast.parse(text))
    ]


def test_every_kind_of_change_is_made() -> None:
    """Comparisons, integers, min and max, and and or, not, arithmetic, statements; no words, no defaults."""
    assert changes(SOURCE) == [
        "not a < 1 and min(b) == 2 -> not a < 1 or min(b) == 2",
        "not a < 1 -> a < 1",
        "a < 1 -> a <= 1",
        "a < 1 -> a >= 1",
        "1 -> 2",
        "1 -> 0",
        "min(b) == 2 -> min(b) != 2",
        "min -> max",
        "2 -> 3",
        "2 -> 1",
        "raise ValueError(f'{a + 1} > 7') -> pass",
        "a -= b -> pass",
        "b.append(a) -> pass",
        "a * -5 -> a / -5",
        "5 -> 6",
        "5 -> 4",
    ]
    assert changes("x: Literal[1] = y[2] is None") == [
        "y[2] is None -> y[2] is not None",
        "2 -> 3",
        "2 -> 1",
    ]


def test_a_mutant_differs_from_the_source_in_its_one_change(tmp_path: Path) -> None:
    """The changed text is the source with that node replaced, and all mutants differ."""
    file = tmp_path / "source.py"
    file.write_text(SOURCE)
    found = mutants._sample([file], seed=0, limit=100)
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    assert len({changed for _, _, changed in found}) == len(changes(SOURCE)) == len(found)
    for _, words, changed in found:
        lines = changed.splitlines()
        assert sum(a != b for a, b in zip(whole, lines, strict=True)) == 1, words
    assert mutants._sample([file], seed=1, limit=3) == mutants._sample([file], seed=1, limit=3)
    assert len(mutants._sample([file], seed=1, limit=3)) == 3


@pytest.mark.parametrize("part", mutants.PARTS)
def test_the_parts_exist(part: str) -> None:
    """What is mutated and the tests that must notice are there."""
    for name in (*mutants.PARTS[part][0], *mutants.PARTS[part][1]):
        assert (mutants.ROOT / name).exists()
