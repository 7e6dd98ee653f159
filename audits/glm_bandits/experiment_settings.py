"""Run the experiments of Sarmasarkar (2026), section 8 and appendix A, and list the numbers of its Table 2.

All runs of a setting share one parameter and one sequence of arms. delta = zeta = 0.02, and every algorithm
has the constants of the experiments. The private algorithm also runs with the constants of its analysis, c
= C = 1, without caps as in the pseudo-code. Algorithm 7 then has less than one step in every call. The
printed regrets are means of 10 runs without error bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal

import numpy as np

from dpaudit.reference.algorithms.contextual.glm_baselines import BanditSize, EcoLog, GlmUcb, Gloc, RsGlinUcb
from dpaudit.reference.algorithms.contextual.glm_environments import GlmEnvironment, published_environment
from dpaudit.reference.algorithms.contextual.glm_optimisers import ClippedDescent, StartingPoint
from dpaudit.reference.algorithms.contextual.glm_simulation import GlmRuns, MakePolicy, simulate_glm
from dpaudit.reference.algorithms.contextual.joint_glm import JointGlm
from dpaudit.reference.algorithms.contextual.joint_glm_constants import (
    GlmBudget,
    practical_constants,
    printed_constants,
)
from dpaudit.reference.algorithms.contextual.links import Link, Probit, logistic
from dpaudit.suite.regret import Seed, checkpoint_grid, root_of

__all__ = [
    "ALGORITHMS",
    "FIGURES",
    "KAPPAS",
    "LEVEL",
    "PRINTED",
    "RUNS",
    "TABLE",
    "Setting",
    "constants_of",
    "private",
    "released",
    "runs_of",
]

LEVEL = 0.02
RUNS = 10
_PROBIT, _LOGISTIC = Probit(), logistic()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A link, S, d, T and the algorithms that are compared, with the private one's epsilons."""

    link: Link
    param_norm: float
    dim: int
    horizon: int
    algorithms: tuple[str, ...]


def private(epsilon: float, *, analysed: bool = False) -> str:
    """Return the private algorithm's name, with the experiments' constants or the constants of its
    analysis."""
    return f"Private-GLM ε = {epsilon:g}{', (19) to (21)' if analysed else ''}"


def released(epsilon: float) -> str:
    """Return the name of the private algorithm with the tree query of the released code."""
    return f"{private(epsilon)}, released query"


#: Map each name to epsilon, and to whether it has the constants of the analysis.
_PRIVATE = {
    private(epsilon, analysed=analysed): (epsilon, analysed)
    for epsilon in (2.0, 4.0, 6.0, 8.0)
    for analysed in (False, True)
}
_ANALYSED = tuple(private(epsilon, analysed=True) for epsilon in (4, 6, 8))
_RELEASED = {released(epsilon): float(epsilon) for epsilon in (4, 6, 8)}
_TABLE = ("GLM-UCB", "GLOC", *map(private, (4, 6, 8)), "RS-GLinUCB", *_ANALYSED)


def constants_of(algorithm: str) -> str:
    """Return which constants an algorithm has: "experiments" or "analysis, c = C = 1"."""
    return "analysis, c = C = 1" if _PRIVATE.get(algorithm, (0.0, False))[1] else "experiments"


#: Table 2: S -> setting.
TABLE: Mapping[str, Setting] = {
    norm: Setting(link=_PROBIT, param_norm=float(norm), dim=3, horizon=5000, algorithms=_TABLE)
    for norm in ("2", "2.5", "3")
}
KAPPAS = {"2": 18.39, "2.5": 56.44, "3": 222.15}

#: Figure 1.
FIGURES: Mapping[str, Setting] = {
    "1a": Setting(
        link=_LOGISTIC,
        param_norm=3.5,
        dim=5,
        horizon=15000,
        algorithms=(*map(private, (2, 4, 8)), "RS-GLinUCB", "ECOLog", "GLOC"),
    ),
    "1b": Setting(
        link=_PROBIT,
        param_norm=3.0,
        dim=5,
        horizon=5000,
        algorithms=(*map(private, (2, 4, 8)), "RS-GLinUCB", "GLM-UCB", "GLOC"),
    ),
}

