"""Regret rates of Theorems 1 to 6, on exact means.

An O(.) names no constant. Each is restated as a finite claim, E Reg(T) <= C (a Σ 1/Δ + K b) with p = 1/T. All
claims have the same round C, which we chose, and the table gives the constants that would suffice. The upper
bound is rigorous and covers ALL instances with K arms at each point of a grid of (T, K, ε, s)
(``batched_regret``). The lower bound is from simulations of corner instances, at points of the same grid, and
from bets. Further rows follow the ratio of regret and rate along T, 1/ε and K. Logarithms are natural.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import RegretRate
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Role, Run
from dpaudit.reference.algorithms.mab.batched_regret import Setting, shape, shape_value, worst_ratio
from dpaudit.reference.algorithms.mab.simulated_regret import (
    against_rate,
    interval,
    noise_cells,
    sampling_cells,
)
from dpaudit.suite import Expression, Measured, evidence, expected, over

__all__ = ["INSTANCES", "RATES", "Grid", "Rate", "grid_of", "rigorous_side", "rows", "simulated_cells"]

rows = Group("Regret: the rates of Theorems 1 to 6")

#: C of every rate: a round number that we chose. The theorems name none.
CONSTANT = 10_000


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One theorem's rate. ``name`` is the variant (``distributed_elimination``), ``also`` a further condition
    of the claim, ``growing`` the scale factor at which its growth is measured, if it is."""

    id: str
    name: str
    title: str
    words: str
    source: str
    role: Role = "printed"
    growing: int | None = None
    small_epsilon: bool = False
    scales: tuple[int, ...] = (1,)
    also: str = ""


ANY_EPSILON = ("1/1000", "1/20", "1/10", "1/2", "1", "4", "20")
SMALL_EPSILON = ("1/1000", "1/20", "1/10", "1/2", "99/100")
ARMS = (2, 5, 10, 50)
#: log2 T in the full and in the quick profile.
EXPONENTS, QUICK_EXPONENTS = (12, 13, 14, 16, 18, 20, 22, 24, 30, 40, 50, 60), (12, 14, 24, 60)

#: Theorem 3 is about every (ε̂, q)-relaxed secure aggregation.
RELAXED = "with any secure function that is wrong with probability at most q = 1/(2T) in each batch and arm, "

RATES: tuple[Rate, ...] = (
    Rate(
        id="CZ23-T1R",
        name="dist_dp_se",
        title="Dist-DP-SE: regret O(Σ log T/Δ + K log T/ε)",
        words="Σ log T/Δ + K log T/ε",
        source="Theorem 1",
        growing=1,
    ),
    Rate(
        id="CZ23-T2R",
        name="dist_rdp_se",
        title="Dist-RDP-SE: regret O(Σ log T/Δ + K √(log T)/ε + K log T/(sε))",
        words="Σ log T/Δ + K √(log T)/ε + K log T/(sε)",
        source="Theorem 2",
        scales=(1, 10, 100),
        growing=10,
    ),
    Rate(
        id="CZ23-T3R",
        name="shuffle_dp_se/printed",
        title="Shuffle-DP-SE with the printed noise: regret as in Theorem 1",
        words="Σ log T/Δ + K log T/ε",
        source="Theorem 3",
        also=RELAXED,
    ),
    Rate(
        id="CZ23-T3R/repaired",
        name="shuffle_dp_se/repaired",
        title="Shuffle-DP-SE with noise for ε/2: regret as in Theorem 1",
        words="Σ log T/Δ + K log T/ε",
        source="Theorem 3, repaired noise",
        role="repaired",
        also=RELAXED,
    ),
    Rate(
        id="CZ23-T4R",
        name="dist_cdp_se",
        title="Dist-CDP-SE: regret O(Σ log T/Δ + K √(log T)/ε)",
        words="Σ log T/Δ + K √(log T)/ε",
        source="Theorem 4",
        small_epsilon=True,
        scales=(1, 10, 100),
    ),
    Rate(
        id="CZ23-T5R",
        name="cdp_se",
        title="CDP-SE (trusted server): regret as in Theorem 1",
        words="Σ log T/Δ + K log T/ε",
        source="Theorem 5",
        small_epsilon=True,
    ),
    Rate(
        id="CZ23-T6R",
        name="ldp_se",
        title="LDP-SE: regret O(Σ log T/(ε² Δ))",
        words="Σ log T/(ε² Δ)",
        source="Theorem 6",
        small_epsilon=True,
        growing=1,
    ),
)

