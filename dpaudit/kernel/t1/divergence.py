"""Exact hockey-stick divergences of log-concave lattice noise, and the reduction from all neighbours to one
shift.

H_E(P || Q) = sup over events S of P(S) - E Q(S), E = e^epsilon: the least delta of the pair. For noise p on
the integers and a query that changes by d, |d| <= D, both directions count: p against p_d, where p_d(x) = p(x
- d).

Fact F1. Let p be log-concave and d > 0. (i) p(x)/p(x - d) does not increase in x. (ii) H_E(p || p_d) = F(t) -
E F(t - d), F the cdf, t the last x with p(x) > E p(x - d). (iii) H_E(p || p_d) does not decrease in d. (iv)
H_E(p_d || p) is (ii) for the distribution of -X. Proof. (i) p(x)/p(x-d) is the product of the d ratios
p(y)/p(y-1), y = x-d+1, ..., x, none of which increases in y; with the conventions a/0 = inf on the left of
the support it stays so, there being no internal zeros. (ii) The best event {x: p(x) > E p_d(x)} is {x <= t}
by (i). (iii) By (ii), H_E(p || p_d) = max over t of F(t) - E F(t - d), for any half-line is an event; and F(t
- d) falls in d for each t. (iv) Reflect: x -> -x, then shift by d. ∎ So for all |d| <= D the largest
divergence is at d = D, in the larger of the two directions; they agree if p is symmetric. Averaging over
other randomness (rounding, other users' coins, drop-out) keeps the bound:

Fact F2 (joint convexity). H_E(sum w_i P_i || sum w_i Q_i) <= sum w_i H_E(P_i || Q_i): the supremum of a sum
is at most the sum of suprema. ∎

Fact F7 (undecided sign). If the sign of p(x) - E p(x - d) is not decided at the working precision, its
positive part is enclosed by the ball from 0 to the upper end, because a guessed event would give a lower
bound. By (i) the undecided x are consecutive.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.errors import UndecidedError
from dpaudit.kernel.t1.lattice import LogConcave, Reflected, tail_below

__all__ = ["hockey_stick", "lattice_delta", "positive_part", "threshold"]

#: Largest distance from the centre in the search for a threshold. Beyond it, delta is useless.
MAX_REACH = 1 << 40


def positive_part(value: arb) -> arb:
    """Return an enclosure of max(value, 0) (fact F7)."""
    if value >= 0:
        return value
    return arb(0) if value <= 0 else arb(0).union(value.upper())


def lattice_delta(distribution: LogConcave, *, shift: int, epsilon: Fraction) -> arb:
    """Return delta at ``epsilon`` >= 0 over all integer shifts up to ``shift`` >= 0 in size, in both
    directions.

    The result is a ball with about 60 correct bits.
    """
    if shift == 0:
        return arb(0)
    forth = enclose(lambda: hockey_stick(distribution, shift=shift, epsilon=epsilon))
    if distribution.symmetric:
        return forth
    back = enclose(lambda: hockey_stick(Reflected(distribution), shift=shift, epsilon=epsilon))
    return forth.max(back)


def hockey_stick(distribution: LogConcave, *, shift: int, epsilon: Fraction) -> arb:
    """Return H_E(p || p_shift) at the working precision, for ``shift`` > 0 (F1).

    It is the sum of p(x) - E p(x - shift) over x <= t, and a tail (F6).
    """
    e = ball(epsilon).exp()
    last, undecided = threshold(lambda x: _gap(distribution, x, shift, e), distribution)
    total = arb(0)
    for x in undecided:
        total += positive_part(_gap(distribution, x, shift, e))
    return total + _sum_to(distribution, last, shift, e)


def _gap(distribution: LogConcave, x: int, shift: int, e: arb) -> arb:
    return distribution.mass(x) - e * distribution.mass(x - shift)


def threshold(gap: Callable[[int], arb], distribution: LogConcave) -> tuple[int, list[int]]:
    """Return the last x at which the falling sign of ``gap`` is certainly positive, and the undecided x
    after it.
    """
    low, high = _bracket(gap, distribution)
    while high - low > 1:
        middle = (low + high) // 2
        if gap(middle) > 0:
            low = middle
        else:
            high = middle
    undecided = []
    while not gap(high) <= 0:
        undecided.append(high)
        high += 1
        if len(undecided) > 1000 or (distribution.last is not None and high > distribution.last):
            break
    if len(undecided) > 1000:
        raise UndecidedError(
            f"the threshold must be decided within 1000 steps at {ctx.prec} bits.", code="E-THRESHOLD-BITS"
        )
    return low, undecided


def _bracket(gap: Callable[[int], arb], distribution: LogConcave) -> tuple[int, int]:
    """Return an x with a positive gap, and an x without a certainly positive gap to its right.

    The search goes from the centre outward, because masses far out take the longest. At
    ``distribution.first`` the gap is positive, because the shifted distribution has no mass there.
    """
    low, step = distribution.centre, 1
    while low != distribution.first and not gap(low) > 0:
        low, step = low - step, 2 * step
        if distribution.first is not None:
            low = max(low, distribution.first)
        if step > MAX_REACH:
            raise UndecidedError(
                f"the threshold must lie within {MAX_REACH} of the centre.", code="E-THRESHOLD-REACH"
            )
    high, step = low + 1, 1
    while gap(high) > 0:
        low, high, step = high, high + step, 2 * step
        if distribution.last is not None and high > distribution.last:
            return low, distribution.last + 1
        if step > MAX_REACH:
            raise UndecidedError(
                f"the threshold must lie within {MAX_REACH} of the centre.", code="E-THRESHOLD-REACH"
            )
    return low, high


def _sum_to(distribution: LogConcave, last: int, shift: int, e: arb) -> arb:
    """Return the sum of p(x) - e p(x - shift) over all x <= last, all of them positive parts.

    The cut tail is between 0 and the mass of p there.
    """
    width = 16
    while True:
        low = last - width if distribution.first is None else max(last - width, distribution.first)
        tail = tail_below(distribution, low)
        if tail is not None and tail <= distribution.mass(last) * arb(2) ** (-ctx.prec):
            return _window(distribution, low, last, shift, e) + tail
        width *= 2


def _window(distribution: LogConcave, low: int, last: int, shift: int, e: arb) -> arb:
    masses = distribution.masses(low - shift, last)
    return sum(masses[shift:], arb(0)) - e * sum(masses[: last - low + 1], arb(0))
