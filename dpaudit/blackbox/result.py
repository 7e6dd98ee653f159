"""What a check found, and how to ask it: words for people, a verdict for tests, plain data for files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from dpaudit.blackbox.bounds import Curve, curve_of, lower_bound
from dpaudit.blackbox.hypotheses import epsilons_at
from dpaudit.blackbox.replay import Replay
from dpaudit.blackbox.words import at_least, percent, weakest_violation
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError, NotAuditedError, RefutedError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike, exact, rounded_up
from dpaudit.core.verdicts import Judgement, VerdictKind

__all__ = ["CheckResult"]

#: Rows of the table that a notebook shows.
SHOWN_STEPS = 12


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
    #: The notes among them that name something to look at: defects that were heard, calls that could not be
    #: repeated, runs that ended early.
    warnings: tuple[str, ...] = ()
    #: What one run on the first input was heard to draw (``dpaudit.record_draws``), in words.
    heard: tuple[str, ...] = ()
    #: (runs, bound) wherever the bound on the claim's quantity rose; at its confidence, at all times at once.
    history: tuple[tuple[int, float], ...] = ()
    #: Why this check could not have refuted anything; empty where it could have, or did.
    not_audited: str = ""
    #: The delta at which epsilon was asked for.
    at_delta: float | None = None
    #: What was played; ``None`` where nothing holds.
    replay: Replay | None = field(default=None, compare=False)

    @property
    def verdict(self) -> VerdictKind:
        """``REFUTED`` or ``INCONCLUSIVE``, also equal to "refuted" or "inconclusive"; samples never verify a
        privacy claim.
        """
        return self.judgement.verdict

    @property
    def headline(self) -> str:
        """``REFUTED``, ``INCONCLUSIVE``, or ``NOT AUDITED`` for an inconclusive check that says nothing."""
        return "NOT AUDITED" if self.not_audited else self.verdict.value.upper()

    @property
    def weakest(self) -> str:
        """The weakest violation of each kind that about half of such checks would have refuted, in words."""
        return weakest_violation(self.evidence.details.get("power", {})) or "none"

    @property
    def power(self) -> str:
        """What a check that found no violation would have found, in words; empty for any other result."""
        if self.not_audited or self.verdict is VerdictKind.REFUTED or self.evidence.lower is None:
            return ""
        if self.weakest == "none":
            return "no violation found, and none would have been detected with probability 1/2"
        return f"no violation found: would have detected {self.weakest} with probability 1/2"

    @property
    def samples(self) -> int:
        """Runs of the mechanism that entered the evidence."""
        return self.evidence.samples

    @cached_property
    def curve(self) -> Curve | None:
        """Lower bounds on delta at several epsilons and on epsilon at several deltas, all together at the
        confidence of ``evidence``; computed when first asked for, in seconds after many runs. ``None`` where
        nothing holds."""
        if self.replay is None:
            return None
        return curve_of(self.replay, alpha=1 - self.evidence.confidence, samples=self.samples)

    def epsilon_at(self, delta: ExactLike) -> float | None:
        """A lower bound on epsilon at one ``delta`` in [0, 1), at the confidence of ``evidence`` for one
        delta that was named before the runs; ``None`` where nothing holds. For several, or one chosen
        afterwards, take ``curve``, which pays for its choice."""
        number = exact(delta, name="delta")
        if not 0 <= number < 1:
            raise InvalidParameterError(f"delta must be in [0, 1), got {delta}; pass a probability below 1.")
        if self.replay is None:
            return None
        family = epsilons_at(rounded_up(number))
        return lower_bound(self.replay, family, alpha=1 - self.evidence.confidence).value

    @cached_property
    def _epsilon_at_delta(self) -> float | None:
        return None if self.at_delta is None else self.epsilon_at(self.at_delta)

    def to_frame(self) -> pd.DataFrame:
        """The history of the bound: columns ``runs`` and ``lower``, one row wherever it rose."""
        return pd.DataFrame(self.history, columns=["runs", "lower"])

    def raise_if_refuted(self) -> CheckResult:
        """This result, unless the claim was refuted or nothing was audited.

        Raises ``RefutedError``, whose text is the evidence, or ``NotAuditedError``, whose text says why; both
        are ``AssertionError``.
        """
        if self.verdict is VerdictKind.REFUTED:
            raise RefutedError(str(self))
        if self.not_audited:
            raise NotAuditedError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: verdict, why nothing was audited (or None), claim, evidence, reasons,
        event, notes, warnings, draws, history (pairs of runs and bound), and epsilon at the delta that was
        asked for."""
        return {
            "verdict": self.verdict.value,
            "not_audited": self.not_audited or None,
            "claim": self.claim.to_json(),
            "evidence": self.evidence.to_json(),
            "reasons": list(self.judgement.reasons),
            "event": self.event,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "heard": list(self.heard),
            "history": [list(step) for step in self.history],
            "epsilon_at_delta": None
            if self.at_delta is None
            else {"delta": self.at_delta, "epsilon_lower": self._epsilon_at_delta},
        }

    def __bool__(self) -> NoReturn:
        raise InvalidParameterError(
            "a check result must be asked for something, got its truth value; write result.verdict == "
            '"refuted" or result.raise_if_refuted().'
        )

    def __repr__(self) -> str:
        return f"<{self.headline.lower()}: {self._found()}, claimed {float(self.claim.bound or 0):.4g}>"

    def __str__(self) -> str:
        claim, found = self.claim.in_words(), f"  {self._found()}"
        if self.power:
            lines = [f"{self.headline}, {self.power}", f"  claim: {claim}"]
        else:
            lines = [f"{self.headline}: {claim}"]
        if self.evidence.lower is not None:
            lines.append(f"{found}, assuming independent calls")
            if self._epsilon_at_delta is not None:
                lines.append(
                    f"  epsilon > {at_least(self._epsilon_at_delta)} at delta = {self.at_delta:g}, with "
                    f"{percent(self.evidence.confidence)} confidence by itself"
                )
            chance = "" if self.verdict is VerdictKind.REFUTED else ", chosen among many and within chance"
            lines += [f"  most telling event{chance}: {self.event}"] if self.event else []
        else:
            lines.append(found)
        lines += [f"  {self.not_audited}"] if self.not_audited else []
        lines += [f"  warning: {note}" for note in self.warnings]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes if note not in self.warnings)])

    def _repr_html_(self) -> str:
        """For notebooks: verdict, bound, the words of ``str`` and how the bound rose."""
        steps = self.history[:: max(1, len(self.history) // SHOWN_STEPS)]
        if self.history and steps[-1] != self.history[-1]:
            steps = (*steps, self.history[-1])
        rows = "".join(f"<tr><td>{runs:,}</td><td>{at_least(bound)}</td></tr>" for runs, bound in steps)
        said = "<br>".join(escape(line.strip()) for line in str(self).splitlines()[1:])
        table = f"<table><tr><th>runs</th><th>{escape(self.evidence.quantity)} &gt;</th></tr>{rows}</table>"
        first = str(self).splitlines()[0].removeprefix(self.headline)
        title = f"<b>{self.headline}</b>{escape(first)}"
        return f"<div>{title}<br>{said}{table if rows else ''}</div>"

    def _found(self) -> str:
        evidence = self.evidence
        runs = f"({self.samples:,} runs, {evidence.scope})"
        if evidence.lower is None or not evidence.samples:
            return f"no bound on {evidence.quantity} {runs}"
        if not evidence.lower:
            return f"no bound on {evidence.quantity} above 0 {runs}"
        bound = f"{evidence.quantity} > {self._in_figures(evidence.lower)}"
        return f"{bound} with {percent(evidence.confidence)} confidence {runs}"

    def _in_figures(self, lower: float) -> str:
        """With four figures, or as many as tell the bound from the claim; a check that stops as soon as the
        claim is refuted often stops right above it."""
        claimed, texts = float(self.claim.bound or 0), [at_least(lower, figures) for figures in (4, 6)]
        apart = (text for text in texts if np.sign(float(text) - claimed) == np.sign(lower - claimed))
        return next(apart, f"{claimed:.12g} (the claimed bound)" if lower > claimed else texts[-1])
