"""Define the sparse vector technique as an interactive kernel, with the joint distribution of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic, exact, exact_str
from dpaudit.distributions.base import BaseMeasure, Distribution, distribution_from_json
from dpaudit.distributions.channels import Kernel, expect_keys, queried_numbers, register_kernel, same_length
from dpaudit.distributions.continuous import Exponential, Laplace
from dpaudit.distributions.shared_level import (
    Floats,
    log_between,
    log_level_integral,
    log_side,
    require_level_distributions,
)
from dpaudit.distributions.shared_level_ball import between_ball, level_integral_ball

__all__ = ["AboveThreshold"]


def _optional_distribution(data: Any) -> Distribution | None:
    return None if data is None else distribution_from_json(data)


@dataclass
class _Comparisons:
    """A session of ``AboveThreshold``: the current threshold noise and the positives, per replicate."""

    level: Any = None
    positives: Any = 0


@register_kernel("above-threshold")
@dataclass(frozen=True, init=False)
class AboveThreshold(Kernel):
    """The sparse vector technique: answer True iff query + query noise >= threshold + threshold noise.

    The variants of Lyu, Su and Li (2017) that answer with flags are: Alg. 1 with ``max_positives=c``; Alg. 2
    also with ``resample_threshold=True``; Alg. 4 with its scales; Alg. 5 without query noise and cut-off;
    Alg. 6 without cut-off. With replicates, a closed replicate answers False, which carries no information,
    until all replicates are closed.

    Parameters
    ----------
    threshold : exact number
        The threshold.
    threshold_noise : Distribution or None
        Noise that is drawn once, or again after each True if ``resample_threshold``.
    query_noise : Distribution or None
        Noise that is drawn for each query. At most one of the two noises may be ``None``, and they must be
        all Laplace or exponential, or all Gaussian.
    max_positives : int or None
        The number of answers True after which the channel is closed (1). ``None`` never closes it.
    resample_threshold : bool
        Whether the threshold noise is drawn again after each True (False).

    Raises
    ------
    InvalidParameterError
        Both noises are ``None``, a noise is not continuous and scalar, or another parameter is out of range.
    NotTractableError
        The noise is of an unsupported family.
    """

    threshold: Fraction
    threshold_noise: Distribution | None
    query_noise: Distribution | None
    max_positives: int | None
    resample_threshold: bool

    def __init__(
        self,
        *,
        threshold: ExactLike,
        threshold_noise: Distribution | None,
        query_noise: Distribution | None,
        max_positives: int | None = 1,
        resample_threshold: bool = False,
    ) -> None:
        if threshold_noise is None and query_noise is None:
            raise InvalidParameterError(
                "a noisy comparison must have threshold_noise or query_noise, got neither.",
                code="E-NOISE-MISSING",
            )
        if max_positives is not None and (
            isinstance(max_positives, bool) or not isinstance(max_positives, int) or max_positives < 1
        ):
            raise InvalidParameterError(
                f"max_positives must be 1 or more, or None for no cut-off, got {max_positives!r}.",
                code="E-MAX-POSITIVES-RANGE",
            )
        for noise in (threshold_noise, query_noise):
            if noise is not None and (
                noise.base_measure is not BaseMeasure.LEBESGUE or noise.batch_shape or noise.event_ndim
            ):
                raise InvalidParameterError(
                    "noise must be a continuous scalar distribution, such as Laplace or Gaussian, got "
                    f"{noise!r}.",
                    code="E-NOISE-NOT-CONTINUOUS",
                )
        if not isinstance(resample_threshold, bool):
            raise InvalidParameterError(
                f"resample_threshold must be True or False, got {resample_threshold!r}.",
                code="E-RESAMPLE-THRESHOLD-TYPE",
            )
        present = [noise for noise in (threshold_noise, query_noise) if noise is not None]
        require_level_distributions(present[0], present[-1])
        object.__setattr__(self, "threshold", exact(threshold, name="threshold"))
        object.__setattr__(self, "threshold_noise", threshold_noise)
        object.__setattr__(self, "query_noise", query_noise)
        object.__setattr__(self, "max_positives", max_positives)
        object.__setattr__(self, "resample_threshold", resample_threshold)

    @property
    def answers(self) -> tuple[bool, bool]:
        return (False, True)

    def largest_loss(self, moves: Sequence[Sequence[Fraction]]) -> Fraction | None:
        """Return a bound for Laplace or exponential noise on both the threshold and the queries.

        Write up and down for the largest rise and fall of a query, b and c for the scales, and k for the
        number of "above" answers that it can give. Raise the noisy threshold by up: every answer "below"
        stays. An answer "above" stays if its own noise rises by up minus its query's change, which is at
        least 0 and at most up + down. So one direction costs at most up/b + k (up + down)/c, the other down/b
        + k (up + down)/c. Both are approached with many queries far out (Lyu, Su and Li 2017, Theorem 2). A
        threshold that is drawn again after each of k answers "above" costs k times as much. If a single query
        changes, shifting its Laplace noise alone costs at most abs(change)/c.
        """
        level, noise = self.threshold_noise, self.query_noise
        if not isinstance(level, Laplace | Exponential) or not isinstance(noise, type(level)):
            return None
        single = [sum(move, Fraction(0)) for move in moves]
        up, down = max([Fraction(0), *single]), max([Fraction(0), *(-move for move in single)])
        answers = len(single) if self.max_positives is None else min(self.max_positives, len(single))
        drawn = answers if self.resample_threshold else 1
        cost = drawn * max(up, down) / level.scale + answers * (up + down) / noise.scale
        if isinstance(noise, Laplace) and sum(move != 0 for move in single) == 1:
            return min(cost, (up + down) / noise.scale)
        return cost

    def open(self) -> _Comparisons:
        return _Comparisons()

    def respond(
        self, state: _Comparisons, query: Any, rng: np.random.Generator, replicates: int | None = None
    ) -> Any:
        size = () if replicates is None else (replicates,)
        value = queried_numbers(query)
        if value.shape not in ((), size):
            raise InvalidParameterError(
                f"a query must be one number or have shape {size}, got {value.shape}.", code="E-QUERY-SHAPE"
            )
        closed = self._closed(state, size)
        self._require_open(closed)
        if state.level is None:
            state.level = self._draw(self.threshold_noise, rng, size)
        answer = (
            value + self._draw(self.query_noise, rng, size) >= float(self.threshold) + state.level
        ) & ~closed
        state.positives = state.positives + answer.astype(np.int64)
        if self.resample_threshold and answer.any():
            state.level = np.where(answer, self._draw(self.threshold_noise, rng, size), state.level)
        return bool(answer) if replicates is None else answer

    def take(self, state: _Comparisons, query: Any, answer: Any) -> None:
        queried_numbers(query)
        self._require_open(np.asarray(self._closed(state, ())))
        state.positives = state.positives + int(_one(_flags(answer)))

    def respond_after(
        self, state: _Comparisons, queries: Sequence[Any], outcomes: Sequence[Any], rng: np.random.Generator
    ) -> bool:
        """Return True with its conditional probability, the ratio of two joint probabilities in floats."""
        self._require_open(np.asarray(self._closed(state, ())))
        logs = [float(self.log_joint(queries, [*outcomes, answer])) for answer in self.answers]
        odds = np.exp(np.clip(logs[0] - logs[1], -700, 700)) if np.isfinite(logs[1]) else np.inf
        answer = bool(rng.random() < 1 / (1 + odds))
        self.take(state, queries[-1], answer)
        return answer

    def _closed(self, state: _Comparisons, size: tuple[int, ...]) -> NDArray[np.bool_]:
        if self.max_positives is None:
            return np.zeros(size, bool)
        return np.asarray(np.broadcast_to(state.positives >= self.max_positives, size))

    def _require_open(self, closed: NDArray[np.bool_]) -> None:
        if closed.all():
            raise InvalidParameterError(
                f"the channel is closed: it has given {self.max_positives} of "
                f"max_positives={self.max_positives} positive answers. Open a new channel and account for "
                "it.",
                code="E-CHANNEL-CLOSED",
            )

    @staticmethod
    def _draw(noise: Distribution | None, rng: np.random.Generator, size: tuple[int, ...]) -> Any:
        return np.zeros(size) if noise is None else noise.sample(rng, size)

    def log_joint(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> Floats:
        count = same_length(queries, outcomes)
        if count == 0:
            return np.zeros(())
        answers = [_flags(outcome) for outcome in outcomes]
        places = [queried_numbers(query) - float(self.threshold) for query in queries]
        shape = np.broadcast_shapes(*(item.shape for item in (*answers, *places)))
        flags = np.stack([np.broadcast_to(item, shape) for item in answers], axis=-1).reshape(-1, count)
        gaps = np.stack([np.broadcast_to(item, shape) for item in places], axis=-1).reshape(-1, count)
        result = np.empty(len(flags))
        for rows, epochs, silent in self._groups(flags, single=shape == ()):
            total = np.where(flags[rows][:, silent].any(axis=1), -np.inf, 0.0)
            for epoch in epochs:
                total = total + self._log_epoch(gaps[rows][:, epoch], flags[rows][:, epoch])
            result[rows] = total
        return result.reshape(shape)

    def _groups(
        self, flags: NDArray[np.bool_], single: bool
    ) -> Iterator[tuple[NDArray[np.intp], list[list[int]], list[int]]]:
        """Yield groups of replicates whose answers have the same structure.

        Each group has its rows, the lists of positions that share a draw of the threshold noise, and the
        positions after the channel is closed.
        """
        first = group = np.zeros(1, dtype=np.intp)
        if len(flags) != 1:
            keys = flags if self.resample_threshold else self._stops(flags)[:, None]
            _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        for number, representative in enumerate(first):
            row = flags[representative]
            stop = int(self._stops(row[None])[0])
            if single and stop < len(row):
                raise InvalidParameterError(
                    f"a session must end with positive answer {self.max_positives}, which closes the "
                    f"channel, got {len(row)} answers with this positive at position {stop - 1}.",
                    code="E-SESSION-AFTER-CLOSE",
                )
            yield (
                np.flatnonzero(group.ravel() == number),
                self._epochs(row[:stop]),
                list(range(stop, len(row))),
            )

    def _stops(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of answers of each row before its channel is closed."""
        count = flags.shape[1]
        if self.max_positives is None:
            return np.full(len(flags), count)
        spent = np.cumsum(flags, axis=1) >= self.max_positives
        return np.asarray(np.where(spent.any(axis=1), np.argmax(spent, axis=1) + 1, count))

    def _epochs(self, flags: NDArray[np.bool_]) -> list[list[int]]:
        """Return lists of positions, each of which shares one draw of the threshold noise."""
        if not self.resample_threshold:
            return [list(range(len(flags)))]
        ends = [int(i) + 1 for i in np.flatnonzero(flags)]
        bounds = [0, *ends, *([len(flags)] if not ends or ends[-1] < len(flags) else [])]
        return [list(range(a, b)) for a, b in pairwise(bounds)]

    def _log_epoch(self, gaps: Floats, flags: NDArray[np.bool_]) -> Floats:
        """Return log P(answers) under one draw of the threshold noise.

        With d = query - threshold, an answer is True if and only if noise + d >= level, or noise >= level -
        d.
        """
        if self.threshold_noise is None:
            assert self.query_noise is not None  # the constructor requires one noise
            return np.asarray(log_side(self.query_noise, -gaps, flags).sum(axis=1))
        if (
            self.query_noise is None
        ):  # the level is above each d answered False, not above any d answered True
            low = np.where(flags, -np.inf, gaps).max(axis=1)
            high = np.where(flags, gaps, np.inf).min(axis=1)
            return log_between(self.threshold_noise, low, high)
        return log_level_integral(self.threshold_noise, self.query_noise, gaps, flags)

    def log_joint_ball(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> arb:
        count = same_length(queries, outcomes)
        total = arb(0)
        if count == 0:
            return total
        flags = np.array([bool(_one(_flags(outcome))) for outcome in outcomes])
        gaps = [
            dyadic(query if isinstance(query, Fraction) else _one(queried_numbers(query))) - self.threshold
            for query in queries
        ]
        for _, epochs, _ in self._groups(flags[None], single=True):
            for epoch in epochs:
                chance = self._epoch_ball(
                    [gaps[t] for t in epoch if not flags[t]], [gaps[t] for t in epoch if flags[t]]
                )
                total += arb.neg_inf() if chance.is_zero() else chance.log()
        return total

    def _epoch_ball(self, below: list[Fraction], above: list[Fraction]) -> arb:
        level, noise = self.threshold_noise, self.query_noise
        if level is None:
            assert noise is not None  # the constructor requires one noise
            total = arb(1)
            for d in below:
                total *= between_ball(noise, None, -d)
            for d in above:
                total *= between_ball(noise, -d, None)
            return total
        if noise is None:
            return between_ball(level, max(below, default=None), min(above, default=None))
        return level_integral_ball(level, noise, below, above)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "threshold": exact_str(self.threshold),
            "threshold_noise": None if self.threshold_noise is None else self.threshold_noise.to_json(),
            "query_noise": None if self.query_noise is None else self.query_noise.to_json(),
            "max_positives": self.max_positives,
            "resample_threshold": self.resample_threshold,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AboveThreshold:
        expect_keys(
            data, {"threshold", "threshold_noise", "query_noise", "max_positives", "resample_threshold"}
        )
        return cls(
            threshold=data["threshold"],
            threshold_noise=_optional_distribution(data["threshold_noise"]),
            query_noise=_optional_distribution(data["query_noise"]),
            max_positives=data["max_positives"],
            resample_threshold=data["resample_threshold"],
        )


def _flags(value: Any) -> NDArray[np.bool_]:
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return array
    if not np.isin(array, (0, 1)).all():
        raise InvalidParameterError(f"an answer must be True or False, got {value!r}.", code="E-ANSWER-TYPE")
    return array.astype(bool)


def _one(array: NDArray[Any]) -> Any:
    if array.shape != ():
        raise InvalidParameterError(
            f"the queries and answers of one session must be scalars, got shape {array.shape}. Pass one "
            "replicate at a time.",
            code="E-SESSION-SHAPE",
        )
    return array[()]
