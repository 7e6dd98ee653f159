"""What the rows on the experiments share: comparisons of mean regrets, and the row that decides one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from audits.distributed_mab.experiment_figures import Table, final_figure, regret_table, time_figure
from audits.distributed_mab.experiment_runs import Cell, Combination, decided
from audits.distributed_mab.experiment_settings import (
    COMPETITORS,
    FIGURES,
    HORIZONS,
    Competitor,
    figure_table,
)
from dpaudit import plots
from dpaudit.claims import Ordering
from dpaudit.exact import exact
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = [
    "VISIBLE",
    "add_comparison",
    "add_gain",
    "always",
    "at_most",
    "difference",
    "falling",
    "ordering",
]

#: Regret that counts as a visible gain: 5 % less.
VISIBLE = "19/20"
PURE, RENYI = COMPETITORS[1:3]


def ordering(text: str, *, claimed: str = "0", **constants: str) -> Ordering:
    return Ordering(
        text=text,
        quantity_name="largest combination of E Reg(T)/T",
        claimed=claimed,
        constants=tuple(constants.items()),
    )


def _cell(figure: int, competitor: Competitor, epsilon: str, *, shorter: int = 1) -> Cell:
    environment = FIGURES[figure].environment
    return Cell(environment, competitor, epsilon, HORIZONS[environment] // shorter)


def at_most(figure: int, left: Competitor, right: Competitor, epsilon: str, factor: str = "1") -> Combination:
    """left - factor * right."""
    return [(1.0, _cell(figure, left, epsilon)), (-float(exact(factor)), _cell(figure, right, epsilon))]


def difference(
    figure: int,
    left: Competitor,
    right: Competitor,
    epsilon: str,
    *,
    weight: float = 1.0,
    shorter: int = 1,
) -> list[tuple[float, Cell]]:
    """weight * (left - right), at the horizon divided by ``shorter``."""
    return [
        (weight, _cell(figure, left, epsilon, shorter=shorter)),
        (-weight, _cell(figure, right, epsilon, shorter=shorter)),
    ]


def falling(figure: int, left: Competitor, right: Competitor, epsilons: Sequence[str]) -> list[Combination]:
    """left - right at the larger epsilon, minus the same at the smaller one."""
    return [
        [
            *difference(figure, left, right, large),
            *difference(figure, left, right, small, weight=-1.0),
        ]
        for small, large in pairwise(epsilons)
    ]


def always(combinations: Sequence[Combination]) -> Callable[[Run], Sequence[Combination]]:
    """The same combinations in every profile."""
    return lambda run: combinations


@lru_cache(maxsize=8)
def _figure(run: Run, figure: int) -> Table:
    return figure_table(figure, seed=run.seed_sequence(f"figure {figure}"))


def _pictures(run: Run, figure: int) -> list[plots.Plot]:
    """The figure as in the paper, one run on each of the 20 instances: table and curves."""
    found = _figure(replace(run, row_id="CZ23-E"), figure)
    over_time = [time_figure(figure, found, epsilon) for epsilon in FIGURES[figure].epsilons]
    return [regret_table(figure, found), *over_time, final_figure(figure, found)]


def add_comparison(
    suite: Suite,
    id_: str,
    *,
    title: str,
    claim: Ordering,
    about: str,
    combinations: Callable[[Run], Sequence[Combination]],
    runs: tuple[int, int],
    source: str,
    figure: int | None = None,
    expect: str = "verified",
    notes: Sequence[str] = (),
) -> None:
    """A row that holds the largest of some combinations against the claim, in ``runs`` runs (quick, full)."""

    def evaluate(run: Run) -> Outcome:
        size: int = run.choose(quick=runs[0], full=runs[1])
        estimate, measured = decided(run, combinations(run), runs=size)
        shown = [] if figure is None else _pictures(run, figure)
        return Outcome([estimate], [*measured, *notes], plots=shown)

    evaluate.__doc__ = about
    suite.add(
        Row(id=id_, title=title, kind="utility", claim=claim, evaluate=evaluate, expect=expect, source=source)
    )


def add_gain(
    suite: Suite,
    id_: str,
    *,
    figure: int,
    where: str,
    runs: tuple[int, int],
    full: Sequence[str],
    shown: bool = False,
) -> None:
    """The row that Dist-RDP-SE (s = 10) has visibly less regret than Dist-DP-SE: at the first of the epsilons
    ``full`` in the quick profile, at all of them in the full one."""
    first = full[0]
    rest = "" if len(full) == 1 else f"; full: ε = {', '.join(full)}"
    add_comparison(
        suite,
        id_,
        title=f"Dist-RDP-SE (s = 10) gains visibly over Dist-DP-SE: {where}"
        + (f", ε = {first}" if len(full) == 1 else ""),
        claim=ordering(
            f"E Reg(T) of Dist-RDP-SE (s = 10) ≤ {VISIBLE} E Reg(T) of Dist-DP-SE: {where}, "
            f"ε = {first}{rest}",
            visible=VISIBLE,
        ),
        about="Simulate both and bet on the paired differences.",
        combinations=lambda run: [
            at_most(figure, RENYI, PURE, epsilon, VISIBLE)
            for epsilon in run.choose(quick=(first,), full=full)
        ],
        runs=runs,
        source="Section 7, Figures 1 to 3 and 5",
        figure=figure if shown else None,
    )
