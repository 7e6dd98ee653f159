"""``dpaudit calibrate``: how little noise does a claim need?

For a mechanism and a claim it finds the smallest noise parameter that the kernel certifies, and holds a
given parameter (``--have``) against it: claimed, certified, slack. For suites (``papers``, or a path) it does
so for the mechanisms of the paper, with the parameters that are printed there.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table
from rich.text import Text

from dpaudit.certify import build
from dpaudit.certify.families import MECHANISMS, Mechanism, Shape, vector_precision
from dpaudit.certify.proof import Proof
from dpaudit.cli.calibrate_options import (
    checked_delta,
    checked_epsilon,
    checked_shape,
    help_on_mechanisms,
    length,
    refuse_unused,
)
from dpaudit.cli.calibrate_search import search, within
from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken
from dpaudit.core.claims import ApproxDP, Claim, PureDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.exact import exact, in_figures, positive
from dpaudit.report.terminal import one_line
from dpaudit.run.plan import BrokenSuite, calibrate_suites
from dpaudit.run.process import Pool
from dpaudit.run.targets import PAPERS

__all__ = ["MECHANISMS", "calibrate_command"]

NO_QUESTIONS = "asks nothing about its noise: add a question with `suite.calibrate(Question(...))`."

#: Of mechanisms without a pure guarantee, where no other is asked for.
DELTA = "1e-6"

#: Below this, floats have fewer than six digits.
TINY = Fraction(1, 10**300)

Prove = Callable[[Fraction], Proof]


@click.command("calibrate", epilog=help_on_mechanisms())
@click.argument("mechanism", default="all", metavar="[MECHANISM|PATH]")
@click.option("--epsilon", default="1", show_default=True, help="The claim's epsilon, exact: 0.1, 1/3.")
@click.option(
    "--delta",
    default=None,
    help=f"The claim's delta; without it the claim is pure, or has {DELTA} where no noise is pure.",
)
@click.option(
    "--sensitivity",
    default="1",
    show_default=True,
    help='How far one record moves the query, exact: 2, 1/3, "sqrt(4.5)"; below, for each mechanism.',
)
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
@click.option("--seconds", default=120.0, show_default=True, help="Limit on the search for one mechanism.")
@click.pass_context
def calibrate_command(context: click.Context, /, mechanism: str, **options: Any) -> None:
    """Find the smallest noise parameter of a mechanism that the kernel certifies for a claim.

    ``all`` shows every mechanism: those with a pure guarantee at epsilon, the others at (epsilon, 1e-6)
    unless --delta says otherwise. ``papers``, or the path of a suite, shows the mechanisms of that paper with
    the noise that it prints.
    """
    given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if mechanism not in ("all", *MECHANISMS):
        _require_suites(mechanism, given)
        _suites(mechanism)
        return
    asked = _asked(options)
    names = list(MECHANISMS) if mechanism == "all" else [mechanism]
    claims = {name: _claim(MECHANISMS[name], asked, name) for name in names}
    approximate = isinstance(claims[names[0]], ApproxDP)
    refuse_unused(mechanism, given, approximate=approximate, steps=asked.steps)
    table = _table("mechanism", "claim", "parameter", "smallest certified", "bound there", "too small")
    for title in ("have", "its bound", "slack"):
        table.add_column(title)
    for name in names:
        table.add_row(name, *_row(name, claims[name], asked))
    console = make_console()
    console.print(table)
    for line in _notes(names, asked):
        console.print(Text(line))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The options, in range; ``epsilon_text`` and ``delta_text`` as they were written."""

    epsilon: Fraction
    epsilon_text: str
    delta_text: str | None
    sensitivity: Fraction
    steps: int
    have: str | None
    shape: Shape
    seconds: float


def _asked(options: Mapping[str, Any]) -> _Asked:
    if not options["seconds"] > 0 or options["seconds"] == math.inf:
        raise InvalidParameterError(
            f"--seconds must be finite and greater than 0, got {options['seconds']}; try 120."
        )
    return _Asked(
        epsilon=checked_epsilon(options["epsilon"]),
        epsilon_text=options["epsilon"],
        delta_text=options["delta"],
        sensitivity=length(options["sensitivity"], name="--sensitivity"),
        steps=options["steps"],
        have=options["have"],
        shape=checked_shape(options),
        seconds=options["seconds"],
    )


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title)
    return table


