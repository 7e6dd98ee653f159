"""All rules of T2, with special functions and tails."""

from __future__ import annotations

from dpaudit.kernel.t1.composition import add_compositions
from dpaudit.kernel.t1.integer_noise import add_integer_noise
from dpaudit.kernel.t1.rules import T1
from dpaudit.kernel.t1.tier import Tier
from dpaudit.kernel.t1.vector_noise import add_vector_noise
from dpaudit.kernel.t2.cumulant import add_cumulant
from dpaudit.kernel.t2.families import FAMILIES
from dpaudit.kernel.t2.gaussian import gaussian_delta, gaussian_pair
from dpaudit.kernel.t2.polya import add_polya
from dpaudit.kernel.t2.shuffle_rules import add_shuffles
from dpaudit.kernel.t2.subsampled_gaussian import add_subsampled_gaussian
from dpaudit.kernel.t2.tail import add_tail

__all__ = ["T2"]

T2 = Tier("T2", T1.rules)
add_compositions(T2, gaussian_pair=gaussian_pair, gaussian_delta=gaussian_delta)
add_integer_noise(T2, FAMILIES)
add_vector_noise(T2, FAMILIES)
add_polya(T2)
add_shuffles(T2)
add_subsampled_gaussian(T2)
add_cumulant(T2)
add_tail(T2)
