"""``verify --suite``: there is no field of a report that can be edited without a finding, but the times."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from dpaudit.run.process import Pool
from tests.cli.forged import ROWS, again, confirmed, leaves, put, remember_runs
from tests.cli.suites import REFUTED, run, write_suite

#: So many tests share the fields.
PARTS = 4

#: What may differ, by the last two steps of its path, and why.
EXEMPT = {
    ("stamps", "started"): "when the run was started",
    ("stamps", "finished"): "when it was finished",
    ("*", "seconds"): "how long the row took",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], Path, Pool]]:
    """A report of two suites, their folder, and one pool for all the runs."""
    folder = tmp_path_factory.mktemp("fields")
    write_suite(folder / "audits" / "first.py", ROWS)
    write_suite(folder / "audits" / "second.py", REFUTED)
    _, report = run(folder / "audits", "--seed", 3, report=folder / "report.json")
    pool = Pool(1)
    yield report, folder, pool
    pool.close()


def exempt(path: tuple[Any, ...]) -> bool:
    return path[-2:] in EXEMPT or ("*", path[-1]) in EXEMPT


def edits(value: Any) -> list[Any]:
    """Other values of the same type, near to the true one, and one of another type that Python takes for
    equal."""
    if value is None:
        return ["x", 1, True]
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, bool(value) if value in (0, 1) else float(value)]
    if isinstance(value, float):
        return [value * 1.001 + 0.001, -value]
    if isinstance(value, str):
        return [value + "x", value[:-1] if value else "y", None]
    return [[None], {"more": 1}]  # an empty list or object


def another_time(value: Any) -> Any:
    """Another time, or another number of seconds, in the same form."""
    return value + 1 if isinstance(value, float) else "2001-02-03T04:05:06+00:00"


@pytest.mark.parametrize(
    "each", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one edit", "each edit"]
)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_field_is_compared(
    made: tuple[dict[str, Any], Path, Pool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: int,
    each: bool,
) -> None:
    """Every leaf of the report, edited in one way or (slow) in several, one at a time, makes ``--suite``
    refuse; the exempt ones are the three times and nothing else."""
    report, folder, pool = made
    remember_runs(monkeypatch)
    suites = [folder / "audits"]
    assert confirmed(again(json.dumps(report), tmp_path, suites, pool))
    paths = list(leaves(report))
    assert len(paths) > 400
    missed = []
    for path in paths[part::PARTS]:
        value = report
        for key in path:
            value = value[key]
        others = [another_time(value)] if exempt(path) else edits(value)
        for other in others if each else [others[crc32(repr(path).encode()) % len(others)]]:
            changed = copy.deepcopy(report)
            put(changed, path, other)
            if confirmed(again(json.dumps(changed), tmp_path, suites, pool)) is not exempt(path):
                missed.append((path, value, other))
    assert missed == []
