"""Regenerate the papers' figures: ``python -m benchmarks.figures OUT [--paper NAME]``.

Writes into the folder ``OUT``:

* ``figures.json``: the data of every figure (``kind: curves``, see ``dpaudit.core.plots``),
* ``figures.html``: all figures on one page that needs nothing else,
* ``figure-1.svg``, ``figure-9a.svg``, ...: one picture each, with its legend,
* ``curves.csv``: the regret of every run at every checkpoint, one line each,
* ``numbers.md``, ``numbers.csv`` and ``numbers.json``: the mean regret of every curve at the horizon and the
  slope of its logarithm in log T, with standard errors (or the numbers described for the paper below).

``--paper private_online_learning`` (the default): Hu, Huang and Mehta (arXiv 2102.07929v2), Figures 1 to 12h.
All algorithms play ``--horizon`` rounds, by default the paper's 2 * 2^21. Hybrid-UCB and UCB1 are played
round by round, which takes minutes: ``--rounds`` gives them fewer. Figures over epsilon compare all
algorithms at one horizon, the shorter of the two, which their title names. Figures over time mark the curves
that end earlier. The curves are means of ``--runs`` runs (15, as in the paper).

``--paper distributed_mab``: Chowdhury and Zhou (ICLR 2023), Figures 1 to 5, at the paper's horizons unless
``--horizon`` is given, means of ``--runs`` runs (20, as in the paper). Figure 1 shows parts of 2, 3
and 5. Figures 1d and 5 are on graded diamonds, because the paper's data cannot be passed on. A few seconds.

``--paper shuffle_linear_bandits``: Chowdhury and Zhou (ICML 2022), Figures 1a to 1c, 2a and 2b, pseudo-regret
of 50 instances at T = 20000, each as in the authors' code (``1a``) and as in the theorems (``1a-theorem``).
Some minutes: two of the algorithms update in every round.

``--paper glm_bandits``: Sarmasarkar (2026), Table 2 (``table2``) and Figures 1a and 1b at the paper's sizes,
``--runs`` runs (10, as in the paper) of every algorithm with the experiments' constants. Table 2 also has
the private algorithm with the constants of its analysis. Every line names its constants. It has means and
medians, and how often each branch ran. Some five minutes, Figure 1a half of them.

``--paper concurrent_shuffle``: Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023) print no experiment.
Figures ``error``, ``noise`` and ``blind`` show the error of their sums against n for 1, 2, 3 and log n - 1
shufflers, up to ``--horizon`` (2^16), means of ``--runs`` runs (50). Some seconds.

Choose figures by name, ``--figures 1 5 12a``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas
from markupsafe import Markup

from audits.distributed_mab import experiment_figures as distributed_figures
from audits.distributed_mab import experiment_settings
from audits.distributed_mab.experiment_settings import figure_table
from audits.private_online_learning.experiment_runs import (
    CELLS,
    COMPARED,
    Cell,
    experiment,
    final_figure,
    time_figure,
)
from audits.private_online_learning.experiment_settings import EPSILONS, HORIZON, RUNS
from audits.private_online_learning.variants import VARIANTS
from benchmarks.concurrent_figures import CONCURRENT_FIGURES, SOURCE, regenerate_concurrent
from benchmarks.glm_figures import GLM_FIGURES, regenerate_glm
from benchmarks.options import count, require_tables
from benchmarks.shuffle_figures import SHUFFLED_FIGURES, regenerate_shuffled
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import Plot
from dpaudit.core.suite import Run
from dpaudit.report.chart import draw_plot
from dpaudit.report.svg import element, join
from dpaudit.suite.regret import regret_frame, summary

__all__ = [
    "DISTRIBUTED_FIGURES",
    "FIGURES",
    "main",
    "regenerate",
    "regenerate_distributed",
]

#: Name -> the cell of a figure over time, or the setting of a figure over epsilon.
FIGURES: Mapping[str, Cell | int] = {
    "1": (1, "0.5"),
    "2": (1, "1"),
    "3": (1, "8"),
    "4": (1, "64"),
    "5": 1,
    "6": (2, "0.5"),
    "7": (2, "8"),
    "8": (2, "64"),
    "9a": (1, "0.1"),
    "9b": (1, "0.25"),
    "9c": (1, "128"),
    "10": 2,
    "11a": (2, "0.1"),
    "11b": (2, "0.25"),
    "11c": (2, "1"),
    "11d": (2, "128"),
    "12a": 3,
    **{f"12{letter}": (3, epsilon) for letter, epsilon in zip("bcdefgh", EPSILONS, strict=True)},
}


def regenerate(
    names: Sequence[str], *, horizon: int, rounds: int, runs: int, seed: int = 0
) -> tuple[dict[str, Plot], pandas.DataFrame]:
    """Return the named figures as plot data, and the runs behind them.

    ``rounds`` is the horizon of Hybrid-UCB and UCB1. Figures over epsilon have every algorithm at the shorter
    of ``horizon`` and ``rounds``. The seeds of a cell do not depend on which figures are requested.
    """
    unknown = [name for name in names if name not in FIGURES]
    if unknown or not names:
        raise InvalidParameterError(f"figures must be among {', '.join(FIGURES)}, got {unknown or 'none'}.")
    # The significance level has no effect: figures have standard errors, verdicts are the audit's.
    run = Run(profile="paper", alpha=0.05, seed=seed, row_id="figures")
    longest = {name: horizon if name in ("lazy_ucb", "dp_se") else rounds for name in COMPARED}
    common = min(horizon, rounds)
    found = {name: experiment(run, name, CELLS, horizon=t, runs=runs) for name, t in longest.items()}
    # Regret grows with the horizon: at one epsilon only regrets at equal horizons can be compared.
    if any(isinstance(FIGURES[name], int) for name in names):
        equal = {name: experiment(run, name, CELLS, horizon=common, runs=runs) for name in COMPARED}
    else:
        equal = {}
    figures = {}
    for name in names:
        what = FIGURES[name]
        plot = final_figure(equal, what) if isinstance(what, int) else time_figure(found, what)
        figures[name] = plot | {"title": f"Figure {name}. {plot['title']}"}
    cells = (
        ({"algorithm": VARIANTS[name].title, "setting": setting, "epsilon": epsilon}, result)
        for name, table in found.items()
        for (setting, epsilon), result in table.items()
    )
    return figures, regret_frame(cells)


#: Name -> the figure that holds the data, and the epsilon of a figure over time. Names without a letter are
#: over epsilon.
DISTRIBUTED_FIGURES: Mapping[str, tuple[int, str | None]] = {
    "1a": (2, "0.1"),
    "1b": (2, "0.5"),
    "1c": (3, "0.5"),
    "1d": (5, "1"),
    **{
        f"{figure}{letter}": (figure, None if epsilon is None else str(epsilon))
        for figure, shown in sorted(experiment_settings.FIGURES.items())
        for letter, epsilon in zip(["", "a", "b", "c"], [None, *shown.epsilons], strict=True)
    },
}


def regenerate_distributed(
    names: Sequence[str], *, horizon: int | None, runs: int, seed: int = 0
) -> tuple[dict[str, Plot], pandas.DataFrame]:
    """Return the named figures of the distributed paper as plot data, and the runs behind them.

    ``horizon`` replaces the paper's. The seeds of a cell do not depend on which figures are requested.
    """
    unknown = [name for name in names if name not in DISTRIBUTED_FIGURES]
    if unknown or not names:
        raise InvalidParameterError(
            f"figures must be among {', '.join(DISTRIBUTED_FIGURES)}, got {unknown or 'none'}."
        )
    wanted = sorted({DISTRIBUTED_FIGURES[name][0] for name in names})
    found = {
        figure: figure_table(figure, seed=np.random.SeedSequence([seed, figure]), runs=runs, horizon=horizon)
        for figure in wanted
    }
    figures = {}
    for name in names:
        figure, epsilon = DISTRIBUTED_FIGURES[name]
        table = found[figure]
        plot = (
            distributed_figures.final_figure(figure, table)
            if epsilon is None
            else distributed_figures.time_figure(figure, table, epsilon)
        )
        figures[name] = plot | {"title": f"Figure {name}. {plot['title']}"}
    tables = {
        f"{figure} (table)": distributed_figures.regret_table(figure, found[figure]) for figure in wanted
    }
    return tables | figures, _distributed_frame(found)


def _distributed_frame(found: Mapping[int, distributed_figures.Table]) -> pandas.DataFrame:
    """Return the runs of the figures ``found``."""
    cells = []
    for figure, table in found.items():
        shown = experiment_settings.FIGURES[figure]
        called = {item.label: item.title for item in shown.competitors}
        for (key, epsilon), result in table.items():
            labels = {"algorithm": called[key], "figure": figure, "instances": shown.environment}
            cells.append((labels | {"epsilon": str(epsilon)}, result))
    return regret_frame(cells)


def main(arguments: list[str] | None = None) -> None:
    """Regenerate figures and write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="output folder (created if missing)")
    parser.add_argument("--paper", choices=sorted(_SOURCES), default="private_online_learning")
    parser.add_argument("--figures", nargs="+", metavar="NAME")
    parser.add_argument("--horizon", type=count)
    parser.add_argument("--rounds", type=count, help="of Hybrid-UCB and UCB1 [default: the horizon]")
    parser.add_argument("--runs", type=count)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    require_tables(parser)
    if options.paper in _WITH_NUMBERS:
        _with_numbers(options, parser)
        return

    try:
        if options.paper == "shuffle_linear_bandits":
            figures, frame = regenerate_shuffled(
                list(SHUFFLED_FIGURES) if options.figures is None else options.figures,
                horizon=options.horizon,
                runs=options.runs,
                seed=options.seed,
            )
        elif options.paper == "distributed_mab":
            figures, frame = regenerate_distributed(
                list(DISTRIBUTED_FIGURES) if options.figures is None else options.figures,
                horizon=options.horizon,
                runs=20 if options.runs is None else options.runs,
                seed=options.seed,
            )
        else:
            figures, frame = regenerate(
                list(FIGURES) if options.figures is None else options.figures,
                horizon=options.horizon or HORIZON,
                rounds=options.rounds or options.horizon or HORIZON,
                runs=RUNS if options.runs is None else options.runs,
                seed=options.seed,
            )
    except InvalidParameterError as error:
        parser.error(str(error))
    written = _write_all(options.out, figures, frame, source=_SOURCES[options.paper])
    sys.stdout.write(f"{written} figures in {options.out}\n")


