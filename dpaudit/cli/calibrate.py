"""Provide ``dpaudit calibrate``: find how little noise a claim needs.

For a mechanism and a claim, it finds the smallest noise parameter that the kernel certifies. It compares a
given parameter (``--have``) with the claim: claimed, certified, slack. For suites (``papers``, or a path), it
does so for the mechanisms of the paper and their stated parameters.
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

NO_QUESTIONS = "has no questions about its noise. Add one with `suite.calibrate(Question(...))`."

#: The default delta of mechanisms without a pure guarantee.
DELTA = "1e-6"

#: Floats below this have fewer than six significant digits.
TINY = Fraction(1, 10**300)

Prove = Callable[[Fraction], Proof]


@click.command("calibrate", epilog=help_on_mechanisms())
@click.argument("mechanism", default="all", metavar="[MECHANISM|PATH]")
@click.option("--epsilon", default="1", show_default=True, help="The claim's epsilon, exact: 0.1, 1/3.")
@click.option(
    "--delta",
    default=None,
    help=f"The claim's delta [default: pure DP, or {DELTA} for noise without a pure guarantee].",
)
@click.option(
    "--sensitivity",
    default="1",
    show_default=True,
    help='Sensitivity of the query, exact: 2, 1/3, "sqrt(4.5)". See below for each mechanism.',
)
@click.option("--steps", default=1, show_default=True, help="Runs of the mechanism on the same data.")
@click.option("--have", default=None, help="A parameter in use. Its certified bound and slack are shown.")
@click.option("--candidates", default=2, show_default=True, help="Scores of a noisy maximum.")
@click.option("--answers", default=1, show_default=True, help='Answers "above" of a sparse vector.')
@click.option("--leaves", default=1024, show_default=True, help="Leaves of a tree.")
@click.option(
    "--parties", default=1, show_default=True, help="Parties that each add the noise, or users of a batch."
)
@click.option("--dim", default=2, show_default=True, help="Features of a linear bandit (binomial-vectors).")
@click.option("--share", default="1", show_default=True, help="Share of the Polya parties that participate.")
@click.option("--grid", default="1/1000", show_default=True, help="Step of the loss grid for compositions.")
@click.option(
    "--seconds", default=120.0, show_default=True, help="Time limit for the search for one mechanism."
)
@click.pass_context
def calibrate_command(context: click.Context, /, mechanism: str, **options: Any) -> None:
    """Find the smallest noise parameter of a mechanism that the kernel certifies for a claim.

    ``all`` shows every mechanism, at epsilon if it has a pure guarantee, else at (epsilon, 1e-6) or the given
    --delta. ``papers``, or the path of a suite, shows the mechanisms of that paper with the noise that it
    states.
    """
    given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if mechanism not in ("all", *MECHANISMS):
        _require_suites(mechanism, given)
        _suites(mechanism)
        return
    wanted = _read_options(options)
    names = list(MECHANISMS) if mechanism == "all" else [mechanism]
    claims = {name: _claim(MECHANISMS[name], wanted, name) for name in names}
    approximate = isinstance(claims[names[0]], ApproxDP)
    refuse_unused(mechanism, given, approximate=approximate, steps=wanted.steps)
    table = _table("mechanism", "claim", "parameter", "smallest certified", "bound there", "too small")
    for title in ("have", "its bound", "slack"):
        table.add_column(title)
    for name in names:
        table.add_row(name, *_row(name, claims[name], wanted))
    console = make_console()
    console.print(table)
    for line in _notes(names, wanted):
        console.print(Text(line))


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The checked options. ``epsilon_text`` and ``delta_text`` are the texts as given."""

    epsilon: Fraction
    epsilon_text: str
    delta_text: str | None
    sensitivity: Fraction
    steps: int
    have: str | None
    shape: Shape
    seconds: float


