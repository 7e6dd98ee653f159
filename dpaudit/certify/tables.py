"""Build the proof of a program that was enumerated on all the datasets of its claim."""

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
    """Return the proof from enclosures of all output probabilities.

    Parameters
    ----------
    rows : sequence of sequences of (Fraction, Fraction), shape (datasets, outcomes)
        ``rows[i][y]`` encloses the probability of outcome y on dataset i.
    neighbours : sequence of (int, int)
        The pairs of neighbouring rows.
    domain, program, records : str
        Descriptions of the datasets (as the claim names its domain), of the enumerated program, and of the
        records. They become part of the assumption of every certificate.

    Raises
    ------
    CertificateError
        No distributions fit the tables, or the tables are too large.
    """
    low, high = ([[exact_str(ends[side]) for ends in row] for row in rows] for side in (0, 1))
    stated = _stated(neighbours, domain=domain, program=program, records=records)
    return accepted("enumerated", {"lower": low, "upper": high, **stated})


def enumerated_weights(
    rows: Sequence[Sequence[ExpSum]],
    *,
    neighbours: Sequence[tuple[int, int]],
    domain: str,
    program: str,
    records: str = "",
) -> Proof:
    """Return the proof from exact output weights, with parameters as in ``enumerated_tables``.

    The probability of outcome y on dataset i is ``rows[i][y]`` over the sum of row i. A rational epsilon is
    found exactly. Raise ``CertificateError`` if the tables are too large.
    """
    weights = [[written_weight(weight) for weight in row] for row in rows]
    stated = _stated(neighbours, domain=domain, program=program, records=records)
    return accepted("enumerated", {"weights": weights, **stated})


def _stated(neighbours: Sequence[tuple[int, int]], **words: str) -> dict[str, Any]:
    pairs = [[str(i), str(j)] for i, j in neighbours]
    return {"neighbours": pairs, **{name: text for name, text in words.items() if text}}
