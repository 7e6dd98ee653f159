"""Audit one function: prove its claim if that is possible, then attack it, and say both bounds."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import GeneratorType
from typing import Any, NoReturn

from dpaudit.blackbox.check import check
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.blackbox.result import CheckResult
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import BrokenHarnessError, InvalidParameterError, MechanismError, RefutedError
from dpaudit.core.exact import in_figures
from dpaudit.core.verdicts import VerdictKind
from dpaudit.prover.values.aim import aimed
from dpaudit.prover.values.cross_check import RecordingCoins
from dpaudit.prover.values.explain import explained
from dpaudit.prover.values.prove import PrivacyClaim, ValuesProof, prove_values

__all__ = ["AuditResult", "audit"]

#: Runs of the attack on a claim that is proved: it only looks for a contradiction, which would be a bug of
#: ours.
CROSS_CHECK_RUNS = 2_000
#: The probability of a false contradiction.
CROSS_CHECK_ALPHA = 1e-9
#: How many pairs of neighbouring inputs the attack tries, and how many of them are aimed.
PAIRS, AIMED = 12, 6


@dataclass(frozen=True, repr=False)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    claim : PrivacyClaim
        The claim.
    verdict : VerdictKind
        ``verified``: proved for all data of the declaration. ``refuted``: runs of the function contradict the
        claim at the stated confidence. ``inconclusive``: neither.
    upper : Fraction or None
        The proved upper bound on the claimed quantity.
    lower : float or None
        The lower bound that the attack found.
    proof : ValuesProof
        The attempt at a proof.
    attack : CheckResult or None
        The attack by sampling; None if it was switched off, or no sample could refute the claim.
    not_attacked : str
        Why no run of the attack could have refuted the claim; empty otherwise.
    aim : str
        At which release the attack aimed, the most expensive one of the attempt at a proof; empty if none.
    """

    claim: PrivacyClaim
    verdict: VerdictKind
    upper: Fraction | None
    lower: float | None
    proof: ValuesProof
    attack: CheckResult | None = field(default=None)
    not_attacked: str = ""
    aim: str = ""

    def __str__(self) -> str:
        lines = [f"{self.verdict.value.upper()}: {self.proof.scope}"]
        quantity = self.claim.quantity
        if self.upper is not None:
            lines.append(
                f"{quantity} <= {in_figures(self.upper)}, proved ({_count(self.proof.paths, 'path')})"
            )
        if self.lower is not None and self.attack is not None:
            lines.append(f"{quantity} > {self.lower:.4g}, by {_count(self.attack.samples, 'run')}")
        if self.proof.reason:
            lines.append(f"proof: {self.proof.reason[:600]}")
        if self.attack is not None and self.verdict is VerdictKind.REFUTED:
            lines.append(f"strongest event: {self.attack.event}")
        if self.aim:
            lines.append(f"the attack aimed at the value released at {self.aim}")
        if self.not_attacked:
            lines.append(f"not attacked: {self.not_attacked}")
        return "\n  ".join(lines)

    __repr__ = __str__

    def explain(self) -> str:
        """The record of the proof: each step with its line, shape, range and change, then the releases."""
        return explained(self.proof)

    def raise_if_refuted(self) -> AuditResult:
        """This result, unless the claim was refuted.

        Raises
        ------
        RefutedError
            The claim was refuted; the text is the evidence.
        """
        if self.verdict is VerdictKind.REFUTED:
            raise RefutedError(str(self))
        return self

    def raise_unless_verified(self) -> AuditResult:
        """This result, if the claim was proved.

        Raises
        ------
        RefutedError
            The claim was not proved; the text says why.
        """
        if self.verdict is not VerdictKind.VERIFIED:
            raise RefutedError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {
            "verdict": self.verdict.value,
            "claim": self.claim.to_json(),
            "scope": self.proof.scope,
            "upper": None if self.upper is None else str(self.upper),
            "lower": self.lower,
            "reason": self.proof.reason,
            "assumptions": list(self.proof.assumptions),
            "certificate": self.proof.certificate,
            "attack": None if self.attack is None else self.attack.to_dict(),
            "not_attacked": self.not_attacked,
            "aim": self.aim,
        }

    def __bool__(self) -> NoReturn:
        raise InvalidParameterError('an AuditResult has no truth value. Use result.verdict == "verified".')


