"""Algorithm 1 as a program: the simulated algorithm, and its sums by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from audits.glm_bandits.rows.joint_program import user_of
from audits.glm_bandits.rows.shuffle_program import CONSTANTS, REWARD, RIGHT, STEPS, Ones, sheet
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.glm_optimisers import FitCall
from dpaudit.reference.algorithms.contextual.shuffle_glm import ShuffleBatches
from dpaudit.reference.mechanisms.shuffled_gradient_descent import averaged_descent, clipped


class Silent(Ones):
    """Coins without noise or rounding: the mean of the noise, and the design's first place."""

    def __init__(self) -> None:
        super().__init__(0)
        self.actions: list[int] = []

    def aggregate(self, distributions: Any, through: Any, *, site: str, to: Any = None) -> Any:
        super().aggregate(distributions, through, site=site)
        _, value, noise = self.released[-1]
        return value + float(noise.p * noise.trials)

    def draw(self, distribution: Any, *, site: str) -> Any:
        return 0

    def reveal(self, value: Any, *, site: str, to: Any = None) -> Any:
        self.actions.append(int(value))
        return value


def _users(seed: int, count: int) -> np.ndarray:
    """Arms on the axes, whose entries need no rounding while gradients are longer than the clip."""
    rng = np.random.default_rng(seed)
    axes = np.concatenate([np.eye(2), -np.eye(2)])
    arms, rewards = axes[rng.integers(0, 4, size=(count, 2))], rng.integers(0, 2, size=(count, 2, 1))
    return np.concatenate([arms, rewards], axis=2).reshape(count, 6)


@pytest.mark.parametrize("seed", range(4))
def test_the_program_plays_what_the_simulated_batches_play(seed: int) -> None:
    """Same arms and estimates in three batches with exact sums and the same descent in floats."""
    constants = replace(CONSTANTS, lengths=(8, 8, 8), ridge=1.0, gamma=0.02)
    users = _users(seed, 24)

    def fit(call: FitCall) -> np.ndarray:
        def gradient(step: int, theta: np.ndarray) -> np.ndarray:
            residuals = call.link.mean(call.points @ theta) - call.rewards
            cut = clipped(residuals[:, None] * call.points, RIGHT.clip)
            return np.asarray((cut.sum(axis=0) + call.ridge * theta) / len(call.points))

        return np.asarray(averaged_descent(gradient, call.project, dim=2, steps=STEPS, rate=RIGHT.rate))

    run = ShuffleBatches(
        constants, RIGHT.link, fit=fit, psd_mode="clip",
        release=lambda points, weights, sensitivity: points.T @ (weights[:, None] * points),
    )  # fmt: skip
    played = []
    for t, row in enumerate(users.reshape(24, 2, 3)):
        arm, _ = run.play(row[:, :2], RIGHT.design, lambda weights: 0)
        played.append(arm)
        run.learn(float(row[arm, 2]))
        if (t + 1) % 8 == 0:
            run.close(released=True)
    coins = Silent()
    replace(RIGHT, constants=constants)(coins, users)
    assert coins.actions == played
    assert len(set(played)) == 2


def test_sums_of_a_batch() -> None:
    """One arm e_1 among four users: an entry x is (1 + x) g ones, and the gradient is cut to length 1."""
    coins = Silent()
    RIGHT(coins, REWARD.left)
    first = [(site, np.asarray(value).tolist()) for site, value, _ in coins.released[: 1 + STEPS]]
    assert first == [("matrix", [5, 4, 4]), *[("gradient", [5, 4])] * STEPS]
    assert len(coins.released) == 2 * (1 + STEPS)
    assert {noise.trials for _, _, noise in coins.released} == {4 * sheet(4).trials}


def test_a_weight_above_the_sensitivity_is_refused() -> None:
    """Without the cut an entry needs more ones than it has."""
    uncut = replace(RIGHT, constants=replace(CONSTANTS, cut=False))
    with pytest.raises(InvalidParameterError):
        uncut(Silent(), np.array([user_of(1, 0, 1)] * 8))


def test_refusals() -> None:
    """Users of another width."""
    with pytest.raises(InvalidParameterError):
        RIGHT(Silent(), np.zeros((8, 5)))
