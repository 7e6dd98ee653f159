"""The paper's experiments (section 6, appendix I.3; claims HHM-E1, HHM-E2, HHM-E3).

K = 5, three settings of means, seven epsilons, T = 2 * 2^21, Bernoulli rewards (the paper does not say). The
event-driven algorithms play the paper's horizon in every profile; Hybrid-UCB and UCB1 are played round by
round and get the paper's horizon in the profile ``paper`` only. The paper says in words what its figures
show: each sentence becomes an ordering of means with a named factor, decided by bets on paired differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from algorithms.mab.lazy_replicates import lazy_runs_many
from algorithms.simulation import simulate_many
from audits.private_online_learning.experiment_figures import (
    CELLS,
    COMPARED,
    Cell,
    Table,
    final_figure,
    regret_table,
    time_figure,
)
from audits.private_online_learning.experiment_settings import EPSILONS, HORIZON, RUNS, SETTINGS
from audits.private_online_learning.grids import as_float
from audits.private_online_learning.variants import VARIANTS
from dpaudit import plots
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.regret import RegretRuns, difference_interval
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows", "experiment"]

#: The factors that the sentences leave open.
COMPETITIVE, POOR, GOOD, STARTS, NO_RISE, FLAT = "5/4", "6/5", "5/4", "9/10", "5/4", "13/10"


def add_rows(suite: Suite) -> None:
    """What the figures show, sentence by sentence."""
    _competitive(suite)
    _hybrid(suite)
    _decreasing(suite)
    _flat(suite)


def experiment(run: Run, algorithm: str, cells: Sequence[Cell], *, horizon: int, runs: int) -> Table:
    """``runs`` regret runs of an algorithm of ``VARIANTS`` in every cell.

    The seed depends on the run, the algorithm and its size, not on the row that asks, and rows of one process
    share results.
    """
    return _experiment(replace(run, row_id="HHM-E"), algorithm, tuple(cells), horizon, runs)


@lru_cache(maxsize=64)
def _experiment(run: Run, algorithm: str, cells: tuple[Cell, ...], horizon: int, runs: int) -> Table:
    instances = [SETTINGS[setting] for setting, _ in cells]
    epsilons = [epsilon for _, epsilon in cells]
    seed = run.seed_sequence(f"{algorithm} {horizon} {runs} {cells}")
    if algorithm == "lazy_ucb":
        results = lazy_runs_many(instances, epsilons=epsilons, horizon=horizon, runs=runs, seed=seed)
    else:
        results = simulate_many(
            VARIANTS[algorithm], instances, epsilons=epsilons, horizon=horizon, runs=runs, seed=seed
        )
    return dict(zip(cells, results, strict=True))


def _at_most(
    run: Run, pairs: Sequence[tuple[str, Cell, RegretRuns, str, Cell, RegretRuns]], factor: str
) -> tuple[Estimate, list[str]]:
    """E left - factor * E right for each pair, all bounds together at the row's level; the largest counts."""
    lows, highs, means = [], [], []
    for left_name, left_cell, left, right_name, right_cell, right in pairs:
        cuts = [
            VARIANTS[name].cut(
                SETTINGS[cell[0]], epsilon=as_float(cell[1]), horizon=int(result.checkpoints[-1])
            )
            for name, cell, result in ((left_name, left_cell, left), (right_name, right_cell, right))
        ]
        level = run.alpha / len(pairs)
        low, high = difference_interval(
            left.final, cuts[0], right.final, cuts[1], factor=as_float(factor), alpha=level
        )
        lows.append(low)
        highs.append(high)
        means.append(left.mean / right.mean)
    worst = int(np.argmax(highs))
    name, cell = VARIANTS[pairs[worst][0]].title, pairs[worst][1]
    estimate = Estimate(
        quantity="E left - factor * E right",
        lower=max(lows),
        upper=max(highs),
        confidence=1 - run.alpha,
        samples=sum(len(pair[2].final) + len(pair[5].final) for pair in pairs),
        method="bets on paired differences of regrets cut at a cap, rigorous excess added",
        scope=f"{len(pairs)} pairs of means, T = {int(pairs[0][2].checkpoints[-1])}",
        seed=run.seed,
        covers_claim=True,
    )
    note = (
        f"measured ratios of means from {min(means):.3f} to {max(means):.3f}, to be at most {factor}; the "
        "pair "
        f"with the least room has {name} in setting {cell[0]} at ε = {cell[1]} on the left"
    )
    return estimate, [note]


