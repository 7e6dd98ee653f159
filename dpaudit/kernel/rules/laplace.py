"""Rule ``laplace``: additive Laplace noise is pure DP.

Statement. Let q be a query with values in R^d whose l1 sensitivity is at most D, and let Z have independent
coordinates with density exp(-|z|/b) / (2b). Then q + Z is (D/b)-DP.

Proof. For every y the log-density ratio of q + Z and q' + Z is sum_i (|y_i - q'_i| - |y_i - q_i|) / b, at
most sum_i |q_i - q'_i| / b <= D/b by the triangle inequality. Integrating over an event keeps the factor
exp(D/b). The query may be chosen in view of earlier outcomes: the bound holds for every prefix. ∎

For a query in one dimension (``dimension`` = 1) the pair of the density with its shift by D dominates all
others, in both directions: the density is log-concave and symmetric, so fact F1 of ``divergence`` holds for
it word for word (ratios p(x)/p(x - d) do not increase in x; half-lines are best events; F(t - d) falls in d).
Hence also delta(e) <= max(0, 1 - exp((e - D/b)/2)) for e >= 0, the value of that pair.

Source: Dwork, McSherry, Nissim, Smith 2006, Proposition 1. It is attained, in one dimension, by every y
beyond both values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.rules.pairs import laplace_pair
from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("laplace")
def _laplace(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    moved = sensitivity(parameters, "sensitivity", setting)
    pure = moved / parameters.positive("scale")
    if "dimension" not in parameters or parameters.integer("dimension", low=1, high=10**12) > 1:
        return Guarantee(pure=pure)
    return Guarantee(
        pure=pure, profile=lambda epsilon: _delta(pure, epsilon), pair=lambda grid: laplace_pair(pure, grid)
    )


def _delta(pure: Fraction, epsilon: Fraction) -> Any:
    return arb(0) if epsilon >= pure else enclose(lambda: 1 - ball((epsilon - pure) / 2).exp())
