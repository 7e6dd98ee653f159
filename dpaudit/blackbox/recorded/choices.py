"""Compute the cost of a pair if its only draw is the output: a choice by probabilities, or a binomial count.

The distribution of the output is then the distribution of the draw. The privacy loss of the pair is the
largest log-ratio of the probabilities of the two distributions. For a binomial, it lies at one of the ends,
because the log-ratio is linear in the count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dpaudit.blackbox.recorded.outputs import leaves
from dpaudit.blackbox.recorded.recording import RecordedCall, Recording
from dpaudit.blackbox.recorded.trace import Draw, elements_of

__all__ = ["chosen_epsilon"]


def chosen_epsilon(recording: Recording) -> float | None:
    """Return the largest log-ratio of the probabilities of an output, or None if it is unknown.

    The value is infinite if only one input gives an output. It is None unless the output is one draw from a
    distribution whose probabilities differ between the inputs.
    """
    sides = (recording.first, recording.second)
    if not recording.repeats or not all(map(_is_the_draw, sides)) or not _followed(recording):
        return None
    one, two = (_distribution(side.draws[0]) for side in sides)
    if one is None or two is None or one == two:
        return None
    return max(_apart(one.get(value, -math.inf), two.get(value, -math.inf)) for value in {*one, *two})


def _is_the_draw(side: RecordedCall) -> bool:
    """Return whether the run made one draw, was recorded completely, and outputs only what it drew."""
    if len(side.draws) != 1 or side.more or side.unrecorded or side.seedings:
        return False
    return [value for _, value in leaves(side.draws[0].values)] == [value for _, value in side.shown]


def _followed(recording: Recording) -> bool:
    """Return whether the output followed every change of the drawn number.

    Labels cannot be changed. For them, the two recorded runs are the only evidence.
    """
    response = recording.response
    if not elements_of(recording.first.draws[0]):
        return True
    return response is not None and response.complete and bool(np.all(response.slopes == 1))


def _distribution(draw: Draw) -> Mapping[object, float] | None:
    """Return the log-probability of each value, or of the two ends of a binomial distribution."""
    given = draw.parameters
    if draw.count != 1:
        return None
    if draw.family == "choice" and given.get("p") is not None:
        values = np.arange(given["a"]) if np.ndim(given["a"]) == 0 else np.asarray(given["a"])
        return _summed(values.tolist(), np.asarray(given["p"], dtype=float).tolist())
    if draw.family == "binomial" and np.ndim(given["n"]) == np.ndim(given["p"]) == 0:
        trials, p = int(given["n"]), float(given["p"])
        return {0: trials * _log(1 - p), trials: trials * _log(p)} if trials > 0 else None
    return None


def _summed(values: Sequence[object], probabilities: Sequence[float]) -> Mapping[object, float] | None:
    """Add the probabilities of equal values. Return None if a value is a row of a table."""
    distribution: dict[object, float] = {}
    for value, p in zip(values, probabilities, strict=True):
        if isinstance(value, list):
            return None
        distribution[value] = distribution.get(value, 0.0) + p
    return {value: _log(p) for value, p in distribution.items()}


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def _apart(one: float, two: float) -> float:
    return 0.0 if one == two else abs(one - two)
