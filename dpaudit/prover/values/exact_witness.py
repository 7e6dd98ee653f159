"""What both searches for an exact counterexample require of a witness, apart from its probabilities.

The claim is about real numbers, and programs compute in floats. So the loss must exceed the claim by far more
than rounding, and a larger loss than a proved upper bound is rounding too.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.claims.base import Claim
from dpaudit.core.errors import DpauditError
from dpaudit.core.evidence import Witness

__all__ = ["MARGIN", "REFUSALS", "STEADY", "UNROUNDED", "checked_witness", "exceeds", "within"]

#: The loss must exceed the claim by this relative amount, far above the rounding of sums in floats.
MARGIN = Fraction(1, 10**6)
#: The share of the difference between both sides that no rounding mode may explain.
UNROUNDED = 1 - 1e-7
#: The largest difference between rounding modes, in scales of the noise, or relative for probabilities.
STEADY = 1e-8
#: Errors of a run on plain data, of a distribution or of a witness. Then there is no witness.
REFUSALS = (DpauditError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)


def exceeds(bound: Fraction | None, claim: Claim) -> bool:
    """Return whether a loss (None if it is infinite) exceeds the claim by more than rounding."""
    if claim.bound is None:
        return False
    return bound is None or bound > Fraction(claim.bound) * (1 + MARGIN)


def within(witness: Witness, most: Fraction | None) -> Witness | None:
    """Return the witness, its loss cut to a proved bound, or None if it exceeds that bound by the margin."""
    if most is None:
        return witness
    if witness.bound is None or witness.bound > most * (1 + MARGIN):
        return None
    return replace(witness, bound=min(witness.bound, most))


def checked_witness(claim: PrivacyClaim, form: str, body: dict[str, Any], words: str) -> Witness | None:
    """Return the witness with the bound that its own body gives, or None if that is not above the claim."""
    witness = Witness(
        quantity=claim.quantity, bound=Fraction(0), form=form, body=body, origin="forced", description=words
    )
    bound = recompute(witness, claim)
    return replace(witness, bound=bound) if exceeds(bound, claim) else None
