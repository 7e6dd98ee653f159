"""From evidence to a verdict: one function, the same for every row, with margins.

A suite never states a verdict. It hands evidence to ``judge``, which holds the bounds against the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import AccountingClaim, ApproxDP, Claim, PrivacyClaim, Profile, Statement
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Certificate, Estimate, Evidence, ProgramProof, Witness
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

#: Refute only above these margins (docs/design.md, rule 6); between claim and margin a row is inconclusive.
RELATIVE_MARGIN = Fraction(1, 10**9)
DELTA_MARGIN = Fraction(1, 10**12)

#: What one estimate's confidence may have lost in the rounding of ``1 - alpha`` and of a share of ``alpha``.
LEVEL_ROUNDING = Fraction(1, 2**52)

STRONGEST_FIRST = ("proved", "proved in scope", "accounted")

#: How an infinite lower bound is written in JSON: the largest float is a true lower bound of infinity.
MAX_FLOAT = 1.7976931348623157e308


class VerdictKind(StrEnum):
    """Also equal to its name as a string: ``verdict == "refuted"``.

    ``CONSISTENT``: a certificate reaches the claim under assumptions, such as that the program is the
    declared mechanism, and nothing that was run contradicts them. It is never counted as verified.
    """

    VERIFIED = "verified"
    CONSISTENT = "consistent"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    CRASHED = "crashed"


class Strength(Enum):
    PROVED = "proved"
    IN_SCOPE = "proved in scope"
    ACCOUNTED = "accounted"
    TESTED = "tested"
    WITNESS = "witness"
    ESTIMATE = "estimate"
    NONE = "none"


@dataclass(frozen=True)
class Judgement:
    """A verdict with its strength, both bounds on the claimed quantity, the slack, and reasons in words;
    ``scope`` says for what a program was proved, where that is the strength."""

    verdict: VerdictKind
    strength: Strength
    lower: Fraction | None
    upper: Fraction | None
    slack: float | None
    reasons: tuple[str, ...] = ()
    broken: bool = False
    scope: str = ""


class SharedLevel:
    """The error level ``alpha`` that all estimates of a row share, those of its cells among them."""

    def __init__(self, alpha: float | None, evidence: Sequence[Evidence]) -> None:
        """``evidence`` is all that the row has; ``alpha=None``: every estimate counts."""
        self._alpha = alpha
        self._evidence = list(evidence)  # held, so that no other object can get an identity of theirs
        self._weak = {id(item): item for item in only_describing(self._evidence, alpha)}

    def counts(self, item: Evidence) -> bool:
        """Whether ``item``, one of the row's, enters a verdict; otherwise it only describes."""
        return id(item) not in self._weak

    def words(self) -> str:
        """Why some of the estimates only describe."""
        return _shared_level(self._evidence, [*self._weak.values()], self._alpha or 0.0)


def judge(
    claim: Claim, evidence: Sequence[Evidence], *, unmet: Sequence[str] = (), alpha: float | None = None
) -> Judgement:
    """Decide a claim from its evidence.

    ``alpha`` is the row's error level, which its estimates share: what they may err with, added up, is at
    most ``alpha``, and an estimate beyond that only describes (``only_describing``). Without it all count.
    ``unmet`` are reasons why a certificate may not verify the claim here (a branch not visited, a bound
    not attained, a leak: the program is not the mechanism that the certificate speaks about); each one turns
    ``verified`` or ``consistent`` by a certificate into ``inconclusive``.

    A lower bound above an upper bound is never passed over. Above a proved bound it is a broken harness
    (``crashed``): where it is a witness, two rigorous statements contradict; where it is an estimate, the
    program is not what the proof speaks about, or the estimate erred, which ``alpha`` makes rare. Above any
    other upper bound (a certificate under assumptions or with an unmet condition, a test) that one does not
    hold here: it is left out with a reason, and the rest is judged.

    Raises ``InvalidParameterError`` for evidence on a privacy or an accounting claim, or on a statement, that
    bounds another quantity than the claim.
    """
    return judge_at(SharedLevel(alpha, evidence), claim, evidence, unmet=unmet)


def judge_at(
    level: SharedLevel, claim: Claim, evidence: Sequence[Evidence], *, unmet: Sequence[str] = ()
) -> Judgement:
    """``judge``, where ``evidence`` is a part of what shares the error level."""
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
            notes.append(_set_aside(item, clash, unmet))
            if isinstance(item, Estimate):
                standing.append(replace(item, upper=None))
    if len(counted) < len(evidence):
        notes.append(level.words())
    # A test that was set aside is none; what never had an upper end speaks of the claim all the same.
    unbounded = any(
        isinstance(item, Estimate) and item.covers_claim and item.upper is None for item in counted
    )
    judgement = _decide(claim, standing, unmet, unbounded=unbounded)
    return replace(judgement, reasons=(*judgement.reasons, *notes))


