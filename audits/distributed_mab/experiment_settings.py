"""The experiments of Chowdhury and Zhou (ICLR 2023), section 6 and appendix J, as tables of numbers.

There are K = 10 arms and 20 instances. The means of instance r come from numpy's legacy generator with seed r
(as in the authors' code), uniform in [0.25, 0.75] (easy, T = 10^6) or [0.45, 0.55] (hard, T = 10^7). Rewards
are Gaussians of deviation 0.1 projected to [0, 1], and p = 0.1. Batches grow by η = 4, in figure 4 by 2. The
paper prints no numbers.

Its learning-to-rank data cannot be redistributed. ``diamond_arms`` is the same construction from a table that
can: clusters as arms, graded quality as reward (``benchmarks/rebuild_diamonds.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.reference.algorithms.mab.competitors import Competitor, simulated
from dpaudit.reference.algorithms.mab.reward_models import ClippedGaussians, RewardLevels, RewardModel
from dpaudit.suite.regret import RegretRuns, Seed, root_of

__all__ = [
    "COMPETITORS",
    "EPSILONS",
    "FAILURE_PROB",
    "FIGURES",
    "HORIZONS",
    "diamond_arms",
    "figure_table",
    "instances",
]

EPSILONS: tuple[str, ...] = ("0.1", "0.5", "1")
FAILURE_PROB = "0.1"
HORIZONS: Mapping[str, int] = {"easy": 10**6, "hard": 10**7, "diamonds": 10**7}
_WIDTHS: Mapping[str, float] = {"easy": 0.5, "hard": 0.1}
_DATA = Path(__file__).parent / "data" / "diamonds.json"


COMPETITORS: tuple[Competitor, ...] = (
    Competitor("dp_se"),
    Competitor("dist_dp_se"),
    Competitor("dist_rdp_se", 10),
    Competitor("dist_rdp_se", 100),
)


@dataclass(frozen=True)
class _Figure:
    environment: str
    competitors: Sequence[Competitor] = COMPETITORS
    epsilons: Sequence[ExactLike] = field(default=EPSILONS)


#: Figure 1 shows parts of 2, 3 and 5. Figure 5 uses real data and ε >= 1.
FIGURES: Mapping[int, _Figure] = {
    2: _Figure("easy"),
    3: _Figure("hard"),
    4: _Figure(
        "easy",
        (
            Competitor("cdp_se", growth=2),
            Competitor("ldp_se", growth=2),
            Competitor("dist_dp_se", growth=2),
            Competitor("dist_rdp_se", 10, growth=2),
            Competitor("dist_cdp_se", 10, growth=2),
        ),
    ),
    5: _Figure("diamonds", epsilons=("1", "5", "10")),
}


def instances(environment: str, *, runs: int = 20, n_arms: int = 10) -> RewardModel:
    """Return ``runs`` instances of ``easy``, ``hard`` or ``diamonds`` (with ``n_arms`` arms, if they are
    drawn).

    The diamonds' instances are the arms of ``diamond_arms`` in different orders.
    """
    if environment == "diamonds":
        return _shuffled(diamond_arms(runs=runs))
    if environment not in _WIDTHS:
        raise InvalidParameterError(f"environment must be one of {sorted(HORIZONS)}, got {environment!r}.")
    width = _WIDTHS[environment]
    uniforms = [np.random.RandomState(run).rand(n_arms) for run in range(runs)]
    return ClippedGaussians(0.5 - width / 2 + width * np.array(uniforms), deviation=0.1)


def _shuffled(model: RewardLevels) -> RewardLevels:
    """Return the same arms in a different order for every run. A batch plays them in turn, and a best-first
    order would favour its beginning."""
    runs, n_arms, _ = model.chances.shape
    orders = np.array([np.random.RandomState(run).permutation(n_arms) for run in range(runs)])
    return RewardLevels(model.levels, np.take_along_axis(model.chances, orders[..., None], axis=1))


def diamond_arms(*, runs: int = 1) -> RewardLevels:
    """Return clusters of diamonds as arms, best first. Reward = grade of the cut / 4. Every run has the same
    instance."""
    table = json.loads(_DATA.read_text())
    counts = np.array(table["counts"], dtype=np.float64)
    last = len(table["grades"]) - 1
    chances = counts / counts.sum(axis=1, keepdims=True)
    levels = [Fraction(grade, last) for grade in range(last + 1)]
    return RewardLevels(levels, np.broadcast_to(chances, (runs, *chances.shape)))


def figure_table(
    figure: int, *, seed: Seed, runs: int = 20, horizon: int | None = None
) -> dict[tuple[str, ExactLike], RegretRuns]:
    """Return all curves of one figure: (label, epsilon) -> regret of every instance.

    ``figure`` is a key of ``FIGURES``. ``horizon`` replaces the paper's horizon.
    """
    if figure not in FIGURES:
        raise InvalidParameterError(
            f"figure must be one of {sorted(FIGURES)}, got {figure!r}; figure 1 shows parts of these."
        )
    chosen = FIGURES[figure]
    model = instances(chosen.environment, runs=runs)
    rounds = HORIZONS[chosen.environment] if horizon is None else horizon
    root = root_of(seed)
    cells = [(competitor, epsilon) for competitor in chosen.competitors for epsilon in chosen.epsilons]
    return {
        (competitor.label, epsilon): simulated(
            competitor, epsilon, model, horizon=rounds, seed=own, failure_prob=FAILURE_PROB
        )
        for (competitor, epsilon), own in zip(cells, root.spawn(len(cells)), strict=True)
    }
