"""Audit one function: prove its claim if possible, attack it by sampling, and report both bounds."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from types import GeneratorType
from typing import Any, NoReturn

from dpaudit.blackbox.check import check
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.blackbox.in_modes import unrounded_share
from dpaudit.blackbox.result import CheckResult
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import BrokenHarnessError, InvalidParameterError, MechanismError, RefutedError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import in_figures
from dpaudit.core.verdicts import VerdictKind
from dpaudit.core.views import PUBLIC, View
from dpaudit.prover.values.aim import aimed
from dpaudit.prover.values.counterexample import counterexample
from dpaudit.prover.values.cross_check import RecordingCoins
from dpaudit.prover.values.explain import explained
from dpaudit.prover.values.programs import inputs_of
from dpaudit.prover.values.prove import PrivacyClaim, ValuesProof, prove_values

__all__ = ["AuditResult", "audit"]

#: The number of runs against a proved claim. They only look for a contradiction, a bug of dpaudit.
CROSS_CHECK_RUNS = 2_000
#: The probability of a false contradiction.
CROSS_CHECK_ALPHA = 1e-9
#: The largest numbers of pairs of neighbouring inputs in an attack, and of aimed pairs among them.
PAIRS, AIMED = 12, 6


@dataclass(frozen=True, repr=False)
class AuditResult:
    """The result of an audit.

    Attributes
    ----------
    claim : PrivacyClaim
        The claim.
    verdict : VerdictKind
        ``verified`` if the claim is proved for all declared data, ``refuted`` if an exact counterexample
        contradicts it, or runs of the function at the stated confidence, and ``inconclusive`` otherwise.
    upper : Fraction or None
        The proved upper bound on the claimed quantity.
    lower : float or None
        The lower bound of the counterexample or of the attack. It is infinite if the output identifies the
        dataset.
    proof : ValuesProof
        The attempt at a proof.
    attack : CheckResult or None
        The attack by sampling, or None if it was disabled or not needed, or if no sample could refute the
        claim.
    not_attacked : str
        The reason why no run of the attack could have refuted the claim, or an empty text.
    aim : str
        The line of the release at which the attack aimed, which is on the most expensive path of the
        attempted proof, or an empty text.
    witness : Witness or None
        The exact counterexample: two neighbours, the distributions of the output on both, and an outcome.
        ``recompute`` of ``dpaudit.certify.witnesses`` computes its loss again from these alone.
    """

    claim: PrivacyClaim
    verdict: VerdictKind
    upper: Fraction | None
    lower: float | None
    proof: ValuesProof
    attack: CheckResult | None = field(default=None)
    not_attacked: str = ""
    aim: str = ""
    witness: Witness | None = field(default=None, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.verdict.value.upper()}: {self.proof.scope}"]
        quantity = self.claim.quantity
        if self.upper is not None:
            lines.append(
                f"{quantity} <= {in_figures(self.upper)}, proved ({_count(self.proof.paths, 'path')})"
            )
        if self.lower is not None and self.attack is not None:
            lines.append(f"{quantity} > {self.lower:.4g}, by {_count(self.attack.samples, 'run')}")
        if self.witness is not None:
            more = "infinite" if self.witness.bound is None else f">= {float(self.witness.bound):.6g}"
            lines.append(f"{quantity} {more}, by an exact counterexample ({self.witness.description})")
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
        """Return the record of the proof: line, shape, range and change of each step, then the releases."""
        return explained(self.proof)

    def raise_if_refuted(self) -> AuditResult:
        """Return this result unless the claim was refuted.

        Raises
        ------
        RefutedError
            The claim was refuted. The message holds the evidence.
        """
        if self.verdict is VerdictKind.REFUTED:
            raise RefutedError(str(self), code="E-REFUTED")
        return self

    def raise_unless_verified(self) -> AuditResult:
        """Return this result if the claim was proved.

        Raises
        ------
        RefutedError
            The claim was not proved. The message holds the reason.
        """
        if self.verdict is not VerdictKind.VERIFIED:
            raise RefutedError(str(self), code="E-NOT-VERIFIED")
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {
            "verdict": self.verdict.value,
            "claim": self.claim.to_json(),
            "scope": self.proof.scope,
            "upper": None if self.upper is None else str(self.upper),
            "lower": None if self.lower == math.inf else self.lower,
            "reason": self.proof.reason,
            "assumptions": list(self.proof.assumptions),
            "certificate": self.proof.certificate,
            "attack": None if self.attack is None else self.attack.to_dict(),
            "not_attacked": self.not_attacked,
            "aim": self.aim,
            "witness": None if self.witness is None else self.witness.to_json(),
        }

    def __bool__(self) -> NoReturn:
        raise InvalidParameterError(
            'an AuditResult has no truth value. Use result.verdict == "verified".', code="E-RESULT-NO-TRUTH"
        )


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
    """Audit an unmodified function: try to prove the claim for all data, and look for a violation.

    Parameters
    ----------
    function : callable
        ``function(data, rng)`` with a ``numpy.random.Generator``, ``function(coins, data)``, or
        ``function(data)`` with a generator of its own.
    claim : PureDP, ApproxDP, ZeroConcentratedDP, GaussianDP or RenyiDP
        The claim. Only a claim in the public view is attacked too.
    data : Records or Table
        The declaration of the data.
    files : sequence of str
        Further files whose functions the proof follows.
    attack : bool
        Whether to run the function on neighbouring inputs too (True).
    max_samples : int
        The largest number of runs of the attack (50,000). A proved claim gets 2,000 runs.
    alpha : float
        The largest probability of refuting a correct function (0.05). For a proved claim it is 1e-9.
    seed : int
        The seed of the attack (0).
    seconds : float
        The time limit for the proof, and again for the attack (60).

    Returns
    -------
    AuditResult
        The verdict, both bounds, the proof and the attack.

    Raises
    ------
    InvalidParameterError
        The claim, the data or an option is not supported.
    MechanismError
        The claim is not proved, and the function cannot be run.
    BrokenHarnessError
        A proof and an attack contradict each other, which is a bug of dpaudit.

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
    pairs, aim = _pairs(function, claim, data, files, aiming=not proved) if attack else ([], "")
    if attack and not proved and not why:
        witness = counterexample(
            function,
            claim,
            data=data,
            pairs=pairs,
            unrounded=partial(unrounded_share, _mechanism(function), seed=0),
            files=files,
            most=proof.bound,
        )
        if witness is not None:
            least = math.inf if witness.bound is None else float(witness.bound)
            if witness.bound is not None and Fraction(least) > witness.bound:
                least = math.nextafter(least, 0)
            return AuditResult(
                claim, VerdictKind.REFUTED, proof.bound, least, proof, aim=aim, witness=witness
            )
    if attack and not why:
        runs, level = (CROSS_CHECK_RUNS, CROSS_CHECK_ALPHA) if proved else (max_samples, alpha)
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
            " report it as a bug of dpaudit.",
            code="E-CONTRADICTION",
        )
    verdict = VerdictKind.VERIFIED if proved else VerdictKind.REFUTED if refuted else VerdictKind.INCONCLUSIVE
    lowest = None if lower is None else float(lower)
    return AuditResult(claim, verdict, proof.bound, lowest, proof, found, why, aim)


def _why_unrefutable(claim: PrivacyClaim) -> str:
    """Return the reason why no sample can refute a claim, or an empty text. The claim can still be proved."""
    if claim.view != View.of(PUBLIC):
        return f"an attack compares the whole output, which is more than {claim.view} sees"
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
    """Return the pairs of an attack, and the line at which it aims.

    Without a proof, the pairs that most change the releases of the most expensive path come first, then
    corners.
    """
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
    """Return the function as ``(data, rng) -> output``, with all that it prints or shows to the public."""
    inputs = inputs_of(function)

    def mechanism(data: Any, rng: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            coins = RecordingCoins(rng) if "coins" in inputs else None
            sources = {"data": data, "rng": rng, "coins": coins}
            found = function(*(sources[kind] for kind in inputs))
            found = list(found) if isinstance(found, GeneratorType) else found
        if coins is not None:
            return (*(shown for shown in coins.shown if PUBLIC.name in shown[0]), found)
        return (found, printed.getvalue()) if printed.getvalue() else found

    return mechanism


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
