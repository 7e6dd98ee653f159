"""Choose a rule and its parameters for vector sums with binomial noise under one claim.

Two rules apply. ``vector-noise`` sums over all outcomes and is tight. ``binomial-vectors`` has a closed form,
which is tight for wide noise. The kernel checks the result, so nothing here is trusted.
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

#: Largest cost of the sums of ``vector-noise``: points times reach times orders.
MAX_WORK = 250_000
#: Largest part of delta that may be left out.
LEFT_OUT = 1e-3
#: Beyond this many standard deviations delta is below e^-800, and no order does better.
FAR = 40.0
#: Larger variances and squared changes would overflow the floats that choose orders and a range.
LARGEST = Fraction(10**300)


@dataclass(frozen=True, kw_only=True)
class BinomialSum:
    """``times`` releases of a vector of ``dimension`` entries with Bin(``trials``, ``chance``) noise on each.

    Parameters
    ----------
    trials, dimension, times : int
        All at least 1.
    chance : exact number in (0, 1)
        The probability of each trial.
    squares, largest : exact numbers
        The largest sum of squares of the change, and the largest change of an entry, before a random
        rounding.
    variance : Fraction
        The variance of the noise on one entry (computed).

    Raises
    ------
    InvalidParameterError
        A parameter is outside its range, or a squared change or a variance exceeds 1e300.
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
                f"{self.trials}, {self.dimension} and {self.times}.",
                code="E-BINOMIAL-COUNT",
            )
        p = probability(self.chance, name="chance")
        if not 0 < p < 1:
            raise InvalidParameterError(f"chance must be in (0, 1), got {p}.", code="E-CHANCE-RANGE")
        positive(self.largest, name="largest")
        object.__setattr__(self, "variance", self.trials * p * (1 - p))
        if max(positive(self.squares, name="squares"), self.variance) > LARGEST:
            raise InvalidParameterError(
                "the squared change and the variance of the noise must be at most 1e300, got "
                f"{in_figures(exact(self.squares))} and {in_figures(self.variance)}.",
                code="E-BINOMIAL-TOO-LARGE",
            )

    @property
    def scale(self) -> float:
        """Return the change in standard deviations of the noise: mu of the closest Gaussian mechanism."""
        squares = float(exact(self.squares)) + self.dimension / 4
        return math.sqrt(self.times * squares / float(self.variance))

    def proof(self, *, epsilon: ExactLike, delta: ExactLike, beside: float = 0.0) -> Proof:
        """Return a proof by the tighter feasible rule, with orders chosen for (``epsilon``, ``delta``).

        ``beside`` is the sum of mu² of the mechanisms that this one is composed with, its own further
        repetitions included.
        """
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
        """Return -log of the probability that one end of one entry may leave out.

        Exact logarithms are used, because ``delta`` may be below every float.
        """
        loss = positive(delta, name="delta")
        small = math.log(loss.denominator) - math.log(loss.numerator)
        return small + math.log(2 * self.dimension * self.times) - math.log(LEFT_OUT)

    def smallest_epsilon(self, delta: ExactLike, *, digits: int = 3) -> Fraction:
        """Return the least epsilon, rounded up to ``digits`` digits, that such a proof certifies with
        ``delta``.

        The result is 0 if epsilon 0 suffices. Orders are chosen again at each epsilon found.
        """
        guess = Fraction(0)
        for _ in range(3):
            guess = self._least(self.proof(epsilon=guess, delta=delta), exact(delta), guess)
            if guess == 0:
                return guess
        step = Fraction(10) ** (math.floor(math.log10(guess)) - digits + 1)
        return math.ceil(guess / step) * step

    def _least(self, proof: Proof, delta: Fraction, guess: Fraction) -> Fraction:
        """Return the least epsilon, to a thousandth, at which ``proof`` suffices. One derivation serves all
        of them.
        """
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
        """Return values of (a - 1) mu near the best one for Gaussian noise, which is about epsilon / mu."""
        best = (ratio + math.sqrt(ratio * ratio + 4)) / 2
        return [best * factor for factor in (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5)]

    @staticmethod
    def _order(scale: float, tilt: float) -> Fraction:
        return 1 + Fraction(f"{tilt / scale:.3g}")


def linear_statistics(
    *, dim: int, scale: ExactLike, trials: int, chance: ExactLike, times: int = 1
) -> BinomialSum:
    """Describe the sum of a linear bandit's statistics, phi y and phi phi^T, multiplied by ``scale``.

    For ||phi|| <= 1 and |y| <= 1, with phi phi^T on and above its diagonal, the vector has ``dim`` + ``dim``
    (``dim`` + 1) / 2 entries. Its change has sum of squares at most 9/2 scale^2 and entries up to 2 scale.

    Proof. Let phi, phi' have squared lengths a, a' <= 1 and product c. ||y phi - y' phi'||^2 <= a + a' +
    2|c|, and the entries on and above the diagonal change by at most ||phi phi^T - phi' phi'^T||_F^2 = a^2 +
    a'^2 - 2 c^2. The sum of both is at most 4 + 2|c| - 2c^2 <= 9/2, with equality only at |c| = 1/2. Entries
    of phi y are in [-1, 1]. Entries of phi phi^T are in [-1/2, 1/2] off the diagonal and in [0, 1] on it. ∎
    """
    if dim < 1:
        raise InvalidParameterError(f"dim must be 1 or more, got {dim}.", code="E-DIM-RANGE")
    by = positive(scale, name="scale")
    return BinomialSum(
        trials=trials,
        chance=chance,
        dimension=dim + dim * (dim + 1) // 2,
        squares=Fraction(9, 2) * by**2,
        largest=2 * by,
        times=times,
    )
