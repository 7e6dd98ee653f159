"""The theorems' regret rates as numbers: a Σ 1/Δ + K b for each variant of Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from audits.distributed_mab.regret_bounds import Setting
from dpaudit.regret import gaps_of

__all__ = ["SHAPES", "shape_value"]


def _pure(setting: Setting) -> tuple[float, float]:
    log_t = math.log(setting.horizon)
    return log_t, log_t / float(setting.epsilon)


def _renyi(setting: Setting) -> tuple[float, float]:
    log_t, epsilon = math.log(setting.horizon), float(setting.epsilon)
    return log_t, math.sqrt(log_t) / epsilon + log_t / (setting.scale_factor * epsilon)


def _concentrated(setting: Setting) -> tuple[float, float]:
    log_t = math.log(setting.horizon)
    return log_t, math.sqrt(log_t) / float(setting.epsilon)


def _local(setting: Setting) -> tuple[float, float]:
    return math.log(setting.horizon) / float(setting.epsilon) ** 2, 0.0


#: Variant -> (a, b) of a setting: Theorems 1, 2, 3 (twice), 4, 5 and 6.
SHAPES: Mapping[str, Callable[[Setting], tuple[float, float]]] = {
    "dist_dp_se": _pure,
    "dist_rdp_se": _renyi,
    "shuffle_dp_se/printed": _pure,
    "shuffle_dp_se/repaired": _pure,
    "dist_cdp_se": _concentrated,
    "cdp_se": _pure,
    "ldp_se": _local,
}


def shape_value(setting: Setting, means: Sequence[float]) -> float:
    """The theorem's expression at this setting, on arms of these means: finite, and 0 only in the local model
    when all arms tie."""
    sampling, noise = SHAPES[setting.name](setting)
    gaps = gaps_of(means)
    return sampling * sum(1 / gap for gap in gaps) + setting.n_arms * noise
