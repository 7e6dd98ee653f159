"""Compare the bandit algorithms' regret with the printed rates. Upper side: rigorous suprema over a grid of
(gap, ε, T). Lower side: simulated corner instances, with bets on min(regret, cap).

An O(.) names no constant. Every rate of this paper gets the same round C, which we chose, and a note gives
the constant that would suffice. The bounds on pulls (``pull_bounds``) hold for all instances with an arm of
the given gap. Logarithms are to base 2, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from audits.private_online_learning.variants import VARIANTS
from dpaudit.core import plots
from dpaudit.core.claims import RegretRate
from dpaudit.core.suite import Group, Run
from dpaudit.reference.algorithms.mab.lazy_replicates import lazy_runs
from dpaudit.reference.algorithms.mab.pull_bounds import hybrid_pull_bound, lazy_pull_bound, worst_gap_regret
from dpaudit.reference.algorithms.simulation import simulate_many
from dpaudit.suite import Grid, Measured, evidence, full, in_words, only_quick, over
from dpaudit.suite.regret import Interval, RegretRuns, gaps_of, mean_interval

__all__ = [
    "BUDGETS",
    "CONSTANT",
    "GRID",
    "Simulated",
    "Summand",
    "all_gaps",
    "hybrid_instances",
    "hybrid_pulls",
    "hybrid_rate",
    "lazy_instances",
    "lazy_pulls",
    "lazy_rate",
    "lazy_worst_gap",
    "minimax_rate",
    "on_grid",
    "rate",
]

#: A function of gap, epsilon and horizon.
Summand = Callable[[float, float, int], float]

#: C of every rate of this paper: a round number that we chose.
CONSTANT = 1000


LATER = full(5, 100, 10**4, 10**5, 10**6, 10**8, 10**10)
#: ε and T, extreme values first.
BUDGETS = {
    "epsilon": (1e-3, 0.01, 0.25, 1.0, 64.0, 1e6, full(0.1, 0.5, 8.0, 128.0)),
    "horizon": (2, 3, 10, 1000, 2**22, 10**12, only_quick(10**9), LATER),
}
GRID = over(gap=(1.0, 0.5, 0.05, 0.01, 1e-4, full(0.99, 0.25, 0.1, 1e-3)), **BUDGETS)


def rate(
    rows: Group, id: str, source: str, who: str, shape: str, where: str = "", **options: Any
) -> Callable[[Any], Any]:
    """Decorate a row that claims regret at most C times a rate. ``{case}`` in its docstring becomes ``who:
    regret O(shape)``."""
    claim = RegretRate(
        text=f"{who}: regret <= C ({shape}){where}, C = {CONSTANT} (ours, the paper names none)",
        quantity_name="regret / rate",
        claimed=CONSTANT,
        constants=(("C", str(CONSTANT)),),
    )
    return evidence(rows, id, source, claim=claim, case=f"{who}: regret O({shape})", **options)


def lazy_rate(gap: float, epsilon: float, horizon: float) -> float:
    """Return Theorem 3's summand, log T / min{gap, epsilon}."""
    return math.log2(horizon) / min(gap, epsilon)


def hybrid_rate(gap: float, epsilon: float, horizon: float, *, inner: float = 1.0) -> float:
    """Return Theorem 5's summand, max{log T / gap, (log T / epsilon) log(inner log T / (epsilon gap))}."""
    log_t = math.log2(horizon)
    return max(log_t / gap, log_t / epsilon * math.log2(inner * log_t / (epsilon * gap)))


def minimax_rate(n_arms: int, epsilon: float, horizon: int) -> float:
    """Return Theorem 4's rate, sqrt(K T log T) + K log T / epsilon."""
    log_t = math.log2(horizon)
    return math.sqrt(n_arms * horizon * log_t) + n_arms * log_t / epsilon


@cache
def lazy_pulls(gap: float, epsilon: float, horizon: int) -> float:
    """Return a rigorous bound on the expected pulls by Anytime-Lazy-UCB."""
    return lazy_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon)


@cache
def hybrid_pulls(gap: float, epsilon: float, horizon: int) -> float:
    """Return a rigorous bound on the expected pulls by Hybrid-UCB: the larger one of printed and repaired
    noise."""
    return max(
        hybrid_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon, variant="printed"),
        hybrid_pull_bound(gap=gap, epsilon=epsilon, horizon=horizon, variant="repaired"),
    )


