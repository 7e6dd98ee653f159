"""Compute the numbers of Appendix S's shuffled sums: sensitivities, certificates and exact witnesses.

g, b and p of (127) are those of ``mechanisms.binomial_vectors.printed_sheet``. A user's entries, in [-Δ,
Δ], are shifted by Δ, scaled by g/Δ, rounded at random and hidden by Bin(nb, 1/4) ones, so Δ does not affect
privacy. There are three kinds of input:

* "vector": ||x|| <= Δ. Replacing x moves it by 2Δ at most: sum of squares 4 g², entries 2g.
* "rank-one": w x x^T with 0 <= w <= Δ, ||x|| <= 1, the summands of the algorithms.
  |w x x^T - w' y y^T|_F² = w²|x|⁴ + w'²|y|⁴ - 2 w w' <x, y>² <= 2 Δ², and the entries on and above the
  diagonal have no more than this: 2 g². Entries move by g.
* "symmetric": operator norm at most Δ, as in Lemma S.2. For M = X - X', ||M||_op <= 2Δ: the entries on
  and above the diagonal have squares (|M|_F² + Σ M_ii²)/2 <= 4 d Δ², attained by X = Δ I, X' = -Δ I.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dpaudit.certify.binomial_sums import BinomialSum
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Binomial
from dpaudit.kernel.ball import arb, ball, lower_exact, precision
from dpaudit.kernel.t2.gaussian import normal_cdf
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet, printed_sheet
from dpaudit.reference.mechanisms.binomial_witness import OneEntry

__all__ = ["Input", "diagonal_delta", "entry", "half_line_delta", "sheet_of", "stated", "sums"]

Input = Literal["vector", "rank-one", "symmetric"]

#: Shevtsova (2011): |F - Φ| <= 0.4748 E|X|³/(σ³ √N) for a normalised sum of N independent copies of X.
BERRY_ESSEEN = Fraction(4748, 10_000)
#: Shevtsova (2010): 0.56 Σ E|X_i|³/σ³ if the summands' distributions differ.
UNEQUAL = Fraction(56, 100)


def stated(epsilon: ExactLike, delta: ExactLike, *, domain: str) -> ApproxDP:
    """Return (epsilon, delta)-DP of the whole output of the shuffler."""
    return ApproxDP(epsilon=epsilon, delta=delta, domain=domain, view=View.of(SHUFFLER_OUTPUT))


def sheet_of(*, n: int, d: int, epsilon: ExactLike, delta: ExactLike) -> VectorSheet:
    """Return g, b of (127) for n users in d dimensions, rounded up."""
    return printed_sheet(dim=d, batch_size=n, epsilon=epsilon, delta=delta)


def sums(sheet: VectorSheet, kind: Input, *, times: int = 1, beyond: ExactLike = 1) -> BinomialSum:
    """Certify ``times`` releases of one sum, with inputs up to ``beyond`` times Δ.

    Raise ``InvalidParameterError`` for another ``kind``.
    """
    d, g = sheet.dim, sheet.precision * exact(beyond)
    upper = d * (d + 1) // 2
    moves = {"vector": (d, 4 * g**2, 2 * g), "rank-one": (upper, 2 * g**2, g)}
    moves["symmetric"] = (upper, 4 * d * g**2, 2 * g)
    if kind not in moves:
        raise InvalidParameterError(f"kind must be one of {sorted(moves)}, got {kind!r}.")
    entries, squares, largest = moves[kind]
    return BinomialSum(
        trials=sheet.trials * sheet.batch_size,
        chance=sheet.chance,
        dimension=entries,
        squares=squares,
        largest=largest,
        times=times,
    )


def entry(sheet: VectorSheet, move: int, *, words: str, data: tuple[list[float], list[float]]) -> OneEntry:
    """Return an exact lower bound from one entry that moves by ``move`` integers, without rounding, others
    fixed."""
    noise = Binomial(trials=sheet.trials * sheet.batch_size, p=sheet.chance)
    return OneEntry(noise, move, data, words)


def half_line_delta(
    *, trials: int, chance: Fraction, move: int, epsilon: ExactLike, coins: int = 0
) -> Fraction:
    """Return a lower bound on delta of a binomial distribution against its shift by ``move``.

    The distribution is Bin(``trials``, ``chance``), plus a sum of up to ``coins`` independent coins with
    any probabilities. The event is a half-line beyond the threshold of the normal distribution, and the
    bound includes the Berry-Esseen error on both sides.
    """
    e = exact(epsilon)
    with precision(160 + 2 * int(e)):
        least = chance * (1 - chance) * trials
        thirds = (chance**2 + (1 - chance) ** 2) * least + Fraction(coins, 8)
        error = ball(BERRY_ESSEEN if coins == 0 else UNEQUAL) * ball(thirds) / ball(least).sqrt() ** 3
        # The variance may be any in [least, least + coins / 4]. The threshold is for the least one.
        width = ball(least).sqrt().union(ball(least + Fraction(coins, 4)).sqrt())
        threshold = ball(e * least / move) - ball(move) / 2
        near, far = -threshold / width, -(threshold + move) / width
        delta = normal_cdf(near) - error - ball(e).exp() * (normal_cdf(far) + error)
        return max(Fraction(0), lower_exact(delta.max(arb(0))))


def diagonal_delta(sheet: VectorSheet, epsilon: ExactLike) -> Fraction:
    """Return a lower bound on delta of the matrix sum at Δ I against -Δ I, with every other user at 0.

    The sum of the ones on the diagonal is Bin(dnb, p), shifted by 2 d g.
    """
    trials = sheet.dim * sheet.trials * sheet.batch_size
    move = 2 * sheet.dim * sheet.precision
    return half_line_delta(trials=trials, chance=sheet.chance, move=move, epsilon=epsilon)
