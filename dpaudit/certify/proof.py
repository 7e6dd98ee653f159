"""Proofs as values: a rule application, and the certificate that it makes of a claim.

A ``Proof`` is a statement about a mechanism, not yet about a claim. ``certify`` holds it against a claim,
with the best bound that the kernel derives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.core.claims import Claim
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Certificate
from dpaudit.kernel import check
from dpaudit.kernel.kernel_t0 import ADD_REMOVE, EVENT, REPLACE_ONE, USER, ZERO_OUT, Setting

__all__ = ["Proof", "accepted", "certify"]

#: Settings in which a proof is tried before its claim is known; it must hold in one of them.
_SETTINGS = tuple(
    Setting(adjacency=adjacency, unit=unit, view=view)
    for view in (Setting.view, (frozenset(["user-0"]), True))
    for unit in (EVENT, USER)
    for adjacency in (REPLACE_ONE, ADD_REMOVE, ZERO_OUT)
)


@dataclass(frozen=True)
class Proof:
    """A rule with its parameters and premises: a statement about a mechanism, not yet about a claim."""

    rule: str
    parameters: Mapping[str, Any]
    premises: tuple[Proof, ...] = ()

    def to_json(self) -> dict[str, Any]:
        premises = [premise.to_json() for premise in self.premises]
        return {"rule": self.rule, "parameters": dict(self.parameters), "premises": premises}

    def certify(self, claim: Claim) -> Certificate:
        """The certificate of this proof for ``claim``; see ``certify``."""
        return certify(claim, self)


def certify(claim: Claim, proof: Proof) -> Certificate:
    """Make a certificate of ``claim`` from ``proof``, with the best bound that the kernel derives.

    The bound may be above the claimed one: a certificate says what is so, the verdict says whether it
    suffices. Raises ``CertificateError`` if the proof says nothing about the claim's quantity, or does not
    hold in its setting.
    """
    guarantee = check.derive(proof.to_json(), claim)
    certificate = Certificate(
        quantity=claim.quantity,
        bound=check.derived_bound(guarantee, claim),
        tree={
            "rule": check.ROOT,
            "parameters": check.context_of(claim.to_json()),
            "premises": [proof.to_json()],
        },
        assumptions=guarantee.assumptions,
    )
    check.check(certificate, claim)
    return certificate


def accepted(rule: str, parameters: Mapping[str, Any], premises: Sequence[Proof] = ()) -> Proof:
    """The proof, after the kernel accepted it in one of the usual settings; its claim decides again."""
    proof = Proof(rule, parameters, tuple(premises))
    refusal: CertificateError | None = None
    for setting in _SETTINGS:
        try:
            check.derive_in(proof.to_json(), setting)
        except CertificateError as error:
            refusal = refusal or error
        else:
            return proof
    raise refusal or CertificateError("no setting was tried")
