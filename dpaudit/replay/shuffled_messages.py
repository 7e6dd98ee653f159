"""Match shuffled messages with a leaf: their number, which of them changed, and their noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from dpaudit.core.claims import Adjacency
from dpaudit.distributions import RandomisedResponse
from dpaudit.distributions.base import Distribution
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.leaves import ROUNDING, Leaf, Match, objection

__all__ = ["answers_a_bit", "changed_message", "shuffled_gaussian"]


def changed_message(
    leaf: Leaf, distribution: Distribution, other: Distribution
) -> Match | tuple[list[Distribution], list[Distribution]]:
    """Return the distributions of shuffled messages on the two inputs, and the two of the changed message.

    Return an objection if fewer than the leaf's users send, or if not exactly one distribution differs.
    """
    here, there = distribution.messages, other.messages
    if here is None or there is None or type(distribution) is not type(other):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    users = sum(here.values())
    if users != sum(there.values()) or users < int(leaf.parameters["users"]):
        return objection(f"it shuffles {users} and {sum(there.values())} messages")
    if sum((here - there).values()) != 1:
        return objection(f"{sum((here - there).values())} users' distributions differ")
    return list(here | there), [*(here - there), *(there - here)]


def shuffled_gaussian(
    leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency
) -> Match:
    """Match messages that have one Gaussian noise, with at least the leaf's variance.

    More of it is independent noise, the same for every message. All points of the two inputs must be within
    the sensitivity of each other.
    """
    users = changed_message(leaf, distribution, other)
    if isinstance(users, Match):
        return users
    everybody, _ = users
    if distribution.batch_shape:  # each coordinate is shuffled separately, which no leaf covers
        return objection(f"it is {distribution.batch_shape} shuffled lists, not one")
    noise = everybody[0].added_noise
    if noise.gaussian_variance is None or any(one.added_noise != noise for one in everybody):
        return objection(f"its messages are {everybody!r}, not one Gaussian noise around different points")
    if noise.gaussian_variance < leaf.number("variance"):
        return objection(f"its noise {noise!r} is smaller than the leaf's")
    most = leaf.number("sensitivity_squared")
    for one, two in combinations(everybody, 2):
        moves = one.distances(two)
        apart = None if moves is None else sum((gap**2 for gap in moves), Fraction(0))
        if apart is None or apart > most * (1 + ROUNDING):
            return objection(f"two messages, {one!r} and {two!r}, are further apart than {most} squared")
    return Match()


def answers_a_bit(distribution: Distribution, epsilon: Fraction) -> bool:
    """Return whether a user's distribution is randomised response of one bit, at ``epsilon`` or less.

    The noise of all users then hides the one that changed.
    """
    if not isinstance(distribution, RandomisedResponse) or distribution.symbols != 2:
        return False
    strength = (
        {"epsilon": distribution.epsilon} if distribution.epsilon is not None else {"keep": distribution.keep}
    )
    cost = worst_loss(distribution, RandomisedResponse(symbols=2, truth=1 - distribution.truth, **strength))
    return cost is not None and cost <= epsilon * (1 + ROUNDING)
