"""Prove zCDP, GDP and (epsilon, delta) of programs whose only randomness is Gaussian noise on releases.

There are no hidden draws, so that no alignment is needed. The cost of a path is the sum of
change^2 / (2 variance) over its releases. rho is the cost of the most expensive path, and mu^2 is 2 rho
(``dpaudit/kernel/gaussian_t0.py`` has the argument and derives the number). The program may branch on
outcomes and use them in later values, where they are symbols ``p0``, ``p1``, ..., equal on both neighbouring
inputs. If the program branches on data, pairs of paths are examined (``branches``), and values must not
contain outcomes. A value shown without noise is refused, and also a comparison of private values with
outcomes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.coins.base import Program
from dpaudit.coins.prover import GaussianCoins
from dpaudit.core.claims import ApproxDP, GaussianDP, ZeroConcentratedDP
from dpaudit.core.exact import in_digits
from dpaudit.kernel import gaussian_t0
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.kernel_t0 import Guarantee
from dpaudit.prover.branches import by_branches
from dpaudit.prover.certificate import written_tree
from dpaudit.prover.data import Adjacent, Symbols
from dpaudit.prover.explore import Event, Explored, Walk
from dpaudit.prover.forms import Form, symbol
from dpaudit.prover.proof import Proof, too_large
from dpaudit.prover.reading import require_readable
from dpaudit.prover.symbols import Private, RefusedError
from dpaudit.prover.whole_program import explore_program

__all__ = ["GAUSSIAN_CLAIMS", "GaussianClaim", "GaussianWalk", "explore_releases", "prove_gaussian"]

GaussianClaim = ZeroConcentratedDP | GaussianDP | ApproxDP

#: The claims that Gaussian releases can prove.
GAUSSIAN_CLAIMS = (ZeroConcentratedDP, GaussianDP, ApproxDP)


class GaussianWalk(Walk):
    """A walk through a program of Gaussian releases, in which public values have symbols."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publics: dict[str, Form] = {}

    def public_form(self, key: str, what: str) -> Form:
        """Return ``p0``, ``p1``, ...: a symbol for each public expression, equal on both inputs (H4)."""
        if key not in self.publics:
            self.publics[key] = symbol(f"p{len(self.publics)}")
        return self.publics[key]

    def below(self, form: Form, *, strict: bool) -> bool:
        if form.part("p"):
            self.refuse("a private value was compared with an outcome")
        return super().below(form, strict=strict)

    def _shows(self, value: Any) -> list[Event]:
        if type(value) is Private:  # types and signs of zero may depend on data even if the data cancel
            self.refuse("a private value was shown without noise")
        return super()._shows(value)


def explore_releases(program: Program, data: Symbols) -> Explored:
    """Return all paths of a program of Gaussian releases. Raise ``RefusedError`` for any other program."""
    return explore_program(program, data, coins=GaussianCoins, walk_class=GaussianWalk)


def prove_gaussian(
    program: Program, claim: GaussianClaim, data: Symbols, adjacency: Adjacent, scope: str
) -> Proof:
    """Return verified if the bound that the checker derives is within the claim, else inconclusive.

    An inconclusive proof has a reason of one sentence.
    """
    try:
        require_readable(program)
        explored = explore_releases(program, data)
    except RefusedError as refusal:
        return Proof(verdict="inconclusive", bound=None, scope=scope, reason=str(refusal))
    fields: dict[str, Any] = {
        "claim": {"mu" if isinstance(claim, GaussianDP) else "rho": str(claim.bound)},
        "data": data.to_json(),
        "adjacency": adjacency.to_json(data),
    }
    try:
        fields["tree"] = written_tree(explored)
        found = _checked(explored, fields)
    except (gaussian_t0.GaussianProofError, ValueError) as error:
        return too_large(error, scope)
    if isinstance(found, str):
        return Proof(verdict="inconclusive", bound=None, scope=scope, reason=found)
    checked, certificate = found
    if isinstance(claim, ApproxDP):  # the standalone certificate proves the rho that implies delta
        certificate["claim"] = {"rho": str(checked.rho)}
    bound = _bound(checked, claim)
    verified = bound <= claim.bound
    above = f"the proved bound {in_digits(bound, toward='up')} on {claim.quantity} is above the claim."
    return Proof(
        verdict="verified" if verified else "inconclusive",
        bound=bound,
        scope=scope,
        reason="" if verified else above,
        paths=checked.paths,
        certificate=certificate,
    )


def _checked(explored: Explored, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]] | str:
    """Return the checked bound with its certificate, or the reason why there is none."""
    if not any(path.comparisons for path in explored.paths):
        certificate = {**fields, "proof": "program, Gaussian releases"}
        return gaussian_t0.check(certificate), certificate
    if any(form.part("p") for path in explored.paths for form, _, _ in path.releases()):
        return (
            "the program branches on data and uses outcomes in released values. Only one of these is allowed."
        )
    return by_branches(fields)


def _bound(checked: Any, claim: GaussianClaim) -> Fraction:
    """Return the bound on the claim's quantity. Round a root up, but not above a claim that holds exactly."""
    if isinstance(claim, ZeroConcentratedDP):
        return Fraction(checked.rho)
    bound = derived_bound(Guarantee(rho=checked.rho, gdp_squared=checked.mu_squared), claim.to_json())
    return min(bound, claim.bound) if isinstance(claim, GaussianDP) and checked.holds else bound
