"""A certified-private learner where one action always pays 1 and all others 0: the end of Theorem 10's
range."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.claims import PureDP
from dpaudit.errors import CertificateError
from dpaudit.kernel.ball import arb, ball, upper
from dpaudit.proofs.build import certify, compose_parallel, report_noisy_max

__all__ = ["certified_leader", "point_mass_bound", "smallest_log_actions"]


def point_mass_bound(*, log_actions: int, epsilon: Fraction) -> Any:
    """An upper bound, as a ball, of repaired FTNL's regret at every horizon if one of K = 2^log_actions
    actions always pays 1, the others 0.

    Epoch 0 costs at most 1. After an epoch of n = 2^s rounds a rival's noisy sum overtakes with probability
    (2 + x) exp(-x)/4, x = n epsilon/2 (two draws of Laplace(2/epsilon)), and there are K - 1 rivals: the
    next epoch costs at most 2n times that.
    """
    rivals = ball(2**log_actions - 1)
    total, s = arb(1), 0
    while True:
        x = ball(2**s * epsilon / 2)
        term = 2 ** (s + 1) * rivals * (2 + x) * (-x).exp() / 4
        total += term
        # Once x >= 4 a term is below half of the one before: the rest is below the last one.
        if x >= 4 and s >= 4:
            return total + term * arb(0).union(arb(1))
        s += 1


def certified_leader(epsilon: Fraction) -> str:
    """The kernel's own words on repaired FTNL: Report Noisy Max with Laplace(2/epsilon) once on each
    epoch's data.

    Raises ``CertificateError`` for a learner that is not certified epsilon-DP without assumptions.
    """
    leader = report_noisy_max(sensitivity=1, scale=2 / epsilon, range="general")
    certificate = certify(PureDP(epsilon=epsilon), compose_parallel([leader], by="position"))
    if certificate.bound > epsilon or certificate.assumptions:
        raise CertificateError(
            f"the learner must be certified {epsilon}-DP, got {certificate.bound} with "
            f"{certificate.assumptions}; do not use it against a lower bound."
        )
    return f"repaired FTNL is certified {certificate.bound}-DP for any number of actions"


def smallest_log_actions(constant: Fraction) -> tuple[int, float]:
    """The smallest log K from which the learner's regret is below ``constant`` max{log K/Δ, log K/epsilon} at
    Δ = 1 and epsilon = 6 log K, and that regret."""
    log_actions = 2
    while True:
        regret = upper(point_mass_bound(log_actions=log_actions, epsilon=Fraction(6 * log_actions)))
        if regret < float(constant) * log_actions:
            return log_actions, regret
        log_actions += 1
