"""Amplification by shuffling, in balls: the clone bound for any local randomiser, and an exact value.

The exact value is for binary randomised response.

Clones (Feldman, McMillan, Talwar 2021, Theorem 3.1 and Lemma 3.5 there). If each of n users sends the output
of one e0-DP local randomiser, the same for all, and the outputs are shuffled, the pair of neighbouring
runs is dominated by (A + B, C - A + 1 - B) against (A + 1 - B, C - A + B), where C ~ Bin(n - 1, exp(-e0)), A
~ Bin(C, 1/2), B ~ Bernoulli(q), q = e^e0 / (1 + e^e0). Both coordinates together show C + 1; so with b =
Bin(c, 1/2) masses and E = e^epsilon

    delta = sum over c of P(C = c) h_c,   h_c = sum over a of (alpha b(a - 1) - beta b(a))_+,
    alpha = q - E (1 - q),   beta = E q - (1 - q),

P(a) = q b(a-1) + (1-q) b(a) being the distribution of the first coordinate given c, and Q the same with 1 -
q. For alpha <= 0, that is epsilon >= e0, all terms vanish. Otherwise b(a-1)/b(a) = a/(c + 1 - a) rises, so
the positive terms are those with a > (c + 1) beta / (alpha + beta), a half-line a >= t, and h_c = alpha S(t -
1) - beta S(t), S(k) = P(Bin(c, 1/2) >= k). P(C outside the range summed) is added in full, since h_c <= 1.
The pair is symmetric under exchange of the coordinates: one direction suffices. ∎

Survival functions come from S_{c+1}(k + 1) = S_c(k + 1) + b_c(k) / 2 and S_c(k) - S_c(k + 1) = b_c(k)
(Pascal).

Exact. With randomised response of one bit, the shuffled outputs are the number of ones: the changed user's
answer plus an independent sum s of k Bernoulli(q) and n - 1 - k Bernoulli(1 - q), k the number of other users
who hold 1. All neighbours are k = 0..n-1 in both directions; the directions are exchanged by renaming the
bits, which exchanges k and n - 1 - k. So delta is the maximum over k of sum over x of (alpha s(x - 1) - beta
s(x))_+ . ∎

Not included: the general statement of the stronger clone bound (Feldman, McMillan, Talwar 2023, for every
local randomiser) has an erratum. It holds for randomisers with a decomposition that not all have. A
certificate that names it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_poly, ctx

from dpaudit.kernel.ball import ball, enclose, integer
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.divergence import positive_part
from dpaudit.kernel.t1.lattice import LogConcave, bulk, survival
from dpaudit.kernel.t2.special_distributions import Binomial

__all__ = ["MAX_EXACT_USERS", "MAX_USERS", "Clones", "clones_delta", "exact_response_delta"]

MAX_USERS = 10**12
MAX_RANGE = 3_000_000
MAX_EXACT_USERS = 1000


def clones_delta(*, users: int, local: Fraction, epsilon: Fraction, kept: Fraction = Fraction(1)) -> arb:
    """Return delta at ``epsilon`` >= 0 of n = ``users`` shuffled outputs of any ``local``-DP randomiser, as a
    ball.

    With ``kept`` in (0, 1] there are Bin(n - 1, kept exp(-e0)) clones (``approximate_shuffle``).
    """
    if epsilon >= local:
        return arb(0)
    return enclose(lambda: _clones(Clones(users, local, kept), local, epsilon))


def _weights(local: Fraction, epsilon: Fraction) -> tuple[arb, arb]:
    """Return alpha and beta."""
    q, e = 1 / (1 + ball(-local).exp()), ball(epsilon).exp()
    return q - e * (1 - q), e * q - (1 - q)


class Clones(LogConcave):
    """The number of clones, Bin(n - 1, kept exp(-e0)). Its success probability is a ball."""

    def __init__(self, users: int, local: Fraction, kept: Fraction = Fraction(1)) -> None:
        self.trials, self.local, self.kept = users - 1, local, kept
        self.first, self.last = 0, users - 1

    @property
    def centre(self) -> int:
        return integer((self.trials * self._chance()).mid().floor())

    def _chance(self) -> arb:
        return ball(self.kept) * ball(-self.local).exp()

    def masses(self, low: int, high: int) -> list[arb]:
        chance = self._chance()
        start, end = max(low, 0), min(high, self.trials)
        result = [arb(0)] * (high - low + 1)
        if start > end:
            return result
        n = self.trials
        log = arb(n + 1).lgamma() - arb(start + 1).lgamma() - arb(n - start + 1).lgamma()
        rest = (1 - chance).log() * (n - start) if start < n else arb(0)
        value = (log + start * chance.log() + rest).exp()
        odds = chance / (1 - chance)
        for k in range(start, end + 1):
            result[k - low] = value
            value = value * odds * (n - k) / (k + 1)
        return result


def _clones(distribution: Clones, local: Fraction, epsilon: Fraction) -> arb:
    low, high, below, above = bulk(distribution, ctx.prec)
    if high - low > MAX_RANGE:
        raise InvalidParameterError(
            f"the clones' range must have at most {MAX_RANGE} points, got {high - low}.",
            code="E-USERS-TOO-MANY",
        )
    alpha, beta = _weights(local, epsilon)
    share = beta / (alpha + beta)
    total = arb(0)
    for mass, value in zip(distribution.masses(low, high), _gaps(low, high, share, alpha, beta), strict=True):
        total += mass * value
    return total + below + above


def _gaps(low: int, high: int, share: arb, alpha: arb, beta: arb) -> Iterator[arb]:
    """Yield h_c for c = low, ..., high. Along with c changes t, the first a > (c + 1) share."""
    c, t = low, _first_above(share * (low + 1))
    mass = Binomial(c, Fraction(1, 2)).mass(t)  # b_c(t)
    above = survival(Binomial(c, Fraction(1, 2)), t)  # S_c(t)
    while True:
        yield _gap(c, t, mass, above, share, alpha, beta)
        if c == high:
            return
        # c -> c + 1 at the same t: S_{c+1}(t) = S_c(t) + b_c(t - 1) / 2
        before = _left(mass, c, t)
        above, mass = above + before / 2, (before + mass) / 2
        c += 1
        if _first_above(share * (c + 1)) > t:
            above, mass = above - mass, _right(mass, c, t)
            t += 1


def _gap(c: int, t: int, mass: arb, above: arb, share: arb, alpha: arb, beta: arb) -> arb:
    before = _left(mass, c, t)  # b_c(t - 1)
    value = alpha * (above + before) - beta * above
    # The half-line starts at t. If the ball does not decide whether t or t - 1 belongs to it, either term is
    # enclosed with an undecided sign (F7).
    limit = share * (c + 1)
    if not limit < t:
        own = alpha * before - beta * mass
        value = value - own + positive_part(own)
    if not limit >= t - 1:
        value = value + positive_part(alpha * _left(before, c, t - 1) - beta * before)
    return value


def _first_above(limit: arb) -> int:
    """Return the first integer above the middle of a ball. ``_gap`` checks it against the whole ball."""
    return integer(limit.mid().floor()) + 1


def _left(mass: arb, c: int, k: int) -> arb:
    """Return b_c(k - 1) from b_c(k)."""
    if k > c + 1 or k < 1:
        return arb(0)
    return arb(2) ** -c if k == c + 1 else mass * k / (c - k + 1)


def _right(mass: arb, c: int, k: int) -> arb:
    """Return b_c(k + 1) from b_c(k)."""
    return mass * (c - k) / (k + 1) if k <= c else arb(0)


def exact_response_delta(*, users: int, local: Fraction, epsilon: Fraction) -> arb:
    """Return delta at ``epsilon`` >= 0 of the shuffled binary randomised response of n = ``users``, as a
    ball.
    """
    if users > MAX_EXACT_USERS:
        raise InvalidParameterError(
            f"the exact value needs at most {MAX_EXACT_USERS} users, got {users}; use clones instead.",
            code="E-USERS-TOO-MANY",
        )
    if epsilon >= local:
        return arb(0)
    return _response_at(users, local, epsilon, int(ctx.prec))


@lru_cache(maxsize=32)
def _response_at(users: int, local: Fraction, epsilon: Fraction, bits: int) -> arb:
    """Return the same value from a cache. ``bits`` is the current working precision, part of the cache
    key.
    """
    return enclose(lambda: _exact_response(users, local, epsilon))


def _exact_response(users: int, local: Fraction, epsilon: Fraction) -> arb:
    alpha, beta = _weights(local, epsilon)
    q = 1 / (1 + ball(-local).exp())
    one, zero = arb_poly([1 - q, q]), arb_poly([q, 1 - q])
    worst = arb(0)
    for others in _of_the_others(arb_poly([1]), one, zero, range(users)):
        sums = others.coeffs()
        sums += [arb(0)] * (users - len(sums))
        worst = worst.max(_upper_half_line([arb(0), *sums, arb(0)], alpha, beta))
    return worst


def _of_the_others(common: arb_poly, one: arb_poly, zero: arb_poly, counts: range) -> Iterator[arb_poly]:
    """Yield ``common`` one^(k - k_0) zero^(k_1 - k) for each k of ``counts`` = {k_0, ..., k_1}.

    With ``common`` 1 and all k from 0 to n - 1, these are the messages of n - 1 other users, k of whom have
    the bit 1. Halves of the range share their factors.
    """
    if len(counts) == 1:
        yield common
        return
    half = len(counts) // 2
    yield from _of_the_others(common * zero ** (len(counts) - half), one, zero, counts[:half])
    yield from _of_the_others(common * one**half, one, zero, counts[half:])


def _upper_half_line(sums: list[arb], alpha: arb, beta: arb) -> arb:
    """Return the sum over x of (alpha s(x - 1) - beta s(x))_+ for a log-concave s, with ``sums[x + 1]`` =
    s(x).

    s(x - 1)/s(x) rises, so the positive terms are those from some x on. Undecided terms around it are
    enclosed (F7).
    """

    def gap(x: int) -> arb:
        return alpha * sums[x] - beta * sums[x + 1]

    low, high = (
        -1,
        len(sums) - 1,
    )  # gap <= 0 at low and gap >= 0 at high also hold beyond the ends, where s vanishes
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gap(middle).mid() > 0 else (middle, high)
    value = arb(0)
    while low >= 0 and not gap(low) <= 0:
        value += positive_part(gap(low))
        low -= 1
    while high < len(sums) - 1 and not gap(high) >= 0:
        value += positive_part(gap(high))
        high += 1
    # The sum of the gaps from high on.
    return value + alpha * sum(sums[high:], arb(0)) - beta * sum(sums[high + 1 :], arb(0))
