"""What ``prove`` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpaudit.kernel.program_claim import ASSUMED

__all__ = ["Bound", "Proof", "too_large"]

Bound = Fraction | float


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


def too_large(error: Exception, scope: str) -> Proof:
    """What the checker does not take, such as more numbers than it reads, is not proved; nor is a number that
    Python does not write (a ``ValueError``; any other one is raised again)."""
    if isinstance(error, ValueError):
        if "integer string conversion" not in str(error):
            raise error
        error = ValueError("a number has more digits than Python writes")
    return Proof(verdict="inconclusive", bound=None, scope=scope, reason=f"the checker refuses: {error}")
