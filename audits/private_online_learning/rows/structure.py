"""Structure behind the privacy claims: the number of tree nodes that contain one record (HHM-TREE), and noise
in floats (HHM-FLOAT)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.blackbox.statistics import PairBetting, epsilon_grid, epsilon_lower_bound
from dpaudit.core.claims import Model, PureDP
from dpaudit.core.suite import Group, Run
from dpaudit.core.verdicts import MAX_FLOAT
from dpaudit.core.views import SERVER, View
from dpaudit.reference.mechanisms.tree_counter import psum_nodes, touched_nodes
from dpaudit.suite import Chain, Measured, Sides, Step, evidence, inequality, over, step, steps

__all__ = ["reached", "rows"]

rows = Group("Structure: trees and floats")

EPSILON = Fraction(1)
rows.not_checkable(
    "HHM-D1",
    reason="a definition, which every privacy row of this paper uses: no computation could refute it",
)

#: Trees up to this height are built node by node.
BUILT = 12


@step("by the binary expansion", over=over(r=range(1, 17)))
def _set_bits(r: int) -> Sides:
    """set bits of i ≤ 2^r: at most r"""
    return max(i.bit_count() for i in range(1, 2**r + 1)), r


@step("by the tree", over=over(r=range(1, BUILT + 1)))
def _nodes(r: int) -> Sides:
    """p-sums of the first i leaves: at most r"""
    return max(len(psum_nodes(i)) for i in range(1, 2**r + 1)), r


@steps(rows, "HHM-TREE", "Section 3.2, eq. (33)")
def releases() -> list[Step]:
    """A release of the tree on 2^r leaves adds up at most r nodes

    Count the nodes of every prefix, by the binary expansion and, up to 2^12 leaves, by the tree itself.
    """
    return [_set_bits, _nodes]


@inequality(
    rows,
    "HHM-TREE/touches",
    "Section 3.2: nodes of scale r/(ε/2), for a tree that is to be ε/2-DP",
    role="what-if",
    expect="refuted",
    over=over(r=range(1, BUILT + 1)),
)
def touches(r: int) -> Chain:
    """A record of the tree on 2^r leaves lies under at most r nodes that are used

    The paper counts the nodes of a release. A tree with nodes of scale r/(ε/2) is ε/2-DP only if at most r
    nodes lie above a record. Count used nodes above each leaf by formula, and again by collecting the nodes
    of every prefix.

    Refuted: the first leaf lies under r + 1 used nodes, the nodes that end the prefixes 1, 2, 4, ..., 2^r.
    The ratio is largest, 2, for r = 1
    """
    above = np.zeros(2**r, dtype=np.int64)
    for level, position in {node for i in range(1, 2**r + 1) for node in psum_nodes(i)}:
        above[position << level : (position + 1) << level] += 1
    by_formula = max(len(touched_nodes(leaf, levels=r)) for leaf in range(1, 2**r + 1))
    return {
        "used nodes above a leaf, collected: at most r": (int(above.max()), r),
        "used nodes above a leaf, by formula: at most r": (by_formula, r),
    }


def reached(value: float, *, offset: float) -> bool:
    """Return whether offset + z == value for some float z, rounded to nearest under IEEE 754.

    Rounding is monotone. If one float z gives less than the value and the next float gives more, no float
    gives the value.
    """
    z = value - offset
    while offset + z < value:
        z = math.nextafter(z, math.inf)
    while offset + z > value:
        z = math.nextafter(z, -math.inf)
    return offset + z == value


@evidence(
    rows,
    "HHM-FLOAT",
    "eq. (3), drawn in floats; Mironov (2012) on floating-point Laplace noise",
    role="what-if",
    expect="refuted",
    claim=PureDP(epsilon=EPSILON, view=View.of(SERVER), model=Model.AS_RUN, domain="a reward in [0, 1]"),
)
def noisy_sums(run: Run) -> Measured:
    """A noisy sum drawn in floats is ε-DP as run

    Release a sum of 0 with numpy's Laplace draws, and search for a value that no draw gives for the sum 1.
    For |v| < 1 the float 1 + z is a multiple of 2^-53 for every z. The float 0 + z is such a multiple only by
    chance. One such value has infinite loss.

    Note: this row is about the server's noisy sums. The decisions only compare these sums and do not output
    low-order bits (HHM-FLOAT/decisions)
    """
    n = run.choose(quick=2_000, full=20_000)
    values = run.rng("floats").laplace(scale=1.0, size=n).tolist()
    missed = [value for value in values if not reached(value, offset=1.0)]
    return Measured(
        low=MAX_FLOAT if missed else None,
        samples=n,
        method="exact supports: a value drawn for one sum that no float z gives for the other; infinite loss",
        scope="one array of one observation, 0 against 1, numpy's Laplace draws",
        details={"value": missed[0].hex()} if missed else {},
        notes=[f"{len(missed)} of {n} values released for the sum 0 are impossible for the sum 1"],
    )


@evidence(
    rows,
    "HHM-FLOAT/decisions",
    "the paper does not say how noise is drawn",
    role="what-if",
    expect="inconclusive",
    claim=PureDP(epsilon=EPSILON, model=Model.AS_RUN, domain="a vector of K rewards in [0, 1]"),
)
def decisions(run: Run) -> Measured:
    """The decisions of Anytime-Lazy-UCB are ε-DP as run, with noise drawn in floats

    Bet on the first decision after the two initial pulls, for a replaced first reward. Round 3 pulls the arm
    with the larger initial noisy sum: both have the same bonus (eq. (4) with equal array sizes).

    Note: exact loss of this event with real-number noise: ln(2e/3) = 0.5945

    Note: there is no rigorous bound for float arithmetic here. An exact sampler, or a proof for rounded
    comparisons, would decide the claim
    """
    n, rng = run.choose(quick=4_000, full=40_000), run.rng("decisions")
    process = PairBetting(epsilon_grid(float(EPSILON)))
    process.update(*(_second_leads(first, n, rng) for first in (0.0, 1.0)))
    return Measured(
        low=epsilon_lower_bound(process, alpha=run.alpha),
        samples=2 * n,
        method="bet on the arm of round 3 (e-process)",
        scope="two arms, first reward 0 against 1",
        exact=False,
    )


def _second_leads(first: float, n: int, rng: np.random.Generator) -> Any:
    noisy = np.array([first, 0.0]) + rng.laplace(scale=1.0, size=(n, 2))
    return (noisy[:, 1] > noisy[:, 0]).astype(float)
