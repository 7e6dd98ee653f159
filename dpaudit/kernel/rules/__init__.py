"""The rules of the kernel: one file each, with statement, proof and source in the docstring. Importing
this package registers them.
"""

from __future__ import annotations

from dpaudit.kernel.rules import (
    above_threshold,
    accounted,
    billboard,
    cumulant,
    discrete_laplace,
    finite,
    gaussian,
    gaussian_sum,
    group,
    integer_noise,
    laplace,
    noisy_max,
    parallel,
    polya,
    post_processing,
    relaxed,
    sequential,
    shuffle,
    tail,
    tree,
    vector_noise,
)

__all__ = [
    "above_threshold",
    "accounted",
    "billboard",
    "cumulant",
    "discrete_laplace",
    "finite",
    "gaussian",
    "gaussian_sum",
    "group",
    "integer_noise",
    "laplace",
    "noisy_max",
    "parallel",
    "polya",
    "post_processing",
    "relaxed",
    "sequential",
    "shuffle",
    "tail",
    "tree",
    "vector_noise",
]
