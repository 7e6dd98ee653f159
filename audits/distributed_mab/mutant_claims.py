"""The claim that a mutant's author would make, the accounting that its proof declares, and the evidence that
it is wrong."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.distributed_mab.concentrated_privacy import concentrated_bound
from audits.distributed_mab.mutant_protocols import (
    EPSILON,
    FAILURE_PROB,
    REFERENCES,
    SCALE_FACTOR,
    Mechanism,
    program_of,
)
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.core.claims import PrivacyClaim, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import arb, precision
from dpaudit.reference.mechanisms.broken_protocols import Make
from dpaudit.reference.mechanisms.decoded_sum_distribution import declared_sum, distance, enumerated_sum
from dpaudit.reference.mechanisms.gaussian_sum_divergence import xi
from dpaudit.replay.breaches import Target
from dpaudit.replay.shifted_noise import shifted_noise

__all__ = ["claim_of", "divergence_witness_of", "sum_distance", "target_of"]


def claim_of(mechanism: Mechanism) -> PrivacyClaim:
    """Return the theorem's claim at ε = 9/10, in the server's view, with s = 10 and T = 64 in ξ."""
    view = View.of(SERVER)
    if mechanism == "skellam":
        budget = theorem_2_final(2, EPSILON, Fraction(SCALE_FACTOR))
        return RenyiDP(order=2, epsilon=budget, view=view, domain=DOMAIN)
    if mechanism == "gaussian":
        with precision(256):
            correction = xi(Fraction(SCALE_FACTOR**2), int(1 / FAILURE_PROB) // 2 - 1)
            rho = concentrated_bound(EPSILON**2, correction)
        return ZeroConcentratedDP(rho=rho, view=view, domain=DOMAIN)
    return PureDP(epsilon=EPSILON, view=view, domain=DOMAIN)


def target_of(make: Make, mechanism: Mechanism, *, releases: int = 1) -> Target:
    """Return the protocol in Algorithm 1, with the accounting that its proof declares."""
    return Target(
        program=program_of(make, mechanism),
        epsilon=EPSILON,
        pure=isinstance(claim_of(mechanism), PureDP),
        site="message" if mechanism == "local" else "aggregate",
        releases=releases,
    )


def divergence_witness_of(target: Target, pairs: list[Neighbours], claim: PrivacyClaim) -> Witness | None:
    """Return the largest divergence over the pairs. Return ``None`` for a pure claim, or if no site is
    affected."""
    if not isinstance(claim, RenyiDP | ZeroConcentratedDP):
        return None
    moved = [shifted_noise(target.program, pair, seed=0) for pair in pairs]
    worst = max((item for item in moved if item), key=lambda item: item.signal, default=None)
    return None if worst is None else worst.witness(claim)


def sum_distance(make: Make, *, users: int, reward: float) -> tuple[Any, Any]:
    """Return two balls: the total variation distance between the decoded sum of a batch and Theorem 1's
    distribution, and the probability of an error above τ/g in the noisy sum (for a reward on the grid of
    1/g)."""
    sheet = REFERENCES["polya"].sheet(users)
    g, rewards = sheet.precision, [reward] * users
    distribution, left_out = enumerated_sum(make(REFERENCES["polya"].sheet, None)(users), rewards, g)
    far = [p for v, p in distribution.items() if abs(v - users * reward * g) > sheet.noise_margin]
    return distance(distribution, declared_sum(sheet, rewards, EPSILON), left_out), sum(far, arb(0))
