"""Vector sums with binomial noise: the rule, the orders and the range that say most about one claim.

Two rules know of them. ``vector-noise`` adds up all outcomes and is close; ``binomial-vectors`` has a closed
form, which is close where the noise is wide. What is chosen here is tried by the kernel; nothing is trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from dpaudit.certify.mechanisms import binomial_vectors, vector_noise
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, in_figures, positive, probability
from dpaudit.kernel import check

__all__ = ["BinomialSum", "linear_statistics"]

#: Work that the sums of ``vector-noise`` may take: points times reach times orders.
MAX_WORK = 250_000
#: What is left out may be so large a part of delta.
LEFT_OUT = 1e-3
#: Beyond so many standard deviations delta is below e^-800, and no order does better.
FAR = 40.0
#: Variances and squared changes beyond this leave the floats that choose orders and a range.
LARGEST = Fraction(10**300)


@dataclass(frozen=True, kw_only=True)
class BinomialSum:
    """``times`` releases of a vector of ``dimension`` entries with Bin(``trials``, ``chance``) on each.

    Before a random rounding the change has sum of squares at most ``squares`` and entries up to ``largest``.
    Raises ``InvalidParameterError`` for a number of trials, entries or releases below 1, a chance outside
    (0, 1), a change that is not positive, and a squared change or a variance above 1e300.
    """

    trials: int
    chance: ExactLike
    dimension: int
    squares: ExactLike
    largest: ExactLike
    times: int = 1
    variance: Fraction = field(init=False)

    def __post_init__(self) -> None:
        if min(self.trials, self.dimension, self.times) < 1:
            raise InvalidParameterError(
                "trials, dimension and times must be 1 or more, got "
                f"{self.trials}, {self.dimension} and {self.times}; raise them."
            )
        p = probability(self.chance, name="chance")
        if not 0 < p < 1:
            raise InvalidParameterError(
                f"chance must be in (0, 1), got {p}; without noise nothing is private."
            )
        positive(self.largest, name="largest")
        object.__setattr__(self, "variance", self.trials * p * (1 - p))
        if max(positive(self.squares, name="squares"), self.variance) > LARGEST:
            raise InvalidParameterError(
                "the squared change and the variance of the noise must be at most 1e300, got "
                f"{in_figures(exact(self.squares))} and {in_figures(self.variance)}; take a smaller "
                "sensitivity, or fewer trials."
            )

    @property
    def scale(self) -> float:
        """The change in standard deviations of the noise: mu of the Gaussian mechanism that comes near."""
        squares = float(exact(self.squares)) + self.dimension / 4
        return math.sqrt(self.times * squares / float(self.variance))

    def proof(self, *, epsilon: ExactLike, delta: ExactLike, beside: float = 0.0) -> Proof:
        """The closer rule that is feasible, with what suits (``epsilon``, ``delta``) where this is composed
        with mechanisms whose mu² add up to ``beside``, this one's further repetitions among them."""
        scale = math.hypot(self.scale, math.sqrt(beside))
        ratio = min(float(exact(epsilon)) / scale, FAR)
        orders = sorted({self._order(scale, u) for u in self._tilts(ratio)})
        reach, width = math.ceil(exact(self.largest)), math.sqrt(float(self.variance))
        bits = max(40, math.ceil(self._depth(delta) / math.log(2)))
        if 2 * width * math.sqrt(2 * bits) * reach * len(orders) / 2 <= MAX_WORK:
            return self._summed(orders[1:-1:2] or orders, reach, bits)
        return self._closed(orders, delta)

    def _summed(self, orders: list[Fraction], reach: int, bits: int) -> Proof:
        return vector_noise(
            "binomial",
            trials=self.trials,
            probability=self.chance,
            dimension=self.dimension,
            l2_squared=self.squares,
            largest=reach,
            orders=orders,
            times=self.times,
            cut=bits,
            rounding="unbiased",
        )

    def _closed(self, orders: list[Fraction], delta: ExactLike) -> Proof:
        depth, variance = self._depth(delta), float(self.variance)
        deviation = math.ceil(depth / 3 + math.sqrt(depth**2 / 9 + 2 * variance * depth))
        return binomial_vectors(
            trials=self.trials,
            probability=self.chance,
            dimension=self.dimension,
            l2_squared=self.squares,
            largest=self.largest,
            rounding="unbiased",
            orders=orders,
            deviation=deviation,
            times=self.times,
        )

    def _depth(self, delta: ExactLike) -> float:
        """-log of the probability that one end of one entry may leave out, of any size: ``delta`` may be
        below every float."""
        loss = positive(delta, name="delta")
        small = math.log(loss.denominator) - math.log(loss.numerator)
        return small + math.log(2 * self.dimension * self.times) - math.log(LEFT_OUT)

    def smallest_epsilon(self, delta: ExactLike, *, digits: int = 3) -> Fraction:
        """The least epsilon of so many digits, rounded up, that a proof from here certifies with ``delta``,
        or 0; orders are chosen again where the last ones led."""
        guess = Fraction(0)
        for _ in range(3):
            guess = self._least(self.proof(epsilon=guess, delta=delta), exact(delta), guess)
            if guess == 0:
                return guess
        step = Fraction(10) ** (math.floor(math.log10(guess)) - digits + 1)
        return math.ceil(guess / step) * step

    def _least(self, proof: Proof, delta: Fraction, guess: Fraction) -> Fraction:
        """The least epsilon at which ``proof`` is enough, to a thousandth; one derivation for all of them."""
        guarantee = check.derive(proof.to_json(), ApproxDP(epsilon=guess, delta=1))

        def holds(epsilon: float) -> bool:
            bound = check.derived_bound(guarantee, ApproxDP(epsilon=Fraction(epsilon), delta=1))
            return bound is not None and bound <= delta

        if holds(0.0):
            return Fraction(0)
        low, high = 0.0, self.scale
        while not holds(high):
            low, high = high, 2 * high
        while high - low > high / 2000:
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return Fraction(high)

    @staticmethod
    def _tilts(ratio: float) -> list[float]:
        """(a - 1) mu near its best value for Gaussian noise, about epsilon / mu."""
        best = (ratio + math.sqrt(ratio * ratio + 4)) / 2
        return [best * factor for factor in (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5)]

    @staticmethod
    def _order(scale: float, tilt: float) -> Fraction:
        return 1 + Fraction(f"{tilt / scale:.3g}")


