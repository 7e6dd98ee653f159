"""Compare sentences on the experiments (section 8, Table 2; appendix A, Figure 1) with the printed table
and with reruns.

Numbers of a rerun do not contradict printed ones: seeds and code differ. SAR-TAB2/released has the detail of
the released code that explains the private rows of Table 2. If a sentence leaves a factor open, the audit
chooses and names one.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from audits.glm_bandits.experiment_runs import (
    branch_counts,
    median_interval,
    printed_mean,
    rerun,
    rerun_table,
)
from audits.glm_bandits.experiment_settings import (
    KAPPAS,
    PRINTED,
    RUNS,
    TABLE,
    budget,
    environment,
    private,
    released,
)
from dpaudit.core.claims import Ordering
from dpaudit.core.suite import Group, Run
from dpaudit.suite import Chain, Measured, Sides, evidence, full, inequality, over

__all__ = ["rows"]

rows = Group("Experiments", kind="utility")

SOURCE = "Section 8, Table 2"
#: This audit's reading of "closely tracking" and "on par".
CLOSE = Fraction(3, 2)


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
    over=over(epsilon=(4, 6, 8), other=("GLM-UCB", "GLOC")),
)
def stable(epsilon: int, other: str) -> Sides:
    """Regret of Private-GLM is more stable in κ than the regret of GLM-UCB and GLOC: largest over smallest
    regret of each printed row

    Note: the sentence has "stable" and no factor; the printed ratios are 1.042, 1.034 and 1.021 against
    1.66 and 3.52
    """
    values, others = _printed(private(epsilon)), _printed(other)
    return max(values) / min(values), max(others) / min(others)


@inequality(
    rows,
    "SAR-TAB2/nearer",
    SOURCE,
    over=over(epsilon=(4, 6, 8), other=("GLM-UCB", "GLOC"), place=(0, 1, 2)),
)
def nearer(epsilon: int, other: str, place: int) -> Sides:
    """Private-GLM's printed regret is nearer to RS-GLinUCB's than the regrets of GLM-UCB and GLOC are, at
    each κ and ε

    Place 0, 1, 2 is κ = 18.39, 56.44, 222.15.

    Note: this is the part of "closely tracking" that needs no chosen factor; SAR-TAB2/tracking has 3/2
    """
    return _gap(epsilon, place), abs(_printed(other)[place] - _printed("RS-GLinUCB")[place])


@inequality(rows, "SAR-TAB2/tracking", SOURCE, over=over(place=(0, 1, 2)), role="what-if", expect="refuted")
def tracking(place: int) -> Sides:
    """With "closely tracking" taken as 3/2: at ε = 8 the printed regret of Private-GLM is at most 3/2 of
    the regret of RS-GLinUCB

    Place 0, 1, 2 is κ = 18.39, 56.44, 222.15. The printed ratios are 1.017, 1.750 and 1.551.

    Note: the sentence names no factor; 3/2 is this audit's, and with 7/4 + 1/1000 it holds. The sentence
    refers to baselines at up to 12 times RS-GLinUCB. The row states numbers and does not contradict the
    sentence; SAR-TAB2/nearer checks the part that needs no factor
    """
    return _printed(private(8))[place], CLOSE * _printed("RS-GLinUCB")[place]


def _gap(epsilon: int, place: int) -> Fraction:
    """Return the distance of the printed regret from the baseline's."""
    return abs(_printed(private(epsilon))[place] - _printed("RS-GLinUCB")[place])


@inequality(rows, "SAR-TAB2/narrows", SOURCE, over=over(place=(0, 1, 2)))
def narrows(place: int) -> Sides:
    """From ε = 4 to ε = 8 the printed gap to RS-GLinUCB narrows at each κ

    Place 0, 1, 2 is κ = 18.39, 56.44, 222.15. The gap is the distance of the printed regrets: 74.26 to
    5.05, 213.42 to 126.66, 190.38 to 107.20.

    Note: RS-GLinUCB's regret has a heavy tail: at κ = 18.39, 200 reruns have the mean 272 ± 15 and the
    largest is 1877; means of ten of them lie between 198 and 473. A printed mean of ten says little

    Note: only the two ends; from ε = 6 to 8 it grows at the last κ (SAR-TAB2/narrows-each)
    """
    return _gap(8, place), _gap(4, place)


