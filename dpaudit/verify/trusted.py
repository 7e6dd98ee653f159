"""How large the trusted base is: lines of code that a certificate's truth rests on, tier by tier."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from dpaudit.kernel import (
    branches_t0,
    claim_t0,
    finite_t0,
    gaussian_t0,
    kernel_t0,
    program_claim,
    program_t0,
    ray_t0,
    step_t0,
)

__all__ = ["claim_lines", "code_lines", "program_lines", "trusted_lines", "values_lines"]

#: For data of a fixed size, of every size, where everything is finite, of Gaussian releases alone, of
#: releases that data choose, and for refutations by a ray.
PROGRAM_CHECKERS = [
    Path(str(module.__file__))
    for module in (program_t0, step_t0, finite_t0, gaussian_t0, branches_t0, ray_t0)
]

CLAIM_FILES = [Path(str(module.__file__)) for module in (claim_t0, program_claim)]

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
    """Lines of code of each tier of the kernel; T1 counts balls and the choice of a tier too. The checkers of
    proofs of programs stand alone (``program_lines``), as does what ties them to claims (``claim_lines``)."""
    folder = Path(kernel_t0.__file__).parent
    t0 = [folder / "kernel_t0.py"]
    alone = [*t0, *PROGRAM_CHECKERS, *CLAIM_FILES]
    t1 = [*(path for path in folder.glob("*.py") if path not in alone), *(folder / "t1").glob("*.py")]
    tiers = {"T0": t0, "T1": t1, "T2": [*(folder / "t2").glob("*.py")]}
    return {tier: sum(code_lines(path.read_text("utf-8")) for path in paths) for tier, paths in tiers.items()}


def program_lines() -> int:
    """Lines of code of the largest file that checks proofs of programs; each imports no other."""
    return max(code_lines(path.read_text("utf-8")) for path in PROGRAM_CHECKERS)


def claim_lines() -> int:
    """Lines of code of the two files that tie a program's proof to a claim and to its scope in words."""
    return sum(code_lines(path.read_text("utf-8")) for path in CLAIM_FILES)


def values_lines() -> int:
    """Lines of code that check records of programs on private values: their folder, and the file that checks
    hidden noise."""
    folder = Path(kernel_t0.__file__).parent
    files = [*(folder / "values").glob("*.py"), folder / "program_t0.py"]
    return sum(code_lines(path.read_text("utf-8")) for path in files)


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
