"""Decide claims from their evidence, with the same function and the same margins for every row.

A suite never states a verdict. It passes evidence to ``judge``, which compares the bounds with the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import AccountingClaim, ApproxDP, Claim, PrivacyClaim, Profile, Statement
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Certificate, Estimate, Evidence, InequalityProof, ProgramProof, Witness
from dpaudit.core.exact import in_figures

__all__ = [
    "MAX_FLOAT",
    "Judgement",
    "SharedLevel",
    "Strength",
    "VerdictKind",
    "judge",
    "judge_at",
    "only_describing",
]

#: Refute only above these margins (docs/design.md, rule 6). Between claim and margin a row is inconclusive.
RELATIVE_MARGIN = Fraction(1, 10**9)
DELTA_MARGIN = Fraction(1, 10**12)

#: The largest rounding error of ``1 - alpha``, with a share of ``alpha``, in the confidence of one estimate.
LEVEL_ROUNDING = Fraction(1, 2**52)

STRONGEST_FIRST = ("proved", "proved in scope", "accounted")

#: JSON holds an infinite lower bound as the largest float, which is a valid lower bound of infinity.
MAX_FLOAT = 1.7976931348623157e308


class VerdictKind(StrEnum):
    """A verdict. It equals its name as a string: ``verdict == "refuted"``.

    ``CONSISTENT`` means that a certificate reaches the claim under assumptions, such as that the program is
    the declared mechanism, and that no run contradicts them. It never counts as verified.
    """

    VERIFIED = "verified"
    CONSISTENT = "consistent"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    CRASHED = "crashed"


class Strength(Enum):
    """The kind of evidence behind a verdict."""

    PROVED = "proved"
    IN_SCOPE = "proved in scope"
    ACCOUNTED = "accounted"
    TESTED = "tested"
    WITNESS = "witness"
    COMPUTATION = "computation"
    ESTIMATE = "estimate"
    NONE = "none"


@dataclass(frozen=True)
class Judgement:
    """A verdict with its strength, both bounds on the claimed quantity, the slack (``None`` without a
    certified bound) and the reasons.

    ``broken`` means that evidence contradicts itself. ``scope`` is the scope of the proof of a program, if
    the strength is "proved in scope", or the range of the proof of an inequality.
    """

    verdict: VerdictKind
    strength: Strength
    lower: Fraction | None
    upper: Fraction | None
    slack: float | None
    reasons: tuple[str, ...] = ()
    broken: bool = False
    scope: str = ""


class SharedLevel:
    """The significance level ``alpha`` that all estimates of a row and of its cells share."""

    def __init__(self, alpha: float | None, evidence: Sequence[Evidence]) -> None:
        """Take all evidence of the row and its cells. With ``alpha=None`` every estimate counts."""
        self._alpha = alpha
        self._evidence = list(evidence)  # keep references: ``_weak`` is keyed by id(), which could be reused
        self._weak = {id(item): item for item in only_describing(self._evidence, alpha)}

    def counts(self, item: Evidence) -> bool:
        """Return whether ``item`` of this row counts for a verdict. Otherwise it is shown but not used."""
        return id(item) not in self._weak

    def words(self) -> str:
        """Return the reason why some of the estimates are not used."""
        return _shared_level(self._evidence, [*self._weak.values()], self._alpha or 0.0)


def judge(
    claim: Claim, evidence: Sequence[Evidence], *, unmet: Sequence[str] = (), alpha: float | None = None
) -> Judgement:
    """Decide a claim from its evidence.

    A lower bound above an upper bound is never ignored. If the upper bound is proved, the verdict is
    ``crashed``, because dpaudit contradicts itself. Either the lower bound is a witness, and two rigorous
    statements contradict each other. Or it is an estimate, and the program is not the mechanism of the proof
    or the estimate erred, which has a probability of at most ``alpha``. Any other upper bound (a certificate
    under assumptions or with an unmet condition, a test) does not hold here. It is left out with a reason,
    and the remaining evidence decides.

    Parameters
    ----------
    claim : Claim
        The claim.
    evidence : sequence of evidence
        All evidence of the row.
    unmet : sequence of str
        Unmet conditions: reasons why a certificate may not verify the claim here, such as an unvisited
        branch, a bound that is not attained, or a leak (the program is not the mechanism of the certificate).
        Each turns ``verified`` or ``consistent`` by a certificate into ``inconclusive``.
    alpha : float, optional
        The row's significance level, which its estimates share: the sum of their error probabilities is at
        most ``alpha``, and estimates beyond that are not used (``only_describing``). Default: all count.

    Returns
    -------
    Judgement
        The verdict with bounds and reasons.

    Raises
    ------
    InvalidParameterError
        Evidence bounds another quantity than a privacy claim, an accounting claim or a statement.
    """
    return judge_at(SharedLevel(alpha, evidence), claim, evidence, unmet=unmet)


def judge_at(
    level: SharedLevel, claim: Claim, evidence: Sequence[Evidence], *, unmet: Sequence[str] = ()
) -> Judgement:
    """Decide a claim as ``judge`` does, from a part of the evidence that shares ``level``."""
    _require_quantity(claim, evidence)
    counted = [item for item in evidence if level.counts(item)]
    notes: list[str] = []
    standing: list[Evidence] = []
    for item in counted:
        clash = _clash(claim, counted, item)
        if clash is None:
            standing.append(item)
        elif _is_proved(item) and not unmet:
            return _broken(clash)
        else:
            notes.append(_why_rejected(item, clash, unmet))
            if isinstance(item, Estimate):
                standing.append(replace(item, upper=None))
    if len(counted) < len(evidence):
        notes.append(level.words())
    # Read ``counted``, not ``standing``: rejected tests lose their upper bound there, but an estimate that
    # never had one still covers the claim.
    unbounded = any(
        isinstance(item, Estimate) and item.covers_claim and item.upper is None for item in counted
    )
    judgement = _decide(claim, standing, unmet, unbounded=unbounded)
    return replace(judgement, reasons=(*judgement.reasons, *notes))


def only_describing(evidence: Sequence[Evidence], alpha: float | None) -> list[Estimate]:
    """Return the estimates that are not used in a row of significance level ``alpha`` (``None``: none).

    The probability that any of several estimates errs is at most the sum of ``1 - confidence``. The most
    confident estimates count, as many as keep this sum at most ``alpha``. Of equally confident estimates
    either all count or none, because choosing among them by their bounds would err more often. An exact
    computation (confidence 1) uses nothing of the level. An estimate without a bound uses its share, because
    the test was made although it found nothing.
    """
    if alpha is None:
        return []
    estimates = [item for item in evidence if isinstance(item, Estimate)]
    allowed = Fraction(alpha) + len(estimates) * LEVEL_ROUNDING
    spent = Fraction(0)
    for confidence in sorted({item.confidence for item in estimates}, reverse=True):
        spent += sum(item.confidence == confidence for item in estimates) * (1 - Fraction(confidence))
        if spent > allowed:
            return [item for item in estimates if item.confidence <= confidence]
    return []


def _shared_level(evidence: Sequence[Evidence], weak: Sequence[Estimate], alpha: float) -> str:
    weakest = min(item.confidence for item in weak)
    inexact = [item for item in evidence if isinstance(item, Estimate) and item.confidence < 1]
    if len(inexact) == 1:
        return (
            f"an estimate at confidence {weakest:.6g} was not used: this row requires confidence "
            f"{1 - alpha:.6g}"
        )
    return (
        f"{len(weak)} of {len(inexact)} estimates were not used, the weakest at confidence {weakest:.6g}: "
        f"the estimates of a row share its significance level {alpha:.3g}. "
        f"State each at confidence {1 - alpha / len(inexact):.6g}"
    )


@dataclass(frozen=True)
class _Clash:
    """An upper bound and the strongest lower bound above it, a witness if there is one."""

    upper: Fraction
    lower: Fraction
    by: Witness | Estimate

    @property
    def words(self) -> str:
        """Return the kind of the lower bound and its value."""
        kind = "a witness" if isinstance(self.by, Witness) else "an estimate"
        return f"{kind} of at least {_shown(self.lower)}"


def _clash(claim: Claim, evidence: Sequence[Evidence], item: Evidence) -> _Clash | None:
    """Return the strongest lower bound above the upper bound of ``item``, or ``None``.

    A witness and a proof are compared exactly. All other bounds are compared with a margin for rounding: the
    floats of a program may put a change of 1/10 an ulp above 1/10.
    """
    exactly = _is_proved(item)
    if isinstance(item, Certificate | InequalityProof) or (
        isinstance(item, ProgramProof) and _covers(claim, item)
    ):
        upper = item.bound
    elif isinstance(item, Estimate) and item.upper is not None and item.covers_claim:
        upper = Fraction(item.upper)
    else:
        return None
    # If a proof reads constants as they print, a witness may differ by their rounding.
    most = upper * (1 + item.rounding) if isinstance(item, ProgramProof) else upper
    above = []
    for other in evidence:
        lower = _at_least(other)
        if lower is None or isinstance(other, Certificate | ProgramProof | InequalityProof):
            continue
        if lower > (most if exactly and isinstance(other, Witness) else upper + _margin(claim, upper)):
            above.append(_Clash(upper, lower, other))
    return max(above, key=lambda clash: (isinstance(clash.by, Witness), clash.lower), default=None)


def _broken(clash: _Clash) -> Judgement:
    if isinstance(clash.by, Witness):
        reasons = (
            f"contradiction: lower bound {_shown(clash.lower)} above upper bound {_shown(clash.upper)}, and "
            "both are rigorous",
            "do not trust this row, and report it as a bug of dpaudit",
        )
    else:
        error = 1 - clash.by.confidence
        erred = f"erred, which has probability at most {error:.3g}" if error else "was computed wrongly"
        reasons = (
            f"contradiction: {clash.words}, and a proof of at most {_shown(clash.upper)}",
            f"the program is not the mechanism of the proof, or the estimate {erred}: run again with another "
            "seed, and examine the program if the contradiction stays",
        )
    return Judgement(VerdictKind.CRASHED, Strength.NONE, clash.lower, clash.upper, None, reasons, broken=True)


def _why_rejected(item: Any, clash: _Clash, unmet: Sequence[str]) -> str:
    if isinstance(item, Estimate):
        return f"a test of at most {_shown(clash.upper)} was not used, because of {clash.words}"
    if unmet:
        return f"the certificate of {_shown(clash.upper)} is about another mechanism: {unmet[0]}"
    return (
        f"{clash.words} shows that an assumption of the certificate of {_shown(clash.upper)} does not hold: "
        f"{'; '.join(item.assumptions)}"
    )


def _is_proved(item: Evidence) -> bool:
    """Return whether a lower bound above ``item`` contradicts it: no assumption of it is about the claim."""
    return isinstance(item, ProgramProof | InequalityProof) or (
        isinstance(item, Certificate) and item.strength == "proved"
    )


def _covers(claim: Claim, item: ProgramProof) -> bool:
    """Return whether the claim's domain is exactly the scope of the proof."""
    return isinstance(claim, PrivacyClaim) and claim.domain == item.scope


