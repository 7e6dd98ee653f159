"""Linear UCB with concurrent shufflers as a program under audit.

Algorithm 4 of Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023). User t plays the optimistic action of the
estimates of step t - 1, sees it alone, and sends the statistics of the played action to the open batch of
every shuffler. Full batches are released as the integer sums of P_Vec, vector and matrix in one release. As
in ``shuffle_linucb_protocol``, lengths are clipped if a design matrix is not positive definite: privacy does
not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import user
from dpaudit.reference.algorithms.contextual.batch_counters import Release
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import (
    Floats,
    Users,
    actions_of,
    noisy_design,
    optimistic_action,
    statistics_of,
    statistics_size,
)
from dpaudit.reference.mechanisms.concurrent_protocol import ContinualServer, NodeRelease, ReadAt
from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree
from dpaudit.reference.mechanisms.shuffler_schedule import read_at

__all__ = ["ConcurrentLinUCB", "by_height"]


def by_height(releases: Sequence[Release]) -> NodeRelease:
    """Return the release of a node, given releases by height, the lowest first."""

    def release(coins: Coins, batch: NDArray[Any], node: Node) -> Floats:
        return releases[node.height - 1](coins, batch)

    return release


@dataclass(frozen=True, kw_only=True)
class ConcurrentLinUCB:
    """Algorithm 4 over ``tree`` with one ``release`` per node (``by_height``), for ``dim`` features.

    ``ridge`` is λ > 0 and ``radius(t)`` the confidence radius after t rounds. Called with coins and users
    (``actions_of``), it returns the number of rounds whose design matrix is not positive definite. The
    adversary sees actions and shufflers' outputs.

    Raises ``InvalidParameterError`` for a ridge that is not positive, or no feature; when called, for users
    of another shape, number or out of bounds.
    """

    tree: Tree
    release: NodeRelease
    dim: int
    ridge: float
    radius: Callable[[int], float]
    read: ReadAt = read_at

    def __post_init__(self) -> None:
        if self.dim < 1 or not self.ridge > 0:
            raise InvalidParameterError(
                f"dim must be 1 or more and ridge greater than 0, got {self.dim} and {self.ridge}."
            )

    def __call__(self, coins: Coins, users: Users) -> int:
        people = actions_of(users, dim=self.dim)
        if len(people) != self.tree.horizon:
            raise InvalidParameterError(f"there must be {self.tree.horizon} users, got {len(people)}.")
        server = ContinualServer(self.tree, self.release, read=self.read)
        known, sent, indefinite = np.zeros(statistics_size(self.dim)), [], 0
        for t, (features, rewards) in enumerate(people, start=1):
            noisy = noisy_design(known, self.dim, ridge=self.ridge)
            indefinite += bool(np.linalg.eigvalsh(noisy)[0] <= 0)
            inverse: Any = np.linalg.inv(noisy)
            arm = optimistic_action(features, known, inverse=inverse, radius=self.radius(t - 1))
            coins.reveal(arm, site="action", to=user(t - 1))
            sent.append(statistics_of(features[arm], rewards[arm]))
            known = server.step(coins, t, np.stack(sent))
        return indefinite
