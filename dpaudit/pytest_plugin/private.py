"""Provide the callable behind ``assert_private``: one black-box check in a test, with a ten-line failure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.neighbours import PairsOfInputs, pairs_of, read_neighbours
from dpaudit.blackbox.result import CheckResult
from dpaudit.blackbox.words import at_least, at_most
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import RefutedError
from dpaudit.core.pairs import shown
from dpaudit.core.verdicts import VerdictKind
from dpaudit.pytest_plugin.levels import AUDITS, NOTE, SUMMARY, WARNING, Levels, seed_of

__all__ = ["AssertPrivate"]

#: The largest number of notes in a failure, so that it has at most ten lines.
NOTES = 3

#: Arguments of ``dpaudit.check`` that a test cannot pass, and the alternative.
ELSEWHERE = {
    "alpha": "All tests of a session share one significance level, dpaudit_alpha in pytest's configuration",
    "seed": "A test's seed follows from its name and pytest's option --dpaudit-seed",
    "seconds": "A verdict must not depend on the machine. Pass max_samples, or timeout for one call",
}
#: Exceptions that end a test or the session without a failure.
NO_FAILURES = (pytest.skip.Exception, pytest.xfail.Exception, pytest.exit.Exception)

UNKNOWN = "docs/pytest.md lists its arguments"


class AssertPrivate:
    """The callable that the fixture gives to one test."""

    def __init__(
        self,
        *,
        node: str,
        levels: Levels,
        base_seed: int,
        expect_refuted: bool,
        properties: list[tuple[str, object]] | None = None,
    ) -> None:
        self._node, self._levels, self._base = node, levels, base_seed
        self._expect_refuted = expect_refuted
        #: Number of calls so far.
        self.calls = 0
        #: Properties of the test for its reports: one line for each audit, its warnings, and its notes.
        self._properties = [] if properties is None else properties

    def __call__(
        self,
        mechanism: Callable[..., Any],
        claim: PrivacyClaim,
        *,
        neighbours: PairsOfInputs | None = None,
        data: Records | Table | None = None,
        max_samples: int = 100_000,
        batch: bool = False,
        jobs: int = 1,
        timeout: float | None = 60.0,
        record_draws: bool = True,
        **elsewhere: object,
    ) -> CheckResult:
        """Check a mechanism, and raise if the claim is refuted.

        Parameters
        ----------
        mechanism, claim, neighbours, data, max_samples, batch, jobs, timeout, record_draws
            As for ``dpaudit.check``. The session sets the significance level and the seed.

        Returns
        -------
        CheckResult
            The result of ``dpaudit.check``.

        Raises
        ------
        RefutedError
            The claim was refuted. This is an ``AssertionError``.
        NotAuditedError
            No run could have refuted the claim, or calls depend on one another. An ``AssertionError``, too.
        AssertionError
            The claim was not refuted in a test marked ``dpaudit_refuted``, or the mechanism ended the test.
        TypeError
            ``alpha``, ``seed``, ``seconds`` or an unknown argument was passed.
        """
        __tracebackhide__ = True
        for name in elsewhere:
            raise TypeError(f"assert_private does not take {name}=. {ELSEWHERE.get(name, UNKNOWN)}.")
        self.calls += 1
        alpha = self._levels.of_call(self.calls)
        seed = seed_of(self._node, base=self._base, number=self.calls)
        if isinstance(neighbours, Iterator):
            neighbours = list(neighbours)  # read twice: for the check, and to show the refuting pair
        try:
            result = check(
                mechanism,
                claim,
                neighbours=neighbours,
                data=data,
                alpha=alpha,
                seed=seed,
                max_samples=max_samples,
                batch=batch,
                jobs=jobs,
                timeout=timeout,
                record_draws=record_draws,
            )
        except (*NO_FAILURES, SystemExit) as error:
            why = f"NOT AUDITED: a mechanism must return or raise, but it ended the test with {error!r}."
            self._properties.append((SUMMARY, why))
            raise AssertionError(why) from error
        except Exception as error:  # a refused pair or claim, or a call that hangs
            self._properties.append((SUMMARY, f"NOT AUDITED: {type(error).__name__}: {_one_line(error)}"))
            raise
        refuted = result.verdict is VerdictKind.REFUTED
        self._properties.append((SUMMARY, _in_one_line(result)))
        self._properties += [(WARNING, note) for note in result.warnings]
        self._properties += [(NOTE, note) for note in result.notes if note not in result.warnings]
        if self._expect_refuted and not refuted and not result.not_audited:
            raise AssertionError(f"this test expects a refutation, but the claim was not refuted:\n{result}")
        if refuted and not self._expect_refuted:
            tried = pairs_of(claim, neighbours, data)
            pair = read_neighbours(tried, seed=seed, claim=claim)[result.evidence.details["pair"]]
            text = self._failure(result, f"{shown(pair.left)} and {shown(pair.right)}", alpha)
            raise RefutedError(text, code="E-REFUTED")
        return result if refuted else result.raise_if_refuted()

    def _failure(self, result: CheckResult, inputs: str, alpha: float) -> str:
        evidence = result.evidence
        lines = [
            f"REFUTED: {result.claim.in_words()}",
            f"  bound: {evidence.quantity} > {at_least(evidence.lower or 0)} ({evidence.samples:,} runs)",
            f"  inputs: {inputs}",
            f"  event: {result.event}",
            *(f"  note: {note}" for note in result.notes[:NOTES]),
            f"  a private mechanism fails here with probability <= {at_most(alpha, 2)}, "
            "if calls are independent",
            f"  again: {self._again()}",
        ]
        return "\n".join(lines)

    def _again(self) -> str:
        """Return the command that runs this test alone with the same level and so the same result."""
        levels = self._levels
        words = ["python", "-m", "pytest", self._node, "-o", f"{AUDITS}={levels.audits}"]
        words += ["-o", f"dpaudit_alpha={levels.alpha:g}", "--dpaudit-seed", str(self._base)]
        return shlex.join(words)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _in_one_line(result: CheckResult) -> str:
    """Return the result, the claim, the runs, and the weakest violation that would have been detected."""
    claim, evidence = result.claim, result.evidence
    if result.not_audited:
        power = result.not_audited
    elif result.verdict is VerdictKind.REFUTED:
        power = f"{evidence.quantity} > {at_least(evidence.lower or 0)}"
    else:
        power = result.power or "; ".join(result.judgement.reasons)
    return f"{result.headline}: {claim.in_words()}, {result.samples:,} runs, {power}"
