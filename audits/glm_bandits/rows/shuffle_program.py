"""Audit Algorithm 1 as a program: replay two batches against the cost of one, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from audits.glm_bandits.rows.joint_program import attacked, replaced, user_of
from audits.glm_bandits.shuffled_sums import stated, sums
from dpaudit.certify.build import accounted
from dpaudit.certify.sites import Site
from dpaudit.coins import Sampler
from dpaudit.coins.base import To
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Interval, Records
from dpaudit.core.errors import BrokenHarnessError
from dpaudit.core.evidence import Evidence
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import SERVER
from dpaudit.distributions import Binomial
from dpaudit.distributions.base import Distribution
from dpaudit.reference.algorithms.contextual.joint_glm_constants import GlmBudget
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.algorithms.contextual.optimal_design import g_optimal_design
from dpaudit.reference.algorithms.contextual.shuffle_glm import ShuffleConstants
from dpaudit.reference.algorithms.contextual.shuffle_glm_protocol import ShuffleGlmProtocol
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.binomial_witness import OneEntry
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Declared
from dpaudit.suite import controls, evidence
from dpaudit.suite.controls import Control

__all__ = ["rows"]

rows = Group("Algorithm 1 as a program")

LENGTHS, STEPS, CLIP, COINS = (4, 4), 2, 0.125, 225
#: The features in [-1, 1] and the reward of each of two actions, for each of eight users.
USERS = Records(Interval(-1, 1), width=6, size=sum(LENGTHS))
CLAIM = stated(1, "1/1000", domain=USERS.words)
#: 1/κ* is so small that the cut binds for each arm of a later batch: its weight is then 1/κ* exactly.
CONSTANTS = ShuffleConstants(
    lengths=LENGTHS, ridge=20.0, ridge_upper=1.0, gamma=0.5, late_scale=1.0, cut=True,
    budget=GlmBudget(
        horizon=8, dim=2, param_norm=1.0, kappa=2 + math.exp(1) + math.exp(-1), kappa_star=100.0,
        epsilon=1.0, delta=1e-3, failure_prob=1e-3,
    ),
)  # fmt: skip


def sheet(users: int, coins: int = COINS) -> VectorSheet:
    """Return g = 1 and Bin(n b, 1/4) for a batch of n users."""
    return VectorSheet(dim=2, batch_size=users, precision=1, trials=coins)


def uniform(arms: Any) -> Any:
    """Return a G-optimal design: of one or two arms the uniform one is."""
    return g_optimal_design(arms, ridge=1e-6).weights


RIGHT = ShuffleGlmProtocol(
    constants=CONSTANTS, link=logistic(), arms=2, design=uniform, sheet=sheet, clip=CLIP, steps=STEPS,
    rate=4.0,
)  # fmt: skip

#: A place, and the user there for both neighbours. Arms on the axes have entries that need no rounding.
CHANGES = [
    ("a reward", 0, user_of(1, 0, 0), user_of(1, 0, 1)),
    ("a direction", 1, user_of(1, 0, 1), user_of(0, 1, 1)),
    ("a sign", 3, user_of(0, -1, 0), user_of(0, 1, 0)),
    ("no arm", 2, user_of(0, 0, 1), user_of(-1, 0, 1)),
    ("two actions", 0, user_of(1, 0, 0, 0, 1, 1), user_of(0, -1, 1, 1, 0, 0)),
    ("a direction in the second batch", 4, user_of(1, 0, 1), user_of(0, 1, 1)),
    ("a reward in the second batch", 7, user_of(0, 1, 0), user_of(0, 1, 1)),
]
OTHERS = [user_of(1, 0, 1), user_of(0, 1, 0), user_of(1, 0, 0, 0, -1, 1)]


def pairs() -> list[Neighbours]:
    """Yield a pair for each of CHANGES, with the other users from OTHERS in turn."""
    return [replaced(*change, others=OTHERS) for change in CHANGES]


def audit(program: Any) -> PrivacyAudit:
    """Audit ``program`` against the matrix sum and the descent of one batch."""
    matrix, vector = sums(sheet(4), "rank-one"), sums(sheet(4), "vector")
    cost = {"epsilon": Fraction(1), "delta": Fraction(1, 1000)}
    sites = [
        Site("matrix", mechanism=matrix.proof(**cost, beside=STEPS * vector.scale**2)),
        Site(
            "gradient",
            mechanism=vector.proof(**cost, beside=(STEPS - 1) * vector.scale**2 + matrix.scale**2),
            touches=STEPS,
        ),
    ]
    return PrivacyAudit(
        claim=CLAIM,
        domain=Declared(USERS, Adjacency.REPLACE_ONE),
        program=program,
        neighbours=lambda run: pairs(),
        sites=sites,
        samples=1,
        proof=accounted(sites, declared="a user sends in one batch: one matrix, and one gradient a step"),
    )


@evidence(
    rows, "SAR-T5.1p/program", "Theorem 5.1, privacy", claim=CLAIM, role="repaired", repairs="SAR-T5.1p",
    expect="consistent",
)  # fmt: skip
def program(run: Run) -> Outcome:
    """With weights cut at 1/κ*, Algorithm 1 as a program is (1, 1/1000)-shuffle DP: two batches of four
    users

    Two features and two actions. G-optimal designs, elimination by the first batch's estimate, shuffled
    matrix sums, and P_GD with two steps, all with Bin(900, 1/4) ones for an entry. It is the simulated
    algorithm with the shuffler's messages in place of drawn noise. The certificate covers every rounding.

    Note: replays change arms on the axes, whose entries need no rounding: hidden coins whose probability
    differs cannot be compared. The prover does not follow designs and eigenvalues of private arms
    """
    return attacked(audit(RIGHT), run)


# Mistakes


class Ones(Sampler):
    """A sampler that records the number of ones of each entry before the noise."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.default_rng(seed))
        self.released: list[tuple[str, Any, Binomial]] = []

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        noise, value = through.image_distribution(distributions).noise_and_offset
        if isinstance(noise, Binomial):
            self.released.append((site, value, noise))
        return super().aggregate(distributions, through, site=site, to=to)


