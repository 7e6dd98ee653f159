"""What a check found, and how to ask it: words for people, a verdict for tests, plain data for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from dpaudit.claims import PrivacyClaim
from dpaudit.errors import InvalidParameterError, RefutedError
from dpaudit.evidence import Estimate
from dpaudit.verdicts import Judgement, VerdictKind

__all__ = ["CheckResult"]


@dataclass(frozen=True, repr=False)
class CheckResult:
    """What a check found: the verdict, the estimate behind it, the event that spoke most against the claim,
    and notes.

    ``evidence.lower`` is ``None`` where nothing holds with any confidence; ``judgement.reasons`` says why.
    """

    claim: PrivacyClaim
    evidence: Estimate
    judgement: Judgement
    event: str
    notes: tuple[str, ...]
    #: What one run on the first input was heard to draw (``dpaudit.listen``), in words.
    heard: tuple[str, ...] = ()

    @property
    def verdict(self) -> VerdictKind:
        """``REFUTED`` or ``INCONCLUSIVE``, also equal to "refuted" or "inconclusive"; samples never verify a
        privacy claim.
        """
        return self.judgement.verdict

    @property
    def samples(self) -> int:
        """Runs of the mechanism that entered the evidence."""
        return self.evidence.samples

    def raise_if_refuted(self) -> CheckResult:
        """This result, unless the claim was refuted: then ``RefutedError`` (an ``AssertionError``), whose
        text is the evidence.
        """
        if self.verdict is VerdictKind.REFUTED:
            raise RefutedError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: verdict, claim, evidence, reasons, event, notes, draws."""
        return {
            "verdict": self.verdict.value,
            "claim": self.claim.to_json(),
            "evidence": self.evidence.to_json(),
            "reasons": list(self.judgement.reasons),
            "event": self.event,
            "notes": list(self.notes),
            "heard": list(self.heard),
        }

    def __bool__(self) -> NoReturn:
        raise InvalidParameterError(
            "a check result must be asked for something, got its truth value; write result.verdict == "
            '"refuted" or result.raise_if_refuted().'
        )

    def __repr__(self) -> str:
        return f"<{self.verdict.value}: {self._found()}, claimed {float(self.claim.bound or 0):.4g}>"

    def __str__(self) -> str:
        lines = [f"{self.verdict.value.upper()}: {self.claim.in_words()}", f"  {self._found()}"]
        if self.evidence.lower is None:
            lines += [f"  {self.judgement.reasons[0]}"]
        else:
            lines[-1] += ", assuming independent calls"
            lines += [f"  most telling event: {self.event}"] if self.event else []
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _found(self) -> str:
        evidence = self.evidence
        runs = f"({self.samples:,} runs, {evidence.scope})"
        if evidence.lower is None or not evidence.samples:
            return f"no bound on {evidence.quantity} {runs}"
        bound = f"{evidence.quantity} > {evidence.lower:.4g}"
        return f"{bound} with {100 * evidence.confidence:g} % confidence {runs}"
