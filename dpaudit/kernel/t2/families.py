"""T2: Skellam and binomial noise for the rules ``integer-noise`` and ``vector-noise``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.kernel.kernel_t0 import Parameters
from dpaudit.kernel.t1 import integer_noise
from dpaudit.kernel.t1.integer_noise import Reader
from dpaudit.kernel.t1.lattice import LogConcave
from dpaudit.kernel.t1.tier import Curve
from dpaudit.kernel.t2.skellam_renyi import skellam_renyi
from dpaudit.kernel.t2.special_laws import Binomial, Skellam

__all__ = ["FAMILIES", "renyi_curve"]

MAX_TRIALS = 10**15


def _skellam(p: Parameters) -> LogConcave:
    return Skellam(p.positive("variance"))


def _binomial(p: Parameters) -> LogConcave:
    chance, trials = p.number("probability"), p.integer("trials", low=1, high=MAX_TRIALS)
    p.need(0 < chance < 1, f"probability must be in (0, 1), got {chance}; without noise there is no privacy.")
    return Binomial(trials, chance)


FAMILIES: Mapping[str, Reader] = {**integer_noise.FAMILIES, "skellam": _skellam, "binomial": _binomial}


def renyi_curve(law: LogConcave, shift: int) -> Curve | None:
    """Exact divergences where their sums have proved tails; of all shifts the largest counts, for they are
    increasing functions of f-divergences.
    """
    if not isinstance(law, Skellam):
        return None
    variance = law.variance

    def divergence(order: Any) -> Any:
        return skellam_renyi(variance, shift=shift, order=order)

    return divergence
