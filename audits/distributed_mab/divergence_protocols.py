"""Rényi and concentrated DP of the whole adaptive protocols (Theorems 2 and 4).

For every prefix of outcomes only the aggregate that the changed user enters has another law, so the
divergence of the whole view is at most the largest one of a single aggregate: the certificates compose the
batches in parallel, by what was shown. From below it is at least that of any one aggregate that is made in
every history, modulo m as the server sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from algorithms.mab.batched_elimination import Elimination
from algorithms.mab.distributed_elimination import Variant, program, variant
from algorithms.neighbours import reward_pairs
from audits.distributed_mab.protocol_runs import PUBLIC_CHOICES, batch_lengths
from dpaudit.proofs.build import Proof, discrete_gaussian_sum, integer_noise
from dpaudit.replays.followed import Steering, Survey, survey
from mechanisms.parameter_sheet import Sheet

__all__ = [
    "HISTORIES",
    "certain_lengths",
    "gaussian_batches",
    "obstacles",
    "setting_of",
    "share_variance",
    "skellam_batches",
    "surveyed",
]


def _up(wanted: Callable[[int], bool]) -> Steering:
    """The largest sum that the analyzer can return where ``wanted(k)``, the smallest one elsewhere."""
    return lambda k, sheet: sheet.users * sheet.precision + sheet.noise_margin + (0 if wanted(k) else 1)


#: Two arms: one of them goes out as soon as it can, or none ever does.
HISTORIES: dict[str, Steering] = {
    "arm 2 goes out": _up(lambda k: k % 2 == 0),
    "arm 1 goes out": _up(lambda k: k % 2 == 1),
    "all sums alike": lambda k, sheet: sheet.users * sheet.precision // 2,
    "all sums far down": _up(lambda k: False),
}


@lru_cache(maxsize=8)
def surveyed(name: str, epsilon: Fraction, horizon: int, s: int) -> Survey:
    """What one reward moves in Algorithm 1 with two arms: the first user's, those of the users who complete
    the first and the last batch of arm 2, and that of one whose batch the horizon cuts."""
    chosen, lengths = setting_of(name, epsilon, horizon, s)
    ends = [2 * sum(lengths[:b]) for b in range(1, len(lengths) + 1)]
    last = max(end for end in ends if end < horizon)
    return survey(
        program(chosen, grid=1),
        map(chosen.sheet, lengths),
        reward_pairs(
            horizon=horizon,
            rounds=(0, ends[0] - 1, last - 1, horizon - 1),
            backgrounds={"all rewards 0": (0.0, 0.0)},
        ),
        HISTORIES,
        unentered=PUBLIC_CHOICES,
    )


def setting_of(name: str, epsilon: Fraction, horizon: int, s: int) -> tuple[Variant, list[int]]:
    """The variant with p = 1/T, and the sizes of the batches that can be completed."""
    chosen = variant(name, epsilon=epsilon, failure_prob=Fraction(1, horizon), scale_factor=s)
    return chosen, batch_lengths(horizon)


def certain_lengths(chosen: Variant, horizon: int) -> list[int]:
    """The sizes of the batches that arm 1 plays to the end in every history, with two arms.

    In a batch an arm can go out only if it does at the ends of the analyzer's range, the farthest apart that
    two means can be.
    """
    state = Elimination((2,), failure_prob=chosen.failure_prob, tail=chosen.tail)
    found: list[int] = []
    while state.n_active > 1 and 2 * sum(found) + state.length < horizon:
        found.append(state.length)
        sheet = chosen.sheet(state.length)
        beyond = sheet.noise_margin / sheet.precision / sheet.users
        state.update(np.array([1 + beyond, -beyond]))
    return found


def share_variance(sheet: Sheet) -> Fraction:
    """The parameter of one user's share, read off the sheet that the program runs with."""
    (value,) = sheet.share.parameters().values()
    return Fraction(value)


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


def obstacles(found: Survey, *, declared: int = 1) -> list[str]:
    """What stands between the certificate and this program: faults, and sums that one record moves by another
    amount than ``declared`` times g at most."""
    reasons = list(found.faults)
    if found.moved != declared:
        reasons.append(
            f"one record must move the sums by up to {declared} g in all, it moved {found.moved} g"
        )
    return reasons