def _claim(text: str, factor: str) -> Ordering:
    return Ordering(
        text=text,
        quantity_name="E left - factor * E right, rewards",
        claimed=0,
        constants=(("factor", factor),),
    )


def _competitive(suite: Suite) -> None:
    @suite.row(
        "HHM-E1",
        title="Anytime-Lazy-UCB is competitive with DP-SE at ε = 0.5 and 1",
        kind="utility",
        claim=_claim(
            f"E regret of Anytime-Lazy-UCB ≤ {COMPETITIVE} E regret of DP-SE, T = 2·2^21, settings 1, 2, 3, "
            "ε = 0.5, 1",
            COMPETITIVE,
        ),
        source="Section 6, Figures 1, 2, 6 and 12",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate both algorithms at the paper's horizon and bet on the paired differences in six cells.

        The figures show both algorithms over time, and their final regret against epsilon.
        """
        cells = [cell for cell in CELLS if cell[1] in ("0.5", "1")]
        runs = run.choose(quick=300, full=2000)
        lazy = experiment(run, "lazy_ucb", cells, horizon=HORIZON, runs=runs)
        elimination = experiment(run, "dp_se", cells, horizon=HORIZON, runs=runs)
        pairs = [("lazy_ucb", c, lazy[c], "dp_se", c, elimination[c]) for c in cells]
        estimate, notes = _at_most(run, pairs, COMPETITIVE)
        tables = {"lazy_ucb": lazy, "dp_se": elimination}
        pictures = [time_figure(tables, cell) for cell in cells if cell != (3, "1")]
        return Outcome([estimate], notes, plots=pictures)


def _round_by_round(run: Run, cells: Sequence[Cell], *, runs: int) -> tuple[Table, Table]:
    """Anytime-Lazy-UCB and Hybrid-UCB at the longest horizon that the profile affords round by round.

    The profile ``paper`` simulates all cells once for all rows.
    """
    horizon = run.choose(quick=2**12, full=2**18, paper=HORIZON)
    wanted, size = (CELLS, 100) if run.profile == "paper" else (tuple(cells), runs)
    return (
        experiment(run, "lazy_ucb", wanted, horizon=horizon, runs=size),
        experiment(run, "hybrid_ucb/printed", wanted, horizon=horizon, runs=size),
    )


def _hybrid(suite: Suite) -> None:
    def settings(run: Run) -> tuple[int, ...]:
        # At 2^12 rounds nobody has learnt anything in setting 1 yet.
        chosen: tuple[int, ...] = run.choose(quick=(2, 3), full=(1, 2, 3))
        return chosen

    def small(run: Run) -> tuple[Table, Table]:
        cells = [(s, e) for s in settings(run) for e in ("0.5", "1", "8")]
        return _round_by_round(run, cells, runs=run.choose(quick=300, full=150))

    where = "at the horizon of the profile (2^12 without setting 1, 2^18, 2·2^21)"

    @suite.row(
        "HHM-E2",
        title="Hybrid-UCB does not perform well at ε = 0.5 and 1",
        kind="utility",
        claim=_claim(
            f"{POOR} E regret of Anytime-Lazy-UCB ≤ E regret of Hybrid-UCB for ε = 0.5, 1, {where}",
            POOR,
        ),
        source="Section 6, Figures 1, 2, 6, 9, 11 and 12",
    )
    def poor(run: Run) -> Outcome:
        """Simulate both round by round and bet on the paired differences; show every algorithm in every
        cell.
        """
        lazy, hybrid = small(run)
        cells = [(s, e) for s in settings(run) for e in ("0.5", "1")]
        pairs = [("lazy_ucb", c, lazy[c], "hybrid_ucb/printed", c, hybrid[c]) for c in cells]
        # 6/5 E lazy <= E hybrid, as E lazy - 5/6 E hybrid <= 0.
        estimate, notes = _at_most(run, pairs, "5/6")
        return Outcome([estimate], notes, plots=_all_algorithms(run))

    @suite.row(
        "HHM-E2/large",
        title="Hybrid-UCB performs well for large ε",
        kind="utility",
        claim=_claim(
            f"E regret of Hybrid-UCB ≤ {GOOD} E regret of Anytime-Lazy-UCB for ε = 64, 128, {where}", GOOD
        ),
        source="Section 6, Figures 4, 8, 9 and 12",
    )
    def good(run: Run) -> Outcome:
        """Simulate both round by round and bet on the paired differences."""
        cells = [(s, e) for s in settings(run) for e in ("64", "128")]
        lazy, hybrid = _round_by_round(run, cells, runs=run.choose(quick=300, full=200))
        pairs = [("hybrid_ucb/printed", c, hybrid[c], "lazy_ucb", c, lazy[c]) for c in cells]
        estimate, notes = _at_most(run, pairs, GOOD)
        return Outcome([estimate], notes)

    @suite.row(
        "HHM-E2/eight",
        title="At ε = 8 Hybrid-UCB is already as good as Anytime-Lazy-UCB",
        kind="utility",
        claim=_claim(
            f"E regret of Hybrid-UCB ≤ {GOOD} E regret of Anytime-Lazy-UCB at ε = 8, {where}",
            GOOD,
        ),
        expect="refuted",
        source="Section 6, Figures 3 and 7: 'when ε is large (8, 64), Hybrid-UCB starts performing well'",
    )
    def eight(run: Run) -> Outcome:
        """Simulate both round by round and bet on the paired differences.

        This reads 'performing well' at ε = 8 as at ε = 64 (HHM-E2/large), and that is too much: in settings 2
        and 3 Hybrid-UCB's regret is still well above. HHM-E2/starts has the weaker reading.
        """
        lazy, hybrid = small(run)
        cells = [(s, "8") for s in settings(run)]
        pairs = [("hybrid_ucb/printed", c, hybrid[c], "lazy_ucb", c, lazy[c]) for c in cells]
        estimate, notes = _at_most(run, pairs, GOOD)
        return Outcome([estimate], notes)

    @suite.row(
        "HHM-E2/starts",
        title="Hybrid-UCB starts performing well at ε = 8",
        kind="utility",
        claim=_claim(f"E regret of Hybrid-UCB at ε = 8 ≤ {STARTS} E regret at ε = 1, {where}", STARTS),
        source="Section 6, Figures 3, 7 and 12",
    )
    def starts(run: Run) -> Outcome:
        """Simulate Hybrid-UCB at epsilon 1 and 8 and bet on the paired differences."""
        found = small(run)[1]
        pairs = [
            ("hybrid_ucb/printed", (s, "8"), found[s, "8"], "hybrid_ucb/printed", (s, "1"), found[s, "1"])
            for s in settings(run)
        ]
        estimate, notes = _at_most(run, pairs, STARTS)
        return Outcome([estimate], notes)


def _all_algorithms(run: Run) -> list[plots.Plot]:
    """Every algorithm, setting and epsilon at the horizon that all can afford: table and figures."""
    horizon = run.choose(quick=2**11, full=2**16, paper=HORIZON)
    found = {
        name: experiment(run, name, CELLS, horizon=horizon, runs=run.choose(quick=5, full=RUNS))
        for name in COMPARED
    }
    pictures = [final_figure(found, setting) for setting in SETTINGS]
    return [regret_table(found), *pictures, time_figure(found, (2, "0.5")), time_figure(found, (2, "64"))]


def _decreasing(suite: Suite) -> None:
    @suite.row(
        "HHM-E3",
        title="The final regret of Anytime-Lazy-UCB decreases as ε increases",
        kind="utility",
        claim=_claim(
            f"E regret at the next larger ε ≤ {NO_RISE} E regret at ε, for the seven ε, T = 2·2^21, settings "
            "1, 2, 3",
            NO_RISE,
        ),
        source="Section 6, Figures 5, 10 and 12a",
    )
    def lazy(run: Run) -> Outcome:
        """Simulate all 21 cells at the paper's horizon and bet on the paired differences of neighbouring
        epsilons.

        The table has mean and standard error of the first 15 runs, as many as the paper averages.
        """
        found = experiment(run, "lazy_ucb", CELLS, horizon=HORIZON, runs=run.choose(quick=600, full=4000))
        estimate, notes = _at_most(run, _neighbouring("lazy_ucb", found), NO_RISE)
        elimination = experiment(run, "dp_se", CELLS, horizon=HORIZON, runs=RUNS)
        both = {"lazy_ucb": found, "dp_se": elimination}
        pictures = [final_figure(both, setting) for setting in SETTINGS]
        return Outcome([estimate], notes, plots=[regret_table(both), *pictures])

    @suite.row(
        "HHM-E3/hybrid",
        title="The final regret of Hybrid-UCB decreases as ε increases",
        kind="utility",
        claim=_claim(
            f"E regret at the next larger ε ≤ {NO_RISE} E regret at ε, for the seven ε and settings 1, 2, 3, "
            "at the horizon of the profile (2^10, 2^15, 2·2^21)",
            NO_RISE,
        ),
        source="Section 6, Figures 5, 10 and 12a",
    )
    def hybrid(run: Run) -> Outcome:
        """Simulate all 21 cells round by round and bet on the paired differences of neighbouring epsilons."""
        horizon = run.choose(quick=2**10, full=2**15, paper=HORIZON)
        runs = run.choose(quick=300, full=300, paper=100)
        found = experiment(run, "hybrid_ucb/printed", CELLS, horizon=horizon, runs=runs)
        estimate, notes = _at_most(run, _neighbouring("hybrid_ucb/printed", found), NO_RISE)
        return Outcome([estimate], notes)


def _neighbouring(algorithm: str, found: Table) -> list[tuple[str, Cell, RegretRuns, str, Cell, RegretRuns]]:
    return [
        (algorithm, (s, large), found[s, large], algorithm, (s, small), found[s, small])
        for s in SETTINGS
        for small, large in pairwise(EPSILONS)
    ]


def _flat(suite: Suite) -> None:
    @suite.row(
        "HHM-E3/flat",
        title="The final regret of DP-SE stays flat in setting 1",
        kind="utility",
        claim=_claim(
            f"E regret of DP-SE at any of the seven ε ≤ {FLAT} E regret at any other, T = 2·2^21, setting 1",
            FLAT,
        ),
        source="Section 6, Figure 5",
    )
    def flat(run: Run) -> Outcome:
        """Simulate DP-SE in setting 1 and bet on the paired differences of all ordered pairs of epsilons.

        Arms leave at the ends of public epochs, so that the regret takes few values; the note has those of
        settings 2 and 3, where small epsilons cost more.
        """
        cells = [(1, epsilon) for epsilon in EPSILONS]
        found = experiment(run, "dp_se", cells, horizon=HORIZON, runs=run.choose(quick=600, full=3000))
        pairs = [
            ("dp_se", left, found[left], "dp_se", right, found[right])
            for left in cells
            for right in cells
            if left != right
        ]
        estimate, notes = _at_most(run, pairs, FLAT)
        others = experiment(run, "dp_se", CELLS, horizon=HORIZON, runs=RUNS)
        for setting in (2, 3):
            first, last = others[setting, EPSILONS[0]].mean, others[setting, EPSILONS[-1]].mean
            notes.append(f"setting {setting}: {first:.0f} at ε = 0.1, {last:.0f} at ε = 128 (15 runs)")
        return Outcome([estimate], notes)
