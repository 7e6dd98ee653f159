"""Enumerate P_Vec with known mistakes exactly. Each must be refuted, and the correct protocol must not be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpaudit.coins import Coins, Program
from dpaudit.core.claims import ApproxDP
from dpaudit.core.suite import Group
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.vector_messages import release
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import controls, shared, without
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
