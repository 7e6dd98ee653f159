"""The rules of the kernel: one file each, with statement, proof and source in the docstring. Importing this package registers them."""

from __future__ import annotations

from dpaudit.certificates.rules import (
    accounted,
    discrete_laplace,
    gaussian,
    integer_noise,
    laplace,
    noisy_max,
    parallel,
    post_processing,
    sequential,
    tree,
)

__all__ = [
    "accounted",
    "discrete_laplace",
    "gaussian",
    "integer_noise",
    "laplace",
    "noisy_max",
    "parallel",
    "post_processing",
    "sequential",
    "tree",
]
