"""Rule ``discrete_laplace``: two-sided geometric noise on an integer query is pure DP.

Statement. Let q have values in Z^d and l1 sensitivity at most D (an integer), and let Z have independent
coordinates with P(Z = k) = (1 - a)/(1 + a) a^|k|, a = exp(-1/s). Then q + Z is (D/s)-DP.

Proof. For every y in Z^d the log-ratio of the probabilities is sum_i (|y_i - q'_i| - |y_i - q_i|) / s <= D/s,
as for the Laplace law; both laws have all of Z^d as support because q and q' are integer. ∎

Source: Ghosh, Roughgarden, Sundararajan 2009, section 2.2.
"""

from __future__ import annotations

from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("discrete-laplace")
def _discrete_laplace(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    moved = sensitivity(parameters, "sensitivity", setting)
    if moved.denominator != 1:
        raise parameters.fail(
            f"an integer query must have an integer sensitivity, got {moved}; round the query or use "
            "Laplace noise."
        )
    return Guarantee(pure=moved / parameters.positive("scale"))
