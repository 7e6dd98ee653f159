"""Certificates of batched elimination: the noise on each batch's sum of encodings, the batches in parallel.

On a neighbour only the aggregate of the changed user changes. The mechanisms act on disjoint users, which the
earlier outputs determine.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpaudit.certify.build import (
    Proof,
    compose_parallel,
    discrete_gaussian_sum,
    discrete_laplace_mechanism,
    integer_noise,
)
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = [
    "PARTITION",
    "gaussian_batches",
    "in_parallel",
    "laplace_batches",
    "share_variance",
    "skellam_batches",
]


#: Why batches compose in parallel: the declaration in the certificates.
PARTITION = (
    "a user takes part in one batch of one arm, which the public rule determines from the earlier outputs; a "
    "batch that the horizon cuts is not aggregated"
)


def in_parallel(parts: Sequence[Proof]) -> Proof:
    """Return the batches' mechanisms on disjoint users; the outputs so far determine the batch of a user."""
    return compose_parallel(parts, by="shown outcomes", partition=PARTITION)


def laplace_batches(chosen: Variant, lengths: Sequence[int], *, epsilon: Fraction) -> list[Proof]:
    """Return Lap_Z(g/ε) on sums of encodings, of sensitivity g, for each batch size with its g."""
    precisions = [chosen.sheet(users).precision for users in lengths]
    return [discrete_laplace_mechanism(sensitivity=g, scale=g / epsilon) for g in precisions]


def skellam_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Return Skellam noise on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        integer_noise("skellam", sensitivity=sheet.precision, variance=sheet.users * share_variance(sheet))
        for sheet in sheets
    ]


def gaussian_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Return sums of discrete Gaussians on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        discrete_gaussian_sum(sensitivity=sheet.precision, variance=share_variance(sheet), count=sheet.users)
        for sheet in sheets
    ]


def share_variance(sheet: Sheet) -> Fraction:
    """Return the parameter of one user's share, from the sheet that the program runs with."""
    (value,) = sheet.share.parameters().values()
    return Fraction(value)
