"""Algorithm 1 on a data set that Assumption 4.2 allows and the model does not: what a user of the second
batch shows, where the first batch's rewards put θ_1 at 0.

Logistic, d = 1, one arm a round, θ* = S; arms in [1/2, 1], so that 1/κ* = μ'(S/2) and κ = 1/μ'(S) are valid
on both sides. Every user of the first batch has x = 1, r = 1/2. The changed user of the second batch
plays x = 1 or x = 1/2.

θ_1 is an average of projected gradient steps with unbiased noise. Its mean loss is log(2 cosh(θ/2)) with a
ridge, least at 0, and by the standard argument (convexity, the unbiased noise and its variance v)

    E loss(θ_1) - loss(0) <= D²/(2 η T) + η (L² + v)/2;

Markov: P(|θ_1| > 1) is at most that over log cosh(1/2). V >= B_1/2 but for Chebyshev's bound. Where both
hold, the weight at x = 1 is at least μ'(1)/β(1), that at 1/2 at most 1/4, and the entry moves by (w(1) -
1/16) κ* g - 2 integers or more, roundings included; events are half-lines of its number of ones, which grow
with the move. The other outputs are left out, which only loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from algorithms.contextual.links import logistic
from audits.glm_bandits.shuffled_sums import half_line_delta, sheet_of
from dpaudit.errors import InvalidParameterError
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, integer, lower_short, precision

__all__ = ["Poisoned", "poisoned"]


@dataclass(frozen=True, kw_only=True)
class Poisoned:
    """``kappa_star`` and the first batch's length ``first`` as balls, the move in units of Δ/g, the chance
    that it is that large, and a lower bound on delta of Algorithm 1."""

    kappa_star: arb
    first: arb
    move: int
    likely: Fraction
    delta: Fraction


def poisoned(*, S: int, horizon: int, batches: int, epsilon: Fraction, delta: Fraction) -> Poisoned:
    """Algorithm 1 at (``epsilon``, ``delta``), all O(.) constants 1, R = 1.

    Raises ``InvalidParameterError`` where the first batch leaves no room for a second of two users."""
    with precision(1000):
        return _poisoned(S, horizon, batches, epsilon, delta)


def _poisoned(S: int, horizon: int, batches: int, epsilon: Fraction, delta: Fraction) -> Poisoned:
    link = logistic()
    kappa, kappa_star = 1 / link.at(arb(S)).slope, 1 / link.at(arb(S) / 2).slope
    gamma = _gamma(S, horizon, batches, epsilon, delta, kappa_star)
    growth = ball(horizon) ** (ball(Fraction(1, 2)) / ball(1 - Fraction(1, 2 ** (batches - 1))))
    first = (kappa.sqrt() * ball(3 * S).exp() * gamma**2 / S * growth) ** (ball(Fraction(2, 3)))
    if not first + 2 < ball(horizon):
        raise InvalidParameterError(
            f"the horizon must be longer than the first batch, got {horizon}; raise it."
        )
    n = integer(first.ceil())
    strayed = _strayed(S, n, epsilon, delta) + _thin(n, epsilon, delta)
    likely = lower_short(1 - strayed)
    scale = (gamma * kappa.sqrt() * (2 / first).sqrt()).exp()
    weight = link.at(arb(1)).slope / scale
    sheet = sheet_of(n=2, d=1, epsilon=epsilon / 2, delta=delta / 2)
    move = integer(((weight - ball(Fraction(1, 16))) * kappa_star * sheet.precision).floor()) - 2
    trials = sheet.trials * sheet.batch_size
    shown = half_line_delta(trials=trials, chance=sheet.chance, move=max(move, 1), epsilon=epsilon)
    return Poisoned(kappa_star=kappa_star, first=first, move=move, likely=likely, delta=likely * shown)


def _gamma(S: int, T: int, M: int, epsilon: Fraction, delta: Fraction, kappa_star: arb) -> arb:
    """(9) with (10), d = 1."""
    sigma = ln(1 / delta) / (kappa_star * ball(epsilon))
    nu = S**2 / ball(epsilon) * (ln(T / delta) ** 3).sqrt()
    inner = ln(T) + 12 * sigma * ln(2 * M * T / delta).sqrt()
    return 30 * S * inner.sqrt() + (4 * S * nu).sqrt()


def _strayed(S: int, n: int, epsilon: Fraction, delta: Fraction) -> arb:
    """A bound on P(|θ_1| > 1): descent on n users, D = 2S, L = 1 + S, η = 2D/(L √T)."""
    e, loss = ball(epsilon / 2), delta / 2
    steps = (e**2 * ball(n) ** 2 / ln(n / loss) ** 3).floor()
    call = e / (2 * (2 * steps * ln(1 / loss)).sqrt())
    L, D = arb(1 + S), arb(2 * S)
    # (127) rounded up twice at most doubles the noise; rounding adds n/4 of n b 3/16
    log = (8 * (steps + 1) / ball(loss)).log()
    variance = 2 * L**2 * 45_000 * log**2 / (call * ball(n)) ** 2 + L**2
    rate = 2 * D / (L * steps.sqrt())
    gap = D**2 / (2 * rate * steps) + rate * (L**2 + variance) / 2
    return gap / ball(Fraction(1, 2)).cosh().log()


def _thin(n: int, epsilon: Fraction, delta: Fraction) -> arb:
    """A bound on P(V < B_1/2), V at least n plus the noise of the first matrix sum."""
    variance = 2 * 45_000 * ln(16 / delta) ** 2 / ball(epsilon / 2) ** 2 + n
    return 4 * variance / ball(n) ** 2
