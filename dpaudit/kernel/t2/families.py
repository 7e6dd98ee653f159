"""T2: Skellam and binomial noise of any variance for the rules ``integer-noise`` and ``vector-noise``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dpaudit.kernel.kernel_t0 import BeyondTierError, Parameters
from dpaudit.kernel.t1 import integer_noise
from dpaudit.kernel.t1.integer_noise import Family
from dpaudit.kernel.t1.lattice import LogConcave
from dpaudit.kernel.t2.special_distributions import Binomial, Skellam

__all__ = ["FAMILIES"]


def _skellam(p: Parameters) -> LogConcave:
    try:
        return integer_noise.read_skellam(p)
    except BeyondTierError:
        return Skellam(p.positive("variance"))


def _binomial(p: Parameters) -> LogConcave:
    try:
        return integer_noise.read_binomial(p)
    except BeyondTierError:
        trials = p.integer("trials", low=1, high=integer_noise.MAX_TRIALS)
        return Binomial(trials, p.number("probability"))


#: Readers that take special functions where the tables of T1 end.
_ANY_VARIANCE = {"skellam": _skellam, "binomial": _binomial}

FAMILIES: Mapping[str, Family] = {
    name: replace(family, read=_ANY_VARIANCE.get(name, family.read))
    for name, family in integer_noise.FAMILIES.items()
}
