"""Programs whose only randomness is Gaussian noise on released values: zCDP, GDP and (epsilon, delta).

Nothing is hidden here, so nothing has to be aligned: a path costs the sum of change^2 / (2 variance) over its
releases, the most expensive path is rho, and mu^2 is 2 rho (``dpaudit/kernel/gaussian_t0.py`` has the
argument and derives the number). Outcomes may decide, and may stand in later values:
there they are symbols ``p0``, ``p1``, ..., equal on both sides. Where data decide, pairs of paths are taken
(``branches``), and outcomes may not stand in values. A value shown without noise is refused, as is a
comparison of private values with outcomes."""

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
    """One run of a program that decides by outcomes alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publics: dict[str, Form] = {}

    def public_form(self, key: str, what: str) -> Form:
        """``p0``, ``p1``, ...: a symbol for each public expression, the same on both sides (H4)."""
        if key not in self.publics:
            self.publics[key] = symbol(f"p{len(self.publics)}")
        return self.publics[key]

    def below(self, form: Form, *, strict: bool) -> bool:
        if form.part("p"):
            self.refuse("a private value was compared with an outcome")
        return super().below(form, strict=strict)

    def _shows(self, value: Any) -> list[Event]:
        if type(value) is Private:  # where data cancel, types and signs of zero may still depend on them
            self.refuse("a private value was shown without noise")
        return super()._shows(value)


def explore_releases(program: Program, data: Symbols) -> Explored:
    """All paths of a program of Gaussian releases. Raises ``RefusedError`` for any other."""
    return explore_program(program, data, coins=GaussianCoins, walk_class=GaussianWalk)


def prove_gaussian(
    program: Program, claim: GaussianClaim, data: Symbols, adjacency: Adjacent, scope: str
) -> Proof:
    """Verified where the bound that the checker derives reaches the claim, else inconclusive, with the reason
    in one sentence."""
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
    if isinstance(claim, ApproxDP):  # the file that stands alone proves the rho that delta follows from
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
    """What the checker of the kind derives, and the certificate; or why there is none."""
    if not any(path.comparisons for path in explored.paths):
        certificate = {**fields, "proof": "program, Gaussian releases"}
        return gaussian_t0.check(certificate), certificate
    if any(form.part("p") for path in explored.paths for form, _, _ in path.releases()):
        return "data decide what is released, and outcomes stand in it: only one of them is followed."
    return by_branches(fields)


def _bound(checked: Any, claim: GaussianClaim) -> Fraction:
    """The bound on the claim's quantity; a root is rounded up, but not above a claim that holds exactly."""
    if isinstance(claim, ZeroConcentratedDP):
        return Fraction(checked.rho)
    bound = derived_bound(Guarantee(rho=checked.rho, gdp_squared=checked.mu_squared), claim.to_json())
    return min(bound, claim.bound) if isinstance(claim, GaussianDP) and checked.holds else bound
