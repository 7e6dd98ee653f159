"""Check an estimate without running its program: its form, and whether its samples can support its bound.

An estimate is a statistic of runs that the file does not hold. Only running the program again
(``dpaudit verify --suite``) shows that these runs took place with this outcome. This module refuses bounds
that cross, no samples, a confidence outside (0, 1], an empty method or scope, and samples without a seed.

**Largest bound from n samples.** For any two distributions P, Q and c = e^-epsilon, the mixtures
(P + cQ)/(1 + c) and (Q + cP)/(1 + c) are within epsilon of each other. They give every event of n samples of
P and Q at least (1 + c)^-n times its probability. A test at level a that rejects epsilon whenever P and Q
differ enough has (1 + c)^-n <= a, and no betting wealth exceeds (1 + c)^n. A lower bound on epsilon from n
samples at confidence 1 - a therefore needs n log(1 + e^-epsilon) >= log(1/a). If an estimate counts its
samples in pairs, each pair is two samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpaudit.core.claims import AccountingClaim, Claim, PrivacyClaim, PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Estimate, Evidence

__all__ = ["require_counted", "require_possible"]

#: The largest number of runs in one counted sample, a pair of neighbours.
RUNS = 2

#: A number of samples that no run reaches.
MAX_SAMPLES = 10**15

#: A relative tolerance for the rounding of floats.
SPARE = 1e-9


def require_possible(item: Estimate, claim: Claim) -> None:
    """Raise ``CertificateError`` with the reason if no honest computation can give this estimate."""
    _require_types(item)
    if item.lower is not None and item.upper is not None and item.lower > item.upper:
        raise _refused(f"a lower bound at most its upper bound, got {item.lower} and {item.upper}")
    if not 0 < item.confidence <= 1:
        raise _refused(f"a confidence above 0 and at most 1, got {item.confidence}")
    if item.samples < 1:
        raise _refused(f"at least one sample, or value computed, got {item.samples}")
    for name, text in (("method", item.method), ("scope", item.scope)):
        if not text.strip():
            raise _refused(f"a non-empty {name}")
    if item.confidence < 1 and item.seed is None:
        raise _refused(f"the seed of its samples if its confidence is below 1, got {item.confidence}")
    if isinstance(claim, PureDP):
        _require_enough(item)


def require_counted(samples: int, parts: Iterable[tuple[Claim, Sequence[Evidence]]]) -> None:
    """Raise ``CertificateError`` if ``parts`` (claims with their evidence) count fewer samples than stated.

    Parts with estimates alone have the samples of their estimates. Parts with a certificate, a witness or no
    evidence, and privacy and accounting claims, may have replays that the evidence does not count.
    """
    most = min(MAX_SAMPLES, sum(_most_samples(claim, evidence) for claim, evidence in parts))
    if not 0 <= samples <= most:
        raise CertificateError(
            f"the number of samples must be from 0 to {most}, the samples of the evidence, got {samples}."
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
        raise _refused("strings as method and scope")
    if not isinstance(item.covers_claim, bool) or not isinstance(item.details, dict):
        raise _refused("covers_claim as true or false, and details as an object")


def _require_enough(item: Estimate) -> None:
    """Check the inequality of the module docstring for the lower bound on epsilon."""
    if item.confidence == 1 or item.lower is None or item.lower <= 0:
        return
    needed = -math.log1p(-item.confidence)
    if RUNS * item.samples * math.log1p(math.exp(-item.lower)) * (1 + SPARE) < needed:
        raise _refused(
            f"as many samples as its bound needs: {item.samples} cannot show epsilon >= {item.lower:g} with "
            f"confidence {item.confidence:g}"
        )


def _refused(constraint: str) -> CertificateError:
    return CertificateError(f"an estimate must have {constraint}.")