@inequality(
    rows,
    "SAR-TAB2/narrows-each",
    SOURCE,
    over=over(place=(0, 1, 2), step=(0, 1)),
    expect="refuted",
)
def narrows_each(place: int, step: int) -> Sides:
    """As ε increases the printed gap to RS-GLinUCB narrows: from 4 to 6 and from 6 to 8, at each κ

    Step 0 is from ε = 4 to 6, step 1 from 6 to 8; place 0, 1, 2 is κ = 18.39, 56.44, 222.15.

    Refuted: it grows once, from 101.88 to 107.20 at κ = 222.15, between ε = 6 and 8

    Note: this is 5% between means of 10 runs without error bars: it is about the printed numbers, not about
    expected regret. From 4 to 8 the gap narrows at each κ (SAR-TAB2/narrows)
    """
    return _gap((6, 8)[step], place), _gap((4, 6)[step], place)


@evidence(
    rows,
    "SAR-TAB2/kappa",
    SOURCE,
    at_most="1/200",
    quantity="largest distance of κ from its printed value",
    kind="structure",
)
def kappas(run: Run) -> Measured:
    """κ of the three environments is 18.39, 56.44 and 222.15 to two decimals

    Draw parameter and arms from the published seed, and take the largest 1/μ' over all arms of all rounds,
    for probit. κ* is √(2π) to eight digits in all three.
    """
    found = {norm: environment(TABLE[norm]).kappa for norm in KAPPAS}
    worst = max(abs(found[norm] - KAPPAS[norm]) for norm in KAPPAS)
    return Measured(
        low=worst, high=worst, details={f"κ at S = {norm}": value for norm, value in found.items()}
    )


def _ratio(
    run: Run, setting: str, left: str, right: str, *, runs: int, among: tuple[str, ...] = ()
) -> Measured:
    """Return the ratio of two median regrets. ``among`` names all algorithms that are simulated
    in one run."""
    played = rerun(run, setting, among or (left, right), runs=runs)
    found = {name: played[name] for name in (left, right)}
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
    quantity="median regret of Private-GLM, ε = 8, over RS-GLinUCB's",
    role="what-if",
    expect="refuted",
    setting="2.5",
)
def rerun_tracking(run: Run, setting: str) -> Measured:
    """Rerun with intervals, κ = 56.44: Private-GLM at ε = 8 closely tracks RS-GLinUCB, median regret within
    3/2

    Simulate both at the printed sizes with the experiments' constants and a tree whose prefixes are sums of
    disjoint nodes.

    Note: Criterion I never holds in these runs: the ridge alone keeps every arm short and theta_o is never
    fitted. The algorithm that is compared is optimism around two or three private fits
    """
    return _ratio(run, setting, private(8), "RS-GLinUCB", runs=run.choose(quick=24, full=100))


@evidence(
    rows,
    "SAR-TAB2/released",
    SOURCE,
    at_most=4,
    quantity="largest distance of a mean regret from its printed value, in standard errors",
    over=over(S=(2, full("5/2", 3))),
    role="what-if",
)
def released_query(run: Run, S: Fraction) -> Measured:
    """With the tree query of the released code the private rows of Table 2 are reproduced

    Simulate Private-GLM at ε = 4, 6, 8 with that query (commit ab8fd16). The standard error is that of the
    runs here and of the printed mean of 10 runs together.

    Note: the query is not a sum over the prefix: it adds nodes to the left of left children. With the sum
    over the prefix, as the text has it, the mean regrets are 15% to 50% above the print in all nine cells

    Note: four standard errors, the largest of three or nine cells, are this audit's
    """
    setting = f"{float(S):g}"
    found = rerun(run, setting, tuple(map(released, (4, 6, 8))), runs=run.choose(quick=20, full=100))
    away = {}
    for epsilon in (4, 6, 8):
        final = found[released(epsilon)].pseudo.final
        printed = printed_mean(private(epsilon), setting)
        assert printed is not None
        error = float(final.std(ddof=1)) * (1 / len(final) + 1 / RUNS) ** 0.5
        away[f"ε = {epsilon}: mean {final.mean():.1f}, printed {printed:g}; standard errors apart"] = (
            abs(float(final.mean()) - printed) / error
        )
    worst = max(away.values())
    return Measured(
        low=worst, high=worst, exact=False, samples=sum(len(each.pseudo.final) for each in found.values()),
        method="simulation", scope="one environment", details=away,
        plots=[rerun_table(found, setting=setting, alpha=run.alpha)],
    )  # fmt: skip


