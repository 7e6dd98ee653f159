"""What ``prove`` returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.claim_t0 import ASSUMED

__all__ = ["Bound", "Proof", "rounded_apart", "too_large"]

Bound = Fraction | float
#: Characters of a reason that are printed.
SHOWN = 400
#: A bound above the claim by less than this share of it comes from floats.
ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What was proved. ``verdict`` is verified, refuted or inconclusive; ``bound`` the proved upper bound on
    the claim's quantity (``math.inf``: no shift exists; None: nothing was derived); ``reason`` one sentence
    where there is no proof of the claim; ``certificate`` is what the checker of its kind reads."""

    verdict: str
    bound: Bound | None
    scope: str
    reason: str = ""
    paths: int = 0
    certificate: dict[str, Any] | None = None
    assumptions: list[str] = field(default_factory=lambda: list(ASSUMED))
    witness: Any = None

    def __str__(self) -> str:
        """The verdict, the scope, the bound and the reason, without the certificate."""
        lines = [f"{self.verdict.upper()}: {self.scope}"]
        if self.bound == math.inf:
            lines.append("no bound is known")
        elif self.bound is not None:
            lines.append(f"proved bound {self.bound}" + (f", {self.paths} paths" if self.paths > 1 else ""))
        if self.reason:
            lines.append(self.reason if len(self.reason) <= SHOWN else f"{self.reason[: SHOWN - 4]} ...")
        return "\n  ".join(lines)


def rounded_apart(proof: Proof, claimed: Fraction) -> Proof:
    """With a hint where the bound misses the claim by what a float does to a number."""
    bound = proof.bound
    if not isinstance(bound, Fraction) or not claimed < bound <= claimed * (1 + ROUNDING):
        return proof
    hint = "a float is taken as the number that it is: write Fraction(1, 3), not 1 / 3"
    return replace(proof, reason=f"{proof.reason} It misses the claim by rounding: {hint}.".strip())


def too_large(error: Exception, scope: str) -> Proof:
    """What the checker does not take, such as more numbers than it reads, is not proved; nor is a number that
    Python does not write (a ``ValueError``; any other one is raised again)."""
    if isinstance(error, ValueError):
        if "integer string conversion" not in str(error):
            raise error
        error = ValueError("a number has more digits than Python writes")
    return Proof(verdict="inconclusive", bound=None, scope=scope, reason=f"the checker refuses: {error}")