def only_describing(evidence: Sequence[Evidence], alpha: float | None) -> list[Estimate]:
    """The estimates that decide nothing in a row of error level ``alpha`` (``None``: all decide).

    Estimates err together with at most the sum of ``1 - confidence``. The most confident ones count, as many
    as that sum leaves below ``alpha``; of equally confident ones all count or none, because a choice among
    them by what they say would err more often. An exact computation (confidence 1) costs nothing. An estimate
    without a bound costs as well: a test that found nothing was made all the same.
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
        return f"an estimate at confidence {weakest:.6g} only describes: this row decides at {1 - alpha:.6g}"
    return (
        f"{len(weak)} of {len(inexact)} estimates, the weakest at confidence {weakest:.6g}, only describe: "
        f"the estimates of a row share its error level {alpha:.3g}; "
        f"give each one {1 - alpha / len(inexact):.6g}"
    )


@dataclass(frozen=True)
class _Clash:
    """An upper bound, and the strongest lower bound above it: a witness if there is one."""

    upper: Fraction
    lower: Fraction
    by: Witness | Estimate

    @property
    def words(self) -> str:
        return (
            f"{'a witness' if isinstance(self.by, Witness) else 'an estimate'} at least {_shown(self.lower)}"
        )


def _clash(claim: Claim, evidence: Sequence[Evidence], item: Evidence) -> _Clash | None:
    """What puts the quantity above the upper bound that ``item`` states: a witness against a proof exactly,
    all else beyond rounding (a program's floats may put a change of 1/10 an ulp above it)."""
    exactly = _is_proved(item)
    if isinstance(item, Certificate) or (isinstance(item, ProgramProof) and _covers(claim, item)):
        upper = item.bound
    elif isinstance(item, Estimate) and item.upper is not None and item.covers_claim:
        upper = Fraction(item.upper)
    else:
        return None
    # where a proof reads constants as they print, a witness may differ by their rounding
    most = upper * (1 + item.rounding) if isinstance(item, ProgramProof) else upper
    above = []
    for other in evidence:
        lower = _at_least(other)
        if lower is None or isinstance(other, Certificate | ProgramProof):
            continue
        if lower > (most if exactly and isinstance(other, Witness) else upper + _margin(claim, upper)):
            above.append(_Clash(upper, lower, other))
    return max(above, key=lambda clash: (isinstance(clash.by, Witness), clash.lower), default=None)


def _broken(clash: _Clash) -> Judgement:
    if isinstance(clash.by, Witness):
        reasons = (
            f"lower bound {_shown(clash.lower)} above upper bound {_shown(clash.upper)}: two rigorous "
            "statements contradict",
            "broken harness",
        )
    else:
        error = 1 - clash.by.confidence
        erred = f"erred, which has probability at most {error:.3g}" if error else "was computed wrongly"
        reasons = (
            f"{clash.words}, a proof at most {_shown(clash.upper)}: the harness contradicts itself",
            f"the program is not what the proof speaks about, or the estimate {erred}: run again "
            "with another seed, and look at the program if it stays",
        )
    return Judgement(VerdictKind.CRASHED, Strength.NONE, clash.lower, clash.upper, None, reasons, broken=True)


def _set_aside(item: Any, clash: _Clash, unmet: Sequence[str]) -> str:
    if isinstance(item, Estimate):
        return f"a test at most {_shown(clash.upper)} and {clash.words}: the test does not count"
    if unmet:
        return f"the certificate at {_shown(clash.upper)} is about another mechanism: {unmet[0]}"
    return (
        f"{clash.words} shows that the certificate at {_shown(clash.upper)} assumes what does not hold here: "
        f"{'; '.join(item.assumptions)}"
    )


def _is_proved(item: Evidence) -> bool:
    """Whether a lower bound above ``item`` contradicts it: nothing that it assumes is about the claim."""
    return isinstance(item, ProgramProof) or (isinstance(item, Certificate) and item.strength == "proved")


def _covers(claim: Claim, item: ProgramProof) -> bool:
    """Whether the claim is about the scope of the proof and nothing else: its domain says so."""
    return isinstance(claim, PrivacyClaim) and claim.domain == item.scope


def _shown(number: Fraction) -> str:
    return in_figures(number, digits=9)


def _decide(
    claim: Claim, evidence: Sequence[Evidence], unmet: Sequence[str], *, unbounded: bool
) -> Judgement:
    """The verdict on evidence that counts and does not contradict itself; ``unbounded`` where an estimate
    covers the claim and has no upper end."""
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
            ("the claim has no number to hold against",),
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
        (*unmet, *_why_open(claim, bound, lower, upper)),
    )


