"""``dpaudit calibrate``: how little noise does a claim need?

For a mechanism and a claim it finds the smallest noise parameter that the kernel certifies, and holds a
given parameter (``--have``) against it: claimed, certified, slack. For suites (``papers``, or a path) it does
so for the mechanisms of the paper, with the parameters that are printed there.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken
from dpaudit.errors import CertificateError, InvalidParameterError
from dpaudit.exact import exact, in_figures, positive
from dpaudit.proofs import build
from dpaudit.proofs.build import LossGrid
from dpaudit.proofs.calibrate import smallest_parameter
from dpaudit.proofs.families import MECHANISMS, Mechanism, Shape
from dpaudit.proofs.proof import Proof
from dpaudit.reports.terminal import one_line
from dpaudit.runner.plan import BrokenSuite, calibrate_suites
from dpaudit.runner.process import Pool
from dpaudit.runner.targets import PAPERS

__all__ = ["MECHANISMS", "calibrate_command"]

NO_QUESTIONS = "asks nothing about its noise: add a question with `suite.calibrate(Question(...))`."

#: Below this, floats have fewer than six digits.
TINY = Fraction(1, 10**300)

Prove = Callable[[Fraction], Proof]


@click.command("calibrate")
@click.argument("mechanism", default="all", metavar="[MECHANISM|PATH]")
@click.option("--epsilon", default="1", show_default=True, help="The claim's epsilon, exact: 0.1, 1/3.")
@click.option("--delta", default=None, help="The claim's delta; without it the claim is pure.")
@click.option("--sensitivity", default="1", show_default=True, help="How far one record moves the query.")
@click.option("--steps", default=1, show_default=True, help="Runs of the mechanism on the same data.")
@click.option("--have", default=None, help="The parameter in use: its certified bound and slack are shown.")
@click.option("--candidates", default=2, show_default=True, help="Scores of a noisy maximum.")
@click.option("--answers", default=1, show_default=True, help='Answers "above" of a sparse vector.')
@click.option("--leaves", default=1024, show_default=True, help="Leaves of a tree.")
@click.option(
    "--parties", default=1, show_default=True, help="Parties that each add the noise; users of a batch."
)
@click.option("--dim", default=2, show_default=True, help="Features of a linear bandit (binomial-vectors).")
@click.option("--share", default="1", show_default=True, help="Share of the Polya parties that turn up.")
@click.option("--grid", default="1/1000", show_default=True, help="Step of the loss grid for compositions.")
def calibrate_command(
    mechanism: str,
    epsilon: str,
    delta: str | None,
    sensitivity: str,
    steps: int,
    have: str | None,
    candidates: int,
    answers: int,
    leaves: int,
    parties: int,
    dim: int,
    share: str,
    grid: str,
) -> None:
    """Find the smallest noise parameter of a mechanism that the kernel certifies for a claim.

    ``all`` shows every mechanism: those with a pure guarantee at epsilon, the others at (epsilon, 1e-6)
    unless --delta says otherwise. ``papers``, or the path of a suite, shows the mechanisms of that paper with
    the noise that it prints.
    """
    if mechanism not in ("all", *MECHANISMS):
        _suites(mechanism)
        return
    if steps < 1:
        raise InvalidParameterError(f"steps must be 1 or more, got {steps}; pass the number of runs.")
    query = positive(sensitivity, name="sensitivity")
    shape = Shape(
        candidates=candidates,
        answers=answers,
        leaves=leaves,
        parties=parties,
        dim=dim,
        share=positive(share, name="share"),
        grid=LossGrid(step=grid),
    )
    table = _table("mechanism", "claim", "parameter", "smallest certified", "bound there", "too small")
    for title in ("have", "its bound", "slack"):
        table.add_column(title)
    for name in MECHANISMS if mechanism == "all" else [mechanism]:
        table.add_row(name, *_row(MECHANISMS[name], epsilon, delta, query, steps, have, shape))
    make_console().print(table)


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title)
    return table


def _row(
    kind: Mechanism,
    epsilon: str,
    delta: str | None,
    sensitivity: Fraction,
    steps: int,
    have: str | None,
    shape: Shape,
) -> tuple[str, ...]:
    claim = _claim(kind, epsilon, delta)
    # Pure bounds and Gaussian DP add up exactly; another delta is bounded by loss distributions on the grid.
    grid = None if isinstance(claim, PureDP) or kind.adds_up else shape.grid
    wanted = {"epsilon": exact(epsilon), "delta": exact("1e-6" if delta is None else delta)}
    shape = Shape(**{**vars(shape), **wanted, "grid": grid})

    def proof(parameter: Fraction) -> Proof:
        one = kind.proof(sensitivity, parameter, shape)
        return one if steps == 1 else build.compose_sequential([one], times=[steps], grid=grid)

    found = smallest_parameter(claim, proof, start=sensitivity * steps / exact(epsilon))
    words = f"ε={epsilon}" if isinstance(claim, PureDP) else f"ε={epsilon}, δ={float(claim.bound or 0):g}"
    smallest = str(ceil(found.parameter)) if kind.whole else _up(found.parameter)
    refused = str(ceil(found.refused)) if kind.whole else _up(found.refused)
    shown = (words, kind.parameter, smallest, _up(found.certificate.bound), refused)
    return (*shown, *_have(claim, proof, have))


def _claim(kind: Mechanism, epsilon: str, delta: str | None) -> Claim:
    if delta is None and not kind.needs_delta:
        return PureDP(epsilon=epsilon, adjacency=kind.adjacency)
    loss = "1e-6" if delta is None else delta
    return ApproxDP(epsilon=epsilon, delta=loss, adjacency=kind.adjacency)


def _have(claim: Claim, proof: Prove, have: str | None) -> tuple[str, str, str]:
    """The parameter in use, what is certified for it, and claimed / certified."""
    if have is None:
        return "", "", ""
    try:
        bound = proof(positive(have, name="have")).certify(claim).bound
    except CertificateError:
        return have, "none", ""
    return have, _up(bound), _slack(claim.bound, bound)


def _slack(claimed: Fraction | None, bound: Fraction | None) -> str:
    return f"{in_figures(claimed / bound, digits=4)}x" if claimed is not None and bound else ""


def _up(number: Fraction | None) -> str:
    """Six digits, rounded up: a printed bound or parameter is never below the certified one."""
    if number is None:
        return "none"
    if 0 < number < TINY:  # no float is near it
        return in_figures(number * Fraction(100_001, 100_000))
    rounded = f"{float(number):.6g}"
    if exact(rounded) >= number:
        return rounded
    magnitude = exact(f"1e{int(f'{float(number):.0e}'.split('e')[1]) - 5}")
    return f"{float(exact(rounded) + magnitude):.6g}"


def _suites(path: str) -> None:
    """The mechanisms of the suites at ``path``, each with its printed noise and the least that is
    certified.
    """
    if path != PAPERS and not Path(path).exists():
        close = ", ".join(difflib.get_close_matches(path, MECHANISMS, n=3, cutoff=0.4))
        raise InvalidParameterError(
            f"the first argument must be a mechanism ({', '.join(MECHANISMS)}), {PAPERS!r} or a path, got "
            f"{path!r}; " + (f"did you mean {close}?" if close else "see `dpaudit calibrate --help`.")
        )
    console = make_console()
    pool = Pool(1)
    broken: list[BrokenSuite] = []
    try:
        for suite, answers in calibrate_suites([path], pool, broken=broken):
            console.print(Text(one_line(suite.description["title"]), style="bold"))
            console.print(_answers(answers) if answers else Text(f"{suite.file.label} {NO_QUESTIONS}"))
    finally:
        pool.close()
        show_broken(broken)
    if broken:
        sys.exit(BROKEN_SUITE)


def _answers(answers: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("item", "mechanism", "parameter", "printed", "claimed", "certified", "slack", "smallest")
    for item in answers:
        printed, claimed = exact(item["printed"]), exact(item["claimed"])
        certified = None if item["certified"] is None else exact(item["certified"])
        smallest = None if item["smallest"] is None else exact(item["smallest"])
        words = (item["id"], item["title"], item["parameter"])
        numbers = (_up(printed), f"{item['quantity']} {_up(claimed)}", _up(certified))
        cells = (*(one_line(word) for word in words), *numbers, _slack(claimed, certified), _up(smallest))
        style = "red" if certified is None or certified > claimed else ""
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table
