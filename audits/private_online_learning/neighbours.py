"""Definition 1 (HHM-D1): pure DP of the decision sequence at event level, with one reward vector replaced.
This module has its neighbouring inputs and the histories to force.

Data are arrays (T, K) in {0, 1/2, 1}: dyadic, so that every sum is exact. Corners come first: the changed
vector in the first round, in the round that completes a block, or in the last round. Its coordinates change
all up, one up, or in opposite directions in two coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins import Choice
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.distributions import Distribution
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.replay.domains import Interval

__all__ = ["BANDIT_HISTORIES", "CLAIM", "REWARDS", "bandit_pairs", "vector_pairs"]

#: A vector of K rewards for each round.
REWARDS = Interval(0, 1)
CLAIM = PureDP(epsilon=1, domain=str(REWARDS))

#: Far beyond any index. An arm with this noisy sum leads. An arm with its negative is never pulled again.
FAR = 2.0**30


def _stay_with(arm: int) -> Choice:
    """Return the history in which ``arm`` of two is pulled in every round. Its initial and later releases are
    far up, the other arm's initial release is far down."""

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        return -FAR if site == "array" and occurrence == 1 - arm else FAR

    return choose


BANDIT_HISTORIES = {"arm 1 throughout": _stay_with(0), "arm 2 throughout": _stay_with(1)}


def _replace(data: NDArray[np.float64], round_: int, vector: list[float]) -> NDArray[np.float64]:
    changed = data.copy()
    changed[round_] = vector
    return changed


def bandit_pairs(*, horizon: int, rounds: tuple[int, ...]) -> list[Neighbours]:
    """Return pairs for two arms under bandit feedback. The vector of one of ``rounds`` changes from all 0 to
    all 1, on backgrounds 0, 1/2 and (0, 1)."""
    backgrounds = {"rewards 0": (0.0, 0.0), "rewards 1/2": (0.5, 0.5), "arms 0 and 1": (0.0, 1.0)}
    words = "round {user} from (0, 0) to (1, 1)"
    return reward_pairs(horizon=horizon, rounds=rounds, backgrounds=backgrounds, words=words)


def vector_pairs(*, n_actions: int, epochs: int) -> list[Neighbours]:
    """Return pairs under full information with 2^epochs - 1 rounds: one vector of the last complete epoch is
    replaced.

    ``opposite``: the leader's coordinate falls while its rival's rises. ``all up`` and ``one up`` are the
    easier directions.
    """
    horizon = 2**epochs - 1
    # Action 1 leads by the whole length of every epoch, so the changed vector matters only in the tail of the
    # noise.
    data = np.zeros((horizon, n_actions))
    data[:, 0] = 1.0
    last = 2 ** (epochs - 2) - 1  # first round of epoch number epochs - 2, whose leader is still played
    rest = [0.0] * (n_actions - 2)
    flat = np.zeros((horizon, n_actions))
    return [
        # The last round of epoch 1 exposes a vector that leaks into a second epoch or is never forgotten.
        Neighbours("last round of epoch 1, all level", flat, _replace(flat, 2, [1.0] * n_actions)),
        Neighbours("opposite directions in two actions", data, _replace(data, last, [0.0, 1.0, *rest])),
        Neighbours(
            "all actions up", _replace(data, last, [0.0] * n_actions), _replace(data, last, [1.0] * n_actions)
        ),
        Neighbours("one action down", data, _replace(data, last, [0.0] * n_actions)),
    ]
