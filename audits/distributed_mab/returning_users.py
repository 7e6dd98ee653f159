"""Exact losses of a user who participates in up to B batches."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.certify.witnesses.transcript import WitnessSite, transcript_body
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.views import SERVER
from dpaudit.distributions import DiscreteLaplace
from dpaudit.kernel.ball import arb, lower_short, precision

__all__ = ["returning_witness"]


def returning_witness(claim: PureDP, batches: int, epsilon: Fraction) -> Witness:
    """Return the witness at which all aggregates are 0: all rewards are 0, or all of one user's rewards are
    1."""
    noise = DiscreteLaplace(scale=4 / epsilon)
    sites = [
        WitnessSite(
            site=f"aggregate {b}",
            to=frozenset([SERVER]),
            distribution=noise,
            distribution_neighbour=noise.shift(4),
            value=0,
        )
        for b in range(batches)
    ]
    with precision(256):
        bound = lower_short(sum((site.loss_ball() for site in sites), arb(0)))
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body=transcript_body(sites, view=claim.view, inputs=([0] * batches, [1] * batches)),
        origin="forced",
        description=(
            f"{batches} batches of zeros, or with one user's reward 1 in each; the server sees 0 in all"
        ),
    )
