"""Relaxed secure aggregation: admissible functions S for Theorem 3, benign and worst-case.

Chowdhury and Zhou (ICLR 2023), Definition 9, after Cheu and Yan (2021). With Σ(y) = Σ y_i mod m, S is an
(ε̂, q)-relaxation if some POST has SD(POST(S(y)), Σ(y)) <= q and some SIM has LLR(S(y), SIM(Σ(y))) <= ε̂, for
every input y.

* ``CarrySum`` is benign. It models the shuffler: user i sends the integer y_i + m W_i with W_i a Pólya
  difference of shape 1/n and ratio e^{-ε̂/n}, and only the sum z is released. POST reduces z modulo m: q = 0.
  SIM runs it on (s, 0, ..., 0). Since Σ y_i = s + k m with 0 <= k <= n - 1, the security is the security of a
  shift by k of Lap_Z(n/ε̂): at most ε̂ (n - 1)/n. (The bit-vector form needs truncated W_i, which cause q > 0.)
* ``LeakySum`` is adversarial. It releases ŷ, and a coin whose bias depends on ONE user's message: p₁ if that
  message is nearer to g (a reward of 1) than to 0, else p₀. POST drops the coin: q = 0. SIM tosses a coin
  of bias c. The best choice is c = 1/(1 + e^ε̂), p₁ = c e^ε̂, p₀ = c e^{-ε̂}: no ratio to c exceeds e^ε̂,
  and p₁/p₀ = e^{2ε̂}, the whole of what the proof's chain 2ε̂ + LLR(Σ) allows. The biases are rationals,
  rounded so that the premise holds; ``LeakyCoin.admissible`` derives it anew from the four ratios, in balls.
* ``GarbledSum`` uses the allowance q: with probability q it releases the residue opposite to Σ(y) on the
  circle. It depends on Σ(y) alone, so it is its own simulator (ε̂ = 0). POST does nothing, and the distance
  from Σ(y) is q. Theorem 3's utility bound has to allow for it; privacy is not affected.

The first two draw what is visible from the conditional distribution given the hidden messages, so that a
given transcript can be summed out exactly. One run at a time: no replicates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb_poly

from dpaudit.coins import Coins, enumerate_view
from dpaudit.core.errors import BrokenHarnessError, InvalidParameterError
from dpaudit.core.exact import ExactLike, positive, probability
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Bernoulli, DiscreteLaplace, Distribution, PointMass, SumMod, WrappedMod
from dpaudit.kernel.ball import arb, ball, enclose, lower_exact, sign_of
from dpaudit.reference.mechanisms.modular_sum import Aggregator, clipped
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["CarrySum", "GarbledSum", "LeakyCoin", "LeakySum", "carry_loss", "distances", "nearer_to_full"]

#: Denominator of the rational biases.
_UNIT = 2**64


@dataclass(frozen=True, init=False)
class CarrySum:
    """The benign relaxation with security parameter ``secagg_epsilon`` = ε̂. An ``Aggregator``.

    The server sees z as the pair (z mod m, floor(z / m)): sites ``aggregate`` and ``carry``.
    """

    secagg_epsilon: Fraction

    def __init__(self, *, secagg_epsilon: ExactLike) -> None:
        object.__setattr__(self, "secagg_epsilon", positive(secagg_epsilon, name="secagg_epsilon"))

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        _one_run(coins)
        modulus = sheet.modulus
        messages = [
            coins.draw(clipped(distribution, modulus=modulus), site="message")
            for distribution in distributions[:-1]
        ]
        residue = coins.aggregate(
            [distributions[-1], *(PointMass(message) for message in messages)],
            SumMod(modulus),
            site="aggregate",
            to=SERVER,
        )
        messages.append((residue - sum(messages)) % modulus)
        carry = (sum(messages) - residue) // modulus
        coins.release(carry, self.carry_noise(len(distributions)), site="carry", to=SERVER)
        return residue

    def carry_noise(self, users: int) -> DiscreteLaplace:
        """Return the distribution of Σ W_i: Lap_Z(n/ε̂)."""
        return DiscreteLaplace(scale=users / self.secagg_epsilon)

    def security(self, users: int) -> Fraction:
        """Return sup over y of LLR(S(y), SIM(Σ(y))): the largest carry, n - 1, over the noise scale."""
        return (users - 1) * self.secagg_epsilon / users


@dataclass(frozen=True, kw_only=True)
class LeakyCoin:
    """The probabilities P(coin = 1) of S for the two kinds of message, and of the simulator."""

    high: Fraction
    low: Fraction
    simulated: Fraction

    @classmethod
    def worst(cls, secagg_epsilon: ExactLike) -> LeakyCoin:
        """Build the most revealing coin that Definition 9 admits, to within 2^-64: likelihood ratio
        e^{2ε̂}.
        """
        budget = positive(secagg_epsilon, name="secagg_epsilon")
        # The simulator's bias is slightly below 1/(1 + e^ε̂), and the two other biases are slightly inside
        # its reach.
        simulated = _down(enclose(lambda: 1 / (1 + ball(budget).exp()), bits=160))
        high = _down(enclose(lambda: ball(simulated) * ball(budget).exp(), bits=160))
        low = -_down(enclose(lambda: -ball(simulated) * ball(-budget).exp(), bits=160))
        coin = cls(high=high, low=low, simulated=simulated)
        if not coin.admissible(budget):
            raise BrokenHarnessError(
                f"the leaky coin must satisfy its premise at {budget}, got {coin}; its rounding is wrong."
            )
        return coin

    @property
    def ratios(self) -> tuple[Fraction, ...]:
        """Return the probabilities under S over the probabilities under SIM: both kinds of message, coin 1
        and coin 0.
        """
        s, biases = self.simulated, (self.high, self.low)
        return tuple(ratio for bias in biases for ratio in (bias / s, (1 - bias) / (1 - s)))

    def admissible(self, secagg_epsilon: ExactLike) -> bool:
        """Check |log ratio| <= ``secagg_epsilon`` for all four, with signs decided in balls (Definition
        9).
        """
        budget = positive(secagg_epsilon, name="secagg_epsilon")
        return all(_distance_to(ratio, budget) <= 0 for ratio in self.ratios)

    @property
    def log_ratio(self) -> Fraction:
        """Return a lower bound of log(high / low), the privacy loss of the coin alone."""
        return lower_exact(enclose(lambda: ball(self.high / self.low).log()))


@dataclass(frozen=True, init=False)
class LeakySum:
    """The adversarial relaxation: an ``Aggregator``.

    It releases ŷ to the server (site ``aggregate``), and the coin about user ``user`` (site ``coin``).
    """

    secagg_epsilon: Fraction
    user: int
    coin: LeakyCoin

    def __init__(self, *, secagg_epsilon: ExactLike, user: int = 0, coin: LeakyCoin | None = None) -> None:
        object.__setattr__(self, "secagg_epsilon", positive(secagg_epsilon, name="secagg_epsilon"))
        object.__setattr__(self, "user", user)
        object.__setattr__(self, "coin", LeakyCoin.worst(secagg_epsilon) if coin is None else coin)

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        _one_run(coins)
        message = coins.draw(clipped(distributions[self.user], modulus=sheet.modulus), site="message")
        others = [distribution for i, distribution in enumerate(distributions) if i != self.user]
        aggregate = coins.aggregate(
            [*others, PointMass(message)], SumMod(sheet.modulus), site="aggregate", to=SERVER
        )
        bias = self.coin.high if nearer_to_full(message, sheet) else self.coin.low
        coins.observe(Bernoulli(p=bias), site="coin", to=SERVER)
        return aggregate


@dataclass(frozen=True, init=False)
class GarbledSum:
    """The relaxation with correctness error ``secagg_error`` = q: an ``Aggregator``.

    It releases Σ(y), or floor(m/2) more with probability q.
    """

    secagg_error: Fraction

    def __init__(self, *, secagg_error: ExactLike) -> None:
        object.__setattr__(self, "secagg_error", probability(secagg_error, name="secagg_error"))

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        _one_run(coins)
        moved = coins.draw(Bernoulli(p=self.secagg_error), site="garbled") * self.offset(sheet)
        return coins.aggregate(
            [*distributions, PointMass(int(moved))], SumMod(sheet.modulus), site="aggregate", to=SERVER
        )

    @staticmethod
    def offset(sheet: Sheet) -> int:
        """Return the distance of a garbled residue from the true residue: half of the circle."""
        return sheet.modulus // 2


def nearer_to_full(message: int, sheet: Sheet) -> bool:
    """Check whether a message is nearer to g than to 0 on the circle Z_m."""
    return sheet.precision < 2 * message < sheet.precision + sheet.modulus


def distances(
    secure: Aggregator, simulator: Callable[[Coins, int], Any], sheet: Sheet, *, tail: float = 0.0
) -> tuple[Any, Any]:
    """Return the two distances of Definition 9 as balls, computed from the running programs.

    The first is the largest |log-ratio| between the views of S on y and of SIM on Σ(y), over all y in Z_m^n.
    The second is the largest P(POST(S(y)) != Σ(y)), with the residue as POST. An outcome of only one of the
    two programs gives an infinite log-ratio. For distributions with infinite support, mass ``tail`` > 0 is
    left out on both sides, and outcomes that only one of the enumerations reaches are skipped.
    """

    def secured(coins: Coins, y: tuple[int, ...]) -> None:
        secure(coins, [PointMass(k) for k in y], sheet)

    def simulated(coins: Coins, total: int) -> None:
        simulator(coins, total)

    worst, wrong = arb(0), arb(0)
    simulations = [_shown(simulated, s, tail) for s in range(sheet.modulus)]
    for y in itertools.product(range(sheet.modulus), repeat=sheet.users):
        total = sum(y) % sheet.modulus
        distribution, other = _shown(secured, y, tail), simulations[total]
        if tail == 0 and distribution.keys() != other.keys():
            worst = arb.pos_inf()
        for seen in distribution.keys() & other.keys():
            worst = worst.max(abs((distribution[seen] / other[seen]).log()))
        wrong = wrong.max(sum((p for seen, p in distribution.items() if seen[0] != total), arb(0)))
    return worst, wrong


def _shown(run: Callable[[Coins, Any], None], data: Any, tail: float) -> dict[tuple[int, ...], Any]:
    """Return the exact distribution of what ``run`` releases to the server, without its result."""
    found = enumerate_view(run, data, view=View.of(SERVER), tail=tail)
    return {
        tuple(int(x) for x in found.transcripts[key][:-1]): chance
        for key, chance in found.probabilities.items()
    }


def carry_loss(sheet: Sheet, secagg_epsilon: Fraction, *, others: int) -> tuple[arb, int, int]:
    """Return the exact privacy loss of ``CarrySum`` as a ball, and the r and w that attain it.

    It is the largest |log-ratio| of the server's view, residue r and carry w jointly, for one encoding 0
    against g, with ``others`` as all other encodings. The cost is about n³ m terms.

    The server sees Σ y_i + m Lap_Z(n/ε̂). With a(z) the distribution of the integer Σ y_i, messages in 0,
    ..., m - 1, P(r, w) is proportional to Σ_k a(r + k m) e^{-|w - k| ε̂/n} over k = 0, ..., n - 1. Beyond
    these k the ratio of two such sums no longer depends on w, so n values of w and m residues cover all
    cases.
    """
    n, m = sheet.users, sheet.modulus
    wrapped = WrappedMod(sheet.share, modulus=m)
    noise = [wrapped.residue_ball(r) for r in range(m)]

    def message(encoded: int) -> arb_poly:
        return arb_poly([noise[(r - encoded) % m] for r in range(m)])

    rest = message(others) ** (n - 1)
    sums = [_coefficients(rest * message(encoded), n * m) for encoded in (0, sheet.precision)]
    falls = [ball(-secagg_epsilon * k / n).exp() for k in range(n)]
    worst, where = arb(0), (0, 0)
    for r in range(m):
        for w in range(n):
            left, right = (
                sum((total[r + k * m] * falls[abs(w - k)] for k in range(n)), arb(0)) for total in sums
            )
            loss = abs((left / right).log())
            if loss.mid() > worst.mid():
                where = (r, w)
            worst = worst.max(loss)
    return worst, *where


def _coefficients(polynomial: arb_poly, length: int) -> list[arb]:
    found = polynomial.coeffs()
    return found + [arb(0)] * (length - len(found))


def _one_run(coins: Coins) -> None:
    if coins.replicates is not None:
        raise InvalidParameterError(
            f"a relaxed aggregation runs once at a time, got {coins.replicates} replicates."
        )


def _distance_to(ratio: Fraction, budget: Fraction) -> int:
    """Return the sign of |log ratio| - budget."""
    return sign_of(lambda: abs(ball(ratio).log()) - ball(budget))


def _down(value: arb) -> Fraction:
    """Return the largest multiple of 2^-64 not above the ball."""
    return Fraction((lower_exact(value) * _UNIT).__floor__(), _UNIT)
