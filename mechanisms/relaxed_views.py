"""The server's view of relaxed secure functions.

This file has an event that shows the leak of ``LeakySum`` with the hidden messages summed out, and the
distances of all three functions from the conditions that admit them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from dpaudit.certify.witnesses.mixture import Draw, End, Event, See, Tree
from dpaudit.coins.base import Coins
from dpaudit.core.views import SERVER, Audience
from dpaudit.distributions import Bernoulli, PointMass, WrappedMod
from dpaudit.reference.mechanisms.local_noise import total_noise
from dpaudit.reference.mechanisms.modular_sum import clipped
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, polya_sheet
from dpaudit.reference.mechanisms.relaxed_aggregation import (
    CarrySum,
    GarbledSum,
    LeakyCoin,
    LeakySum,
    distances,
    nearer_to_full,
)

__all__ = ["distances_of", "leaky_event"]

_TO: Audience = frozenset([SERVER])


def leaky_event(sheet: Sheet, coin: LeakyCoin, *, reach: int) -> Event:
    """Run one batch with ``LeakySum`` about user 0, whose reward is 1 or 0 while all others have 0.

    The server sees ŷ = g and the coin 1. Messages from -``reach`` to g + ``reach`` are listed, modulo m, or
    all messages if the range covers all.
    """
    return Event(
        values=[sheet.precision % sheet.modulus, 1],
        recorded=_leaky_tree(sheet, coin, reach, sheet.precision),
        neighbour=_leaky_tree(sheet, coin, reach, 0),
    )


def _leaky_tree(sheet: Sheet, coin: LeakyCoin, reach: int, encoded: int) -> Tree:
    m, rest = sheet.modulus, total_noise(sheet.share, users=sheet.users - 1)

    def shown(message: int) -> Tree:
        bias = coin.high if nearer_to_full(message, sheet) else coin.low
        toss = See(site="coin", to=_TO, distribution=Bernoulli(p=bias), then=End(reached=True))
        return See(
            site="aggregate", to=_TO, distribution=WrappedMod(rest, modulus=m, offset=message), then=toss
        )

    distribution = clipped(sheet.share.shift(encoded), modulus=m)
    return Draw(
        site="message", distribution=distribution, branches=[(k, shown(k)) for k in _listed(sheet, reach)]
    )


def _listed(sheet: Sheet, reach: int) -> list[int]:
    if 2 * reach + sheet.precision + 1 >= sheet.modulus:
        return list(range(sheet.modulus))
    return [k % sheet.modulus for k in range(-reach, sheet.precision + reach + 1)]


@lru_cache(maxsize=64)
def distances_of(kind: str, users: int, budget: Fraction) -> tuple[Any, Any]:
    """Return ``distances`` for S by name, with ε̂ (for the garbled sum: q) = ``budget``.

    g = 1 and a modulus of 4, 5 or 8 for 1, 2 or 3 users are small enough for all message vectors.
    """
    sheet = polya_sheet(users=users, epsilon=Fraction(7 if users < 3 else 5, 10), tail_prob=1)
    if kind == "leaky":
        leaky = LeakySum(secagg_epsilon=budget)
        return distances(leaky, partial(_toss, leaky), sheet)
    secure = CarrySum(secagg_epsilon=budget) if kind == "carry" else GarbledSum(secagg_error=budget)

    def rerun(coins: Coins, total: int) -> Any:
        return secure(coins, [*[PointMass(0)] * (users - 1), PointMass(total)], sheet)

    return distances(secure, rerun, sheet, tail=0.1 if kind == "carry" else 0.0)


def _toss(leaky: LeakySum, coins: Coins, total: int) -> None:
    """Simulate ``LeakySum``: release the sum, and a coin that depends on no message."""
    coins.reveal(total, site="aggregate", to=SERVER)
    coins.observe(Bernoulli(p=leaky.coin.simulated), site="coin", to=SERVER)
