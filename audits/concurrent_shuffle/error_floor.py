"""Bound the error of Algorithm 3 from below, in units of rep_{n,k}.

At horizons that meet the hypotheses of Theorem 4.1 the bound is computed without simulation. At small
horizons the algorithm is simulated on its hard inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from audits.concurrent_shuffle.hard_inputs import family, largest_delta, repeat_len
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import arb, ball, lower
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import (
    binary_tree,
    build_tree,
    highest_levels,
    lowest_levels,
)
from dpaudit.reference.mechanisms.prefix_noise import PrefixNoise

__all__ = ["MECHANISMS", "Floor", "chance_above", "in_units", "median_above", "median_floor"]

#: Constant of the Berry-Esseen theorem for independent, identically distributed variables (Shevtsova 2011:
#: 0.4748).
BERRY_ESSEEN = Fraction(4748, 10000)


def _budget(n: int, k: int, epsilon: Fraction) -> Fraction:
    """Return a δ that the theorem allows: 0.99 of the limit."""
    return Fraction(99, 100) * largest_delta(n, k, epsilon)


@dataclass(frozen=True, kw_only=True)
class Floor:
    """Algorithm 3 with calibrated bits at n = m^{2k+1}.

    At time (d - 1) d_low no user is blind, and the error is the noise of d - 1 nodes of height 1, which
    sums to Bin(T, p) - T p.
    """

    m: int
    k: int
    epsilon: Fraction

    @property
    def horizon(self) -> int:
        return self.m ** (2 * self.k + 1)

    @property
    def rep(self) -> arb:
        return repeat_len(self.horizon, self.k, self.epsilon)

    @property
    def delta(self) -> Fraction:
        return _budget(self.horizon, self.k, self.epsilon)

    @property
    def noise(self) -> Binomial:
        """Return Bin(T, p): the T noise bits at height 1 of all nodes but one."""
        node = binary_sum_mechanism(self.m, self.epsilon / self.k, self.delta / self.k)
        return Binomial(trials=(self.m**2 - 1) * node.noise.trials, p=node.p)


def chance_above(noise: Binomial, level: arb) -> arb:
    """Return a lower bound on P(|X - T p| >= level) for X of distribution Bin(T, p).

    The bound is the normal probability minus the Berry-Esseen error on both sides.
    """
    p, spread = Fraction(noise.p), _spread(noise)
    normal: arb = (level / spread / arb(2).sqrt()).erfc()
    return normal - 2 * ball(BERRY_ESSEEN * (p**2 + (1 - p) ** 2)) / spread


def _spread(noise: Binomial) -> arb:
    p = Fraction(noise.p)
    result: arb = ball(noise.trials * p * (1 - p)).sqrt()
    return result


def median_above(floor: Floor) -> arb:
    """Return a level, in units of rep, that |error| reaches with probability 1/2 or more.

    The level is 0 if the Berry-Esseen theorem gives no positive one.
    """
    for share in range(6744, 0, -1):
        level = _spread(floor.noise) * ball(Fraction(share, 10000))
        if chance_above(floor.noise, level) > ball(Fraction(1, 2)):
            return level / floor.rep
    return arb(0)


# Simulations on hard inputs

Build = Callable[[int, int, Fraction, Fraction], PrefixNoise]


def _algorithm_3(n: int, k: int, epsilon: Fraction, delta: Fraction) -> PrefixNoise:
    return ConcurrentSum(build_tree(horizon=n, n_shufflers=k), binary_sum_mechanism, epsilon, delta)


def _recalled(n: int, k: int, epsilon: Fraction, delta: Fraction) -> PrefixNoise:
    tree = build_tree(horizon=n, n_shufflers=k)
    return ConcurrentSum(
        tree, lambda *node: binary_sum_mechanism(*node, variant="tkms21_recalled"), epsilon, delta
    )


def _lowest(n: int, k: int, epsilon: Fraction, delta: Fraction) -> PrefixNoise:
    return ConcurrentSum(lowest_levels(n, n_shufflers=k), binary_sum_mechanism, epsilon, delta)


def _highest(n: int, k: int, epsilon: Fraction, delta: Fraction) -> PrefixNoise:
    return ConcurrentSum(highest_levels(n, n_shufflers=k), binary_sum_mechanism, epsilon, delta)


def _algorithm_2(n: int, k: int, epsilon: Fraction, delta: Fraction) -> PrefixNoise:
    tree = binary_tree(n)
    if tree.n_shufflers != k:
        raise InvalidParameterError(
            f"Algorithm 2 must have log n - 1 = {tree.n_shufflers} shufflers, got {k}."
        )
    return ConcurrentSum(tree, binary_sum_mechanism, epsilon, delta)


#: Every implemented algorithm, for k shufflers. n is a power of two.
MECHANISMS: dict[str, Build] = {
    "Algorithm 3, calibrated bits": _algorithm_3,
    "Algorithm 3, recalled bits": _recalled,
    "the k lowest levels": _lowest,
    "the k highest levels": _highest,
    "Algorithm 2": _algorithm_2,
}


def in_units(
    name: str, *, n: int, k: int, epsilon: Fraction, runs: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return max over t of |error| divided by rep_{n,k}, sorted, with shape (members, runs).

    The members of D_{n,k} have every prefix that ``family`` yields.
    """
    noise = MECHANISMS[name](n, k, epsilon, _budget(n, k, epsilon))
    rep = lower(repeat_len(n, k, epsilon))
    found = [
        np.abs(noise.errors(member.draw(rng, runs=runs), rng, runs=runs)).max(axis=1) / rep
        for member in family(n, k, epsilon)
    ]
    return np.sort(np.array(found), axis=1)


def median_floor(found: NDArray[np.float64], *, alpha: float) -> float:
    """Return a lower confidence bound on the smallest of the members' medians.

    Each median exceeds its order statistic except with probability alpha/members.
    """
    members, runs = found.shape
    rank = np.count_nonzero(special.bdtr(np.arange(runs), runs, 0.5) <= alpha / members)
    return float(found[:, rank - 1].min()) if rank else 0.0
