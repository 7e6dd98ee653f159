"""Small protocols summed out exactly: fractional rewards with their rounding, and masked secure aggregation.

Where a hidden draw comes before what is seen (the bit that rounds a reward, a masked message) no single
transcript has an exact loss. These programs are small enough for the law of everything that the server sees,
arms included, with all hidden draws summed out along every path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from algorithms.mab.distributed_elimination import Variant, program, variant
from audits.distributed_mab.noise_privacy import DOMAIN, add_privacy_row
from audits.distributed_mab.protocol_runs import in_parallel, laplace_batches
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import PureDP
from dpaudit.coins import enumerate_view, max_log_ratio
from dpaudit.coins.base import Program
from dpaudit.evidence import Estimate
from dpaudit.exact import decode_value
from dpaudit.kernel.ball import arb, ball, lower, precision
from dpaudit.proofs.build import post_processing
from dpaudit.suite import Run, Suite
from dpaudit.views import SERVER, View
from mechanisms.modular_sum import Aggregator, secure_sum
from mechanisms.secure_aggregation import masked_sum

__all__ = ["add_rows", "masked_deviation", "masked_program", "rounding_loss"]

SERVER_VIEW = View.of(SERVER)
#: Enough for differences of 1e-12; masses of Pólya differences are dear.
BITS = 64


def add_rows(suite: Suite) -> None:
    """The rows on rounding and on masks."""
    _rounding(suite)
    _masked(suite)


# Fractional rewards


@lru_cache(maxsize=64)
def rounding_loss(
    epsilon: Fraction, rounds: int, background: Fraction, before: Fraction, after: Fraction
) -> Any:
    """The largest log-ratio, over everything that the server sees and in both directions, when the first
    user's reward goes from ``before`` to ``after`` and the others are paid ``background``. A ball.

    Two arms, p = 1. After 3 rounds the horizon cuts batch 1 of arm 2, after 5 batch 2 of arm 1.
    """
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=1)
    laws = []
    with precision(BITS):
        for reward in (before, after):
            data = np.full((rounds, 2), float(background))
            data[0] = float(reward)
            laws.append(enumerate_view(program(chosen), data, view=SERVER_VIEW))
        worst = arb(0)
        for left, right in (laws, laws[::-1]):
            worst = worst.max(max_log_ratio(left, right)[0])
    return worst


def _rounding(suite: Suite) -> None:
    levels = (Fraction(0), Fraction(1, 4), Fraction(5, 8), Fraction(1))

    def points(run: Run) -> list[Point]:
        steps = [(levels[0], levels[-1]), *pairwise(levels)]
        cases = run.choose(quick=[(3, "1/2")], full=[(3, "1/2"), (3, "2"), (5, "1/2"), (5, "1")])
        return [
            {"rounds": t, "epsilon": Fraction(e), "background": x, "before": low, "after": high}
            for t, e in cases
            for x in (Fraction(0), Fraction(3, 8), Fraction(1))
            for low, high in steps
        ]

    add_steps(
        suite,
        "CZ23-T1P/rounding",
        title="Dist-DP-SE with rounded rewards: no outcome of what the server sees is e^ε times as likely",
        steps=[
            Inequality(
                name="whole view",
                text="max over all transcripts of |log P/P'| <= ε, hidden roundings summed out, on the grid",
                left=rounding_loss,
                right=lambda epsilon, rounds, background, before, after: ball(epsilon),
                points=points,
            )
        ],
        about=(
            "Run the per-user program along every path of its roundings and aggregates, on both inputs, and "
            "compare the exact laws of all that the server sees."
        ),
        source="Theorem 1, Algorithm 1 line 20",
        scope="T = 3, ε = 1/2 (full profile: T = 5, ε = 1, 2), p = 1, rewards 0, 1/4, 3/8, 5/8, 1",
    )


# Masked secure aggregation


def masked_program(chosen: Variant, aggregator: Aggregator) -> Program:
    """Dist-DP-SE over three rounds of two arms: one batch of two users, and a third user who is cut."""
    return program(chosen, grid=1, aggregator=aggregator)


def _laws(epsilon: Fraction, rewards: Sequence[int], aggregator: Aggregator) -> Any:
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=1)
    data = np.array([[float(x), 0.0] for x in (*rewards, 0)])
    with precision(BITS):
        return enumerate_view(masked_program(chosen, aggregator), data, view=SERVER_VIEW)


@lru_cache(maxsize=16)
def masked_deviation(epsilon: Fraction, first: int, second: int, aggregator: Any = masked_sum) -> Any:
    """The largest |P(v) m^(n-1) / P(ŷ = Σ v mod m) - 1| over all masked messages v, a ball: 0 if the server's
    view is ŷ and messages that are uniform given it. ``first`` and ``second`` are the users' rewards."""
    modulus = variant("dist_dp_se", epsilon=epsilon, failure_prob=1).sheet(2).modulus
    sums = {decode_value(json.loads(key)[0]): p for key, p in _plain(epsilon, first, second).items()}
    seen = _laws(epsilon, (first, second), aggregator)
    worst, count = arb(0), 0
    for key, p in seen.probabilities.items():
        values = [decode_value(value) for value in json.loads(key)]
        expected = sums[sum(values[:2]) % modulus] / modulus
        worst, count = worst.max(abs(p / expected - 1)), count + 1
    # every vector of messages must be possible: one that never comes deviates by 1
    return worst if count == modulus**2 else arb(1)


