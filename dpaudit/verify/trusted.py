"""Count the lines of code in the trusted base, on which the truth of a certificate rests, tier by tier."""

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

__all__ = ["claim_lines", "code_lines", "inequality_lines", "program_lines", "trusted_lines", "values_lines"]

#: The checkers for data of a fixed size, data of every size, finite data and draws, Gaussian releases alone,
#: branches on data, and unbounded-loss certificates.
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
    """Return the lines of code of each tier of the kernel. T1 includes balls and the choice of a tier.

    The checkers of program proofs (``program_lines``) and the files that connect them to claims
    (``claim_lines``) are counted separately.
    """
    folder = Path(kernel_t0.__file__).parent
    t0 = [folder / "kernel_t0.py"]
    alone = [*t0, *PROGRAM_CHECKERS, *CLAIM_FILES]
    t1 = [*(path for path in folder.glob("*.py") if path not in alone), *(folder / "t1").glob("*.py")]
    tiers = {"T0": t0, "T1": t1, "T2": [*(folder / "t2").glob("*.py")]}
    return {tier: sum(code_lines(path.read_text("utf-8")) for path in paths) for tier, paths in tiers.items()}


def program_lines() -> int:
    """Return the lines of code of the largest checker of program proofs. No checker imports another."""
    return max(code_lines(path.read_text("utf-8")) for path in PROGRAM_CHECKERS)


def claim_lines() -> int:
    """Return the lines of code of the two files that connect a program proof to a claim and a scope."""
    return sum(code_lines(path.read_text("utf-8")) for path in CLAIM_FILES)


def values_lines() -> int:
    """Return the lines of code that check records of programs on private values.

    They are in the folder of these checkers and in the file that checks hidden noise.
    """
    folder = Path(kernel_t0.__file__).parent
    files = [*(folder / "values").glob("*.py"), folder / "program_t0.py"]
    return sum(code_lines(path.read_text("utf-8")) for path in files)


def inequality_lines() -> int:
    """Return the lines of code that check proofs of inequalities, with the ball arithmetic they use."""
    folder = Path(kernel_t0.__file__).parent
    files = [*(folder / "inequalities").glob("*.py"), folder / "ball.py"]
    return sum(code_lines(path.read_text("utf-8")) for path in files)


def code_lines(source: str) -> int:
    """Return the number of lines with a token of code, without blank lines, comments and docstrings."""
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
