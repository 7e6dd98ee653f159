"""Check optimal designs: Lemma 4.3 with certificates, Claims 1 and 2, Remark 4.4."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.suite import Group
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.contextual.optimal_design import g_optimal_design
from dpaudit.suite import Chain, Sides, full, inequality, integers, on, over

__all__ = ["rows"]

rows = Group("Optimal designs", kind="structure")

Floats = NDArray[np.float64]

KINDS = ("drawn", "axes", "repeated", "one line", "nearly one line")
#: Leverages are computed in floats. This tolerance is added before a comparison.
ROUNDING = Fraction(1, 10**6)


@cache
def _arms(kind: str, K: int, d: int, seed: int) -> Floats:
    """Return K arms in the unit ball."""
    rng = np.random.default_rng([seed, K, d])
    arms = rng.normal(size=(K, d))
    arms *= (rng.random((K, 1)) ** (1 / d)) / np.linalg.norm(arms, axis=1, keepdims=True)
    if kind == "axes":
        arms = np.eye(d)[np.arange(K) % d]
    elif kind == "repeated":
        arms = arms[np.arange(K) % 2]
    elif kind == "one line":
        arms = np.outer(np.linspace(-1, 1, K), arms[0])
    elif kind == "nearly one line":
        arms = arms * np.r_[1.0, np.full(d - 1, 1e-4)]
    return np.asarray(arms, dtype=np.float64)


DESIGNS = {
    "kind": KINDS, "shape": ((4, 2), (20, 3), full((50, 10))), "ridge": "1/1000000 1/100 1",
    "seed": (0, full(*range(1, 8))),
}  # fmt: skip


@inequality(rows, "SAR-L4.3", "Lemma 4.3", over=over(**DESIGNS, factor="101/100 2"))
def design_exists(kind: str, shape: tuple[int, int], ridge: Fraction, seed: int, factor: Fraction) -> Sides:
    """For every finite arm set and ε > 0 some design has max xᵀ(εI + E yyᵀ)^-1 x ≤ d, and 2d is found fast

    Build the design by Frank-Wolfe steps and certify its largest leverage: at most 1.01 d, and at most 2d,
    for drawn, repeated, degenerate and nearly degenerate arms.

    Note: d itself is attained in the limit of the steps; a table can show 1.01 d
    """
    count, dim = shape
    arms = _arms(kind, count, dim, seed)
    found = g_optimal_design(arms, ridge=float(ridge), factor=float(factor) - 1e-6)
    return Fraction(found.largest_leverage) + ROUNDING, factor * dim


# Claims 1 and 2: a distribution of finitely many arm sets


@cache
def _sets(seed: int, d: int, n_sets: int) -> tuple[Floats, ...]:
    return tuple(_arms("drawn", 3 + i % 4, d, 100 * seed + i) for i in range(n_sets))


def _survivors(arms: Floats, theta: Floats, shape: Floats, width: float) -> Floats:
    """Return the survivors of elimination with scores <x, theta> and radii width ‖x‖_shape."""
    radius = width * np.sqrt(np.einsum("kd,de,ke->k", arms, shape, arms))
    scores = arms @ theta
    left: Floats = arms[scores + radius >= (scores - radius).max()]
    return left


@inequality(
    rows,
    "SAR-CL1",
    "Claim 1",
    over=over(d=(2, full(5)), width="1/100 1/3 2", seed=(0, 1, full(*range(2, 20)))),
)
def survivors_shrink(d: int, width: Fraction, seed: int) -> Sides:
    """E max ‖x‖²_A over survivors of later batches is at most the same mean for earlier ones, for every PSD
    A

    Three arm sets, two successive eliminations with fixed estimators, A drawn of rank 1 to d. The
    expectation over the sets is exact. The worst of 20 matrices is reported, with 10^-9 allowed for floats.
    The sets only lose arms, so each maximum falls.
    """
    rng = np.random.default_rng([seed, d])
    sets = _sets(seed, d, 3)
    stages = [sets]
    for _ in range(2):
        theta, root = rng.normal(size=d), rng.normal(size=(d, d))
        stages.append(tuple(_survivors(arms, theta, root @ root.T, float(width)) for arms in stages[-1]))
    worst = 0.0
    for i in range(20):
        factor = rng.normal(size=(d, 1 + i % d))
        means = [np.mean([((arms @ factor) ** 2).sum(axis=1).max() for arms in stage]) for stage in stages]
        worst = max(worst, *(later / earlier for earlier, later in pairwise(means)))
    return Fraction(worst), 1 + Fraction(1, 10**9)


@cache
def _expected(seed: int, d: int, n_sets: int, factor: Fraction) -> tuple[float, float]:
    """Return E max ‖x‖² in the inverse of W = E E xxᵀ over designs, and the worst certificate of the
    designs."""
    sets = _sets(seed, d, n_sets)
    designs = [g_optimal_design(arms, ridge=1e-9, factor=float(factor)) for arms in sets]
    pairs = zip(sets, designs, strict=True)
    total = np.sum([arms.T @ (found.weights[:, None] * arms) for arms, found in pairs], axis=0)
    inverse = np.linalg.inv(total / n_sets)
    largest = [np.einsum("kd,de,ke->k", arms, inverse, arms).max() for arms in sets]
    return float(np.mean(largest)), max(found.largest_leverage for found in designs)


def _invertible(d: int, n_sets: int, **_: object) -> bool:
    return n_sets > 1 or d <= 3


@inequality(
    rows,
    "SAR-CL2",
    "Claim 2",
    over=over(
        d=(2, 3, full(5)),
        n_sets=(1, 3, 10, full(50)),
        seed=(0, 1, full(*range(2, 10))),
        factor="101/100 2",
    ).where(_invertible, "W invertible: no single set, of three arms, in d = 5"),
)
def expected_leverage(d: int, n_sets: int, seed: int, factor: Fraction) -> Sides:
    """E max ‖x‖² in W^-1 is at most d², W the mean of xxᵀ over arm sets and designs; 2d² with the
    2d-designs

    There are finitely many arm sets with equal weight. The expectation is exact, and the designs are
    certified to `factor` d.

    Proof: xxᵀ ≤ (xᵀM^-1x) M for the design matrix M of X, so xᵀW^-1x ≤ f d tr(W^-1 M), and the mean of
    tr(W^-1 M) is d
    """
    found, _ = _expected(seed, d, n_sets, factor)
    return Fraction(found) + ROUNDING, factor * d * d


# Remark 4.4: one distribution of arm sets on which the designs differ


def _leverages(half: int, rare: Any) -> tuple[Any, Any]:
    """Return 1/W on a rare and on a common axis: each of ``half`` sets has one rare axis of its own and
    ``half`` common ones. The rare axis has weight ``rare``, the common ones have equal weights."""
    return half / rare, half / (1 - rare)


@inequality(
    rows, "SAR-R4.4", "Remark 4.4", over=over(half=(1, 2, 8, 10**6)), prove=on(half=integers(1, None)),
)  # fmt: skip
def cost_of_designs(half: int) -> Chain:
    """On one distribution in every even d, G-optimal designs multiply E max ‖x‖² in W⁻¹ by at most d and at
    least d/4 compared with other sampling: regret goes with its root, so by √d/2 to √d

    d = 2 half. One of `half` arm sets is drawn: a rare axis of its own and `half` axes common to all. The
    G-optimal design has equal weights, the other sampling plays the rare axis half of the time. Its E max is
    d on either axis, which no sampling is below: the mean of ‖x‖² over the played arms is d.

    Note: leading term read as in E.11, √(E max ‖x‖²). Logarithms of the cited designs are not looked at
    """
    rare, common = _leverages(half, 1 / ball(half + 1))
    other = 2 * ball(half)  # d
    return {
        "common axes are shorter": (common, rare),
        "at most d": (rare / other, other),
        "at least d/4": (other / 4, rare / other),
    }
