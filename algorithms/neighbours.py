"""Neighbouring tables of rewards (T, K): the rewards of one user, who owns one round, change from all 0 to
all 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpaudit.core.neighbours import Neighbours

__all__ = ["reward_pairs"]


def reward_pairs(
    *,
    horizon: int,
    rounds: Sequence[int],
    backgrounds: Mapping[str, Sequence[float]],
    words: str = "user {user} from 0 to 1",
) -> list[Neighbours]:
    """Return a pair for each of ``rounds`` (from 0) on each background, by its name.

    A background is a reward for every arm, the same in all other rounds. ``words`` describes the change, with
    the round as ``{round}`` or, counted from 1, as ``{user}``.
    """
    found = []
    for name, rewards in backgrounds.items():
        data = np.tile(np.array(rewards, dtype=float), (horizon, 1))
        for t in rounds:
            left, right = data.copy(), data.copy()
            left[t], right[t] = 0.0, 1.0
            found.append(Neighbours(f"{name}, {words.format(round=t, user=t + 1)}", left, right))
    return found
