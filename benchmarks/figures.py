"""The paper's figures, regenerated: ``python -m benchmarks.figures OUT``.

Hu, Huang and Mehta (arXiv 2102.07929v2), Figures 1 to 12h. Writes into the folder ``OUT``:

* ``figures.json``: the data of every figure (``kind: curves``, see ``dpaudit.reports.plots``),
* ``figures.html``: all figures on one page that needs nothing else,
* ``figure-1.svg``, ``figure-9a.svg``, ...: one picture each, with its legend.

Choose figures by name, ``--figures 1 5 12a``. Anytime-Lazy-UCB and DP-SE play ``--horizon`` rounds (by
default the paper's 2 * 2^21). Hybrid-UCB and UCB1 are played round by round and get ``--rounds``: by default
2^15, some ten seconds; the paper's 4194304 takes about half an hour. The curves are means of ``--runs`` runs
(15, as in the paper).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from algorithms.experiments import EPSILONS, HORIZON, RUNS
from audits.hu_huang_mehta.experiment_figures import ALGORITHMS, CELLS, Cell, Table, final_figure, time_figure
from audits.hu_huang_mehta.experiments import experiment
from dpaudit.errors import InvalidParameterError
from dpaudit.reports.chart import draw_plot
from dpaudit.reports.plots import Plot
from dpaudit.reports.svg import element, join
from dpaudit.suite import Run

__all__ = ["FIGURES", "main", "regenerate"]

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
) -> dict[str, Plot]:
    """The named figures as plot data; ``rounds`` is the horizon of Hybrid-UCB and UCB1.

    A cell is simulated with the same seeds whichever figures are asked for.
    """
    unknown = [name for name in names if name not in FIGURES]
    if unknown or not names:
        raise InvalidParameterError(
            f"figures must be among {', '.join(FIGURES)}, got {unknown or 'none'}; choose one of them."
        )
    # The error level plays no part: figures have standard errors, verdicts are the audit's.
    run = Run(profile="paper", alpha=0.05, seed=seed, row_id="figures")
    found: dict[str, Table] = {
        name: experiment(
            run,
            name,
            CELLS,
            horizon=horizon if name in ("lazy_ucb", "dp_se") else rounds,
            runs=runs,
        )
        for name in ALGORITHMS
    }
    figures = {}
    for name in names:
        what = FIGURES[name]
        plot = final_figure(found, what) if isinstance(what, int) else time_figure(found, what)
        figures[name] = plot | {"title": f"Figure {name}. {plot['title']}"}
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Regenerate figures and write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder to write into; made if it is not there")
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), metavar="NAME")
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--rounds", type=int, default=2**15)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        figures = regenerate(
            options.figures,
            horizon=options.horizon,
            rounds=options.rounds,
            runs=options.runs,
            seed=options.seed,
        )
    except InvalidParameterError as error:
        parser.error(str(error))
    options.out.mkdir(parents=True, exist_ok=True)
    _write(options.out / "figures.json", json.dumps(figures, indent=1, ensure_ascii=False, allow_nan=False))
    _write(options.out / "figures.html", _page(figures))
    for name, plot in figures.items():
        _write(options.out / f"figure-{name}.svg", _picture(plot))
    sys.stdout.write(f"{len(figures)} figures in {options.out}\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _style() -> Markup:
    return Markup(files("dpaudit.reports").joinpath("report.css").read_text(encoding="utf-8"))


def _page(figures: Mapping[str, Plot]) -> str:
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", "Figures of arXiv 2102.07929"),
            element("style", _style()),
        ]
    )
    body = [element("h1", "Figures of arXiv 2102.07929, regenerated"), *map(draw_plot, figures.values())]
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{join(body)}</body></html>\n'


def _picture(plot: Plot) -> str:
    """The report's picture as a file of its own: its style sheet inside, title above and legend below."""
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
