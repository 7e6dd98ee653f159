"""Child processes of the tests do not compile what another one has compiled."""

from __future__ import annotations

import subprocess
import sys


def test_children_keep_bytecode() -> None:
    """Wherever the tests run, a child process keeps the bytecode that it compiles."""
    asked = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == "False"