def _row(name: str, claim: Claim, asked: _Asked) -> tuple[str, ...]:
    kind = MECHANISMS[name]
    # Pure bounds and Gaussian DP add up exactly; another delta is bounded by loss distributions on the grid.
    grid = None if isinstance(claim, PureDP) or kind.adds_up else asked.shape.grid
    delta = exact(DELTA if asked.delta_text is None else asked.delta_text)
    shape = replace(asked.shape, epsilon=asked.epsilon, delta=delta, grid=grid)

    def proof(parameter: Fraction) -> Proof:
        one = kind.proof(asked.sensitivity, parameter, shape)
        return one if asked.steps == 1 else build.compose_sequential([one], times=[asked.steps], grid=grid)

    # About what a small epsilon needs; where delta is larger, it is delta that decides.
    start = asked.sensitivity * asked.steps / max(asked.epsilon, delta if isinstance(claim, ApproxDP) else 0)
    start = max(start, Fraction(1)) if kind.whole else start
    found = search(name, claim, proof, start=start, seconds=asked.seconds)
    words = f"ε={asked.epsilon_text}" + ("" if isinstance(claim, PureDP) else f", δ={_delta(asked)}")
    smallest = str(ceil(found.parameter)) if kind.whole else _up(found.parameter)
    refused = str(ceil(found.refused)) if kind.whole else _up(found.refused)
    shown = (words, kind.parameter, smallest, _up(found.certificate.bound), refused)
    return (*shown, *_have(kind, claim, proof, asked))


def _delta(asked: _Asked) -> str:
    """In six digits, and as it was written where that is another number."""
    text = DELTA if asked.delta_text is None else asked.delta_text
    short = in_figures(exact(text))
    return short if exact(short) == exact(text) else text


def _claim(kind: Mechanism, asked: _Asked, name: str) -> Claim:
    delta = checked_delta(asked.delta_text, kind, name=name)
    if delta is None and not kind.needs_delta:
        return PureDP(epsilon=asked.epsilon, adjacency=kind.adjacency)
    return ApproxDP(
        epsilon=asked.epsilon, delta=exact(DELTA) if delta is None else delta, adjacency=kind.adjacency
    )


def _notes(names: Sequence[str], asked: _Asked) -> Iterator[str]:
    """What the table cannot say: the precision that goes with a number of trials, and bounds on inputs."""
    if "binomial-vectors" in names:
        users, dim = asked.shape.parties, asked.shape.dim
        norm = in_figures(asked.sensitivity)
        bounds = "||phi|| <= 1 and |y| <= 1" + ("" if norm == "1" else f", messages times {norm}")
        yield (
            "binomial-vectors: precision g = max(2 sqrt(B), d, 4) = "
            f"{vector_precision(parties=users, dim=dim)} for --parties B = {users} users, --dim d = {dim}; "
            f"messages (phi y, phi phi^T) with {bounds}. Its bound holds a tail of up to delta/1000 a step "
            "that the sums leave out, whatever the noise: so it has no slack to show."
        )


def _have(kind: Mechanism, claim: Claim, proof: Prove, asked: _Asked) -> tuple[str, str, str]:
    """The parameter in use, what is certified for it, and claimed / certified."""
    if (have := asked.have) is None:
        return "", "", ""

    def certified() -> Fraction | None:
        return proof(positive(have, name="--have")).certify(claim).bound

    try:
        bound = within(asked.seconds, certified, what=f"--have {have}")
    except CertificateError:
        return have, "none", ""
    return have, _up(bound), "" if kind.leaves_out else _slack(claim.bound, bound)


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


def _require_suites(path: str, given: Sequence[str]) -> None:
    """``path`` is there, and no option comes with it: a suite asks its own questions."""
    if path.split(":")[0] != PAPERS and not Path(path).exists():
        close = ", ".join(difflib.get_close_matches(path, MECHANISMS, n=3, cutoff=0.4))
        raise InvalidParameterError(
            f"the first argument must be a mechanism ({', '.join(MECHANISMS)}), {PAPERS!r} or a path, got "
            f"{path!r}; " + (f"did you mean {close}?" if close else "see `dpaudit calibrate --help`.")
        )
    if given:
        raise InvalidParameterError(
            f"a suite must be given no options, its questions have numbers of their own; got "
            f"{', '.join(f'--{name}' for name in given)} with {path!r}; leave them out, or name a mechanism."
        )


def _suites(path: str) -> None:
    """The mechanisms of the suites at ``path``, each with its printed noise and the least that is
    certified.
    """
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
