"""Compare five papers' protocols at equal true privacy.

    python -m benchmarks.compare OUT [--quick] [--page PATH]

Each protocol is printed for epsilon 1 and delta 1e-6. The comparison lists its claim, its true cost at that
delta, and its regret with the printed noise and with the noise that really gives (1, 1e-6), on the same
instances within a family. Writes into the folder ``OUT``:

* ``runs.csv``: a line for each run of each protocol with either noise,
* ``lines.csv``: a line for each protocol, the numbers of the tables,
* ``compare.md``: the tables, and ``compare.html`` with the figures, which needs nothing else.

All costs are computed first. Then each protocol is played. The files are written anew after each protocol,
and standard error has a line for each step.

``--page`` also puts the tables between the markers of that Markdown page (docs/compare.md). ``--quick`` plays
short horizons in few runs: about two minutes, most of them for the costs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

import pandas
from markupsafe import Markup

from benchmarks.compare_arms import arm_protocols, vector_protocols
from benchmarks.compare_concurrent import concurrent_protocols, sum_protocols
from benchmarks.compare_glm import GlmInstance, glm_protocols
from benchmarks.compare_linear import Instance, linear_protocols
from benchmarks.compare_protocols import Line, Protocol, Scores, costed, played
from benchmarks.options import count
from dpaudit.core.plots import Plot, bars
from dpaudit.report.chart import draw_plot
from dpaudit.report.markdown import escape, refresh
from dpaudit.report.svg import element, join

__all__ = [
    "COLUMNS",
    "FULL",
    "QUICK",
    "Sizes",
    "cells",
    "compared",
    "line_frame",
    "main",
    "protocols_of",
    "run_frame",
    "tables",
    "write",
]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Horizons of the families (powers of 2 for the first three) and runs."""

    arms_exponent: int
    linear_exponent: int
    sums_exponent: int
    glm_horizon: int
    runs: int

    @property
    def linear(self) -> Instance:
        """Return the linear family with batches of 1024, or a sixteenth of a shorter horizon."""
        horizon = 2**self.linear_exponent
        return Instance(horizon=horizon, large=min(1024, horizon // 16))

    @property
    def glm(self) -> GlmInstance:
        return GlmInstance(horizon=self.glm_horizon)


FULL = Sizes(arms_exponent=16, linear_exponent=15, sums_exponent=10, glm_horizon=2000, runs=20)
QUICK = Sizes(arms_exponent=10, linear_exponent=10, sums_exponent=8, glm_horizon=100, runs=2)

#: Columns of a table after the protocol's name.
COLUMNS = (
    "who sees the data",
    "claimed",
    "true ε",
    "regret, printed noise",
    "regret at true (1, 1e-6)",
    "note",
)


def protocols_of(sizes: Sizes) -> dict[str, list[Protocol]]:
    """Return the protocols of each family: caption of its table -> lines."""
    at, glm = sizes.linear, sizes.glm
    return {
        f"Multi-armed bandits: Bernoulli arms with means 3/4, 5/8, ..., 1/4, T = {2**sizes.arms_exponent}": (
            arm_protocols(2**sizes.arms_exponent)
        ),
        f"Full information: the same five actions, all rewards seen, T = {2**sizes.arms_exponent}": (
            vector_protocols(2**sizes.arms_exponent)
        ),
        f"Linear contextual bandits: d = {at.dim}, {at.n_arms} arms on the sphere, T = {at.horizon}": (
            linear_protocols(at) + concurrent_protocols(at)
        ),
        f"Generalized linear bandits: logistic, S = {glm.param_norm:g}, d = {glm.dim}, 20 arms a round, "
        f"κ = {glm.environment.kappa:.3g}, κ* = {glm.environment.kappa_star:.3g}, T = {glm.horizon}": (
            glm_protocols(glm)
        ),
        f"Continual sums: {2**sizes.sums_exponent} users, all bits 1; largest error over all times": (
            sum_protocols(sizes.sums_exponent)
        ),
    }


# Tables


def tables(found: dict[str, list[Line]]) -> str:
    """Return one Markdown table per family."""
    parts = []
    for caption, lines in found.items():
        parts += [f"**{escape(caption)}**", "", _row(("protocol", *COLUMNS)), _row(("---",) * 7)]
        parts += [_row(cells(line)) for line in lines] + [""]
    return "\n".join(parts)


def cells(line: Line) -> tuple[str, ...]:
    """Return the cells of a protocol's line."""
    what = line.protocol
    texts = (
        f"{what.name} ({what.paper})",
        what.trust,
        what.claim,
        "" if line.cost is None else str(line.cost),
    )
    return (*map(escape, texts), _score(line.printed), _score(line.equal), escape(what.note))


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _score(score: Scores | None) -> str:
    if score is None:
        return "–"
    digits = 1 if score.mean < 100 else 0
    return f"{score.mean:.{digits}f} ± {score.error:.{digits}f}"


# Files


def run_frame(found: dict[str, list[Line]]) -> pandas.DataFrame:
    """Write a line for each run."""
    rows = []
    for line in (line for lines in found.values() for line in lines):
        for noise, score in (("printed", line.printed), ("equal privacy", line.equal)):
            labels = {"family": line.protocol.family, "protocol": line.protocol.name, "noise": noise}
            values = [] if score is None else score.values.tolist()
            rows += [labels | {"run": i, "value": value} for i, value in enumerate(values)]
    return pandas.DataFrame(rows)


def line_frame(found: dict[str, list[Line]]) -> pandas.DataFrame:
    """Write a line for each protocol."""
    rows = []
    for line in (line for lines in found.values() for line in lines):
        what, cost, row = line.protocol, line.cost, {}
        row |= {name: getattr(what, name) for name in ("family", "name", "paper", "trust", "claim", "note")}
        row |= {"epsilon at least": cost and cost.low, "epsilon at most": cost and cost.high}
        for noise, score in (("printed", line.printed), ("equal", line.equal)):
            row |= {noise: score and score.mean, f"{noise} standard error": score and score.error}
        rows.append(row)
    return pandas.DataFrame(rows)


def figures(found: dict[str, list[Line]]) -> list[Plot]:
    """Plot bars of each family with the standard errors: at equal true privacy, and the baselines."""
    plots = []
    for caption, lines in found.items():
        shown = [(line.protocol.name, line.equal if line.protocol.claim else line.printed) for line in lines]
        names = [name for name, score in shown if score is not None]
        scores = [score for _, score in shown if score is not None]
        if not scores:
            continue
        plots.append(
            bars(
                title=caption,
                labels=names,
                values=[score.mean for score in scores],
                low=[score.mean - score.error for score in scores],
                high=[score.mean + score.error for score in scores],
                value_title="at true (1, 1e-6); baselines without privacy",
            )
        )
    return plots


def _page(found: dict[str, list[Line]]) -> str:
    style = Markup(files("dpaudit.report").joinpath("report.css").read_text(encoding="utf-8"))
    title = "Protocols at equal true privacy"
    head = join([Markup('<meta charset="utf-8">'), element("title", title), element("style", style)])
    body = join([element("h1", title), element("div", *map(draw_plot, figures(found)), class_="plots")])
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def write(out: Path, found: dict[str, list[Line]]) -> None:
    """Write all files into the folder ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    run_frame(found).to_csv(out / "runs.csv", index=False)
    line_frame(found).to_csv(out / "lines.csv", index=False)
    (out / "compare.md").write_text(tables(found), encoding="utf-8")
    (out / "compare.html").write_text(_page(found), encoding="utf-8")


def compared(
    groups: Mapping[str, Sequence[Protocol]],
    *,
    runs: int,
    seed: int = 0,
    progress: Callable[[str], None] = lambda text: None,
    made: Callable[[dict[str, list[Line]]], None] = lambda found: None,
) -> dict[str, list[Line]]:
    """Compute everything: caption -> lines.

    All costs come first, so that an error in one is found before anything is played. ``progress`` gets a
    line of text for each protocol's cost and for its runs. ``made`` gets all lines so far, after the costs
    and after each protocol's runs.
    """
    count, place = sum(map(len, groups.values())), 0
    found: dict[str, list[Line]] = {caption: [] for caption in groups}
    for caption, group in groups.items():
        for protocol in group:
            place += 1
            line, seconds = _timed(partial(costed, protocol))
            found[caption].append(line)
            shown = "not private" if line.cost is None else f"true ε {line.cost}"
            progress(f"cost {place}/{count}  {protocol.name}: {shown}  {seconds:.1f} s")
    made(found)
    place = 0
    for lines in found.values():
        for i, line in enumerate(lines):
            place += 1
            lines[i], seconds = _timed(partial(played, line, runs=runs, seed=seed))
            progress(f"runs {place}/{count}  {line.protocol.name}  {seconds:.1f} s")
            made(found)
    return found


def _timed(work: Callable[[], Line]) -> tuple[Line, float]:
    began = time.monotonic()
    return work(), time.monotonic() - began


def _progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="output folder (created if missing)")
    parser.add_argument("--quick", action="store_true", help="short horizons, few runs: about two minutes")
    parser.add_argument("--page", type=Path, help="Markdown page whose tables are renewed")
    parser.add_argument("--runs", type=count)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    found = compared(
        protocols_of(sizes),
        runs=options.runs or sizes.runs,
        seed=options.seed,
        progress=_progress,
        made=partial(write, options.out),
    )
    if options.page is not None:
        refresh(options.page, tables(found))
    sys.stdout.write(f"{sum(map(len, found.values()))} protocols in {options.out}\n")


if __name__ == "__main__":
    main()
