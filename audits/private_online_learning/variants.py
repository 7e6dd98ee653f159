"""One table of the paper's algorithms: their names, their simulations and the caps on their regret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from dpaudit.core.exact import ExactLike, exact
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination, ucb1
from dpaudit.reference.algorithms.mab.pull_bounds import elimination_cut, hybrid_cut, lazy_cut
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import Strategy
from dpaudit.reference.algorithms.simulation import Algorithm

__all__ = ["VARIANTS"]


def _elimination(epsilon: ExactLike, horizon: int) -> Strategy:
    return successive_elimination.strategy(epsilon=epsilon, failure_probability=1 / exact(horizon))


def _hybrid(variant: Literal["printed", "repaired", "promoted"]) -> Algorithm:
    made = Algorithm(
        f"hybrid_ucb/{variant}",
        title="Hybrid-UCB" if variant == "printed" else f"Hybrid-UCB, {variant}",
        engine="rounds",
        strategy=lambda epsilon, horizon: hybrid_ucb.strategy(epsilon=epsilon, variant=variant),
        policy=lambda shape, epsilons, horizon: hybrid_ucb.HybridPolicy(
            shape, epsilons=epsilons, horizon=horizon, variant=variant
        ),
    )
    return made if variant == "promoted" else replace(made, cut=partial(hybrid_cut, variant=variant))


def _ftnl(variant: Literal["printed", "repaired"]) -> Algorithm:
    return Algorithm(
        f"ftnl/{variant}",
        title="FTNL" if variant == "printed" else f"FTNL, {variant}",
        engine="replicates",
        strategy=lambda epsilon, horizon: ftnl.strategy(epsilon=epsilon, variant=variant),
    )


#: By name. UCB1 and Follow-The-Leader are not private. They are baselines of this audit.
VARIANTS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "lazy_ucb",
            title="Anytime-Lazy-UCB",
            engine="runs",
            strategy=lambda epsilon, horizon: lazy_ucb.strategy(epsilon=epsilon),
            cut=lazy_cut,
        ),
        Algorithm("dp_se", title="DP-SE", engine="runs", strategy=_elimination, cut=elimination_cut),
        *(_hybrid(variant) for variant in ("printed", "repaired", "promoted")),
        Algorithm(
            "ucb1",
            title="UCB1",
            engine="rounds",
            strategy=lambda epsilon, horizon: ucb1.strategy(),
            policy=lambda shape, epsilons, horizon: ucb1.Ucb1Policy(shape),
        ),
        *(_ftnl(variant) for variant in ("printed", "repaired")),
        Algorithm(
            "naive_ftnl",
            title="FTNL with K times the noise",
            engine="replicates",
            strategy=lambda epsilon, horizon: ftnl.naive(epsilon=epsilon),
        ),
        Algorithm(
            "ftl",
            title="Follow-The-Leader",
            engine="replicates",
            strategy=lambda epsilon, horizon: ftnl.follow_the_leader(),
        ),
    )
}
