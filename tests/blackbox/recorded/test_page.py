"""The examples of the page on released code print the output shown on the page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "released_code.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```\n\n((?:(?:    [^\n]*)?\n)+)", PAGE, flags=re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("number", range(7))
def test_an_example_prints_what_is_shown(number: int, tmp_path: Path, capsys) -> None:
    """Run each example as a separate file, so that line numbers and sources can be read."""
    assert len(EXAMPLES) == 7
    code, shown = EXAMPLES[number]
    path = tmp_path / "released.py"
    path.write_text(code, encoding="utf-8")
    runpy.run_path(str(path))
    printed = "".join(f"    {line}\n" if line else "\n" for line in capsys.readouterr().out.splitlines())
    assert printed.strip() == shown.strip()
