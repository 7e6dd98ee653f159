"""Define learners on the family of appendix Q: small ones to enumerate, and one coordinate alone in closed
form.

``one_coordinate`` and ``committing`` are ε-DP in the rewards. Rewards affect only which sign a coordinate
keeps. The exponential mechanism chooses the sign from a count that one reward changes by 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from audits.glm_bandits.lower_bound_family import Arm, History, Policy
from dpaudit.certify.build import laplace_mechanism
from dpaudit.coins.base import Coins
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.distributions import Laplace
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.links import logistic

__all__ = [
    "OneCoordinate",
    "best_commitment",
    "certified_sign",
    "committing",
    "greedy",
    "one_coordinate",
    "play_one_coordinate",
    "uniform",
    "wrong_sign",
]


def _kept(history: History, j: int, epsilon: Fraction, explored: int) -> arb:
    """Return the probability of keeping sign + for coordinate j.

    The odds are exp(epsilon (ones - n/2)) for its first n pulls, all of the arm +r e_j.
    """
    rewards = [y for coordinate, _, y in history if coordinate == j][:explored]
    odds = (ball(epsilon * (sum(rewards) - Fraction(len(rewards), 2)))).exp()
    return odds / (1 + odds)


def committing(dim: int, *, explored: int, epsilon: Fraction) -> Policy:
    """Play coordinates in turn: each is pulled ``explored`` times at +, then keeps a sign drawn once."""

    def policy(history: History) -> dict[Arm, arb]:
        j, turn = len(history) % dim, len(history) // dim
        if turn < explored:
            return {(j, 1): arb(1)}
        if turn > explored:
            return {(j, next(s for c, s, _ in reversed(history) if c == j)): arb(1)}
        keep = _kept(history, j, epsilon, explored)
        return {(j, 1): keep, (j, -1): 1 - keep}

    return policy


def one_coordinate(*, explored: int, epsilon: Fraction) -> Policy:
    """Play the first coordinate alone: explore, keep a sign, never play the others."""
    return committing(1, explored=explored, epsilon=epsilon)


def uniform(dim: int) -> Policy:
    """Play any of the 2d arms with equal probability. Rewards are ignored."""
    arms = list(product(range(dim), (-1, 1)))
    return lambda history: dict.fromkeys(arms, arb(1) / len(arms))


def greedy(dim: int) -> Policy:
    """Play coordinates in turn, each with the sign that its rewards favour. This learner is not private."""

    def policy(history: History) -> dict[Arm, arb]:
        j = len(history) % dim
        lead = sum(s * (2 * y - 1) for c, s, y in history if c == j)
        return {(j, 1 if lead >= 0 else -1): arb(1)}

    return policy


# One coordinate, in closed form


def wrong_sign(*, pulls: int, correct: arb, epsilon: Fraction) -> arb:
    """Return P(S + Laplace(1/epsilon) < n/2) for S ~ Bin(n, ``correct``), n = ``pulls``.

    This is the probability that the sign of the better arm is taken for the worse one. By symmetry it is
    the same for both signs of V.
    """
    if pulls < 1:
        raise InvalidParameterError(f"pulls must be at least 1, got {pulls}.")
    odds, mass = correct / (1 - correct), (1 - correct) ** pulls
    total = arb(0)
    for ones in range(pulls + 1):
        apart = ones - Fraction(pulls, 2)
        tail = (-ball(epsilon * abs(apart))).exp() / 2
        total += mass * (tail if apart >= 0 else 1 - tail)
        mass = mass * odds * (pulls - ones) / (ones + 1)
    return total


class OneCoordinate(NamedTuple):
    """Pull +r e_1 ``explored`` times, then always the arm that a noisy count selects."""

    explored: int
    regret: arb


def best_commitment(*, horizon: int, scale: Fraction, epsilon: Fraction, radius: Fraction) -> OneCoordinate:
    """Return the learner of one coordinate with the smallest regret bound, exploring for a power of 2 of
    rounds.

    Logistic rewards, theta_0 = 0: the arms of a coordinate have means mu(±r a), for every d. The regret is
    exact: half of the exploration is wrong (V uniform), then all of the rest with ``wrong_sign``.
    """
    correct = logistic().at(ball(radius * scale)).mean
    gap, found = 2 * correct - 1, []
    explored = 1
    while explored <= horizon:
        wrong = wrong_sign(pulls=explored, correct=correct, epsilon=epsilon)
        regret = gap * (ball(Fraction(explored, 2)) + (horizon - explored) * wrong)
        found.append(OneCoordinate(explored, regret))
        if len(found) > 1 and regret > found[-2].regret:
            break
        explored *= 2
    return min(found, key=lambda one: float(one.regret.mid()))


def play_one_coordinate(coins: Coins, rewards: Sequence[float], *, epsilon: Fraction, later: int) -> None:
    """Run the learner as a program: ``rewards`` of + r e_1 so far, then ``later`` rounds of the sign it
    keeps.

    Every action is released. Rewards lie in [0, 1].
    """
    for _ in rewards:
        coins.reveal(1, site="action")
    count = coins.release(sum(rewards), Laplace(scale=1 / epsilon), site="count")
    kept = 1 if count >= len(rewards) / 2 else -1
    for _ in range(later):
        coins.reveal(kept, site="action")


def certified_sign(epsilon: Fraction) -> str:
    """Return the kernel's statement on a sum of rewards in [0, 1] with Laplace(1/epsilon) noise, released
    once.

    Raise ``CertificateError`` if it is not certified epsilon-DP without assumptions.
    """
    certificate = laplace_mechanism(sensitivity=1, scale=1 / epsilon).certify(PureDP(epsilon=epsilon))
    if certificate.bound > epsilon or certificate.assumptions:
        raise CertificateError(
            f"the learner must be certified {epsilon}-DP, got {certificate.bound} with "
            f"{certificate.assumptions}; do not use it against a lower bound."
        )
    return f"the noisy count is certified {certificate.bound}-DP, and all actions follow from it"
