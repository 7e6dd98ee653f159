"""The experiments of Hu, Huang and Mehta (arXiv 2102.07929), section 6 and appendix I.

Settings, and the table behind the figures. The paper prints no numbers and does not state the reward law;
Bernoulli rewards are assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from algorithms.regret import RegretRuns, Seed, simulate_many
from dpaudit.exact import ExactLike

__all__ = ["EPSILONS", "HORIZON", "RUNS", "SETTINGS", "regret_table"]

#: Means of the K = 5 arms in the three settings.
SETTINGS: Mapping[int, tuple[float, ...]] = {
    1: (0.75, 0.70, 0.70, 0.70, 0.70),
    2: (0.75, 0.625, 0.5, 0.375, 0.25),
    3: (0.75, 0.15, 0.15, 0.15, 0.15),
}
EPSILONS: tuple[str, ...] = ("0.1", "0.25", "0.5", "1", "8", "64", "128")
HORIZON = 2 * 2**21
RUNS = 15


def regret_table(
    algorithms: Sequence[str],
    *,
    settings: Sequence[int] = tuple(SETTINGS),
    epsilons: Sequence[ExactLike] = EPSILONS,
    horizon: int = HORIZON,
    runs: int = RUNS,
    seed: Seed,
) -> dict[tuple[str, int, ExactLike], RegretRuns]:
    """Regret of every algorithm (a name of ``ALGORITHMS``) in every setting and at every epsilon.

    The curves are the paper's figures over time, their ends its figures over epsilon. A non-private algorithm
    is simulated at every epsilon too: the rows differ by chance alone.
    """
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    cells = [(setting, epsilon) for setting in settings for epsilon in epsilons]
    table: dict[tuple[str, int, ExactLike], RegretRuns] = {}
    for name, own in zip(algorithms, root.spawn(len(algorithms)), strict=True):
        results = simulate_many(
            name,
            [SETTINGS[setting] for setting, _ in cells],
            epsilons=[epsilon for _, epsilon in cells],
            horizon=horizon,
            runs=runs,
            seed=own,
        )
        table.update({(name, *cell): result for cell, result in zip(cells, results, strict=True)})
    return table
