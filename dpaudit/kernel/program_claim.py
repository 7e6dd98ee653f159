"""Which checker a proof of a program takes, and the bound that it proves of a claim.

Proofs at one size are checked by ``program_t0``, of finite data and draws by ``finite_t0``, those for every
size by ``step_t0``: all of a pure epsilon. Proofs of Gaussian releases, by ``gaussian_t0``, are of a rho or a
mu, from which the kernel derives a delta; of releases that data choose, by ``branches_t0``, of an epsilon or
a rho. ``claim_t0`` ties them to claims. Records of programs on private values, by ``values.check``, are of
all of these, and ``values.claim`` ties them to claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from dpaudit.kernel import branches_t0, finite_t0, gaussian_t0, program_t0, step_t0
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.claim_t0 import (
    ASSUMED,
    ASSUMED_AT_EVERY_SIZE,
    BRANCHING,
    GAUSSIAN,
    PURE,
    guarantee_of,
    reaches,
    require_match,
)
from dpaudit.kernel.kernel_t0 import CertificateError, shown
from dpaudit.kernel.values import check as values
from dpaudit.kernel.values import claim as ties

__all__ = ["CHECKERS", "ExaminedProgram", "examine_program"]


class Checker(NamedTuple):
    """How one kind of proof is checked, what it assumes, and which types of claims it can be about."""

    check: Any
    assumed: tuple[str, ...]
    types: tuple[str, ...] = PURE
    match: Any = require_match
    tier: str = "T0"


CHECKERS = {
    "program, own regions": Checker(program_t0.check, ASSUMED),
    "program, exact distributions": Checker(finite_t0.check, ASSUMED),
    "program, generic step": Checker(step_t0.check, ASSUMED_AT_EVERY_SIZE),
    "program, data branches": Checker(branches_t0.check, ASSUMED, BRANCHING),
    "program, Gaussian releases": Checker(gaussian_t0.check, ASSUMED, GAUSSIAN),
    values.PROOF: Checker(values.check, ties.ASSUMED, ties.TYPES, ties.require_match, "values"),
}

#: What a checker raises.
_ERRORS = (
    program_t0.ProgramProofError,
    finite_t0.FiniteProofError,
    gaussian_t0.GaussianProofError,
    step_t0.StepProofError,
    values.ValuesProofError,
)


@dataclass(frozen=True)
class ExaminedProgram:
    """The derived ``bound``, after how many ``paths``, by which ``tier`` of the kernel."""

    bound: Fraction
    paths: int
    tier: str = "T0"


def examine_program(proof: Any, claim: Any) -> ExaminedProgram:
    """Derive the bound of a program proof for ``claim``; either is JSON, or has ``to_json``.

    Raises ``CertificateError``, with the reason, for a tree that does not prove the stated bound, for another
    claim (neighbours, unit, view, number), other words of scope, and assumptions that are not listed.
    """
    data, about = (dict(item if isinstance(item, dict) else item.to_json()) for item in (proof, claim))
    body: Any = data.get("body")
    _need(isinstance(body, dict), "a proof of a program must have its certificate", type(body).__name__)
    kind = body.get("proof")
    _need(
        isinstance(kind, str) and kind in CHECKERS, f"a proof of a program is one of {sorted(CHECKERS)}", kind
    )
    checker = CHECKERS[kind]
    try:
        checked = checker.check(body)
    except _ERRORS as error:
        raise CertificateError(f"the proof of the program does not hold: {error}") from error
    stated = checker.match(data, about, checked, assumed=checker.assumed, types=checker.types)
    rational, bound = reaches(checked, about, stated), derived_bound(guarantee_of(checked), about)
    _need(rational or stated >= bound, f"the proof claims too much: it derives {shown(bound)}", stated)
    return ExaminedProgram(bound, checked.paths, checker.tier if rational else "T2")


def _need(holds: bool, constraint: str, got: Any) -> None:
    if not holds:
        raise CertificateError(f"{constraint}, got {str(got)[:200]}; prove the claim itself.")