#: All others have no arm, so that the gradients of the first batch follow from the data.
REWARD = replaced("a reward", 0, user_of(1, 0, 0), user_of(1, 0, 1), others=[user_of(0, 0, 0)])


def first_gradients(program: ShuffleGlmProtocol, *, steps: int, expect: str = "refuted") -> Control:
    """Return the exact loss of the sum of the first entries of the first batch's gradients.

    The sum of ``steps`` entries has the sum of their coins, and moves by the sum of their changes. A gradient
    is cut in every step, since |θ| <= 1, and two runs with other noise must agree.
    """

    def evaluate(run: Run) -> list[Evidence]:
        moves = {_moved(program, seed, steps) for seed in (3, 4)}
        if len(moves) > 1:
            raise BrokenHarnessError("the gradients of this control must follow from its data.")
        move, trials = moves.pop()
        data = REWARD.left.ravel().tolist(), REWARD.right.ravel().tolist()
        one = OneEntry(Binomial(trials=trials, p="1/4"), move, data, "the sum of the first entries")
        witness = one.witness(CLAIM)
        return [] if witness is None else [witness]

    return Control(claim=CLAIM, evaluate=evaluate, expect=expect)


def _moved(program: ShuffleGlmProtocol, seed: int, steps: int) -> tuple[int, int]:
    both = []
    for users in (REWARD.left, REWARD.right):
        coins = Ones(seed)
        program(coins, users)
        both.append([(value[0], noise.trials) for site, value, noise in coins.released if site == "gradient"])
    one, other = (entries[:steps] for entries in both)
    return abs(sum(int(a) - int(b) for (a, _), (b, _) in zip(one, other, strict=True))), sum(
        n for _, n in one
    )


@controls(rows, "SAR-T5.1p/controls", "Algorithm 1 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Every broken program of Algorithm 1 is refuted, and the correct one is not

    The claim is that of SAR-T5.1p/program. Where the loss is exact, all other users have no arm.

    Note: the program refuses weights that are not cut, since an entry has no more than 2 g ones. What they
    cost is SAR-T5.1p and SAR-D.1p/off-event
    """
    return {
        "half of the scale": first_gradients(
            replace(RIGHT, sheet=lambda users: sheet(users, COINS // 4)), steps=STEPS
        ),
        "four times the steps": first_gradients(replace(RIGHT, steps=4 * STEPS), steps=4 * STEPS),
        "gradients cut at 1/2, sent in units of 1/8": first_gradients(
            replace(RIGHT, clip=0.5, sheet=lambda users: replace(sheet(users), precision=4)), steps=1
        ),
        "correct, exact loss": first_gradients(RIGHT, steps=STEPS, expect="inconclusive"),
        "correct": Control(
            claim=CLAIM, evaluate=lambda run: attacked(audit(RIGHT), run), expect="consistent"
        ),
    }
