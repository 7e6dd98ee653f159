"""Match shuffled messages with a leaf: their number, which of them changed, and their noise."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

from dpaudit.core.claims import Adjacency
from dpaudit.distributions import CountVector, Gaussian, RandomisedResponse, ShuffledMultiset
from dpaudit.distributions.base import Distribution
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.leaves import ROUNDING, Leaf, Match, objection
from dpaudit.replay.shifts import base_of, moves_of

__all__ = ["answers_a_bit", "changed_message", "shuffled_gaussian"]


def changed_message(
    leaf: Leaf, distribution: Distribution, other: Distribution
) -> Match | tuple[list[Distribution], list[Distribution]]:
    """Return the distributions of shuffled messages on the two inputs, and the two of the changed message.

    Return an objection if fewer than the leaf's users send, or if not exactly one distribution differs.
    """
    if not (
        isinstance(distribution, ShuffledMultiset | CountVector) and isinstance(other, type(distribution))
    ):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    here, there = (Counter(dict(one.groups)) for one in (distribution, other))
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
    noise = base_of(everybody[0])
    if not isinstance(noise, Gaussian) or any(base_of(one) != noise for one in everybody):
        return objection(f"its messages are {everybody!r}, not one Gaussian noise around different points")
    if noise.sigma2 < leaf.number("variance"):
        return objection(f"its noise {noise!r} is smaller than the leaf's")
    most = leaf.number("sensitivity_squared")
    for one, two in combinations(everybody, 2):
        moves = moves_of(one, two)
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
