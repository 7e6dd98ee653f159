"""LinUCB on fixed arms, round by round, in O(K d) per round: scores are updated, never recomputed.

Between two rounds V grows by x xᵀ. With p = V^-1 x, q = xᵀ p and g = A p, for all arms A at once, every arm's
squared norm falls by g²/(1 + q), and its mean rises by g (y - <x, theta_hat>)/(1 + q) (Sherman and Morrison).
No matrix is inverted, and rounding errors add up slowly: after 20000 rounds they are near 1e-12.

``step`` is a pure function of the state; the states of all replicates are one array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = ["ScoreState", "best_arms", "init_scores", "step_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ScoreState(NamedTuple):
    """The state of all replicates.

    It holds features by coordinate (R, d, K) and by arm (R * K, d), each arm's estimated mean and squared
    norm in V^-1 (R, K), and V^-1 (R, d, d).
    """

    columns: Floats
    arms: Floats
    means: Floats
    squares: Floats
    inverse: Floats


def init_scores(features: Floats, *, ridge: float) -> ScoreState:
    """Return the state before the first round, for features (R, K, d): V = ridge I."""
    if not ridge > 0:
        raise InvalidParameterError(f"ridge must be positive, got {ridge}; V must have an inverse.")
    replicates, n_arms, dim = features.shape
    inverse = np.tile(np.eye(dim) / ridge, (replicates, 1, 1))
    squares = np.square(features).sum(axis=2) / ridge
    columns = np.ascontiguousarray(features.transpose(0, 2, 1))
    arms = np.ascontiguousarray(features).reshape(-1, dim)
    return ScoreState(columns, arms, np.zeros((replicates, n_arms)), np.ascontiguousarray(squares), inverse)


def best_arms(state: ScoreState, radius: float) -> Ints:
    """Return the arm with the highest index in each replicate, (R,)."""
    index = np.sqrt(state.squares)
    index *= radius
    index += state.means
    return np.asarray(index.argmax(axis=1))


def step_scores(state: ScoreState, cells: Ints, rewards: Floats) -> ScoreState:
    """Return the state after one more round; ``cells`` are flat positions, replicate * K + arm."""
    columns, arms, means, squares, inverse = state
    p = np.matmul(inverse, arms[cells][:, :, None])
    shrink = 1 / (1 + squares.ravel()[cells])
    surprise = (rewards - means.ravel()[cells]) * shrink
    root = p * np.sqrt(shrink)[:, None, None]
    # One product for both updates: g/sqrt(1 + q), and g (y - <x, theta_hat>)/(1 + q).
    both = np.concatenate([root, p * surprise[:, None, None]], axis=2).transpose(0, 2, 1)
    moved = np.matmul(both, columns)
    fall = moved[:, 0] * moved[:, 0]
    # Rounding may make a norm that is nearly 0 negative.
    squares = np.maximum(squares - fall, 0.0)
    return ScoreState(
        columns, arms, means + moved[:, 1], squares, inverse - np.matmul(root, root.transpose(0, 2, 1))
    )
