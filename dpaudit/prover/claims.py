"""Refuse claims that no proof of a program is about, before anything is explored."""

from __future__ import annotations

from typing import Any

from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.claim_t0 import ASKED

__all__ = ["require_provable"]

#: The fields that no certificate changes. Adjacency and unit depend on the neighbours of the certificate.
_SETTING = {
    "view": "the public view",
    "adversary": "data fixed in advance",
    "turnout": "that everybody takes part",
    "model": "ideal numbers",
}


def require_provable(
    claim: Any, kinds: tuple[type[PrivacyClaim], ...], *, stated: tuple[str, ...] = ()
) -> None:
    """Raise ``InvalidParameterError`` for a claim of another kind, or in a setting that the kernel refuses.

    The kernel's own table decides (``claim_t0.ASKED``), so that nothing is called verified here that a check
    of the certificate would refuse for this claim. ``stated`` names the fields that a certificate
    states itself.
    """
    if not isinstance(claim, kinds):
        raise InvalidParameterError(
            f"claim must be one of {', '.join(kind.__name__ for kind in kinds)}, got {claim!r}.",
            code="E-CLAIM-NOT-PROVABLE",
        )
    about = claim.to_json()
    for name, words in _SETTING.items():
        wanted, _ = ASKED[name]
        if name not in stated and about[name] != wanted:
            raise InvalidParameterError(
                f"a proof requires {words}, got {claim!r}. An audit supports other claims.",
                code="E-CLAIM-NOT-PROVABLE",
            )
