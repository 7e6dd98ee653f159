"""How large the trusted base is: lines of code that a certificate's truth rests on, tier by tier."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from dpaudit.kernel import kernel_t0

__all__ = ["code_lines", "trusted_lines"]

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def trusted_lines() -> dict[str, int]:
    """Lines of code of each tier of the kernel; T1 counts balls and the choice of a tier too."""
    folder = Path(kernel_t0.__file__).parent
    t0 = [folder / "kernel_t0.py"]
    t1 = [*(path for path in folder.glob("*.py") if path not in t0), *(folder / "t1").glob("*.py")]
    tiers = {"T0": t0, "T1": t1, "T2": [*(folder / "t2").glob("*.py")]}
    return {tier: sum(code_lines(path.read_text("utf-8")) for path in paths) for tier, paths in tiers.items()}


def code_lines(source: str) -> int:
    """Lines on which some token of code stands: no blanks, comments or docstrings."""
    lines: set[int] = set()
    docstring_may_follow = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _LAYOUT:
            docstring_may_follow = docstring_may_follow or token.type in (tokenize.NEWLINE, tokenize.INDENT)
            continue
        if not (docstring_may_follow and token.type == tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
        docstring_may_follow = False
    return len(lines)
