"""Audit Algorithm 7 as a program: replay against the distribution of its own calls, and known mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.glm_bandits.shuffled_sums import stated
from dpaudit.certify.build import LossGrid, accounted, integer_noise
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core import data
from dpaudit.core.claims import ApproxDP
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SHUFFLER_OUTPUT
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.shuffled_gradient_descent import (
    ShuffledGradientDescent,
    clipped,
    in_one_step,
    vector_call,
)
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Declared
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import controls, privacy
from dpaudit.suite.controls import Control

__all__ = ["rows"]

rows = Group("Shuffled gradient descent as a program")

#: x and r.
Record = tuple[float, float]

USERS, STEPS, LENGTH, COINS = 2, 2, 0.125, 12
#: g = 1 and Bin(12, 1/4) in total, for all users in every step and for one user per step.
SHEET = VectorSheet(dim=1, batch_size=USERS, precision=1, trials=COINS // USERS)
ALONE = VectorSheet(dim=1, batch_size=1, precision=1, trials=COINS)
MECHANISM = integer_noise("binomial", sensitivity=2, trials=COINS, probability="1/4")
GRID = LossGrid(step="1/50", bits=64, tail=30)
#: (x, r) of every user. The replays take the listed pairs only, because they cannot compare hidden coins
#: whose probabilities differ between neighbours.
DATA = Records(data.Interval(-1, 1), size=USERS, width=2)
DOMAIN = Declared(DATA, Adjacency.REPLACE_ONE)
#: (ε, δ) of two calls, and of one.
TWICE, ONCE = stated(2, "2/5", domain=DATA.words), stated(2, "4/25", domain=DATA.words)


def logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-scores)))


RIGHT = ShuffledGradientDescent(
    call=vector_call(SHEET, LENGTH), mean=logistic, steps=STEPS, rate=100.0, radius=1.0
)
SINGLE = replace(RIGHT, call=vector_call(ALONE, LENGTH, grid=1), batches=in_one_step)


#: The records of the replays, at which no gradient is rounded.
RECORDS = [(x, reward) for x in (1.0, -1.0) for reward in (0.0, 0.5, 1.0)]


def pairs(run: Run) -> list[Neighbours]:
    """Yield pairs in which either user's record changes from one of RECORDS to each other one.

    The other user's record takes every value of RECORDS as well. The full profile uses all ordered pairs. At
    rewards 0 and 1 a gradient is longer than 1/8 as |θ| <= 1, and the reward reverses it: the first pair
    moves each call by 2g. At reward 1/2 it is 0 at θ = 0, and longer than 1/8 at θ = ±1. θ takes no other
    value.
    """
    every = list(combinations(RECORDS, 2))
    stars = [[pair for pair in every if centre in pair] for centre in ((1.0, 0.0), (-1.0, 0.5))]
    return [_reward(0.0, 1.0)] + [
        _replaced(place, here, there, beside=RECORDS[(number + place) % len(RECORDS)])
        for place, star in enumerate(stars)
        for number, (here, there) in enumerate(run.choose(quick=star, full=every))
    ]


def _replaced(place: int, here: Record, there: Record, *, beside: Record) -> Neighbours:
    first, second = (
        np.array([record, beside] if place == 0 else [beside, record]) for record in (here, there)
    )
    return Neighbours(f"user {place + 1} from {here} to {there}, the other user {beside}", first, second)


def _reward(here: float, there: float) -> Neighbours:
    return _replaced(0, (1.0, here), (1.0, there), beside=(-1.0, 1.0))


def audit(program: Any) -> PrivacyAudit:
    """Audit ``program`` against two calls of MECHANISM for each user."""
    site = Site("gradient", mechanism=MECHANISM, touches=STEPS)
    return PrivacyAudit(
        claim=TWICE,
        domain=DOMAIN,
        program=program,
        neighbours=pairs,
        sites=[site],
        samples=1,
        proof=accounted([site], declared="a user sends in each of the two calls", grid=GRID),
    )


@privacy(rows, "SAR-T.2p/program", "Algorithm 7", role="sharper", accounting="", prove=DATA)
def program() -> PrivacyAudit:
    """P_GD as a program, two users and two steps with Bin(12, 1/4) each, is (2, 2/5)-shuffle DP

    The program has per-user clipped gradients, shuffled messages and the mean of the iterates. Replay every
    call of a run with its distribution at the neighbour, and bound the whole by the exact distributions of
    the calls. The replays change a user's record among six values. The proof covers all records, and every
    rounding of their gradients.
    """
    return audit(RIGHT)


# Mistakes


def unclipped(coins: Coins, step: int, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return gradients without clipping, on the grid of L/g: longer than L."""
    sent = np.rint(gradients / LENGTH).astype(np.int64) + SHEET.precision
    shown = coins.release(sent.sum(axis=0), SHEET.noise, site="gradient", to=SHUFFLER_OUTPUT)
    return np.asarray(LENGTH * (shown - float(COINS * SHEET.chance) - USERS))


