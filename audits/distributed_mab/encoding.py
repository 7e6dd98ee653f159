"""Fixed-point encoding, and the analyzer on every noisy sum of small sizes, in exact numbers.

Rewards are dyadic, and so are the probabilities of their encodings: means, ranges and laws below are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Coins, enumerate_view
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import Binomial
from dpaudit.views import PUBLIC, View
from mechanisms.fixed_point import encode, encoding_law, split_reward
from mechanisms.local_noise import polya_share
from mechanisms.modular_sum import decoded_sum
from mechanisms.parameter_sheet import Sheet

__all__ = ["Circle", "mean_error", "rounding_distance", "rounding_ends", "sum_movement"]


def mean_error(reward: Fraction, precision: int) -> Any:
    """E[x̂] - x g as a ball, without radius for a dyadic reward."""
    law = encoding_law(reward, precision=precision)
    return sum((p * int(k) for k, p in law.atoms()), arb(0)) - ball(reward * precision)


def rounding_ends(reward: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    """The least and the largest ι = x̂ - x g."""
    errors = [int(k) - reward * precision for k, _ in encoding_law(reward, precision=precision).atoms()]
    return min(errors), max(errors)


def sum_movement(before: Fraction, after: Fraction, precision: int) -> int:
    """The most that Σ x̂ can move when one reward changes from ``before`` to ``after``, roundings free."""
    laws = [encoding_law(reward, precision=precision) for reward in (before, after)]
    here, there = ([int(k) for k, _ in law.atoms()] for law in laws)
    return max(abs(a - b) for a, b in itertools.product(here, there))


def rounding_distance(reward: Fraction, *, users: int, precision: int) -> Any:
    """Total variation between Σ x̂ of the running program, user by user, and n ⌊x g⌋ + Bin(n,
    x g - ⌊x g⌋)."""

    def program(coins: Coins, data: Sequence[Fraction]) -> None:
        coins.reveal(int(sum(encode(coins, data, precision=precision))), site="sum")

    found = enumerate_view(program, [reward] * users, view=View.of(PUBLIC))
    whole, rest = split_reward(reward, precision=precision)
    law = Binomial(trials=users, p=rest).shift(users * whole)
    total = {seen[0]: found.probabilities[key] for key, seen in found.transcripts.items()}
    return sum((abs(p - law.logp_ball(k).exp()) for k, p in total.items()), arb(0)) / 2


@dataclass(frozen=True, kw_only=True)
class Circle:
    """One (n, g, τ), the modulus n g + 2τ + 1 - ``short``, and the noisy sums v in a window of them."""

    n: int
    g: int
    tau: int
    short: int = 0

    @property
    def sheet(self) -> Sheet:
        modulus = self.n * self.g + 2 * self.tau + 1 - self.short
        return Sheet(
            trust="distributed",
            users=self.n,
            precision=self.g,
            noise_margin=self.tau,
            modulus=modulus,
            tail_prob=Fraction(1, 2),
            share=polya_share(users=self.n, epsilon=1, precision=self.g),
        )

    def inside(self) -> NDArray[np.int64]:
        """-τ, ..., n g + τ."""
        return np.arange(-self.tau, self.n * self.g + self.tau + 1)

    def outside(self) -> NDArray[np.int64]:
        """Two moduli on either side of it."""
        m, window = self.sheet.modulus, self.inside()
        return np.concatenate([np.arange(window[0] - 2 * m, window[0]), np.arange(1, 2 * m + 1) + window[-1]])

    def errors(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """g times (analyzer's output - v/g), exact integers: outputs are multiples of 1/g."""
        decoded = np.asarray(decoded_sum(sums % self.sheet.modulus, self.sheet))
        return np.asarray(np.rint(decoded * self.g).astype(np.int64) - sums)

    def cases(self) -> int:
        """How many v in the window break Case 1 (ŷ > n g + τ, then v in [-τ, 0) and ŷ - m = v) or Case 2
        (otherwise ŷ = v)."""
        v, m = self.inside(), self.sheet.modulus
        y = v % m
        high = y > self.n * self.g + self.tau
        first = (v >= -self.tau) & (v < 0) & (y - m == v)
        return int(np.count_nonzero(~np.where(high, first, y == v)))
