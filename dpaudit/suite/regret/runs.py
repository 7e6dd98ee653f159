"""Compute the pseudo-regret of many runs at a grid of rounds, with seeds and data layout.

Pseudo-regret by round t is the sum of the gaps of the arms pulled. It depends only on the decisions, which
are sequences of pulls of one arm. A curve is interpolated linearly between their ends, so that the time for a
horizon of 10^12 depends only on the number of decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

if TYPE_CHECKING:
    import pandas

__all__ = ["RegretRuns", "Seed", "checked_grid", "checkpoint_grid", "regret_curve", "root_of"]

Floats = NDArray[np.float64]
Seed = int | np.random.SeedSequence


@dataclass(frozen=True, eq=False)
class RegretRuns:
    """Pseudo-regret of several runs: ``curves[i, g]`` is run i's regret by round ``checkpoints[g]``."""

    algorithm: str
    checkpoints: NDArray[np.int64]
    curves: Floats

    @property
    def final(self) -> Floats:
        """Return the regret at the horizon, one number per run."""
        return np.asarray(self.curves[:, -1])

    @property
    def mean(self) -> float:
        return float(self.final.mean())

    @property
    def standard_error(self) -> float:
        """Return the standard error of ``mean``. It is descriptive, and no verdict rests on it."""
        return (
            float(self.final.std(ddof=1) / np.sqrt(len(self.final))) if len(self.final) > 1 else float("nan")
        )

    def to_frame(self, **labels: object) -> pandas.DataFrame:
        """Return a frame with one line per run and checkpoint: algorithm, labels, run, round, regret.

        ``labels``, such as an instance or epsilon, are the same in every line.
        """
        import pandas

        runs, points = self.curves.shape
        return pandas.DataFrame(
            {
                "algorithm": self.algorithm,
                **labels,
                "run": np.repeat(np.arange(runs), points),
                "round": np.tile(self.checkpoints, runs),
                "regret": self.curves.ravel(),
            }
        )


def root_of(seed: Seed) -> np.random.SeedSequence:
    """Return the seed sequence that a simulation spawns from."""
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


def checkpoint_grid(horizon: int, *, points: int = 48) -> NDArray[np.int64]:
    """Return increasing, roughly geometric rounds from 1 to ``horizon``."""
    if horizon < 1:
        raise InvalidParameterError(f"horizon must be at least 1, got {horizon}.", code="E-HORIZON-RANGE")
    grid = np.unique(np.round(np.geomspace(1, horizon, points)).astype(np.int64))
    grid[-1] = horizon
    return grid


def checked_grid(horizon: int, checkpoints: Sequence[int] | None) -> NDArray[np.int64]:
    """Return ``checkpoints`` as an array, by default ``checkpoint_grid(horizon)``.

    Raises ``InvalidParameterError`` unless they increase from at least 1 and end at the horizon.
    """
    default = checkpoint_grid(horizon)
    if checkpoints is None:
        return default
    grid = np.array(checkpoints, dtype=np.int64)
    if not len(grid) or grid[0] < 1 or np.any(np.diff(grid) <= 0) or grid[-1] != horizon:
        raise InvalidParameterError(
            f"checkpoints must increase from at least 1 and end at the horizon {horizon}, got {checkpoints}.",
            code="E-CHECKPOINTS-ORDER",
        )
    return grid


def regret_curve(
    decisions: Sequence[tuple[Any, int]], gaps: Floats, checkpoints: NDArray[np.int64]
) -> Floats:
    """Return the pseudo-regret by each checkpoint of decisions (arm, count) in order.

    Arms of shape (R,) give shape (R, checkpoints).
    """
    arms = np.array([arm for arm, _ in decisions])  # (runs of arms,) or (epochs, R)
    counts = np.array([count for _, count in decisions], dtype=np.float64)
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    rises = gaps[arms].T * counts
    heights = np.concatenate([np.zeros((*rises.shape[:-1], 1)), np.cumsum(rises, axis=-1)], axis=-1)
    run = np.searchsorted(ends, checkpoints, side="left")  # the run in which the checkpoint lies, from 1
    share = (checkpoints - ends[run - 1]) / counts[run - 1]
    return np.asarray(heights[..., run - 1] + share * rises[..., run - 1])
