"""Audit the mechanisms of a library one after the other, with pairs that follow from their data.

A finding is a violation if the claim is refuted for the data that it declares. Everything else is a what-if,
and no refutation of the claim: another adjacency than the claimed one, and values outside the declared data.
"""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted
from dpaudit.blackbox.check import CheckResult, check
from dpaudit.blackbox.neighbours import PairsOfInputs
from dpaudit.core.claims import Adjacency, PrivacyClaim, Stability
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.unusual import OUTSIDE as KINDS

__all__ = ["Finding", "LibraryAudit", "audit_library"]

#: The severities, the worst first.
VIOLATION, OTHER_ADJACENCY, OUTSIDE = "violation", "other adjacency", "outside the declared data"
SEVERITIES = (VIOLATION, OTHER_ADJACENCY, OUTSIDE)
#: The largest share of the remaining time that one mechanism may take, in units of its equal share.
SHARE = 2.0
#: Runs of a check of a what-if.
WHAT_IF_RUNS = 8_000
#: Checks of one mechanism at most: the claim, one other adjacency, and each kind of values outside.
CHECKS = 2 + len(KINDS)


@dataclass(frozen=True)
class Finding:
    """One refuted statement about one mechanism.

    Attributes
    ----------
    name : str
        The mechanism.
    severity : str
        "violation", "other adjacency" or "outside the declared data". Only the first refutes the claim.
    statement : str
        The claim that was tested, in words.
    pair, event : str
        The two inputs, and the event that is too likely on one of them.
    source : str
        The line where the noise is drawn, or where the mechanism is defined. Empty if it is not known.
    repair : str
        What would repair it, as far as the evidence says.
    result : CheckResult
        The evidence.
    """

    name: str
    severity: str
    statement: str
    pair: str
    event: str
    source: str
    repair: str
    result: CheckResult = field(repr=False)

    def __str__(self) -> str:
        lines = [f"{self.severity.upper()}: {self.name}", f"claim: {self.statement}", f"pair: {self.pair}"]
        lines += [f"event: {self.event}"] if self.event else []
        lines += [f"source: {self.source}"] if self.source else []
        return "\n  ".join([*lines, f"repair: {self.repair}"])


@dataclass(frozen=True)
class LibraryAudit:
    """The result of ``audit_library``.

    Attributes
    ----------
    findings : tuple of Finding
        What was refuted, violations first.
    covered : tuple of (str, str)
        Each mechanism that was checked, and what was tried.
    not_covered : tuple of (str, str)
        Each mechanism or part that was not checked, and why.
    """

    findings: tuple[Finding, ...]
    covered: tuple[tuple[str, str], ...]
    not_covered: tuple[tuple[str, str], ...]

    @property
    def violations(self) -> tuple[Finding, ...]:
        """Return the findings that refute a claim for its declared data."""
        return tuple(item for item in self.findings if item.severity == VIOLATION)

    @property
    def exit_code(self) -> int:
        """Return 1 for a violation, 3 if a mechanism was not checked at all, and 0 otherwise."""
        unchecked = {name for name, _ in self.not_covered} - {name for name, _ in self.covered}
        return 1 if self.violations else 3 if unchecked else 0

    def __str__(self) -> str:
        lines = [str(item) for item in self.findings] or ["nothing was refuted"]
        lines += [f"covered: {name}: {what}" for name, what in self.covered]
        return "\n".join([*lines, *(f"not covered: {name}: {why}" for name, why in self.not_covered)])


