"""Compute lower bounds from the blocks of a check, for the claimed quantity and for any (epsilon, delta).

A family of claims is ordered: each claim implies the later ones. The bound is the largest value that is
rejected with ALL smaller values. It exceeds the true value only if the smallest true claim of the grid was
rejected, which has probability at most alpha whatever the size of the grid.

**Two grids.** A coarse value is rejected at the level alpha/10, and with it every fine value between it and
the previous coarse value, because those claims imply it. If a coarse value is not rejected, the fine values
below it have separate tests at 9 alpha/10. Whichever value is the smallest true one, the probability that
either of its two tests errs is at most alpha. The tested claim, with all values down to the previous coarse
value, has one test at alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpaudit.blackbox.hypotheses import Family, deltas_at, epsilons_at
from dpaudit.blackbox.replay import Replay

__all__ = ["COARSE", "Bound", "Curve", "curve_of", "lower_bound"]

#: Share of alpha for the coarse values, and number of fine values that replace one coarse value.
COARSE = 0.1
FINE = 12
#: Number of coarse values that are replayed at once.
CHUNK = 12

#: Epsilons and deltas at which the curve is computed.
CURVE_EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
CURVE_DELTAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bound:
    """Lower bound ``value`` after all runs (0 for none), and ``history``: (runs, bound) for each rise."""

    value: float
    history: tuple[tuple[int, float], ...]


def lower_bound(
    replay: Replay,
    family: Family,
    *,
    alpha: float,
    up_to_tested: bool = False,
    deadline: float | None = None,
    end: float | None = None,
) -> Bound:
    """Return a lower bound on the quantity of ``family``.

    The bound holds with probability ``1 - alpha``, simultaneously at all times of its history.

    Parameters
    ----------
    replay : Replay
        The blocks of outputs.
    family : Family
        The ordered claims.
    alpha : float
        Significance level, in (0, 1).
    up_to_tested : bool, default False
        Leave out values above the tested one.
    deadline : float, optional
        After this time (``time.monotonic``), values above the tested one are not tested, so the bound is
        smaller. The values up to it decide the verdict, and mostly take far less time than the runs.
    end : float, optional
        After this time no value is tested.
    """
    values = family.values[: family.place + 1] if up_to_tested else family.values
    found: list[tuple[float, float]] = []
    for start, stop in _chunks(len(values), family.place + 1):
        until = deadline if start > family.place else end
        coarse = _coarse(replay, family, values, slice(start, stop), alpha, until)
        for place, after in enumerate(coarse, start):
            if math.isfinite(after):
                found.append((after, float(values[place])))
                continue
            fine = _between(family, place)
            found += _fine(replay, family, fine, alpha, until)
            if not len(fine) or found[-1:] == [] or found[-1][1] < fine[-1]:
                return _bound(found)
    return _bound(found)


def _chunks(count: int, decisive: int) -> Iterator[tuple[int, int]]:
    """Return ranges of indices to replay at once. None mixes the ``decisive`` first indices with others."""
    starts = [*range(0, decisive, CHUNK), *range(decisive, count, CHUNK)]
    return pairwise([*starts, count])


def _coarse(
    replay: Replay, family: Family, values: Floats, part: slice, alpha: float, deadline: float | None
) -> Floats:
    """Return the runs after which coarse values, with all values above the previous one, were rejected."""
    places = np.arange(len(values))[part]
    alone = (places == 0) | (places == family.place)
    levels = np.where(alone, alpha, COARSE * alpha)
    return replay.rejected_after(
        family.points(values[part]), log_threshold=np.log(1 / levels), deadline=deadline
    )


def _between(family: Family, place: int) -> Floats:
    """Return the fine values up to and including the coarse one at ``place``, if it has any."""
    if place in (0, family.place):
        return np.zeros(0)
    low, high = family.values[place - 1], family.values[place]
    steps: Floats = low * (high / low) ** (np.arange(1, FINE + 1) / FINE)
    return np.append(steps[:-1], high)


def _fine(
    replay: Replay, family: Family, fine: Floats, alpha: float, deadline: float | None
) -> list[tuple[float, float]]:
    """Return the fine values that are rejected with all previous ones, each with its number of runs."""
    if not len(fine):
        return []
    after = replay.rejected_after(
        family.points(fine), log_threshold=math.log(1 / ((1 - COARSE) * alpha)), deadline=deadline
    )
    standing = np.flatnonzero(np.isinf(after))
    count = int(standing[0]) if len(standing) else len(fine)
    return [(float(runs), float(value)) for runs, value in zip(after[:count], fine, strict=False)]


def _bound(found: list[tuple[float, float]]) -> Bound:
    """Return the bound. A value counts once it and all smaller values are rejected."""
    if not found:
        return Bound(0.0, ())
    times = np.maximum.accumulate([after for after, _ in found])
    last = {int(time): value for time, (_, value) in zip(times, found, strict=True)}
    return Bound(found[-1][1], tuple(last.items()))


@dataclass(frozen=True)
class Curve:
    """Lower bounds on the privacy profile of a mechanism on the tested pairs.

    ``deltas[k]`` is a bound on delta at ``at_epsilons[k]``. ``epsilons[k]`` is a bound on epsilon at
    ``at_deltas[k]`` (0 for none). All of them hold simultaneously with probability ``confidence``, at any
    stopping time.
    """

    at_epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    at_deltas: tuple[float, ...]
    epsilons: tuple[float, ...]
    confidence: float
    samples: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "delta_lower": [list(pair) for pair in zip(self.at_epsilons, self.deltas, strict=True)],
            "epsilon_lower": [list(pair) for pair in zip(self.at_deltas, self.epsilons, strict=True)],
            "confidence": self.confidence,
            "simultaneous": True,
            "samples": self.samples,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each bound: columns ``bounded`` (delta or epsilon), ``epsilon`` and ``delta``.

        The column named by ``bounded`` holds the bound.
        """
        rows = [("delta", e, d) for e, d in zip(self.at_epsilons, self.deltas, strict=True)]
        rows += [("epsilon", e, d) for d, e in zip(self.at_deltas, self.epsilons, strict=True)]
        return pd.DataFrame(rows, columns=["bounded", "epsilon", "delta"])


def curve_of(replay: Replay, *, alpha: float, samples: int) -> Curve:
    """Compute the curve, with ``alpha`` divided among its points."""
    each = alpha / (len(CURVE_EPSILONS) + len(CURVE_DELTAS))
    return Curve(
        CURVE_EPSILONS,
        tuple(lower_bound(replay, deltas_at(epsilon), alpha=each).value for epsilon in CURVE_EPSILONS),
        CURVE_DELTAS,
        tuple(lower_bound(replay, epsilons_at(delta), alpha=each).value for delta in CURVE_DELTAS),
        1 - alpha,
        samples,
    )
