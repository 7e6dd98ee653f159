"""Lost messages and cut batches: the aggregates of one run, and shares for a participation below one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dpaudit.coins import record, replay
from dpaudit.coins.base import Program
from dpaudit.distributions import PolyaDifference
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = ["completed_batches", "oversized", "unfinished_batches"]


def completed_batches(horizon: int) -> int:
    """Count the batches of two arms that end, with a round to come, before ``horizon``, while both arms are
    active."""
    ends = accumulate(length for length in batch_lengths(horizon) for _ in range(2))
    return sum(end < horizon for end in ends)


def unfinished_batches(program_of: Program, horizon: int, *, rng: np.random.Generator) -> tuple[int, int]:
    """Return (aggregates beyond the completed batches, sites affected by users of the unfinished batch) in
    one run of Dist-DP-SE over ``horizon`` rounds."""
    data = np.zeros((horizon, 2))
    recording = record(program_of, data, rng=rng)
    extra = sum(site.kind == "aggregate" for site in recording.sites) - completed_batches(horizon)
    ends = [0, *accumulate(length for length in batch_lengths(horizon) for _ in range(2))]
    started = max(end for end in ends if end < horizon)
    changed = data.copy()
    # change all of them in one replay: if it affects no site, no single change affects a site
    changed[started:] = 1.0
    result = replay(program_of, changed, recording)
    return abs(extra), sum(item.moved for item in result.losses) + len(result.leaks)


def oversized(chosen: Variant, ratio: Fraction) -> Variant:
    """Return ``chosen`` with shares Pólya(1/(r n)) for a participation of at least r = ``ratio``."""

    def sheet(users: int) -> Sheet:
        printed = chosen.sheet(users)
        share = printed.share
        assert isinstance(share, PolyaDifference)  # Theorem 1's shares are
        return replace(printed, share=PolyaDifference(shape=share.shape / ratio, log_ratio=share.log_ratio))

    return replace(chosen, sheet=sheet)
