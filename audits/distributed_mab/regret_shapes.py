"""The theorems' regret rates as numbers: a Σ 1/Δ + K b for each variant of Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

from audits.distributed_mab.regret_bounds import Setting
from dpaudit.regret import gaps_of

__all__ = ["shape", "shape_value"]


def shape(setting: Setting) -> tuple[float, float]:
    """(a, b) of the theorem's expression."""
    return setting.design.rate(math.log(setting.horizon), float(setting.epsilon), setting.scale_factor)


def shape_value(setting: Setting, means: Sequence[float]) -> float:
    """The theorem's expression at this setting, on arms of these means: finite, and 0 only in the local model
    when all arms tie."""
    sampling, noise = shape(setting)
    return sampling * sum(1 / gap for gap in gaps_of(means)) + setting.n_arms * noise
