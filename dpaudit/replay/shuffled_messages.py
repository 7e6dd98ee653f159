"""Shuffled messages against a leaf: how many there are, which of them moved, and what noise they carry."""

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
    """All distributions of shuffled messages on the two inputs, and the two of the one message that moved; an
    objection where fewer than the leaf's users send, or not one of their distributions differs."""
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
    """Messages with one Gaussian noise, of the leaf's variance or more: more of it is added noise, the same
    to every message. All points of the two inputs are within the sensitivity of each other."""
    users = changed_message(leaf, distribution, other)
    if isinstance(users, Match):
        return users
    everybody, _ = users
    if (
        distribution.batch_shape
    ):  # each coordinate of such messages is shuffled for itself, which no leaf speaks of
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
    """Whether a user's distribution is randomised response of one bit, of ``epsilon`` or less: the noise of
    all users hides the one that changed."""
    if not isinstance(distribution, RandomisedResponse) or distribution.symbols != 2:
        return False
    strength = (
        {"epsilon": distribution.epsilon} if distribution.epsilon is not None else {"keep": distribution.keep}
    )
    cost = worst_loss(distribution, RandomisedResponse(symbols=2, truth=1 - distribution.truth, **strength))
    return cost is not None and cost <= epsilon * (1 + ROUNDING)
