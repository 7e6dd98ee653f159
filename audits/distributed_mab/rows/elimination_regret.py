"""Regret of Algorithm 1: Lemma 1 (CZ23-L1), Lemma 2 (CZ23-L2) and Remark 4 (CZ23-R4), with named constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.mab.distributed_elimination import DESIGNS
from algorithms.mab.distributed_regret import simulate_variant
from algorithms.mab.reward_models import bernoulli_arms
from audits.distributed_mab.elimination_event import Race, failure_bound
from audits.distributed_mab.elimination_regret import C, expected_ratio, rate, ratio_on_event
from dpaudit.claims import ErrorRate, RegretRate
from dpaudit.plots import Plot, curves, series, table
from dpaudit.rows import Measured, Point, full, measured, only_quick, over
from dpaudit.statistics import mean_bounds
from dpaudit.suite import Group, Run

__all__ = ["rows"]

rows = Group("Lemmas 1 and 2, Remark 4: regret")

Floats = NDArray[np.float64]
TENTH, HALF, FIVE = Fraction(1, 10), Fraction(1, 2), Fraction(5)
BUDGETS, ARMS = (TENTH, FIVE, full(HALF)), (2, 50, full(10))
HORIZONS = (2**6, 2**12, only_quick(2**40), full(2**9, *(2**j for j in range(15, 55, 3))))
RATE = f"{C} (Σ log(KT/p)/Δ_a + Kσ sqrt(log(KT/p)) + Kh log(KT/p))"


def _race(name: str, point: Point, *, p: Fraction | None = None, **changes: Any) -> Race:
    """A race at a point's ε, K and T, with p = 1/T unless another is given."""
    level = Fraction(1, point["T"]) if p is None else p
    return Race(
        name=name,
        epsilon=point["epsilon"],
        n_arms=point["K"],
        failure_prob=level,
        horizon=point["T"],
        **changes,
    )


#: Simulated: mean of the best arm, gaps of the others.
INSTANCES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1.0, (1.0,)),
    (1.0, (2.0**-4,)),
    (0.5, (2.0**-6,)),
    (0.5, (0.0, 0.25, 0.5)),
    (1.0, (0.1,) * 9),
    (0.75, (0.05, 0.1, 0.2, 0.5)),
)


def _simulated_race(name: str, gaps: Sequence[float]) -> Race:
    return _race(name, {"epsilon": HALF, "K": 1 + len(gaps), "T": 2**20})


def _regrets(race: Race, top: float, gaps: Sequence[float], *, runs: int, seed: Any) -> Floats:
    """Regrets of independent runs of one instance."""
    model = bernoulli_arms(np.tile([top, *(top - gap for gap in gaps)], (runs, 1)))
    found = simulate_variant(
        race.variant, model, horizon=race.horizon, growth=race.growth, points=2, seed=seed
    )
    return np.asarray(found.curves[:, -1])


# Lemma 1


def _stated(variant: tuple[str, int], epsilon: Fraction, K: int, T: int) -> bool:
    return epsilon < 1 or variant[0] not in ("dist_cdp_se", "cdp_se")


#: Variants with σ and h that do not depend on the batch (LDP-SE's σ does), and their s.
VARIANTS = (
    ("dist_dp_se", 1),
    ("dist_rdp_se", 1),
    ("dist_rdp_se", 10),
    ("shuffle_dp_se/printed", 1),
    ("shuffle_dp_se/repaired", 1),
    ("dist_cdp_se", 1),
    ("cdp_se", 1),
)
RACES = over(variant=VARIANTS, epsilon=BUDGETS, K=ARMS, T=HORIZONS).where(
    _stated, "ε < 1 where Theorems 4 and 5 ask for it"
)


@measured(
    rows,
    "CZ23-L1",
    "Lemma 1; Lemma 2 with p = 1/T",
    claim=RegretRate(
        text=f"E Reg(T) <= {RATE}, p = 1/T, for all instances (Theorem 3: and every S with q = p'), on the grid",
        quantity_name="E Reg / rate",
        claimed=C,
        constants=(("C", str(C)),),
    ),
)
def expected(run: Run) -> list[Measured]:
    """Lemma 1: E Reg(T) = O(Σ log T/Δ_a + Kσ √log T + Kh log T), p = 1/T, each theorem's own τ

    Bound pulls on E for all gaps, add T P[not E] with the printed τ (a union bound over arms and batches,
    wraps and Theorem 3's wrong sums included), and simulate some instances from below. A horizon only cuts
    pulls.

    Note: τ as printed covers E worse than 3p (CZ23-L2a), but by a factor O(K log T): the rate stands
    """
    races = [
        _race(name, point, scale_factor=s, relaxed=name.startswith("shuffle"))
        for point in RACES.at(run)
        for name, s in [point["variant"]]
    ]
    found = {race: expected_ratio(race) for race in races}
    worst = max(found, key=lambda race: found[race])
    cost = max(value - ratio_on_event(race) for race, value in found.items())
    upper = Measured(
        high=found[worst],
        samples=len(races),
        method="bound for all instances: pulls on E at every gap, and T P[not E]",
        scope=RACES.scope,
        notes=[
            f"largest bound {found[worst]:.4g}: {worst.name}, {worst.in_words()}",
            f"what happens off E costs at most {cost:.3g} of it",
        ],
        plots=[_by_horizon(found)],
    )
    return [upper, _from_below(run)]