def audit_library(
    objects: Mapping[str, Any],
    *,
    alpha: float = 0.05,
    seed: int = 0,
    max_samples: int = 40_000,
    seconds: float = 300.0,
    what_if: bool = True,
) -> LibraryAudit:
    """Audit mechanisms, each with pairs that are made from the declaration of its data.

    For each mechanism, its claim is tested on ordinary and unusual data of the declaration. If that finds
    nothing, the other adjacency and values outside the declared data (NaN, null, infinities, out of bounds,
    no record) are tried as what-ifs.

    Parameters
    ----------
    objects : dict of str to (function, claim, data), or to Adapted
        The mechanisms by name. ``data`` is ``Records``, a ``Table`` or pairs of inputs. ``claim`` is a
        privacy claim or ``Stability``. ``dpaudit.adapters`` makes ``Adapted`` from objects of libraries.
    alpha : float
        The largest probability that any right mechanism is refuted (0.05), shared by all checks.
    seed : int
        The seed (0).
    max_samples : int
        The largest number of runs for one claim (40,000).
    seconds : float
        The time limit of the whole audit (300).
    what_if : bool
        Whether to try other adjacencies and values outside the declared data (True).

    Returns
    -------
    LibraryAudit
        The findings, and what was covered and what was not. An error of one mechanism is reported there.

    Raises
    ------
    InvalidParameterError
        ``objects`` is not a dict of mechanisms, or ``seconds`` is not positive.

    Examples
    --------
    >>> from dpaudit import Interval, PureDP, Records
    >>> noisy = lambda data, rng: sum(data) + rng.laplace(scale=0.5)
    >>> subject = (noisy, PureDP(epsilon=1), Records(Interval(0, 1), size=3))
    >>> [item.severity for item in audit_library({"noisy sum": subject}).findings]
    ['violation']
    """
    if not isinstance(objects, Mapping) or not objects:
        raise InvalidParameterError(
            f"objects must be a dict of (function, claim, data) by name, got {type(objects).__name__}.",
            code="E-LIBRARY-OBJECTS",
        )
    if not seconds > 0:
        raise InvalidParameterError(f"seconds must be positive, got {seconds!r}.", code="E-SECONDS-RANGE")
    findings: list[Finding] = []
    covered: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    end = time.monotonic() + seconds
    for place, (name, item) in enumerate(objects.items()):
        left = end - time.monotonic()
        if left <= 0:
            missing.append((name, "the time limit of the audit was reached"))
            continue
        own = min(left, SHARE * left / (len(objects) - place))
        options = {"alpha": alpha / (CHECKS * len(objects)), "seed": seed}
        audit = _Subject(name, item, options, time.monotonic() + own, max_samples, what_if)
        try:
            findings += audit.findings()
        except KeyboardInterrupt:
            missing += [(other, "interrupted") for other in [*objects][place:]]
            break
        except BaseException as error:  # a mechanism of another library may raise anything
            missing.append((name, f"{type(error).__name__}: {error}"))
        covered += [(name, ", ".join(audit.tried))] if audit.tried else []
        missing += [(name, why) for why in audit.skipped]
    findings.sort(key=lambda item: SEVERITIES.index(item.severity))
    return LibraryAudit(tuple(findings), tuple(covered), tuple(missing))


