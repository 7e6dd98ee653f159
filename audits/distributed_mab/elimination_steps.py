"""Lemma 2's event E, and the rows on the steps that follow from it.

E says that every active arm's decoded mean is within β(b) of its mean, in every batch; its probability is
computed in ``elimination_event``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab import elimination_decisions, elimination_growth, elimination_regret
from audits.distributed_mab.elimination_event import (
    Margin,
    Race,
    corner_failure,
    failure_bound,
    tied_failure,
)
from audits.inequalities import Inequality, add_steps
from dpaudit.claims import ErrorRate
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball
from dpaudit.plots import table
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["VARIANTS", "add_rows", "assumption_failure"]

#: Row suffix, variant, s, source, expected verdicts with p = 1/T and with p = 1/10.
VARIANTS: tuple[tuple[str, str, int, str, str, str], ...] = (
    ("T1", "dist_dp_se", 1, "Theorem 1", "refuted", "refuted"),
    ("T2", "dist_rdp_se", 1, "Theorem 2", "verified", "verified"),
    ("T2/10", "dist_rdp_se", 10, "Theorem 2", "verified", "verified"),
    ("T3", "shuffle_dp_se/printed", 1, "Theorem 3, noise as printed", "verified", "verified"),
    ("T3R", "shuffle_dp_se/repaired", 1, "Theorem 3, noise drawn with ε'", "refuted", "refuted"),
    ("T4", "dist_cdp_se", 1, "Theorem 4", "refuted", "refuted"),
    ("T4/10", "dist_cdp_se", 10, "Theorem 4", "refuted", "refuted"),
    ("T5", "cdp_se", 1, "Theorem 5", "refuted", "refuted"),
    ("T6", "ldp_se", 1, "Theorem 6", "verified", "refuted"),
)

#: q = 0: shuffling as an exact sum. What q = p' makes of it: the rows ``/relaxed``.
CALLED = {
    "dist_dp_se": "Dist-DP-SE",
    "dist_rdp_se": "Dist-RDP-SE",
    "dist_cdp_se": "Dist-CDP-SE",
    "cdp_se": "CDP-SE",
    "ldp_se": "LDP-SE",
    "shuffle_dp_se/printed": "Shuffle-DP-SE as printed (q = 0)",
    "shuffle_dp_se/repaired": "Shuffle-DP-SE with noise for ε' (q = 0)",
}


#: Theorem 3 with q = p': id, expected verdict, level of τ and q.
_RELAXED: tuple[tuple[str, str, Margin], ...] = (
    ("relaxed", "refuted", "printed"),
    ("relaxed/repaired", "verified", "by batch"),
)


def add_rows(suite: Suite) -> None:
    """The rows CZ23-L2a; CZ23-L1, CZ23-L2 and CZ23-R4 with the other steps of Lemma 2."""
    _from_assumption(suite)
    for suffix, name, s, source, theorem, experiments in VARIANTS:
        _event_row(suite, f"CZ23-L2a/{suffix}", name, s, source, expect=theorem, levels=("1/T",))
        _event_row(
            suite, f"CZ23-L2a/{suffix}/experiments", name, s, source, expect=experiments, levels=("1/10",)
        )
        _event_row(
            suite,
            f"CZ23-L2a/{suffix}/repaired",
            name,
            s,
            source,
            expect="verified",
            levels=("1/T", "1/10"),
            margin="by batch",
            arms=(2, 50),
        )
        if experiments == "refuted":
            _event_row(
                suite,
                f"CZ23-L2a/{suffix}/experiments/inside",
                name,
                s,
                source,
                expect="verified",
                levels=("1/10",),
                arms=(2, 10),
                away=Fraction(1, 4),
            )
        if name.startswith("shuffle"):
            for ending, wanted, margin in _RELAXED:
                _event_row(
                    suite,
                    f"CZ23-L2a/{suffix}/{ending}",
                    name,
                    s,
                    source,
                    expect=wanted,
                    levels=("1/T",),
                    margin=margin,
                    relaxed=True,
                )
    elimination_decisions.add_rows(suite)
    elimination_regret.add_rows(suite)
    elimination_growth.add_rows(suite)
    for suffix, name, s, source, *_ in VARIANTS:
        if name in ("dist_rdp_se", "shuffle_dp_se/printed"):
            _event_row(
                suite,
                f"CZ23-L2a/{suffix}/many-arms",
                name,
                s,
                source,
                expect="refuted",
                levels=("1/10",),
                arms=(500,),
            )


def _races(
    run: Run,
    name: str,
    s: int,
    *,
    levels: Sequence[str],
    margin: Margin,
    arms: Sequence[int],
    away: Fraction,
    relaxed: bool,
) -> list[Race]:
    budgets = ["1/10", "1/2"]  # Theorems 4 to 6 ask for ε < 1
    if name not in ("dist_cdp_se", "cdp_se", "ldp_se"):
        budgets = run.choose(quick=["1/10", "5"], full=["1/10", "1/2", "5"])
    if away:  # the experiments' own ε; for LDP-SE those below 1
        budgets = ["1/10", "1/2", "1"][: 2 if name == "ldp_se" else 3]
    horizons: Sequence[int] = run.choose(quick=(2**12, 2**24), full=(2**12, 2**16, 2**20, 2**24, 2**40))
    if margin != "printed":
        horizons = run.choose(quick=horizons[-1:], full=horizons)
    if margin == "printed" and levels == ("1/10",):  # the experiments stop at 10^7 rounds
        horizons = horizons[: horizons.index(2**24) + 1]
    if name == "ldp_se":  # the tail of n users' noise is slow for n in the millions, and T only adds batches
        horizons = run.choose(quick=(2**20,), full=(2**12, 2**16, 2**20, 2**24))
        arms = run.choose(quick=arms[-1:], full=arms)
        budgets = run.choose(quick=budgets[-1:], full=budgets)
    return [
        Race(
            name=name,
            epsilon=Fraction(budget),
            n_arms=n_arms,
            failure_prob=Fraction(1, horizon) if level == "1/T" else Fraction(level),
            horizon=horizon,
            scale_factor=s,
            margin=margin,
            away=away,
            relaxed=relaxed,
        )
        for budget, n_arms, horizon, level in itertools.product(budgets, arms, horizons, levels)
    ]


def _event_row(
    suite: Suite,
    id_: str,
    name: str,
    s: int,
    source: str,
    *,
    expect: str,
    levels: Sequence[str],
    margin: Margin = "printed",
    arms: Sequence[int] = (2, 10, 50),
    away: Fraction = Fraction(0),
    relaxed: bool = False,
) -> None:
    called = CALLED[name] if s == 1 else f"{CALLED[name]}, s = {s}"
    tau = "the printed τ" if margin == "printed" else "τ built for p/(K l(b))"
    if relaxed:
        called = called.replace("(q = 0)", "(any S, q = p')")
        tau = "the printed τ and q" if margin == "printed" else "τ and q built for p/(K l(b))"
    p = " and ".join(levels)
    where = f" with means in [{away}, {1 - away}]" if away else ""

    def evaluate(run: Run) -> Outcome:
        races = _races(run, name, s, levels=levels, margin=margin, arms=arms, away=away, relaxed=relaxed)
        low = [0.0 if away else tied_failure(race) / float(3 * race.failure_prob) for race in races]
        high = [failure_bound(race) / float(3 * race.failure_prob) for race in races]
        worst = int(np.argmax(low))
        estimate = Estimate(
            quantity="P[not E] / 3p",
            lower=low[worst],
            upper=max(high),
            confidence=1.0,
            samples=len(races),
            method="below: product of tails for K arms tied at 0; above: all reward laws, union bound",
            scope=_scope(races, p),
            covers_claim=True,
        )
        picture = table(
            title=f"P[not E] / 3p: {called}, {tau}",
            columns=["race", "at least", "at most"],
            rows=[[race.in_words(), *pair] for race, *pair in zip(races, low, high, strict=True)],
        )
        notes = _event_notes(races[worst], low[worst], margin)
        if relaxed:
            notes.append(
                "below S is the garbled sum, which is off with probability q; above q is added once a sum"
            )
        return Outcome([estimate], notes, plots=[picture])

    evaluate.__doc__ = (
        "K arms that always give 0: one of them fails where its noise passes τ, a wrap that the analyzer "
        "does not undo; arms and batches are independent as long as E holds. From above a union bound for "
        "every reward law in [0, 1], wraps included."
    )
    claim = ErrorRate(
        text=(
            f"{called} with {tau}, p = {p}: P[some active arm and some batch have |μ̂_a(b) - μ_a| > β(b)] <= "
            f"3p, all reward laws in [0, 1]{where}, on the grid of K, ε and T"
        ),
        quantity_name="P[not E] / 3p",
        claimed=1,
    )
    suite.add(
        Row(
            id=id_,
            title=f"{called}: all means stay within β(b) with probability 1 - 3p, {tau}, p = {p}{where}"
            + ("" if len(arms) > 1 else f", K = {arms[0]}"),
            kind="tail",
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            source=f"Lemma 2 (event E) for {source}",
        )
    )


def _scope(races: Sequence[Race], p: str) -> str:
    budgets = ", ".join(sorted({str(race.epsilon) for race in races}))
    arms = ", ".join(map(str, sorted({race.n_arms for race in races})))
    horizons = ", ".join(f"2^{t.bit_length() - 1}" for t in sorted({race.horizon for race in races}))
    return f"p = {p}; ε = {budgets}; K = {arms}; T = {horizons}"


def _event_notes(race: Race, low: float, margin: Margin) -> list[str]:
    chance = low * 3 * float(race.failure_prob)
    if race.away:
        return ["the experiments draw means from [1/4, 3/4]: there a wrap needs far more noise than τ"]
    notes = [f"largest certain failure: P[not E] >= {chance:.4g} at {race.in_words()}"]
    if margin == "printed":
        last = race.batches(race.n_arms)
        if last:
            notes.append(f"one arm in the last batch b = {last}: {corner_failure(race, last):.4g}")
        if low > 1:
            notes.append("τ is built for one sum, E is about all arms and batches: repaired beside, for bits")
    else:
        notes.append("τ enters the modulus alone: privacy, noise and β(b) stay as they are")
    return notes


def assumption_failure(n_arms: int, p: Fraction, *, last: int, inside: int = 2) -> Any:
    """P[not E] up to batch ``last``, a ball, for K tied arms with constant rewards and independent noise that
    uses Assumption 1 up: P(|n_a| > h log(inside/p)) = 2p for every p <= 1/2, with h = 10^6 and σ = 0."""
    holds = arb(1)
    for batch in range(1, last + 1):
        squares = n_arms * batch**2 / p
        sampling = (
            2 ** (batch - 1) * ball(4 * squares).log()
        ).sqrt() / 10**6  # its part of l(b) β(b), over h
        holds *= (1 - 2 * inside * (-sampling).exp() / ball(2 * squares)) ** n_arms
    return 1 - holds


def _from_assumption(suite: Suite) -> None:
    """What Assumption 1 gives: with log(2/p), as it is printed, 3p is not enough and (5π²/12)p is; with
    log(1/p), as the proof of Lemma 2 uses it, 3p is enough."""
    last = 20
    grid = [{"n_arms": k, "p": Fraction(1, d)} for k in (2, 10, 50) for d in (100, 1000, 10**6)]
    cases: tuple[tuple[str, int, str, str, str], ...] = (
        ("", 2, "3", "refuted", "as printed with log(2/p)"),
        ("/union", 2, "5π²/12", "verified", "as printed with log(2/p)"),
        ("/log-1-over-p", 1, "3", "verified", "with log(1/p), as the proof uses it"),
    )
    for suffix, inside, words, expect, reading in cases:
        factor = words if words.isdigit() else f"({words})"
        noise = Inequality(
            name="noise that uses Assumption 1 up",
            text=f"P[not E] <= {factor}p for noise with P(|n_a(b)| > h log({inside}/p)) = 2p",
            left=lambda n_arms, p, inside=inside: assumption_failure(n_arms, p, last=last, inside=inside),
            right=lambda n_arms, p, words=words: ball(p) * _multiple(words),
            points=lambda run: grid,
        )
        add_steps(
            suite,
            f"CZ23-L2a{suffix}",
            title=f"Lemma 2 from Assumption 1 {reading}: means within β(b) with probability 1 - {factor}p",
            steps=[noise, *([_union_step(inside, words, 100 * last)] if expect == "verified" else [])],
            about=(
                "The confidence radius spends p/(2|Φ|b²) on sampling and, by Assumption 1 at p/(|Φ|b²), "
                "2p/(|Φ|b²) on the noise of each arm: 5p/2 times Σ 1/b² = π²/6 over arms and batches. With "
                "log(1/p) in the assumption it is used at p/(2|Φ|b²), which makes 3p/2 times π²/6."
            ),
            source="Lemma 2, event E",
            scope=f"K = 2, 10, 50 tied arms, p = 1/100, 1/1000, 1e-6, batches 1 to {last}, h = 10^6",
            expect=expect,
            kind="tail",
            notes=[
                "independent noise, constant rewards: nothing goes out while E holds, so that batches factor"
            ],
        )


def _multiple(words: str) -> Any:
    return ball(3) if words == "3" else 5 * arb.pi() ** 2 / 12


def _union_step(inside: int, words: str, last: int) -> Inequality:
    """The proof's own sum, on sampling and on noise, over the first ``last`` batches."""
    share = Fraction(1, 2) + inside

    def spent(p: Fraction) -> Any:
        return ball(p * share) * sum((1 / ball(b * b) for b in range(1, last + 1)), arb(0))

    return Inequality(
        name="union bound",
        text=f"Σ_b Σ_a ({share})p/(|Φ|b²) <= ({words})p",
        left=spent,
        right=lambda p: ball(p) * _multiple(words),
        points=lambda run: [{"p": Fraction(1, 100)}],
    )