#: Simulated instances: means 0 and 1, ties at the best arm, gaps from 1/100 to 1, K in ``ARMS``.
INSTANCES: tuple[tuple[float, ...], ...] = (
    (1.0, 0.0),
    (1.0, 0.75),
    (0.25, 0.0),
    (0.5, 0.49),
    (0.5, 0.5, 0.5, 0.4, 0.4),
    (1.0, 0.75, 0.5, 0.25, 0.0),
    (0.6,) + (0.5,) * 9,
    (1.0,) * 49 + (0.0,),
)


@dataclass(frozen=True)
class Grid:
    """The points (T = 2^exponent, K, ε, s) at which a rate is checked."""

    exponents: tuple[int, ...]
    arms: tuple[int, ...]
    epsilons: tuple[str, ...]
    scales: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.exponents) * len(self.arms) * len(self.epsilons) * len(self.scales)

    def __str__(self) -> str:
        named = (("K", self.arms), ("log2 T", self.exponents), ("ε", self.epsilons), ("s", self.scales))
        return "; ".join(f"{name} = {', '.join(map(str, values))}" for name, values in named)


def grid_of(rate: Rate, *, quick: bool) -> Grid:
    """Return the grid of one row in the quick or the full profile."""
    return Grid(
        exponents=QUICK_EXPONENTS if quick else EXPONENTS,
        arms=ARMS,
        epsilons=SMALL_EPSILON if rate.small_epsilon else ANY_EPSILON,
        scales=rate.scales[::2] if quick else rate.scales,
    )


def rigorous_side(run: Run, rate: Rate) -> tuple[Measured, Sequence[Any]]:
    """Return the largest bound on regret / rate over the grid, for all instances at each point, and the
    largest bound for each T."""
    grid = grid_of(rate, quick=run.profile == "quick")
    rows: list[tuple[str, float, str]] = []
    for exponent in grid.exponents:
        found = []
        for k, epsilon, s in itertools.product(grid.arms, grid.epsilons, grid.scales):
            setting = Setting(
                name=rate.name, epsilon=Fraction(epsilon), n_arms=k, horizon=2**exponent, scale_factor=s
            )
            sampling, noise = shape(setting)

            def per_arm(gap: Any, suboptimal: Any, a: float = sampling, b: float = k * noise) -> Any:
                return a / gap + b / suboptimal

            ratio, gap = worst_ratio(setting, per_arm)
            found.append((ratio, f"K = {k}, ε = {epsilon}, s = {s}, Δ = {gap:.4g}"))
        rows.append((f"2^{exponent}", *max(found)))
    worst = max(ratio for _, ratio, _ in rows)
    upper = Measured(
        high=worst,
        samples=len(grid),
        method="Lemma 2's argument with every constant worked out: Hoeffding, Chernoff, wraps counted",
        scope=f"ALL instances at each of {len(grid)} points: {grid}",
    )
    return upper, [list(row) for row in rows]


def simulated_cells(run: Run, rate: Rate) -> list[tuple[Setting, tuple[float, ...]]]:
    """Return the settings and means to simulate. They lie at points of ``grid_of``, because a regret at any
    other point could not refute a claim about these points."""
    horizons = run.choose(quick=(24,), full=(12, 18, 24))
    epsilons = ("1/10", "99/100") if rate.small_epsilon else ("1/10", "1", "20")
    epsilons = run.choose(quick=epsilons[1:2], full=epsilons)
    scales = run.choose(quick=rate.scales[:1], full=rate.scales)
    return [
        (
            Setting(
                name=rate.name,
                epsilon=Fraction(epsilon),
                n_arms=len(means),
                horizon=2**exponent,
                scale_factor=s,
            ),
            means,
        )
        for means, epsilon, exponent, s in itertools.product(INSTANCES, epsilons, horizons, scales)
    ]


def simulated_side(run: Run, rate: Rate) -> Measured:
    """Return the largest lower confidence bound of regret / rate over simulated instances."""
    runs, cells = run.choose(quick=60, full=400), simulated_cells(run, rate)
    best, where = 0.0, ""
    for setting, means in cells:
        found = interval(run, setting, means, runs=runs, alpha=run.alpha / len(cells))
        ratio = found.low / shape_value(setting, means)
        if ratio > best:
            exponent = setting.horizon.bit_length() - 1
            where = f"means {means[:5]}, ε = {setting.epsilon}, s = {setting.scale_factor}, T = 2^{exponent}"
            best = ratio
    return Measured(
        low=best,
        exact=False,
        samples=runs * len(cells),
        method="batch simulation; bets on the mean of min(regret, cap)",
        scope=f"{len(cells)} cells (instance, ε, T, s), {runs} runs each; largest at {where}",
    )


