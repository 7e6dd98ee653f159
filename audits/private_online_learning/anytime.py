"""Space and horizon (HHM-SPACE, HHM-ANY): the tuples of appendix A, and who needs to know T.

Decisions are compared round by round on the same rewards and with the same noise. What DP-SE loses when it is
made anytime by restarts is measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from algorithms.mab import lazy_ucb, successive_elimination
from algorithms.mab.pull_bounds import elimination_cap
from algorithms.play import Decisions, Pulls, Strategy
from algorithms.simulation import Algorithm, simulate
from audits.private_online_learning.grids import as_float
from audits.private_online_learning.variants import VARIANTS
from dpaudit import plots
from dpaudit.claims import Ordering, SameDistribution
from dpaudit.coins import Coins, Sampler
from dpaudit.coins.base import Program
from dpaudit.evidence import Estimate
from dpaudit.exact import ExactLike
from dpaudit.regret import Cut, difference_interval, gaps_of
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows", "restarted_elimination"]

COUNTED = "exact count, same rewards and same noise"

EPSILONS = ("1/10", "1", "1000000")


def add_rows(suite: Suite) -> None:
    """Constant space per arm, no horizon, and the price of restarts."""
    _space(suite)
    _prefix(suite)
    _restarts(suite)


def _arms(decisions: Decisions) -> list[int]:
    """One arm a round."""
    return [arm for arm, count in decisions for _ in range(count)]


def _differences(left: Decisions, right: Decisions) -> int:
    """Rounds, among those that both played, with different arms."""
    return sum(a != b for a, b in zip(_arms(left), _arms(right), strict=False))


def _space(suite: Suite) -> None:
    horizons = (1, 2, 3, 5, 64, 1000)

    @suite.row(
        "HHM-SPACE",
        title="Appendix A: two tuples an arm make the decisions of the arrays",
        kind="structure",
        claim=SameDistribution(
            text=(
                "with the same rewards and noise, tuples (N, S, λ) and arrays that keep every observation "
                "pull the "
                "same arm in every round, and an arm keeps at most two tuples, whatever the horizon"
            ),
            quantity_name="rounds that differ, and numbers kept beyond two tuples an arm",
            claimed=0,
        ),
        source="Appendix A",
    )
    def evaluate(run: Run) -> Outcome:
        """Play the two memories side by side and count the rounds that differ; count what each memory keeps.

        The arrays of the same runs hold every observation, so that their size grows with T: the count can
        fail.
        """
        rng, repeats = run.rng("data"), run.choose(quick=3, full=30)
        differing, excess, runs, largest = 0, 0, 0, 0
        for n_arms, epsilon, horizon in itertools.product((1, 2, 5), EPSILONS, horizons):
            for _ in range(repeats):
                data = rng.integers(0, 2, size=(max(horizon, n_arms), n_arms)).astype(float)
                noise = int(rng.integers(2**32))
                tuples: list[lazy_ucb.Tuples] = []
                arrays: list[lazy_ucb.Arrays] = []

                def keep_tuple(kept: list[lazy_ucb.Tuples] = tuples) -> lazy_ucb.Tuples:
                    kept.append(lazy_ucb.Tuples())
                    return kept[-1]

                def keep_array(kept: list[lazy_ucb.Arrays] = arrays) -> lazy_ucb.Arrays:
                    kept.append(lazy_ucb.Arrays())
                    return kept[-1]

                left = lazy_ucb.program(epsilon=epsilon, memory=keep_tuple)(_coins(noise), data)
                right = lazy_ucb.program(epsilon=epsilon, memory=keep_array)(_coins(noise), data)
                differing += _differences(left, right)
                # Beside the tuple being filled the algorithm keeps the released mean and size of the last
                # one.
                excess += sum(max(0, len(vars(kept)) - 3) for kept in tuples) + abs(len(tuples) - n_arms)
                largest = max(largest, sum(len(v) for kept in arrays for array in kept.arrays for v in array))
                runs += 1
        scope = f"{runs} runs: K = 1, 2, 5, three ε, T in {horizons}, random rewards"
        note = f"tuples: 3 numbers an arm at every horizon; arrays: up to {largest} observations"
        return Outcome(
            [
                Estimate.exactly(
                    differing + excess,
                    quantity="differences",
                    samples=runs,
                    method=COUNTED,
                    scope=scope,
                )
            ],
            [note],
        )


def _coins(seed: int) -> Coins:
    return Sampler(np.random.default_rng(seed))


def _prefix(suite: Suite) -> None:
    def lazy(horizon: int, epsilon: str) -> Program:
        return lazy_ucb.program(epsilon=epsilon)

    def elimination(horizon: int, epsilon: str) -> Program:
        return successive_elimination.program(epsilon=epsilon, failure_probability=Fraction(1, horizon))

    for id_, name, program, expect in (
        ("HHM-ANY", "Anytime-Lazy-UCB", lazy, "verified"),
        ("HHM-ANY/dp-se", "DP-SE with β = 1/T", elimination, "refuted"),
    ):

        @suite.row(
            id_,
            title=f"{name} needs no horizon: a shorter one gives a prefix of the decisions",
            kind="structure",
            claim=SameDistribution(
                text=(
                    f"with the same rewards and noise, {name} for T and for 4T rounds pull the same arms "
                    "in the "
                    "first T rounds"
                ),
                quantity_name="rounds that differ",
                claimed=0,
            ),
            expect=expect,
            source="Sections 1 and 4.1, and Section 7 on DP-SE",
        )
        def evaluate(run: Run, program: Callable[[int, str], Program] = program) -> Outcome:
            """Play T and 4T rounds on the same data with the same noise and count the rounds that differ."""
            rng, repeats = run.rng("data"), run.choose(quick=3, full=20)
            differing, runs = 0, 0
            for horizon, epsilon in itertools.product((2, 100, 2000), EPSILONS):
                for _ in range(repeats):
                    data = rng.integers(0, 2, size=(4 * horizon, 3)).astype(float)
                    noise = int(rng.integers(2**32))
                    short = program(horizon, epsilon)(_coins(noise), data[:horizon])
                    long = program(4 * horizon, epsilon)(_coins(noise), data)
                    differing += _differences(short, long)
                    runs += 1
            scope = f"{runs} pairs of runs: K = 3, three ε, T = 2, 100, 2000"
            return Outcome(
                [
                    Estimate.exactly(
                        differing,
                        quantity="rounds that differ",
                        samples=runs,
                        method=COUNTED,
                        scope=scope,
                    )
                ]
            )


def restarted_elimination(*, epsilon: ExactLike) -> Strategy:
    """DP-SE without a horizon: it is restarted for phases of 2^(2^i) rounds, i = 1, 2, ..., each with failure
    probability 1 / (rounds of the phase). Fresh observations in every phase: the same epsilon."""

    def run(coins: Coins, n_arms: int) -> Pulls:
        for i in itertools.count(1):
            left = 2 ** (2**i)
            inner = successive_elimination.strategy(epsilon=epsilon, failure_probability=Fraction(1, left))
            pulls = inner(coins, n_arms)
            arm, count = next(pulls)
            while True:
                played = left if count is None else min(count, left)
                batch = yield arm, played
                left -= played
                if not left:
                    break
                arm, count = pulls.send(batch)
            pulls.close()

    return run


RESTARTED = Algorithm(
    "dp_se/restarted",
    title="DP-SE with restarts",
    engine="runs",
    strategy=lambda epsilon, horizon: restarted_elimination(epsilon=epsilon),
)


def _restarted_cut(means: tuple[float, ...], epsilon: float, horizon: int) -> Cut:
    """The caps of all phases added up; each phase misses its cap with probability 1 / its rounds."""
    gaps = gaps_of(means)
    cap, excess, played, phase = 0.0, 0.0, 0, 4
    while played < horizon:
        rounds = min(phase, horizon - played)
        pulls = [
            elimination_cap(
                g, n_arms=len(means), epsilon=epsilon, failure_probability=1 / phase, horizon=rounds
            )
            for g in gaps
        ]
        cap += min(max(gaps) * rounds, sum(g * p for g, p in zip(gaps, pulls, strict=True)))
        excess += max(gaps) * rounds / phase
        played, phase = played + rounds, phase**2
    return Cut(cap, excess, (cap,))


def _restarts(suite: Suite) -> None:
    instances = ((0.75, 0.7, 0.7, 0.7, 0.7), (0.75, 0.625, 0.5, 0.375, 0.25), (1.0, 0.0), (0.5, 0.4))
    horizons = (10**5, 2**22, 10**9, 2**32, 10**12)

    @suite.row(
        "HHM-ANY/restarts",
        title="Restarts make DP-SE anytime and cost a factor between 4 and 8 at most",
        kind="regret",
        claim=Ordering(
            text=(
                "E regret of DP-SE, restarted for phases of 2^(2^i) rounds, ≤ 8 E regret of DP-SE that "
                "knows T, on "
                "four instances, ε = 1/10 and 1, T = 10^5..10^12"
            ),
            quantity_name="E restarted - 8 E with T known, rewards",
            claimed=0,
            constants=(("factor", "8"),),
        ),
        source="Section 7: 'a multiplicative constant between 4 or 8'",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate DP-SE with and without knowledge of T, also just after a restart, and bet on the paired
        differences.

        For a bound proportional to log T the factor is (2 + 4 + ... + 2^i) / 2^(i-1) < 4 in the first round
        of phase i.
        """
        runs = run.choose(quick=130, full=400)
        chosen = run.choose(quick=(10**5, 2**32), full=horizons)
        cells = list(itertools.product(instances, ("1/10", "1"), chosen))
        lows, highs, rows = [], [], []
        for means, epsilon, horizon in cells:
            value, seed = as_float(epsilon), run.seed_sequence(f"{means} {epsilon} {horizon}")
            ours, theirs = seed.spawn(2)
            options = {"epsilon": epsilon, "horizon": horizon, "runs": runs, "checkpoints": [horizon]}
            restarted = simulate(RESTARTED, means, seed=ours, **options)
            known = simulate(VARIANTS["dp_se"], means, seed=theirs, **options)
            low, high = difference_interval(
                restarted.final,
                _restarted_cut(means, value, horizon),
                known.final,
                VARIANTS["dp_se"].cut(means, epsilon=value, horizon=horizon),
                factor=8,
                alpha=run.alpha / len(cells),
            )
            lows.append(low)
            highs.append(high)
            rows.append(
                [str(means), epsilon, horizon, restarted.mean, known.mean, restarted.mean / known.mean]
            )
        estimate = Estimate(
            quantity="E restarted - 8 E known",
            lower=max(lows),
            upper=max(highs),
            confidence=1 - run.alpha,
            samples=2 * runs * len(cells),
            method="bets on paired differences of regrets cut at a cap, rigorous excess added",
            scope=f"{len(cells)} cells, {runs} runs each",
            seed=run.seed,
            covers_claim=True,
        )
        exact = max(sum(2**i for i in range(1, k + 1)) / 2 ** (k - 1) for k in range(1, 40))
        note = (
            f"measured factors from {min(r[-1] for r in rows):.2f} to {max(r[-1] for r in rows):.2f}; "
            f"a log T bound loses {exact:.4g} at most"
        )
        table = plots.table(
            title="Mean regret of DP-SE with and without restarts",
            columns=["means", "ε", "T", "restarted", "T known", "factor"],
            rows=rows,
        )
        return Outcome([estimate], [note], plots=[table])