def linear_statistics(
    *, dim: int, scale: ExactLike, trials: int, chance: ExactLike, times: int = 1
) -> BinomialSum:
    """The sum of a linear bandit's statistics (phi y, phi phi^T on and above its diagonal), ``scale`` times,
    for ||phi|| <= 1 and |y| <= 1: ``dim`` + ``dim`` (``dim`` + 1) / 2 entries, sum of squares 9/2 scale^2,
    entries up to 2 scale.

    Proof. Let phi, phi' have squared lengths a, a' <= 1 and product c. ||y phi - y' phi'||^2 <= a + a' +
    2|c|, and the entries on and above the diagonal change by at most ||phi phi^T - phi' phi'^T||_F^2 = a^2 +
    a'^2 - 2 c^2. Together at most 4 + 2|c| - 2c^2 <= 9/2, with equality only at |c| = 1/2. Entries of phi y
    are in [-1, 1], those of phi phi^T in [-1/2, 1/2] off the diagonal and [0, 1] on it. ∎"""
    if dim < 1:
        raise InvalidParameterError(f"dim must be 1 or more, got {dim}; count the features.")
    by = positive(scale, name="scale")
    return BinomialSum(
        trials=trials,
        chance=chance,
        dimension=dim + dim * (dim + 1) // 2,
        squares=Fraction(9, 2) * by**2,
        largest=2 * by,
        times=times,
    )