def audit(
    function: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    data: Records | Table,
    files: Sequence[str] = (),
    attack: bool = True,
    max_samples: int = 50_000,
    alpha: float = 0.05,
    seed: int = 0,
    seconds: float = 60.0,
) -> AuditResult:
    """Audit an unmodified function: prove the claim for all data, or look for a violation.

    Parameters
    ----------
    function : callable
        ``function(data, rng)`` with a ``numpy.random.Generator``, ``function(coins, data)``, or
        ``function(data)`` with a generator of its own.
    claim : PureDP, ApproxDP, ZeroConcentratedDP or GaussianDP
        The claim, in the public view.
    data : Records or Table
        The declaration of the data.
    files : sequence of str
        Further files whose functions the proof follows.
    attack : bool
        Whether to run the function on neighbouring inputs too (True).
    max_samples : int
        The largest number of runs of the attack (50,000).
    alpha : float
        The largest probability of refuting a correct function (0.05).
    seed : int
        The seed of the attack (0).
    seconds : float
        The limit of time for the proof, and for the attack (60).

    Returns
    -------
    AuditResult
        The verdict, both bounds, the proof and the attack.

    Raises
    ------
    InvalidParameterError
        The claim, the data or an option is not supported.
    BrokenHarnessError
        A proof and an attack contradict each other: a bug of dpaudit.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit import Interval, PureDP, Records
    >>> def noisy_sum(data, rng):
    ...     return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)
    >>> audit(noisy_sum, PureDP(epsilon=1), data=Records(Interval(0, 1), size=10))  # doctest: +SKIP
    VERIFIED: ...
    """
    proof = prove_values(function, claim, data=data, files=files, seconds=seconds)
    proved = proof.verdict == "verified"
    found, why, aim = None, _why_unrefutable(claim) if attack else "", ""
    if attack and not why:
        runs, level = (CROSS_CHECK_RUNS, CROSS_CHECK_ALPHA) if proved else (max_samples, alpha)
        pairs, aim = _pairs(function, claim, data, files, aiming=not proved)
        try:
            found = _attacked(
                function, claim, pairs, max_samples=runs, alpha=level, seed=seed, seconds=seconds
            )
            why = found.not_audited
        except (InvalidParameterError, MechanismError) as error:
            if not proved:
                raise
            why = str(error)
    lower = None if found is None else found.evidence.lower
    refuted = found is not None and found.verdict is VerdictKind.REFUTED
    if proved and refuted:
        raise BrokenHarnessError(
            f"contradiction: the claim is proved ({proof.bound}), and {0 if found is None else found.samples}"
            f" runs refute it ({'' if found is None else found.event}). Do not trust this proof. Please"
            " report it as a bug of dpaudit."
        )
    verdict = VerdictKind.VERIFIED if proved else VerdictKind.REFUTED if refuted else VerdictKind.INCONCLUSIVE
    lowest = None if lower is None else float(lower)
    return AuditResult(claim, verdict, proof.bound, lowest, proof, found, why, aim)


def _why_unrefutable(claim: PrivacyClaim) -> str:
    """Why no sample could refute a claim, which is no reason to lose its proof; empty if one could."""
    try:
        family_of(claim)
    except InvalidParameterError as error:
        return str(error)
    return ""


def _pairs(
    function: Callable[..., Any],
    claim: PrivacyClaim,
    data: Records | Table,
    files: Sequence[str],
    *,
    aiming: bool,
) -> tuple[list[tuple[Any, Any]], str]:
    """The pairs of an attack, and at which line it aims: without a proof those first that move most what the
    most expensive path releases, then corners."""
    corners = [(pair.left, pair.right) for pair in data.pairs(claim.adjacency).corners()]
    if not aiming:
        return corners[:PAIRS], ""
    aim = aimed(function, claim, data=data, pairs=corners, most=AIMED, files=files)
    named = {repr(pair): pair for pair in [*aim.pairs, *corners]}
    return list(named.values())[:PAIRS], aim.line


def _attacked(
    function: Callable[..., Any],
    claim: PrivacyClaim,
    pairs: Sequence[tuple[Any, Any]],
    *,
    max_samples: int,
    alpha: float,
    seed: int,
    seconds: float,
) -> CheckResult:
    return check(
        _mechanism(function),
        claim,
        neighbours=pairs,
        max_samples=max_samples,
        alpha=alpha,
        seed=seed,
        seconds=seconds,
        record_draws=False,
    )


def _mechanism(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The function as ``(data, rng) -> all that everybody sees``."""
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    names = [p.name for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def mechanism(data: Any, rng: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if names[:1] in (["coins"], ["c"]):
                coins = RecordingCoins(rng)
                found = function(coins, data)
                found = list(found) if isinstance(found, GeneratorType) else found
                return (*coins.shown, found)
            found = function(data) if len(names) == 1 else function(data, rng)
            found = list(found) if isinstance(found, GeneratorType) else found
        return (found, printed.getvalue()) if printed.getvalue() else found

    return mechanism


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
