"""T1: dominating pairs and their composition, for ``sequential``, ``tree`` and ``accounted`` with a grid.

Statement. Let premise i be dominated by a pair (P_i, Q_i) for every prefix of earlier outcomes, and be run
n_i times. Then delta of all outcomes together is at most delta of the product of the pairs, at every epsilon.
The order of the runs may depend on the past.

Proof. Domination means (Blackwell) that for every prefix some random map turns a draw from P_i into a draw
from the step's distribution on one input, and a draw from Q_i into a draw from its distribution on the other.
Draw n_i independent copies for each i beforehand. Run the program, and at each affected release of class i
apply the map to the next unused copy. This turns the product of the P_i into the transcript on one input, and
the product of the Q_i into the transcript on the other. So the transcript is a post-processing of the
product. ∎ (Zhu, Dong, Wang 2022, Theorem 10, for a fixed order.)

The dominating pair of a premise is the pair of its rule; else N(0, 1) against N(mu, 1) for a GDP bound (its
definition), taken exactly for all GDP premises jointly; else the pair of its bound on delta (``profiles``);
else randomised response for a pure bound (Kairouz, Oh, Viswanath 2015). A premise with none of these is
refused. Any grid gives a bound. Smaller steps give a tighter bound.

Direction. If a record is added or removed, the same one of the two datasets is the larger one in every step.
A premise may give one pair for (larger, smaller) and one for (smaller, larger). Then both products are made,
each with the pairs of its direction and with the pairs that serve both, and the larger delta counts. (Rules
that change the neighbours for their premises, ``group`` and ``parallel`` with moves, keep no pair.)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from flint import arb

from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.kernel_t0 import BeyondTierError, CertificateError, Guarantee, Parameters, grid_of
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, compose, from_cells, from_losses, power
from dpaudit.kernel.t1.profiles import profile_pair
from dpaudit.kernel.t1.tier import curves_of

__all__ = ["GaussianPair", "composed", "laplace_pair", "read_grid", "response_pair"]

#: Limits for untrusted certificates, because every check computes the composition again.
MAX_PAIRS = 50
MAX_COPIES = 1 << 20


def read_grid(parameters: Parameters) -> Grid | None:
    """Return the grid of a node that composes by loss distributions, or ``None`` if it has none."""
    found = grid_of(parameters)
    return None if found is None else Grid(step=found[0], bits=found[1], tail=found[2])


#: Maps mu squared and a grid to the upper loss distribution of N(0, 1) against N(mu, 1). Tier T2 has it.
GaussianPair = Callable[[Fraction, Grid], LossDistribution]


def composed(
    parts: list[tuple[Guarantee, int]], grid: Grid, gaussian_pair: GaussianPair | None = None
) -> list[LossDistribution]:
    """Return the product of the dominating pairs, each as often as given.

    The result is one distribution, or one for each direction.
    """
    parts = [(guarantee, count) for guarantee, count in parts if count]
    if len(parts) > MAX_PAIRS or any(count > MAX_COPIES for _, count in parts):
        raise CertificateError(
            f"a composition by loss distributions must have at most {MAX_PAIRS} premises, each at most "
            f"{MAX_COPIES} times."
        )
    steps, mu_squared = list[list[LossDistribution]](), Fraction(0)
    for guarantee, count in parts:
        curves = curves_of(guarantee)
        if curves.pair is None and curves.directed is None and guarantee.gdp_squared is not None:
            mu_squared += guarantee.gdp_squared * count
        else:
            steps.append([power(distribution, count) for distribution in _pairs(guarantee, grid)])
    if mu_squared:
        if gaussian_pair is None:
            raise BeyondTierError("T2", "the loss distribution of Gaussian noise")
        steps.append([gaussian_pair(mu_squared, grid)])
    if not steps:
        steps.append([response_pair(Fraction(0), grid)])
    # A step with one distribution uses it in both directions.
    directions = range(max(len(distributions) for distributions in steps))
    return [
        reduce(compose, [distributions[min(way, len(distributions) - 1)] for distributions in steps])
        for way in directions
    ]


def _pairs(guarantee: Guarantee, grid: Grid) -> list[LossDistribution]:
    """Return the premise's upper distribution, or one for each direction."""
    curves = curves_of(guarantee)
    if curves.directed is not None:
        return [*curves.directed(grid)]
    if curves.pair is not None:
        return [curves.pair(grid)]
    if curves.profile is not None:
        return [profile_pair(curves.profile, guarantee.pure, grid)]
    if guarantee.pure is not None:
        return [response_pair(guarantee.pure, grid)]
    raise CertificateError(
        "every premise of a composition by loss distributions must have a dominating pair, a GDP bound or a "
        "pure bound."
    )


def response_pair(epsilon: Fraction, grid: Grid) -> LossDistribution:
    """Return the pair of randomised response, with losses epsilon and -epsilon."""
    with precision(grid.precision):
        high, low = 1 / (1 + ball(-epsilon).exp()), 1 / (1 + ball(epsilon).exp())
        return from_losses(grid, [(high, epsilon), (low, -epsilon)])


def laplace_pair(epsilon: Fraction, grid: Grid) -> LossDistribution:
    """Return the pair of Laplace noise of scale b and its shift by epsilon * b.

    P(L = epsilon) = 1/2, P(L = -epsilon) = exp(-epsilon)/2, and P(L <= x) = exp((x - epsilon)/2)/2 in
    between. Q follows by reflection.
    """
    if epsilon == 0:
        return response_pair(epsilon, grid)
    with precision(grid.precision):
        e, half = ball(epsilon), arb(1) / 2
        rare = (-e).exp() / 2

        def p_upto(x: arb) -> arb:
            return ((_clip(x, e) - e) / 2).exp() / 2 - rare

        def q_upto(x: arb) -> arb:
            return half - ((-_clip(x, e) - e) / 2).exp() / 2

        end = int(epsilon / grid.step) + 1
        return from_cells(
            grid, p_upto=p_upto, q_upto=q_upto, low=-end, high=end, atoms=[(half, rare), (rare, half)]
        )


def _clip(x: arb, end: arb) -> arb:
    return x.max(-end).min(end)
