"""What holds for every test: its name is the same in every process, or workers could not share them."""

from __future__ import annotations

import re

import pytest

#: Texts of sets and of addresses differ from one process to the next.
CHANGING = re.compile(r"frozenset\(\{|\bset\(\{| at 0x[0-9a-f]+")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that another process would spell otherwise: give such parameters `ids` of their own."""
    changing = [item.nodeid for item in items if CHANGING.search(item.nodeid)]
    if changing:
        raise pytest.UsageError(
            f"{len(changing)} tests have names that change between processes (pass ids=): {changing[0]}"
        )
