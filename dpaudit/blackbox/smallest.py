"""The smallest counterexample: after a refutation, a simpler pair of neighbours that refutes the claim too.

Hypothesis draws and shrinks; a pair counts where fresh runs on it alone refute the claim, the k-th pair that
is tried at the level alpha / (k (k + 1)). The verdict does not depend on this: where the claim is true,
nothing is refuted in the first place with probability 1 - alpha, and nothing is shown.
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
#: A pair may take so many times the runs of the pair that refuted, and at least and at most so many.
PATIENCE, LEAST, MOST = 2, 200, 20_000
#: Runs in all, in units of what one pair may take; pairs that are tried.
ROUNDS, TRIED = 25, 200


def smallest(
    strategy: SearchStrategy[Any], target: Target, *, runs: int, alpha: float, clock: Clock
) -> tuple[Neighbours, int] | None:
    """The simplest pair (in Hypothesis' order) that refutes the claim too, with the runs it took; ``None``
    where none was found. ``runs``: those on the pair that refuted."""
    trial = _Trial(target, runs=min(max(PATIENCE * runs, LEAST), MOST), alpha=alpha, clock=clock)
    profile = settings(
        max_examples=TRIED,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # it warns of settings that are meant here
        try:
            found = as_pair(find(strategy, trial, settings=profile, random=random.Random(target.seed)), 0)
        except (NoSuchExample, DpauditError, KeyboardInterrupt):
            return None
    return found, trial.known[repr((found.left, found.right))]


class _Trial:
    """Whether fresh runs on a pair alone refute the claim; the same answer for the same pair."""

    def __init__(self, target: Target, *, runs: int, alpha: float, clock: Clock) -> None:
        self.known: dict[str, int] = {}
        self._target, self._runs, self._alpha, self._clock = target, runs, alpha, clock
        self._left = ROUNDS * runs

    def __call__(self, drawn: Any) -> bool:
        """Runs until it is refuted are kept in ``known``, 0 where it was not."""
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
            with suppress(OutOfTimeError):  # the pairs that were found before still count
                while search.log_wealth < threshold and search.step(self._runs - search.samples):
                    if self._clock.over:
                        break
        self._left -= search.samples
        return search.samples if search.log_wealth >= threshold else 0