def _by_horizon(found: dict[Race, float]) -> Plot:
    lengths = sorted({race.horizon for race in found})
    lines = []
    for name, s in VARIANTS:
        own = {race: value for race, value in found.items() if (race.name, race.scale_factor) == (name, s)}
        best = [max(value for race, value in own.items() if race.horizon == T) for T in lengths]
        lines.append(
            series(
                name=DESIGNS[name].title if s == 1 else f"{DESIGNS[name].title}, s = {s}", x=lengths, y=best
            )
        )
    return curves(
        title="Bound on E Reg / rate, worst over instances, K and ε",
        series=lines,
        x_title="rounds T",
        y_title="ratio",
        x_log=True,
    )


def _from_below(run: Run) -> Measured:
    """The largest lower confidence bound of mean regret / rate. Any cap on the regret gives a lower bound of
    the mean; this one is fixed by the bound on E, not by the runs."""
    runs, best = run.choose(quick=100, full=1000), 0.0
    for top, gaps in INSTANCES:
        for name in ("dist_dp_se", "dist_rdp_se"):
            race = _simulated_race(name, gaps)
            seed = run.seed_sequence(f"{name}, {top}, {gaps}")
            regret = _regrets(race, top, gaps, runs=runs, seed=seed)
            cap = min(max(gaps) * race.horizon, ratio_on_event(race) * rate(race, gaps) / 8)
            level = run.alpha / (len(INSTANCES) * 2)
            low, _ = mean_bounds(np.minimum(regret, cap), low=0.0, high=cap, alpha=level)
            best = max(best, low / rate(race, gaps))
    return Measured(
        low=best,
        exact=False,
        samples=runs * len(INSTANCES) * 2,
        method="simulation in batches; bets on the mean of min(regret, cap)",
        scope=f"{len(INSTANCES)} instances, Dist-DP-SE and Dist-RDP-SE, ε = 1/2, T = 2^20, {runs} runs each",
    )


# Lemma 2

#: Arm 0 always gives 1, nine others nearly so: whoever wraps first is out.
NEAR_ONE = _race("dist_dp_se", {"epsilon": HALF, "K": 10, "T": 2**44}, p=TENTH)
NEAR_ONE_GAPS = (2.0**-13,) * 9


def _probable(tau: str) -> ErrorRate:
    return ErrorRate(
        text=f"P[Reg(T) > {RATE}] <= 3p for Dist-DP-SE with {tau}, for all instances, on the grid of p, ε, K, T",
        quantity_name="P[Reg > C rate] / 3p",
        claimed=1,
        constants=(("C", str(C)),),
    )


@measured(
    rows,
    "CZ23-L2",
    "Lemma 2 for Theorem 1",
    claim=_probable("the printed τ"),
    role="what-if",
    expect="refuted",
)
def without_assumption_1(run: Run) -> Measured:
    """Lemma 2 where Assumption 1 fails: with probability 1 - 3p, Reg(T) = O(Σ log(KT/p)/Δ_a + ...), Dist-DP-SE
    with the printed τ, p = 1/10

    Arm 0 always gives 1 and nine others 1 - 2^-13 in the mean. A sum near n that passes n + τ/g is decoded to
    one near -τ/g, and a best arm that this happens to is out for good.

    Note: Lemma 2's premise, Assumption 1 for every p, does not hold with this τ: CZ23-A1/union

    Note: for a larger C a longer horizon does: a lost best arm costs Δ T, the rate is about log T
    """
    return _losing(run, NEAR_ONE)


