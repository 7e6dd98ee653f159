"""Sample reports, built from the real claims, evidence and judge: rows of every kind, verdict, plot.

The numbers are those of textbook mechanisms, so that a reader of the page can check them by hand.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from dpaudit.core import plots
from dpaudit.core.claims import (
    Accounting,
    ApproxDP,
    Claim,
    Controls,
    ErrorRate,
    GaussianDP,
    LowerBound,
    Ordering,
    PureDP,
    RegretRate,
    SubGaussian,
    TailBound,
)
from dpaudit.core.evidence import Certificate, Estimate, Evidence, Witness
from dpaudit.core.row_verdicts import as_expected, quantity_of
from dpaudit.core.suite import Cell, Outcome
from dpaudit.core.verdicts import MAX_FLOAT
from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.html import render_html
from dpaudit.run.finding import finding_of

ALPHA = 1e-3
ONLINE, SHUFFLE = "2102.07929", "shuffled sums"


def sample_report() -> dict[str, Any]:
    """A report of nineteen rows from two papers, and two claims that nobody can check."""
    results = [build() for build in ROWS]
    return {
        "schema_version": 6,
        "tool_version": "0.1.0",
        "profile": "full",
        "seed": 2026,
        "alpha": 0.015,
        "complete": True,
        "require": None,
        "accept": None,
        "stamps": {
            "started": "2026-03-02T09:00:00+00:00",
            "finished": "2026-03-02T09:07:41+00:00",
            "command": "dpaudit run papers --profile full --seed 2026",
            "python": "3.11.7",
            "platform": "Linux x86_64",
            "versions": {"numpy": "2.1.0", "scipy": "1.14.1", "python-flint": "0.7.1"},
            "tool_sha256": "5d" * 32,
        },
        "suites": [
            _suite(ONLINE, "Near-Optimal Algorithms for Private Online Learning", "audits/online.py"),
            _suite(SHUFFLE, "Sums in the shuffle model", "audits/shuffled.py"),
        ],
        "unchecked": [
            {
                "paper": ONLINE,
                "id": "Remark 3",
                "reason": "States an open question; there is nothing to hold.",
            },
            {
                "paper": SHUFFLE,
                "id": "Thm 9",
                "reason": "Asymptotic in the number of users, without a constant.",
            },
        ],
        "results": results,
    }


def typed(report: dict[str, Any]) -> Report:
    """The typed values of a report. Missing fields are those of an empty report and of a bare row."""
    bare = sample_report() | {"results": [], "unchecked": [], "suites": []}
    return Report.from_json(bare | report | {"results": [_whole(row) for row in report.get("results", ())]})


def typed_row(data: dict[str, Any]) -> Result:
    """The typed value of a row. Missing fields are those of a bare row."""
    return Result.from_json(_whole(data))


def _whole(data: dict[str, Any]) -> dict[str, Any]:
    bare = {"id": "bare", "paper": "", "title": "", "kind": "privacy", "view": "", "role": "printed"}
    bare |= {"name": "bare", "deciding": True, "expect": data.get("verdict", "verified"), "source": ""}
    bare |= {"suite": "audits/bare.py", "quantity": "", "verdict": "verified", "strength": "none"}
    bare |= dict.fromkeys(("claimed", "lower", "upper", "slack", "confidence", "traceback"))
    bare |= {name: [] for name in ("evidence", "notes", "plots", "obstacles", "reasons", "cells")}
    bare |= {"alpha": 1e-3, "samples": 0, "seconds": 0.0, "as_expected": True, "accepted": True}
    claim = {"type": "", "in_words": ""} | data.get("claim", {})
    cells = [_whole(cell) for cell in data.get("cells", ())]
    return bare | {"reproduce": ""} | data | {"claim": claim, "cells": cells}


def page_of(report: dict[str, Any], **options: Any) -> str:
    """The page of a report."""
    return render_html(typed(report), **options)


def many_rows(number: int) -> dict[str, Any]:
    """The sample repeated to ``number`` rows with ids of their own."""
    report = sample_report()
    base = report["results"]
    rows = []
    for i in range(number):
        row = copy.deepcopy(base[i % len(base)])
        row["id"] = f"{row['id']} #{i}"
        rows.append(row)
    return report | {"results": rows}


def _suite(paper: str, title: str, name: str) -> dict[str, Any]:
    return {
        "suite": name,
        "paper": paper,
        "title": title,
        "reference": "arXiv",
        "sha256": "ab" * 32,
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "modified": False,
    }


def row(
    id: str,
    title: str,
    kind: str,
    claim: Claim,
    evidence: Sequence[Evidence],
    *,
    paper: str = ONLINE,
    expect: str = "verified",
    view: str = "public",
    seconds: float = 1.5,
    role: str = "printed",
    **outcome: Any,
) -> dict[str, Any]:
    """One result as the runner writes it: judged from its evidence."""
    # The page must show whatever a report holds, also certificates that no kernel would accept: not checked.
    with mock.patch("dpaudit.run.finding._require_valid"):
        finding = finding_of(claim, Outcome(evidence=evidence, **outcome), alpha=ALPHA)
    return {
        "id": id,
        "paper": paper,
        "title": title,
        "kind": kind,
        "role": role,
        "view": view,
        "claim": claim.to_json(),
        "expect": expect,
        "source": "Theorem 3, eq. (5)",
        "suite": "audits/online.py" if paper == ONLINE else "audits/shuffled.py",
        "quantity": quantity_of(claim),
        "claimed": None if claim.bound is None else float(claim.bound),
        **finding,
        "alpha": ALPHA,
        "seconds": seconds,
        "as_expected": as_expected(finding | {"expect": expect}),
        "accepted": as_expected(finding | {"expect": expect}),
        "reproduce": f"dpaudit run audits/online.py --only {id!r} --profile full --seed 2026",
    }


def leaf(rule: str, **parameters: str) -> dict[str, Any]:
    return {"rule": rule, "parameters": parameters, "premises": []}


def site(name: str, distribution: dict[str, Any], other: dict[str, Any], value: float) -> dict[str, Any]:
    """A site of a transcript witness, in the form of ``WitnessSite.to_json``."""
    return {
        "site": name,
        "to": ["public"],
        "law": distribution,
        "law_neighbour": other,
        "value": {"float": value.hex()},
    }


def transcript(bound: Fraction | None, sites: list[dict[str, Any]], description: str) -> Witness:
    view = {"principals": ["public"], "complement": False}
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body={"view": view, "sites": sites},
        origin="forced",
        description=description,
    )


def _array_sums() -> dict[str, Any]:
    tree = {
        "rule": "accounted",
        "parameters": {"sites": ["array sum"], "touches": ["1"], "declared": "each reward is in one array"},
        "premises": [leaf("laplace", sensitivity="1", scale="2")],
    }
    proof = Certificate(
        quantity="epsilon",
        bound=Fraction(1, 2),
        tree=tree,
        assumptions=("a record affects declared sites only: releases per record: array sum at most 1",),
    )
    worst = transcript(
        Fraction(499_999, 1_000_000),
        [site("array sum", {"law": "laplace", "scale": "2"}, {"law": "laplace", "scale": "5/2"}, 3.25)],
        "two reward sequences that differ in the reward that completes array 3 of arm 1 (0 against 1)",
    )
    losses = np.random.default_rng(1).laplace(size=4000).clip(-0.5, 0.5)
    return row(
        "Thm 1",
        "Anytime-Lazy-UCB is ε-DP",
        "privacy",
        PureDP(epsilon="0.5"),
        [proof, worst],
        samples=20_000,
        seconds=12.4,
        notes=["All 14 corner pairs were tried; the worst is the reward that completes an array."],
        plots=[plots.histogram_of_losses(title="Losses of the worst pair", losses=losses, claimed=0.5)],
        expect="consistent",
    )


def _accounting() -> dict[str, Any]:
    proof = Certificate(
        quantity="epsilon", bound=Fraction(1, 2), tree=leaf("laplace", sensitivity="1", scale="2")
    )
    return row(
        "Thm 1/accounting",
        "One reward touches one array sum",
        "structure",
        Accounting(epsilon="0.5", declared="array sum: at most 1"),
        [proof],
        role="step",
    )


def _noisy_max() -> dict[str, Any]:
    proof = Certificate(
        quantity="epsilon",
        bound=Fraction(2),
        tree={
            "rule": "sequential",
            "parameters": {"times": ["1"]},
            "premises": [leaf("noisy-max", sensitivity="1", noise="laplace", scale="1", monotone="no")],
        },
    )
    worst = transcript(
        Fraction(14_999_999_123, 10_000_000_000),
        [
            site("epoch 0", {"law": "laplace", "scale": "1"}, {"law": "laplace", "scale": "2"}, 0.125),
            site("epoch 1", {"law": "laplace", "scale": "1"}, {"law": "laplace", "scale": "3"}, -0.75),
        ],
        "epoch 1 holds the rewards (1, 0) against (0, 1): the two arms move in opposite directions",
    )
    return row(
        "Thm 7",
        "RNM-FTNL with one noise of scale 1/ε per arm is ε-DP",
        "privacy",
        PureDP(epsilon="1"),
        [proof, worst],
        expect="refuted",
        notes=["With scale 2/ε the same algorithm is ε-DP."],
        plots=[
            plots.bars(
                title="Worst loss by pair",
                labels=["opposite directions", "one arm only", "first epoch", "ties"],
                values=[1.4999, 0.98, 0.97, 0.5],
                low=[1.48, 0.95, 0.93, 0.45],
                high=[1.5, 1.0, 1.0, 0.6],
                claimed=1.0,
                value_title="privacy loss",
            )
        ],
    )


def _leak() -> dict[str, Any]:
    body = {
        "view": {"principals": ["public"], "complement": False},
        "sites": [],
        "leak": {"what": "value", "recorded": {"int": "17"}, "neighbour": {"int": "18"}, "to": ["public"]},
    }
    found = Witness(
        quantity="epsilon",
        bound=None,
        form="leak",
        body=body,
        origin="sampled",
        description="the batch size at position 4 depends on the data without noise",
    )
    return row("Alg 2", "The phased learner is ε-DP", "privacy", PureDP(epsilon="1/3"), [found])


def _gaussian() -> dict[str, Any]:
    tree = {
        "rule": "post-processing",
        "parameters": {"function": "argmax"},
        "premises": [leaf("gaussian", sensitivity="1", sigma="19/4")],
    }
    proof = Certificate(quantity="delta", bound=Fraction(94, 10**8), tree=tree)
    guess = Estimate(
        quantity="delta",
        lower=3.1e-7,
        upper=None,
        confidence=0.999,
        samples=400_000,
        method="betting on the loss",
        scope="the worst pair found",
        seed=2026,
    )
    grid = np.linspace(0.2, 2.0, 25)
    upper = [float(np.exp(-(g**2) * 4.2) * 0.05) for g in grid]
    return row(
        "Prop 4",
        "The Gaussian tree is (ε, δ)-DP",
        "privacy",
        ApproxDP(epsilon="1", delta="1e-6"),
        [proof, guess],
        paper=SHUFFLE,
        view="server",
        plots=[
            plots.delta_curve(
                title="δ(ε) from both sides",
                epsilon=grid,
                lower=[u * 0.5 if u > 1e-8 else None for u in upper],
                upper=upper,
                claimed_epsilon=1,
                claimed_delta=1e-6,
            )
        ],
    )


def _generous() -> dict[str, Any]:
    proof = Certificate(
        quantity="mu", bound=Fraction(1, 30), tree=leaf("gaussian", sensitivity="1", sigma="30")
    )
    return row(
        "Cor 5", "The summed mechanism is μ-GDP", "privacy", GaussianDP(mu="1"), [proof], paper=SHUFFLE
    )


def _open_question() -> dict[str, Any]:
    found = transcript(
        Fraction(3, 4),
        [site("vote", {"law": "laplace", "scale": "1"}, {"law": "laplace", "scale": "2"}, 0.5)],
        "ties",
    )
    return row(
        "Lemma 12",
        "Voting with ties broken at random is ε-DP",
        "privacy",
        PureDP(epsilon="1"),
        [found],
        unmet=["branch 'tie of three' was never visited"],
    )


def _no_evidence() -> dict[str, Any]:
    return row("Lemma 13", "The shuffled sum is ε-DP", "privacy", PureDP(epsilon="2"), [], paper=SHUFFLE)


def _crash() -> dict[str, Any]:
    result = row("Alg 4", "Hybrid-UCB is ε-DP", "privacy", PureDP(epsilon="1"), [], seconds=600.0)
    trace = 'Traceback (most recent call last):\n  File "hybrid.py", line 31, in play\nIndexError: index 8'
    crash = {
        "verdict": "crashed",
        "reasons": ["the program raised IndexError on the neighbour"],
        "traceback": trace,
    }
    return result | crash | {"as_expected": False, "accepted": False}


def _tail() -> dict[str, Any]:
    claim = TailBound(probability="1/20", event="|Y| > ln(20)/ε")
    held = Estimate(
        quantity="probability",
        lower=0.0499998,
        upper=0.0499999999,
        confidence=1.0,
        samples=0,
        method="closed form",
        scope="the distribution itself",
        covers_claim=True,
    )
    return row("Fact 1", "Tail of Laplace noise", "tail", claim, [held], view="")


def _variance_proxy() -> dict[str, Any]:
    found = Estimate(
        quantity="variance proxy",
        lower=2.1,
        upper=None,
        confidence=0.9995,
        samples=120_000,
        method="e-process on exp(λX − λ²s²/2)",
        scope="λ in {±1/4, ±1/2, ±1}",
        seed=7,
        details={"best lambda": 0.5, "log e-value": 9.2},
    )
    claim = SubGaussian(variance_proxy="2", of="the sum of two geometric noises")
    return row("Fact 3", "The noise is 2-sub-Gaussian", "tail", claim, [found], expect="refuted", view="")


def _regret() -> dict[str, Any]:
    claim = RegretRate(
        text="regret(T) ≤ C (K ln T / Δ + K ln T / ε) for C = 25 on the Bernoulli instances with T up to 10⁶",
        claimed=1,
        quantity_name="regret / rate",
        constants=(("C", "25"), ("K", "5"), ("gap", "1/10")),
    )
    held = Estimate(
        quantity="regret / rate",
        lower=0.21,
        upper=0.64,
        confidence=0.9995,
        samples=2000,
        method="bounded-mean e-values",
        scope="5 instances, 4 values of ε",
        covers_claim=True,
        seed=2026,
    )
    horizon = [10**i for i in range(2, 7)]
    lines = [
        plots.series(
            name=f"ε = {epsilon}",
            x=horizon,
            y=[c * math.log(t) * (1 + 1 / epsilon) for t in horizon],
            low=[c * 0.8 * math.log(t) * (1 + 1 / epsilon) for t in horizon],
            high=[c * 1.25 * math.log(t) * (1 + 1 / epsilon) for t in horizon],
        )
        for epsilon, c in ((0.1, 11.0), (0.5, 10.0), (1.0, 9.0))
    ]
    rate = plots.series(
        name="theorem at ε = 0.1", x=horizon, y=[200 * math.log(t) for t in horizon], dashed=True
    )
    epsilons = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8]
    final = [
        plots.series(name=name, x=epsilons, y=[base + cost / e for e in epsilons])
        for name, base, cost in (
            ("Anytime-Lazy-UCB", 310, 95),
            ("Hybrid-UCB", 330, 420),
            ("DP-SE", 520, 130),
            ("UCB1, not private", 295, 0),
        )
    ]
    return row(
        "Thm 2",
        "Regret of Anytime-Lazy-UCB",
        "regret",
        claim,
        [held],
        view="",
        seconds=88.0,
        plots=[
            plots.curves(
                title="Regret against the theorem's rate",
                series=[*lines, rate],
                x_title="T",
                y_title="regret",
                x_log=True,
                note="Bands hold at confidence 0.9995 jointly.",
            ),
            plots.curves(
                title="Regret at T = 10⁶ against ε",
                series=final,
                x_title="ε",
                y_title="regret",
                x_log=True,
                y_log=True,
            ),
        ],
    )


def _lower_bound() -> dict[str, Any]:
    claim = LowerBound(text="every ε-DP learner has regret at least 0.2 K ln T / ε on the packing", claimed=1)
    below = Estimate(
        quantity="regret / lower bound",
        lower=0.1,
        upper=0.42,
        confidence=0.9995,
        samples=5000,
        method="bounded-mean e-values",
        scope="all instances of the family at ε = 1/100",
        covers_claim=True,
    )
    return row(
        "Thm 8",
        "A lower bound for private learners",
        "lower-bound",
        claim,
        [below],
        view="",
        expect="refuted",
    )


def _ordering() -> dict[str, Any]:
    claim = Ordering(text="the lazy learner is at most as bad as the eager one", claimed=0)
    held = Estimate(
        quantity="difference",
        lower=-31.0,
        upper=-12.5,
        confidence=0.9999,
        samples=4000,
        method="paired bounded-mean e-values",
        scope="K = 5, T = 10⁵",
        covers_claim=True,
    )
    return row(
        "Fig 1",
        "Lazy beats eager",
        "utility",
        claim,
        [held],
        view="",
        plots=[
            plots.table(
                title="Mean regret",
                columns=["learner", "ε", "regret", "private"],
                rows=[
                    ["lazy", 0.5, 1210.5, True],
                    ["eager", 0.5, 1236.0, True],
                    ["UCB1", None, 402.25, False],
                ],
            )
        ],
    )


def _error() -> dict[str, Any]:
    claim = ErrorRate(
        text="the shuffled sum errs by at most 40 with probability 0.99", claimed=40, quantity_name="error"
    )
    held = Estimate(
        quantity="error",
        lower=11.5,
        upper=12.25,
        confidence=1.0,
        samples=0,
        method="exact convolution",
        scope="n = 10,000",
        covers_claim=True,
    )
    return row("Prop 6", "Error of the shuffled sum", "utility", claim, [held], paper=SHUFFLE, view="")


def _noise(scale: str) -> Certificate:
    tree = leaf("laplace", sensitivity="2", scale=scale)
    return Certificate(quantity="epsilon", bound=2 / Fraction(scale), tree=tree)


def _repaired() -> dict[str, Any]:
    claim = PureDP(epsilon="1")
    cells = [
        Cell(name=f"ε = {epsilon}", claim=PureDP(epsilon=epsilon), evidence=[_noise(scale)])
        for epsilon, scale in (("1", "2"), ("1/5", "10"), ("4", "1/2"))
    ]
    under = Accounting(epsilon="1", declared="noisy maximum: at most 1")
    cells.append(Cell(name="accounting", claim=under, evidence=[_noise("2")], deciding=False))
    title = "RNM-FTNL with one noise of scale 2/ε per arm is ε-DP"
    return row("Thm 7/repaired", title, "privacy", claim, [], role="repaired", cells=cells)


def _lost() -> dict[str, Any]:
    found = transcript(
        Fraction(3),
        [site("epoch 0", {"law": "laplace", "scale": "1"}, {"law": "laplace", "scale": "4"}, 0.25)],
        "a lost message shows who was in the epoch",
    )
    claim = PureDP(epsilon="1")
    title = "messages that may be lost"
    return row("Thm 7/lost", title, "privacy", claim, [found], role="what-if", expect="refuted")


def _controls() -> dict[str, Any]:
    claim = PureDP(epsilon="1")
    loud = transcript(
        Fraction(2),
        [site("epoch 0", {"law": "laplace", "scale": "1"}, {"law": "laplace", "scale": "3"}, 0.25)],
        "the first epoch, 0 against 1",
    )
    cells = [
        Cell(name="half the noise", claim=claim, evidence=[loud], expect="refuted"),
        Cell(name="one noise for all arms", claim=claim, evidence=[_noise("2")], expect="refuted"),
        Cell(name="as printed, with scale 2/ε", claim=claim, evidence=[_noise("2")]),
    ]
    named = tuple((cell.name, cell.expect) for cell in cells)
    words = Controls(text="each broken noisy maximum is refuted, the correct one is not", cells=named)
    title = "broken noisy maxima"
    return row("Thm 7/controls", title, "structure", words, [], role="control", view="", cells=cells)


def _grid() -> dict[str, Any]:
    def held(n: int, upper: float) -> Cell:
        found = Estimate(
            quantity="error",
            lower=upper - 0.125,
            upper=upper,
            confidence=1.0,
            samples=n,
            method="exact convolution",
            scope=f"n = {n}",
            covers_claim=True,
        )
        return Cell(name=f"n = {n:,}", claim=claim, evidence=[found], notes=["both tails"])

    claim = ErrorRate(text="the sum errs by at most 3", claimed=3, quantity_name="error")
    cells = [held(100, 1.5), held(1000, 2.25), held(10_000, 2.875)]
    title = "Error of the sum on a grid"
    return row("Lemma 5", title, "utility", claim, [], paper=SHUFFLE, view="", cells=cells)


ROWS: tuple[Callable[[], dict[str, Any]], ...] = (
    _array_sums,
    _accounting,
    _noisy_max,
    _leak,
    _gaussian,
    _generous,
    _open_question,
    _no_evidence,
    _crash,
    _tail,
    _variance_proxy,
    _regret,
    _lower_bound,
    _ordering,
    _error,
    _repaired,
    _lost,
    _controls,
    _grid,
)

__all__ = [
    "MAX_FLOAT",
    "many_rows",
    "page_of",
    "row",
    "sample_report",
    "site",
    "transcript",
    "typed",
    "typed_row",
]
