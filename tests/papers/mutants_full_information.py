"""Mutants of Follow the Noisy Leader and of its naive variant: broken selectors and epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.coins import Coins, Program
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import Laplace
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.algorithms.play import Pulls, Strategy
from dpaudit.reference.mechanisms.report_noisy_max import report_noisy_max, rnm_noise
from tests.papers.mutant import EPSILON, Mutant, full_information

__all__ = ["FTNL", "NAIVE_FTNL"]


def _shifted_argmax(coins: Coins, sums: Any, noise: Laplace) -> int:
    """One noise for all actions: the arg-max of the raw sums."""
    shown = coins.release(sums[0], noise, site="leader", to=SERVER)
    return int(np.argmax(coins.reveal(sums + (shown - sums[0]), site="leader", to=SERVER)))


def _released(coins: Coins, sums: Any, noise: Laplace) -> int:
    """Report Noisy Max that reports the noisy sums too, with the noise for the index alone."""
    return int(np.argmax(coins.release(sums, noise, site="leader", to=PUBLIC)))


@dataclass
class KeepsAGoodLeader:
    """A branch on raw data: the leader stays without a noisy comparison while it earned anything at all."""

    select: ftnl.Selector
    leader: int = 0

    def __call__(self, coins: Coins, sums: Any) -> int:
        if not sums[self.leader]:
            self.leader = self.select(coins, sums)
        return self.leader


@dataclass
class AllEpochsSoFar:
    """Reuse of old data (HHM-FRESH): the sums of all epochs so far."""

    select: ftnl.Selector
    totals: Any = 0.0

    def __call__(self, coins: Coins, sums: Any) -> int:
        self.totals = self.totals + sums
        return int(self.select(coins, self.totals))


@dataclass
class ShowsRawSums:
    """The raw epoch sums are published beside the leader."""

    select: ftnl.Selector

    def __call__(self, coins: Coins, sums: Any) -> int:
        coins.reveal(sums, site="debug", to=PUBLIC)
        return int(self.select(coins, sums))


@dataclass
class SameNoiseEveryEpoch:
    """The noise vector of the first epoch serves for all epochs."""

    noise: Laplace
    vector: Any = None

    def __call__(self, coins: Coins, sums: Any) -> int:
        if self.vector is None:
            noisy = coins.release(sums, self.noise, site="sums", to=SERVER)
            self.vector = noisy - sums
        else:
            noisy = coins.reveal(sums + self.vector, site="sums", to=SERVER)
        return int(np.argmax(noisy))


def _overlapping_epochs(select: ftnl.Selector) -> Strategy:
    """An extra touch: the last vector of an epoch is counted in the next epoch too."""

    def run(coins: Coins, n_arms: int) -> Pulls:
        action, length, last = 0, 1, np.zeros(n_arms)
        while True:
            batch = yield action, length
            values = batch.values()
            action = select(coins, values.sum(axis=0) + last)
            last, length = values[-1], 2 * length

    return run


def _noisy_max(scale: int | str = 2) -> ftnl.Selector:
    noise = Laplace(scale=scale)
    return lambda coins, sums: report_noisy_max(coins, sums, noise=noise)


def _epochs(make: Callable[[], ftnl.Selector]) -> Program:
    return full_information(lambda: ftnl.epochs(make()))


_REPAIRED = rnm_noise(epsilon=EPSILON, variant="repaired")

FTNL = {
    "sensitivity halved": Mutant(_epochs(lambda: _noisy_max(1)), "refuted"),
    "half the noise of that": Mutant(_epochs(lambda: _noisy_max("1/2")), "refuted"),
    "noise shared by all actions": Mutant(
        _epochs(lambda: lambda coins, sums: _shifted_argmax(coins, sums, _REPAIRED)), "leak"
    ),
    "noise reused in later epochs": Mutant(_epochs(lambda: SameNoiseEveryEpoch(_REPAIRED)), "leak"),
    "noisy sums shown": Mutant(
        _epochs(lambda: lambda coins, sums: _released(coins, sums, _REPAIRED)), "refuted"
    ),
    "old epochs not forgotten": Mutant(_epochs(lambda: AllEpochsSoFar(_noisy_max())), "accounting"),
    "vector in two epochs": Mutant(full_information(lambda: _overlapping_epochs(_noisy_max())), "accounting"),
    "good leader kept": Mutant(_epochs(lambda: KeepsAGoodLeader(_noisy_max())), "leak"),
    "raw sums shown": Mutant(_epochs(lambda: ShowsRawSums(_noisy_max())), "leak"),
}


def _noisy_sums(scale: int | None = None, *, off_by: int = 0) -> ftnl.Selector:
    """Naive FTNL's selector with another scale; None stands for (K + off_by)/epsilon."""

    def select(coins: Coins, sums: Any) -> int:
        noise = Laplace(scale=len(sums) + off_by if scale is None else scale)
        return int(np.argmax(coins.release(sums, noise, site="sums", to=SERVER)))

    return select


NAIVE_FTNL = {
    "noise for one action": Mutant(_epochs(lambda: _noisy_sums(1)), "accounting"),
    "actions counted one short": Mutant(_epochs(lambda: _noisy_sums(off_by=-1)), "accounting"),
    "noise reused in later epochs": Mutant(_epochs(lambda: SameNoiseEveryEpoch(Laplace(scale=5))), "leak"),
    "noise shared by all actions": Mutant(
        _epochs(lambda: lambda coins, sums: _shifted_argmax(coins, sums, Laplace(scale=5))), "leak"
    ),
    "old epochs not forgotten": Mutant(_epochs(lambda: AllEpochsSoFar(_noisy_sums())), "accounting"),
    "vector in two epochs": Mutant(
        full_information(lambda: _overlapping_epochs(_noisy_sums())), "accounting"
    ),
    "good leader kept": Mutant(_epochs(lambda: KeepsAGoodLeader(_noisy_sums())), "leak"),
    "raw sums shown": Mutant(_epochs(lambda: ShowsRawSums(_noisy_sums())), "leak"),
}