def claim_of(rate: Rate) -> RegretRate:
    """Return the claim of the rate on its grid, with C = 10 000."""
    full, few = grid_of(rate, quick=False), grid_of(rate, quick=True)
    return RegretRate(
        text=(
            f"E Reg(T) <= C ({rate.words}) with C = {CONSTANT} (ours, the theorem names none) for all "
            f"instances, p = 1/T, {rate.also}at each point of the grid {full} (quick profile: log2 T = "
            f"{', '.join(map(str, few.exponents))}; s = {', '.join(map(str, few.scales))})"
        ),
        quantity_name="regret / rate",
        claimed=CONSTANT,
        constants=(("C", str(CONSTANT)),),
    )


for _rate in RATES:

    @evidence(
        rows, _rate.id, _rate.source, claim=claim_of(_rate), role=_rate.role, case=_rate.title, rate=_rate
    )
    def bounded(run: Run, rate: Rate) -> list[Measured]:
        """{case}

        Bound E Reg(T) / rate over all instances by Lemma 2's argument with its constants worked out, at every
        point of the grid, p = 1/T. Simulate corner instances for the lower bound.
        """
        upper, lines = rigorous_side(run, rate)
        lower = simulated_side(run, rate)
        picture = table(
            title="The rigorous bound on regret / rate over all instances, by horizon",
            columns=["T", "regret / rate at most", "at"],
            rows=lines,
        )
        notes = [
            f"on the grid the claim holds with C = {upper.high:.4g} and not with C = {lower.low:.4g}",
            f"the bound is largest at {max(lines, key=lambda line: line[1])[0]}: see the table",
        ]
        return [replace(upper, notes=notes, plots=[picture]), lower]


# Growth

#: A regret-to-rate ratio may grow by this factor along each axis.
SLACK = Fraction(3, 2)


def _budgets(name: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return one ε at which sampling dominates and two at which noise dominates. Theorem 6 needs ε < 1."""
    if name == "ldp_se":
        return Fraction(99, 100), Fraction(1, 2), Fraction(1, 16)
    return Fraction(20), Fraction(1, 20), Fraction(1, 1000)


#: Points before and after, at which the ratio is averaged over an octave: (index of ε in ``_budgets``, K,
#: log2 T).
AXES = {
    "T, noise, 2^24 to 2^60": ((1, 2, 24), (1, 2, 60)),
    "T, sampling, 2^24 to 2^60": ((0, None, 24), (0, None, 60)),
    "ε, small to tiny": ((1, 2, 40), (2, 2, 40)),
    "K, 10 to 50": ((1, 10, 40), (1, 50, 40)),
}


def _ratio(name: str, scale: int, budget: int, n_arms: int | None, exponent: int) -> Expression:
    epsilon = _budgets(name)[budget]
    if n_arms is None:
        return against_rate(sampling_cells(name, scale=scale, epsilon=epsilon, exponent=exponent))
    return against_rate(noise_cells(name, scale=scale, epsilon=epsilon, n_arms=n_arms, exponent=exponent))


for _rate in RATES:
    if _rate.growing is None:
        continue

    @expected(
        rows,
        f"{_rate.id}/growth",
        _rate.source,
        at_most=SLACK,
        claim="rate",
        quantity="ratio after / ratio before",
        constants=[("slack", SLACK)],
        role="sharper",
        over=over(axis=tuple(AXES)),
        rate=_rate,
        title=_rate.title.split(":")[0],
        slack=SLACK,
    )
    def growth(axis: str, rate: Rate, title: str, slack: Fraction) -> Expression:
        """{title}: regret / rate grows by a factor of at most {slack} from end to end of each axis

        Simulate both ends of each axis, averaged over an octave of ε or of the gap, so that the saw-tooth of
        the doubling batches is not mistaken for growth, and compare the regret-to-rate ratios. log T grows by
        5/2.
        """
        before, after = AXES[axis]
        scale = rate.growing or 1
        return _ratio(rate.name, scale, *after) / _ratio(rate.name, scale, *before)
