"""The batched algorithm under shuffle privacy (Algorithm 1 of Sarmasarkar 2026) as a program under audit.

The adversary sees what the shuffler puts out: at the end of each batch the numbers of ones of the matrix sum,
and those of each step of P_GD. User t alone sees an action. Arms, elimination, designs and weights are those
of the simulation: both run ``ShuffleBatches``. The design's draw is a hidden coin with ``places`` equally
likely outcomes, whatever the arms, because replays compare hidden coins by their probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import user
from dpaudit.distributions import Categorical
from dpaudit.reference.algorithms.contextual.glm_optimisers import FitCall
from dpaudit.reference.algorithms.contextual.links import Link
from dpaudit.reference.algorithms.contextual.shuffle_glm import Design, ShuffleBatches, ShuffleConstants
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.shuffled_gradient_descent import ShuffledGradientDescent, vector_call
from dpaudit.reference.mechanisms.vector_messages import release

__all__ = ["ShuffleGlmProtocol"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ShuffleGlmProtocol:
    """Algorithm 1 with ``arms`` actions.

    ``sheet`` returns the parameters of the vector sums of a batch of so many users. P_GD has ``steps`` steps
    of size ``rate`` on gradients cut to length ``clip``. Indefinite matrices are repaired ("clip").

    Called with coins and users (n, K (d + 1)), the features and the reward of each action in turn, it returns
    nothing. Users after the last batch are ignored, and a batch that is not full releases nothing. Raises
    ``InvalidParameterError`` for another shape.
    """

    constants: ShuffleConstants
    link: Link
    arms: int
    design: Design
    sheet: Callable[[int], VectorSheet]
    clip: float
    steps: int
    rate: float
    places: int = 2

    def __call__(self, coins: Coins, users: Any) -> None:
        dim = self.constants.budget.dim
        given = np.asarray(users, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.arms * (dim + 1):
            raise InvalidParameterError(
                f"users must have shape (n, {self.arms * (dim + 1)}), got {given.shape}."
            )
        run = ShuffleBatches(
            self.constants,
            self.link,
            release=partial(self._matrix, coins),
            fit=partial(self._fit, coins),
            psd_mode="clip",
        )
        ends = set(np.cumsum(self.constants.lengths).tolist())
        for t, row in enumerate(given[: max(ends)]):
            actions = row.reshape(self.arms, dim + 1)
            arm, _ = run.play(actions[:, :dim], self.design, partial(self._draw, coins))
            coins.reveal(arm, site="action", to=user(t))
            run.learn(float(actions[arm, dim]))
            if t + 1 in ends:
                run.close(released=True)

    def _draw(self, coins: Coins, weights: Floats) -> int:
        """Return the place of the drawn quantile in the cumulated weights."""
        place = int(coins.draw(Categorical(weights=[1] * self.places), site="design"))
        return int(np.searchsorted(np.cumsum(weights), (place + 0.5) / self.places))

    def _matrix(self, coins: Coins, points: Floats, weights: Floats, sensitivity: float) -> Floats:
        """Return the shuffled sum of w x xᵀ, entry by entry on and above the diagonal."""
        upper = np.triu_indices(points.shape[1])
        values = np.round(weights / sensitivity, 12)[:, None] * points[:, upper[0]] * points[:, upper[1]]
        shown = np.zeros((points.shape[1],) * 2)
        shown[upper] = release(coins, values, self.sheet(len(points)), site="matrix")
        return sensitivity * (shown + np.triu(shown, 1).T)

    def _fit(self, coins: Coins, call: FitCall) -> Floats:
        """Run P_GD on the batch."""
        users = len(call.points)
        descent = ShuffledGradientDescent(
            call=vector_call(self.sheet(users), self.clip),
            mean=call.link.mean,
            steps=self.steps,
            rate=self.rate,
            radius=call.radius,
            ridge=call.ridge / users,
        )
        return descent(coins, np.column_stack([call.points, call.rewards]))