def _shown(number: Fraction) -> str:
    return in_figures(number, digits=9)


def _decide(
    claim: Claim, evidence: Sequence[Evidence], unmet: Sequence[str], *, unbounded: bool
) -> Judgement:
    """Return the judgement on evidence that counts and does not contradict itself.

    ``unbounded`` means that an estimate covers the claim and has no upper bound.
    """
    lower, lower_kind = _lower(evidence)
    upper, upper_kind, most = _upper(claim, evidence, unbounded=unbounded)
    bound = claim.bound
    if bound is None:
        return Judgement(
            VerdictKind.INCONCLUSIVE,
            Strength.NONE,
            lower,
            upper,
            None,
            ("the claim has no number to compare with",),
        )
    slack = _slack(bound, upper)
    if _refutes(claim, bound, lower, upper):
        kind = upper_kind if claim.at_least else lower_kind
        return Judgement(VerdictKind.REFUTED, kind or Strength.NONE, lower, upper, slack)
    good, kind = (lower, lower_kind) if claim.at_least else (upper, upper_kind)
    if good is not None and kind is not None and (good >= bound if claim.at_least else good <= most):
        accepted = _accept(claim, kind, lower, upper, slack, unmet)
        if accepted.verdict is VerdictKind.VERIFIED and kind is Strength.ACCOUNTED:
            accepted = _consistent(claim, accepted, evidence)
        return replace(accepted, scope=_scope(claim, accepted.strength, evidence))
    return Judgement(
        VerdictKind.INCONCLUSIVE,
        Strength.NONE,
        lower,
        upper,
        slack,
        (*unmet, *_why_inconclusive(claim, bound, lower, upper)),
    )


