"""Rule ``laplace``: additive Laplace noise is pure DP.

Statement. Let q be a query with values in R^d whose l1 sensitivity is at most D, and let Z have independent coordinates with density
exp(-|z|/b) / (2b). Then q + Z is (D/b)-DP.

Proof. For every y the log-density ratio of q + Z and q' + Z is sum_i (|y_i - q'_i| - |y_i - q_i|) / b, at most
sum_i |q_i - q'_i| / b <= D/b by the triangle inequality. Integrating over an event keeps the factor exp(D/b). The query may
be chosen in view of earlier outcomes: the bound holds for every prefix. ∎

Source: Dwork, McSherry, Nissim, Smith 2006, Proposition 1. It is attained, in one dimension, by every y beyond both values.
"""

from __future__ import annotations

from dpaudit.certificates.rules.sensitivity import sensitivity
from dpaudit.certificates.terms import Guarantee, Parameters, Setting, rule

__all__ = ["NAME"]

NAME = "laplace"


@rule(NAME)
def _laplace(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    moved = sensitivity(parameters, "sensitivity", setting)
    return Guarantee(pure=moved / parameters.positive("scale"))