def _slack(bound: Fraction, upper: Fraction | None) -> float | None:
    """claimed / certified; ``None`` without a certified bound, or beyond the floats."""
    try:
        return float(bound / upper) if upper else None
    except OverflowError:
        return None


def _require_quantity(claim: Claim, evidence: Sequence[Evidence]) -> None:
    """Evidence bounds the claim's quantity: a statement's by the name that it has there, or by its type's."""
    if not isinstance(claim, PrivacyClaim | AccountingClaim | Statement):
        return
    named = claim.quantity_name if isinstance(claim, Statement) else ""
    allowed = (named, claim.quantity) if named else (claim.quantity,)
    for item in evidence:
        if item.quantity not in allowed:
            raise InvalidParameterError(
                f"evidence on a {claim.type} claim must bound its quantity "
                f"{' or '.join(map(repr, allowed))}, got {item.quantity!r}; convert the bound."
            )


def _at_least(item: Evidence) -> Fraction | None:
    """The lower bound that a witness or an estimate states; ``None`` for none."""
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
            best = (value, Strength.TESTED if covers else Strength.ESTIMATE)
            if isinstance(item, Witness):
                best = (value, Strength.WITNESS)
    return best


def _upper(
    claim: Claim, evidence: Sequence[Evidence], *, unbounded: bool
) -> tuple[Fraction | None, Strength | None, Fraction]:
    """The best upper bound, its strength, and up to which bound such evidence verifies the claim: its number,
    or a little more where a proof assumes so."""
    bound = claim.bound or Fraction(0)
    certificates = [
        item
        for item in evidence
        if isinstance(item, Certificate) or (isinstance(item, ProgramProof) and _covers(claim, item))
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
        return None, None, bound  # a privacy claim is never verified by tests
    if unbounded and not claim.at_least:
        return None, None, bound  # the largest upper end of what covers the claim is infinite
    covering = [
        item
        for item in evidence
        if isinstance(item, Estimate) and item.covers_claim and item.upper is not None
    ]
    if not covering:
        return None, None, bound
    return max(Fraction(item.upper) for item in covering if item.upper is not None), Strength.TESTED, bound


def _most(bound: Fraction, item: Certificate | ProgramProof) -> Fraction:
    """The largest upper bound by which ``item`` proves a claim of ``bound``."""
    return bound * (1 + item.rounding) if isinstance(item, ProgramProof) else bound


def _proofs(claim: Claim, evidence: Sequence[Evidence]) -> list[ProgramProof]:
    """The proofs of the program, of all of the claim or of a part of it, that reach its number."""
    proofs = [item for item in evidence if isinstance(item, ProgramProof)]
    return [item for item in proofs if claim.bound is not None and item.bound <= _most(claim.bound, item)]


def _scope(claim: Claim, kind: Strength, evidence: Sequence[Evidence]) -> str:
    if kind is not Strength.IN_SCOPE:
        return ""
    return "; ".join(dict.fromkeys(item.scope for item in _proofs(claim, evidence)))


def _consistent(claim: Claim, accepted: Judgement, evidence: Sequence[Evidence]) -> Judgement:
    """What a certificate that assumes something makes of a claim that it reaches, with the sentence that
    stops a proof. A proof of the program at one size besides is the strength, and verifies no more than its
    scope: the bound stays the certificate's, which is about every size."""
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


def _why_open(
    claim: Claim, bound: Fraction, lower: Fraction | None, upper: Fraction | None
) -> tuple[str, ...]:
    if not claim.at_least and upper is not None and bound < upper <= bound + _margin(claim, bound):
        above = f"{float(upper - bound):.3g}"
        return (
            f"equal within the slack: the certificate is above the claim by {above}, less than the margin, "
            f"and does not prove it; where the bound is no rational number, claim one above it ({upper})",
        )
    if not claim.at_least and lower is not None and lower > bound:
        return ("rounding: the lower bound is above the claim by less than the margin",)
    missing = "a lower bound above the claim" if lower is None or lower <= bound else ""
    return (
        f"to decide: {missing or 'stronger evidence'}, or a certificate at {in_figures(bound)}"
        + (f" (the best one reaches {in_figures(upper)})" if upper is not None else ""),
    )