#: Papers whose figures have special numbers: their regenerate, their figures.
_WITH_NUMBERS = {
    "concurrent_shuffle": (regenerate_concurrent, tuple(CONCURRENT_FIGURES)),
    "glm_bandits": (regenerate_glm, GLM_FIGURES),
}


def _with_numbers(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Write errors, or medians and branches, instead of the summary of regret."""
    regenerated, every = _WITH_NUMBERS[options.paper]
    names = every if options.figures is None else options.figures
    try:
        figures, frame, numbers = regenerated(
            names, horizon=options.horizon, runs=options.runs, seed=options.seed
        )
    except InvalidParameterError as error:
        parser.error(str(error))
    written = _write_all(options.out, figures, frame, source=_SOURCES[options.paper], numbers=numbers)
    sys.stdout.write(f"{written} figures in {options.out}\n")


#: Papers and their sources.
_SOURCES = {
    "private_online_learning": "arXiv 2102.07929",
    "distributed_mab": "arXiv 2206.05772",
    "shuffle_linear_bandits": "arXiv 2202.05567",
    "glm_bandits": "arXiv 2602.00417",
    "concurrent_shuffle": SOURCE,
}


def _write_all(
    out: Path,
    figures: Mapping[str, Plot],
    frame: pandas.DataFrame,
    *,
    source: str,
    numbers: pandas.DataFrame | None = None,
) -> int:
    """Write pictures, page and numbers into the folder ``out``; return how many figures there are.

    ``numbers`` summarises the runs, by default their regret.
    """
    out.mkdir(parents=True, exist_ok=True)
    curves = {name: plot for name, plot in figures.items() if plot["kind"] == "curves"}
    _write(out / "figures.json", json.dumps(curves, indent=1, ensure_ascii=False, allow_nan=False))
    _write(out / "figures.html", _page(figures, source))
    for name, plot in curves.items():
        _write(out / f"figure-{name.replace(', S = ', '-')}.svg", _picture(plot))
    frame.to_csv(out / "curves.csv", index=False)
    numbers = summary(frame) if numbers is None else numbers
    numbers.to_csv(out / "numbers.csv", index=False)
    numbers.to_json(out / "numbers.json", orient="records", indent=1, force_ascii=False)
    numbers.to_markdown(out / "numbers.md", index=False, floatfmt=".4g")
    return len(curves)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _style() -> Markup:
    return Markup(files("dpaudit.report").joinpath("report.css").read_text(encoding="utf-8"))


def _page(figures: Mapping[str, Plot], source: str) -> str:
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", f"Figures of {source}"),
            element("style", _style()),
        ]
    )
    plots = element("div", *map(draw_plot, figures.values()), class_="plots")
    body = [element("h1", f"Figures of {source}, regenerated"), plots]
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{join(body)}</body></html>\n'


def _picture(plot: Plot) -> str:
    """Return the report's picture as a separate file: its style sheet inside, title above and legend
    below.
    """
    drawn = str(draw_plot(plot))
    start = drawn.index("<svg")
    inner = drawn[drawn.index(">", start) + 1 : drawn.index("</svg>", start)]
    lines = []
    for i, series in enumerate(plot["series"]):
        y = 330.0 + 20 * i
        css = f"line s{i % 8} d{i // 8 % 4}" + (" theory" if series["dashed"] else "")
        lines.append(element("path", class_=css, d=f"M62 {y - 4:.1f}H92"))
        lines.append(element("text", series["name"], class_="tick", x=100.0, y=y))
    titles = [
        element("text", plot["title"], class_="tick", x=62.0, y=-8.0),
        element("text", f"{plot['y_title']} against {plot['x_title']}", class_="tick", x=62.0, y=302.0),
    ]
    height = 350 + 20 * len(plot["series"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="-16 -30 500 {height}" '
        f'width="720" height="{1.5 * height:g}">'
        f"{element('style', _style())}{inner}{join([*titles, *lines])}</svg>\n"
    )


if __name__ == "__main__":
    main()
