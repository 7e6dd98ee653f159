"""Tiny suites for the command line's tests, and the two ways to run the command: in this process, and as a
process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner, Result

import dpaudit
from dpaudit.cli import main

HEAD = '''
from __future__ import annotations
import os, random, sys, time
from fractions import Fraction
from pathlib import Path
import numpy as np
from dataclasses import replace
from dpaudit.core.claims import Accounting, Adjacency, ApproxDP, Controls, ErrorRate, PureDP
from dpaudit.core.evidence import Certificate, Estimate, Witness
from dpaudit.core.suite import Cell, Outcome, Row, Suite
from dpaudit.core.views import PUBLIC, View

suite = Suite(paper="tiny", title="Tiny claims", reference="nobody, 2026")
CLAIM = ErrorRate(text="the error is at most 1", claimed=1)


def exactly(lower, upper, *, confidence=1.0, **more):
    """An estimate on the whole grid, as it would come from an exact computation."""
    kind = dict(quantity="error", method="grid", scope="the whole grid", covers_claim=True)
    return Estimate(lower=lower, upper=upper, confidence=confidence, samples=10, **kind, **more)


def witness(bound):
    """A loss of 2, stated as ``bound``; a leak for ``None``."""
    from dpaudit.certify.witnesses.transcript import WitnessSite, leak_body, transcript_body
    from dpaudit.distributions import Laplace
    view, to = View.of(PUBLIC), frozenset([PUBLIC])
    moved = [Laplace(scale=1).shift(offset) for offset in (2.0, 0.0)]
    site = WitnessSite(site="sum", to=to, distribution=moved[0], distribution_neighbour=moved[1], value=3.0)
    form, body = "transcript", transcript_body([site], view=view, inputs=([0], [1]))
    if bound is None:
        about = dict(site="arm", to=to, view=view, inputs=([0], [1]))
        form, body = "leak", leak_body([], what="value", recorded=0, neighbour=1, **about)
    about = dict(form=form, body=body, origin="sampled", description="0 against 1")
    return Witness(quantity="epsilon", bound=bound, **about)


def certificate(bound, *declared):
    """Laplace noise that costs ``bound``, by itself or in a program that declares what it touches."""
    from dpaudit.certify import build
    noise = build.laplace_mechanism(sensitivity=bound, scale=1)
    if declared:
        from dpaudit.certify.sites import Site
        touched = Site("sum", mechanism=noise)
        noise = build.accounted([touched], declared=declared[0])
    return noise.certify(PureDP(epsilon=1))


def count(name):
    """Leave a mark each time that a row runs, beside the suite."""
    with open(Path(__file__).parent / f"{name}.ran", "a") as file:
        file.write("x")
'''

VERIFIED = """
@suite.row("fine", title="holds on the grid", kind="utility", claim=CLAIM)
def fine(run):
    \"\"\"Computes the error on the whole grid.\"\"\"
    count("fine")
    return Outcome([exactly(0.25, 0.5)])
"""

REFUTED = """
@suite.row("false", title="does not hold", kind="utility", claim=CLAIM, expect="refuted", source="Theorem 2")
def false(run):
    return Outcome([exactly(1.25, 1.5)], notes=["as printed"])
"""

UNEXPECTED = """
@suite.row("surprise", title="thought to hold", kind="utility", claim=CLAIM)
def surprise(run):
    return Outcome([exactly(1.25, 1.5)])
"""

RAISES = """
@suite.row("raises", title="raises", kind="utility", claim=CLAIM)
def raises(run):
    raise ValueError("bad [bold]input")
"""


def write_suite(path: Path, *rows: str, head: str = HEAD) -> Path:
    """Write a suite file made of the usual head and some rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "".join(rows), encoding="utf-8")
    return path


def invoke(*arguments: object) -> Result:
    """Run the command in this process; its exit code is ``exit_code``.

    An unexpected exception fails the test.
    """
    words = [str(argument) for argument in arguments]
    with patch.object(sys, "argv", ["dpaudit", *words]):  # a report names its command line
        result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def start(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    root = str(Path(dpaudit.__file__).parent.parent)
    code = "from dpaudit.cli import main; main(prog_name='dpaudit')"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *(str(argument) for argument in arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": root},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_restore_signals if os.name == "posix" else None,
    )


def _restore_signals() -> None:
    """Ctrl-C and a hang-up work in the command even where the tests themselves run with them switched off."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def run(suite: Path, *options: object, report: Path | None = None) -> tuple[Result, dict[str, Any]]:
    """``dpaudit run`` on one worker without the page; the result and the report that it wrote."""
    file = report or suite.parent / "dpaudit-report.json"
    jobs = () if "--jobs" in options else ("--jobs", 1)
    result = invoke("run", suite, "--json", file, "--no-html", *jobs, *options)
    return result, json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


def by_id(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in report["results"]}


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
