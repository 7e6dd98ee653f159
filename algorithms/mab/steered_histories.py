"""Forced histories of batched elimination: the arm that is eliminated, and batches that every history
completes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.coins import Choice
from dpaudit.distributions import WrappedMod
from dpaudit.distributions.base import Distribution
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant
from dpaudit.replay.aggregate_histories import Steering

__all__ = ["HISTORIES", "certain_lengths", "steered"]


def steered(chosen: Variant, lengths: Sequence[int], up: Callable[[int], bool | None]) -> Choice:
    """Return the history in which ``up`` selects the decoded sum of aggregate number k = 0, 1, ...

    The sum is the largest that the analyzer can return if ``up(k)``, the smallest if not, and drawn if
    ``up(k)`` is ``None``. Messages of single users (local model) add up to that aggregate.
    """
    tops = {}
    for users in lengths:
        sheet = chosen.sheet(users)
        tops[sheet.modulus] = users * sheet.precision + sheet.noise_margin

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        direction = up(occurrence)
        if direction is None or not isinstance(distribution, WrappedMod) or distribution.modulus not in tops:
            return None
        # The analyzer takes residues above n g + τ for negative sums, the next residue for the most negative.
        wanted = tops[distribution.modulus] + (0 if direction else 1)
        if not distribution.batch_shape:
            return wanted
        messages = np.zeros(distribution.batch_shape, dtype=np.int64)
        messages[0] = wanted
        return messages

    return choose


def _up(wanted: Callable[[int], bool]) -> Steering:
    """Return the largest sum that the analyzer can return if ``wanted(k)``, otherwise the smallest."""
    return lambda k, sheet: sheet.users * sheet.precision + sheet.noise_margin + (0 if wanted(k) else 1)


#: Two arms: one of them is eliminated as soon as possible, or none ever is.
HISTORIES: dict[str, Steering] = {
    "arm 2 goes out": _up(lambda k: k % 2 == 0),
    "arm 1 goes out": _up(lambda k: k % 2 == 1),
    "all sums alike": lambda k, sheet: sheet.users * sheet.precision // 2,
    "all sums far down": _up(lambda k: False),
}


def certain_lengths(chosen: Variant, horizon: int) -> list[int]:
    """Return the sizes of the batches that arm 1 plays to the end in every history, with two arms.

    In a batch an arm can be eliminated only if it is at the ends of the analyzer's range, where two means are
    farthest apart.
    """
    state = Elimination((2,), failure_prob=chosen.failure_prob, tail=chosen.tail)
    found: list[int] = []
    while state.n_active > 1 and 2 * sum(found) + state.length < horizon:
        found.append(state.length)
        sheet = chosen.sheet(state.length)
        beyond = sheet.noise_margin / sheet.precision / sheet.users
        state.update(np.array([1 + beyond, -beyond]))
    return found
