"""Witness of a program of finite data and finite draws: the trees of all data sets, and the largest ratio.

The body holds what ``finite_t0`` reads: one tree for each data set, with exact probabilities. The
distributions of
what is shown are added up from them, and all neighbours are compared. As in a proof, that the trees are the
program's is not in the file: ``dpaudit verify --suite`` explores again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpaudit.core.exact_functions import ln
from dpaudit.kernel import finite_t0
from dpaudit.kernel.ball import lower_exact
from dpaudit.kernel.claim_t0 import require_claim
from dpaudit.kernel.kernel_t0 import CertificateError

__all__ = ["program_distributions_bound"]

FIELDS = {"view", "data", "adjacency", "trees"}


def program_distributions_bound(body: Mapping[str, Any], claim: Any) -> Fraction | None:
    """A lower bound on epsilon, ``None`` for an infinite one. Raises ``CertificateError`` for malformed trees
    and for a claim that is not about exactly these data and neighbours."""
    if body.keys() != FIELDS:
        raise CertificateError(
            f"the body of a witness by exact distributions must have the fields {sorted(FIELDS)}, got "
            f"{sorted(map(str, body))[:8]}; re-create it."
        )
    try:
        require_claim(claim, body["data"], body["adjacency"], whole=True)
        ratio = finite_t0.ratio_of(body["data"], body["adjacency"], body["trees"])
    except finite_t0.FiniteProofError as error:
        raise CertificateError(f"the witness by exact distributions does not hold: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CertificateError(
            f"the witness by exact distributions is malformed: {type(error).__name__}."
        ) from error
    if ratio is None:
        return None
    return Fraction(0) if ratio == 1 else lower_exact(ln(ratio))