def _slack(bound: Fraction, upper: Fraction | None) -> float | None:
    """Return claimed / certified, or ``None`` without a certified bound or beyond the range of floats."""
    try:
        return float(bound / upper) if upper else None
    except OverflowError:
        return None


def _require_quantity(claim: Claim, evidence: Sequence[Evidence]) -> None:
    """Raise ``InvalidParameterError`` unless all evidence bounds the quantity of the claim.

    A statement has the quantity that it names and the quantity of its type.
    """
    if not isinstance(claim, PrivacyClaim | AccountingClaim | Statement):
        return
    named = claim.quantity_name if isinstance(claim, Statement) else ""
    allowed = (named, claim.quantity) if named else (claim.quantity,)
    for item in evidence:
        if item.quantity not in allowed:
            raise InvalidParameterError(
                f"evidence on a {claim.type} claim must bound its quantity "
                f"{' or '.join(map(repr, allowed))}, got {item.quantity!r}.",
                code="E-EVIDENCE-QUANTITY",
            )


def _at_least(item: Evidence) -> Fraction | None:
    """Return the lower bound of a witness or an estimate, or ``None`` if there is none."""
    if isinstance(item, Witness):
        return Fraction(MAX_FLOAT) if item.bound is None else item.bound
    if isinstance(item, Estimate) and item.lower is not None:
        return Fraction(item.lower)
    return None


