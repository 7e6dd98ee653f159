"""How little noise does a claim need? The smallest parameter for which the kernel confirms the claim.

The search is a bisection on an exact grid; only its last step matters for the result, and that one is a
certificate. Monotonicity is not assumed for truth, only for minimality: a certificate at the parameter found
is valid whatever lies below it.
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

#: How far the search for an upper end goes: factors of 2 beyond the given start.
MAX_DOUBLINGS = 60


@dataclass(frozen=True)
class Calibration:
    """The smallest grid ``parameter`` found to satisfy the claim, its ``certificate``, and one that is too
    small.
    """

    parameter: Fraction
    certificate: Certificate
    refused: Fraction


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Claimed and certified at the printed parameter (``None``: nothing is), and the smallest parameter that
    is certified to satisfy the claim, with one that is not (``None`` where no parameter is).
    """

    question: Question
    claimed: Fraction
    certified: Fraction | None
    smallest: Fraction | None
    refused: Fraction | None

    @property
    def slack(self) -> float | None:
        """claimed / certified: above 1 the mechanism adds more noise than the claim needs."""
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
        words = {"id": question.id, "title": question.title, "parameter": question.parameter}
        written = {name: None if number is None else exact_str(number) for name, number in numbers.items()}
        return {**words, "claim": question.claim.in_words(), "quantity": question.claim.quantity, **written}


def answer(question: Question, *, relative: ExactLike = "1/1000") -> Answer:
    """Certify the printed parameter and search for the smallest one; see ``calibrate``."""
    printed = positive(question.printed, name="printed")
    bound = question.claim.bound
    if bound is None:
        raise InvalidParameterError(
            "a claim must have a number to calibrate for, got one without; state its bound."
        )
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
    """Find the smallest scale (or variance, or any parameter where more is more private) that satisfies
    ``claim``.

    ``mechanism`` builds the proof for a parameter, ``start`` > 0 is where the search begins, and ``relative``
    the width of the last bracket relative to the parameter. ``watch`` sees each parameter that was tried and
    whether it is enough. Raises ``CertificateError`` if no parameter up to ``start * 2^60`` satisfies the
    claim, and ``InvalidParameterError`` if every one down to ``start / 2^60`` does, for a start that is not
    positive. Where the mechanism refuses every parameter the text is that of its first refusal.
    """
    bound = claim.bound
    if bound is None:
        raise InvalidParameterError(
            "a claim must have a number to calibrate for, got one without; state its bound."
        )
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
    """From a parameter to a certificate of the claim, or ``None``. ``built``: the mechanism gave a proof for
    some parameter, whatever it proves; ``ill_formed``: its first refusal to give one."""

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
    """A refused parameter, an accepted one above it, and the latter's certificate."""
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
            f"some parameter up to {in_figures(at)} must satisfy the claim, none does; use another mechanism."
        )
    raise InvalidParameterError(
        f"some parameter down to {in_figures(at)} must fail the claim, all satisfy it; check the mechanism."
    )


def _short(low: Fraction, high: Fraction) -> Fraction:
    """A number near the middle with a small denominator, so that certificates stay readable."""
    middle = (low + high) / 2
    quarter = (high - low) / 4
    digits = 0
    while True:
        rounded = Fraction(round(middle * 10**digits), 10**digits)
        if abs(rounded - middle) <= quarter:
            return rounded
        digits += 1
