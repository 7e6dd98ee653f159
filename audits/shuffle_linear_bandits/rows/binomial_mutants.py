"""Enumerate P_Vec with known mistakes exactly. Each must be refuted, and the correct protocol must not be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dpaudit.coins import Coins, Program
from dpaudit.core.claims import ApproxDP
from dpaudit.core.suite import Group
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.reference.algorithms.contextual.batch_counters import Release, binomial_sums, by_batches
from dpaudit.reference.algorithms.contextual.broken_counters import announced
from dpaudit.reference.algorithms.contextual.protocol_instances import FirstUser
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import BatchedLinUCB
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.vector_messages import release
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import controls, one_share_less, reusing, shared, widened, without
from dpaudit.suite.controls import Control

__all__ = ["rows"]

rows = Group("Binomial vector sums: mistakes", kind="structure")

#: One user with one feature, 1, 0 or -1, and reward 1: small enough to enumerate.
SHEET = VectorSheet(dim=1, batch_size=1, precision=1, trials=15)
USERS = DataSets(records=1, values=(-1, 0, 1))
CLAIM = ApproxDP(epsilon=1, delta="1/4", domain=str(USERS), view=View.of(SHUFFLER_OUTPUT))


def one_batch(coins: Coins, data: Any, sheet: VectorSheet = SHEET) -> list[float]:
    """Return the numbers of ones under both labels, of φ y and φ²."""
    shown = release(coins, [[float(x), float(x * x)] for x in data], sheet, grid=1)
    return [float(value) for value in shown]


def summed_out(program: Program, expect: str = "refuted") -> Control:
    """Compare all data and all outcomes."""
    small = enumerated(CLAIM, program, over=USERS)
    return Control(claim=CLAIM, evaluate=small, expect=expect, digest=small.fingerprint)


@controls(rows, "CZ22-C.1p/controls", "Algorithms 5 to 7 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Every broken P_Vec is refuted, and the correct one is not

    One user with one feature, g = 1 and b = 15, is compared exactly with (1, 1/4)-DP.

    Note: fresh noise for (j, i) as well, which gives a matrix that is not symmetric, does not violate
    privacy: the bound 9/2 g² covers the whole Frobenius norm
    """
    return {
        "one draw for both labels": summed_out(shared("sums")(one_batch)),
        "no noise": summed_out(without("sums")(one_batch)),
        "half of the trials": summed_out(partial(one_batch, sheet=replace(SHEET, trials=7))),
        "twice the precision, the same trials": summed_out(
            partial(one_batch, sheet=replace(SHEET, precision=2))
        ),
        "correct": summed_out(one_batch, expect="consistent"),
    }


# The whole of Algorithm 1

#: Two batches of two users with one coin each: Bin(2, 1/4) on both labels.
PAIR = VectorSheet(dim=1, batch_size=2, precision=1, trials=1)
#: The right program costs δ = 0.63490... at ε = 1.
WHOLE = ApproxDP(epsilon=1, delta="16/25", domain=str(FirstUser.DATA), view=View.of(SHUFFLER_OUTPUT))


def whole(release: Release, *, schedule: Callable[[int], Sequence[int]] = range) -> BatchedLinUCB:
    """Return Algorithm 1 with batches of two users with one feature."""
    return BatchedLinUCB(
        counter=by_batches(release), dim=1, batch_size=2, ridge=10.0, radius=lambda t: 2.0, schedule=schedule
    )


def compared(program: Program, expect: str = "refuted") -> Control:
    """Compare both types of the first of four users, and all outcomes of both batches."""
    small = enumerated(WHOLE, FirstUser(program, others=3), over=FirstUser.DATA)
    digest = None if expect == "refuted" else small.fingerprint  # one program says whether runs repeat
    return Control(claim=WHOLE, evaluate=small, expect=expect, digest=digest)


@controls(rows, "CZ22-T3.5p/controls", "Algorithm 1 with P_Vec, with deliberate mistakes")
def of_the_algorithm() -> Mapping[str, Control]:
    """Every broken Algorithm 1 with P_Vec is refuted, and the correct one is not

    It is the program of CZ22-T3.5p/protocol with one feature, g = 1 and b = 1. The later users react to the
    first batch. Every path is compared exactly with (1, 16/25)-DP.
    """
    release = binomial_sums(PAIR)
    right = whole(release)
    return {
        "one draw for both labels": compared(shared()(right)),
        "the noise of the first batch again": compared(reusing()(right)),
        "no noise": compared(without()(right)),
        "one user's noise is missing": compared(one_share_less()(right)),
        "twice the precision": compared(whole(binomial_sums(replace(PAIR, precision=2)))),
        "the first user is in both batches": compared(whole(release, schedule=lambda users: [0, 1, 0, 3])),
        "actions are public": compared(widened("action", also=SHUFFLER_OUTPUT)(right)),
        "actions from the true sums": compared(without(shown=False)(right)),
        "a batch without rewards is announced": compared(
            whole(announced(release, dim=1, to=SHUFFLER_OUTPUT))
        ),
        "correct": compared(right, expect="consistent"),
    }
