"""T2, rule ``polya``: discrete Laplace noise built from Polya shares, of which only a part is added.

Statement. Each of n parties adds X - Y, with X, Y independent Polya(1/n, p): P(X = j) = (1 - p)^(1/n) (1/n)_j
/ j! p^j, p = exp(-1/s). If at least a share r in (0, 1] of the parties does, the sum of the noise is f or f
convolved with independent noise, where f is the distribution of the difference of two independent Polya(r,
p). An integer query of sensitivity at most D is then epsilon-DP with

    epsilon = log f(0)/f(D),    f(k)/f(0) = p^k (r)_k/k! 2F1(r, r + k; k + 1; p^2) / 2F1(r, r; 1; p^2).

It is attained. It equals D/s only if r = 1: drop-outs cost more than their share.

Proof. The sum of Polya(1/n) over m parties is Polya(m/n); parties beyond the share r are post-processing. The
masses a_j of Polya(r, p) have ratios p (r + j)/(j + 1), which do not decrease in j because r <= 1:
log-convex. f(k) = sum over j of a_j a_{j+k} for k >= 0, a sum of log-convex functions of k, so log-convex on
k >= 0; its ratios f(k+1)/f(k) do not decrease and tend to at most p < 1 (each ratio a_{j+k+1}/a_{j+k} < p or
= p): f falls on k >= 0. Take a shift d, 0 < d <= D, and x:
* |x| <= |x - d| <= |x| + d. f falls, so f(|x|)/f(|x - d|) is at least 1, and at most f(|x|)/f(|x| + d) <=
  f(0)/f(d) by log-convexity, and f(0)/f(d) <= f(0)/f(D);
* |x - d| < |x|: the ratio is below 1, and its inverse is the case above with x - d in the place of x and
  shift -d. ∎ The series: f(k)/(1-p)^(2r) = sum over j of (r)_j/j! (r)_{j+k}/(j+k)! p^(2j+k), which is p^k
  (r)_k/k! 2F1(r, r + k; k + 1; p^2). ∎

Source of the mechanism: Goryczka and Xiong 2017; Balle, Bell, Gascon, Nissim 2020, section 4.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.kernel_t0 import Guarantee, Parameters, Setting, moved, shared_noise
from dpaudit.kernel.t1.tier import Tier

__all__ = ["add_polya"]

MAX_SHIFT = 10_000


def add_polya(tier: Tier) -> None:
    """Add the rule ``polya`` for any share. At full participation it equals the rule of T0."""

    full = tier.rules["polya"]

    @tier.rule("polya")
    def _polya(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        shift, share = int(moved(p, setting, most=MAX_SHIFT)), p.positive("share")
        if share >= 1 or shift == 0:
            return full.derive(p, premises, setting)
        scale = p.positive("scale")
        assumed = shared_noise(p, setting, f"at least a share {share} of the noise is added")
        pure = upper_short(enclose(lambda: _log_ratio(scale, share, shift)))
        return Guarantee(pure=pure, assumptions=assumed)


def _log_ratio(scale: Fraction, share: Fraction, shift: int) -> arb:
    """Return log f(0)/f(shift)."""
    p, r = ball(-1 / scale).exp(), ball(share)
    falling = arb(1)
    for j in range(shift):
        falling *= (r + j) / (j + 1)
    z = p * p
    return (
        ball(shift / scale)
        - falling.log()
        + z.hypgeom_2f1(r, r, arb(1)).log()
        - z.hypgeom_2f1(r, r + shift, arb(shift + 1)).log()
    )
