"""DP-SE without a horizon: restarted for phases of 2^(2^i) rounds, i = 1, 2, ...

Each phase has failure probability 1 / (rounds of the phase) and fresh observations: the same epsilon.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from dpaudit.coins import Coins
from dpaudit.core.exact import ExactLike
from dpaudit.reference.algorithms.mab import successive_elimination
from dpaudit.reference.algorithms.mab.pull_bounds import elimination_cap
from dpaudit.reference.algorithms.play import Pulls, Strategy
from dpaudit.reference.algorithms.simulation import Algorithm
from dpaudit.suite.regret import Cut, gaps_of

__all__ = ["RESTARTED", "strategy"]


def strategy(*, epsilon: ExactLike) -> Strategy:
    """Return DP-SE with privacy parameter ``epsilon``, phase after phase."""

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


def restarted_cut(means: Sequence[float], *, epsilon: float, horizon: int) -> Cut:
    """Add up the caps of all phases; each phase misses its cap with probability 1 / its rounds."""
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


RESTARTED = Algorithm(
    "dp_se/restarted",
    title="DP-SE with restarts",
    engine="runs",
    strategy=lambda epsilon, horizon: strategy(epsilon=epsilon),
    cut=restarted_cut,
)
