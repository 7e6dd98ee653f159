"""Compute the bits that one user sends: a residue modulo m = n g + 2τ + 1 has ⌈log₂ m⌉ bits."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpaudit.core.exact_functions import log2, log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.distributed_elimination import variant
from dpaudit.reference.mechanisms.parameter_sheet import LAPLACE_SUM_CONSTANT, Sheet
from dpaudit.reference.mechanisms.wire import bits_per_residue

__all__ = ["TAIL", "bits", "log_size_bound", "sheet_of"]

TAIL = Fraction(1, 2**20)


def sheet_of(name: str, n: int, epsilon: Fraction, *, s: int = 1, p: Fraction = TAIL) -> Sheet:
    """Return the parameter sheet of a variant (``distributed_elimination.NAMES``) for ``n`` users. Most
    variants ignore ``s``."""
    return variant(name, epsilon=epsilon, failure_prob=p, scale_factor=s).sheet(n)


@lru_cache(maxsize=4096)
def bits(name: str, n: int, epsilon: Fraction, *, s: int = 1, p: Fraction = TAIL) -> int:
    """Return ⌈log₂ m⌉ for a variant's sheet."""
    return bits_per_residue(sheet_of(name, n, epsilon, s=s, p=p).modulus)


def log_size_bound(name: str, n: int, epsilon: Fraction, *, s: int, p: Fraction) -> Any:
    """Return (3/2) log₂ n + log₂ C + 1. C depends on ε, s and L = log(2/p), not on n.

    g <= s ε sqrt(n) + 1 and τ <= g × margin + rest + 1 give m <= n^{3/2} ((s ε + 1)(1 + 2 margin) + 2 rest +
    3), as n >= 1. The margin per unit of g is L/ε, or the variant's own margin.
    """
    budget, level = (epsilon / 2, p / 2) if name.startswith("shuffle") else (epsilon, p)
    spread, rest = log_of_two_over(level), arb(0)
    margin = spread / ball(budget)
    if name == "dist_rdp_se":
        margin, rest = 2 * spread.sqrt() / ball(budget), arb(2).sqrt() * spread
    elif name == "dist_cdp_se":
        margin = (2 * spread).sqrt() / ball(budget)
    elif name == "ldp_se":  # its τ has an additional factor sqrt(n), as n g has
        margin = ball(LAPLACE_SUM_CONSTANT) * (2 * spread).sqrt() / ball(budget)
    factor = s if name in ("dist_rdp_se", "dist_cdp_se") else 1
    constant = (ball(factor * budget) + 1) * (1 + 2 * margin) + 2 * rest + 3
    return ball(Fraction(3, 2)) * log2(n) + log2(constant) + 1
