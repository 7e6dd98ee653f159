"""From evidence to a verdict: one function, the same for every row, with the margins of the design.

A suite never states a verdict. It hands evidence to ``judge``, which holds the bounds against the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction

from dpaudit.claims import Accounting, ApproxDP, Claim, PrivacyClaim
from dpaudit.errors import InvalidParameterError
from dpaudit.evidence import Certificate, Estimate, Evidence, Witness

__all__ = ["MAX_FLOAT", "Judgement", "Strength", "VerdictKind", "judge"]

#: Refute only above these margins (DESIGN, rule 6); between claim and margin a row is inconclusive.
RELATIVE_MARGIN = Fraction(1, 10**9)
DELTA_MARGIN = Fraction(1, 10**12)

#: How an infinite lower bound is written in JSON: the largest float is a true lower bound of infinity.
MAX_FLOAT = 1.7976931348623157e308


class VerdictKind(StrEnum):
    """Also equal to its name as a string: ``verdict == "refuted"``."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    CRASHED = "crashed"


class Strength(Enum):
    PROVED = "proved"
    ACCOUNTED = "accounted"
    TESTED = "tested"
    WITNESS = "witness"
    ESTIMATE = "estimate"
    NONE = "none"


@dataclass(frozen=True)
class Judgement:
    """A verdict with its strength, both bounds on the claimed quantity, the slack, and reasons in words."""

    verdict: VerdictKind
    strength: Strength
    lower: Fraction | None
    upper: Fraction | None
    slack: float | None
    reasons: tuple[str, ...] = ()
    broken: bool = False


def judge(
    claim: Claim, evidence: Sequence[Evidence], *, obstacles: Sequence[str] = (), alpha: float | None = None
) -> Judgement:
    """Decide a claim from its evidence.

    ``alpha`` is the row's error level: an estimate whose confidence is below ``1 - alpha`` only describes.
    ``obstacles`` are reasons why a certificate may not verify the claim here (a branch not visited, a bound
    not attained, a leak: the program is not the mechanism that the certificate speaks about); each one turns
    ``verified`` by a certificate into ``inconclusive``. A witness above a proved bound is a broken harness
    (``crashed``), unless an obstacle says that the program is another mechanism.

    Raises ``InvalidParameterError`` for evidence on a privacy or an accounting claim that bounds another
    quantity than the claim.
    """
    _require_quantity(claim, evidence)
    weak = _too_weak(evidence, alpha)
    if weak:
        judgement = judge(claim, [item for item in evidence if item not in weak], obstacles=obstacles)
        weakest = min(item.confidence for item in weak)
        note = (
            f"an estimate at confidence {weakest:.6g} only describes: this row decides at "
            f"{1 - (alpha or 0):.6g}"
        )
        return replace(judgement, reasons=(*judgement.reasons, note))
    lower, lower_kind = _lower(evidence)
    upper, upper_kind = _upper(claim, evidence)
    if lower is not None and upper is not None and lower > upper and {lower_kind, upper_kind} <= _RIGOROUS:
        if obstacles:
            # The replays have already shown that the program is not what the certificate speaks about.
            rest = [item for item in evidence if not (isinstance(item, Certificate) and item.bound < lower)]
            judgement = judge(claim, rest, obstacles=obstacles, alpha=alpha)
            note = f"the certificate at {float(upper):.9g} is about another mechanism: {obstacles[0]}"
            return replace(judgement, reasons=(*judgement.reasons, note))
        reason = (
            f"lower bound {float(lower):.9g} above upper bound {float(upper):.9g}: two rigorous statements "
            "contradict"
        )
        return Judgement(
            VerdictKind.CRASHED, Strength.NONE, lower, upper, None, (reason, "broken harness"), broken=True
        )
    bound = claim.bound
    if bound is None:
        return Judgement(
            VerdictKind.INCONCLUSIVE,
            Strength.NONE,
            lower,
            upper,
            None,
            ("the claim has no number to hold against",),
        )
    slack = float(bound / upper) if upper else None
    if _refutes(claim, bound, lower, upper):
        kind = upper_kind if claim.at_least else lower_kind
        return Judgement(VerdictKind.REFUTED, kind or Strength.NONE, lower, upper, slack)
    good, kind = (lower, lower_kind) if claim.at_least else (upper, upper_kind)
    if good is not None and kind is not None and (good >= bound if claim.at_least else good <= bound):
        return _accept(claim, kind, lower, upper, slack, obstacles)
    return Judgement(
        VerdictKind.INCONCLUSIVE,
        Strength.NONE,
        lower,
        upper,
        slack,
        (*obstacles, *_why_open(claim, bound, lower, upper)),
    )