def _lower(evidence: Sequence[Evidence]) -> tuple[Fraction | None, Strength | None]:
    best: tuple[Fraction | None, Strength | None] = (None, None)
    for item in evidence:
        value = _at_least(item)
        if value is not None and (best[0] is None or value > best[0]):
            covers = isinstance(item, Estimate) and item.covers_claim
            own = Strength(item.kind) if isinstance(item, Estimate) else Strength.WITNESS
            best = (value, Strength.TESTED if covers else own)
    return best


def _upper(
    claim: Claim, evidence: Sequence[Evidence], *, unbounded: bool
) -> tuple[Fraction | None, Strength | None, Fraction]:
    """Return the best upper bound, its strength, and the largest bound with which it verifies the claim.

    The latter is the claimed number, or slightly more if a proof assumes so.
    """
    bound = claim.bound or Fraction(0)
    certificates = [
        item
        for item in evidence
        if isinstance(item, Certificate | InequalityProof)
        or (isinstance(item, ProgramProof) and _covers(claim, item))
    ]
    if certificates:
        # A proved bound is preferred among those that reach the claim; otherwise the smallest.
        reaching = [c for c in certificates if claim.bound is not None and c.bound <= _most(claim.bound, c)]
        best = min(
            reaching or certificates,
            key=lambda c: (STRONGEST_FIRST.index(c.strength) if reaching else 0, c.bound),
        )
        return best.bound, Strength(best.strength), _most(bound, best)
    if isinstance(claim, PrivacyClaim):
        return None, None, bound  # tests never verify a privacy claim
    if unbounded and not claim.at_least:
        return None, None, bound  # the largest upper bound of the covering estimates is infinite
    covering = [
        item
        for item in evidence
        if isinstance(item, Estimate) and item.covers_claim and item.upper is not None
    ]
    if not covering:
        return None, None, bound
    return max(Fraction(item.upper) for item in covering if item.upper is not None), Strength.TESTED, bound


