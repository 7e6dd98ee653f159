"""Lemma 2's event E (CZ23-L2a): every active arm's decoded mean is within β(b) of its mean, in every batch.

The rows cover the consequences of Assumption 1, and the event itself for each theorem's τ. The lower bound
uses K arms that always give 0. The upper bound is a union bound for every reward distribution in [0, 1],
wraps included.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.claims import ErrorRate
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.mab.distributed_elimination import DESIGNS
from dpaudit.reference.algorithms.mab.elimination_event import (
    Race,
    assumption_failure,
    corner_failure,
    failure_bound,
    tied_failure,
)
from dpaudit.suite import Grid, Measured, Sides, Step, evidence, full, inequality, listed, over, step, steps

__all__ = ["rows"]

rows = Group("Lemma 2: the event E", kind="tail")


# From Assumption 1

LAST = 20
ARMS, LEVELS = (2, 10, 50), "1/100 1/1000 1/1000000"
EVENT = "Lemma 2, event E"


@inequality(rows, "CZ23-L2a", EVENT, role="step", expect="refuted", over=over(K=ARMS, p=LEVELS))
def from_assumption(K: int, p: Fraction) -> Sides:
    """Lemma 2 from Assumption 1 as printed, with log(2/p): means within β(b) with probability 1 - 3p

    K arms are tied and the noise attains the assumption, P(|n_a(b)| > h log(2/p)) = 2p, h = 10^6, in batches
    1 to 20. The confidence radius spends p/(2|Φ|b²) on sampling and, by Assumption 1 at p/(|Φ|b²), 2p/(|Φ|b²)
    on the noise of each arm: 5p/2 times Σ 1/b² = π²/6 over arms and batches.

    Note: the noise is independent and the rewards are constant. No arm is eliminated while E holds, so
    batches are independent
    """
    return assumption_failure(K, p, last=LAST), 3 * p


def _allowed(numerator: int, p: Fraction) -> Any:
    return ball(p) * (3 if numerator == 1 else 5 * arb.pi() ** 2 / 12)


def _used_up(numerator: int, K: int, p: Fraction) -> Sides:
    """P[not E] for noise with P(|n_a(b)| > h log(numerator/p)) = 2p is within the bound"""
    return assumption_failure(K, p, last=LAST, inside=numerator), _allowed(numerator, p)


def _union(numerator: int, p: Fraction) -> Sides:
    """Σ_b Σ_a (1/2 + numerator)p/(|Φ|b²) over the first 2000 batches is within the bound"""
    squares = sum((1 / ball(b * b) for b in range(1, 100 * LAST + 1)), arb(0))
    return ball(p * (Fraction(1, 2) + numerator)) * squares, _allowed(numerator, p)


@steps(
    rows,
    "CZ23-L2a/log-1-over-p",
    EVENT,
    role="repaired",
    repairs="CZ23-L2a",
    numerator=1,
    case="with log(1/p), as the proof uses it: means within β(b) with probability 1 - 3p",
)
@steps(
    rows,
    "CZ23-L2a/union",
    EVENT,
    role="repaired",
    repairs="CZ23-L2a",
    numerator=2,
    case="as printed, with log(2/p): means within β(b) with probability 1 - (5π²/12)p",
)
def repaired(numerator: int) -> list[Step]:
    """Lemma 2 from Assumption 1 {case}

    Compute the proof's own sum over sampling and noise, and the noise of CZ23-L2a. With log(1/p), the
    assumption is used at p/(2|Φ|b²), which gives 3p/2 times π²/6.
    """
    noise = step("noise that attains Assumption 1", over=over(numerator=numerator, K=ARMS, p=LEVELS))
    return [noise(_used_up), step("union bound", over=over(numerator=numerator, p="1/100"))(_union)]


# From each theorem's sheet

#: If S is not relaxed (q = p'), shuffling is an exact sum (q = 0).
SHEETS: dict[str, dict[str, Any]] = {
    "T1": {"name": "dist_dp_se"},
    "T2": {"name": "dist_rdp_se"},
    "T2, s = 10": {"name": "dist_rdp_se", "scale_factor": 10},
    "T3, q = 0": {"name": "shuffle_dp_se/printed"},
    "T3, any S": {"name": "shuffle_dp_se/printed", "relaxed": True},
    "T3R, q = 0": {"name": "shuffle_dp_se/repaired"},
    "T3R, any S": {"name": "shuffle_dp_se/repaired", "relaxed": True},
    "T4": {"name": "dist_cdp_se"},
    "T4, s = 10": {"name": "dist_cdp_se", "scale_factor": 10},
    "T5": {"name": "cdp_se"},
    "T6": {"name": "ldp_se"},
}
EXACT_SUMS = tuple(theorem for theorem in SHEETS if "any S" not in theorem)
WIDE = ("T2", "T2, s = 10", "T3, q = 0")  # 50 arms stay within 3p, also at p = 1/10
TENTH, HALF = Fraction(1, 10), Fraction(1, 2)
BELOW_ONE = ("dist_cdp_se", "cdp_se", "ldp_se")  # Theorems 4 to 6 require ε < 1
LONG = (2**12, 2**24, full(2**16, 2**20, 2**40))
SHORT = (2**12, 2**24, full(2**16, 2**20))  # the experiments stop at 10^7 rounds


def _points(theorem: str, arms: Sequence[int], horizons: Sequence[Any], **others: Sequence[Any]) -> Grid:
    """Return fewer points for the local variant: the tail of n users' noise is slow to compute for n in the
    millions."""
    name = SHEETS[theorem]["name"]
    usual = {"epsilon": (TENTH, HALF) if name in BELOW_ONE else (TENTH, Fraction(5), full(HALF))}
    axes = usual | {"n_arms": arms, "horizon": horizons} | others
    if name == "ldp_se":
        axes["epsilon"], axes["n_arms"] = (HALF, full(TENTH)), (arms[-1], full(*arms[:-1]))
        axes["horizon"] = (2**20, full(2**12, 2**16, 2**24))
    return over(**axes)


def _event(run: Run, theorem: str, grid: Grid) -> Measured:
    races = [Race(**SHEETS[theorem], **point) for point in grid.at(run)]
    low = [0.0 if race.away else tied_failure(race) / float(3 * race.p) for race in races]
    high = [failure_bound(race) / float(3 * race.p) for race in races]
    worst = int(np.argmax(low))
    race, chance = races[worst], low[worst] * 3 * float(races[worst].p)
    notes = [] if race.away else [f"largest certain failure: P[not E] >= {chance:.4g} at {race.in_words()}"]
    last = race.batches(race.n_arms)
    if last and race.margin == "printed" and not race.away:
        notes.append(f"one arm in the last batch b = {last}: {corner_failure(race, last):.4g}")
    shown = [[race.in_words(), *pair] for race, *pair in zip(races, low, high, strict=True)]
    title = f"P[not E] / 3p: {_called(theorem)}"
    return Measured(
        low=low[worst],
        high=max(high),
        samples=len(races),
        method="below: product of tails for K arms tied at 0; above: all reward distributions, union bound",
        scope=grid.scope,
        notes=notes,
        plots=[table(title=title, columns=["race", "at least", "at most"], rows=shown)],
    )


def _called(theorem: str, most: int = 0) -> str:
    arms = f", K <= {most}" if most == ARMS[-1] else f", K = {most}" if most else ""
    return f"{theorem}: {DESIGNS[SHEETS[theorem]['name']].title}{arms}"


def _claim(condition: str) -> ErrorRate:
    return ErrorRate(
        text=f"{condition}: P[|μ̂_a(b) - μ_a| > β(b) for some b, some active a] <= 3p, all rewards in [0, 1]",
        quantity_name="P[not E] / 3p",
        claimed=1,
    )


def _of_theorem(theorem: str) -> str:
    return "verified" if theorem in (*WIDE, "T6") else "refuted"


@evidence(
    rows,
    "CZ23-L2a/T3R",
    "Lemma 2 (event E) for Theorem 3, noise drawn with ε'",
    claim=_claim("Theorem 3 with noise for ε' and its printed τ, p = 1/T"),
    over=listed("theorem", "T3R, q = 0", "T3R, any S"),
    kind="tail",
    role="what-if",
    expect="refuted",
    name=_called,
    case="Noise drawn with ε' in Theorem 3 and its own",
)
@evidence(
    rows,
    "CZ23-L2a/theorems",
    "Lemma 2 (event E) in the proofs of Theorems 1 to 6",
    claim=_claim("each theorem's printed τ, p = 1/T"),
    over=listed("theorem", *(theorem for theorem in SHEETS if not theorem.startswith("T3R"))),
    kind="tail",
    role="step",
    expect=_of_theorem,
    name=_called,
    case="Each theorem's own",
)
def theorems(run: Run, theorem: str) -> Measured:
    """{case} τ, p = 1/T, K <= 50: all means stay within β(b) with probability 1 - 3p

    The lower bound uses K arms that always give 0. An arm fails if its noise passes τ, a wrap that the
    analyzer does not undo. Arms and batches are independent as long as E holds. The upper bound is a union
    bound for every reward distribution in [0, 1]. Theorem 3 allows any S that is wrong with probability at
    most q = p'. q = 0 is an exact sum.

    Refuted: τ is built for one sum, but E is about all arms and batches. CZ23-L2a/repaired fixes this at the
    cost of bits

    Note: for any S, the lower bound uses the garbled sum, which is wrong with probability q. The upper bound
    adds q once per sum
    """
    return _event(run, theorem, _points(theorem, ARMS, LONG))


@evidence(
    rows,
    "CZ23-L2a/repaired",
    "Lemma 2 (event E), τ built for p/(K l(b))",
    claim=_claim("τ (and q) built for p/(K l(b)), p = 1/T and 1/10"),
    over=listed("theorem", *SHEETS),
    kind="tail",
    role="repaired",
    repairs=("CZ23-L2a", "CZ23-L2a/theorems"),
    name=_called,
)
def by_batch(run: Run, theorem: str) -> Measured:
    """τ built for p/(K l(b)), K <= 50: all means stay within β(b) with probability 1 - 3p, p = 1/T and 1/10

    The bounds are those of CZ23-L2a/theorems. If S may be wrong, the row uses p = 1/T.

    Note: τ enters only the modulus. Privacy, noise and β(b) are unchanged
    """
    exact = theorem in EXACT_SUMS
    horizons, levels = (2**24, full(2**12, 2**16, 2**20, 2**40)), ("1/T", TENTH) if exact else ("1/T",)
    arms = (2, 50) if exact else ARMS
    return _event(run, theorem, _points(theorem, arms, horizons, failure_prob=levels, margin=("by batch",)))


def _of_experiment(theorem: str, most: int) -> str:
    return "verified" if theorem in WIDE and most == ARMS[-1] else "refuted"


@evidence(
    rows,
    "CZ23-L2a/experiments",
    "Lemma 2 (event E) with the experiments' p",
    claim=_claim("the printed τ, p = 1/10"),
    over=listed("theorem most", *((theorem, 50) for theorem in EXACT_SUMS), *((t, 500) for t in WIDE)),
    kind="tail",
    role="what-if",
    expect=_of_experiment,
    name=_called,
)
def experiments(run: Run, theorem: str, most: int) -> Measured:
    """The printed τ, p = 1/10 as in the experiments: all means stay within β(b) with probability 1 - 3p

    The bounds are those of CZ23-L2a/theorems, up to T = 2^24, at a p that no theorem uses: with K <= 50 arms,
    and with K = 500 if 50 arms stay within 3p.

    Refuted: τ is built for one sum, but E is about all arms and batches. 500 arms exceed 3p at points at
    which 50 do not
    """
    arms = ARMS if most == ARMS[-1] else (most,)
    return _event(run, theorem, _points(theorem, arms, SHORT, failure_prob=(TENTH,)))


@evidence(
    rows,
    "CZ23-L2a/experiments/inside",
    "Lemma 2 (event E) with the experiments' p and means",
    claim=_claim("the printed τ, p = 1/10, means in [1/4, 3/4]"),
    over=listed("theorem", *(theorem for theorem in EXACT_SUMS if theorem not in WIDE)),
    kind="tail",
    role="what-if",
    name=_called,
)
def inside(run: Run, theorem: str) -> Measured:
    """The printed τ, p = 1/10, means in [1/4, 3/4], K <= 10: within β(b) with probability 1 - 3p

    The upper bounds are those of CZ23-L2a/experiments, for the means that the experiments draw. With these
    means a wrap needs far more noise than τ.
    """
    axes = {"epsilon": (TENTH, HALF, Fraction(1)), "failure_prob": (TENTH,), "away": (Fraction(1, 4),)}
    return _event(run, theorem, _points(theorem, ARMS[:2], SHORT, **axes))
