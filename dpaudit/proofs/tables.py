"""The proof of a program that was enumerated on all the data sets that its claim speaks about."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpaudit.exact import exact_str
from dpaudit.proofs.proof import Proof, accepted

__all__ = ["enumerated_tables"]


def enumerated_tables(
    rows: Sequence[Sequence[tuple[Fraction, Fraction]]],
    *,
    neighbours: Sequence[tuple[int, int]],
    domain: str,
    program: str,
) -> Proof:
    """``rows[i][y]`` encloses the probability of outcome y on data set i; ``neighbours`` are pairs of rows.

    ``domain`` says in words which data sets these are, ``program`` what was enumerated: both are assumptions
    of every certificate. Raises ``CertificateError`` for tables that no laws fit into, or that are too large.
    """
    low, high = ([[exact_str(ends[side]) for ends in row] for row in rows] for side in (0, 1))
    pairs = [[str(i), str(j)] for i, j in neighbours]
    parameters = {"lower": low, "upper": high, "neighbours": pairs, "domain": domain, "program": program}
    return accepted("enumerated", parameters)
