"""T2: the delta of a program with hidden Gaussian noise, from the losses of its groups of cells.

``values.hidden_gaussian`` has the statement and its proof. Each term exp(c) d(mu, e - c) is the integral of
(exp(c) g(n - s) - exp(e) g(n))_+ for a normal density g and a shift s of length mu:

    exp(c) Phi(mu/2 - (e - c)/mu) - exp(e) Phi(-mu/2 - (e - c)/mu),

also where e < c. For mu = 0 it is (exp(c) - exp(e))_+.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball, enclose, upper_short
from dpaudit.kernel.claim_t0 import guarantee_of
from dpaudit.kernel.kernel_t0 import Guarantee
from dpaudit.kernel.t1.tier import Curves
from dpaudit.kernel.t2.exact_cells import exact_delta
from dpaudit.kernel.t2.gaussian import normal_cdf

__all__ = ["guarantee_of_program", "part_of_delta"]

#: A loss above this bounds no delta below 1, and its exponential would be too large to write down.
MAX_LOSS = 1000


def guarantee_of_program(checked: Any) -> Guarantee:
    """Return the bounds of a checker of programs, with a delta if its noise is hidden."""
    found, losses = guarantee_of(checked), getattr(checked, "losses", ())
    exact = getattr(checked, "exact", None)
    if exact is not None:
        return replace(found, curves=Curves(profile=lambda epsilon: ball(exact_delta(exact, epsilon))))
    if not losses:
        return found

    def profile(epsilon: Fraction) -> arb:
        return ball(
            sum((max(part_of_delta(*pair, epsilon) for pair in loss) for loss in losses), Fraction(0))
        )

    return replace(found, curves=Curves(profile=profile))


@lru_cache(maxsize=4096)
def part_of_delta(pure: Fraction, mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Return an upper bound on one term of the sum."""
    if max(pure, epsilon) > MAX_LOSS:
        return Fraction(1) if pure > epsilon or mu_squared else Fraction(0)
    if mu_squared == 0 and pure <= epsilon:
        return Fraction(0)

    def compute() -> arb:
        if mu_squared == 0:
            return ball(pure).exp() - ball(epsilon).exp()
        mu, left = ball(mu_squared).sqrt(), ball(epsilon - pure)
        near, far = mu / 2 - left / mu, -mu / 2 - left / mu
        return ball(pure).exp() * normal_cdf(near) - ball(epsilon).exp() * normal_cdf(far)

    return max(upper_short(enclose(compute)), Fraction(0))
