"""Decide K(t) <= v t^2 / 2 for all |t| <= L (or for all t): whether v is a variance proxy of the noise.

K is the cumulant function of noise with mean 0. It is convex, and K(0) = K'(0) = 0. Let h(x) be K(x) or
K(-x), x > 0. Each step is a proof of the inequality on its range:

1. Quadratic parts. If every part has K(t) <= v_i t^2 / 2 for all t, the sum of the v_i is a proxy everywhere.
2. Growing parts (cumulants of order >= 2 all >= 0). 2K(t)/t^2 = sum 2 c_k t^(k-2) / k! grows on t > 0, and
   K(-t) <= K(t) term by term: the inequality at t = L implies it everywhere. On an unbounded domain it is
   false unless K is quadratic.
3. Near 0, x <= d. Taylor: h(x) <= c_2 x^2/2 + c_3 x^3/6 + m x^4/24, m a bound on the fourth derivative over
   [0, d]. So it suffices that c_2 + c_3 x/3 + m x^2/12 <= v on [0, d]: with m >= 0 this is convex, so at both
   ends; with m < 0 and c_3 <= 0 at 0; otherwise m is replaced by 0.
4. In the middle, on [a, b]: h is below its chord y + z x. The parabola v x^2/2 - z x - y is least at z/v, so
   -y - z^2/(2v) >= 0 suffices; or, if z/v lies outside [a, b], its values at both ends. Otherwise bisect.
5. Far out, x >= f. A part bounded by [l, u] has h(x) <= u x (or -l x), the others h(x) <= v_i x^2/2: with
   their sums M and w, f = 2M / (v - w) suffices.

If the supremum of 2K(t)/t^2 is approached only at an open end |t| = L, including the end changes nothing:
K is convex and lower semicontinuous (Fatou), so K(L) is the limit of K(t), t -> L from below.
Hence the conditions |t| < L and |t| <= L in a claim are equivalent.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.t2.noise import Noise

__all__ = ["is_proxy", "ratio"]

#: Working precision. K(t) is of the order of t^2 near 0, and the least |t| that is evaluated is about 2^-100.
BITS = 256

#: Largest number of evaluations of K in one decision, which bounds time for untrusted parameters.
MAX_EVALUATIONS = 20_000

#: Largest number of halvings of the far end in the search for the start of the Taylor step.
MAX_HALVINGS = 120


def ratio(noise: Noise, t: Fraction) -> arb:
    """Return an enclosure of 2 K(t) / t^2 at ``t`` != 0 inside the domain. Every proxy is at least this
    number.
    """
    with precision(BITS):
        return 2 * noise.cumulant(ball(t)) / ball(t * t)


def is_proxy(noise: Noise, v: Fraction, *, reach: Fraction | None) -> bool:
    """Return whether K(t) <= v t^2 / 2 was proved for all |t| <= ``reach`` (all t for ``None``).

    ``False`` means only that it was not proved within the budget.
    """
    if noise.mean != 0 or (reach is not None and reach <= 0):
        return False
    if noise.quadratic is not None and noise.quadratic <= v:
        return True
    if reach is not None and (noise.infinite_at(reach) or noise.infinite_at(-reach)):
        return False
    with precision(BITS):
        if noise.growing:
            return reach is not None and bool(2 * noise.cumulant(ball(reach)) <= ball(v * reach**2))
        far = _far(noise, v, reach)
        budget = [MAX_EVALUATIONS]
        return far is not None and all(_side(noise, v, far, sign, budget) for sign in (1, -1))


def _far(noise: Noise, v: Fraction, reach: Fraction | None) -> Fraction | None:
    """Return the end of the range that remains to be proved (step 5), or ``None`` if the tail is not
    bounded.
    """
    slope, curved = Fraction(0), Fraction(0)
    for part, n in noise.parts:
        if part.ends is not None:
            slope += n * max(part.ends[1] - part.mean, part.mean - part.ends[0])
        elif part.quadratic is not None:
            curved += n * part.quadratic
        else:
            return reach
    if v <= curved:
        return reach
    far: Fraction = 2 * slope / (v - curved)
    return far if reach is None else min(far, reach)


def _side(noise: Noise, v: Fraction, far: Fraction, sign: int, budget: list[int]) -> bool:
    near = _near(noise, v, far, sign)
    if near is None:
        return False
    stack = []
    left, value = near, _value(noise, near, sign, budget)
    while left < far:  # intervals are doubled, then bisected as needed
        right = min(2 * left, far)
        here = _value(noise, right, sign, budget)
        stack.append((left, value, right, here))
        left, value = right, here
    while stack:
        a, at_a, b, at_b = stack.pop()
        if _below(a, at_a, b, at_b, v):
            continue
        if budget[0] <= 0 or 2 * at_a > ball(v * a * a) or 2 * at_b > ball(v * b * b):
            return False
        middle = (a + b) / 2
        at_middle = _value(noise, middle, sign, budget)
        stack += [(a, at_a, middle, at_middle), (middle, at_middle, b, at_b)]
    return True


def _value(noise: Noise, x: Fraction, sign: int, budget: list[int]) -> arb:
    budget[0] -= 1
    return noise.cumulant(ball(sign * x))


def _near(noise: Noise, v: Fraction, far: Fraction, sign: int) -> Fraction | None:
    """Return some d up to which step 3 proves the inequality, or ``None``."""
    second, third = noise.second_and_third()
    for halvings in range(MAX_HALVINGS):
        d: Fraction = far / 2**halvings
        fourth = noise.fourth(arb(0).union(ball(sign * d)))
        if fourth.is_finite() and _taylor(second, sign * third, fourth, d, v):
            return d
    return None


def _taylor(second: Fraction | arb, third: Fraction | arb, fourth: arb, d: Fraction, v: Fraction) -> bool:
    """Return whether c_2 + c_3 x/3 + m x^2/12 <= v on [0, d], exactly if the cumulants are exact."""
    if not (second <= v if isinstance(second, Fraction) else second <= ball(v)):
        return False
    if fourth < 0 and third <= 0:
        return True
    m = arb(0).max(fourth.upper())
    return bool(_as_ball(second) + _as_ball(third) * ball(d) / 3 + m * ball(d * d) / 12 <= ball(v))


def _as_ball(number: Fraction | arb) -> arb:
    return ball(number) if isinstance(number, Fraction) else number


def _below(a: Fraction, at_a: arb, b: Fraction, at_b: arb, v: Fraction) -> bool:
    """Apply step 4 on [a, b], with the upper ends of h at a and b."""
    high_a, high_b = arb(at_a.upper()), arb(at_b.upper())
    z = (high_b - high_a) / ball(b - a)
    y = high_a - z * ball(a)
    if -y - z * z / ball(2 * v) >= 0:
        return True
    outside = z <= ball(v * a) or z >= ball(v * b)
    return bool(outside and 2 * high_a <= ball(v * a * a) and 2 * high_b <= ball(v * b * b))
