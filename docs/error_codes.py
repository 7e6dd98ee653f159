"""Write docs/errors.md: every error code of dpaudit, with its class and texts.

Run ``python docs/error_codes.py`` after a message or a code changed. A test compares the page with the
source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errors.md"

HEAD = """# Error codes

Every error has a code that stays when its text changes. The terminal prints `error [E-...]: text`, and
Python has `dpaudit.errors.code_of(error)`. `python docs/error_codes.py` makes this page from the source.
`…` stands for a value.

An error without a code of its own has that of its class, such as `E-CERTIFICATE` for a certificate that
the kernel refuses.

| code | error | text |
| --- | --- | --- |
"""


def text_of(node: ast.expr | None) -> str:
    """Return the text of a message, with an ellipsis for each value in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "…"


def coded(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield code, class and text of every call in a file that has a literal code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield from of_class(node)
        if not isinstance(node, ast.Call):
            continue
        for item in node.keywords:
            if (
                item.arg == "code"
                and isinstance(item.value, ast.Constant)
                and str(item.value.value)[:2] == "E-"
            ):
                kind = node.func.id if isinstance(node.func, ast.Name) else ""
                kind = kind if kind.endswith("Error") else ""
                yield str(item.value.value), kind, text_of(node.args[0] if node.args else None)


def of_class(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield the code of an error's class, with the first sentence of its docstring."""
    for item in node.body:
        named = isinstance(item, ast.Assign) and getattr(item.targets[0], "id", "") == "code"
        if named and isinstance(item.value, ast.Constant) and str(item.value.value).startswith("E-"):
            about = (ast.get_docstring(node) or "").split("\n\n")[0]
            yield str(item.value.value), node.name, about


def page() -> str:
    """Return the whole page."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((ROOT / "dpaudit").rglob("*.py")):
        if "reference" not in path.relative_to(ROOT).parts:
            for code, kind, text in coded(path):
                rows.setdefault(code, []).append((kind, text))
    lines = []
    for code, found in sorted(rows.items()):
        kinds = ", ".join(sorted({f"`{kind}`" for kind, _ in found if kind}))
        texts = " / ".join(dict.fromkeys(text for _, text in found if text != "…"))
        lines.append(f"| `{code}` | {kinds} | {cell(texts)} |")
    return HEAD + "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Return a text as the cell of a Markdown table."""
    plain = " ".join(text.split())
    for sign in "\\|*_`<[":
        plain = plain.replace(sign, f"\\{sign}")
    return plain


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
