"""Bound the privacy cost of P_Vec at given parameters.

Certificates cover the vector and the matrix jointly. Exact lower bounds use one entry. ``cost`` computes
the least (epsilon, delta) between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpaudit.core.claims import ApproxDP, Unit
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact import ExactLike, exact
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.binomial_witness import one_entry
from dpaudit.suite import Measured

__all__ = ["Cost", "cost", "cost_of", "evidence_for", "stated"]

ONE_USER = "features of length at most 1 and a reward in [-1, 1], one pair per user and batch"


def stated(epsilon: ExactLike, delta: ExactLike, *, unit: Unit = Unit.EVENT) -> ApproxDP:
    """Return (epsilon, delta)-DP of the whole output of the shuffler."""
    view = View.of(SHUFFLER_OUTPUT)
    return ApproxDP(epsilon=epsilon, delta=delta, domain=ONE_USER, view=view, unit=unit)


def evidence_for(claim: ApproxDP, sheet: VectorSheet, *, batches: int = 1) -> list[Evidence]:
    """Return the certificate of vector and matrix over ``batches`` releases, and the witness from one
    entry."""
    proof = sheet.statistic(batches=batches).proof(epsilon=claim.epsilon, delta=claim.delta)
    entry = one_entry(sheet, batches=batches)
    witness = None if entry is None else entry.witness(claim, batches=batches)
    certificate = proof.certify(claim)
    return [certificate] if witness is None else [certificate, witness]


@dataclass(frozen=True)
class Cost:
    """The least epsilon at a delta, between ``low`` (a witness from one entry) and ``high`` (certified)."""

    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        if self.high == 0:
            return "costs ε = 0"
        return f"costs ε between {float(self.low):.3g} and {float(self.high):.3g}"


def cost(sheet: VectorSheet, delta: ExactLike, *, batches: int = 1) -> Cost:
    """Return the privacy cost of ``batches`` releases at ``delta``."""
    return _cost(sheet, exact(delta), batches)


@lru_cache(maxsize=256)
def _cost(sheet: VectorSheet, delta: Fraction, batches: int) -> Cost:
    high = sheet.statistic(batches=batches).smallest_epsilon(delta)
    entry = one_entry(sheet, batches=batches)
    return Cost(Fraction(0) if entry is None else entry.largest_epsilon(float(delta)), high)


def cost_of(sheet: VectorSheet, epsilon: ExactLike, delta: ExactLike, *, batches: int = 1) -> Measured:
    """Return least epsilon over stated epsilon."""
    found, named = cost(sheet, delta, batches=batches), exact(epsilon)
    details: dict[str, Any] = {"summary": str(found), "g": sheet.precision, "b": sheet.trials}
    return Measured(low=found.low / named, high=found.high / named, details=details)
