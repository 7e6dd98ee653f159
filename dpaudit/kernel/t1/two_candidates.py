"""The exact delta of Report Noisy Max with two candidates: Laplace, Gumbel and one-sided exponential noise.

With two candidates the index is a threshold test on W = Z_1 - Z_2 against the gap q_2 - q_1. Between
neighbours the gap changes by at most R. W has a log-concave density, so fact F1 of ``divergence`` holds for
it: the best event for W against W + R is a half-line, and the index is its indicator at some gap. Hence over
all gaps and both directions (W is symmetric) delta = max over t of S(t - R) - E S(t), S the survival function
of W, attained if the densities satisfy p(t - R) = E p(t). Put r = R/b, E = e^epsilon < e^r (otherwise delta =
0, the supremum of the ratio being e^r).

* Exponential noise: W is Laplace of scale b; delta = 1 - exp((epsilon - r)/2).
* Gumbel noise: W is logistic; with sigma(y) = 1 / (1 + e^-y), delta = sigma(s + r) - E sigma(s) with e^s =
  (e^{r/2} - e^{epsilon/2}) / (e^{epsilon/2 + r} - e^{r/2}).  Proof. sigma'(s + r) = E sigma'(s), sigma' = x /
  (1 + x)^2 at x = e^s, has this one root: (1 + x) e^{r/2} = e^{epsilon/2} (1 + e^r x). ∎
* Laplace noise: S(x) = (2 + x) e^-x / 4 for x >= 0 in units of b, S(-x) = 1 - S(x), density (1 + |x|) e^-|x|
  / 4. For t >= r the condition reads (1 + t - r) e^r = E (1 + t), so t = r e^r / (e^r - E) - 1, which is >= r
  exactly if E >= e^r / (1 + r). Otherwise 0 <= t < r, where the ratio of densities rises in t (F1), and the
  root is bracketed by bisection: with t in [t1, t2], delta lies in S(t - r) - E S(t) evaluated on the bracket
  as a ball. ∎
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from dpaudit.kernel.ball import ball, enclose

__all__ = ["two_candidate_delta"]


def two_candidate_delta(noise: str, *, ratio: Fraction, epsilon: Fraction) -> arb:
    """Return delta at ``epsilon`` >= 0 of the index of two noisy scores, as a ball.

    The difference of the scores changes by at most ``ratio`` noise scales.
    """
    if epsilon >= ratio:
        return arb(0)
    compute = {"exponential": _exponential, "gumbel": _gumbel, "laplace": _laplace}[noise]
    return enclose(lambda: compute(ball(ratio), ball(epsilon)))


def _exponential(r: arb, e: arb) -> arb:
    return 1 - ((e - r) / 2).exp()


def _gumbel(r: arb, e: arb) -> arb:
    x = ((r / 2).exp() - (e / 2).exp()) / ((e / 2 + r).exp() - (r / 2).exp())
    shifted = r.exp() * x
    return shifted / (1 + shifted) - e.exp() * x / (1 + x)


def _laplace(r: arb, e: arb) -> arb:
    factor = e.exp()
    if factor * (1 + r) >= r.exp():
        t = r * r.exp() / (r.exp() - factor) - 1
        return _survival(t - r) - factor * _survival(t)

    def gap(t: arb) -> arb:
        """Return the log-ratio of the densities at t - r and t, for 0 <= t <= r, less epsilon."""
        return (1 + r - t).log() - (r - t) - (1 + t).log() + t - e

    low, high = arb(0), r
    for _ in range(2 * ctx.prec):
        middle = ((low + high) / 2).mid()
        if gap(middle) > 0:
            high = middle
        elif gap(middle) < 0:
            low = middle
        else:  # the root is in this case: bracket it closely
            width = arb(2) ** (-ctx.prec // 2)
            low = middle - width if gap(middle - width) < 0 else low
            high = middle + width if gap(middle + width) > 0 else high
            break
    t = low.union(high)
    return _survival(t - r) - factor * _survival(t)


def _survival(x: arb) -> arb:
    """Return P(W > x) in units of the scale.

    For a ball that holds 0, either branch gives an enclosure (both are smooth and agree there).
    """
    if x >= 0:
        return (2 + x) * (-x).exp() / 4
    if x <= 0:
        return 1 - (2 - x) * x.exp() / 4
    return ((2 + x) * (-x).exp() / 4).union(1 - (2 - x) * x.exp() / 4)
