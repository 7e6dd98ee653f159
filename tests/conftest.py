"""What holds for every test: its name is the same in every process, or workers could not share them; what
child processes compile is compiled once; and the collector does not go through ten thousand tests each time.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

#: Texts of sets and of addresses differ from one process to the next.
CHANGING = re.compile(r"frozenset\(\{|\bset\(\{| at 0x[0-9a-f]+")


#: A test file that imports audits is about the papers, wherever it is.
IMPORTS_AUDITS = re.compile(r"^\s*(from|import) audits\b|import_module\(f?\"audits\.", flags=re.MULTILINE)


@functools.cache
def is_about_papers(path: Path) -> bool:
    """Return whether a test file is in tests/papers or imports audits."""
    return "papers" in path.parts or bool(IMPORTS_AUDITS.search(path.read_text(encoding="utf-8")))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the papers, leave out slow tests unless ``-m`` names them, and refuse names that
    another process would spell differently: give such parameters ``ids``."""
    for item in items:
        if is_about_papers(item.path):
            item.add_marker("papers")
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
    """Where Python is told to keep no bytecode, as in many containers, keep it beside the sources' tree for
    this session: each of hundreds of child processes would compile the package, which takes longer than to
    import it. Set before workers start, so that they and their children share it.
    """
    if not sys.dont_write_bytecode or hasattr(config, "workerinput"):
        return
    folder = tempfile.TemporaryDirectory(prefix="dpaudit-bytecode-", ignore_cleanup_errors=True)
    changed = pytest.MonkeyPatch()
    changed.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    changed.setenv("PYTHONPYCACHEPREFIX", folder.name)
    config.add_cleanup(folder.cleanup)
    config.add_cleanup(changed.undo)


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
