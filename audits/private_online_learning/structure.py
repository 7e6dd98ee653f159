"""Structure behind the privacy claims: what the adversary sees (HHM-D1), how many tree nodes hold one record
(HHM-TREE), floats (HHM-FLOAT)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from algorithms.online import ftnl
from dpaudit.claims import Model, Ordering, PureDP, SameDistribution
from dpaudit.coins import Recording, record
from dpaudit.evidence import Estimate
from dpaudit.statistics import PairBetting, epsilon_grid, epsilon_lower_bound
from dpaudit.suite import Outcome, Run, Suite
from dpaudit.views import PUBLIC, SERVER, View
from mechanisms.tree_counter import psum_nodes, touched_nodes

__all__ = ["add_rows"]

COUNTED = "exact count"

EPSILON = Fraction(1)


def add_rows(suite: Suite) -> None:
    """The rows on structure."""
    _definition(suite)
    _tree(suite)
    _floats(suite)


def _definition(suite: Suite) -> None:
    programs = {
        "Anytime-Lazy-UCB": lazy_ucb.program(epsilon=EPSILON),
        "Hybrid-UCB": hybrid_ucb.program(epsilon=EPSILON, variant="printed"),
        "FTNL": ftnl.program(epsilon=EPSILON, variant="printed"),
        "naive FTNL": ftnl.naive_program(epsilon=EPSILON),
        "DP-SE": successive_elimination.program(epsilon=EPSILON, failure_probability="1/2"),
    }

    @suite.row(
        "HHM-D1",
        title="The public view of every algorithm is its decision sequence",
        kind="structure",
        claim=SameDistribution(
            text=(
                "on random data sets of 127 rounds and 3 arms, what PUBLIC sees of each program, as one arm "
                "a round, equals its decision sequence, and nothing else is public"
            ),
            quantity_name="rounds in which the two differ, and public sites that are no decision",
            claimed=0,
        ),
        source="Definition 1",
    )
    def evaluate(run: Run) -> Outcome:
        """Record every program on random data and compare its public sites with the decisions that it
        returns."""
        rng = run.rng("data")
        runs = run.choose(quick=5, full=50)
        differing = 0
        for program in programs.values():
            for _ in range(runs):
                data = rng.integers(0, 2, size=(127, 3)).astype(float)
                differing += _difference(record(program, data, rng=rng))
        scope = f"{runs} random data sets of 127 rounds and 3 arms for each of {', '.join(programs)}"
        return Outcome(
            [
                Estimate.exactly(
                    differing,
                    quantity="differences",
                    samples=runs * len(programs),
                    method=COUNTED,
                    scope=scope,
                )
            ]
        )


def _difference(recording: Recording) -> int:
    """Public sites that are neither a pull, a leader nor the return value, plus rounds in which shown and
    returned arms differ."""
    public = [site for site in recording.sites if PUBLIC in site.to]
    strange = sum(site.site not in ("pull", "leader", "return") for site in public)
    shown = [arm for site in public if site.site == "pull" for arm in [site.value[0]] * site.value[1]]
    returned = [arm for arm, count in recording.returned for _ in range(count)]
    return (
        strange + abs(len(shown) - len(returned)) + sum(a != b for a, b in zip(shown, returned, strict=False))
    )


def _tree(suite: Suite) -> None:
    @suite.row(
        "HHM-TREE",
        title="A release of the tree on 2^r leaves adds up at most r nodes",
        kind="structure",
        claim=Ordering(
            text=(
                "max over i <= 2^r of the p-sums of the prefix of i leaves, divided by r, is at most 1 for "
                "r = 1..16"
            ),
            quantity_name="nodes per release / r",
            claimed=1,
        ),
        source="Section 3.2, eq. (33)",
    )
    def releases(run: Run) -> Outcome:
        """Count the nodes of every prefix of every tree up to 2^16 leaves, by the binary expansion and by the
        tree itself."""
        worst = max(max(len(psum_nodes(i)) for i in range(1, 2**r + 1)) / r for r in range(1, 13))
        popcount = max(max(i.bit_count() for i in range(1, 2**r + 1)) / r for r in range(1, 17))
        scope = "all prefixes of all trees with r = 1..16 (popcount), r = 1..12 (nodes)"
        return Outcome(
            [
                Estimate.exactly(
                    max(worst, popcount),
                    quantity="nodes per release / r",
                    samples=2**17,
                    method=COUNTED,
                    scope=scope,
                )
            ]
        )

    @suite.row(
        "HHM-TREE/touches",
        title="A record of the tree on 2^r leaves lies under at most r nodes that are used",
        kind="structure",
        claim=Ordering(
            text=(
                "max over leaves of the used nodes above the leaf, divided by r, is at most 1 for r = "
                "1..12 (what ε/2 for the tree needs)"
            ),
            quantity_name="nodes per record / r",
            claimed=1,
        ),
        expect="refuted",
        source="proof of Theorem 5",
    )
    def touches(run: Run) -> Outcome:
        """Count used nodes above each leaf by formula, and again by collecting the nodes of every prefix."""
        worst = 0.0
        for r in range(1, 13):
            used = {node for i in range(1, 2**r + 1) for node in psum_nodes(i)}
            above = np.zeros(2**r, dtype=np.int64)
            for level, position in used:
                above[position << level : (position + 1) << level] += 1
            by_formula = max(len(touched_nodes(leaf, levels=r)) for leaf in range(1, 2**r + 1))
            if by_formula != above.max():
                raise ArithmeticError(
                    f"two routes to the touched nodes must agree, got {by_formula} and {above.max()} for r "
                    f"= {r}"
                )
            worst = max(worst, float(above.max()) / r)
        note = (
            "the first leaf lies under r + 1 used nodes: those that end the prefixes 1, 2, 4, ..., 2^r; "
            "the ratio is largest, 2, for r = 1"
        )
        return Outcome(
            [
                Estimate.exactly(
                    worst,
                    quantity="nodes per record / r",
                    samples=2**13,
                    method=COUNTED,
                    scope="all leaves, r = 1..12",
                )
            ],
            [note],
        )


def _floats(suite: Suite) -> None:
    @suite.row(
        "HHM-FLOAT",
        title="A noisy sum drawn in floats is ε-DP as run",
        kind="privacy",
        claim=PureDP(epsilon=EPSILON, view=View.of(SERVER), model=Model.AS_RUN, domain="a reward in [0, 1]"),
        expect="refuted",
        view="server",
        source="eq. (3); Mironov (2012) on floating-point Laplace noise",
    )
    def noisy_sums(run: Run) -> Outcome:
        """Release a sum of 0 and a sum of 1 with numpy's Laplace draws, and bet on the lattice that 1 + z
        falls on.

        For |v| < 1 the float 1 + z is a multiple of 2^-53, whatever z; the float 0 + z is that only by
        chance. So the event "v in (-1, 1) and no multiple of 2^-53" has probability above 0.3 for the sum 0
        and exactly 0 for the sum 1.
        """
        rng = run.rng("floats")
        n = run.choose(quick=2_000, full=20_000)
        with_zero, with_one = (offset + rng.laplace(scale=1.0, size=n) for offset in (0.0, 1.0))
        payoffs = [_off_lattice(v).astype(float) for v in (with_zero, with_one)]
        bound = _bet(payoffs[0], payoffs[1], alpha=run.alpha)
        estimate = Estimate(
            quantity="epsilon",
            lower=bound,
            upper=None,
            confidence=1 - run.alpha,
            samples=2 * n,
            method="bet on a fixed event (e-process), all smaller grid values rejected",
            scope="one array of one observation, 0 against 1, numpy's Laplace draws",
            seed=run.seed,
        )
        notes = [
            f"the event happened {int(payoffs[0].sum())} times in {n} for the sum 0, "
            f"{int(payoffs[1].sum())} times for the sum 1",
            "the server's noisy sums are at stake here; the decisions compare them and show no low-order "
            "bits (HHM-FLOAT/decisions)",
        ]
        return Outcome([estimate], notes, samples=2 * n)

    @suite.row(
        "HHM-FLOAT/decisions",
        title="The decisions of Anytime-Lazy-UCB are ε-DP as run, with noise drawn in floats",
        kind="privacy",
        claim=PureDP(epsilon=EPSILON, model=Model.AS_RUN, domain="a vector of K rewards in [0, 1]"),
        expect="inconclusive",
        view="public",
        source="hygiene: the paper does not say how noise is drawn",
    )
    def decisions(run: Run) -> Outcome:
        """Bet on the first decision after the two initial pulls, for a replaced first reward."""
        n = run.choose(quick=4_000, full=40_000)
        rng = run.rng("decisions")
        winners = []
        for first in (0.0, 1.0):
            # Round 3 pulls the arm with the larger initial noisy sum: both have the same bonus (eq. (4) with
            # equal array sizes).
            noisy = np.array([first, 0.0]) + rng.laplace(scale=1.0, size=(n, 2))
            winners.append((noisy[:, 1] > noisy[:, 0]).astype(float))
        bound = _bet(winners[0], winners[1], alpha=run.alpha)
        estimate = Estimate(
            quantity="epsilon",
            lower=bound,
            upper=None,
            confidence=1 - run.alpha,
            samples=2 * n,
            method="bet on the arm of round 3 (e-process)",
            scope="two arms, first reward 0 against 1",
            seed=run.seed,
        )
        expected = math.log(0.5 / (0.25 * 3 * math.exp(-1)))
        missing = (
            "no rigorous bound for float arithmetic is at hand: an exact sampler, or a proof for rounded "
            "comparisons, would decide"
        )
        return Outcome(
            [estimate],
            [f"exact loss of this event with real-number noise: {expected:.4f}"],
            [missing],
            samples=2 * n,
        )


def _bet(first: Any, second: Any, *, alpha: float) -> float:
    process = PairBetting(epsilon_grid(float(EPSILON)))
    process.update(first, second)
    return epsilon_lower_bound(process, alpha=alpha)


def _off_lattice(values: Any) -> Any:
    scaled = values * 2.0**53  # exact: a power of two
    return (np.abs(values) < 1) & (scaled != np.rint(scaled))
