"""Certificates of batched elimination: the noise on each batch's sum of encodings, the batches in parallel.

What changes on a neighbour is the one aggregate that the changed user enters: mechanisms on disjoint users,
which the outcomes shown before tell apart.
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


#: Why batches compose in parallel: the declaration that the certificates carry.
PARTITION = (
    "a user takes part in one batch of one arm, which the public rule reads off the outcomes shown before; a "
    "batch that the horizon cuts is not aggregated"
)


def in_parallel(parts: Sequence[Proof]) -> Proof:
    """The batches' mechanisms, each on users of its own; which batch a user is in follows from what was
    shown."""
    return compose_parallel(parts, by="shown outcomes", partition=PARTITION)


def laplace_batches(chosen: Variant, lengths: Sequence[int], *, epsilon: Fraction) -> list[Proof]:
    """Lap_Z(g/ε) on sums of encodings, of sensitivity g, for each batch size with its own g."""
    precisions = [chosen.sheet(users).precision for users in lengths]
    return [discrete_laplace_mechanism(sensitivity=g, scale=g / epsilon) for g in precisions]


def skellam_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Skellam noise on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        integer_noise("skellam", sensitivity=sheet.precision, variance=sheet.users * share_variance(sheet))
        for sheet in sheets
    ]


def gaussian_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Sums of discrete Gaussians on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        discrete_gaussian_sum(sensitivity=sheet.precision, variance=share_variance(sheet), count=sheet.users)
        for sheet in sheets
    ]


def share_variance(sheet: Sheet) -> Fraction:
    """The parameter of one user's share, read off the sheet that the program runs with."""
    (value,) = sheet.share.parameters().values()
    return Fraction(value)
