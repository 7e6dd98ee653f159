"""Results of checks: text for readers, a verdict for tests, and plain data for files."""

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
from dpaudit.core.claims import PrivacyClaim, Stability
from dpaudit.core.errors import InvalidParameterError, NotAuditedError, RefutedError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike, exact, rounded_up
from dpaudit.core.verdicts import Judgement, VerdictKind

__all__ = ["CheckResult"]

#: Number of rows in the table that a notebook shows.
SHOWN_STEPS = 12


@dataclass(frozen=True, repr=False)
class CheckResult:
    """Result of ``check``: the verdict, the estimate behind it, the strongest event, and notes.

    Attributes
    ----------
    claim : PrivacyClaim
        The claim that was tested.
    evidence : Estimate
        The lower bound with its confidence. ``evidence.lower`` is None if no bound holds at any confidence.
        ``judgement.reasons`` then explains why.
    judgement : Judgement
        The verdict and its reasons.
    event : str
        The event with the strongest evidence against the claim. Empty if there is none.
    notes : tuple of str
        All diagnostics.
    warnings : tuple of str
        The notes that require attention: defects in the recorded draws, calls that are not reproducible, and
        runs that ended early.
    heard : tuple of str
        The recorded draws of one run on the first input (``dpaudit.record_draws``).
    history : tuple of (int, float)
        (runs, bound) each time the bound on the claim's quantity rose. All of these bounds hold
        simultaneously at the confidence of ``evidence``.
    not_audited : str
        Why this check could not have refuted anything. Empty if it could have, or did.
    at_delta : float or None
        The delta at which a bound on epsilon was requested.
    replay : Replay or None
        The blocks of outputs, to compute more bounds. None if no bound holds.
    assuming : str
        What the bound assumes, after "assuming".
    unit : str
        What ``samples`` counts.
    """

    claim: PrivacyClaim | Stability
    evidence: Estimate
    judgement: Judgement
    event: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    history: tuple[tuple[int, float], ...] = ()
    not_audited: str = ""
    at_delta: float | None = None
    replay: Replay | None = field(default=None, compare=False)
    assuming: str = "independent calls"
    unit: str = "runs"

    @property
    def verdict(self) -> VerdictKind:
        """Return ``REFUTED`` or ``INCONCLUSIVE``, which equal "refuted" and "inconclusive".

        Sampling never verifies a privacy claim.
        """
        return self.judgement.verdict

    @property
    def headline(self) -> str:
        """Return ``REFUTED``, ``INCONCLUSIVE``, or ``NOT AUDITED`` if the check could not have refuted."""
        return "NOT AUDITED" if self.not_audited else self.verdict.value.upper()

    @property
    def weakest(self) -> str:
        """Describe the weakest violation of each kind that about half of such checks would have refuted."""
        return weakest_violation(self.evidence.details.get("power", {})) or "none"

    @property
    def power(self) -> str:
        """Describe what a check without a violation would have detected. Empty for any other result."""
        if self.not_audited or self.verdict is VerdictKind.REFUTED or self.evidence.lower is None:
            return ""
        if "power" not in self.evidence.details:
            return ""
        if not isinstance(self.claim, PrivacyClaim):
            return "no violation found on these pairs"
        if self.weakest == "none":
            return "no violation found, and none would have been detected with probability 1/2"
        return f"no violation found: would have detected {self.weakest} with probability 1/2"

    @property
    def samples(self) -> int:
        """Return the number of runs of the mechanism that entered the evidence."""
        return self.evidence.samples

    @cached_property
    def curve(self) -> Curve | None:
        """Compute lower bounds on delta at several epsilons, and on epsilon at several deltas.

        All of them hold simultaneously at the confidence of ``evidence``. They are computed on first use,
        which takes seconds after many runs. None if no bound holds.
        """
        if self.replay is None:
            return None
        return curve_of(self.replay, alpha=1 - self.evidence.confidence, samples=self.samples)

    def epsilon_at(self, delta: ExactLike) -> float | None:
        """Compute a lower bound on epsilon at one delta.

        The bound holds at the confidence of ``evidence`` for one delta that was chosen before the runs. For
        several, or one chosen afterwards, use ``curve``, which accounts for the choice.

        Parameters
        ----------
        delta : number
            In [0, 1).

        Returns
        -------
        float or None
            The bound. None if no bound holds.

        Raises
        ------
        InvalidParameterError
            ``delta`` is outside [0, 1).
        """
        number = exact(delta, name="delta")
        if not 0 <= number < 1:
            raise InvalidParameterError(f"delta must be in [0, 1), got {delta}.", code="E-DELTA-RANGE")
        if self.replay is None:
            return None
        family = epsilons_at(rounded_up(number))
        return lower_bound(self.replay, family, alpha=1 - self.evidence.confidence).value

    @cached_property
    def _epsilon_at_delta(self) -> float | None:
        return None if self.at_delta is None else self.epsilon_at(self.at_delta)

    def to_frame(self) -> pd.DataFrame:
        """Return the history of the bound, with columns ``runs`` and ``lower`` and a row for each rise."""
        return pd.DataFrame(self.history, columns=["runs", "lower"])

    def raise_if_refuted(self) -> CheckResult:
        """Return this result, unless the claim was refuted or the check could not have refuted it.

        Raises
        ------
        RefutedError
            The claim was refuted. The text is the evidence.
        NotAuditedError
            The check could not have refuted the claim. The text explains why.
        """
        if self.verdict is VerdictKind.REFUTED:
            raise RefutedError(str(self), code="E-REFUTED")
        if self.not_audited:
            raise NotAuditedError(str(self), code="E-NOT-AUDITED")
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON.

        The keys hold the verdict, why the check could not have refuted (or None), the claim, the evidence,
        the reasons, the event, the notes, the warnings, the recorded draws, the history as pairs (runs,
        bound), and epsilon at the requested delta.
        """
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
            'a CheckResult has no truth value. Use result.verdict == "refuted" or result.raise_if_refuted().',
            code="E-RESULT-TRUTH-VALUE",
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
            lines.append(found if self._exact else f"{found}, assuming {self.assuming}")
            if self._epsilon_at_delta is not None:
                lines.append(
                    f"  epsilon > {at_least(self._epsilon_at_delta)} at delta = {self.at_delta:g}, with "
                    f"{percent(self.evidence.confidence)} confidence by itself"
                )
            chance = "" if self.verdict is VerdictKind.REFUTED else " (selected from many, not significant)"
            lines += [f"  strongest event{chance}: {self.event}"] if self.event else []
        else:
            lines.append(found)
        lines += [f"  {self.not_audited}"] if self.not_audited else []
        lines += [f"  warning: {note}" for note in self.warnings]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes if note not in self.warnings)])

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the verdict, the bound, the text of ``str`` and the bound's history."""
        steps = self.history[:: max(1, len(self.history) // SHOWN_STEPS)]
        if self.history and steps[-1] != self.history[-1]:
            steps = (*steps, self.history[-1])
        rows = "".join(f"<tr><td>{runs:,}</td><td>{at_least(bound)}</td></tr>" for runs, bound in steps)
        text = "<br>".join(escape(line.strip()) for line in str(self).splitlines()[1:])
        table = f"<table><tr><th>runs</th><th>{escape(self.evidence.quantity)} &gt;</th></tr>{rows}</table>"
        first = str(self).splitlines()[0].removeprefix(self.headline)
        title = f"<b>{self.headline}</b>{escape(first)}"
        return f"<div>{title}<br>{text}{table if rows else ''}</div>"

    def _found(self) -> str:
        evidence = self.evidence
        runs = f"({self.samples:,} {self.unit}, {evidence.scope})"
        if evidence.lower is None or not evidence.samples:
            return f"no bound on {evidence.quantity} {runs}"
        if self._exact:
            return f"{evidence.quantity} = {evidence.lower:.6g} {runs}"
        if not evidence.lower:
            return f"no bound on {evidence.quantity} above 0 {runs}"
        bound = f"{evidence.quantity} > {self._in_figures(evidence.lower)}"
        return f"{bound} with {percent(evidence.confidence)} confidence {runs}"

    @property
    def _exact(self) -> bool:
        """Whether the bound is a computation, as for a stability claim."""
        return self.evidence.confidence == 1

    def _in_figures(self, lower: float) -> str:
        """Format the bound with four figures, or with enough of them to differ from the claim.

        A check that stops as soon as the claim is refuted often ends just above the claim.
        """
        claimed, texts = float(self.claim.bound or 0), [at_least(lower, figures) for figures in (4, 6)]
        apart = (text for text in texts if np.sign(float(text) - claimed) == np.sign(lower - claimed))
        return next(apart, f"{claimed:.12g} (the claimed bound)" if lower > claimed else texts[-1])
