"""Small protocols summed out exactly: fractional rewards with rounding, and masked secure aggregation."""

from __future__ import annotations

from fractions import Fraction

from audits.distributed_mab.enumerated_protocols import (
    SERVER_VIEW,
    masked_deviation,
    masked_loss,
    rounding_loss,
)
from audits.distributed_mab.noise_privacy import DOMAIN
from dpaudit.certify.build import post_processing
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.suite import Group, Run
from dpaudit.reference.algorithms.mab.batched_proofs import in_parallel, laplace_batches
from dpaudit.reference.algorithms.mab.distributed_elimination import variant
from dpaudit.suite import Sides, evidence, full, inequality, over

__all__ = ["rows"]

rows = Group("Rounding and masks")

BACKGROUNDS = "0 3/8 1"
CHANGES = (
    (Fraction(0), Fraction(1)),
    (Fraction(0), Fraction(1, 4)),
    (Fraction(1, 4), Fraction(5, 8)),
    (Fraction(5, 8), Fraction(1)),
)


@inequality(
    rows,
    "CZ23-T1P/rounding",
    "Theorem 1, Algorithm 1 line 20",
    role="step",
    over=over(
        rounds=(3, full(5)), epsilon=("1/2", full("1 2")), background=BACKGROUNDS, change=CHANGES
    ).where(
        lambda rounds, epsilon, background, change: (rounds, epsilon) not in ((3, 1), (5, 2)),
        "ε = 1 only with 5 rounds, ε = 2 only with 3",
    ),
)
def rounding(
    rounds: int, epsilon: Fraction, background: Fraction, change: tuple[Fraction, Fraction]
) -> Sides:
    """Dist-DP-SE with rounded rewards: no outcome in the server's view is more than e^ε times as likely

    Run the per-user program along every path of its roundings and aggregates, on both inputs, p = 1, and
    compare the exact distributions of the server's whole view, arms included.
    """
    return rounding_loss(epsilon, rounds, background, *change), epsilon


@inequality(
    rows,
    "CZ23-T1P/masked/law",
    "Appendix G.1 (additive masking), section 3 (perfect secure aggregation)",
    role="step",
    over=over(epsilon=("1/2", full("1")), first=(1, full(0))).where(
        lambda epsilon, first: (epsilon, first) != (1, 0), "ε = 1 with a first reward of 1"
    ),
)
def masks(epsilon: Fraction, first: int) -> Sides:
    """Masked messages reveal to the server their sum modulo m and nothing else, to within 1e-12

    Run the protocol with zero-sum masks along every path of its hidden messages and masks, and the protocol
    with an ideal secure sum. Compare the exact distributions of the server's view: P(v) = P(ŷ = Σ v mod
    m)/m^(n-1) for every vector v of masked messages. One batch of two users, p = 1, rewards ``first`` and 0.
    """
    return masked_deviation(epsilon, first, 0), Fraction(1, 10**12)


HALF = Fraction(1, 2)
CLAIM = PureDP(epsilon=HALF, view=SERVER_VIEW, domain=DOMAIN)


@evidence(rows, "CZ23-T1P/masked", "Appendix G.1, Theorem 1", claim=CLAIM, expect="consistent")
def masked(run: Run) -> list[Evidence]:
    """Dist-DP-SE with masked messages: everything that the server receives is (ε, 0)-DP

    The certificate is the sums': masked messages are uniform given their sum (see the row on their
    distribution). The lower bound is the largest log-ratio over all masked messages, with hidden draws summed
    out.

    Note: p = 1 makes m = 7, and wrapping then hides much of the loss
    """
    chosen = variant("dist_dp_se", epsilon=HALF, failure_prob=1)
    proof = post_processing(
        in_parallel(laplace_batches(chosen, (2,), epsilon=HALF)),
        function="masked messages, uniform given their sum ŷ (CZ23-T1P/masked/law)",
    )
    return [proof.certify(CLAIM), masked_loss(HALF)]
