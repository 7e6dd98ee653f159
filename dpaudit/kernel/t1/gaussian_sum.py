"""T1, rule ``gaussian-sum``: the sum of n independent discrete Gaussians on an integer query is zCDP.

Statement. Let q have values in Z and sensitivity at most D, and let Z be the sum of n (``count``) independent
discrete Gaussians with p(k) ~ exp(-k^2 / 2v), v the ``variance`` parameter of each. Then q + Z is rho-zCDP
with rho = D^2/(2nv) + min(M, max(a, b)), where the second term is 0 for n = 1 and otherwise, with
w = exp(-2 pi^2 v), as computed below, of the order of n w.

Proof. *The distribution.* By Poisson summation the characteristic function of one part is proportional to
sum_j exp(-v (t - 2 pi j)^2 / 2), j in Z. Multiply n of them; for j in Z^n with J = sum j_i and W(j) = sum
(j_i - J/n)^2 the exponent is -(nv/2)(t - 2 pi J/n)^2 - 2 pi^2 v W(j). Adding 1 to all j_i keeps W and shifts
t by 2 pi, so integrating over one period and summing over j is integrating over the line and summing over
classes [j] of Z^n modulo (1, ..., 1):

    p(x) = c exp(-x^2 / 2nv) Theta(x),   Theta(x) = sum over classes of w^W(j) cos(2 pi J x / n).

The class of 0 gives 1; u = Theta - 1 has period n and |u| <= A = sum over other classes of w^W(j).

*A.* Each class has one representative with -n/2 < J <= n/2. With s = sum |j_i|: sum j_i^2 >= s and J^2/n <=
min(s^2/n, s/2), so W = sum j_i^2 - J^2/n >= s - min(s^2/n, s/2). Vectors with that s are at most C(2n+s-1, s)
(multisets of s signed units). From s = S on the terms C(2n+s-1, s) w^(s/2) have ratios at most (2n+S)/(S+1)
sqrt(w). The rule asks for A < 1/2.

*Divergence.* a x^2 + (1-a)(x-D)^2 = (x - m)^2 - a(a-1) D^2 with m = (1-a) D, at order a. With G(x) =
exp(-(x - m)^2 / 2nv) and L(x) = log Theta(x)/Theta(x - D), R_a = a D^2/(2nv) + log(c sum Theta G exp((a-1)
L)) / (a-1). The measure c Theta G has mass at most 1: its cosines have sums over the lattice whose Fourier
coefficients are positive, so they are largest at m = 0, where it is p. Hence, with |L| <= M =
log((1+A)/(1-A)):

(i) R_a - a D^2/(2nv) <= M.

(ii) By Hoeffding's lemma under the normalised measure Q, it is at most E_Q L + (a-1) M^2/2. By log(1+u) <= u
and -log(1+u) <= -u + u^2/(2(1-A)), E_Q L <= E_Q f + A^2/(2(1-A)), f(x) = u(x) - u(x-D); and E_Q f =
E_G[f Theta]/E_G[Theta] <= (|E_G f| + 2A^2)/(1-A), E_G being the normalised lattice Gaussian. A difference
cos(t x) - cos(t (x-D)), t = 2 pi J/n, has |E_G| at most 2 |sin(tD/2)| |E_G exp(itx)|, and for |t| <= pi the
lattice sum |E_G exp(itx)| is at most K exp(-nvt^2/2) = K w^(J^2/n), K = (3 + 2e)/(1 - 2e), e = w^n/(1 - w^n)
(aliases are at distance |t| + 2 pi(|m| - 1) or more). W + J^2/n = sum j_i^2 separates, so with theta = sum_k
w^(k^2) and S1 = sum_k |k| w^(k^2) over all integers k, |E_G f| <= 2K min(theta^n - 1, pi D S1 theta^(n-1)).
Altogether R_a - a D^2/(2nv) <= a' + (a-1) b' <= a max(a', b'), b' = M^2/2, a' the sum of these terms. ∎

The published bound for such sums (Kairouz, Liu, Steinke 2021, Proposition 13) bounds the distance to a single
discrete Gaussian step by step; this one uses neither its constant nor its conditions.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.errors import UndecidedError
from dpaudit.kernel.kernel_t0 import (
    CertificateError,
    Guarantee,
    Parameters,
    Setting,
    moved,
    participation,
    shared_noise,
)
from dpaudit.kernel.t1.tier import Tier

__all__ = ["add_gaussian_sum", "excess"]

MAX_COUNT = 10**9
MAX_SHIFT = 10**9
#: From this s on, the terms of A are summed as a geometric series.
FAR = 4096


def add_gaussian_sum(tier: Tier) -> None:
    """Add the rule ``gaussian-sum``."""

    @tier.rule("gaussian-sum")
    def _gaussian_sum(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        shift = moved(p, setting, most=MAX_SHIFT)
        variance, count = p.positive("variance"), p.integer("count", low=1, high=MAX_COUNT)
        assumed = (
            shared_noise(p, setting, f"noise of at least {count} parts is added")
            if count > 1
            else participation(setting)
        )
        rho = shift**2 / (2 * count * variance)
        if count == 1 or shift == 0:
            return Guarantee(rho=rho, assumptions=assumed)
        try:
            more = _enclosed(variance, count, int(shift))
        except UndecidedError as error:
            raise CertificateError(
                f"gaussian-sum: variance must be large enough for {count} parts (A < 1/2 in the proof), got "
                f"{variance}. Use a larger variance, or integer-noise."
            ) from error
        return Guarantee(rho=rho + upper_short(more), assumptions=assumed)


@lru_cache(maxsize=256)
def _enclosed(variance: Fraction, count: int, shift: int) -> arb:
    """Return the excess from a cache, because it is needed when a proof is built, certified and checked."""
    return enclose(lambda: excess(variance, count=count, shift=shift))


def excess(variance: Fraction, *, count: int, shift: int) -> arb:
    """Return min(M, max(a', b')) as a ball, or +infinity if A < 1/2 is not decided."""
    w = (-2 * arb.pi() ** 2 * ball(variance)).exp()
    a = _amplitude(w, count)
    if not a < arb("0.5"):
        return arb.pos_inf()
    largest = ((1 + a) / (1 - a)).log()
    aliased = w**count / (1 - w**count)
    factor = (3 + 2 * aliased) / (1 - 2 * aliased)
    theta, first = _theta(w)
    moved = (theta**count - 1).min(arb.pi() * shift * first * theta ** (count - 1))
    mean = (2 * factor * moved + 2 * a * a) / (1 - a) + a * a / (2 * (1 - a))
    return largest.min(mean.max(largest * largest / 2))


def _amplitude(w: arb, count: int) -> arb:
    """Return the upper bound of A: terms up to some S, then a geometric series."""
    total, term = arb(0), arb(1)  # term: C(2n+s-1, s) w^s
    for s in range(1, FAR):
        term = term * w * (2 * count + s - 1) / s
        far = term * w ** ball(Fraction(-s, 2))  # the same with w^(s/2)
        ratio = ball(Fraction(2 * count + s, s + 1)) * w.sqrt()
        if ratio < arb("0.5"):
            rest = far / (1 - ratio)
            if rest < (total + arb(2) ** -2000) * arb(2) ** -64:
                return total + arb(0).union(rest)
        total += term * w ** ball(-min(Fraction(s * s, count), Fraction(s, 2)))
    return arb.pos_inf()


def _theta(w: arb) -> tuple[arb, arb]:
    """Return the sums over all integers k of w^(k^2), and of |k| w^(k^2).

    As w < 1/2, the rests are below twice the next term.
    """
    theta, first = arb(1), arb(0)
    for k in range(1, 8):
        theta += 2 * w ** (k * k)
        first += 2 * k * w ** (k * k)
    rest = arb(0).union(8 * 8 * w**64)
    return theta + rest, first + rest
