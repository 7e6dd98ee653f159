"""Check what follows from the released values.

The rows cover the billboard lemma on one enumerated instance, Remark I.3's switching times, and Lemma H.1
on arm sets of one arm.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from audits.glm_bandits.rows.joint_program import ARMS, RIGHT, STEPS
from dpaudit.certify.build import accounted, billboard, randomised_response
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Sampler
from dpaudit.coins.base import To
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Categories, Records
from dpaudit.core.exact_functions import ln
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import EVERYBODY_ELSE, PUBLIC, user
from dpaudit.distributions import RandomisedResponse
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.joint_glm_protocol import JointGlmProtocol
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import Values
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import Measured, Sides, evidence, inequality, over, privacy

__all__ = ["rows"]

rows = Group("Values computed from releases")

BITS = DataSets(records=3, values=(0, 1))
CLAIM = PureDP(epsilon=1, view=EVERYBODY_ELSE, domain=str(BITS))


def actions(raw: bool) -> Callable[[Coins, Any], None]:
    """Run three users. Each publishes a message, and each action follows all messages and a bit.

    The bit is the user's own or (``raw``) the next user's.
    """

    def program(coins: Coins, data: Any) -> None:
        shown = [
            int(coins.observe(RandomisedResponse(symbols=2, truth=int(bit), epsilon=1), site="message"))
            for bit in data
        ]
        for i in range(len(data)):
            bit = int(data[(i + raw) % len(data)])
            coins.reveal(int(sum(shown) + bit >= 2), site="action", to=user(i))

    return program


#: The same data, as a proof of the program declares them.
DECLARED = Records(Categories(2), size=3)
MESSAGE = Site("message", mechanism=randomised_response(epsilon=1))
RAW = enumerated(CLAIM, actions(True), over=BITS)


@privacy(rows, "SAR-BB", "Billboard lemma, as used in I.7", accounting="", prove=DECLARED)
def own_data() -> PrivacyAudit:
    """Actions that follow an ε-DP signal and the user's own data are jointly ε-DP: three users, two
    actions, ε = 1

    The signal is a randomised response of each user. Each user's bit changes, for all bits of the others.
    """
    sets = [np.array(bits) for bits in itertools.product((0, 1), repeat=3)]
    flips = np.eye(3, dtype=int)
    return PrivacyAudit(
        claim=replace(CLAIM, domain=DECLARED.words),
        domain=Values(0, 1),
        program=actions(False),
        neighbours=lambda run: [
            Neighbours(f"user {i} of {bits.tolist()}", bits, bits ^ flip)
            for bits in sets
            for i, flip in enumerate(flips)
            if not bits[i]  # replayed in both directions
        ],
        sites=[MESSAGE],
        samples=1,
        proof=billboard(
            accounted([MESSAGE], declared="one message"), actions="all messages and the user's own bit"
        ),
    )


@evidence(rows, "SAR-BB/raw", "Billboard lemma, its condition left out", claim=CLAIM, role="what-if",
          expect="refuted", fingerprint=RAW.fingerprint)  # fmt: skip
def raw_data(run: Run) -> Any:
    """Actions that follow an ε-DP signal and the next user's data are jointly ε-DP, all runs enumerated

    Refuted: an action reveals the next user's data
    """
    return RAW(run)


class Fixed(Sampler):
    """A sampler that releases values independent of the data. The rounds of θ_τ's calls are recorded."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.nodes, self.switches = 0, []  # type: ignore[var-annotated]

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self.nodes += site == "node"
        if site == "theta_tau":
            self.switches.append(self.nodes)
        return super().release(np.zeros_like(value), noise, site=site, to=to)


def switches(program: JointGlmProtocol, seed: int, users: Any) -> list[int]:
    """Return the numbers of nodes after which the policy switched."""
    coins = Fixed(np.random.default_rng(seed))
    program(coins, users)
    return coins.switches[::STEPS]


