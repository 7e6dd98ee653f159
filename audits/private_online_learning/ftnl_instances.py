"""Full-information instances, the bounds to compare them with, and the largest ratio over a grid.

Corners first: gaps from tiny to 1, means at 0 and 1, brackets of one action and of many, gaps at the edge of
a bracket, epsilons from far below every gap to far above 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpaudit.core import plots
from dpaudit.core.suite import Run
from dpaudit.reference.algorithms.online.leader_distribution import Actions, ExactRegret, exact_regret
from dpaudit.suite import Measured

__all__ = [
    "METHOD",
    "Bound",
    "Cell",
    "Premise",
    "brackets",
    "cells",
    "compare",
    "explicit_bound",
    "ftnl_regret",
    "instances",
    "log_k",
]

Cell = tuple[str, Actions, Fraction]
Bound = Callable[[Actions, Fraction], float]
Premise = Callable[[Actions, Fraction], bool]
Regret = Callable[[Actions, Fraction], ExactRegret]

METHOD = "exact distribution of every epoch's leader by quadrature, remainder bounded"

#: From tiny to huge. 1/1000 is far below every gap.
EPSILONS = tuple(Fraction(e) for e in ("1/1000", "1/64", "1/4", "1", "8", "128"))
QUICK_EPSILONS = tuple(Fraction(e) for e in ("1/1000", "1/8", "128"))


def instances(run: Run) -> list[tuple[str, Actions]]:
    """Return corner instances: one gap (tiny to 1, means at 0 and 1), brackets of one action and of growing
    size, ties."""
    gaps = run.choose(quick=(1.0, 0.5, 2.0**-4), full=(1.0, 0.99, 0.5, 0.125, 2.0**-4, 2.0**-7, 2.0**-9))
    sizes = run.choose(quick=(1, 16, 256), full=(1, 2, 3, 16, 256, 4096))
    found = [(f"{n} actions at gap {gap:g}", Actions.of_gaps([gap], [n])) for gap in gaps for n in sizes]
    found += [
        ("means 1 and 7/8", Actions((1.0, 0.875), (1, 3))),
        ("means 1/8 and 0", Actions((0.125, 0.0), (1, 3))),
        ("gaps Δ and 2Δ", Actions.of_gaps([0.125, 0.25], [4, 4])),
        ("a hair below 2Δ", Actions.of_gaps([0.25, 0.4999], [1, 30])),
    ]
    for depth in run.choose(quick=(2, 4), full=(2, 4, 6)):
        doubling = [2.0 ** (k - depth) for k in range(depth + 1)]
        sizes = [4**k for k in range(depth + 1)]
        found.append((f"doubling from 2^-{depth}", Actions.of_gaps(doubling)))
        found.append((f"doubling, sizes 4^k, from 2^-{depth}", Actions.of_gaps(doubling, sizes)))
    rng = replace(run, row_id="HHM-T7").rng("random gaps")  # the same for every row
    for i in range(run.choose(quick=2, full=8)):
        low, high = 2.0 ** -rng.integers(1, run.choose(quick=6, full=8), size=2)
        drawn = [float(g) for g in (low * (1 + rng.random()) / 2, min(1.0, high * (1 + rng.random()) / 2))]
        sizes = [int(n) for n in rng.integers(1, 50, size=2)]
        found.append((f"two random brackets {i + 1}", Actions.of_gaps(drawn, sizes)))
    return found


def cells(run: Run, *, keep: Premise | None = None) -> list[Cell]:
    """Return the pairs of an instance and an epsilon (epsilons near the smallest gap included) that ``keep``
    accepts.

    The quadrature is slow if the noise is narrower than the lattice of the sums. Instances with many gaps
    therefore leave out huge epsilons.
    """
    epsilons: Sequence[Fraction] = run.choose(quick=QUICK_EPSILONS, full=EPSILONS)
    slow = run.choose(quick=3, full=5)
    return [
        (name, actions, epsilon)
        for name, actions in instances(run)
        for epsilon in sorted({*epsilons, Fraction(actions.min_gap).limit_denominator(10**6)})
        if (epsilon <= 8 or len(actions.means) <= slow) and (keep is None or keep(actions, epsilon))
    ]


def ftnl_regret(actions: Actions, epsilon: Fraction, *, noise: int = 1) -> ExactRegret:
    """Return FTNL with Laplace(noise/epsilon) on every sum: noise 1 as printed, 2 as epsilon-DP requires."""
    return exact_regret(actions, scale=noise / epsilon)


def brackets(actions: Actions) -> list[tuple[int, float]]:
    """Return |J_k| and the lower end of each non-empty bracket."""
    return [(size, 2.0 ** (k - 1) * actions.min_gap) for k, size in actions.brackets().items()]


def explicit_bound(actions: Actions, epsilon: Fraction) -> float:
    """Return the sum before (57): 256 (1 + ln|J_k|) / min{D_k, epsilon} over the non-empty brackets."""
    e = float(epsilon)
    return sum(256 * (1 + math.log(size)) / min(gap, e) for size, gap in brackets(actions))


def log_k(actions: Actions) -> float:
    """Return log K, base 2."""
    return math.log2(actions.n_actions)


def compare(chosen: Sequence[Cell], regret: Regret, bound: Bound) -> Measured:
    """Return the largest exact regret / bound over the cells, and the cells closest to the bound."""
    found = []
    for name, actions, epsilon in chosen:
        exact = regret(actions, epsilon)
        divisor = bound(actions, epsilon)
        found.append((exact.upper / divisor, exact.lower / divisor, name, actions, epsilon, exact.lower))
    found.sort(key=lambda item: item[:2], reverse=True)
    upper, _, name, _, epsilon, _ = found[0]
    place = f"{name}, ε = {epsilon}"
    table = plots.table(
        title="Pairs closest to the bound",
        columns=["instance", "K", "Δ_min", "ε", "exact regret", "regret / bound"],
        rows=[
            [name, actions.n_actions, actions.min_gap, str(epsilon), exact_lower, low]
            for _, low, name, actions, epsilon, exact_lower in found[:12]
        ],
    )
    return Measured(
        low=max(item[1] for item in found),
        high=upper,
        samples=len(found),
        method=METHOD,
        scope=f"{len(found)} pairs of an instance and ε, every horizon; largest: {place}",
        details={"instance": name, "epsilon": str(epsilon)},
        notes=[f"on these pairs the ratio is at most {upper:.4g} ({place})"],
        plots=[table],
    )
