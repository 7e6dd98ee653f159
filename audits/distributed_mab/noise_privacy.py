"""Privacy of one batch's aggregate under pure DP: the noise of each parameter sheet, its certificates and
exact losses.

The server sees (Σ x̂ + noise) mod m. Rounding and the other users only average, and the modulus only
post-processes. The privacy loss is therefore determined by the noise distribution and its shift by at most g.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.build import (
    Proof,
    compose_parallel,
    discrete_laplace_mechanism,
    polya_noise,
    post_processing,
)
from dpaudit.certify.witnesses.transcript import WitnessSite, transcript_body
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.views import SERVER
from dpaudit.distributions import WrappedMod
from dpaudit.kernel.ball import arb, ball, lower_short, precision
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, polya_sheet

__all__ = [
    "BATCHES",
    "DOMAIN",
    "HORIZON",
    "batch_sheet",
    "dropout_witness",
    "laplace_batches",
    "largest_log_ratio",
    "present_proof",
    "worst_shift",
]

DOMAIN = "a user's reward in [0, 1], used once"
BATCHES = tuple(2**b for b in range(1, 20))
HORIZON = 2**20


def batch_sheet(users: int, epsilon: Fraction) -> Sheet:
    """Return Theorem 1's parameters for a batch, p = 1/T, T = 2^20."""
    return polya_sheet(users=users, epsilon=epsilon, tail_prob=Fraction(1, HORIZON))


def laplace_batches(epsilon: Fraction, function: str) -> Proof:
    """Compose every batch size of a horizon of 2^20, with the sheet's g. Users are disjoint, so the total is
    the largest cost."""
    parts = []
    for users in BATCHES:
        g = batch_sheet(users, epsilon).precision
        parts.append(discrete_laplace_mechanism(sensitivity=g, scale=g / epsilon))
    return post_processing(compose_parallel(parts), function=function)


def largest_log_ratio(distribution: WrappedMod, neighbour: WrappedMod) -> Any:
    """Return the largest log P(y)/P'(y) over residues y and both directions, as a ball."""
    worst = arb(0)
    for y in range(distribution.modulus):
        worst = worst.max(abs(distribution.logp_ball(y) - neighbour.logp_ball(y)))
    return worst


def worst_shift(sheet: Sheet, noise: Any, epsilon: Fraction) -> Any:
    """Return the largest log-ratio over all residues and all shifts 1, ..., g, divided by ε."""
    distribution = WrappedMod(noise, modulus=sheet.modulus)
    logs = [distribution.logp_ball(y) for y in range(distribution.modulus)]
    worst = arb(0)
    for shift in range(1, sheet.precision + 1):
        for y in range(distribution.modulus):
            worst = worst.max(abs(logs[y] - logs[y - shift]))  # a negative index wraps, as the residue does
    return worst / ball(epsilon)


def dropout_witness(claim: PureDP, *, users: int, present: int) -> Witness:
    """Return the witness at the outcome ŷ = 0, wraps included: all present users' rewards are 0, or one of
    them is 1."""
    sheet = batch_sheet(users, Fraction(claim.epsilon))
    here, there = (sheet.aggregate_distribution(total, present=present) for total in (0, sheet.precision))
    site = WitnessSite(
        site="aggregate", to=frozenset([SERVER]), distribution=here, distribution_neighbour=there, value=0
    )
    with precision(256):
        bound = lower_short(site.loss_ball())
    rewards = np.zeros((2, present), dtype=int)  # of the users who are present
    rewards[1, 0] = 1
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body=transcript_body([site], view=claim.view, inputs=(rewards[0], rewards[1])),
        origin="forced",
        description=f"{present} of {users} users present, all rewards 0, or one of them 1; the server sees 0",
    )


def present_proof(users: int, present: int, epsilon: Fraction) -> Proof:
    """Certify the bound that holds if ``present`` of ``users`` add their share."""
    g = batch_sheet(users, epsilon).precision
    return polya_noise(sensitivity=g, scale=g / epsilon, share=Fraction(present, users))