def _require_quantity(claim: Claim, evidence: Sequence[Evidence]) -> None:
    if not isinstance(claim, PrivacyClaim | Accounting):
        return  # a statement names its quantity in words
    for item in evidence:
        if item.quantity != claim.quantity:
            raise InvalidParameterError(
                f"evidence on a {claim.type} claim must bound its quantity {claim.quantity!r}, got "
                f"{item.quantity!r}; convert the bound."
            )


def _too_weak(evidence: Sequence[Evidence], alpha: float | None) -> list[Estimate]:
    """The estimates below the row's error level; 1e-12 forgives the rounding of ``1 - alpha``."""
    if alpha is None:
        return []
    return [item for item in evidence if isinstance(item, Estimate) and item.confidence < 1 - alpha - 1e-12]


_RIGOROUS = {Strength.PROVED, Strength.WITNESS}


def _lower(evidence: Sequence[Evidence]) -> tuple[Fraction | None, Strength | None]:
    best: tuple[Fraction | None, Strength | None] = (None, None)
    for item in evidence:
        if isinstance(item, Witness):
            value, kind = (Fraction(MAX_FLOAT) if item.bound is None else item.bound), Strength.WITNESS
        elif isinstance(item, Estimate) and item.lower is not None:
            value, kind = Fraction(item.lower), Strength.TESTED if item.covers_claim else Strength.ESTIMATE
        else:
            continue
        if best[0] is None or value > best[0]:
            best = (value, kind)
    return best


def _upper(claim: Claim, evidence: Sequence[Evidence]) -> tuple[Fraction | None, Strength | None]:
    certificates = [item for item in evidence if isinstance(item, Certificate)]
    if certificates:
        # A proved bound is preferred among those that reach the claim; otherwise the smallest.
        bound = claim.bound
        reaching = [c for c in certificates if bound is not None and c.bound <= bound]
        best = min(
            reaching or certificates, key=lambda c: (c.strength != "proved" if reaching else 0, c.bound)
        )
        return best.bound, Strength(best.strength)
    if isinstance(claim, PrivacyClaim):
        return None, None  # a privacy claim is never verified by tests
    covering = [
        item
        for item in evidence
        if isinstance(item, Estimate) and item.covers_claim and item.upper is not None
    ]
    if not covering:
        return None, None
    return max(Fraction(item.upper) for item in covering if item.upper is not None), Strength.TESTED


def _refutes(claim: Claim, bound: Fraction, lower: Fraction | None, upper: Fraction | None) -> bool:
    if claim.at_least:
        return upper is not None and upper < bound - abs(bound) * RELATIVE_MARGIN
    margin = DELTA_MARGIN if isinstance(claim, ApproxDP) else abs(bound) * RELATIVE_MARGIN
    return lower is not None and lower > bound + margin


def _accept(
    claim: Claim,
    kind: Strength,
    lower: Fraction | None,
    upper: Fraction | None,
    slack: float | None,
    obstacles: Sequence[str],
) -> Judgement:
    if kind in (Strength.PROVED, Strength.ACCOUNTED) and obstacles:
        return Judgement(VerdictKind.INCONCLUSIVE, Strength.NONE, lower, upper, slack, tuple(obstacles))
    if claim.type == "lower-bound":
        return Judgement(
            VerdictKind.INCONCLUSIVE,
            Strength.NONE,
            lower,
            upper,
            slack,
            ("a lower bound is never verified by simulation",),
        )
    return Judgement(VerdictKind.VERIFIED, kind, lower, upper, slack)


def _why_open(
    claim: Claim, bound: Fraction, lower: Fraction | None, upper: Fraction | None
) -> tuple[str, ...]:
    if not claim.at_least and lower is not None and lower > bound:
        return ("rounding: the lower bound is above the claim by less than the margin",)
    missing = "a lower bound above the claim" if lower is None or lower <= bound else ""
    return (
        f"to decide: {missing or 'stronger evidence'}, or a certificate at {float(bound):g}"
        + (f" (the best one reaches {float(upper):g})" if upper is not None else ""),
    )
