"""Small instances of linear bandit protocols for audits: users that change, and what they change.

Two features, two actions. A user is a pair of rows, each the features and then the reward of an action. The
other users have contexts on the axes. ``turned_pairs`` changes the statistics most: contexts turn by 120
degrees, at the angle where no entry above the diagonal of the matrix changes, and the squared change is 9/2.
``grid_pairs`` stay on a grid, so that P_Vec rounds nothing. P_Vec rounds each entry at random, so a user may
change all entries by their full ranges: ``ROUNDED_SQUARES``. ``FirstUser`` is small enough to enumerate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.certify.build import Proof, binomial_vectors
from dpaudit.coins import Coins, Program
from dpaudit.core import data
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import Ball, Columns, Declared, Interval

__all__ = [
    "DIM",
    "ROUNDED_SQUARES",
    "USERS",
    "FirstUser",
    "declared_users",
    "grid_pairs",
    "on_the_grid",
    "rounded_mechanism",
    "turned_pairs",
]

DIM = 2
#: A row: two features, and the reward of the action.
USERS = Columns((Ball(1), DIM), (Interval(-1, 1), 1))
#: The largest squared change of (y x, x xᵀ on and above the diagonal) with randomly rounded entries: y x is
#: in [-1, 1]^2, the diagonal in [0, 1]^2, and the entry above it in [-1/2, 1/2]. Rounding to a grid that
#: contains these ends does not leave the ranges.
ROUNDED_SQUARES = 2 * 2**2 + 2 * 1 + 1


def declared_users(count: int, *, actions: int = 2) -> data.Table:
    """Return ``USERS`` as a declaration of ``count`` users with the columns of ``actions_of``."""
    columns: dict[str, Any] = {}
    for k in range(actions):
        columns |= {f"features {k}": data.Ball(1, width=DIM), f"reward {k}": data.Interval(-1, 1)}
    return data.Table(columns, size=count)


def on_the_grid(users: data.Table) -> Declared:
    """Return the domain of ``users`` for audits that list their pairs, on the grid.

    Replays cannot compare hidden coins whose probabilities differ between neighbours.
    """
    return Declared(users, Adjacency.REPLACE_ONE)


def turned_pairs(others: int) -> list[Neighbours]:
    """Return pairs in which the first of 1 + ``others`` users changes.

    Her contexts turn by 120 degrees, or her actions change places.
    """
    c, s = math.cos(math.pi / 12), math.sin(math.pi / 12)
    there, back = [[c, s, 1.0]] * 2, [[-s, -c, 1.0]] * 2
    axes = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]]
    rest = [axes[:: 1 - 2 * (i % 2)] for i in range(others)]
    return [
        Neighbours("the first user's contexts turn by 120 degrees", *_both(there, back, rest)),
        Neighbours("the first user's actions change places", *_both(axes, axes[::-1], rest)),
    ]


def grid_pairs(others: int) -> list[Neighbours]:
    """Return pairs in which the first of 1 + ``others`` users turns around, or by a right angle, on the
    grid of halves.
    """
    right, left, up = ([[*x, 1.0]] * 2 for x in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]))
    rest = [[[1.0, 0.0, 1.0], [0.5, 0.5, -1.0]]] * others
    return [
        Neighbours("the first user turns around", *_both(right, left, rest)),
        Neighbours("the first user turns by a right angle", *_both(right, up, rest)),
    ]


def _both(here: Any, there: Any, rest: Sequence[Any]) -> tuple[Any, Any]:
    return np.array([here, *rest]), np.array([there, *rest])


@dataclass(frozen=True)
class FirstUser:
    """A linear bandit ``program`` of one feature whose first user is one of ``TYPES``, to be enumerated.

    The data are the number of the type. The actions of the ``others`` follow from what is known.
    """

    program: Program
    others: int

    #: Two actions, each a feature and its reward. The first type plays the second action, with reward -1.
    TYPES: ClassVar[Sequence[Any]] = ([[0, 0], [1, -1]], [[0, 0], [0, 0]])
    DATA: ClassVar[DataSets] = DataSets(records=1, values=(0, 1))

    def __call__(self, coins: Coins, data: Any) -> Any:
        rest = [[[1, 0], [-1, 1]]] * self.others
        return self.program(coins, np.array([self.TYPES[int(data[0])], *rest], dtype=np.float64))


def rounded_mechanism(sheet: VectorSheet, *, failure: float = 1e-12) -> Proof:
    """Return the proof of one batch of P_Vec with ``sheet`` for all users, d = 2.

    Outcomes of probability ``failure`` are left to delta. Raises ``InvalidParameterError`` for another
    dimension, or a scale that is no multiple of 4.
    """
    if sheet.dim != DIM or sheet.scale % 4:
        raise InvalidParameterError(
            f"sheet must have dim 2 and a scale that is a multiple of 4, got {sheet.dim} and {sheet.scale}."
        )
    variance, depth = float(sheet.noise.trials * sheet.chance * (1 - sheet.chance)), -math.log(failure / 10)
    return binomial_vectors(
        trials=sheet.noise.trials,
        probability=sheet.chance,
        dimension=sheet.entries,
        l2_squared=ROUNDED_SQUARES * sheet.scale**2,
        largest=2 * sheet.scale,
        orders=(8, 64),
        deviation=math.ceil(depth / 3 + math.sqrt(depth**2 / 9 + 2 * variance * depth)),
    )
