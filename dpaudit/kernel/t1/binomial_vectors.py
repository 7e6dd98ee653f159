"""T1, rule ``binomial-vectors``: binomial noise of any number of trials on every coordinate of a vector.

The vector may be rounded at random first. This is a closed form for cases in which the sums of
``vector-noise`` would be too long.

Statement. Let s have values in R^K, changing between neighbours by a vector u with sum of squares at most S
and entries at most G in size. First s is made integer: it either is integer (``rounding`` none), or is
rounded entry by entry, up with the chance of its fractional part (``rounding`` unbiased), independently. Then
independent Bin(N, p) is added to every entry. Let q = 1 - p, V = N p q, r = ceil(G), T = ``deviation``, w =
(T + r) / (N min(p, q)) < 1, rho = |1/p - 1/q| / 2N + w^2 / (2 (1 - w)), and for an order a > 1 let E = exp((a
- 1) r / V) and k = (1 + (a - 1) E) / 2V. With

    R = k S + rho min(S, sqrt(K S))                                                         (none)
    R = k (S + K/4) + rho sqrt(K S) + (a - 1) (2 k sqrt(S) + (k + rho) sqrt(K))^2 / 8        (unbiased)

the outcomes left out by T have probability at most b = 2 K exp(-T^2 / (2 (V + T/3))), and the rest has
divergence at most R, in the sense of fact F5 of ``renyi``: ``times`` adaptive releases satisfy

    delta(e) <= times b + exp((a - 1)(times R - e)) / (a - 1) (1 - 1/a)^a.

Proof. *Rounding.* floor(x + U), U uniform on [0, 1), is the rounding of x. Let both neighbours use the same
U in each entry, and show U as well: that only helps the adversary. Given U the integers move by D_i, which
is floor or ceiling of u_i, with mean u_i; so |D_i| <= r, and if c = |u_i|, |D_i| is floor or ceiling of c,
has mean c, and a second moment of at most c^2 + 1/4.

*One entry.* Let X be Bin(N, p), z = X - N p, |z| <= T, and D >= 0 first. p(y) / p(y - 1) = (N - y + 1) p /
(y q). At y = X - j, j = 0, ..., D - 1, it is (1 - (z - j - 1) / Nq) / (1 + (z - j) / Np), both terms
positive by w < 1. From log(1 - v) <= -v, and -log(1 + v) <= -v + v^2 / (2 (1 - |v|)) for |v| < 1 (its
series), the sum of the logs over j is

    log p(X) / p(X - D) <= -z D / V + D^2 / 2V + D (1/q - 1/p) / 2N + D w^2 / (2 (1 - w)).

For D < 0 reflect: N - X is Bin(N, q), z becomes -z, p and q change places. So in both cases the loss is at
most -z D / V + D^2 / 2V + rho |D|.

*Its exponential moment.* The bound is positive after exp, so the restriction |z| <= T may be dropped.
psi(t), the log of the moment generating function of one centred trial, has psi(0) = psi'(0) = 0 and psi''(t)
= p q e^t / (q + p e^t)^2 <= p q e^|t|: for t >= 0 the denominator is at least 1, for t < 0 it is at least
e^2t. So N psi(t) <= V t^2 e^|t| / 2, and at t = -(a - 1) D / V: given U, log E exp((a - 1) loss) <= (a - 1)
h(|D|), h(D) = k D^2 + rho D.

*All entries.* They are independent: sums. Without rounding sum |D_i| <= sqrt(K S), and <= S for integers.
With it E h <= k (c^2 + 1/4) + rho c, and h takes two values, at most k (2 c + 1) + rho apart; Hoeffding's
lemma gives E exp((a - 1) h) <= exp((a - 1) E h + (a - 1)^2 (k (2 c + 1) + rho)^2 / 8), and by Minkowski the
root of the sum of the squares is at most 2 k sqrt(S) + (k + rho) sqrt(K).

*Out of range.* Bernstein's inequality on both sides of each entry. The bounds hold for every prefix, so
other releases may be mixed in; the conversion is that of F5, for the measure restricted to |z| <= T
everywhere. ∎

More trials than N are N and something independent: Bin(N + n) = Bin(N) + Bin(n). Other users' values, and
how they are rounded, are independent too, and average (F2). Sources: Cheu, Joseph, Mao, Peng 2022 (the
mechanism); the bound with its constants is worked out here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting, shared_noise
from dpaudit.kernel.t1.renyi_sums import converted, read_orders
from dpaudit.kernel.t1.tier import Curves, Tier

__all__ = ["BinomialVectors", "add_binomial_vectors"]

MAX_TRIALS = 10**24
BITS = 96


@dataclass(frozen=True)
class BinomialVectors:
    """``times`` releases of ``dimension`` entries with Bin(``trials``, ``chance``) noise on each.

    The change has sum of squares ``squares`` and entries up to ``largest``, before a random rounding if
    ``rounded``.
    """

    trials: int
    chance: Fraction
    dimension: int
    squares: Fraction
    largest: Fraction
    rounded: bool
    deviation: int
    times: int

    @property
    def reach(self) -> int:
        """Return r, the largest change of an integer entry."""
        return -int(-self.largest // 1)

    @property
    def width(self) -> Fraction:
        """Return w, the distance of an outcome from the mean as a share of the mean number of the rarer
        outcome.
        """
        return (self.deviation + self.reach) / (self.trials * min(self.chance, 1 - self.chance))

    def cut(self, order: Fraction) -> tuple[arb, arb]:
        """Return the probability that some entry is out of range, and the divergence of ``order`` in
        range.
        """
        with precision(BITS):
            p, reach, t = self.chance, self.reach, self.deviation
            variance = self.trials * p * (1 - p)
            outside = 2 * self.dimension * (-ball(Fraction(t * t) / (2 * (variance + Fraction(t, 3))))).exp()
            moment = (ball((order - 1) * reach / variance)).exp()
            k = (1 + ball(order - 1) * moment) / ball(2 * variance)
            rho = abs(1 / p - 1 / (1 - p)) / (2 * self.trials) + self.width**2 / (2 * (1 - self.width))
            return self.times * outside, self.times * self._divergence(k, ball(rho), order)

    def _divergence(self, k: arb, rho: arb, order: Fraction) -> arb:
        """Return R of the statement."""
        squares, entries = ball(self.squares), arb(self.dimension)
        mean = (squares * entries).sqrt()
        if not self.rounded:
            return k * squares + rho * mean.min(squares)
        spread = 2 * k * squares.sqrt() + (k + rho) * entries.sqrt()
        return k * (squares + entries / 4) + rho * mean + ball(order - 1) * spread**2 / 8


def add_binomial_vectors(tier: Tier) -> None:
    """Add the rule ``binomial-vectors``."""

    @tier.rule("binomial-vectors")
    def _binomial_vectors(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        noise = read_noise(p)
        orders = read_orders(p)
        assumed = shared_noise(p, setting, "at least the stated noise is added")
        curves = Curves(profile=converted(noise.cut, orders), cut=noise.cut, orders=orders)
        return Guarantee(curves=curves, assumptions=assumed)


def read_noise(p: Parameters) -> BinomialVectors:
    """Read the mechanism of a node. Refuse parameters outside the statement."""
    rounding = p.choice("rounding", ["none", "unbiased"])
    noise = BinomialVectors(
        trials=p.integer("trials", low=1, high=MAX_TRIALS),
        chance=p.number("probability"),
        dimension=p.integer("dimension", low=1, high=10**12),
        squares=p.positive("l2_squared", zero=True),
        largest=p.positive("largest", zero=True),
        rounded=rounding == "unbiased",
        deviation=p.integer("deviation", low=1, high=MAX_TRIALS),
        times=p.integer("times", low=1, high=10**12),
    )
    p.need(
        0 < noise.chance < 1,
        f"probability must be in (0, 1), got {noise.chance}.",
    )
    p.need(
        noise.width < 1,
        f"deviation plus largest must be less than trials times min(probability, 1 - probability), got a "
        f"ratio of {float(noise.width):.4g}.",
    )
    p.need(
        noise.rounded or noise.largest.denominator == 1,
        f"largest must be an integer if rounding is none, got {noise.largest}.",
    )
    return noise
