"""What can be checked of an estimate without the program: its form, and whether so few samples can say so
much.

An estimate is a statistic of runs that the file does not hold. That the runs took place, with this outcome,
only running them again shows (``dpaudit verify --suite``). What arithmetic refuses: bounds that cross, no
samples, a confidence outside (0, 1], no method or scope, samples without their seed.

**How much n samples can say.** For any two distributions P, Q and c = e^-epsilon, the mixtures (P + cQ)/(1 +
c) and
(Q + cP)/(1 + c) are within epsilon of each other, and give to whatever n samples of P and Q may show at least
(1 + c)^-n times its probability. A test at level a that rejects epsilon whenever P and Q differ enough has
(1 + c)^-n <= a; no betting wealth exceeds (1 + c)^n. So a lower bound on epsilon from n samples at confidence
1 - a needs n log(1 + e^-epsilon) >= log(1/a). Samples that an estimate counts in pairs are two each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpaudit.core.claims import AccountingClaim, Claim, PrivacyClaim, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Estimate, Evidence

__all__ = ["COMPUTATION", "called", "require_counted", "require_possible", "shown_strength"]

#: Runs in one counted sample, at most: a pair of neighbours.
RUNS = 2

#: Samples that no run takes.
MAX_SAMPLES = 10**15

#: For the rounding of floats.
SPARE = 1e-9

#: What a reader is told of an estimate at confidence 1: nothing of it is statistical.
COMPUTATION = "computation"


def called(item: Estimate) -> str:
    """What a reader is told an estimate is: a computation where it holds for certain."""
    return COMPUTATION if item.confidence == 1 else "estimate"


def shown_strength(part: Mapping[str, Any]) -> str:
    """The strength of a result, or of a cell, as a reader is told it: ``computation`` for an
    ``estimate`` that holds for certain, empty for ``none`` and for what is no text."""
    strength = part.get("strength")
    if strength == "estimate" and part.get("confidence") == 1:
        return COMPUTATION
    return strength if isinstance(strength, str) and strength != "none" else ""


def require_possible(item: Estimate, claim: Claim) -> None:
    """Raise ``CertificateError``, with the reason, where no honest computation gives this estimate."""
    _require_types(item)
    if item.lower is not None and item.upper is not None and item.lower > item.upper:
        raise _refused(f"its lower bound at most its upper one, got {item.lower} and {item.upper}")
    if not 0 < item.confidence <= 1:
        raise _refused(f"a confidence above 0 and at most 1, got {item.confidence}")
    if item.samples < 1:
        raise _refused(f"at least one sample, or value computed, got {item.samples}")
    for name, text in (("method", item.method), ("scope", item.scope)):
        if not text.strip():
            raise _refused(f"a {name} in words")
    if item.confidence < 1 and item.seed is None:
        raise _refused(f"the seed of its samples, since it holds with confidence {item.confidence} only")
    if isinstance(claim, PureDP):
        _require_enough(item)


def require_counted(samples: int, parts: Iterable[tuple[Claim, Sequence[Evidence]]]) -> None:
    """Raise ``CertificateError`` where ``parts``, claims with their evidence, count fewer samples than are
    stated. What rests on estimates alone has theirs; behind a certificate, a witness, nothing, or a claim
    about privacy there are replays that the evidence does not count."""
    most = min(MAX_SAMPLES, sum(_most_samples(claim, evidence) for claim, evidence in parts))
    if not 0 <= samples <= most:
        raise CertificateError(
            f"the samples must be at most those of the evidence, {most}, got {samples}; leave them out, and "
            "they are counted."
        )


def _most_samples(claim: Claim, evidence: Sequence[Evidence]) -> int:
    estimates = [item.samples for item in evidence if isinstance(item, Estimate)]
    counted = estimates and len(estimates) == len(evidence)
    return (
        sum(estimates) if counted and not isinstance(claim, PrivacyClaim | AccountingClaim) else MAX_SAMPLES
    )


def _require_types(item: Estimate) -> None:
    numbers = [item.confidence, *(bound for bound in (item.lower, item.upper) if bound is not None)]
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        raise _refused(f"numbers as bounds and confidence, got {numbers}")
    if not all(math.isfinite(number) for number in numbers):
        raise _refused(f"finite bounds and confidence, got {numbers}")
    if type(item.samples) is not int or not (item.seed is None or type(item.seed) is int):
        raise _refused(f"whole numbers of samples and as a seed, got {item.samples!r} and {item.seed!r}")
    if not (isinstance(item.method, str) and isinstance(item.scope, str)):
        raise _refused("a method and a scope in words")
    if not isinstance(item.covers_claim, bool) or not isinstance(item.details, dict):
        raise _refused("covers_claim as true or false, and details as an object")


def _require_enough(item: Estimate) -> None:
    """The last paragraph above."""
    if item.confidence == 1 or item.lower is None or item.lower <= 0:
        return
    needed = -math.log1p(-item.confidence)
    if RUNS * item.samples * math.log1p(math.exp(-item.lower)) * (1 + SPARE) < needed:
        raise _refused(
            f"as many samples as its bound needs: {item.samples} cannot show epsilon >= {item.lower:g} with "
            f"confidence {item.confidence:g}"
        )


def _refused(what: str) -> CertificateError:
    return CertificateError(f"an estimate must have {what}; it was edited, or is none.")
