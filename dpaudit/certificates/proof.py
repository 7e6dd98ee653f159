"""Proofs as values: a rule application, and the certificate that it makes of a claim.

A ``Proof`` is a statement about a mechanism, not yet about a claim. ``certify`` holds it against a claim,
with the best bound that the kernel derives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.claims import Adjacency, Claim, Unit
from dpaudit.errors import CertificateError
from dpaudit.evidence import Certificate
from dpaudit.kernel import check as kernel
from dpaudit.kernel.terms import Guarantee, Setting
from dpaudit.views import View, user

__all__ = ["Proof", "accepted", "certify"]

#: Settings in which a proof is tried before its claim is known; it must hold in one of them.
_SETTINGS = tuple(
    Setting(Adjacency.REPLACE_ONE, unit, view)
    for unit in (Unit.EVENT, Unit.USER)
    for view in (None, View.everybody_but(user(0)))
)

#: Above every quantity: what a certificate states while the kernel derives its bound.
_NO_BOUND = Fraction(10**1000)


@dataclass(frozen=True)
class Proof:
    """A rule with its parameters and premises: a statement about a mechanism, not yet about a claim."""

    rule: str
    parameters: Mapping[str, Any]
    premises: tuple[Proof, ...] = ()

    def to_json(self) -> dict[str, Any]:
        premises = [premise.to_json() for premise in self.premises]
        return {"rule": self.rule, "parameters": dict(self.parameters), "premises": premises}

    def derive(self, setting: Setting) -> Guarantee:
        """What the kernel derives from this proof. Raises ``CertificateError`` if it refuses it."""
        return kernel.derive(self.to_json(), setting)

    def certify(self, claim: Claim) -> Certificate:
        """The certificate of this proof for ``claim``; see ``certify``."""
        return certify(claim, self)


def certify(claim: Claim, proof: Proof) -> Certificate:
    """Make a certificate of ``claim`` from ``proof``, with the best bound that the kernel derives.

    The bound may be above the claimed one: a certificate says what is so, the verdict says whether it
    suffices. Raises ``CertificateError`` if the proof says nothing about the claim's quantity, or does not
    hold in its setting.
    """
    unbounded = Certificate(
        quantity=claim.quantity,
        bound=_NO_BOUND,
        tree={"rule": kernel.ROOT, "parameters": kernel.context_of(claim), "premises": [proof.to_json()]},
        assumptions=proof.derive(Setting.of(claim)).assumptions,
    )
    return replace(unbounded, bound=kernel.check(unbounded, claim))


def accepted(rule: str, parameters: Mapping[str, Any], premises: Sequence[Proof] = ()) -> Proof:
    """The proof, after the kernel accepted it in one of the usual settings; its claim decides again."""
    proof = Proof(rule, parameters, tuple(premises))
    refusal: CertificateError | None = None
    for setting in _SETTINGS:
        try:
            proof.derive(setting)
        except CertificateError as error:
            refusal = refusal or error
        else:
            return proof
    raise refusal or CertificateError("no setting was tried")