@measured(rows, "CZ23-L2/premise", "Lemma 2 for Theorem 1", claim=_probable("τ built for p/(K l(b))"))
def with_assumption_1(run: Run) -> list[Measured]:
    """Lemma 2 where its premise holds: with probability 1 - 3p, Reg(T) = O(Σ log(KT/p)/Δ_a + ...), Dist-DP-SE
    with τ built for p/(K l(b))

    From above: on E the regret is below C times the rate for every instance, and P[not E] is bounded. From
    below: the instance of CZ23-L2.
    """
    race = replace(NEAR_ONE, margin="by batch")
    return [_losing(run, race), _covered(run, race)]


def _losing(run: Run, race: Race) -> Measured:
    runs = run.choose(quick=2000, full=10000)
    regret = _regrets(race, 1.0, NEAR_ONE_GAPS, runs=runs, seed=run.seed_sequence("near one"))
    bad = (regret > C * rate(race, NEAR_ONE_GAPS)).astype(float)
    low, _ = mean_bounds(bad, low=0.0, high=1.0, alpha=run.alpha)
    return Measured(
        low=low / float(3 * race.failure_prob),
        exact=False,
        samples=runs,
        method="simulation in batches; bets on the indicator",
        scope=f"{race.in_words()}, means 1 and nine times 1 - 2^-13, {runs} runs",
        notes=[f"{bad.mean():.3g} of the runs end above {C} times the rate, 3p = 0.3"],
    )


COVERED = over(epsilon=(TENTH, HALF, FIVE), K=ARMS, T=HORIZONS, p=(Fraction(1, 10), Fraction(1, 100), "1/T"))


def _covered(run: Run, first: Race) -> Measured:
    """P[not E]/3p where the regret on E is below C times the rate; infinite where it is not."""
    races = [first]
    for point in COVERED.at(run):
        p = None if point["p"] == "1/T" else point["p"]
        races.append(_race("dist_dp_se", point, p=p, margin="by batch"))
    found = [
        failure_bound(race) / float(3 * race.failure_prob) if ratio_on_event(race) <= C else math.inf
        for race in races
    ]
    return Measured(
        high=max(found),
        samples=len(found),
        method="pulls on E at every gap; P[not E] by a union bound for all reward laws",
        scope=f"{COVERED.scope}; and the simulated race",
    )


# Remark 4

GROWTHS = (Fraction(3, 2), Fraction(2), Fraction(4))
GROWN = over(growth=GROWTHS, epsilon=(TENTH, FIVE), K=(2, 50), T=HORIZONS)


@measured(
    rows,
    "CZ23-R4",
    "Remark 4",
    claim=RegretRate(
        text=f"E Reg(T) <= {C} (Σ log(KT/p)/Δ_a + ...), p = 1/T, for all instances, l(b) = ⌈η^b⌉, on the grid",
        quantity_name="E Reg / rate",
        claimed=C,
        constants=(("C", str(C)),),
    ),
)
def growth(run: Run) -> Measured:
    """Remark 4: l(b) = η^b keeps the order of the regret, η = 3/2, 2, 4

    The bound of CZ23-L1 for three growths, on Dist-DP-SE; beside it simulated regrets, relative to η = 2.
    """
    found: dict[Fraction, float] = {}
    for point in GROWN.at(run):
        race = _race("dist_dp_se", point, growth=point["growth"])
        found[race.growth] = max(found.get(race.growth, 0.0), expected_ratio(race))
    relative = _relative(run)
    spread = [value for row in relative for value in row[1:]]
    return Measured(
        high=max(found.values()),
        samples=sum(1 for _ in GROWN.at(run)),
        method="bound for all instances: pulls on E at every gap, and T P[not E]",
        scope=GROWN.scope,
        notes=[
            *(f"η = {growth}: bound / rate at most {value:.4g}" for growth, value in found.items()),
            f"simulated means lie between {min(spread):.3g} and {max(spread):.3g} times those of η = 2",
        ],
        plots=[
            table(
                title="Mean simulated regret by growth, relative to η = 2",
                columns=["instance", *(f"η = {growth}" for growth in GROWTHS)],
                rows=relative,
            )
        ],
    )


def _relative(run: Run) -> list[list[Any]]:
    runs, shown = run.choose(quick=100, full=1000), []
    for top, gaps in INSTANCES:
        means = {}
        for growth in GROWTHS:
            race = replace(_simulated_race("dist_dp_se", gaps), growth=growth)
            seed = run.seed_sequence(f"{growth}, {top}, {gaps}")
            means[growth] = _regrets(race, top, gaps, runs=runs, seed=seed).mean()
        shown.append(
            [f"best {top:g}, gaps {gaps}", *(means[growth] / means[Fraction(2)] for growth in GROWTHS)]
        )
    return shown
