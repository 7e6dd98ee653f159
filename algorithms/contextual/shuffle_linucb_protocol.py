"""Private linear UCB by batches as a program under audit.

Chowdhury and Zhou (ICML 2022), Algorithm 1, and its variants for other trust models, which differ in how the
statistics of a batch are summed.

A user is a row of K actions, each a feature vector of length at most 1 with the reward that it would get in
[-1, 1]: ``users`` has shape (U, K, d + 1), rewards last. Every round plays the optimistic action of one user,
shows it to that user alone, and sends the ``statistics`` of the played action to the batch. After a batch, a
``Counter`` returns a noisy sum of all statistics so far: all information that users get about each other goes
through it.

The paper leaves a noisy design matrix that is not positive definite undefined. Lengths are then clipped as in
the simulations (``optimism``), and the returned count is the number of such batches. Privacy does not
depend on it: actions depend on noisy sums and the user's own row only.
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
from dpaudit.reference.algorithms.contextual.optimism import optimistic_scores

__all__ = [
    "BatchedLinUCB",
    "Counter",
    "Opened",
    "Users",
    "actions_of",
    "checked_users",
    "design_matrix",
    "noisy_design",
    "optimistic_action",
    "statistics",
    "statistics_of",
    "statistics_size",
]

Floats = NDArray[np.float64]
#: An array, or a table of columns (``actions_of``).
Users = NDArray[Any] | dict[str, NDArray[Any]]

#: Takes the statistics of one batch, shape (B, D), and returns the noisy sum of all batches so far, (D,).
Opened = Callable[[Floats], Floats]

#: Opened once at the start of a run: determines how the statistics of batches are summed, and who sees which
#: part.
Counter = Callable[[Coins], Opened]

#: Lengths and rewards may exceed 1 by this much: floats on the unit sphere do.
SLACK = 1e-9


def statistics_size(dim: int) -> int:
    """Return how many numbers a user's statistics are: d of the vector, d (d + 1) / 2 of the symmetric
    matrix.
    """
    return dim + dim * (dim + 1) // 2


def statistics(features: Any, rewards: Any) -> Floats:
    """Return what users send of played actions x (..., d) with rewards y (...).

    It is the vector y x, then x xᵀ on and above its diagonal, row by row, along the last axis.
    """
    x, y = np.asarray(features, dtype=np.float64), np.asarray(rewards, dtype=np.float64)
    first, second = np.triu_indices(x.shape[-1])
    return np.concatenate([y[..., None] * x, x[..., first] * x[..., second]], axis=-1)


def design_matrix(entries: Any, dim: int) -> Floats:
    """Return the symmetric (d, d) matrix with these entries on and above its diagonal, row by row."""
    places = [[_place(min(i, j), max(i, j), dim) for j in range(dim)] for i in range(dim)]
    found: Floats = np.asarray(entries, dtype=np.float64)[np.array(places)]
    return found


def _place(i: int, j: int, dim: int) -> int:
    """Return where entry (i, j), i <= j, of a symmetric matrix is among its entries row by row."""
    return i * dim - i * (i - 1) // 2 + j - i


def noisy_design(known: Floats, dim: int, *, ridge: float) -> Floats:
    """Return V = λ I plus the matrix in the summed statistics ``known``."""
    return design_matrix(known[dim:], dim) + ridge * np.eye(dim)


def optimistic_action(features: Floats, known: Floats, *, inverse: Floats, radius: float) -> int:
    """Return the action of largest ``optimistic_scores``, the first on ties, for features (K, d), given
    V^-1.

    ``known`` are summed statistics: u, then V - λ I.
    """
    weights = features @ inverse
    mean = weights @ known[: features.shape[1]]
    return int(optimistic_scores(features, weights, mean, radius, axis=1).argmax())


def checked_users(users: NDArray[Any], *, dim: int) -> None:
    """Check Assumption 3.1 on users' rows.

    Raises ``InvalidParameterError`` for another shape, for features longer than 1 and rewards outside
    [-1, 1].
    """
    if users.ndim != 3 or users.shape[2] != dim + 1:
        raise InvalidParameterError(
            f"users must have shape (U, K, {dim + 1}), rewards last, got {users.shape}."
        )
    lengths = np.linalg.norm(users[:, :, :-1], axis=2)
    if max(lengths.max(), np.abs(users[:, :, -1]).max()) > 1 + SLACK:
        raise InvalidParameterError(
            f"features must have length at most 1 and rewards be in [-1, 1], got lengths up to "
            f"{lengths.max():.6g} and rewards up to {np.abs(users[:, :, -1]).max():.6g}."
        )


@dataclass(frozen=True, kw_only=True)
class BatchedLinUCB:
    """Algorithm 1 with the ``counter`` that sums batches of ``batch_size`` users of ``dim`` features.

    ``ridge`` is λ > 0 and ``radius(t)`` the confidence radius after t rounds. ``schedule(U)`` names the user
    of each round: each of U users once, unless given. A user who returns may come once in a batch. A last
    batch that is not full is played and not sent. Called with coins and users it returns the number of
    batches after which the design matrix was not positive definite.

    Raises ``InvalidParameterError`` for a batch size or dimension below 1, or a ridge that is not positive;
    when called, for users of another shape or out of bounds.
    """

    counter: Counter
    dim: int
    batch_size: int
    ridge: float
    radius: Callable[[int], float]
    schedule: Callable[[int], Sequence[int]] = range

    def __post_init__(self) -> None:
        if min(self.batch_size, self.dim) < 1 or not self.ridge > 0:
            raise InvalidParameterError(
                "batch_size and dim must be 1 or more and ridge greater than 0, got "
                f"{self.batch_size}, {self.dim} and {self.ridge}."
            )

    def __call__(self, coins: Coins, users: Users) -> int:
        people = actions_of(users, dim=self.dim)
        players = list(self.schedule(len(people)))
        opened = self.counter(coins)
        known, indefinite = np.zeros(statistics_size(self.dim)), 0
        noisy = noisy_design(known, self.dim, ridge=self.ridge)
        for start in range(0, len(players), self.batch_size):
            playing = players[start : start + self.batch_size]
            inverse: Any = np.linalg.inv(noisy)
            sent = []
            for who in playing:
                features, rewards = people[who]
                arm = optimistic_action(features, known, inverse=inverse, radius=self.radius(start))
                coins.reveal(arm, site="action", to=user(who))
                sent.append(statistics_of(features[arm], rewards[arm]))
            if len(playing) == self.batch_size:
                known = opened(np.stack(sent))
                noisy = noisy_design(known, self.dim, ridge=self.ridge)
                indefinite += bool(np.linalg.eigvalsh(noisy)[0] <= 0)
        return indefinite


def actions_of(users: Users, *, dim: int) -> list[tuple[Floats, Floats]]:
    """Return the features (K, d) and the rewards (K,) of every user's actions, and check Assumption 3.1.

    ``users`` are an array (U, K, d + 1), rewards last, or a table of columns "features k" (U, d) and
    "reward k" (U,) for each of K actions k = 0, 1, ... Raises ``InvalidParameterError`` as
    ``checked_users``.
    """
    if not isinstance(users, dict):
        checked_users(users, dim=dim)
        return [(one[:, :-1], one[:, -1]) for one in users]
    found = []
    for i in range(len(users["reward 0"])):
        actions = range(len(users) // 2)
        features, rewards = ([users[f"{name} {k}"][i] for k in actions] for name in ("features", "reward"))
        for x, y in zip(features, rewards, strict=True):
            if max(np.linalg.norm(x), abs(y)) > 1 + SLACK:
                raise InvalidParameterError("features must have length at most 1 and rewards be in [-1, 1].")
        found.append((np.stack(features), np.array(rewards)))
    return found


def statistics_of(x: Floats, y: Any) -> Floats:
    """Return ``statistics`` of one played action."""
    products = np.outer(x, x)
    return np.concatenate([y * x, *(products[i, i:] for i in range(len(x)))])
