"""Regret of Algorithm 1: Lemmas 1 and 2 (CZ23-L1, CZ23-L2), Remark 4 (CZ23-R4), with named constants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.claims import ErrorRate, RegretRate
from dpaudit.core.plots import Plot, curves, series, table
from dpaudit.core.suite import Group, Run
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS
from dpaudit.reference.algorithms.mab.distributed_regret import simulate_variant
from dpaudit.reference.algorithms.mab.elimination_bounds import expected_ratio, rate, ratio_on_event
from dpaudit.reference.algorithms.mab.elimination_event import Race, failure_bound
from dpaudit.reference.algorithms.mab.reward_models import bernoulli_arms
from dpaudit.suite import Measured, evidence, full, only_quick, over
from dpaudit.suite.regret import Cut, mean_interval, proportion_interval

__all__ = ["C", "rows"]

rows = Group("Lemmas 1 and 2, Remark 4: regret")

#: The steps of the proof, one after another, give 4 · 72 · 2 = 576 (N_a <= 4 l, l <= 72 L₁/Δ², L₁ <= 2
#: log(KT/p); CZ23-L2d/explicit). Combined, for every gap, they give about 31 at worst.
C = 40
RATE = f"{C} (Σ log(KT/p)/Δ_a + Kσ sqrt(log(KT/p)) + Kh log(KT/p))"
CONSTANTS = (("C", str(C)),)

TENTH, HALF, FIVE = Fraction(1, 10), Fraction(1, 2), Fraction(5)
HORIZONS = (2**6, 2**12, only_quick(2**40), full(2**9, *(2**j for j in range(15, 55, 3))))
USUAL: Mapping[str, Any] = {
    "epsilon": (TENTH, FIVE, full(HALF)),
    "n_arms": (2, 50, full(10)),
    "horizon": HORIZONS,
}
ON_E = "bound for all instances: pulls on E at every gap, and T P[not E]"

#: Simulated instances: mean of the best arm, gaps of the others.
INSTANCES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1.0, (1.0,)),
    (1.0, (2.0**-4,)),
    (0.5, (2.0**-6,)),
    (0.5, (0.0, 0.25, 0.5)),
    (1.0, (0.1,) * 9),
    (0.75, (0.05, 0.1, 0.2, 0.5)),
)


def _simulated_race(name: str, gaps: Sequence[float]) -> Race:
    return Race(name=name, epsilon=HALF, n_arms=1 + len(gaps), horizon=2**20)


def _regrets(race: Race, top: float, gaps: Sequence[float], *, runs: int, seed: Any) -> NDArray[np.float64]:
    """Regrets of independent runs of one instance."""
    model = bernoulli_arms(np.tile([top, *(top - gap for gap in gaps)], (runs, 1)))
    length = race.horizon
    found = simulate_variant(race.variant, model, horizon=length, growth=race.growth, points=2, seed=seed)
    return np.asarray(found.curves[:, -1])


# Lemma 1

#: Variants with σ and h that do not depend on the batch (LDP-SE's σ does). Theorems 4 and 5 require ε < 1.
RACES = (
    over(name=("dist_dp_se", "dist_rdp_se"), **USUAL)
    + over(name=("dist_rdp_se",), scale_factor=10, **USUAL)
    + over(name=("shuffle_dp_se/printed", "shuffle_dp_se/repaired"), relaxed=(True,), **USUAL)
    + over(name=("dist_cdp_se", "cdp_se"), **{**USUAL, "epsilon": (TENTH, full(HALF))})
)


def _regret_rate(words: str) -> RegretRate:
    text = f"E Reg(T) <= {RATE}, p = 1/T, for all instances, {words}, on the grid"
    return RegretRate(text=text, quantity_name="E Reg / rate", claimed=C, constants=CONSTANTS)


@evidence(
    rows,
    "CZ23-L1",
    "Lemma 1; Lemma 2 with p = 1/T",
    claim=_regret_rate("l(b) = 2^b (Theorem 3: and every S with q = p')"),
)
def expected(run: Run) -> list[Measured]:
    """Lemma 1: E Reg(T) = O(Σ log T/Δ_a + Kσ √log T + Kh log T), p = 1/T, each theorem's own τ

    Bound pulls on E for all gaps, add T P[not E] with the printed τ (a union bound over arms and batches,
    wraps and Theorem 3's wrong sums included), and simulate some instances for the lower bound. A horizon can
    only reduce the number of pulls.

    Note: with τ as printed, P[not E] exceeds 3p (CZ23-L2a), but by a factor O(K log T), so the rate holds
    """
    found = {race: expected_ratio(race) for race in (Race(**point) for point in RACES.at(run))}
    worst = max(found, key=lambda race: found[race])
    cost = max(value - ratio_on_event(race) for race, value in found.items())
    upper = Measured(
        high=found[worst],
        samples=len(found),
        method=ON_E,
        scope=RACES.scope,
        notes=[
            f"largest bound {found[worst]:.4g}: {worst.name}, {worst.in_words()}",
            f"runs outside E contribute at most {cost:.3g} of it",
        ],
        plots=[_by_horizon(found)],
    )
    return [upper, _from_below(run)]


def _by_horizon(found: Mapping[Race, float]) -> Plot:
    best: dict[str, dict[int, float]] = {}
    for race, value in found.items():
        factor = f", s = {race.scale_factor}" if race.scale_factor > 1 else ""
        line = best.setdefault(DESIGNS[race.name].title + factor, {})
        line[race.horizon] = max(value, line.get(race.horizon, 0.0))
    return curves(
        title="Bound on E Reg / rate, worst over instances, K and ε",
        series=[
            series(name=name, x=sorted(line), y=[line[T] for T in sorted(line)])
            for name, line in best.items()
        ],
        x_title="rounds T",
        y_title="ratio",
        x_log=True,
    )


def _from_below(run: Run) -> Measured:
    """Return the largest lower confidence bound of mean regret / rate. Any cap on the regret gives a lower
    bound of the mean. This cap is fixed by the bound on E, not by the runs."""
    runs, best = run.choose(quick=100, full=1000), 0.0
    cells = [(top, gaps, name) for top, gaps in INSTANCES for name in ("dist_dp_se", "dist_rdp_se")]
    for top, gaps, name in cells:
        race = _simulated_race(name, gaps)
        regret = _regrets(race, top, gaps, runs=runs, seed=run.seed_sequence(f"{name}, {top}, {gaps}"))
        cap = min(max(gaps) * race.horizon, ratio_on_event(race) * rate(race, gaps) / 8)
        cut = Cut(cap, math.inf, (cap,))  # a lower bound needs no cost outside E
        low = mean_interval(regret, cut, alpha=run.alpha / len(cells)).low
        best = max(best, low / rate(race, gaps))
    return Measured(
        low=best,
        exact=False,
        samples=runs * len(cells),
        method="simulation in batches; bets on the mean of min(regret, cap)",
        scope=f"{len(INSTANCES)} instances, Dist-DP-SE and Dist-RDP-SE, ε = 1/2, T = 2^20, {runs} runs each",
    )


# Lemma 2

#: Arm 0 always gives 1 and the nine others nearly so. The first arm that wraps is eliminated.
NEAR_ONE = Race(name="dist_dp_se", epsilon=HALF, n_arms=10, failure_prob=TENTH, horizon=2**44)
NEAR_ONE_GAPS = (2.0**-13,) * 9


def _probable(tau: str) -> ErrorRate:
    text = f"P[Reg(T) > {RATE}] <= 3p for Dist-DP-SE with {tau}, for all instances, on the grid"
    return ErrorRate(text=text, quantity_name="P[Reg > C rate] / 3p", claimed=1, constants=CONSTANTS)


@evidence(
    rows,
    "CZ23-L2",
    "Lemma 2 for Theorem 1",
    claim=_probable("the printed τ"),
    role="what-if",
    expect="refuted",
)
def without_assumption_1(run: Run) -> Measured:
    """Lemma 2 if Assumption 1 fails, for Dist-DP-SE with the printed τ and p = 1/10: with probability 1 - 3p,
    Reg(T) = O(Σ log(KT/p)/Δ_a + ...)

    Arm 0 always gives 1 and nine others 1 - 2^-13 in the mean. A sum near n that exceeds n + τ/g is decoded
    to a sum near -τ/g. If this happens to the best arm, it is eliminated for good.

    Note: Lemma 2's premise, Assumption 1 for every p, does not hold with this τ: CZ23-A1/union

    Note: for a larger C a longer horizon suffices: a lost best arm costs Δ T, and the rate is about log T
    """
    return _losing(run, NEAR_ONE)


@evidence(rows, "CZ23-L2/premise", "Lemma 2 for Theorem 1", claim=_probable("τ built for p/(K l(b))"))
def with_assumption_1(run: Run) -> list[Measured]:
    """Lemma 2 if its premise holds, for Dist-DP-SE with τ built for p/(K l(b)): with probability 1 - 3p,
    Reg(T) = O(Σ log(KT/p)/Δ_a + ...)

    Upper bound: on E the regret is below C times the rate for every instance, and P[not E] is bounded. Lower
    bound: the instance of CZ23-L2.
    """
    race = replace(NEAR_ONE, margin="by batch")
    return [_losing(run, race), _covered(run, race)]


def _losing(run: Run, race: Race) -> Measured:
    runs = run.choose(quick=2000, full=10000)
    regret = _regrets(race, 1.0, NEAR_ONE_GAPS, runs=runs, seed=run.seed_sequence("near one"))
    bad = proportion_interval(regret > C * rate(race, NEAR_ONE_GAPS), alpha=run.alpha)
    return Measured(
        low=bad.low / float(3 * race.p),
        exact=False,
        samples=runs,
        method="simulation in batches; exact binomial bounds (Clopper-Pearson)",
        scope=f"{race.in_words()}, means 1 and nine times 1 - 2^-13, {runs} runs",
        notes=[f"{bad.mean:.3g} of the runs end above {C} times the rate, 3p = 0.3"],
    )


COVERED = over(
    name=("dist_dp_se",),
    failure_prob=(TENTH, Fraction(1, 100), "1/T"),
    margin=("by batch",),
    **{**USUAL, "epsilon": (TENTH, HALF, FIVE)},
)


def _covered(run: Run, first: Race) -> Measured:
    """Return P[not E]/3p if the regret on E is below C times the rate, and infinity otherwise."""
    races = [first, *(Race(**point) for point in COVERED.at(run))]
    found = [
        failure_bound(race) / float(3 * race.p) if ratio_on_event(race) <= C else math.inf for race in races
    ]
    return Measured(
        high=max(found),
        samples=len(found),
        method="pulls on E at every gap; P[not E] by a union bound for all reward distributions",
        scope=f"{COVERED.scope}; and the simulated race",
    )


# Remark 4

GROWTHS = (Fraction(3, 2), Fraction(2), Fraction(4))
GROWN = over(growth=GROWTHS, name=("dist_dp_se",), **{**USUAL, "epsilon": (TENTH, FIVE), "n_arms": (2, 50)})


@evidence(rows, "CZ23-R4", "Remark 4", claim=_regret_rate("l(b) = ⌈η^b⌉, η = 3/2, 2, 4"))
def growth(run: Run) -> Measured:
    """Remark 4: l(b) = η^b keeps the order of the regret, η = 3/2, 2, 4

    The bound is CZ23-L1's for three growths, on Dist-DP-SE. A plot shows simulated regrets relative to η = 2.
    """
    races = [Race(**point) for point in GROWN.at(run)]
    found = {eta: max(expected_ratio(race) for race in races if race.growth == eta) for eta in GROWTHS}
    runs, relative = run.choose(quick=100, full=1000), []
    for top, gaps in INSTANCES:
        means = {}
        for eta in GROWTHS:
            race = replace(_simulated_race("dist_dp_se", gaps), growth=eta)
            seed = run.seed_sequence(f"{eta}, {top}, {gaps}")
            means[eta] = float(_regrets(race, top, gaps, runs=runs, seed=seed).mean())
        relative.append([f"best {top:g}, gaps {gaps}", *(means[eta] / means[Fraction(2)] for eta in GROWTHS)])
    return Measured(
        high=max(found.values()),
        samples=len(races),
        method=ON_E,
        scope=GROWN.scope,
        notes=[f"η = {eta}: bound / rate at most {value:.4g}" for eta, value in found.items()],
        plots=[
            table(
                title="Mean simulated regret by growth, relative to η = 2",
                columns=["instance", *(f"η = {eta}" for eta in GROWTHS)],
                rows=relative,
            )
        ],
    )
