"""What ``dpaudit run`` loads and says before its first row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.suites import VERIFIED, write_suite

RUN = "from dpaudit.cli import main; main(prog_name='dpaudit')"


def test_a_terminal_is_told_at_once_what_is_loaded(tmp_path: Path) -> None:
    """The first line on a terminal names the suites."""
    pty = pytest.importorskip("pty")
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", RUN, "run", str(suite), "--json", str(tmp_path / "report.json")]
    done = subprocess.run(words, stderr=theirs, stdout=subprocess.DEVNULL, timeout=120, check=False)
    assert done.returncode == 0
    assert os.read(ours, 1000).decode().split() == ["loading", str(suite)]


def test_the_process_that_plans_loads_no_distribution() -> None:
    """The command itself imports neither scipy nor the distributions: only the workers do."""
    slow = ("scipy", "dpaudit.distributions")
    code = f"import dpaudit.cli.run, sys; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
