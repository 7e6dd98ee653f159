"""Audit Algorithm 2 as a program: what its rounds of exploration reveal, and the practical variant with
known mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from dpaudit.certify.build import accounted, billboard, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.coins import Coins, Program, Sampler
from dpaudit.coins.base import To
from dpaudit.core.claims import GaussianDP
from dpaudit.core.data import Interval as Reals
from dpaudit.core.data import Records
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import EVERYBODY_ELSE, PUBLIC
from dpaudit.distributions import Gaussian
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.joint_glm_protocol import JointGlmProtocol
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Columns, Interval
from dpaudit.suite import Chain, controls, inequality, over, privacy
from dpaudit.suite.controls import Control

__all__ = ["rows"]

rows = Group("Algorithm 2 as a program")

NODES = 2
#: An arm and its reward.
ARMS = Columns((Interval(-1, 1), 1), (Interval(0, 1), 1))
#: A node moves by 2 squared at most, a role swap by one unit in either tree, and a call by 2 C = 1.
NODE, CALL, CLIP = Fraction(2**14), Fraction(4), 0.5
TREES = gaussian_mechanism(sensitivity_squared=2, variance=NODE)
STEP = gaussian_mechanism(sensitivity_squared=1, variance=CALL)
#: One arm and its reward for each of three users, as a proof of the program declares them.
USERS = Records(Reals(-1, 1), width=2, size=3)
#: Two nodes, and a call of one optimiser: 4/2^14 + 1/4 squared.
CLAIM = GaussianDP(mu="501/1000", view=EVERYBODY_ELSE, domain=str(ARMS))
SITES = [Site("node", mechanism=TREES, touches=NODES), Site("theta_o", mechanism=STEP)]


def logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def slope(score: float) -> float:
    return logistic(score) * logistic(-score)


#: Criterion I holds at x = 1 as long as V <= 4096, and never at x = 1/4. Estimates are fitted often.
RIGHT = JointGlmProtocol(
    mean=logistic, slope=slope, kappa_star=4.0, node=NODE, call=CALL, clip=CLIP, ridge=1024.0,
    threshold=1 / 4096, growth=0.25, cap_explore=1, cap_exploit=0,
)  # fmt: skip


def on_rows(coins: Coins, users: Any, *, program: JointGlmProtocol) -> None:
    """Run the program on rows (n, 2 K), a user's features and rewards in turn."""
    program(coins, users.reshape(len(users), -1, 2))


#: A user's arm and reward for both neighbours: a reward and a role of the first user, who explores. Then
#: both signs, arms and rewards in between, and the other users.
CHANGES = [
    ("a reward", 0, (1.0, 0.0), (1.0, 1.0)),
    ("a role", 0, (1.0, 0.0), (0.25, 0.0)),
    ("a sign", 0, (-1.0, 0.5), (1.0, 0.0)),
    ("arm and reward", 0, (0.75, 0.25), (-0.625, 1.0)),
    ("a null arm", 0, (0.0, 1.0), (-0.875, 0.5)),
    ("another user's role", 1, (-0.25, 1.0), (-1.0, 0.0)),
    ("another user's sign and reward", 1, (0.25, 0.5), (-0.375, 0.0)),
    ("the last user", 2, (1.0, 0.5), (-0.25, 1.0)),
]


def pairs() -> list[Neighbours]:
    """Yield a pair for each of CHANGES, with arms of 1 and 1/4 and reward 1 for the other users."""
    found = []
    for name, place, here, there in CHANGES:
        others = [(1.0, 1.0), (0.25, 1.0)]
        left, right = (np.array([[*others[:place], user, *others[place:]]]) for user in (here, there))
        found.append(Neighbours(name, left.reshape(3, 1, 2), right.reshape(3, 1, 2)))
    return found


def audit(program: Any) -> PrivacyAudit:
    """Audit ``program`` against a call of the explorers' optimiser."""
    whole = accounted(SITES, declared="a leaf is below two nodes; one call of θ_o")
    return PrivacyAudit(
        claim=CLAIM,
        domain=ARMS,
        program=program,
        neighbours=lambda run: pairs(),
        sites=SITES,
        samples=1,
        proof=billboard(whole, actions="the nodes, the estimates and the user's own arms"),
    )


@privacy(
    rows,
    "SAR-I.7/rounds",
    "Lemma I.7, what its proof protects",
    role="what-if",
    expect="refuted",
    accounting="",
)
def rounds() -> PrivacyAudit:
    """All of {V_t, H_t, θ_o,t, θ_τ,t} is jointly 501/1000-GDP: θ_o fitted in each explored round

    Run Algorithm 2's program with Gaussian noise in the optimiser, as in Remark A.1, with one feature.

    Refuted: whether θ_o is drawn anew after round i reveals whether user i explored, for every κ* and size
    of the noise. Theorem 6.2 is about actions, which follow θ_o and need not reveal this (SAR-T6.2p)

    Note: with P_GD's binomial noise θ_o may repeat its value, with a single step always

    Note: if it is fitted when the released V has grown, as θ_τ is when H has, it is private
    (SAR-A.1/program)
    """
    arms = [[[x, 1.0]] for x in (1.0, 0.25)]
    last = [np.array([*arms, [[x, 0.0]]]) for x in (1.0, 0.25)]
    return replace(
        audit(replace(RIGHT, fit_at="explored", cap_explore=3)),
        neighbours=lambda run: [Neighbours("the last user's role", *last)],
    )


