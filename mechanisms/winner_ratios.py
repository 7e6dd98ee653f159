"""Exact log-ratios and divergences of the winner of Report Noisy Max, with one reward vector replaced.

Scores are sums of reward vectors. A replaced vector may lower one sum by 1 and raise all others by 1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpaudit.distributions import Laplace, NoisyArgmax

__all__ = ["largest_winner_ratio", "winner_deltas"]

Floats = NDArray[np.float64]


def largest_winner_ratio(noise: Laplace, *, n_actions: int, vectors: int) -> float:
    """Return the largest log-ratio of the winner's distribution over replaced vectors, for sums in [0,
    ``vectors``].

    P(winner = 1) falls in the rivals' scores and rises in its own score, so the worst replacement changes all
    of them against it by 1. The ratio grows with the deficit, so all rivals are level. The deficits form a
    geometric grid up to ``vectors`` (the smallest deficits, and one of 64 noise scales or more).
    """
    # A replaced vector changes the difference by 2; with one vector it goes from 1 behind to 1 ahead.
    far = min(vectors, int(64 * noise.scale) + 1)
    deficits = np.array(sorted({1, vectors, far, *(2**k for k in range(vectors.bit_length()))}))
    # Action 1 trails by d before and by d - 2 after the replacement.
    before = np.zeros((len(deficits), n_actions))
    before[:, 0] = -deficits
    after = before.copy()
    after[:, 0] += 2
    winner = np.zeros(len(deficits), dtype=np.int64)
    return float(np.max(NoisyArgmax(after, noise).logp(winner) - NoisyArgmax(before, noise).logp(winner)))


def winner_deltas(epsilons: Floats, *, noise: Laplace, leads: Iterable[int]) -> Floats:
    """Bound delta(epsilon) from below for each of ``epsilons``: the largest hockey-stick divergence of two
    actions.

    It is taken in both directions, with the first action trailing by a lead and by two less, over ``leads``.
    """
    behind = np.array(list(leads), dtype=float)
    scores = np.stack([np.zeros_like(behind), behind], axis=-1)
    worlds = [NoisyArgmax(scores - shift, noise) for shift in (np.zeros(2), np.array([0.0, 2.0]))]
    here, there = (
        np.exp([distribution.logp(np.full(len(behind), j, dtype=np.int64)) for j in (0, 1)])
        for distribution in worlds
    )
    factor = np.exp(epsilons)[:, None, None]
    divergences = [np.maximum(p - factor * q, 0.0).sum(axis=1) for p, q in ((here, there), (there, here))]
    return np.asarray(np.maximum(*divergences).max(axis=1))
