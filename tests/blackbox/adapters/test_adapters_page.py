"""The examples of the page on adapters print the output shown, if their libraries are installed."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "adapters.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n((?:    [^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def test_the_examples_print_what_is_shown() -> None:
    """Run both examples in order, in one namespace."""
    pytest.importorskip("opendp.prelude")
    pytest.importorskip("diffprivlib")
    names: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for code, shown in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "cell", "exec"), names)
        assert printed.getvalue().split() == shown.split()
