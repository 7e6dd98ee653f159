"""Choose the checker of a proof of a program, and derive the bound that it proves of a claim.

``program_t0`` checks proofs at one size, ``finite_t0`` proofs for finite data and draws, and ``step_t0``
proofs for every size, all with a pure epsilon. ``gaussian_t0`` checks proofs of Gaussian releases with a rho
or a mu, from which the kernel derives a delta. ``branches_t0`` checks proofs of releases that depend on
branches on data, with an epsilon or a rho. ``claim_t0`` matches them to claims. ``values.check`` checks
records of programs on private values, with any of these quantities, and ``values.claim`` matches them to
claims.
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
    reaches,
    require_match,
)
from dpaudit.kernel.kernel_t0 import CertificateError, shown
from dpaudit.kernel.t2.hidden_gaussian import guarantee_of_program
from dpaudit.kernel.values import check as values
from dpaudit.kernel.values import claim as ties

__all__ = ["CHECKERS", "ExaminedProgram", "examine_program"]


class Checker(NamedTuple):
    """The checker of one kind of proof, its assumptions, and the types of claims that it supports."""

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

#: The errors of all checkers.
_ERRORS = (
    program_t0.ProgramProofError,
    finite_t0.FiniteProofError,
    gaussian_t0.GaussianProofError,
    step_t0.StepProofError,
    values.ValuesProofError,
)


@dataclass(frozen=True)
class ExaminedProgram:
    """The derived ``bound``, the number of ``paths``, and the ``tier`` of the kernel that was needed."""

    bound: Fraction
    paths: int
    tier: str = "T0"


def examine_program(proof: Any, claim: Any) -> ExaminedProgram:
    """Derive the bound of a program proof for ``claim``.

    Parameters
    ----------
    proof, claim : dict, or object with ``to_json``
        The proof, and the claim that it is about.

    Raises
    ------
    CertificateError
        The tree does not prove the stated bound, the claim differs (neighbours, unit, view, number), the
        scope has another text, or assumptions are not listed.
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
    rational, bound = reaches(checked, about, stated), derived_bound(guarantee_of_program(checked), about)
    _need(rational or stated >= bound, f"the proof claims too much: it derives {shown(bound)}", stated)
    return ExaminedProgram(bound, checked.paths, checker.tier if rational else "T2")


def _need(holds: bool, constraint: str, got: Any) -> None:
    if not holds:
        raise CertificateError(f"{constraint}, got {str(got)[:200]}.")
