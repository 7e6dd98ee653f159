"""A witness of a program with finite data and draws: the trees of all datasets, and the largest ratio.

The body holds the input of ``finite_t0``: one tree for each dataset, with exact probabilities. The output
distributions are added up from the trees, and all neighbours are compared. As with a proof, the file cannot
show that the trees are the program's. ``dpaudit verify --suite`` explores the program again.
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
    """Return a lower bound on epsilon, ``None`` for an infinite one.

    Raise ``CertificateError`` for malformed trees, and for a claim that is not about exactly these data and
    neighbours.
    """
    if body.keys() != FIELDS:
        raise CertificateError(
            f"the body of a witness by exact distributions must have the fields {sorted(FIELDS)}, got "
            f"{sorted(map(str, body))[:8]}."
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
