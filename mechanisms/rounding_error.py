"""Rounding by ``fixed_point``, in exact numbers.

This file has its mean, its extremes, the largest change of a sum, and the distribution of a sum of equal
rewards. Rewards are dyadic, and so are the probabilities of their encodings: means, ranges and distributions
are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.coins.base import Coins
from dpaudit.coins.enumerator import enumerate_view
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.fixed_point import encode, encoding_distribution, split_reward

__all__ = ["mean_error", "rounding_distance", "rounding_ends", "sum_movement"]


def mean_error(reward: Fraction, precision: int) -> Any:
    """Return E[x̂] - x g as a ball, without radius for a dyadic reward."""
    distribution = encoding_distribution(reward, precision=precision)
    return sum((p * int(k) for k, p in distribution.atoms()), arb(0)) - ball(reward * precision)


def rounding_ends(reward: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest ι = x̂ - x g."""
    errors = [
        int(k) - reward * precision for k, _ in encoding_distribution(reward, precision=precision).atoms()
    ]
    return min(errors), max(errors)


def sum_movement(before: Fraction, after: Fraction, precision: int) -> int:
    """Return the largest change of Σ x̂ when one reward changes from ``before`` to ``after``, over all
    roundings.
    """
    distributions = [encoding_distribution(reward, precision=precision) for reward in (before, after)]
    here, there = ([int(k) for k, _ in distribution.atoms()] for distribution in distributions)
    return max(abs(a - b) for a, b in itertools.product(here, there))


def rounding_distance(reward: Fraction, *, users: int, precision: int) -> Any:
    """Return the total variation between Σ x̂ of the running program, user by user, and n ⌊x g⌋ + Bin(n, x g
    - ⌊x g⌋).
    """

    def program(coins: Coins, data: Sequence[Fraction]) -> None:
        coins.reveal(int(sum(encode(coins, data, precision=precision))), site="sum")

    found = enumerate_view(program, [reward] * users, view=View.of(PUBLIC))
    whole, rest = split_reward(reward, precision=precision)
    distribution = Binomial(trials=users, p=rest).shift(users * whole)
    total = {seen[0]: found.probabilities[key] for key, seen in found.transcripts.items()}
    return sum((abs(p - distribution.logp_ball(k).exp()) for k, p in total.items()), arb(0)) / 2
