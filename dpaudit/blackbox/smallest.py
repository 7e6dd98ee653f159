"""Find the simplest pair of neighbours that refutes a claim, after a refutation.

Hypothesis draws and shrinks pairs. A pair counts if new runs on this pair alone refute the claim, at the
level alpha / (k (k + 1)) for the k-th pair. The verdict does not depend on this search. If the claim is true,
it is not refuted with probability at least 1 - alpha, and then no pair is shown.
"""

from __future__ import annotations

import math
import random
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import HypothesisWarning, NoSuchExample
from hypothesis.strategies import SearchStrategy

from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.neighbours import as_pair, unequal
from dpaudit.blackbox.runs import OutOfTimeError
from dpaudit.blackbox.search import Search, Target
from dpaudit.blackbox.statistics.blocks import Workers
from dpaudit.core.errors import DpauditError
from dpaudit.core.neighbours import Neighbours

__all__ = ["smallest"]

SMALL_KEY = 2**31 + 3
#: Limit on the runs of a pair: a multiple of the runs of the refuting pair, between a minimum and a maximum.
PATIENCE, LEAST, MOST = 2, 200, 20_000
#: Total number of runs in units of the limit for one pair, and largest number of pairs.
ROUNDS, TRIED = 25, 200


def smallest(
    strategy: SearchStrategy[Any], target: Target, *, runs: int, alpha: float, clock: Clock
) -> tuple[Neighbours, int] | None:
    """Return the simplest refuting pair in the order of Hypothesis and its number of runs, or None.

    ``runs`` is the number of runs on the pair that refuted the claim.
    """
    trial = _Trial(target, runs=min(max(PATIENCE * runs, LEAST), MOST), alpha=alpha, clock=clock)
    profile = settings(
        max_examples=TRIED,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns of settings that are intended here
        try:
            found = as_pair(find(strategy, trial, settings=profile, random=random.Random(target.seed)), 0)
        except (NoSuchExample, DpauditError, KeyboardInterrupt):
            return None
    return found, trial.known[repr((found.left, found.right))]


class _Trial:
    """Trial of whether new runs on one pair refute the claim. The answer for a pair never changes."""

    def __init__(self, target: Target, *, runs: int, alpha: float, clock: Clock) -> None:
        self.known: dict[str, int] = {}
        self._target, self._runs, self._alpha, self._clock = target, runs, alpha, clock
        self._left = ROUNDS * runs

    def __call__(self, drawn: Any) -> bool:
        """Return whether the pair refutes the claim, and keep the runs until then (or 0) in ``known``."""
        pair = as_pair(drawn, 0)
        name = repr((pair.left, pair.right))
        if name not in self.known:
            self.known[name] = self._play(pair) if unequal(pair) and not self._over() else 0
        return self.known[name] > 0

    def _over(self) -> bool:
        return self._left <= 0 or self._clock.over

    def _play(self, pair: Neighbours) -> int:
        number = len(self.known) + 1
        seed = np.random.SeedSequence(self._target.seed, spawn_key=(SMALL_KEY, number))
        target = replace(self._target, seed=int(seed.generate_state(1, np.uint64)[0]), spread=False)
        threshold = math.log(number * (number + 1) / self._alpha)
        with Workers(1) as workers:
            search = Search(target, [(pair.left, pair.right)], workers, self._clock)
            with suppress(OutOfTimeError):  # pairs that were found before still count
                while search.log_wealth < threshold and search.step(self._runs - search.samples):
                    if self._clock.over:
                        break
        self._left -= search.samples
        return search.samples if search.log_wealth >= threshold else 0
