"""What a default run keeps of a long enumeration: for each value of the named parameters the same tests."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


class Item(SimpleNamespace):
    """The parts of a collected test that the choice reads."""

    def get_closest_marker(self, name: str) -> Any:
        return pytest.mark.sample(2, each=("rule",)).mark if name == "sample" else None

    def add_marker(self, name: str) -> None:
        self.marked = name


def kept(request: pytest.FixtureRequest, order: int) -> list[Item]:
    """The tests of four rules in ten settings that are not marked as slow."""
    conftest: Any = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    items = [
        Item(
            nodeid=f"test_it[{rule}-{k}]", callspec=SimpleNamespace(params={"rule": rule, "k": k}), marked=""
        )
        for rule in "abcd"
        for k in range(10)
    ]
    random.Random(order).shuffle(items)
    conftest.leave_samples(items)
    assert {item.marked for item in items} == {"", "slow"}
    return [item for item in items if not item.marked]


def test_every_group_keeps_its_sample(request: pytest.FixtureRequest) -> None:
    """Two tests for each rule, the same ones in whatever order the tests are collected."""
    found = kept(request, 0)
    assert Counter(item.callspec.params["rule"] for item in found) == dict.fromkeys("abcd", 2)
    assert len({item.callspec.params["k"] for item in found}) > 2  # not the first ones of each list
    assert {item.nodeid for item in kept(request, 1)} == {item.nodeid for item in found}


def test_the_kernel_keeps_all_its_tests() -> None:
    """No test of the kernel, of distributions or of the statistics is left out of a default run."""
    for room in ("kernel", "distributions", "blackbox/statistics", "certify"):
        for path in (TESTS / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert "mark.sample" not in text, path
            assert "mark.slow" not in text, path


def test_the_weekly_command_runs_what_is_left_out() -> None:
    """It asks for the slow tests, and not for those that take hours."""
    script = TESTS.parent / ".ci" / "weekly"
    told = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert '-m "slow and not hours"' in script.read_text(encoding="utf-8")
