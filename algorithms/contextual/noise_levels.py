"""Noise levels of protocols as printed, in floats for simulation: per user, per batch, accumulated.

Source: Chowdhury and Zhou, "Shuffle Private Linear Contextual Bandits" (ICML 2022), Theorems B.1, C.1, E.3,
E.5 and Appendix F; the tree of Shariff and Sheffet (2018). Logarithms are natural. Printed ranges are not
checked here: a simulation may be run outside them, and a row states whether it is. All functions raise
``InvalidParameterError`` for an epsilon that is not positive, a delta outside (0, 1] and counts below 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpaudit.reference.algorithms.contextual import checks

__all__ = [
    "BINOM_PROB",
    "BinomialNoiseLevel",
    "accumulated_binomial_std",
    "amplified_std",
    "binomial_level",
    "epsilon_cap",
    "local_std",
    "returning_amplified_std",
    "returning_binomial_level",
    "tree_std",
    "wishart_freedom",
]

BINOM_PROB = 0.25


def _require(*, epsilon: float = 1.0, delta: float, **counts: int) -> None:
    """Require epsilon greater than 0, delta in (0, 1], and every other number an integer of 1 or more."""
    checks.positive(epsilon, name="epsilon")
    checks.in_unit(delta, name="delta")
    for name, count in counts.items():
        checks.whole(count, name=name)


def epsilon_cap(*, batch_size: int, delta: float) -> float:
    """Return sqrt(log(2/delta)/B), the largest epsilon of Theorem B.1."""
    _require(delta=delta, batch_size=batch_size)
    return math.sqrt(math.log(2 / delta) / batch_size)


def amplified_std(*, epsilon: float, delta: float, batch_size: int) -> float:
    """Return the std of each Gaussian entry of each user in P_Amp (Theorem B.1)."""
    _require(epsilon=epsilon, delta=delta, batch_size=batch_size)
    logs = 2 * math.log(2.5 * batch_size / delta) * math.log(2 / delta)
    return 4 * math.sqrt(logs) / (epsilon * math.sqrt(batch_size))


def local_std(*, epsilon: float, delta: float) -> float:
    """Return the std of the local Gaussian mechanism of both outputs, 4 sqrt(2 log(2.5/delta))/epsilon (App.

    F).
    """
    _require(epsilon=epsilon, delta=delta)
    return 4 * math.sqrt(2 * math.log(2.5 / delta)) / epsilon


def returning_amplified_std(*, epsilon: float, delta: float, horizon: int, batch_size: int) -> float:
    """Return the std for users who return once per batch (Theorem E.3)."""
    _require(epsilon=epsilon, delta=delta, horizon=horizon, batch_size=batch_size)
    return (
        16 * math.log(2 / delta) * math.sqrt(horizon * math.log(5 * horizon / delta)) / (epsilon * batch_size)
    )


@dataclass(frozen=True, kw_only=True)
class BinomialNoiseLevel:
    """P_Vec's integers: precision g, trials b of each user and entry, success probability p = 1/4."""

    precision: int
    trials: int
    prob: float = BINOM_PROB

    def std(self, batch_size: int) -> float:
        """Return the standard deviation of a batch's entry without rounding, sqrt(b B p (1 - p))/g."""
        return math.sqrt(self.trials * batch_size * self.prob * (1 - self.prob)) / self.precision

    def proxy(self, batch_size: int) -> float:
        """Return the printed sub-Gaussian proxy of a batch's entry, (B + B b/4)/g² (proof of Theorem C.1)."""
        return batch_size * (1 + self.trials / 4) / self.precision**2


def binomial_level(
    *, epsilon: float, delta: float, batch_size: int, dim: int, local: bool = False
) -> BinomialNoiseLevel:
    """Return g and b of Theorem C.1, rounded up; with ``local`` those of Corollary C.3, which are C.1's at
    B = 1.
    """
    _require(epsilon=epsilon, delta=delta, batch_size=batch_size, dim=dim)
    users = 1 if local else batch_size
    precision = math.ceil(max(dim, 4) if local else max(2 * math.sqrt(users), dim, 4))
    logs = math.log(4 * (dim**2 + 1) / delta) ** 2
    return BinomialNoiseLevel(
        precision=precision, trials=math.ceil(24e4 * precision**2 * logs / (epsilon**2 * users))
    )


def returning_binomial_level(
    *, epsilon: float, delta: float, horizon: int, batch_size: int, dim: int
) -> BinomialNoiseLevel:
    """Return g and b of Theorem E.5, with B delta under the logarithm (the reading that substitution
    gives).
    """
    _require(epsilon=epsilon, delta=delta, horizon=horizon, batch_size=batch_size, dim=dim)
    precision = math.ceil(max(2 * math.sqrt(batch_size), dim, 4))
    logs = math.log(8 * horizon * (dim**2 + 1) / (batch_size * delta)) ** 2
    trials = 1e7 * math.log(2 / delta) * precision**2 * horizon * logs / (epsilon * batch_size) ** 2
    return BinomialNoiseLevel(precision=precision, trials=math.ceil(trials))


def accumulated_binomial_std(level: BinomialNoiseLevel, *, batch_size: int, n_batches: int) -> float:
    """Return the root of the printed proxy of an entry after all batches: the sigma used in Lemma A.4."""
    return math.sqrt(n_batches * level.proxy(batch_size))


def tree_std(*, epsilon: float, delta: float, leaves: int, participations: int = 1) -> float:
    """Return the std of each entry of a node of a binary tree over ``leaves`` leaves.

    One Gaussian mechanism covers all nodes and both outputs. A leaf lies in ``1 + floor(log2 leaves)`` nodes.
    Its vector and upper triangle change by sqrt(9/2) at most, and ``participations`` leaves of one user by as
    many times that. The paper prints no constant for its trees; this is the classical calibration sqrt(2
    log(1.25/delta)), which needs epsilon in (0, 1].

    Raises ``InvalidParameterError`` for a tree without leaves or participations.
    """
    _require(epsilon=epsilon, delta=delta, leaves=leaves, participations=participations)
    levels = leaves.bit_length()
    sensitivity = participations * math.sqrt(4.5 * levels)
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def wishart_freedom(*, epsilon: float, delta: float, leaves: int, dim: int) -> int:
    """Return the degrees of freedom of a node's Wishart noise in Shariff and Sheffet (2018).

    They are d + 1 + ceil(224 m log(8m/δ) log(2/δ)/ε²) with m = 1 + ceil(log2 n) levels.
    """
    _require(epsilon=epsilon, delta=delta, leaves=leaves, dim=dim)
    levels = 1 + math.ceil(math.log2(leaves))
    return dim + 1 + math.ceil(224 * levels * math.log(8 * levels / delta) * math.log(2 / delta) / epsilon**2)