class Reused:
    """Add the first step's noise again in the second one.

    The output then reveals the difference of the two, which a gradient that depends on θ changes. At a
    reward of 1/2 it is 0 at θ = 0.
    """

    def __init__(self) -> None:
        self.noise: Any = None

    def __call__(self, coins: Coins, step: int, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        sent = np.rint(clipped(gradients, LENGTH) / LENGTH).astype(np.int64).sum(axis=0) + USERS
        if step == 0:
            shown = coins.release(sent, SHEET.noise, site="gradient", to=SHUFFLER_OUTPUT)
            self.noise = shown - sent
        else:
            shown = coins.reveal(sent + self.noise, site="gradient", to=SHUFFLER_OUTPUT)
        return np.asarray(LENGTH * (shown - float(COINS * SHEET.chance) - USERS))


def reused(coins: Coins, users: Any) -> Any:
    return replace(RIGHT, call=Reused())(coins, users)


def halved(step: int) -> Program:
    """Use half of the coins in one step."""
    right = vector_call(SHEET, LENGTH, grid=1)
    less = vector_call(replace(SHEET, trials=SHEET.trials // 2), LENGTH, grid=1)
    return replace(
        RIGHT, call=lambda coins, t, gradients: (less if t == step else right)(coins, t, gradients)
    )


def unclipped_at_half(coins: Coins, step: int, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Send gradients of reward 1/2, which are ±0.23 long at θ = ±1, as seven times L."""
    middle = np.abs(np.abs(gradients) - (logistic(np.array(1.0)) - 0.5)) < 1e-6
    sent = np.rint(clipped(gradients, LENGTH) * (1 + 6 * middle) / LENGTH).astype(np.int64) + SHEET.precision
    shown = coins.release(sent.sum(axis=0), SHEET.noise, site="gradient", to=SHUFFLER_OUTPUT)
    return np.asarray(LENGTH * (shown - float(COINS * SHEET.chance) - USERS))


def doubled_on_one_side(coins: Coins, step: int, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Send gradients that all point one way as twice L."""
    side = 1 + int(abs(np.sign(gradients).sum()) == USERS)
    sent = np.rint(clipped(gradients, LENGTH) * side / LENGTH).astype(np.int64) + SHEET.precision
    shown = coins.release(sent.sum(axis=0), SHEET.noise, site="gradient", to=SHUFFLER_OUTPUT)
    return np.asarray(LENGTH * (shown - float(COINS * SHEET.chance) - USERS))


def features_shown(coins: Coins, users: Any) -> Any:
    """Release the sum of all features with the estimate."""
    coins.reveal(float(np.asarray(users)[:, 0].sum()), site="features", to=SHUFFLER_OUTPUT)
    return RIGHT(coins, users)


def read_twice(step: int, steps: int, users: int) -> list[int]:
    """Read the first user in every step, and nobody else."""
    return [0]


FEATURE = _replaced(0, (1.0, 1.0), (-1.0, 1.0), beside=(-1.0, 1.0))


def summed_out(
    program: Program,
    claim: ApproxDP = TWICE,
    *,
    expect: str = "refuted",
    pair: Neighbours = _reward(0.0, 1.0),  # noqa: B008
) -> Control:
    """Return the exact distribution of the shuffler's whole output for both inputs of ``pair``."""
    tables = enumerated(claim, program, over=lambda run: [pair])
    digest = None if expect == "refuted" else tables.fingerprint
    return Control(claim=claim, evaluate=tables, expect=expect, digest=digest)


@controls(rows, "SAR-T.2p/controls", "Algorithm 7 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Every broken descent is refuted, and the correct ones are not

    The claim is two calls, (2, 2/5), or one, (2, 4/25). All runs are enumerated.
    """
    return {
        "no clipping": summed_out(replace(RIGHT, call=unclipped)),
        "noise of the first step used again": summed_out(reused, pair=_reward(0.5, 1.0)),
        "no clipping at a reward of 1/2": summed_out(
            replace(RIGHT, call=unclipped_at_half), pair=_reward(0.5, 1.0)
        ),
        "twice as long if all point one way": summed_out(
            replace(RIGHT, call=doubled_on_one_side),
            pair=_replaced(0, (1.0, 0.0), (1.0, 1.0), beside=(1.0, 0.0)),
        ),
        "the sum of features is released": summed_out(features_shown, pair=FEATURE),
        "one step more": summed_out(RIGHT, ONCE),
        "half of the coins in the first step": summed_out(halved(0)),
        "half of the coins in the last step": summed_out(halved(STEPS - 1)),
        "a user read in two steps, budget for one": summed_out(replace(SINGLE, batches=read_twice), ONCE),
        "correct": summed_out(RIGHT, expect="inconclusive"),
        "correct, one step": summed_out(replace(RIGHT, steps=1), ONCE, expect="inconclusive"),
        "correct, a user in one step": summed_out(SINGLE, ONCE, expect="inconclusive"),
    }
