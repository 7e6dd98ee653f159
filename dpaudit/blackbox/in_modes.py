"""Run a mechanism in all rounding modes of the processor, to bound the effect of its own rounding."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder
from dpaudit.blackbox.rounding import ROUNDING
from dpaudit.core.rounding_modes import MODES, rounding_mode

__all__ = ["unrounded_share"]

#: Number of runs in all rounding modes, on each input.
RUNS_IN_MODES = 3


def unrounded_share(
    mechanism: Callable[..., Any], left: Any, right: Any, *, seed: int, size: int | None = None
) -> float:
    """Return the smallest share of a difference between two outputs that rounding cannot explain.

    The mechanism runs with equal generators in all rounding modes of the processor. The share is 1 if nothing
    is rounded. Outputs are encoded as in the check, including numbers in text. If labels or shapes change
    with the mode, the share is 0. Numbers that are equal up to rounding are ignored. Runs that raise, and
    mechanisms that are not reproducible, give no information (share 1).
    """
    least = 1.0
    modes = (None, *MODES, None)
    for number in range(RUNS_IN_MODES):
        outputs = []
        for data in (left, right):
            for mode in modes:
                arguments = [copy.deepcopy(data), np.random.default_rng([seed, number])]
                arguments += [] if size is None else [size]
                with suppress(Exception), nullcontext() if mode is None else rounding_mode(mode):
                    outputs.append(mechanism(*arguments))
        if len(outputs) < 2 * len(modes):
            continue
        seen = OutcomeEncoder().encode(outputs)
        keys, symbols, values = (
            np.reshape(part, (2, len(modes), *part.shape[1:]))
            for part in (seen.keys, seen.symbols, seen.values)
        )
        if np.any(keys[:, 0] != keys[:, -1]):
            return 1.0
        labels = np.where(values <= LABEL_BASE, values, 0.0)
        if np.any(symbols != symbols[:, :1]) or np.any(labels != labels[:, :1]):
            return 0.0
        if symbols[0, 0] != symbols[1, 0]:
            continue
        with np.errstate(invalid="ignore"):  # infinities
            gap = np.abs(values[0, 0] - values[1, 0])
            low, high = values.min(axis=1), values.max(axis=1)
            certain = np.maximum(np.maximum(low[0] - high[1], low[1] - high[0]), 0.0)
            sizes = np.maximum(np.abs(values[0, 0]), np.abs(values[1, 0]))
            apart = np.isfinite(gap) & (gap > ROUNDING * np.maximum(sizes, 1.0))
        if apart.any():
            least = min(least, float(np.min(certain[apart] / gap[apart])))
    return least