#: The text's sentence on a panel at that ε, as a bound on the ratio of the median regrets.
SENTENCES = {
    ("1a", 8): 'ε = 8 is "nearly identical to RS-GLinUCB"',
    ("1a", 2): 'ε = 2 "results in some performance degradation"',
    ("1b", 8): 'ε = 8 is "almost on par with RS-GLinUCB"',
    ("1b", 2): 'at ε = 2 regret "is somewhat higher"',
}


def _sentence(*, panel: str, epsilon: int) -> Ordering:
    """Return the row: at ε = 8 Private-GLM is at most 3/2 of RS-GLinUCB, at ε = 2 RS-GLinUCB is at most
    Private-GLM."""
    names = ["Private-GLM", "RS-GLinUCB"][:: 1 if epsilon == 8 else -1]
    return Ordering(
        text=f"Figure {panel}: {SENTENCES[panel, epsilon]}; median of {names[0]} over that of {names[1]}",
        quantity_name="ratio of median regrets",
        claimed=CLOSE if epsilon == 8 else 1,
    )


@evidence(
    rows,
    "SAR-FIG1",
    "Appendix A, Figure 1",
    claim=_sentence,
    over=over(panel=("1b", full("1a")), epsilon=(8, 2)),
    role="what-if",
)
def figure_tracking(run: Run, panel: str, epsilon: int) -> Measured:
    """Private-GLM: at ε = 8 almost on par with RS-GLinUCB, median regret within 3/2; at ε = 2 above it

    The figure has no numbers. Simulate at its sizes (1a logistic, S = 3.5, T = 15000; 1b probit, S = 3, T =
    5000; d = 5) with the experiments' constants.

    Note: 3/2 is this audit's, as are seeds and code; the paper has "almost on par" and "nearly identical",
    and no number. With 10 runs a panel of all algorithms takes a minute or less (benchmarks.figures)
    """
    sides = (private(epsilon), "RS-GLinUCB")[:: 1 if epsilon == 8 else -1]
    everyone = (private(2), private(8), "RS-GLinUCB")
    return _ratio(run, panel, *sides, among=everyone, runs=run.choose(quick=24, full=40))


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

    Constants c = 1 in (21). V is at most (λ_max + T) I if I.1 holds, so every round has an arm with ‖x‖² in
    V⁻¹ of min_t max_x ‖x‖² / (λ_max + T) or more. This is compared with the threshold 1/(γ² κ R²), κ =
    18.39, 56.44, 222.15 and ε = 4, 6, 8.

    Note: the experiments' constants do the opposite and never explore (SAR-TAB2/rerun): neither uses both
    branches of Algorithm 2
    """
    shortest = float((np.linalg.norm(environment(TABLE["2"]).arms, axis=2) ** 2).max(axis=1).min())
    found, needed = 0, {}
    for norm, setting in TABLE.items():
        for epsilon in (4.0, 6.0, 8.0):
            levels = budget(setting, epsilon)
            longest = levels.gamma() ** 2 * levels.kappa  # V up to this times ‖x‖² keeps Criterion I true
            needed[f"rounds until criterion I can fail, S = {norm}, ε = {epsilon:g}"] = longest * shortest
            found += levels.ridge_ends()[1] + setting.horizon > longest * shortest
    return Measured(low=found, high=found, samples=9, details=needed)