@privacy(
    rows,
    "SAR-A.1/program",
    "Remark A.1",
    role="repaired",
    accounting="",
    repairs="SAR-I.7/rounds",
    prove=USERS,
)
def capped() -> PrivacyAudit:
    """With its cap on, and θ_o fitted as the released V grows, Algorithm 2's exploration is 501/1000-GDP

    Three users, one feature, one call of θ_o and none of θ_τ. Any user's arm and reward change, with both
    signs, including a change of role. The proof also covers rewards below 0.
    """
    return replace(
        audit(partial(on_rows, program=RIGHT)),
        claim=replace(CLAIM, domain=USERS.words),
        domain=Interval(-1, 1),
        neighbours=lambda run: [
            Neighbours(pair.name, pair.left.reshape(3, 2), pair.right.reshape(3, 2)) for pair in pairs()
        ],
    )


# Counts


def played(program: Program, seed: int, users: Any) -> list[tuple[str, Any, Fraction]]:
    """Return site, value and variance of every release of a run."""
    coins = Counting(np.random.default_rng(seed))
    program(coins, users)
    return coins.released


class Counting(Sampler):
    """A sampler that records each released value before its noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.released: list[tuple[str, Any, Fraction]] = []

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        if isinstance(noise, Gaussian):
            self.released.append((site, value, noise.sigma2))
        return super().release(value, noise, site=site, to=to)


@inequality(
    rows, "SAR-A.1", "Remark A.1", kind="structure",
    over=over(cap=(1, 2, 5), fit_at=("explored", "grown"), epsilon="1 8", delta="1/50"),
)  # fmt: skip
def caps(cap: int, fit_at: Literal["explored", "grown"], epsilon: Fraction, delta: Fraction) -> Chain:
    """With the caps on, no run exceeds the cap on optimiser calls, and the budgets of k = cap calls compose
    to (ε, δ)

    Count the calls in runs of 12 users with arms of both roles, 20 seeds. ε₀ is the root of Dwork and
    Roth's Theorem 3.20 at δ' = δ/2, as in the remark, to 10^-9 from below.

    Note: calls within the cap can still reveal in which rounds they are made (SAR-I.7/rounds)
    """
    program = replace(RIGHT, fit_at=fit_at, cap_explore=cap, cap_exploit=cap)
    users = np.array([[[x, 1.0]] for x in (1.0, 0.25, 1.0, 1.0, 0.25, 0.25) * 2])
    sites = [[site for site, _, _ in played(program, seed, users)] for seed in range(20)]
    most = max(max(run.count("theta_o"), run.count("theta_tau")) for run in sites)

    def total(one: Fraction) -> arb:
        e = ball(one)
        return e * (2 * cap * ln(2 / delta)).sqrt() + cap * e * (e.exp() - 1)

    low, high = Fraction(0), epsilon
    while high - low > Fraction(1, 10**9):
        middle = (low + high) / 2
        low, high = (middle, high) if bool(total(middle) < ball(epsilon)) else (low, middle)
    return {
        "calls <= cap": (most, cap),
        "ε₀ √(2k log(2/δ)) + k ε₀ (e^ε₀ - 1) <= ε": (total(low), ball(epsilon)),
    }


def gradients_of(program: JointGlmProtocol, *, expect: str = "refuted") -> Control:
    """Return everything that a reward of the first user affects, in one vector.

    The vector has the user's clipped gradients. They are C or -C in each call for all earlier releases,
    since |θ| <= 1.
    """

    def evaluate(run: Run) -> list[Evidence]:
        pair = pairs()[0]
        both = [
            [
                (float(value), variance)
                for site, value, variance in played(program, 3, users)
                if site == "theta_o"
            ]
            for users in (pair.left, pair.right)
        ]
        variance = both[0][0][1]
        distributions = [
            Gaussian(variance=variance).shift(np.array([value for value, _ in one])) for one in both
        ]
        words = f"gradients of the {len(both[0])} calls of θ_o; {pair.name}"
        return [
            whole_release_witness(
                CLAIM, distributions=distributions, site="theta_o", to=PUBLIC.name, words=words,
                inputs=written_inputs(pair.left.tolist(), pair.right.tolist()),
            )
        ]  # fmt: skip

    return Control(claim=CLAIM, evaluate=evaluate, expect=expect)


@controls(rows, "SAR-A.1/controls", "Remark A.1 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Without the cap on calls, or with the whole budget in each of them, the algorithm is refuted; the
    correct one is not

    The claim is the cost of one call, which equals two calls with twice the variance.
    """
    return {
        "caps not enforced": gradients_of(replace(RIGHT, cap_explore=None)),
        "the optimiser's whole budget at each of two switches": gradients_of(replace(RIGHT, cap_explore=2)),
        "two calls with a share of the budget each": gradients_of(
            replace(RIGHT, cap_explore=2, call=2 * CALL), expect="inconclusive"
        ),
        "correct": gradients_of(RIGHT, expect="inconclusive"),
    }
