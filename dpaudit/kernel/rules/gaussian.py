"""Rule ``gaussian``: additive Gaussian noise is Gaussian DP.

Statement. Let q have values in R^d and l2 sensitivity at most D, and let Z have independent N(0, v)
coordinates. Then q + Z is mu-GDP with mu^2 = D^2 / v. No pure bound exists unless D = 0.

Proof. Rotate so that q' - q lies along the first axis: the other coordinates have the same law on both sides
and are independent, so the pair is N(0, v) against N(|q' - q|, v), which is as hard to tell apart as N(0, 1)
against N(m, 1), m = |q' - q| / sqrt(v) <= mu. The trade-off function of N(0, 1) against N(m, 1) falls in m,
so mu-GDP holds for all neighbours. ∎

Source: Dong, Roth, Su 2022, Theorem 2.7; for streams whose data may depend on earlier outcomes, Denisov et
al. 2022, Theorem 2.1. ``sensitivity_squared`` is D^2, so that the root of a number of coordinates stays
rational.
"""

from __future__ import annotations

from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("gaussian")
def _gaussian(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    if "sensitivity" in parameters:
        squared = sensitivity(parameters, "sensitivity", setting) ** 2
    else:
        squared = parameters.nonnegative("sensitivity_squared")
    mu_squared = squared / parameters.positive("variance")
    return Guarantee(gdp_squared=mu_squared, pure=mu_squared if mu_squared == 0 else None)
