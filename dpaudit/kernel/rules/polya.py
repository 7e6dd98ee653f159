"""Rule ``polya``: discrete Laplace noise built from Polya shares, of which only a part is added.

Statement. Each of n parties adds X - Y, with X, Y independent Polya(1/n, p): P(X = j) = (1 - p)^(1/n) (1/n)_j
/ j! p^j, p = exp(-1/s). If at least a share r in (0, 1] of the parties does, the sum of the noise is f or f
convolved with independent noise, where f is the law of the difference of two independent Polya(r, p). An
integer query of sensitivity at most D is then epsilon-DP with

    epsilon = log f(0)/f(D),    f(k)/f(0) = p^k (r)_k/k! 2F1(r, r + k; k + 1; p^2) / 2F1(r, r; 1; p^2).

It is attained, and D/s only if r = 1: drop-outs cost more than their share.

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

from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []

MAX_SHIFT = 10_000


@rule("polya")
def _polya(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    moved = sensitivity(parameters, "sensitivity", setting)
    if moved.denominator != 1 or moved > MAX_SHIFT:
        raise parameters.fail(
            f"an integer query must have an integer sensitivity up to {MAX_SHIFT}, got {moved}; round the "
            "query."
        )
    scale, share, shift = parameters.positive("scale"), parameters.positive("share"), int(moved)
    if share > 1:
        raise parameters.fail(f"share must be in (0, 1], got {share}; more than full turnout is not covered.")
    if share == 1 or shift == 0:
        return Guarantee(pure=moved / scale)

    def log_ratio() -> Any:
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

    return Guarantee(pure=upper_short(enclose(log_ratio)))
