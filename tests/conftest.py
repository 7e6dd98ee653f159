"""What holds for every test: its name is the same in every process, or workers could not share them; what
child processes compile is compiled once; the collector does not go through ten thousand tests each time; and
of a long enumeration only a sample runs without ``-m slow``.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

#: Texts of sets and of addresses differ from one process to the next.
CHANGING = re.compile(r"frozenset\(\{|\bset\(\{| at 0x[0-9a-f]+")


#: A test file that imports audits is about the papers, wherever it is.
IMPORTS_AUDITS = re.compile(r"^\s*(from|import) audits\b|import_module\(f?\"audits\.", flags=re.MULTILINE)


@functools.cache
def is_about_papers(path: Path) -> bool:
    """Return whether a test file is in tests/papers or imports audits."""
    return "papers" in path.parts or bool(IMPORTS_AUDITS.search(path.read_text(encoding="utf-8")))


def leave_samples(items: list[pytest.Item]) -> None:
    """Mark all but a sample of each function with ``@pytest.mark.sample(keep, each=(...))`` as slow.

    The tests with the same values of the parameters ``each`` make a group, which keeps its first ``keep``
    tests in the order of the check sums of their names: a fixed order that knows nothing of which test is
    easy. A test that is asked for by its name is the only one of its group, and runs.
    """
    groups: defaultdict[tuple[Any, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("sample"):
            parameters = item.callspec.params  # type: ignore[attr-defined]
            values = tuple(repr(parameters[name]) for name in mark.kwargs.get("each", ()))
            groups[item.nodeid.partition("[")[0], mark.args[0], values].append(item)
    for (_, keep, _), group in groups.items():
        for item in sorted(group, key=lambda item: (crc32(item.nodeid.encode()), item.nodeid))[keep:]:
            item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the papers, leave out slow tests unless ``-m`` names them, and refuse names that
    another process would spell differently: give such parameters ``ids``."""
    for item in items:
        if is_about_papers(item.path):
            item.add_marker("papers")
    leave_samples(items)
    if "slow" not in config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    changing = [item.nodeid for item in items if CHANGING.search(item.nodeid)]
    if changing:
        raise pytest.UsageError(
            f"{len(changing)} tests have names that change between processes (pass ids=): {changing[0]}"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Where Python is told to keep no bytecode, as in many containers, keep it in pytest's cache: each worker
    and each of hundreds of child processes would compile the tests and the packages, which takes longer than
    to import them. Set before workers start, so that they and their children share it. A session without a
    cache, as for a mutant, keeps it for itself.
    """
    if not sys.dont_write_bytecode or hasattr(config, "workerinput"):
        return
    changed = pytest.MonkeyPatch()
    changed.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    changed.setenv("PYTHONPYCACHEPREFIX", str(_bytecode(config)))
    config.add_cleanup(changed.undo)


def _bytecode(config: pytest.Config) -> Path:
    """Return the folder for bytecode."""
    if cache := getattr(config, "cache", None):
        return Path(cache.mkdir("bytecode"))
    folder = tempfile.TemporaryDirectory(prefix="dpaudit-bytecode-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)


def pytest_collection_finish() -> None:
    """Set aside from the collector what ten thousand tests and their modules are made of: an audit looks
    among all that it tracks for caches, several times. The caches that are known by now are still found.
    """
    kind, look = functools._lru_cache_wrapper, gc.get_referrers
    caches = [item for item in look(kind) if issubclass(type(item), kind)]
    gc.collect()
    gc.freeze()

    def get_referrers(*objects: Any) -> list[Any]:
        return look(*objects) + (caches if objects == (kind,) else [])

    gc.get_referrers = get_referrers
