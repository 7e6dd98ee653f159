"""Runs of the experiments for a verdict: cells, caps, and bounds on linear combinations of mean regrets.

A claim such as "E R(A) <= 3/2 E R(B)" is a combination of means that is at most a number. Runs are paired:
run r plays the same instance in every cell of an environment, drawn from the environment's instances, so a
mean over runs is a mean over instances and rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audits.distributed_mab.experiment_settings import FAILURE_PROB, instances
from dpaudit.core.evidence import Estimate
from dpaudit.core.suite import Run
from dpaudit.reference.algorithms.mab.competitors import Competitor, simulated
from dpaudit.reference.algorithms.mab.elimination_cuts import cut_of
from dpaudit.reference.algorithms.mab.reward_models import RewardLevels, RewardModel, bernoulli_arms
from dpaudit.suite.regret import Cut, combination_interval

__all__ = ["Cell", "Combination", "corner_arms", "cut", "decided", "regrets"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One algorithm on one kind of instances, at one ε and horizon."""

    environment: str
    competitor: Competitor
    epsilon: str
    horizon: int
    failure_prob: str = FAILURE_PROB

    @property
    def name(self) -> str:
        return f"{self.competitor.title}, ε = {self.epsilon}, T = {self.horizon:.3g}"


#: Σ coefficient * E Reg(T)/T over cells of one environment.
Combination = Sequence[tuple[float, Cell]]


def _model(environment: str) -> RewardModel:
    """Return the instances from which runs are drawn."""
    if environment == "corner":
        return corner_arms()
    return instances(environment, runs=1 if environment == "diamonds" else 20)


def corner_arms() -> RewardLevels:
    """Return one arm with Bernoulli(1/2) rewards and nine that never pay. The noisy sums of the nine lie at
    the end of the analyzer's window."""
    return bernoulli_arms([[0.5] + [0.0] * 9])


def regrets(run: Run, cell: Cell, *, runs: int) -> Floats:
    """Return Reg(T)/T of ``runs`` independent runs, each on an instance drawn from the cell's instances.

    Run r has the same instance in every cell of an environment. The seed depends on the run and the cell but
    not on the calling row, so rows of one process share results.
    """
    return _regrets(replace(run, row_id="CZ23-E"), cell, runs)


@lru_cache(maxsize=128)
def _regrets(run: Run, cell: Cell, runs: int) -> Floats:
    model = _model(cell.environment)
    which = run.rng(f"instances {cell.environment}").integers(len(model.means), size=runs)
    result = simulated(
        cell.competitor,
        cell.epsilon,
        model.rows(which),
        horizon=cell.horizon,
        seed=run.seed_sequence(f"{cell} {runs}"),
        failure_prob=cell.failure_prob,
    )
    return np.asarray(result.final / cell.horizon)


@lru_cache(maxsize=256)
def cut(cell: Cell) -> Cut:
    """Return the cap of a cell, in units of Reg(T)/T."""
    found = cut_of(
        cell.competitor,
        _model(cell.environment),
        epsilon=cell.epsilon,
        failure_prob=cell.failure_prob,
        horizon=cell.horizon,
    )
    return found * (1 / cell.horizon)


def decided(run: Run, combinations: Sequence[Combination], *, runs: int) -> tuple[Estimate, list[str]]:
    """Bound the largest of the combinations, all jointly at the row's significance level, and describe the
    measurements."""
    bounds, notes = [], []
    level = run.alpha / len(combinations)
    for combination in combinations:
        values = [(factor, regrets(run, cell, runs=runs), cut(cell)) for factor, cell in combination]
        bounds.append(combination_interval(values, alpha=level))
        notes.append(
            "; ".join(
                _measured(cell, found) for (_, cell), (_, found, _) in zip(combination, values, strict=True)
            )
        )
    cells = {cell for combination in combinations for _, cell in combination}
    estimate = Estimate(
        quantity="largest combination of E Reg(T)/T",
        lower=max(low for low, _ in bounds),
        upper=max(high for _, high in bounds),
        confidence=1 - run.alpha,
        samples=runs * len(cells),
        method="bets on paired combinations of regrets cut at a cap, rigorous excess added",
        scope=f"{len(combinations)} comparisons, {runs} runs in each of {len(cells)} cells",
        seed=run.seed,
        covers_claim=True,
        details={"bounds": [list(pair) for pair in bounds]},
    )
    return estimate, list(dict.fromkeys(notes))


def _measured(cell: Cell, found: Floats) -> str:
    error = found.std(ddof=1) / np.sqrt(len(found))
    return f"{cell.name}: 10^5 Reg(T)/T = {1e5 * found.mean():.1f} ± {1e5 * error:.1f}"