def on_grid(run: Run, pulls: Summand, bound: Summand) -> Measured:
    """Return the largest gap * pulls / bound over the grid, from a rigorous bound on pulls."""
    points = [tuple(point.values()) for point in GRID.at(run)]
    worst, where = max((point[0] * pulls(*point) / bound(*point), point) for point in points)
    place = f"gap {where[0]:g}, ε {where[1]:g}, T {where[2]:g}"
    return Measured(
        high=worst,
        samples=len(points),
        method="Hoeffding and Chernoff bounds on every event of the proof, evaluated",
        scope=f"all instances with an arm of that gap: {GRID.scope}",
        notes=[f"on the grid the ratio is at most {worst:.4g} (at {place})"],
    )


def all_gaps(run: Run, grid: Grid, pulls: Callable[..., float], *, extra: float) -> Measured:
    """Return the largest regret / Theorem 4's rate over a grid of (n_arms, epsilon, horizon) and ALL gaps.
    The bound ``pulls(gap, **point)`` falls with the gap. ``extra`` is added to every regret."""
    found = []
    for point in grid.at(run):
        worst = worst_gap_regret(partial(pulls, **point), n_arms=point["n_arms"], horizon=point["horizon"])
        found.append(((worst + extra) / minimax_rate(**point), in_words(point)))
    ratio, place = max(found)
    return Measured(
        high=ratio,
        samples=len(found),
        method="supremum over the gap of gap times the rigorous bound on pulls",
        scope=f"all gaps; {grid.scope}",
        notes=[f"on the grid the ratio is at most {ratio:.4g} (at {place})"],
    )


# Simulated

Means = tuple[float, ...]

#: Means 0 and 1, ties, the best arm first, last and in between, tiny and huge epsilon.
INSTANCES: tuple[tuple[Means, str], ...] = (
    ((1.0, 0.0), "1/100"),
    ((0.0, 1.0), "1000000"),
    ((0.5, 0.5, 0.4), "1"),
    ((0.2, 0.3, 0.8), "1/4"),
    ((0.5, 0.49), "1"),
    ((0.75, 0.70, 0.70, 0.70, 0.70), "1/2"),
    ((0.75, 0.625, 0.5, 0.375, 0.25), "1/10"),
    ((0.15, 0.15, 0.75, 0.15, 0.15), "8"),
    ((0.6,) + (0.5,) * 19, "1/2"),
)
CHECKPOINTS = (10, 100, 10**3, 10**4, 10**5, 10**6, 2**22, 10**8, 10**10, 10**12)

#: For Hybrid-UCB, which is simulated round by round. The fourth instance has no regret.
HYBRID_INSTANCES: tuple[tuple[Means, str], ...] = (
    ((1.0, 0.0), "8"),
    ((0.0, 1.0), "64"),
    ((0.9, 0.4), "32"),
    ((0.5, 0.5), "1"),
    ((0.6, 0.5), "128"),
)


class Simulated(NamedTuple):
    """Runs of an algorithm of ``VARIANTS`` on one instance."""

    name: str
    means: Means
    epsilon: Fraction
    result: RegretRuns

    def interval(self, place: int, *, alpha: float) -> Interval:
        """Return a confidence interval of the expected regret at one of the checkpoints."""
        horizon = int(self.result.checkpoints[place])
        cut = VARIANTS[self.name].cut(self.means, epsilon=float(self.epsilon), horizon=horizon)
        return mean_interval(self.result.curves[:, place], cut, alpha=alpha)

    def rates(self, rate: Callable[[Means, float, int], float]) -> list[float]:
        """Return the rate at each checkpoint."""
        return [rate(self.means, float(self.epsilon), int(t)) for t in self.result.checkpoints]