class _Subject:
    """One mechanism, and what was tried on it."""

    def __init__(
        self,
        name: str,
        item: Any,
        options: dict[str, Any],
        end: float,
        max_samples: int,
        what_if: bool,
    ) -> None:
        self.name, self._item, self._options, self._end = name, item, options, end
        self._max_samples, self._what_if = max_samples, what_if
        self._what_if_runs = min(max_samples, WHAT_IF_RUNS)
        self.tried: list[str] = []
        self.skipped: list[str] = []

    def findings(self) -> Iterator[Finding]:
        """Yield what is refuted. What-ifs are tried only if the claim itself is not refuted."""
        function, claim, data = _read(self.name, self._item)
        declared = data if isinstance(data, Records | Table) else None
        pairs: dict[str, Any] = {"data": data, "unusual": True} if declared else {"neighbours": data}
        if isinstance(claim, Stability):
            pairs.pop("unusual", None)
        refuted = self._check(VIOLATION, "the claim", function, claim, self._max_samples, **pairs)
        yield from refuted
        if refuted or not self.tried:  # a claim that could not be checked is not covered by what-ifs
            return
        if not self._what_if or declared is None or isinstance(claim, Stability):
            return
        yield from self._other_adjacency(function, claim, declared)
        yield from self._outside(function, claim, declared)

    def _other_adjacency(
        self, function: Callable[..., Any], claim: PrivacyClaim, data: Records | Table
    ) -> list[Finding]:
        by = Adjacency.ADD_REMOVE if claim.adjacency is Adjacency.REPLACE_ONE else Adjacency.REPLACE_ONE
        if data.container == "record" or (by is Adjacency.ADD_REMOVE and data.size != "every"):
            self.skipped.append(f"{by.value}: the number of records is declared as fixed")
            return []
        other = replace(claim, adjacency=by)
        return self._check(
            OTHER_ADJACENCY, by.value, function, other, self._what_if_runs, data=data, unusual=True
        )

    def _outside(
        self, function: Callable[..., Any], claim: PrivacyClaim, data: Records | Table
    ) -> Iterator[Finding]:
        for kind, pairs in data.outside(claim.adjacency).items():
            accepted = [pair for pair in pairs if not _raises(function, pair.left)]
            if not accepted:
                self.tried.append(f"{kind} (raises)")
                continue
            yield from self._check(OUTSIDE, kind, function, claim, self._what_if_runs, neighbours=accepted)

    def _check(
        self,
        severity: str,
        what: str,
        function: Callable[..., Any],
        claim: PrivacyClaim | Stability,
        runs: int,
        **pairs: Any,
    ) -> list[Finding]:
        left = self._end - time.monotonic()
        if left <= 0:
            self.skipped.append(f"{what}: the time of this mechanism was over")
            return []
        options = {} if isinstance(claim, Stability) else {**self._options, "max_samples": runs}
        try:
            result = check(function, claim, seconds=left, **options, **pairs)
        except Exception as error:
            self.skipped.append(f"{what}: {type(error).__name__}: {error}")
            return []
        if result.not_audited:
            self.skipped.append(f"{what}: {result.not_audited}")
            return []
        self.tried.append(what)
        if result.verdict != "refuted":
            return []
        return [_finding(self.name, severity, function, result)]


def _read(
    name: str, item: Any
) -> tuple[Callable[..., Any], PrivacyClaim | Stability, Records | Table | PairsOfInputs]:
    if isinstance(item, Adapted):
        if not item.neighbours:
            raise InvalidParameterError(
                f"{name} does not describe its data. Pass (adapted.mechanism, adapted.claim, Records(...)).",
                code="E-NEIGHBOURS-MISSING",
            )
        return item.mechanism, item.claim, item.neighbours
    if isinstance(item, tuple) and len(item) == 3:
        return item
    raise InvalidParameterError(
        f"a mechanism must be (function, claim, data) or an Adapted, got {type(item).__name__} for {name}.",
        code="E-LIBRARY-OBJECTS",
    )


def _raises(function: Callable[..., Any], data: Any) -> bool:
    """Return whether a mechanism rejects an input by an exception."""
    try:
        function(copy.deepcopy(data), np.random.default_rng(0))
    except Exception:
        return True
    return False


def _finding(name: str, severity: str, function: Callable[..., Any], result: CheckResult) -> Finding:
    drawn = [line.split(": ")[0] for line in result.heard if ", line " in line]
    pair = result.evidence.scope.split(": ", 1)[-1]
    return Finding(
        name=name,
        severity=severity,
        statement=result.claim.in_words(),
        pair=pair,
        event=result.event,
        source=drawn[0] if drawn else _line_of(function),
        repair=_repair(severity, result),
        result=result,
    )


def _line_of(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}"


def _repair(severity: str, result: CheckResult) -> str:
    """Say what the evidence allows to say about a repair."""
    if severity == OUTSIDE:
        return "reject or replace such values before anything else, or state that the data hold none"
    if severity == OTHER_ADJACENCY:
        return "none if the documentation states the adjacency; otherwise state it"
    if isinstance(result.claim, Stability):
        return f"a stability factor of at least {result.evidence.lower:.6g}, or a change of the function"
    lower, claimed = result.evidence.lower or 0.0, float(result.claim.bound or 0)
    if not 0 < lower < float("inf") or not claimed:
        return "noise on everything that depends on the data: an event has probability 0 on one input"
    return (
        f"noise for a larger sensitivity: the loss is at least {lower / claimed:.3g} times the claimed "
        f"{result.claim.quantity}"
    )
