"""T1 and T2, rule ``vector-noise``: independent lattice noise on an integer vector with an l2 bound on its
change.

Statement. Let q have values in Z^d, changing between neighbours by an integer vector with sum of squares at
most R2 and entries at most g in size, and let Z have independent coordinates of one log-concave distribution.
For every order a > 1, with kappa_a as in fact F5 of ``renyi`` (on a range that each coordinate of the noise
leaves with probability at most b), ``times`` adaptive releases satisfy

    delta(e) <= times d b + exp((a - 1)(times kappa_a R2 - e)) / (a - 1) (1 - 1/a)^a.

Proof. F5 bounds the Renyi divergence of one release restricted to the range. The outcomes of all releases out
of range have probability at most times d b under P. Conditional Renyi divergences bounded for every prefix
add, so other releases may be mixed in (``composition``). The last term is the conversion of F5 (Canonne,
Kamath, Steinke 2020, Proposition 12). Randomised rounding that both neighbours share is averaged out (F2).
Then R2 and g bound the change after rounding. ∎

With ``rounding`` unbiased, q is a vector of reals that changes by u with sum of squares at most R2. Its
entries are rounded up independently with probability equal to their fractional parts, and g bounds the
entries after rounding. Then kappa_a R2 is replaced by

    kappa_a (R2 + d/4) + (a - 1) kappa_a^2 (2 sqrt(R2) + sqrt(d))^2 / 8.

Proof. As in ``binomial_vectors`` with rho = 0: both sides round by one coin, shown to the adversary. Given it
an entry changes by D, floor or ceiling of c = |u_i|, and log E exp((a - 1) loss) <= (a - 1) kappa_a D^2 by
F5. The mean of D^2 is at most c^2 + 1/4, its two values are at most 2c + 1 apart: Hoeffding's lemma and
Minkowski. ∎

No worst direction of the change is assumed: the maximum over each coordinate's shift is taken. The smallest
bound over the listed ``orders`` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting
from dpaudit.kernel.t1.integer_noise import Family, noise_conditions, read_family
from dpaudit.kernel.t1.lattice import LogConcave, bulk
from dpaudit.kernel.t1.renyi import kappa
from dpaudit.kernel.t1.renyi_sums import converted, read_orders
from dpaudit.kernel.t1.tier import Curves, Tier

__all__ = ["VectorNoise", "add_vector_noise"]

MAX_REACH = 2000
MAX_TERMS = 4_000_000
BITS = 96


@dataclass(frozen=True)
class VectorNoise:
    """``times`` releases of ``dimension`` coordinates with noise ``distribution`` on each.

    For the Renyi sums, the noise is cut at mass 2^-``cutoff``.
    """

    distribution: LogConcave
    dimension: int
    squares: Fraction
    reach: int
    cutoff: int
    times: int
    rounded: bool = False

    def cut(self, order: Fraction) -> tuple[arb, arb]:
        """Return the probability that some coordinate is out of range, and the divergence of ``order`` in
        range.
        """
        outside, worst = _worst(self.distribution, self.cutoff, self.reach, order)
        with precision(BITS):
            return self.times * self.dimension * outside, self.times * self._divergence(worst, order)

    def _divergence(self, worst: arb, order: Fraction) -> arb:
        """Return the divergence of one release from kappa."""
        if not self.rounded:
            return worst * ball(self.squares)
        spread = 2 * ball(self.squares).sqrt() + arb(self.dimension).sqrt()
        mean = worst * ball(self.squares + Fraction(self.dimension, 4))
        return mean + ball(order - 1) * (worst * spread) ** 2 / 8


@lru_cache(maxsize=256)  # one certificate is read several times, and each time by all its orders
def _worst(distribution: LogConcave, cutoff: int, reach: int, order: Fraction) -> tuple[arb, arb]:
    """Return the probability that a coordinate is out of range, and kappa of ``order`` on the range."""
    with precision(BITS):
        outside, logs = _in_range(distribution, cutoff, reach)
        return outside, kappa(logs, reach=reach, order=order)


@lru_cache(maxsize=2)  # the result is the same for all orders, and a range may be long
def _in_range(distribution: LogConcave, cutoff: int, reach: int) -> tuple[arb, list[arb]]:
    """Return the probability that a coordinate is out of range, and logs of masses at ``BITS``.

    The logs go from ``reach`` below the range to ``reach`` above it. If the support ends, the range is
    reduced by the reach, so that the shifted distribution has mass there.
    """
    first, last, below, above = bulk(distribution, cutoff)
    low = first if distribution.first is None else max(first, distribution.first + reach)
    high = last if distribution.last is None else min(last, distribution.last - reach)
    if low >= high:
        raise InvalidParameterError("the noise must be wider than the shift.", code="E-NOISE-NARROW")
    if (high - low) * reach > MAX_TERMS:
        raise InvalidParameterError(
            f"width times reach must be at most {MAX_TERMS}, got {(high - low) * reach}.",
            code="E-TERMS-TOO-MANY",
        )
    whole = (low, high) == (first, last)
    outside = below + above if whole else 1 - sum(distribution.masses(low, high), arb(0))
    return outside, [p.log() for p in distribution.masses(low - reach, high + reach)]


def add_vector_noise(tier: Tier, families: Mapping[str, Family]) -> None:
    """Add the rule ``vector-noise`` for these families of distributions."""

    @tier.rule("vector-noise")
    def _vector_noise(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise = VectorNoise(
            distribution=read_family(p, families).read(p),
            dimension=p.integer("dimension", low=1, high=10**12),
            squares=p.positive("l2_squared", zero=True),
            reach=p.integer("largest", low=1, high=MAX_REACH),
            cutoff=p.integer("cut", low=20, high=2000),
            times=p.integer("times", low=1, high=10**12),
            rounded="rounding" in p and p.choice("rounding", ["none", "unbiased"]) == "unbiased",
        )
        orders = read_orders(p)
        curves = Curves(profile=converted(noise.cut, orders), cut=noise.cut, orders=orders)
        return Guarantee(curves=curves, assumptions=noise_conditions(p, setting, noise.distribution))