def _most(bound: Fraction, item: Certificate | ProgramProof | InequalityProof) -> Fraction:
    """Return the largest upper bound with which ``item`` proves a claim of ``bound``."""
    return bound * (1 + item.rounding) if isinstance(item, ProgramProof) else bound


def _proofs(claim: Claim, evidence: Sequence[Evidence]) -> list[ProgramProof]:
    """Return the proofs of the program, for all or part of the claim's domain, that reach its number."""
    proofs = [item for item in evidence if isinstance(item, ProgramProof)]
    return [item for item in proofs if claim.bound is not None and item.bound <= _most(claim.bound, item)]


def _scope(claim: Claim, kind: Strength, evidence: Sequence[Evidence]) -> str:
    if kind is Strength.PROVED:
        proofs = [item for item in evidence if isinstance(item, InequalityProof)]
        return "; ".join(dict.fromkeys(item.scope for item in proofs))
    if kind is not Strength.IN_SCOPE:
        return ""
    return "; ".join(dict.fromkeys(item.scope for item in _proofs(claim, evidence)))


def _consistent(claim: Claim, accepted: Judgement, evidence: Sequence[Evidence]) -> Judgement:
    """Return the verdict ``consistent`` for a certificate with assumptions that reaches the claim.

    The reason names the assumptions. If there is also a proof of the program at one size, it gives the
    strength but verifies only its scope. The bound remains that of the certificate, which covers every size.
    """
    certificates = [item for item in evidence if isinstance(item, Certificate)]
    reached = next(item for item in certificates if item.assumptions and item.bound == accepted.upper)
    in_scope = bool(_proofs(claim, evidence))
    return replace(
        accepted,
        verdict=VerdictKind.CONSISTENT,
        strength=Strength.IN_SCOPE if in_scope else Strength.ACCOUNTED,
        reasons=(f"not proved: the certificate assumes {'; '.join(map(repr, reached.assumptions))}",),
    )


def _refutes(claim: Claim, bound: Fraction, lower: Fraction | None, upper: Fraction | None) -> bool:
    if claim.at_least:
        return upper is not None and upper < bound - abs(bound) * RELATIVE_MARGIN
    return lower is not None and lower > bound + _margin(claim, bound)


def _margin(claim: Claim, bound: Fraction) -> Fraction:
    return DELTA_MARGIN if isinstance(claim, ApproxDP | Profile) else abs(bound) * RELATIVE_MARGIN


def _accept(
    claim: Claim,
    kind: Strength,
    lower: Fraction | None,
    upper: Fraction | None,
    slack: float | None,
    unmet: Sequence[str],
) -> Judgement:
    if kind in (Strength.PROVED, Strength.IN_SCOPE, Strength.ACCOUNTED) and unmet:
        return Judgement(VerdictKind.INCONCLUSIVE, Strength.NONE, lower, upper, slack, tuple(unmet))
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


def _why_inconclusive(
    claim: Claim, bound: Fraction, lower: Fraction | None, upper: Fraction | None
) -> tuple[str, ...]:
    if not claim.at_least and upper is not None and bound < upper <= bound + _margin(claim, bound):
        above = f"{float(upper - bound):.3g}"
        return (
            f"equal up to the margin: the certificate is above the claim by {above}, less than the margin, "
            f"so it does not prove it. If the bound is irrational, claim a rational above it ({upper})",
        )
    if not claim.at_least and lower is not None and lower > bound:
        return ("rounding: the lower bound is above the claim by less than the margin",)
    missing = "a lower bound above the claim" if lower is None or lower <= bound else ""
    return (
        f"to decide: {missing or 'stronger evidence'}, or a certificate at {in_figures(bound)}"
        + (f" (the best certificate reaches {in_figures(upper)})" if upper is not None else ""),
    )
