"""The proof of a program that was enumerated on all the data sets that its claim speaks about."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.exact import exact_str
from dpaudit.proofs.proof import Proof, accepted

__all__ = ["enumerated_tables"]


def enumerated_tables(
    rows: Sequence[Sequence[tuple[Fraction, Fraction]]],
    *,
    neighbours: Sequence[tuple[int, int]],
    domain: str,
    program: str,
    records: str = "",
) -> Proof:
    """``rows[i][y]`` encloses the probability of outcome y on data set i; ``neighbours`` are pairs of rows.

    ``domain`` says in words which data sets these are, in those of the claim; ``program`` what was
    enumerated; ``records`` what else is said of a record. All are in the assumption of every certificate.
    Raises ``CertificateError`` for tables that no laws fit into, or that are too large.
    """
    low, high = ([[exact_str(ends[side]) for ends in row] for row in rows] for side in (0, 1))
    pairs = [[str(i), str(j)] for i, j in neighbours]
    parameters: dict[str, Any] = {
        "lower": low,
        "upper": high,
        "neighbours": pairs,
        "domain": domain,
        "program": program,
    }
    if records:
        parameters["records"] = records
    return accepted("enumerated", parameters)
