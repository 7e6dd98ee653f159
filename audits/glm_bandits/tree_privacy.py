"""Bound the privacy of Algorithm 2's trees from both sides.

The module computes kappa* of an instance, certificates for all nodes above a leaf, and the exact Gaussian
profile of the nodes that prefixes reveal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaudit.certify.build import Proof, compose_sequential, gaussian_mechanism
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Witness
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions import Gaussian
from dpaudit.kernel.ball import arb, lower_short, precision, upper_short
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.reference.algorithms.contextual.links import bernoulli, logistic
from dpaudit.reference.mechanisms.matrix_tree import Symmetrise, node_mu_squared

__all__ = ["SHOWN", "Instance", "costs", "instance", "prefix_witness", "tree_proof"]

SHOWN = View.of(PUBLIC)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """kappa* and the largest slope of the link, as balls. Any θ_o gives weights of at most this slope,
    before /e."""

    kappa_star: arb
    steepest: arb


def instance(R: int, score: int) -> Instance:
    """Return the instance with Bernoulli rewards on {0, R}, θ* of norm √2 ``score``, and two orthogonal
    unit arms.

    Both arms have <x, θ*> = ``score``, so 1/κ* = μ'(score). At score 0, θ* = 0.
    """
    link = logistic() if R == 1 else bernoulli(R)
    return Instance(kappa_star=1 / link.at(arb(score)).slope, steepest=link.at(arb(0)).slope)


def tree_proof(*, norm_squared: Fraction, variance: arb, nodes: int, symmetrise: Symmetrise) -> Proof:
    """Certify all ``nodes`` above one leaf that moves by ``norm_squared``, as published. ``variance`` is
    σ²."""
    with precision(128):
        below = lower_short(variance)
    double = 1 if symmetrise == "half" else 2
    node = gaussian_mechanism(sensitivity_squared=norm_squared, variance=double * below)
    return compose_sequential([node], times=[nodes])


def prefix_witness(
    claim: ApproxDP, *, size: Fraction, variance: arb, nodes: int, symmetrise: Symmetrise
) -> Witness:
    """Return a witness from ``size`` (x xᵀ - y yᵀ), x = (1, 1)/√2, y = (1, -1)/√2, at the first leaf.

    The change moves one entry off the diagonal by ``size`` in each of the ``nodes`` that are prefixes by
    themselves, of 1, 2, 4, ... leaves.
    """
    with precision(128):
        above = upper_short(variance)
    noise = Gaussian(variance=above / 2 if symmetrise == "half" else above)
    return whole_release_witness(
        claim,
        distributions=[noise.shift(np.full(nodes, value)) for value in (float(size), 0.0)],
        site="prefixes",
        to=PUBLIC.name,
        inputs=written_inputs([1.0, 1.0], [1.0, -1.0]),
        words=f"entry (1, 2) of the prefixes of 1, 2, 4, ... leaves ({nodes} of them); first user's "
        "arm (1, 1)/√2 against (1, -1)/√2",
    )


def costs(
    *, norm_squared: Fraction, variance: arb, nodes: int, symmetrise: Symmetrise, delta: Fraction
) -> Fraction:
    """Return the least epsilon of ``nodes`` nodes at ``delta``, to 1/200, rounded up."""
    with precision(128):
        mu_squared = nodes * node_mu_squared(
            norm_squared=norm_squared, variance=lower_short(variance), symmetrise=symmetrise
        )
    low, high = Fraction(0), Fraction(1, 1000)
    while gaussian_delta(mu_squared, high) > delta:
        low, high = high, 2 * high
    while high - low > high / 200:
        middle = ((low + high) / 2).limit_denominator(10**9)
        low, high = (low, middle) if gaussian_delta(mu_squared, middle) <= delta else (middle, high)
    return high
