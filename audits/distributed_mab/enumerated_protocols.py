"""Small protocols summed out exactly: fractional rewards with their rounding, and masked secure aggregation.

If a hidden draw precedes an output (the bit that rounds a reward, a masked message), no single transcript has
an exact loss. These programs are small enough to compute the distribution of the server's whole view, arms
included, with all hidden draws summed out along every path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.coins import enumerate_view, max_log_ratio
from dpaudit.coins.base import Program
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import decode_value
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import arb, lower, precision
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, program, variant
from dpaudit.reference.mechanisms.modular_sum import Aggregator, secure_sum
from dpaudit.reference.mechanisms.secure_aggregation import masked_sum

__all__ = ["SERVER_VIEW", "masked_deviation", "masked_loss", "masked_program", "rounding_loss"]

SERVER_VIEW = View.of(SERVER)
#: Enough for differences of 1e-12. Masses of Pólya differences are expensive to compute.
BITS = 64


@lru_cache(maxsize=64)
def rounding_loss(
    epsilon: Fraction, rounds: int, background: Fraction, before: Fraction, after: Fraction
) -> Any:
    """Return, as a ball, the largest log-ratio over the server's whole view and both directions, if the first
    user's reward changes from ``before`` to ``after`` and the others are paid ``background``.

    Two arms, p = 1. After 3 rounds the horizon cuts batch 1 of arm 2, after 5 batch 2 of arm 1.
    """
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=1)
    distributions = []
    with precision(BITS):
        for reward in (before, after):
            data = np.full((rounds, 2), float(background))
            data[0] = float(reward)
            distributions.append(enumerate_view(program(chosen), data, view=SERVER_VIEW))
        worst = arb(0)
        for left, right in (distributions, distributions[::-1]):
            worst = worst.max(max_log_ratio(left, right)[0])
    return worst


def masked_program(chosen: Variant, aggregator: Aggregator) -> Program:
    """Return Dist-DP-SE over three rounds of two arms: one batch of two users, and a third user whose batch
    is cut."""
    return program(chosen, grid=1, aggregator=aggregator)


def _distributions(epsilon: Fraction, rewards: Sequence[int], aggregator: Aggregator) -> Any:
    chosen = variant("dist_dp_se", epsilon=epsilon, failure_prob=1)
    data = np.array([[float(x), 0.0] for x in (*rewards, 0)])
    with precision(BITS):
        return enumerate_view(masked_program(chosen, aggregator), data, view=SERVER_VIEW)


@lru_cache(maxsize=16)
def masked_deviation(epsilon: Fraction, first: int, second: int, aggregator: Any = masked_sum) -> Any:
    """Return, as a ball, the largest |P(v) m^(n-1) / P(ŷ = Σ v mod m) - 1| over all masked messages v. It is
    0 if the server's view is ŷ and messages that are uniform given ŷ. ``first`` and ``second`` are the users'
    rewards."""
    modulus = variant("dist_dp_se", epsilon=epsilon, failure_prob=1).sheet(2).modulus
    sums = {decode_value(json.loads(key)[0]): p for key, p in _plain(epsilon, first, second).items()}
    seen = _distributions(epsilon, (first, second), aggregator)
    worst, count = arb(0), 0
    for key, p in seen.probabilities.items():
        values = [decode_value(value) for value in json.loads(key)]
        expected = sums[sum(values[:2]) % modulus] / modulus
        worst, count = worst.max(abs(p / expected - 1)), count + 1
    # every vector of messages must be possible: an impossible vector deviates by 1
    return worst if count == modulus**2 else arb(1)


def _plain(epsilon: Fraction, first: int, second: int) -> dict[str, Any]:
    found: dict[str, Any] = _distributions(epsilon, (first, second), secure_sum).probabilities
    return found


def masked_loss(epsilon: Fraction) -> Estimate:
    """Return the largest log-ratio over everything that the server receives, with hidden draws summed out."""
    distributions = [_distributions(epsilon, (x, 0), masked_sum) for x in (0, 1)]
    return Estimate(
        quantity="epsilon",
        lower=lower(max_log_ratio(*distributions)[0]),
        upper=None,
        confidence=1.0,
        samples=1,
        method="exact distributions of the server's view, in balls",
        scope="one batch of two users, p = 1, the first one's reward 0 against 1",
    )
