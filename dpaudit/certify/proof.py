"""Represent proofs as values: a rule application, and the certificate that it gives for a claim.

A ``Proof`` states a guarantee of a mechanism. ``certify`` applies it to a claim and states the best bound
that the kernel derives.
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

#: Settings in which a proof is tried before its claim is known. It must hold in at least one of them.
_SETTINGS = tuple(
    Setting(adjacency=adjacency, unit=unit, view=view)
    for view in (Setting.view, (frozenset(["user-0"]), True))
    for unit in (EVENT, USER)
    for adjacency in (REPLACE_ONE, ADD_REMOVE, ZERO_OUT)
)


@dataclass(frozen=True)
class Proof:
    """A rule with its parameters and premises: a guarantee of a mechanism, not yet applied to a claim."""

    rule: str
    parameters: Mapping[str, Any]
    premises: tuple[Proof, ...] = ()

    def to_json(self) -> dict[str, Any]:
        premises = [premise.to_json() for premise in self.premises]
        return {"rule": self.rule, "parameters": dict(self.parameters), "premises": premises}

    def certify(self, claim: Claim) -> Certificate:
        """Return the certificate of this proof for ``claim`` (see the function ``certify``)."""
        return certify(claim, self)


def certify(claim: Claim, proof: Proof) -> Certificate:
    """Make a certificate of ``claim`` from ``proof``, with the best bound that the kernel derives.

    The bound may exceed the claimed one. The certificate states what holds, and the verdict states whether
    that suffices.

    Raises
    ------
    CertificateError
        The proof gives no bound on the claim's quantity, or does not hold in the claim's setting.
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
    """Return the proof if the kernel accepts it in one of the usual settings.

    The setting of the claim is checked again later. Raise the kernel's first ``CertificateError`` otherwise.
    """
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
