"""DP-SE: successive elimination with one noisy sum per epoch and surviving arm.

Sajed and Sheffet (2019), as the baseline of Hu, Huang and Mehta (arXiv 2102.07929) with failure probability
1/T; natural logarithms. Every epoch starts from scratch, so an observation enters one release with
Laplace(1/epsilon). It needs the horizon through the failure probability: it is not anytime.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.coins.base import Coins, Program
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive, probability
from dpaudit.reference.algorithms.play import Pulls, Strategy, bandit_program
from dpaudit.reference.mechanisms.array_sum import ArraySum, NoisySum

__all__ = ["epoch_length", "program", "radius", "strategy"]


def epoch_length(epoch: int, n_alive: int, *, epsilon: float, failure_probability: float) -> int:
    """Return R_e: pulls of each surviving arm in epoch ``epoch`` (from 1)."""
    accuracy = 2.0**-epoch
    sampling = 32 * math.log(8 * n_alive * epoch**2 / failure_probability) / accuracy**2
    privacy = 8 * math.log(4 * n_alive * epoch**2 / failure_probability) / (epsilon * accuracy)
    return math.floor(max(sampling, privacy)) + 1


def radius(epoch: int, n_alive: int, length: int, *, epsilon: float, failure_probability: float) -> float:
    """Return 2 h_e + 2 c_e: an arm that is further behind the best noisy mean is eliminated."""
    sampling = math.sqrt(math.log(8 * n_alive * epoch**2 / failure_probability) / (2 * length))
    privacy = math.log(4 * n_alive * epoch**2 / failure_probability) / (length * epsilon)
    return 2 * sampling + 2 * privacy


def strategy(
    *, epsilon: ExactLike, failure_probability: ExactLike, noisy_sum: NoisySum | None = None
) -> Strategy:
    """Return DP-SE with ``epsilon`` > 0 and ``failure_probability`` in (0, 1], both exact.

    ``noisy_sum`` releases the sum of one arm's pulls of one epoch (by default ``ArraySum(epsilon=epsilon)``,
    at site ``array``).
    """
    exact_epsilon = positive(epsilon, name="epsilon")
    failure = probability(failure_probability, name="failure_probability")
    if failure == 0:
        raise InvalidParameterError(
            "failure_probability must be greater than 0, got 0; pass 1/T for a horizon of T."
        )
    release = ArraySum(epsilon=exact_epsilon) if noisy_sum is None else noisy_sum

    def run(coins: Coins, n_arms: int) -> Pulls:
        return _run(coins, n_arms, exact_epsilon, failure, release)

    return run


def program(*, epsilon: ExactLike, failure_probability: ExactLike) -> Program:
    """Run ``program(coins, data)`` for potential outcomes (T, K); returns the decisions as runs (arm,
    count).
    """
    return bandit_program(strategy(epsilon=epsilon, failure_probability=failure_probability))


def _run(coins: Coins, n_arms: int, epsilon: Fraction, failure: Fraction, release: NoisySum) -> Pulls:
    alive = list(range(n_arms))
    epoch = 0
    parameters = {"epsilon": float(epsilon), "failure_probability": float(failure)}
    while len(alive) > 1:
        epoch += 1
        length = epoch_length(epoch, len(alive), **parameters)
        noisy_means = []
        for arm in alive:
            batch = yield arm, length
            noisy_means.append(release(coins, batch.sum()) / length)
        best, reach = max(noisy_means), radius(epoch, len(alive), length, **parameters)
        alive = [arm for arm, mean in zip(alive, noisy_means, strict=True) if best - mean <= reach]
    yield alive[0], None
