"""Define ``Proof``, the result of ``prove``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.claim_t0 import ASSUMED

__all__ = ["Bound", "Proof", "too_large", "with_rounding_hint"]

Bound = Fraction | float
#: The largest number of characters of a reason that are printed.
SHOWN = 400
#: A bound that exceeds the claim by less than this share of it exceeds it because of floats.
ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of ``prove``.

    Attributes
    ----------
    verdict : str
        ``"verified"``, ``"refuted"`` or ``"inconclusive"``.
    bound : Fraction, float or None
        The proved upper bound on the claim's quantity. ``math.inf``: no shift of the noise exists. None:
        nothing was derived.
    scope : str
        The data, neighbours and outcomes that the bound covers.
    reason : str
        One sentence if the claim is not proved, else empty.
    paths : int
        The number of explored paths.
    certificate : dict or None
        The certificate that the checker of its kind reads.
    assumptions : list of str
        The conditions under which the bound holds.
    witness : dict or None
        The counterexample of a refuted claim.
    """

    verdict: str
    bound: Bound | None
    scope: str
    reason: str = ""
    paths: int = 0
    certificate: dict[str, Any] | None = None
    assumptions: list[str] = field(default_factory=lambda: list(ASSUMED))
    witness: Any = None

    def __repr__(self) -> str:
        """Return the verdict, the bound and the scope. The certificate may be very long."""
        return f"<Proof: {self.verdict}, bound {self.bound}, {self.scope or 'no scope'}>"

    def __str__(self) -> str:
        """Return the verdict, the scope, the bound and the reason, without the certificate."""
        lines = [f"{self.verdict.upper()}: {self.scope}"]
        if self.bound == math.inf:
            lines.append("no bound is known")
        elif self.bound is not None:
            lines.append(f"proved bound {self.bound}" + (f", {self.paths} paths" if self.paths > 1 else ""))
        if self.reason:
            lines.append(self.reason if len(self.reason) <= SHOWN else f"{self.reason[: SHOWN - 4]} ...")
        return "\n  ".join(lines)


def with_rounding_hint(proof: Proof, claimed: Fraction) -> Proof:
    """Add a hint to a proof whose bound exceeds the claim by no more than the rounding of a float."""
    bound = proof.bound
    if not isinstance(bound, Fraction) or not claimed < bound <= claimed * (1 + ROUNDING):
        return proof
    hint = "Floats are exact numbers here: write Fraction(1, 3), not 1 / 3."
    return replace(proof, reason=f"{proof.reason} It exceeds the claim only by rounding. {hint}".strip())


def too_large(error: Exception, scope: str) -> Proof:
    """Return an inconclusive proof if the checker rejects the certificate's size, or a number is too long.

    Python raises ``ValueError`` for a number with too many digits. Any other ``ValueError`` is raised again.
    """
    if isinstance(error, ValueError):
        if "integer string conversion" not in str(error):
            raise error
        error = ValueError("a number has more digits than Python converts to text.")
    return Proof(
        verdict="inconclusive",
        bound=None,
        scope=scope,
        reason=f"the checker rejects the certificate: {error}",
    )
