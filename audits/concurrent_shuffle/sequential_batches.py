"""Run two small batches of shuffled bits, either one after the other or at the same time with users in
both."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins, Program
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import upper_short
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t2 import special_distributions
from dpaudit.replay.data_sets import DataSets

__all__ = ["BITS", "TwoBatches", "in_turn", "overlapping"]

BITS = DataSets(records=4, values=(0, 1))

#: Fair bits of a batch, and of a batch that follows an even count.
FEW, MORE = 3, 5


@dataclass(frozen=True)
class TwoBatches:
    """A program of two batches, and the exact delta at epsilon = 1 of its batch with the least noise."""

    program: Program

    @property
    def view(self) -> View:
        return View.of(SHUFFLER_OUTPUT)

    @property
    def node_delta(self) -> Fraction:
        delta = lattice_delta(
            special_distributions.Binomial(FEW, Fraction(1, 2)), shift=1, epsilon=Fraction(1)
        )
        return upper_short(delta)


def _ones(coins: Coins, bits: Any, *, noise: int) -> int:
    """Return the number of ones that one shuffler outputs: the users' bits and ``noise`` fair bits."""
    distribution = Binomial(trials=noise, p="1/2")
    return int(coins.release(int(sum(bits)), distribution, site="ones", to=SHUFFLER_OUTPUT))


def _in_turn(coins: Coins, data: Any) -> tuple[int, int]:
    first = _ones(coins, data[:2], noise=FEW)
    second = _ones(coins, data[2:], noise=MORE if first % 2 == 0 else FEW)
    return first, second


def _overlapping(coins: Coins, data: Any) -> tuple[int, int]:
    return _ones(coins, data[:3], noise=FEW), _ones(coins, data[1:], noise=FEW)


in_turn, overlapping = TwoBatches(_in_turn), TwoBatches(_overlapping)
