"""Type-check the Python of the pages: ``python -m tests.docs.snippets``.

Every page is one module with its blocks in order, so that names of earlier blocks are known. Functions of the
pages have no annotations, as their readers write them. All calls into dpaudit are checked strictly.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```python(?: title="[^"\n]*")?\n(.*?)^```', re.MULTILINE | re.DOTALL)

#: Strict, but for the pages' own functions, which have no annotations.
OPTIONS = (
    *("--strict", "--allow-untyped-defs", "--allow-untyped-calls", "--allow-untyped-decorators"),
    *(
        "--check-untyped-defs",
        "--disable-error-code=import-not-found",
        "--no-error-summary",
        "--allow-redefinition",
        "--no-incremental",
    ),
    *("--disable-error-code=no-redef", "--disable-error-code=no-untyped-def"),
)


def modules() -> dict[str, str]:
    """Return the code of each page that has Python, by the name of its module."""
    found = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        if blocks:
            found[page.stem.lower()] = "\n\n".join(blocks)
    return found


def check(code: dict[str, str]) -> tuple[bool, str]:
    """Return whether mypy accepts the modules, and what it says. No module, or no mypy, is not accepted."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in code.items():
            (Path(folder) / f"page_{name}.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", *OPTIONS, folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    pages = modules()
    accepted, told = check(pages)
    print(f"{told}{len(pages)} pages: {'types are right' if accepted else 'not accepted'}")  # noqa: T201 (a command)
    sys.exit(0 if accepted else 1)