#: Table 2 as printed: algorithm -> regret at S = 2, 2.5, 3.
PRINTED: Mapping[str, tuple[str, str, str]] = {
    "GLM-UCB": ("1399.07", "1942.18", "2322.53"),
    "GLOC": ("384.33", "627.62", "1352.05"),
    private(4): ("369.53", "382.25", "384.91"),
    private(6): ("289.67", "299.33", "296.41"),
    private(8): ("300.32", "295.49", "301.73"),
    "RS-GLinUCB": ("295.27", "168.83", "194.53"),
}
ALGORITHMS = tuple(PRINTED)


@cache
def environment(setting: Setting) -> GlmEnvironment:
    """Return the setting's one sequence of arms."""
    return published_environment(
        setting.link, param_norm=setting.param_norm, dim=setting.dim, rounds=setting.horizon
    )


def _policy(setting: Setting, algorithm: str) -> MakePolicy:
    arms, link = environment(setting), setting.link
    size = BanditSize(
        horizon=setting.horizon,
        dim=setting.dim,
        param_norm=setting.param_norm,
        kappa=arms.kappa,
        failure_prob=LEVEL,
        steepest=float(link.slope(np.zeros(1))[0]),
    )
    if algorithm == "RS-GLinUCB":
        return lambda replicates, rng: RsGlinUcb(size, link, replicates)
    if algorithm == "GLM-UCB":
        return lambda replicates, rng: GlmUcb(size, link, replicates, growing=isinstance(link, Probit))
    if algorithm == "GLOC":
        return lambda replicates, rng: Gloc(size, link, replicates)
    if algorithm == "ECOLog":
        return lambda replicates, rng: EcoLog(size, link, replicates)
    if algorithm in _RELEASED:
        return partial(_private, setting, _RELEASED[algorithm], query="released")
    epsilon, analysed = _PRIVATE[algorithm]
    return partial(_analysed if analysed else _private, setting, epsilon)


def budget(setting: Setting, epsilon: float) -> GlmBudget:
    """Return the private algorithm's instance and levels."""
    arms = environment(setting)
    return GlmBudget(
        horizon=setting.horizon,
        dim=setting.dim,
        param_norm=setting.param_norm,
        kappa=arms.kappa,
        kappa_star=arms.kappa_star,
        epsilon=epsilon,
        delta=LEVEL,
        failure_prob=LEVEL,
    )


def _private(
    setting: Setting,
    epsilon: float,
    replicates: int,
    rng: np.random.Generator,
    query: Literal["prefix", "released"] = "prefix",
) -> JointGlm:
    constants = replace(practical_constants(budget(setting, epsilon)), query=query)
    return JointGlm(constants, setting.link, ClippedDescent(), replicates=replicates, rng=rng)


def _analysed(setting: Setting, epsilon: float, replicates: int, rng: np.random.Generator) -> JointGlm:
    """Return the policy with the constants of the analysis. At these sizes Algorithm 7 never has a step."""
    constants = printed_constants(budget(setting, epsilon))
    return JointGlm(constants, setting.link, StartingPoint(), replicates=replicates, rng=rng)


def runs_of(
    setting: Setting,
    *,
    seed: Seed,
    runs: int = RUNS,
    algorithms: Sequence[str] | None = None,
    points: int = 48,
) -> dict[str, GlmRuns]:
    """Run each algorithm on the setting's arms, ``runs`` times.

    An algorithm's seed does not depend on the other requested algorithms.
    """
    chosen = setting.algorithms if algorithms is None else algorithms
    named = (*setting.algorithms, *_RELEASED)
    seeds = dict(zip(named, root_of(seed).spawn(len(named)), strict=True))
    grid = checkpoint_grid(setting.horizon, points=points).tolist()
    return {
        name: simulate_glm(
            _policy(setting, name),
            environment(setting),
            name=name,
            replicates=runs,
            seed=seeds[name],
            checkpoints=grid,
        )
        for name in chosen
    }