@evidence(
    rows, "SAR-I.3", "Remark I.3", at_most=0, quantity="pairs of data with other switches", kind="structure"
)
def switching_times(run: Run) -> Measured:
    """Criterion II reads only the released H_s: same releases and roles, same switches

    Run Algorithm 2's program with its releases held fixed: 20 seeds, 16 rounds, rewards and lengths of arms
    drawn anew four times, roles kept.

    Note: Criterion II is evaluated only in rounds in which Criterion I does not hold, so T_o matters

    Note: the row does not examine the sparse vector technique, which I.3 calls unnecessary
    """
    program = replace(RIGHT, fit_at="explored", growth=1.05, cap_explore=None, cap_exploit=None)
    roles = np.arange(16) % 3 == 0
    apart, seen = 0, 0
    for seed in range(20):
        rng, found = np.random.default_rng([seed, 1]), []
        for _ in range(4):
            arms = np.where(roles, rng.uniform(0.9, 1, 16), rng.uniform(0.1, 0.3, 16))
            users = np.tile(np.stack([arms, 0 * arms, rng.random(16)], axis=1), ARMS)
            found.append(switches(program, seed, users))
        seen += len(found[0])
        apart += sum(one != found[0] for one in found[1:])
    return Measured(low=apart, high=apart, scope=f"80 runs, {seen} switches in the first of each seed")


def _least_batch(T: int, d: int, q: Fraction) -> arb:
    """Return 128 d log(Td)/q: in a shorter batch the ridge alone gives the bound."""
    return 128 * ball(Fraction(d) / q) * ln(T * d)


@inequality(
    rows, "SAR-H.1", "Lemma H.1", kind="tail",
    over=over(
        T=(10**4, 10**6, 10**9), d=(1, 2, 5), q="1/10 1/2 1", times="11/10 2 10 1000"
    ).where(
        lambda T, d, q, times: bool(ball(times) * _least_batch(T, d, q) <= T), "B <= T"
    ),
)  # fmt: skip
def lengths(T: int, d: int, q: Fraction, times: Fraction) -> Sides:
    """E max ‖x‖² in V⁻¹ is at most 8 d²/B, except with probability 1/T³: V = 16 log(Td) I + Σ x xᵀ

    Each arm set is one arm: e_j with probability q/d each, else 0. The ridge is the least that the lemma
    allows, and its noise is the worst. The mean is Σ (q/d)/(16 log(Td) + n_j), above 8 d²/B only if some
    n_j, which is Bin(B, q/d), is below qB/(8 d) - 16 log(Td). Chernoff's bound for one j is exp(-(qB/d) (1 -
    a + a log a)) at a times the mean; a union over j. B is `times` 128 d log(Td)/q: in a shorter batch the
    ridge alone suffices.

    Note: the O() constant is 8, from V >= B W/8 in the proof. The H_k of later batches have the same form,
    with scaled arms
    """
    need = _least_batch(T, d, q)
    mean = ball(times) * need * ball(q / d)
    share = (1 - 1 / ball(times)) / 8
    return d * (-mean * (1 - share + share * share.log())).exp(), Fraction(1, T**3)


@inequality(
    rows, "SAR-H.1/step", "proof of Lemma H.1, by Lemma H.2", kind="tail", role="step", expect="refuted",
    over=over(T=(20, 10**4, 10**9), d=(1, 5, 50)),
)  # fmt: skip
def by_chernoff(T: int, d: int) -> Sides:
    """H.2 at 3 ε n = 16 log(Td) gives V ≥ (B_1/8) W_1 with probability at least 1 - 1/T⁵: 2 d e^(-εn/8) ≤
    T⁻⁵

    ε n/8 is 2 log(Td)/3, so H.2's bound is 2 d (Td)^(-2/3), whatever the batch.

    Refuted: the step needs a ridge of 24 (5 log T + log 2d). At d = 1 this is more than 7.5 times the 16
    log(Td) that it has. The lemma itself is SAR-H.1
    """
    return 2 * d * (-2 * ln(T * d) / 3).exp(), Fraction(1, T**5)


rows.not_checkable(
    "SAR-J.1",
    reason="a regret bound with a free C, from events that do not imply M.3 (SAR-M.3). Its steps are "
    "SAR-J.1/92 to SAR-J.1/97, and SAR-J.1/given has C = 86. At S = 1, ε = 1, d = 1, c = 1 its second "
    "term, 8 d R³ κ γ² log T, is above T at T = 10⁶ and a half of it at 10⁷. What follows from it is "
    "SAR-T6.2/from-J.1",
)
