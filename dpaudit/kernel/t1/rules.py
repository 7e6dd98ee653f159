"""All rules of T1, which need balls but no special function and no tail."""

from __future__ import annotations

from dpaudit.kernel import kernel_t0
from dpaudit.kernel.t1.binomial_vectors import add_binomial_vectors
from dpaudit.kernel.t1.composition import add_compositions
from dpaudit.kernel.t1.enumerated import add_enumerated
from dpaudit.kernel.t1.finite import add_tables
from dpaudit.kernel.t1.gaussian_sum import add_gaussian_sum
from dpaudit.kernel.t1.integer_noise import FAMILIES, add_integer_noise
from dpaudit.kernel.t1.selection import add_selections
from dpaudit.kernel.t1.tier import Tier
from dpaudit.kernel.t1.vector_noise import add_vector_noise

__all__ = ["T1"]

T1 = Tier("T1", kernel_t0.RULES)
add_compositions(T1)
add_selections(T1)
add_tables(T1)
add_enumerated(T1)
add_gaussian_sum(T1)
add_integer_noise(T1, FAMILIES)
add_vector_noise(T1, FAMILIES)
add_binomial_vectors(T1)
