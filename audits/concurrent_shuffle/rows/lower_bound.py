"""Check Theorem 4.1, the lower bound: from which horizon on it applies, and the error of implemented
algorithms there and below.

The paper does not give the constants of Ω(rep) and of the probability. The values 1/4 and 1/2 are ours. A
few algorithms never prove a statement about all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.concurrent_shuffle.error_floor import MECHANISMS, Floor, in_units, median_above, median_floor
from audits.concurrent_shuffle.hard_inputs import (
    LEAST_VARIANCE,
    family,
    repeat_len,
    smallest_horizon,
    variance_ratio,
)
from dpaudit.core.claims import LowerBound
from dpaudit.core.evidence import Estimate
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import lower, upper
from dpaudit.suite import Chain, Control, Measured, controls, evidence, full, inequality, over

__all__ = ["rows"]

rows = Group("Theorem 4.1: the lower bound")

#: Our c and p in 'error at least c rep with probability p'.
SHARE, CHANCE = Fraction(1, 4), Fraction(1, 2)
EPSILONS = "1/2 1"
COLUMNS = ["k", "n", "ε", "algorithm", "rep", "median error", "/ rep", "10 %", "90 %", "T4.1 from n", "holds"]


def _claim(what: str) -> LowerBound:
    return LowerBound(
        text=f"{what} has error at least c rep(n, k) at some time with probability p or more on every "
        f"distribution in D(n, k), c = {SHARE}, p = {CHANCE} (ours; the paper's constants are not given)",
        quantity_name="median of the largest error / rep",
        claimed=SHARE,
        constants=(("c", str(SHARE)), ("p", str(CHANCE))),
    )


# Horizons from which the theorem applies


@inequality(
    rows,
    "TKMS23-T4.1/range",
    "Theorem 4.1, 'n large enough'",
    kind="lower-bound",
    role="sharper",
    over=over(k=(1, 2, 3, full(4, 5)), epsilon="1/10 1/2 1 2"),
    measure="left - right",
)
def from_where_on(k: int, epsilon: Fraction) -> Chain:
    """The hypothesis n c_ε²/Big > 200² means rep(n, k) > 100: at ε = 1 it holds from n = 7.62e7 (k = 1),
    2.91e13 (k = 2), 1.11e19 (k = 3) on, at ε = 1/2 from 4.07e7, 8.28e12, 1.69e18

    Both forms hold at the smallest such n, and neither at n - 1. The smallest n is 200^{2k+1}/c_ε^{2k},
    rounded up.

    Note: below this n the theorem does not apply; at this n the stated error is about 100, up to its constant

    Note: k = 0 has no such condition

    Proof: n c_ε²/Big = (2 rep)² by the definitions, see TKMS23-ID
    """
    n = smallest_horizon(k, epsilon)
    return {
        "200² <= n c²/Big at the smallest n": (LEAST_VARIANCE, variance_ratio(n, k, epsilon)),
        "100 <= rep there": (100, repeat_len(n, k, epsilon)),
        "n c²/Big <= 200² at n - 1": (variance_ratio(n - 1, k, epsilon), LEAST_VARIANCE),
        "rep <= 100 there": (repeat_len(n - 1, k, epsilon), 100),
    }


# Implemented algorithms


@evidence(
    rows,
    "TKMS23-T4.1",
    "Theorem 4.1",
    claim=lambda k, epsilon: _claim(
        f"every (ε, δ)-CSDP algorithm, k = {k}, n = 2^{10 * (2 * k + 1)}, ε = {epsilon}"
    ),
    over=over(k=(1, 2, 3), epsilon=EPSILONS),
    expect="inconclusive",
)
def under_the_hypotheses(run: Run, k: int, epsilon: Fraction) -> Measured:
    """Every (ε, δ)-CSDP algorithm with k shufflers has error Ω(rep(n, k)) on its hard inputs with constant
    probability; Algorithm 3 exceeds the bound 20 to 160 times at n = 2^30, 2^50, 2^70, at which all
    hypotheses hold

    Compute the error of Algorithm 3 with calibrated bits at one time at which no user is blind. It is a
    binomial distribution, for every input. The Berry-Esseen theorem bounds its median from below. δ = 0.99
    min(ε, 1)/(40 n (k + 1)).

    Note: the claim is about all algorithms: an algorithm that respects the bound does not verify it, and
    none here refutes it

    Note: the proof's steps have separate rows: LB.1 to LB.6, ID, LB0 and LBP
    """
    floor = Floor(m=2**10, k=k, epsilon=epsilon)
    found = median_above(floor)
    ratio = upper(variance_ratio(floor.horizon, k, epsilon))
    return Measured(
        low=lower(found),
        method="exact binomial distribution at one time, Berry and Esseen, in balls",
        scope="Algorithm 3 with calibrated bits, every input",
        covers=False,
        notes=[
            f"k = {k}, ε = {epsilon}: n c²/Big = {ratio:.4g} > 200²; rep = {upper(floor.rep):.4g}, median "
            f"error at least {lower(found * floor.rep):.4g} = {lower(found):.4g} rep"
        ],
    )


@evidence(
    rows,
    "TKMS23-T4.1/small",
    "Theorem 4.1 below its range of n",
    claim=_claim("every implemented algorithm with k = 1, 2, 3 shufflers, n up to 2^14"),
    role="what-if",
    expect="inconclusive",
    kind="lower-bound",
)
def below_the_hypotheses(run: Run) -> Measured:
    """At horizons with rep(n, k) far below 100, every implemented algorithm still has error above rep: 10
    times and more in the median

    Simulate on D(n, k): no prefix, and half and all of the longest one, for either bit. Each has 50 runs
    (200 in the full profile), ε = 1/2 and 1, δ = 0.99 min(ε, 1)/(40 n (k + 1)).

    Note: the hypothesis rep > 100 fails at every simulated n; δ is in range

    Note: the result is for the member of D(n, k) with the smallest median
    """
    small, large = ((512, 1), (1024, 2), (128, 3)), ((4096, 1), (32768, 1), (1024, 2), (16384, 3))
    points, runs = run.choose(quick=small, full=large), run.choose(quick=50, full=200)
    least, lines = math.inf, [line for k in (1, 2, 3) for line in _exact_lines(k)]
    settings = list(_settings(points))
    for n, k, epsilon, name in settings:
        rng = run.rng(f"{n} {k} {epsilon} {name}")
        found = in_units(name, n=n, k=k, epsilon=epsilon, runs=runs, rng=rng)
        least = min(least, median_floor(found, alpha=run.alpha / len(settings)))
        middle = found[np.median(found, axis=1).argmin()]
        lines.append(_line(n, k, epsilon, name, np.quantile(middle, [0.1, 0.5, 0.9])))
    picture = table(
        title="Largest errors on the hard inputs in units of rep, and the n from which Theorem 4.1 applies",
        columns=COLUMNS,
        rows=sorted(lines, key=lambda line: (line[0], line[2])),
    )
    return Measured(
        low=least,
        exact=False,
        covers=False,
        samples=runs * len(settings),
        method="order statistics of simulated runs",
        scope=f"{len(settings)} settings of n, k, ε and algorithm",
        plots=[picture],
    )


def _settings(points: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Fraction, str]]:
    """Return n, k, ε and algorithm for each setting. Algorithm 2 has a fixed number of shufflers."""
    for (n, k), text in itertools.product(points, EPSILONS.split()):
        for name in MECHANISMS:
            shufflers = n.bit_length() - 2 if name == "Algorithm 2" else k
            yield n, shufflers, Fraction(text), name


def _line(n: int, k: int, epsilon: Fraction, name: str, quantiles: Any) -> list[Any]:
    rep = lower(repeat_len(n, k, epsilon))
    low, middle, high = (f"{value:.3g}" for value in quantiles)
    start = smallest_horizon(k, epsilon)
    errors = [f"{rep:.3g}", f"{quantiles[1] * rep:.3g}", middle, low, high]
    return [k, n, str(epsilon), name, *errors, f"{start:.3g}", n >= start]


def _exact_lines(k: int) -> Iterator[list[Any]]:
    """Return the median from below, without simulation, at horizons that meet the hypotheses."""
    for epsilon in map(Fraction, EPSILONS.split()):
        floor = Floor(m=2**10, k=k, epsilon=epsilon)
        rep, ratio = lower(floor.rep), lower(median_above(floor))
        start, n = smallest_horizon(k, epsilon), floor.horizon
        errors = [f"{rep:.3g}", f"at least {ratio * rep:.3g}", f"at least {ratio:.3g}", None, None]
        words = "Algorithm 3, calibrated bits (exact, one time)"
        yield [k, f"{n:.3g}", str(epsilon), words, *errors, f"{start:.3g}", n >= start]


# Servers that violate privacy


def _cheating(words: str, batch: int, expect: str) -> Control:
    """Return the largest error over members and draws for exact batch sums without noise, n = 2^12, k = 1,
    ε = 1."""
    claim = _claim(words)

    def evaluate(run: Run) -> list[Estimate]:
        n, k, epsilon = 2**12, 1, Fraction(1)
        found = []
        for member in family(n, k, epsilon):
            bits = member.draw(run.rng("cheating"), runs=50)
            sums = np.concatenate([np.zeros((50, 1), dtype=np.int64), np.cumsum(bits, axis=1)], axis=1)
            t = np.arange(1, n + 1)
            found.append(np.median((sums[:, 1:] - sums[:, t - t % batch]).max(axis=1)))
        error = min(found) / lower(repeat_len(n, k, epsilon))
        cap = (batch - 1) / lower(repeat_len(n, k, epsilon))
        measured = Measured(
            low=0 if batch == 1 else error / 2, high=cap, scope="50 draws", method="exact sums"
        )
        return [measured.estimate(claim, run, scope="")]

    return Control(claim=claim, evaluate=evaluate, expect=expect)


@controls(rows, "TKMS23-T4.1/controls", "Section 4, servers that cheat", kind="lower-bound")
def cheats() -> dict[str, Control]:
    """A server that sees every bit is below rep and is detected; a server without noise that is blind
    inside its batches of n^(1/3) is not"""
    return {
        "no privacy at all": _cheating("a server that sees every bit", 1, "refuted"),
        "blind, without noise": _cheating("a server with exact sums of batches of 16", 16, "inconclusive"),
    }
