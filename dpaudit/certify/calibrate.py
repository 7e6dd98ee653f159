"""Find the least noise that a claim needs: the smallest parameter for which the kernel confirms the claim.

The search is a bisection on an exact grid. Its result is a certificate at the parameter found, which is valid
without any assumption. That no smaller parameter suffices assumes monotonicity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.certify.proof import Proof
from dpaudit.core.claims import Claim
from dpaudit.core.errors import CertificateError, DpauditError, InvalidParameterError
from dpaudit.core.evidence import Certificate
from dpaudit.core.exact import ExactLike, exact, exact_str, in_figures, nearest_float, positive
from dpaudit.core.question import Question

__all__ = ["Answer", "Calibration", "answer", "calibrate"]

#: Largest number of doublings (or halvings) of the start in the search for a bracket.
MAX_DOUBLINGS = 60


@dataclass(frozen=True)
class Calibration:
    """The smallest grid ``parameter`` found to satisfy the claim.

    ``certificate`` proves the claim there, and ``refused`` is a smaller parameter without a certificate.
    """

    parameter: Fraction
    certificate: Certificate
    refused: Fraction


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The claimed and the certified value at the printed parameter, and the smallest certified parameter.

    ``certified`` is ``None`` if nothing is certified at the printed parameter. ``smallest`` is the smallest
    parameter that is certified to satisfy the claim, and ``refused`` is one that is not. Both are ``None`` if
    no parameter is certified.
    """

    question: Question
    claimed: Fraction
    certified: Fraction | None
    smallest: Fraction | None
    refused: Fraction | None

    @property
    def slack(self) -> float | None:
        """Return claimed / certified: above 1, the mechanism adds more noise than the claim needs."""
        return nearest_float(self.claimed / self.certified) if self.certified else None

    def to_json(self) -> dict[str, str | None]:
        numbers = {
            "printed": exact(self.question.printed),
            "claimed": self.claimed,
            "certified": self.certified,
            "smallest": self.smallest,
            "refused": self.refused,
        }
        question = self.question
        texts = {"id": question.id, "title": question.title, "parameter": question.parameter}
        written = {name: None if number is None else exact_str(number) for name, number in numbers.items()}
        return {**texts, "claim": question.claim.in_words(), "quantity": question.claim.quantity, **written}


def answer(question: Question, *, relative: ExactLike = "1/1000") -> Answer:
    """Certify the printed parameter and search for the smallest one (see ``calibrate``)."""
    printed = positive(question.printed, name="printed")
    bound = question.claim.bound
    if bound is None:
        raise InvalidParameterError("a claim to calibrate for must have a bound.", code="E-CLAIM-NO-BOUND")
    try:
        certified = question.mechanism(printed).certify(question.claim).bound
    except CertificateError:
        certified = None
    try:
        found = calibrate(question.claim, question.mechanism, start=printed, relative=relative)
    except CertificateError:
        return Answer(question=question, claimed=bound, certified=certified, smallest=None, refused=None)
    return Answer(
        question=question,
        claimed=bound,
        certified=certified,
        smallest=found.parameter,
        refused=found.refused,
    )


def calibrate(
    claim: Claim,
    mechanism: Callable[[Fraction], Proof],
    *,
    start: ExactLike = 1,
    relative: ExactLike = "1/1000",
    watch: Callable[[Fraction, bool], None] | None = None,
) -> Calibration:
    """Find the smallest parameter that satisfies ``claim``, such as a scale or a variance.

    Parameters
    ----------
    claim : Claim
        The claim, which must have a bound.
    mechanism : callable
        Builds the proof for a parameter. A larger parameter must be more private.
    start : exact number
        Where the search begins, greater than 0 (1).
    relative : exact number
        The width of the last bracket relative to the parameter (1/1000).
    watch : callable, optional
        Called with each parameter that was tried, and whether it suffices.

    Returns
    -------
    Calibration
        The parameter, its certificate, and a smaller parameter without one.

    Raises
    ------
    CertificateError
        No parameter up to start * 2^60 satisfies the claim. If the mechanism refuses every parameter, the
        text is that of its first refusal.
    InvalidParameterError
        Every parameter down to start / 2^60 satisfies the claim, the start is not positive, or the claim has
        no bound.
    """
    bound = claim.bound
    if bound is None:
        raise InvalidParameterError("a claim to calibrate for must have a bound.", code="E-CLAIM-NO-BOUND")
    width = positive(relative, name="relative")

    attempt = _Attempts(claim, mechanism, bound, watch)
    low, high, good = _bracket(attempt, positive(start, name="start"))
    while high - low > width * high:
        middle = _short(low, high)
        certificate = attempt(middle)
        if certificate is None:
            low = middle
        else:
            high, good = middle, certificate
    return Calibration(high, good, low)


class _Attempts:
    """A function from a parameter to a certificate of the claim, or ``None``.

    ``built`` records whether the mechanism gave a proof for some parameter, and ``ill_formed`` its first
    refusal.
    """

    def __init__(
        self,
        claim: Claim,
        mechanism: Callable[[Fraction], Proof],
        bound: Fraction,
        watch: Callable[[Fraction, bool], None] | None,
    ) -> None:
        self.claim, self.mechanism, self.bound, self.watch = claim, mechanism, bound, watch
        self.ill_formed: DpauditError | None = None
        self.built = False

    def __call__(self, parameter: Fraction) -> Certificate | None:
        certificate = self._certified(parameter)
        if certificate is not None and certificate.bound > self.bound:
            certificate = None
        if self.watch is not None:
            self.watch(parameter, certificate is not None)
        return certificate

    def _certified(self, parameter: Fraction) -> Certificate | None:
        try:
            proof = self.mechanism(parameter)
        except (CertificateError, InvalidParameterError) as error:
            self.ill_formed = self.ill_formed or error
            return None
        self.built = True
        try:
            return proof.certify(self.claim)
        except (CertificateError, InvalidParameterError):
            return None


def _bracket(attempt: _Attempts, start: Fraction) -> tuple[Fraction, Fraction, Certificate]:
    """Return a refused parameter, an accepted one above it, and the certificate of the accepted one."""
    certificate = attempt(start)
    at = start
    for _ in range(MAX_DOUBLINGS):
        if certificate is None:
            at *= 2
            certificate = attempt(at)
            if certificate is not None:
                return at / 2, at, certificate
        else:
            smaller = attempt(at / 2)
            if smaller is None:
                return at / 2, at, certificate
            at, certificate = at / 2, smaller
    if certificate is None:
        if attempt.ill_formed is not None and not attempt.built:
            raise CertificateError(str(attempt.ill_formed)) from attempt.ill_formed
        raise CertificateError(
            f"no parameter up to {in_figures(at)} satisfies the claim. Use another mechanism."
        )
    raise InvalidParameterError(
        f"all parameters down to {in_figures(at)} satisfy the claim. Check the mechanism.",
        code="E-CALIBRATE-NO-BRACKET",
    )


def _short(low: Fraction, high: Fraction) -> Fraction:
    """Return a number near the middle with a small denominator, so that certificates stay readable."""
    middle = (low + high) / 2
    quarter = (high - low) / 4
    digits = 0
    while True:
        rounded = Fraction(round(middle * 10**digits), 10**digits)
        if abs(rounded - middle) <= quarter:
            return rounded
        digits += 1
