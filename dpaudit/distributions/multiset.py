"""Define the distribution of the multiset of all users' outcomes, the output of a shuffler.

A multiset is written in canonical form, its rows sorted lexicographically. Its probability is a sum over all
assignments of rows to users, the permanent of a matrix of positive numbers. It is computed without
cancellation, by a sum over subsets of users, or over the number of assigned users in each group of equal
distributions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.distributions.base import BaseMeasure, Distribution, register
from dpaudit.distributions.convolution import grouped, read_groups
from dpaudit.distributions.scalar import Floats

__all__ = ["ShuffledMultiset", "canonical_rows"]

#: The largest number of states (assigned users per group). 12 users with different distributions have 2^12.
_STATES = 2**13
#: The largest number of multisets to enumerate.
_MULTISETS = 2**16


def canonical_rows(rows: NDArray[Any], row_ndim: int) -> NDArray[Any]:
    """Sort the messages.

    Numbers (``row_ndim`` 0) are sorted along the last axis. Vectors (1) are sorted lexicographically along
    the last axis but one.
    """
    if row_ndim == 0:
        return np.sort(rows, axis=-1)
    order = np.lexsort(np.moveaxis(rows, -1, 0)[::-1], axis=-1)
    return np.asarray(np.take_along_axis(rows, order[..., None], axis=-2))


@register("shuffled-multiset")
@dataclass(frozen=True, repr=False, init=False)
class ShuffledMultiset(Distribution):
    """The distribution of the sorted outcomes of independent users.

    For discrete messages, ``logp`` is the log-probability of the multiset. For messages with a density, it is
    the log-density of the sorted rows with respect to Lebesgue measure on sorted rows: the sum over all n!
    assignments. Ties then have probability 0. Outcomes that are not sorted have ``-inf``. Messages must be
    all discrete or all with a density.

    Parameters
    ----------
    distributions : sequence of Distribution
        One distribution for each of the n users.
    row_ndim : int, optional
        0 if messages are numbers (n numbers), 1 if they are vectors (n rows). The last ``row_ndim`` axes of a
        distribution's batch shape are the message, and earlier axes are independent copies (replicates).
        Default: the whole batch shape is the message.

    Raises
    ------
    InvalidParameterError
        There are no users, or the messages differ in shape or kind.
    NotTractableError
        There are too many different distributions, in general more than 12. More users are possible if their
        distributions repeat.
    """

    groups: tuple[tuple[Distribution, int], ...]
    row_ndim: int
    base_measure: ClassVar[BaseMeasure]

    def __init__(self, distributions: Sequence[Distribution], *, row_ndim: int | None = None) -> None:
        self._keep(
            grouped(distributions),
            len(distributions[0].batch_shape) if row_ndim is None and len(distributions) else row_ndim or 0,
        )

    def _keep(self, groups: tuple[tuple[Distribution, int], ...], row_ndim: int) -> None:
        if isinstance(row_ndim, bool) or row_ndim not in (0, 1):
            raise InvalidParameterError(
                f"row_ndim must be 0 (numbers) or 1 (vectors), got {row_ndim!r}.", code="E-ROW-NDIM-RANGE"
            )
        if not groups:
            raise InvalidParameterError(
                "a shuffler requires at least one user, got none.", code="E-USERS-MISSING"
            )
        shapes, measures = (
            {distribution.batch_shape for distribution, _ in groups},
            {distribution.base_measure for distribution, _ in groups},
        )
        if any(distribution.event_ndim for distribution, _ in groups):
            raise NotTractableError(
                "messages must be numbers or vectors of independent numbers, got a structured "
                "distribution. Use sampling.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        if len(shapes) != 1 or len(measures) != 1:
            raise InvalidParameterError(
                f"all messages must have one shape and one base measure, got shapes {sorted(shapes)} and "
                f"measures {sorted(m.value for m in measures)}.",
                code="E-MESSAGES-DIFFER",
            )
        if len(next(iter(shapes))) < row_ndim:
            raise InvalidParameterError(
                "messages must be vectors for row_ndim=1, got numbers.", code="E-MESSAGE-SHAPE"
            )
        states = math.prod(times + 1 for _, times in groups)
        if states > _STATES:
            raise NotTractableError(
                f"a shuffled multiset may have at most {_STATES} states, got {states} from {len(groups)} "
                "different distributions. Use fewer distinct distributions, or sampling.",
                code="E-TERMS-TOO-MANY",
            )
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "row_ndim", int(row_ndim))
        object.__setattr__(self, "event_ndim", 1 + int(row_ndim))
        object.__setattr__(self, "base_measure", measures.pop())

    @property
    def users(self) -> int:
        """The number of users."""
        return sum(times for _, times in self.groups)

    @property
    def messages(self) -> Counter[Distribution]:
        return Counter(dict(self.groups))

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return messages with a density with the changed one far out, and all others close to it.

        No other message is then more likely to be the changed one.
        """
        if self.base_measure is BaseMeasure.COUNTING:
            return super().outcome_against(other, distance)
        moved = None if self.batch_shape else self.changed_message(other)
        value = None if moved is None else moved[0].outcome_against(moved[1], distance)
        if value is None:
            return None
        apart = np.arange(self.users).reshape(-1, *[1] * np.ndim(value)) / 1024  # ties have probability 0
        return canonical_rows(np.asarray(value, dtype=float) + apart, self.row_ndim)

    @property
    def _message_shape(self) -> tuple[int, ...]:
        shape = self.groups[0][0].batch_shape
        return shape[len(shape) - self.row_ndim :]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        shape = self.groups[0][0].batch_shape
        return shape[: len(shape) - self.row_ndim]

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        draws = [distribution.sample(rng, size) for distribution, times in self.groups for _ in range(times)]
        return canonical_rows(np.stack(draws, axis=-1 - self.row_ndim), self.row_ndim)

    def logp(self, x: Any) -> Floats:
        rows = np.asarray(x)
        wanted = (self.users, *self._message_shape)
        if rows.shape[max(rows.ndim - len(wanted), 0) :] != wanted:
            raise InvalidParameterError(
                f"an outcome must have shape (..., *{wanted}), got {rows.shape}.", code="E-OUTCOME-SHAPE"
            )
        users_first = np.moveaxis(rows, -1 - self.row_ndim, 0)
        logs = []
        for distribution, _ in self.groups:
            value = distribution.logp(users_first)
            logs.append(value.sum(axis=-1) if self.row_ndim else value)  # (n, ...), one number per message
        total = self._log_permanent(np.stack(logs)) - self._log_repeats(rows)
        in_order = (canonical_rows(rows, self.row_ndim) == rows).reshape(*total.shape, -1).all(axis=-1)
        return np.where(in_order, total, -np.inf)

    def _log_permanent(self, logs: Floats) -> Floats:
        """Return log Σ over assignments, from logs (groups, n, ...).

        It proceeds message by message, over the number of assigned users in each group.
        """
        start = tuple(0 for _ in self.groups)
        layer: dict[tuple[int, ...], Floats] = {start: np.zeros(logs.shape[2:])}
        for j in range(self.users):
            following: dict[tuple[int, ...], Floats] = {}
            for used, value in layer.items():
                for g, (_, times) in enumerate(self.groups):
                    if used[g] < times:
                        key = (*used[:g], used[g] + 1, *used[g + 1 :])
                        term = value + logs[g, j] + math.log(times - used[g])
                        following[key] = np.logaddexp(following[key], term) if key in following else term
            layer = following
        return next(iter(layer.values()))

    def _log_repeats(self, rows: NDArray[Any]) -> Floats:
        """Return log Π (multiplicity)! for discrete messages, else 0.

        Assignments that differ only in equal messages are the same outcome.
        """
        leading = rows.shape[: rows.ndim - 1 - self.row_ndim]
        if self.base_measure is not BaseMeasure.COUNTING:
            return np.zeros(leading)
        # In sorted rows, a run of c equal messages contributes log c!, the sum of log(position in the run).
        same = (
            rows[..., 1:] == rows[..., :-1]
            if self.row_ndim == 0
            else (rows[..., 1:, :] == rows[..., :-1, :]).all(axis=-1)
        )
        position, total = np.ones(leading), np.zeros(leading)
        for j in range(self.users - 1):
            position = np.where(same[..., j], position + 1, 1.0)
            total = total + np.log(position)
        return total

    def logp_ball(self, x: Any) -> arb:
        rows = np.asarray(x)
        if self.batch_shape or rows.shape != (self.users, *self._message_shape):
            raise InvalidParameterError(
                f"one outcome must have shape {(self.users, *self._message_shape)} without replicates, got "
                f"{rows.shape}.",
                code="E-OUTCOME-SHAPE",
            )
        if not np.array_equal(canonical_rows(rows, self.row_ndim), rows):
            return arb.neg_inf()
        weights = [
            [distribution.logp_ball(row if self.row_ndim else row.item()).exp() for row in rows]
            for distribution, _ in self.groups
        ]
        total = self._permanent_ball(weights)
        if self.base_measure is BaseMeasure.COUNTING:
            repeats = Counter(tuple(np.ravel(row).tolist()) for row in rows)
            total = total / math.prod(math.factorial(c) for c in repeats.values())
        return arb.neg_inf() if total.is_zero() else total.log()

    def _permanent_ball(self, weights: list[list[arb]]) -> arb:
        layer: dict[tuple[int, ...], arb] = {tuple(0 for _ in self.groups): arb(1)}
        for j in range(self.users):
            following: dict[tuple[int, ...], arb] = {}
            for used, value in layer.items():
                for g, (_, times) in enumerate(self.groups):
                    if used[g] < times and not weights[g][j].is_zero():
                        key = (*used[:g], used[g] + 1, *used[g + 1 :])
                        following[key] = following.get(key, arb(0)) + value * weights[g][j] * (
                            times - used[g]
                        )
            layer = following
        return next(iter(layer.values()), arb(0))

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        if self.base_measure is not BaseMeasure.COUNTING or self.batch_shape:
            raise NotTractableError(
                "only a single multiset of discrete messages can be enumerated. Pass its outcome as "
                "given, or use sampling.",
                code="E-ATOMS-MISSING",
            )
        values = sorted({_key(value) for distribution, _ in self.groups for value, _ in distribution.atoms()})
        if math.comb(self.users + len(values) - 1, self.users) > _MULTISETS:
            raise NotTractableError(
                f"at most {_MULTISETS} multisets can be enumerated, got more. Use Counts for symbols, or "
                "sampling.",
                code="E-OUTCOMES-TOO-MANY",
            )
        multisets = (
            np.array(choice) for choice in itertools.combinations_with_replacement(values, self.users)
        )
        pairs = (
            (rows, self.logp_ball(rows))
            for rows in (m if self.row_ndim else m.reshape(self.users) for m in multisets)
        )
        return ((rows, log.exp()) for rows, log in pairs if not log < arb.neg_inf() and log.is_finite())

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "row_ndim": self.row_ndim,
            "groups": [[distribution.to_json(), times] for distribution, times in self.groups],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "row_ndim", "groups"} or not isinstance(data["groups"], list):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have row_ndim and groups, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        distribution = object.__new__(cls)
        distribution._keep(read_groups(data["groups"]), data["row_ndim"])
        return distribution

    def __repr__(self) -> str:
        return "ShuffledMultiset of " + " + ".join(
            f"{times} x {distribution!r}" for distribution, times in self.groups
        )


def _key(value: Any) -> tuple[Any, ...]:
    """Return a message as a sortable tuple."""
    return tuple(np.ravel(np.asarray(value)).tolist())
