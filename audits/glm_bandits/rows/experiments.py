"""The experiments (section 8, Table 2; appendix A, Figure 1): sentences held against the printed table, and
against reruns.

Numbers of a rerun say nothing against printed ones: seeds, code and one detail of the tree differ. Where a
sentence leaves a factor open, the factor is this audit's and is named.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from audits.glm_bandits.experiment_runs import branch_counts, median_interval, rerun, rerun_table
from audits.glm_bandits.experiment_settings import KAPPAS, PRINTED, TABLE, budget, environment, private
from dpaudit.rows import Chain, Measured, Sides, evidence, inequality, over
from dpaudit.suite import Group, Run

__all__ = ["rows"]

rows = Group("Experiments", kind="utility")

SOURCE = "Section 8, Table 2"
STABLE, CLOSE = Fraction(11, 10), Fraction(3, 2)


def _printed(algorithm: str) -> list[Fraction]:
    return [Fraction(value) for value in PRINTED[algorithm]]


@inequality(rows, "SAR-TAB2", SOURCE, over=over(algorithm=("GLM-UCB", "GLOC")))
def degrading(algorithm: str) -> Chain:
    """Regret of GLM-UCB and GLOC degrades as κ grows: read off the printed table"""
    values = _printed(algorithm)
    return {f"κ number {i + 1} to {i + 2}": (*ends,) for i, ends in enumerate(pairwise(values))}


@inequality(
    rows,
    "SAR-TAB2/stable",
    SOURCE,
    over=over(epsilon=(4, 6, 8)),
)
def stable(epsilon: int) -> Sides:
    """Regret of Private-GLM is stable in κ: the largest of a printed row is at most 11/10 of the smallest

    Note: the factor 11/10 is this audit's
    """
    values = _printed(private(epsilon))
    return max(values), STABLE * min(values)


@inequality(rows, "SAR-TAB2/tracking", SOURCE, over=over(place=(0, 1, 2)), role="what-if", expect="refuted")
def tracking(place: int) -> Sides:
    """With "closely tracking" taken as 3/2: at ε = 8 the printed regret of Private-GLM is at most 3/2 of the
    regret of RS-GLinUCB

    Place 0, 1, 2 is κ = 18.39, 56.44, 222.15. The printed ratios are 1.017, 1.750 and 1.551.

    Note: the sentence names no factor, 3/2 is this audit's, with 7/4 + 1/1000 it holds; the sentence stands
    beside baselines at up to 12 times RS-GLinUCB. The row states numbers, and nothing against the sentence
    """
    return _printed(private(8))[place], CLOSE * _printed("RS-GLinUCB")[place]


def _gap(epsilon: int, place: int) -> Fraction:
    """The distance of the printed regret from the baseline's."""
    return abs(_printed(private(epsilon))[place] - _printed("RS-GLinUCB")[place])


@inequality(rows, "SAR-TAB2/narrows", SOURCE, over=over(place=(0, 1, 2)))
def narrows(place: int) -> Sides:
    """As ε increases the gap to RS-GLinUCB narrows: at each κ the printed gap at ε = 8 is below that at ε = 4

    Place 0, 1, 2 is κ = 18.39, 56.44, 222.15; the gap is the distance of the printed regrets: 74.26 to 5.05,
    213.42 to 126.66, 190.38 to 107.20. Step by step: SAR-TAB2/narrows-each.
    """
    return _gap(8, place), _gap(4, place)


@inequality(
    rows,
    "SAR-TAB2/narrows-each",
    SOURCE,
    over=over(place=(0, 1, 2), step=(0, 1)),
    role="what-if",
    expect="refuted",
)
def narrows_each(place: int, step: int) -> Sides:
    """The printed gap to RS-GLinUCB narrows in every step of ε, at each κ

    Step 0 is from ε = 4 to 6, step 1 from 6 to 8. It widens once, from 101.88 to 107.20 at the last κ.

    Note: 5 parts in a hundred between means of 10 runs without error bars, and the sentence does not say "in
    every step"
    """
    return _gap((6, 8)[step], place), _gap((4, 6)[step], place)


