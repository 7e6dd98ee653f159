"""Define the sparse vector technique that releases the noisy value of every query above the threshold.

This is algorithm 3 of Lyu, Su and Li (2017), from lecture notes of Roth (2011). A released value v reveals
that the noisy threshold is at most v, and with it information that the answers "below" hide. No epsilon holds
for all numbers of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, dyadic, exact, exact_str
from dpaudit.distributions.base import Distribution, distribution_from_json
from dpaudit.distributions.channels import Kernel, expect_keys, queried_numbers, register_kernel, same_length
from dpaudit.distributions.continuous import Exponential, Laplace
from dpaudit.distributions.shared_level import Floats, log_level_integral
from dpaudit.distributions.shared_level_ball import level_integral_ball

__all__ = ["ValuesAboveThreshold"]


@dataclass
class _Comparisons:
    """A session: the threshold noise, drawn at the first query, and the number of released values."""

    level: float | None = None
    positives: int = 0


@register_kernel("values-above-threshold")
@dataclass(frozen=True, init=False)
class ValuesAboveThreshold(Kernel):
    """The sparse vector technique with values.

    The answer is query + query noise if that is at least threshold + threshold noise, and NaN otherwise.
    Queries are single numbers, and replicates are not supported.

    Parameters
    ----------
    threshold : exact number
        The threshold.
    threshold_noise, query_noise : Laplace or Exponential
        Unshifted noise. The threshold noise is drawn once, and the query noise for each query.
    max_positives : int or None
        The number of values after which the channel is closed (1). ``None`` never closes it.

    Raises
    ------
    NotTractableError
        A noise is of another family.
    InvalidParameterError
        ``max_positives`` is not a positive integer or ``None``.
    """

    threshold: Fraction
    threshold_noise: Distribution
    query_noise: Distribution
    max_positives: int | None

    def __init__(
        self,
        *,
        threshold: ExactLike,
        threshold_noise: Distribution,
        query_noise: Distribution,
        max_positives: int | None = 1,
    ) -> None:
        for noise in (threshold_noise, query_noise):
            if not isinstance(noise, Laplace | Exponential):
                raise NotTractableError(
                    f"noise must be Laplace or Exponential, got {noise!r}. Use such noise, or sampling.",
                    code="E-NOISE-NOT-SUPPORTED",
                )
        whole = isinstance(max_positives, int) and not isinstance(max_positives, bool)
        if max_positives is not None and not (whole and max_positives >= 1):
            raise InvalidParameterError(
                f"max_positives must be 1 or more, or None for no cut-off, got {max_positives!r}.",
                code="E-MAX-POSITIVES-RANGE",
            )
        object.__setattr__(self, "threshold", exact(threshold, name="threshold"))
        object.__setattr__(self, "threshold_noise", threshold_noise)
        object.__setattr__(self, "query_noise", query_noise)
        object.__setattr__(self, "max_positives", max_positives)

    def open(self) -> _Comparisons:
        return _Comparisons()

    def respond(
        self, state: _Comparisons, query: Any, rng: np.random.Generator, replicates: int | None = None
    ) -> float:
        if replicates is not None:
            raise NotTractableError(
                f"this channel does not support replicates, got replicates={replicates}. Use a loop.",
                code="E-REPLICATES-NOT-SUPPORTED",
            )
        self._require_more(state)
        if state.level is None:
            state.level = float(self.threshold_noise.sample(rng, ()))
        value = float(_number(query)) + float(self.query_noise.sample(rng, ()))
        above = value >= float(self.threshold) + state.level
        state.positives += above
        return value if above else float("nan")

    def take(self, state: _Comparisons, query: Any, answer: Any) -> None:
        _number(query)
        self._require_more(state)
        state.positives += int(not np.isnan(_answers([answer])[0]))

    def respond_after(
        self, state: _Comparisons, queries: Sequence[Any], outcomes: Sequence[Any], rng: np.random.Generator
    ) -> float:
        """Draw a noisy value, and release it with the conditional probability that the level is below it.

        The condition is all answers so far.
        """
        self._require_more(state)
        query = _number(queries[-1])
        value = float(query) + float(self.query_noise.sample(rng, ()))
        below, shown = _split(queries[:-1], outcomes)
        gaps = np.array([float(q - self.threshold) for q in below])
        tops = [v - float(self.threshold) for _, v in shown]
        reach = value - float(self.threshold)
        known = self._log_level(gaps, min(tops, default=None))
        lower = self._log_level(gaps, min([*tops, reach]))
        answer = value if np.log(rng.random()) < lower - known else float("nan")
        self.take(state, query, answer)
        return answer

    def _require_more(self, state: _Comparisons) -> None:
        if self.max_positives is not None and state.positives >= self.max_positives:
            raise InvalidParameterError(
                f"the channel is closed: it has released {self.max_positives} of "
                f"max_positives={self.max_positives} values. Open a new channel and account for it.",
                code="E-CHANNEL-CLOSED",
            )

    def _log_level(self, gaps: Floats, top: float | None) -> float:
        """Return log P(every query of ``gaps`` is below the level, which is at most ``top``)."""
        return float(log_level_integral(self.threshold_noise, self.query_noise, gaps, False, top=top))

    def log_joint(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> Floats:
        """Return the log of ∫ f(z) Π_{below} F(T + z - q) dz over z <= min v - T, times Π g(v - q).

        f is the density of the threshold noise. F and g are the distribution function and the density of the
        query noise.
        """
        self._require_open(queries, outcomes)
        below, shown = _split(queries, outcomes)
        threshold = float(self.threshold)
        values = sum((self.query_noise.logp(v - q) for q, v in shown), np.zeros(()))
        top = min((v - threshold for _, v in shown), default=None)
        return np.asarray(values + self._log_level(np.array([q - threshold for q in below]), top))

    def log_joint_ball(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> arb:
        self._require_open(queries, outcomes)
        below, shown = _split(queries, outcomes)
        tops = [dyadic(v) - self.threshold for _, v in shown]
        gaps = [_exactly(q) - self.threshold for q in below]
        chance = level_integral_ball(
            self.threshold_noise, self.query_noise, gaps, [], top=min(tops, default=None)
        )
        total = arb.neg_inf() if chance.is_zero() else chance.log()
        for q, v in shown:
            total += self.query_noise.logp_ball(dyadic(v) - _exactly(q))
        return total

    def _require_open(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> None:
        same_length(queries, outcomes)
        values = np.flatnonzero(~np.isnan(_answers(outcomes)))
        most = self.max_positives
        if most is not None and len(values) >= most and values[most - 1] + 1 < len(outcomes):
            raise InvalidParameterError(
                f"a session must end with value number {most}, which closes the channel, got {len(outcomes)} "
                f"answers with this value at position {values[most - 1]}.",
                code="E-SESSION-AFTER-CLOSE",
            )

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "threshold": exact_str(self.threshold),
            "threshold_noise": self.threshold_noise.to_json(),
            "query_noise": self.query_noise.to_json(),
            "max_positives": self.max_positives,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ValuesAboveThreshold:
        expect_keys(data, {"threshold", "threshold_noise", "query_noise", "max_positives"})
        return cls(
            threshold=data["threshold"],
            threshold_noise=distribution_from_json(data["threshold_noise"]),
            query_noise=distribution_from_json(data["query_noise"]),
            max_positives=data["max_positives"],
        )


def _answers(outcomes: Sequence[Any]) -> Floats:
    """Return the answers of one session as floats, with NaN for "below"."""
    answers = [np.asarray(outcome) for outcome in outcomes]
    for answer in answers:
        if answer.shape != () or answer.dtype.kind != "f" or np.isinf(answer):
            raise InvalidParameterError(
                f"an answer must be a float, or NaN for a query below the threshold, got {answer!r}.",
                code="E-ANSWER-TYPE",
            )
    return np.array([float(answer) for answer in answers])


def _split(queries: Sequence[Any], outcomes: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, float]]]:
    """Return the queries with the answer "below", and the others with their values."""
    answers = _answers(outcomes).tolist()
    pairs = [(_number(query), answer) for query, answer in zip(queries, answers, strict=True)]
    return [q for q, v in pairs if np.isnan(v)], [(q, v) for q, v in pairs if not np.isnan(v)]


def _number(query: Any) -> Any:
    if isinstance(query, Fraction):
        return query
    value = queried_numbers(query)
    if value.shape != ():
        raise InvalidParameterError(
            f"a query must be one number, got shape {value.shape}.", code="E-QUERY-SHAPE"
        )
    return value[()].item()


def _exactly(query: Any) -> Fraction:
    return query if isinstance(query, Fraction) else dyadic(query)