def _against(
    run: Run, groups: Mapping[str, Sequence[Simulated]], rate: Callable[[Means, float, int], float]
) -> Measured:
    """Return the largest lower confidence bound of regret / rate over all simulated instances and
    checkpoints. All bounds hold jointly at the run's significance level. The plot shows the largest mean of
    each group."""
    items = [item for group in groups.values() for item in group]
    checkpoints = items[0].result.checkpoints.tolist()
    level, best, series = run.alpha / (len(items) * len(checkpoints)), 0.0, []
    for label, group in groups.items():
        shown = np.zeros(len(checkpoints))
        for item in group:
            if gaps_of(item.means):
                rates = item.rates(rate)
                lows = [item.interval(i, alpha=level).low / value for i, value in enumerate(rates)]
                best, shown = max(best, *lows), np.maximum(shown, item.result.curves.mean(axis=0) / rates)
        series.append(plots.series(name=label, x=checkpoints, y=shown.tolist()))
    return Measured(
        low=best,
        samples=sum(len(item.result.curves) for item in items),
        method="simulation; bets on the mean of min(regret, cap)",
        scope=f"{', '.join(groups)}; {len(items)} instances, T = {checkpoints[0]} to {checkpoints[-1]}",
        exact=False,
        plots=[
            plots.curves(
                title="Simulated mean regret / rate, the largest of each group",
                series=series,
                x_title="rounds T",
                y_title="ratio",
                x_log=True,
            )
        ],
    )


def _summed(summand: Summand, means: Means, epsilon: float, horizon: int) -> float:
    return sum(summand(gap, epsilon, horizon) for gap in gaps_of(means))


@lru_cache(maxsize=64)
def _lazy(means: Means, epsilon: str, runs: int, seed: int) -> Simulated:
    root = np.random.SeedSequence([seed, len(means), *(int(1000 * mean) for mean in means)])
    result = lazy_runs(
        means, epsilon=epsilon, horizon=CHECKPOINTS[-1], runs=runs, seed=root, checkpoints=CHECKPOINTS
    )
    return Simulated("lazy_ucb", means, Fraction(epsilon), result)


def lazy_instances(run: Run, summand: Summand) -> Measured:
    """Compare simulated Anytime-Lazy-UCB with a sum over arms, to T = 10^12."""
    runs = run.choose(quick=100, full=1000)
    groups = {f"means {means[:5]}, ε = {e}": [_lazy(means, e, runs, run.seed)] for means, e in INSTANCES}
    return _against(run, groups, partial(_summed, summand))


def lazy_worst_gap(run: Run) -> Measured:
    """Compare simulated Anytime-Lazy-UCB with Theorem 4's rate: equal gaps 2^-k, K = 2 and 10, to T =
    10^8."""
    runs, step = run.choose(quick=60, full=400), run.choose(quick=2, full=1)
    horizons = (10**2, 10**4, 10**6, 10**8)
    groups: dict[str, list[Simulated]] = {}
    for n_arms, epsilon in ((2, "1"), (10, "1"), (2, "1/10"), (10, "1/10")):
        group = groups.setdefault(f"K = {n_arms}, ε = {epsilon}", [])
        for gap in (2.0**-k for k in range(0, 12, step)):
            means = ((1 + gap) / 2,) + ((1 - gap) / 2,) * (n_arms - 1)
            seed = run.seed_sequence(f"{n_arms} {epsilon} {gap}")
            result = lazy_runs(
                means, epsilon=epsilon, horizon=horizons[-1], runs=runs, seed=seed, checkpoints=horizons
            )
            group.append(Simulated("lazy_ucb", means, Fraction(epsilon), result))
    return _against(run, groups, lambda means, epsilon, t: minimax_rate(len(means), epsilon, t))


def hybrid_instances(run: Run) -> Measured:
    """Compare simulated Hybrid-UCB, printed and repaired noise, with Theorem 5's rate, at the horizons that
    are affordable."""
    horizon, runs = run.choose(quick=2**11, full=2**16, paper=2**20), run.choose(quick=40, full=60)
    groups = {}
    for variant in ("printed", "repaired"):
        results = simulate_many(
            VARIANTS[f"hybrid_ucb/{variant}"],
            [means for means, _ in HYBRID_INSTANCES],
            epsilons=[epsilon for _, epsilon in HYBRID_INSTANCES],
            horizon=horizon,
            runs=runs,
            seed=run.seed_sequence(variant),
            checkpoints=[2**k for k in range(4, int(math.log2(horizon)) + 1)],
        )
        for (means, epsilon), result in zip(HYBRID_INSTANCES, results, strict=True):
            item = Simulated(f"hybrid_ucb/{variant}", means, Fraction(epsilon), result)
            groups[f"{variant}, means {means}, ε = {epsilon}"] = [item]
    return _against(run, groups, partial(_summed, hybrid_rate))