@evidence(
    rows,
    "SAR-TAB2/kappa",
    SOURCE,
    at_most="1/200",
    quantity="largest distance of κ from its print",
    kind="structure",
)
def kappas(run: Run) -> Measured:
    """κ of the three environments is 18.39, 56.44 and 222.15 to two decimals

    Draw parameter and arms from the published seed, and take the largest 1/μ' over all arms of all rounds,
    for probit; κ* is √(2π) to eight digits in all three.
    """
    found = {norm: environment(TABLE[norm]).kappa for norm in KAPPAS}
    worst = max(abs(found[norm] - KAPPAS[norm]) for norm in KAPPAS)
    return Measured(
        low=worst, high=worst, details={f"κ at S = {norm}": value for norm, value in found.items()}
    )


def _ratio(run: Run, setting: str, left: str, right: str, *, runs: int) -> Measured:
    found = rerun(run, setting, (left, right), runs=runs)
    low = [median_interval(found[name].pseudo.final, alpha=run.alpha / 2) for name in (left, right)]
    ratio = low[0] / low[1]
    return Measured(
        low=ratio.low,
        high=ratio.high,
        exact=False,
        samples=2 * runs,
        method="simulation; medians by order statistics",
        scope=f"{runs} runs each, one environment",
        details={"ratio of medians": ratio.mean},
        notes=[branch_counts(found)],
        plots=[rerun_table(found, setting=setting, alpha=run.alpha)],
    )


@evidence(
    rows,
    "SAR-TAB2/rerun",
    SOURCE,
    at_most=CLOSE,
    quantity="median regret of Private-GLM, ε = 8, over that of RS-GLinUCB",
    role="what-if",
    expect="refuted",
    setting="2.5",
)
def rerun_tracking(run: Run, setting: str) -> Measured:
    """Rerun with intervals, κ = 56.44: Private-GLM at ε = 8 closely tracks RS-GLinUCB, median regret within
    3/2

    Simulate both at the printed sizes with the experiments' constants and a tree whose prefixes are sums of
    disjoint nodes.

    Note: criterion I never holds in these runs: the ridge alone keeps every arm short, theta_o is never
    fitted, and the algorithm that is compared is optimism around two or three private fits
    """
    return _ratio(run, setting, private(8), "RS-GLinUCB", runs=run.choose(quick=24, full=100))


@evidence(
    rows,
    "SAR-FIG1",
    "Appendix A, Figure 1(b)",
    at_most=CLOSE,
    quantity="median regret of Private-GLM, ε = 8, over that of RS-GLinUCB",
)
def figure_tracking(run: Run) -> Measured:
    """Probit, S = 3, d = 5: at ε = 8 Private-GLM is almost on par with RS-GLinUCB, median regret within 3/2

    The figure has no numbers: simulate both at T = 5000 with the experiments' constants.

    Note: "almost on par" is made 3/2 by this audit
    """
    return _ratio(run, "1b", private(8), "RS-GLinUCB", runs=run.choose(quick=24, full=100))


@evidence(
    rows,
    "SAR-TAB2/printed",
    "Algorithm 2 with (19) and (21), in the settings of Table 2",
    at_most=0,
    quantity="settings in which a round need not explore",
    role="what-if",
    kind="structure",
)
def printed_constants_explore(run: Run) -> Measured:
    """With the printed constants Algorithm 2 explores in every round of Table 2's settings

    Constants c = 1 in (21). V is at most (λ_max + T) I where I.1 holds, so that every round has an arm with
    ‖x‖² in V⁻¹ of min_t max_x ‖x‖² / (λ_max + T) or more: held against the threshold 1/(γ² κ R²), κ = 18.39,
    56.44, 222.15 and ε = 4, 6, 8.

    Note: the experiments' constants do the opposite, they never explore (SAR-TAB2/rerun): neither plays both
    branches of Algorithm 2
    """
    shortest = float((np.linalg.norm(environment(TABLE["2"]).arms, axis=2) ** 2).max(axis=1).min())
    found, needed = 0, {}
    for norm, setting in TABLE.items():
        for epsilon in (4.0, 6.0, 8.0):
            levels = budget(setting, epsilon)
            longest = levels.gamma() ** 2 * levels.kappa  # V up to this times ‖x‖² keeps criterion I true
            needed[f"rounds until criterion I can fail, S = {norm}, ε = {epsilon:g}"] = longest * shortest
            found += levels.ridge_ends()[1] + setting.horizon > longest * shortest
    return Measured(low=found, high=found, samples=9, details=needed)