def _plain(epsilon: Fraction, first: int, second: int) -> dict[str, Any]:
    found: dict[str, Any] = _laws(epsilon, (first, second), secure_sum).probabilities
    return found


def _masked(suite: Suite) -> None:
    epsilon = Fraction(1, 2)
    negligible = Fraction(1, 10**12)

    def points(run: Run) -> list[Point]:
        cases = run.choose(quick=[(epsilon, 1)], full=[(epsilon, 0), (epsilon, 1), (Fraction(1), 1)])
        return [{"epsilon": e, "first": x, "second": 0} for e, x in cases]

    add_steps(
        suite,
        "CZ23-T1P/masked/law",
        title="Masked messages show the server their sum modulo m and nothing else",
        steps=[
            Inequality(
                name="law",
                text="P(v) = P(ŷ = Σ v mod m)/m^(n-1) for every vector v of masked messages, to within 1e-12",
                left=masked_deviation,
                right=lambda epsilon, first, second: ball(negligible),
                points=points,
            )
        ],
        about=(
            "Run the protocol with zero-sum masks along every path of its hidden messages and masks, and the "
            "one with an ideal secure sum, and compare the exact laws of what the server sees."
        ),
        source="Appendix G.1 (additive masking), section 3 (perfect secure aggregation)",
        scope="one batch of two users, p = 1, ε = 1/2 (full profile: 1), rewards 0 and 1",
    )
    claim = PureDP(epsilon=epsilon, view=SERVER_VIEW, domain=DOMAIN)
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=1)
    proof = post_processing(
        in_parallel(laplace_batches(chosen, (2,), epsilon=epsilon)),
        function="masked messages, uniform given their sum ŷ (CZ23-T1P/masked/law)",
    )
    add_privacy_row(
        suite,
        "CZ23-T1P/masked",
        title="Dist-DP-SE with masked messages: all that the server receives is (ε, 0)-DP",
        claim=claim,
        evidence=lambda run: [proof.certify(claim), _masked_loss(epsilon)],
        about=(
            "The certificate of the sums: masked messages are uniform given their sum (their law's row). "
            "From below, the largest log-ratio over all masked messages, hidden draws summed out."
        ),
        source="Appendix G.1, Theorem 1",
        notes=["p = 1 makes m = 7: wrapping then hides much of the loss"],
    )


def _masked_loss(epsilon: Fraction) -> Estimate:
    laws = [_laws(epsilon, (x, 0), masked_sum) for x in (0, 1)]
    return Estimate(
        quantity="epsilon",
        lower=lower(max_log_ratio(*laws)[0]),
        upper=None,
        confidence=1.0,
        samples=1,
        method="exact laws of the server's view, in balls",
        scope="one batch of two users, p = 1, the first one's reward 0 against 1",
    )