def _read_options(options: Mapping[str, Any]) -> _Options:
    if not options["seconds"] > 0 or options["seconds"] == math.inf:
        raise InvalidParameterError(
            f"--seconds must be finite and greater than 0, got {options['seconds']}.", code="E-SECONDS-RANGE"
        )
    return _Options(
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


def _row(name: str, claim: Claim, wanted: _Options) -> tuple[str, ...]:
    kind = MECHANISMS[name]
    # Pure and Gaussian DP compose exactly. Another delta is bounded by loss distributions on the grid.
    grid = None if isinstance(claim, PureDP) or kind.adds_up else wanted.shape.grid
    delta = exact(DELTA if wanted.delta_text is None else wanted.delta_text)
    shape = replace(wanted.shape, epsilon=wanted.epsilon, delta=delta, grid=grid)

    def proof(parameter: Fraction) -> Proof:
        one = kind.proof(wanted.sensitivity, parameter, shape)
        return one if wanted.steps == 1 else build.compose_sequential([one], times=[wanted.steps], grid=grid)

    # About the parameter for a small epsilon. If delta is larger than epsilon, delta decides.
    start = (
        wanted.sensitivity * wanted.steps / max(wanted.epsilon, delta if isinstance(claim, ApproxDP) else 0)
    )
    start = max(start, Fraction(1)) if kind.whole else start
    found = search(name, claim, proof, start=start, seconds=wanted.seconds)
    words = f"ε={wanted.epsilon_text}" + ("" if isinstance(claim, PureDP) else f", δ={_delta(wanted)}")
    smallest = str(ceil(found.parameter)) if kind.whole else _up(found.parameter)
    refused = str(ceil(found.refused)) if kind.whole else _up(found.refused)
    shown = (words, kind.parameter, smallest, _up(found.certificate.bound), refused)
    return (*shown, *_have(kind, claim, proof, wanted))


def _delta(wanted: _Options) -> str:
    """Return delta in six digits, or as it was given if that is another number."""
    text = DELTA if wanted.delta_text is None else wanted.delta_text
    short = in_figures(exact(text))
    return short if exact(short) == exact(text) else text


def _claim(kind: Mechanism, wanted: _Options, name: str) -> Claim:
    delta = checked_delta(wanted.delta_text, kind, name=name)
    if delta is None and not kind.needs_delta:
        return PureDP(epsilon=wanted.epsilon, adjacency=kind.adjacency)
    return ApproxDP(
        epsilon=wanted.epsilon, delta=exact(DELTA) if delta is None else delta, adjacency=kind.adjacency
    )


def _notes(names: Sequence[str], wanted: _Options) -> Iterator[str]:
    """Yield what the table does not show: the precision for a number of trials, and bounds on inputs."""
    if "binomial-vectors" in names:
        users, dim = wanted.shape.parties, wanted.shape.dim
        norm = in_figures(wanted.sensitivity)
        bounds = "||phi|| <= 1 and |y| <= 1" + ("" if norm == "1" else f", messages times {norm}")
        yield (
            "binomial-vectors: precision g = max(2 sqrt(B), d, 4) = "
            f"{vector_precision(parties=users, dim=dim)} for --parties B = {users} users, --dim d = {dim}; "
            f"messages (phi y, phi phi^T) with {bounds}. Its bound includes a tail of up to delta/1000 per "
            "step that the sums leave out, whatever the noise, so no slack is shown."
        )


def _have(kind: Mechanism, claim: Claim, proof: Prove, wanted: _Options) -> tuple[str, str, str]:
    """Return the parameter in use, its certified bound, and the slack."""
    if (have := wanted.have) is None:
        return "", "", ""

    def certified() -> Fraction | None:
        return proof(positive(have, name="--have")).certify(claim).bound

    try:
        bound = within(wanted.seconds, certified, what=f"--have {have}")
    except CertificateError:
        return have, "none", ""
    return have, _up(bound), "" if kind.leaves_out else _slack(claim.bound, bound)


def _slack(claimed: Fraction | None, bound: Fraction | None) -> str:
    return f"{in_figures(claimed / bound, digits=4)}x" if claimed is not None and bound else ""


def _up(number: Fraction | None) -> str:
    """Round up to six digits, so that a shown bound or parameter is never below the certified one."""
    if number is None:
        return "none"
    if 0 < number < TINY:  # no float is close to this number
        return in_figures(number * Fraction(100_001, 100_000))
    rounded = f"{float(number):.6g}"
    if exact(rounded) >= number:
        return rounded
    magnitude = exact(f"1e{int(f'{float(number):.0e}'.split('e')[1]) - 5}")
    return f"{float(exact(rounded) + magnitude):.6g}"


def _require_suites(path: str, given: Sequence[str]) -> None:
    """Require that ``path`` exists, and that no option was given, because suites have their own questions."""
    if path.split(":")[0] != PAPERS and not Path(path).exists():
        close = ", ".join(difflib.get_close_matches(path, MECHANISMS, n=3, cutoff=0.4))
        raise InvalidParameterError(
            f"the first argument must be a mechanism ({', '.join(MECHANISMS)}), {PAPERS!r} or a path, got "
            f"{path!r}. " + (f"Did you mean {close}?" if close else "See `dpaudit calibrate --help`."),
            code="E-CALIBRATE-SUBJECT",
        )
    if given:
        raise InvalidParameterError(
            "a suite takes no options, because its questions have their own numbers, got "
            f"{', '.join(f'--{name}' for name in given)} with {path!r}.",
            code="E-OPTION-UNUSED",
        )


def _suites(path: str) -> None:
    """Show the mechanisms of the suites at ``path``, each with its stated and smallest certified noise."""
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
    table = _table("item", "mechanism", "parameter", "stated", "claimed", "certified", "slack", "smallest")
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
