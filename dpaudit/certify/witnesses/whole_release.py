"""Witness of one whole release from its distributions on both inputs, and the cells of its outcomes if the
distributions need any.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.certify.witnesses.release import release_bound
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.evidence import Witness
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import precision

__all__ = ["whole_release_witness"]

#: Lower bounds below this are stated as 0.
LEAST = Fraction(1, 10**300)


def whole_release_witness(
    claim: PrivacyClaim,
    *,
    distributions: Sequence[Distribution],
    site: str,
    to: str,
    inputs: dict[str, Any],
    words: str,
    parts: Sequence[dict[str, Any]] = (),
) -> Witness:
    """Return the witness of one release against ``claim``.

    Parameters
    ----------
    claim : PrivacyClaim
        The claim.
    distributions : pair of Distribution
        The release's distribution on each input.
    site, to : str
        The name of the release, and the principal who sees it.
    inputs : dict
        The two inputs (``written_inputs``).
    words : str
        A description of the witness.
    parts : sequence of dict
        The coordinates with their points or cuts. Gaussian noise at two offsets needs none.

    Raises
    ------
    CertificateError
        The distributions have no bound of this form.
    """
    distribution, neighbour = (one.to_json() for one in distributions)
    body: dict[str, Any] = {
        "view": claim.view.to_json(),
        "inputs": inputs,
        "site": {"site": site, "to": [to], "law": distribution, "law_neighbour": neighbour},
        "parts": list(parts),
        "order": None,
    }
    with precision(128):
        bound = release_bound(body, claim, claim.view)
    if bound is not None and bound < LEAST:  # useless, and thousands of digits long
        bound = Fraction(0)
    return Witness(
        quantity=claim.quantity,
        bound=bound,
        form="release",
        body=body,
        origin="enumerated",
        description=words,
    )
