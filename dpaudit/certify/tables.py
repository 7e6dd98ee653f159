"""The proof of a program that was enumerated on all the data sets that its claim speaks about."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.certify.parameters import written_weight
from dpaudit.certify.proof import Proof, accepted
from dpaudit.core.exact import exact_str
from dpaudit.kernel.t1.exponentials import ExpSum

__all__ = ["enumerated_tables", "enumerated_weights"]


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
    Raises ``CertificateError`` for tables that no distributions fit into, or that are too large.
    """
    low, high = ([[exact_str(ends[side]) for ends in row] for row in rows] for side in (0, 1))
    said = _said(neighbours, domain=domain, program=program, records=records)
    return accepted("enumerated", {"lower": low, "upper": high, **said})


def enumerated_weights(
    rows: Sequence[Sequence[ExpSum]],
    *,
    neighbours: Sequence[tuple[int, int]],
    domain: str,
    program: str,
    records: str = "",
) -> Proof:
    """The same where the probability of outcome y on data set i is ``rows[i][y]`` over the sum of row i: an
    epsilon that is rational is found exactly. Raises ``CertificateError`` for tables that are too large.
    """
    weights = [[written_weight(weight) for weight in row] for row in rows]
    said = _said(neighbours, domain=domain, program=program, records=records)
    return accepted("enumerated", {"weights": weights, **said})


def _said(neighbours: Sequence[tuple[int, int]], **words: str) -> dict[str, Any]:
    pairs = [[str(i), str(j)] for i, j in neighbours]
    return {"neighbours": pairs, **{name: text for name, text in words.items() if text}}
