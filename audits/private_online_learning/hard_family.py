"""Compute the instances of Theorem 10 (appendix H) in exact numbers: their distances, the smallest error of a
private selector, and a certified-private learner's regret at the end of the range.

Instance j is a product of K Bernoulli distributions. Action j has mean ``base + gap``, every other action has
mean ``base``. The paper's base is 1/2. With gap 1, one action always has reward 1 and all others 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

from dpaudit.certify.build import certify, compose_parallel, report_noisy_max
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel.ball import arb, ball, upper
from dpaudit.suite.regret.selectors import smallest_selection_error

__all__ = [
    "CERTIFIED",
    "SCALES",
    "certified_leader",
    "fano_bound",
    "instance",
    "point_mass_bound",
    "smallest_horizon",
    "smallest_log_actions",
    "smallest_private_error",
    "total_variation",
    "witness_gap",
]

Outcome = tuple[int, ...]
Distribution = dict[Outcome, Fraction]
HALF = Fraction(1, 2)

#: Learner -> scale of the Laplace noise on each epoch's sums. 0 means no noise.
SCALES: dict[str, Callable[[int, float], float]] = {
    "repaired FTNL": lambda k, epsilon: 2 / epsilon,
    "naive FTNL": lambda k, epsilon: k / epsilon,
    "Follow the Leader": lambda k, epsilon: 0.0,
}
CERTIFIED = ("repaired FTNL", "naive FTNL")


def instance(best: int, *, n_actions: int, gap: Fraction, base: Fraction = HALF) -> Distribution:
    """Return the distribution of one reward vector under instance ``best`` (from 0), on {0, 1}^K.

    Raise ``InvalidParameterError`` if ``base`` or ``base + gap`` is outside [0, 1].
    """
    if not 0 <= base <= base + gap <= 1:
        raise InvalidParameterError(f"base and base + gap must be in [0, 1], got {base} and {base + gap}.")
    means = [base + gap if j == best else base for j in range(n_actions)]
    return {
        outcome: math.prod(
            (m if bit else 1 - m for bit, m in zip(outcome, means, strict=True)), start=Fraction(1)
        )
        for outcome in product((0, 1), repeat=n_actions)
    }


def total_variation(first: Distribution, second: Distribution) -> Fraction:
    """Return the largest difference of probability over all events, which is half the l1 distance."""
    return sum((abs(first[x] - second[x]) for x in first), Fraction(0)) / 2


def witness_gap(first: Distribution, second: Distribution) -> Fraction:
    """Return P_1(A) - P_2(A) for the paper's event A: action 1 has reward 1 and action 2 reward 0."""
    return sum((first[x] - second[x] for x in first if x[0] == 1 and x[1] == 0), Fraction(0))


def smallest_private_error(*, n_actions: int, n: int, gap: Fraction, epsilon: float) -> float:
    """Return the smallest worst-case error of any epsilon-DP selector of the instance from ``n`` reward
    vectors."""
    distributions = [instance(j, n_actions=n_actions, gap=gap) for j in range(n_actions)]
    return smallest_selection_error(distributions, n=n, epsilon=epsilon)


def point_mass_bound(*, log_actions: int, epsilon: Fraction) -> Any:
    """Bound repaired FTNL's regret at every horizon from above, as a ball, if one of K = 2^log_actions
    actions always has reward 1 and the others 0.

    Epoch 0 costs at most 1. After an epoch of n = 2^s rounds, a rival's noisy sum overtakes with probability
    (2 + x) exp(-x)/4, x = n epsilon/2 (two draws of Laplace(2/epsilon)). There are K - 1 rivals, so the next
    epoch costs at most 2n (K - 1) times that probability.
    """
    rivals = ball(2**log_actions - 1)
    total, s = arb(1), 0
    while True:
        x = ball(2**s * epsilon / 2)
        term = 2 ** (s + 1) * rivals * (2 + x) * (-x).exp() / 4
        total += term
        # Once x >= 4, each term is below half of the previous term, so the remaining sum is below the last
        # term.
        if x >= 4 and s >= 4:
            return total + term * arb(0).union(arb(1))
        s += 1


def certified_leader(epsilon: Fraction) -> str:
    """Certify repaired FTNL with the kernel and return the result as a sentence: Report Noisy Max with
    Laplace(2/epsilon) once on each epoch's data.

    Raise ``CertificateError`` if the learner is not certified epsilon-DP without assumptions.
    """
    leader = report_noisy_max(sensitivity=1, scale=2 / epsilon, range="general")
    certificate = certify(PureDP(epsilon=epsilon), compose_parallel([leader], by="position"))
    if certificate.bound > epsilon or certificate.assumptions:
        raise CertificateError(
            f"the learner must be certified {epsilon}-DP, got {certificate.bound} with "
            f"{certificate.assumptions}."
        )
    return f"repaired FTNL is certified {certificate.bound}-DP for any number of actions"


def smallest_log_actions(constant: Fraction) -> tuple[int, float]:
    """Return the smallest log K at which the learner's regret is below ``constant`` max{log K/Δ, log
    K/epsilon} at Δ = 1 and epsilon = 6 log K, and that regret."""
    log_actions = 2
    while True:
        regret = upper(point_mass_bound(log_actions=log_actions, epsilon=Fraction(6 * log_actions)))
        if regret < float(constant) * log_actions:
            return log_actions, regret
        log_actions += 1


def smallest_horizon(*, n_actions: int, gap: float, epsilon: float) -> int:
    """Return the smallest T that Theorem 10 admits: max{ln K/(16 gap²), ln K/(10 epsilon gap)}, rounded
    up."""
    log = math.log(n_actions)
    return max(1, math.ceil(max(log / (16 * gap**2), log / (10 * epsilon * gap))))


def fano_bound(*, n_actions: int, n: int, gap: float, epsilon: float) -> float:
    """Return eq. (58): 0.45 min{1, (K - 1)/exp(10 epsilon n gap)}."""
    return 0.45 * min(1.0, (n_actions - 1) * math.exp(-10 * epsilon * n * gap))
