"""Private sums of bits through one shuffler: every user sends her bit and some random bits.

Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023, arXiv 2301.12535), section 2.2, call their node mechanism
"Algorithm 3 of Tenenbaum et al. (2021)" and print no details. The two variants here replace it:

* ``calibrated``, ours: the smallest noise that the exact hockey-stick divergence allows. In a small batch
  every user sends r fair bits, in a large batch a single bit that is 1 with probability p < 1/2.
* ``tkms21_recalled``: as that paper is remembered, unverified: tau = 96 log(2/delta)/epsilon^2 noisy bits in
  all, fair bits if tau >= n, otherwise bits that are 1 with probability tau/(2n).

A shuffled list of bits reveals only their number of ones. The mechanism is therefore the true sum plus
Bin(n r, p), and it is private if a binomial distribution and its shift by 1 are indistinguishable in both
directions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive, probability
from dpaudit.core.views import SHUFFLER_OUTPUT
from dpaudit.distributions import Binomial, Distribution, Sum
from dpaudit.kernel.ball import ball
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t2 import special_distributions

__all__ = [
    "BinarySum",
    "Variant",
    "binary_sum_mechanism",
    "binomial_delta",
    "passes",
    "smallest_probability",
    "smallest_trials",
]

Variant = Literal["calibrated", "tkms21_recalled"]

#: Denominator of the searched probabilities: the result is a dyadic number at or above the smallest valid
#: probability.
GRAIN = 2**40


@dataclass(frozen=True, kw_only=True)
class BinarySum:
    """The sum of up to ``n_users`` bits.

    Each user sends her own bit and ``trials`` bits that are 1 with probability ``p``. ``epsilon`` and
    ``delta`` are the budget that it was built for.
    """

    n_users: int
    trials: int
    p: Fraction
    epsilon: Fraction
    delta: Fraction
    variant: str

    @property
    def noise(self) -> Binomial:
        """Return the number that is added to the true sum before the analyzer subtracts the mean."""
        return Binomial(trials=self.n_users * self.trials, p=self.p)

    @property
    def variance(self) -> Fraction:
        """Return the variance of the estimate's error."""
        return self.n_users * self.trials * self.p * (1 - self.p)

    @property
    def proxy(self) -> arb:
        """Return the optimal sub-Gaussian variance proxy of the error.

        It is (1 - 2p) / (2 log((1 - p)/p)) per bit, and 1/4 at p = 1/2 (Kearns and Saul 1998, Buldygin and
        Moskvichova 2013).
        """
        bits = self.n_users * self.trials
        if self.p == Fraction(1, 2):
            return ball(Fraction(bits, 4))
        odds = (1 - self.p) / self.p
        return bits * ball(1 - 2 * self.p) / (2 * ball(odds).log())

    @property
    def bits_per_user(self) -> int:
        return 1 + self.trials

    def user_distribution(self, bit: int) -> Distribution:
        """Return the distribution of the number of ones that a user with this ``bit`` sends."""
        return Binomial(trials=self.trials, p=self.p).shift(int(bit))

    def messages(self, bit: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one user's messages, her own bit first: shape (1 + trials,)."""
        noise = rng.binomial(1, float(self.p), size=self.trials)
        return np.concatenate([[int(bit)], noise]).astype(np.int64)

    def draw_noise(self, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw errors of independent estimates, of shape ``size``."""
        distribution = self.noise
        drawn = rng.binomial(distribution.trials, float(distribution.p), size=size) - float(
            distribution.trials * distribution.p
        )
        return np.asarray(drawn)

    def analyze(self, ones: Any) -> Any:
        """Estimate the sum from the number of ones received, as a float or an array."""
        return ones - float(self.n_users * self.trials * self.p)

    def __call__(self, coins: Coins, bits: Sequence[int], *, site: str) -> Any:
        """Run one batch under ``coins``: release the number of ones as the shuffler's output and return the
        estimate.

        Raises ``InvalidParameterError`` unless there are exactly ``n_users`` ``bits``.
        """
        if len(bits) != self.n_users:
            raise InvalidParameterError(f"a batch must have {self.n_users} users, got {len(bits)}.")
        distributions = [self.user_distribution(bit) for bit in bits]
        return self.analyze(coins.aggregate(distributions, Sum(), site=site, to=SHUFFLER_OUTPUT))


def binary_sum_mechanism(
    n_users: int, epsilon: ExactLike, delta: ExactLike, *, variant: Variant = "calibrated"
) -> BinarySum:
    """Build the mechanism for batches of ``n_users`` >= 1 bits, ``epsilon`` > 0 and ``delta`` in (0, 1).

    Raises ``InvalidParameterError`` for other parameters.
    """
    budget, slack = _parameters(n_users, epsilon, delta)
    if variant == "calibrated":
        needed = smallest_trials(epsilon=budget, delta=slack)
        trials, p = -(-needed // n_users), Fraction(1, 2)
        if n_users > needed:
            p = smallest_probability(n_users=n_users, epsilon=budget, delta=slack)
    else:
        tau = 96 * math.log(2 / slack) / float(budget) ** 2
        trials, p = math.ceil(tau / n_users), Fraction(1, 2)
        if n_users > tau:
            p = Fraction(math.ceil(tau / (2 * n_users) * GRAIN), GRAIN)
    return BinarySum(n_users=n_users, trials=trials, p=p, epsilon=budget, delta=slack, variant=variant)


def _parameters(n_users: int, epsilon: ExactLike, delta: ExactLike) -> tuple[Fraction, Fraction]:
    budget, slack = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    if n_users < 1 or not 0 < slack < 1:
        raise InvalidParameterError(
            f"n_users must be 1 or more and delta in (0, 1), got {n_users} and {slack}."
        )
    return budget, slack


def binomial_delta(*, trials: int, p: float, epsilon: float) -> float:
    """Return the least delta of Bin(trials, p) against its shift by 1, in floats.

    It is the larger delta of both directions. The likelihood ratio of k against k - 1 successes falls in k,
    so the best event is a half-line that ends where the ratio reaches e^epsilon. Delta is the difference of
    two distribution functions at that point.
    """
    e, q = math.exp(epsilon), 1 - p
    # forth: P(X = k) > e P(X = k - 1) for k < (trials + 1) p / (p + e q)
    last = math.ceil((trials + 1) * p / (p + e * q)) - 1
    forth = special.bdtr(last, trials, p) - (e * special.bdtr(last - 1, trials, p) if last >= 1 else 0.0)
    # back: P(X = k - 1) > e P(X = k) for k > (trials + 1) e p / (q + e p)
    first = math.floor((trials + 1) * e * p / (q + e * p)) + 1
    upper = special.bdtrc(first - 2, trials, p) if first >= 2 else 1.0
    back = upper - e * (special.bdtrc(first - 1, trials, p) if first >= 1 else 1.0)
    return float(max(forth, back))


def passes(*, trials: int, p: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Decide in balls whether Bin(trials, p) and its shift by 1 are (epsilon, delta)-indistinguishable."""
    exact = lattice_delta(special_distributions.Binomial(trials, p), shift=1, epsilon=epsilon)
    return bool(exact <= ball(delta))


@lru_cache(maxsize=4096)
def smallest_trials(*, epsilon: Fraction, delta: Fraction) -> int:
    """Return N*, the smallest number of fair bits that hide one bit.

    More bits hide it as well, because they add independent noise. N* is guessed in floats and proved in
    balls: N* passes and N* - 1 fails.
    """
    half, e, d = Fraction(1, 2), float(epsilon), float(delta)
    high = 1
    while binomial_delta(trials=high, p=0.5, epsilon=e) > d:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if binomial_delta(trials=middle, p=0.5, epsilon=e) > d else (low, middle)
    while not passes(trials=high, p=half, epsilon=epsilon, delta=delta):
        high += 1
    while high > 1 and passes(trials=high - 1, p=half, epsilon=epsilon, delta=delta):
        high -= 1
    return high


@lru_cache(maxsize=4096)
def smallest_probability(*, n_users: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest p <= 1/2 at which one noisy bit of each of ``n_users`` users hides one bit.

    Bisection in floats finds p in steps of 2^-40. Balls confirm it, increasing p in steps of one part in 10^9
    if the float result was slightly too small. Raises ``InvalidParameterError`` if even fair bits do not hide
    the bit.
    """
    e, d = float(epsilon), float(delta)
    half = Fraction(1, 2)
    if not passes(trials=n_users, p=half, epsilon=epsilon, delta=delta):
        raise InvalidParameterError(
            f"n_users must be enough for one fair bit each to hide a bit, got {n_users}; send more bits each."
        )
    low, high = 0, GRAIN // 2
    while high - low > max(1, high >> 30):
        middle = (low + high) // 2
        good = binomial_delta(trials=n_users, p=middle / GRAIN, epsilon=e) <= d
        low, high = (low, middle) if good else (middle, high)
    while not passes(trials=n_users, p=Fraction(high, GRAIN), epsilon=epsilon, delta=delta):
        high = min(GRAIN // 2, high + max(1, high // 10**9))
    return Fraction(high, GRAIN)
