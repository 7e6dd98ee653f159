"""Audit Algorithm 2 as a program: what its rounds of exploration reveal, and the practical variant with
known mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dpaudit.certify.build import accounted, billboard, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.coins import Coins, Program, Sampler
from dpaudit.coins.base import To
from dpaudit.core.claims import GaussianDP
from dpaudit.core.claims.base import Adjacency
from dpaudit.core.data import Interval as Reals
from dpaudit.core.data import Records
from dpaudit.core.errors import BrokenHarnessError
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import EVERYBODY_ELSE, PUBLIC
from dpaudit.distributions import Gaussian
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.algorithms.contextual.joint_glm_protocol import GaussianCall, JointGlmProtocol
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Declared
from dpaudit.replay.privacy import privacy_outcome, short_outcome
from dpaudit.suite import (
    Chain,
    broken,
    controls,
    evidence,
    full,
    inequality,
    over,
    privacy,
)
from dpaudit.suite.attempts import program_files
from dpaudit.suite.controls import Control
from dpaudit.suite.program_proofs import evidence_of

__all__ = ["rows"]

rows = Group("Algorithm 2 as a program")

ROUNDS, ARMS, DIM = 8, 2, 2
#: The features and the reward of each of two actions, for each of eight users.
USERS = Records(Reals(-1, 1), width=ARMS * (DIM + 1), size=ROUNDS)
#: Nodes above a leaf, and steps of a call.
NODES, STEPS = 4, 2
#: A leaf of both trees has length 1 at most, in the units of its noise: it moves by √2 if it is replaced,
#: also if the role changes. A gradient moves by 2 C.
NODE, CALL, CLIP = Fraction(32), Fraction(1, 2), 0.125
TREES = gaussian_mechanism(sensitivity_squared=2, variance=NODE)
STEP = gaussian_mechanism(sensitivity_squared="1/16", variance=CALL)
SITES = [
    Site("node", mechanism=TREES, touches=NODES),
    Site("theta_o", mechanism=STEP, touches=STEPS),
    Site("theta_tau", mechanism=STEP, touches=STEPS),
]
#: 4 nodes at 2/32, and two calls of two steps at 1/8: 3/4 squared in all.
CLAIM = GaussianDP(mu="867/1000", view=EVERYBODY_ELSE, domain=USERS.words)


def logistic(score: Any) -> Any:
    return 1 / (1 + np.exp(-score))


def slope(score: Any) -> Any:
    return logistic(score) * logistic(-score)


#: Criterion I holds at V = λI for arms longer than 0.71. Noise alone often makes a determinant grow by 1/4.
RIGHT = JointGlmProtocol(
    mean=logistic, slope=slope, kappa_star=4.0, dim=DIM, arms=ARMS, node=NODE, call=GaussianCall(CALL),
    clip=CLIP, ridge=32.0, ridge_upper=0.5, threshold=1 / 64, growth=1.25, steps=STEPS, rate=4.0,
    cap_explore=1, cap_exploit=1,
)  # fmt: skip


def user_of(*numbers: float) -> tuple[float, ...]:
    """Return a user with one action twice, or with two: features and reward."""
    return numbers if len(numbers) == USERS.width else numbers * ARMS


#: A place, and the user there for both neighbours: a reward, a direction and a role of the first user, who
#: explores; then signs, users with two actions, oblique, short and zero arms in other places.
CHANGES = [
    ("a reward", 0, user_of(1, 0, 0), user_of(1, 0, 1)),
    ("a direction", 0, user_of(1, 0, 0), user_of(0, 1, 0)),
    ("a role", 0, user_of(1, 0, 0), user_of(0.25, 0, 0)),
    ("a sign", 0, user_of(-0.6, 0.8, 0.5), user_of(0.6, -0.8, 1)),
    ("two actions", 1, user_of(1, 0, 0.25, 0, 0.5, 1), user_of(0.25, 0.25, 1, -0.5, 0, 0)),
    ("no arm", 2, user_of(0, 0, 1), user_of(-0.8, 0.6, 0.5)),
    ("short arms", 3, user_of(0.25, 0.5, 0), user_of(-0.5, 0.125, -0.25, 0.375, 0.25, 0.75)),
    ("a longer arm", 4, user_of(1, 1, 1), user_of(-0.28, 0.96, 0)),
    ("a reward below 0", 5, user_of(0.6, 0.8, -1), user_of(0.6, 0.8, 1)),
    ("the last user", 7, user_of(0, -1, 0.5), user_of(-0.25, 0, 1)),
]
OTHERS = [user_of(1, 0, 1), user_of(0, 0.25, 0), user_of(0.6, 0.8, 0, -0.25, 0.5, 1), user_of(0.25, 0, 1)]


def pairs(users: int = ROUNDS) -> list[Neighbours]:
    """Yield a pair for each of CHANGES, with the other users from OTHERS in turn."""
    return [replaced(*change, users=users) for change in CHANGES if change[1] < users]


def replaced(
    name: str, place: int, here: Any, there: Any, *, others: Sequence[Any] = OTHERS, users: int = ROUNDS
) -> Neighbours:
    """Return the pair in which the user at ``place`` changes."""
    left, right = (
        np.array([one if k == place else others[k % len(others)] for k in range(users)], dtype=float)
        for one in (here, there)
    )
    return Neighbours(name, left, right)


def of_users(users: int) -> GaussianDP:
    return replace(CLAIM, domain=replace(USERS, size=users).words)


def audit(program: Any, users: int = ROUNDS) -> PrivacyAudit:
    """Audit ``program`` against the nodes and one call of each optimiser."""
    whole = accounted(SITES, declared="a leaf is below four nodes; one call of θ_o and one of θ_τ")
    return PrivacyAudit(
        claim=of_users(users),
        domain=Declared(replace(USERS, size=users), Adjacency.REPLACE_ONE),
        program=program,
        neighbours=lambda run: pairs(users),
        sites=SITES,
        samples=1,
        proof=billboard(whole, actions="the nodes, the estimates and the user's own arms"),
    )


def last_role() -> Neighbours:
    """Return a pair in which only the last user's role changes."""
    return replaced("the last user's role", ROUNDS - 1, user_of(1, 0, 0), user_of(0.25, 0, 0))


@privacy(
    rows,
    "SAR-I.7/rounds",
    "Lemma I.7, what its proof protects",
    role="what-if",
    expect="refuted",
    accounting="",
)
def rounds() -> PrivacyAudit:
    """All of {V_t, H_t, θ_o,t, θ_τ,t} is jointly 867/1000-GDP: θ_o fitted in each explored round

    Run Algorithm 2 as a program: eight users, two features, two actions, both trees, both criteria as
    printed, and P_GD with two steps and Gaussian noise, as in Remark A.1.

    Refuted: whether θ_o is drawn anew after round i reveals whether user i explored, for every κ* and size
    of the noise. Theorem 6.2 is about actions, which follow θ_o and need not reveal this (SAR-T6.2p)

    Note: with P_GD's binomial noise θ_o may repeat its value, with a single step always

    Note: if it is fitted when the released V has grown, as θ_τ is when H has, it is private
    (SAR-A.1/program)
    """
    printed = replace(RIGHT, fit_at="explored", cap_explore=None, cap_exploit=None)
    return replace(audit(printed), neighbours=lambda run: [last_role()])


def attacked(made: PrivacyAudit, run: Run) -> Outcome:
    """Return the certificate and the results of replays: all of them in the full profile.

    In the quick profile every pair is replayed once in either direction, and results count if they refute.
    """
    if run.profile == "full":
        return privacy_outcome(made, run)
    found = short_outcome(made, run) or Outcome([])
    certified = [] if made.whole is None else [made.whole.certify(made.claim)]
    return replace(found, evidence=[*certified, *found.evidence])


@evidence(
    rows, "SAR-A.1/program", "Remark A.1", claim=of_users, over=over(users=(2, full(3), ROUNDS)),
    role="repaired", repairs="SAR-I.7/rounds",
    expect=lambda users: "verified" if users < ROUNDS else "consistent",
)  # fmt: skip
def capped(run: Run, users: int) -> Outcome:
    """Algorithm 2 with caps on, θ_o fitted as the released V grows, V's noise for 1 and H's weights cut at
    1/κ* is 867/1000-GDP

    Two features and two actions. Both trees, Criteria I and II, one call of each optimiser with two steps.
    Replays change any user's arms and rewards, with a change of role, and the others' actions follow. A
    user is below at most four nodes. For two and three users the program is proved for all arms and rewards
    in [-1, 1], on all paths of the calls and for all outcomes.
    """
    found = attacked(audit(RIGHT, users), run)
    if users == ROUNDS:
        return found
    proof = evidence_of(RIGHT, of_users(users), replace(USERS, size=users), files=program_files())
    return replace(found, evidence=[*found.evidence, *proof.evidence], notes=[*found.notes, *proof.notes])


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
        if noise.gaussian_variance is not None:
            self.released.append((site, value, noise.gaussian_variance))
        return super().release(value, noise, site=site, to=to)


@inequality(
    rows, "SAR-A.1", "Remark A.1", kind="structure",
    over=over(cap=(1, 2, 5), fit_at=("explored", "grown"), epsilon="1 8", delta="1/50"),
)  # fmt: skip
def caps(cap: int, fit_at: Literal["explored", "grown"], epsilon: Fraction, delta: Fraction) -> Chain:
    """With the caps on, no run exceeds the cap on optimiser calls, and the budgets of k = cap calls compose
    to (ε, δ)

    Count the calls, of two steps each, in runs of 12 users with arms of both roles, 20 seeds. ε₀ is the root
    of Dwork and Roth's Theorem 3.20 at δ' = δ/2, as in the remark, to 10^-9 from below.

    Note: calls within the cap can still reveal in which rounds they are made (SAR-I.7/rounds)
    """
    program = replace(RIGHT, fit_at=fit_at, cap_explore=cap, cap_exploit=cap)
    users = np.array([user_of(x, 0, 1) for x in (1.0, 0.25, 1.0, 1.0, 0.25, 0.25) * 2])
    sites = [[site for site, _, _ in played(program, seed, users)] for seed in range(20)]
    most = Fraction(max(max(run.count("theta_o"), run.count("theta_tau")) for run in sites), STEPS)

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


# Mistakes

#: All users explore, and each has the same action twice: all releases but their noise follow from the data.
EXPLORES = replace(RIGHT, threshold=0.0, growth=1e-9, ridge_upper=0.0)
#: The trees alone: 4 nodes at 2/32.
TREES_ALONE = replace(EXPLORES, cap_explore=0, cap_exploit=0)
TREES_CLAIM = replace(CLAIM, mu="501/1000")
SAME = [user_of(1, 0, 1)]
REWARD = replaced("a reward", 0, user_of(1, 0, 0), user_of(1, 0, 1), others=SAME)
DIRECTION = replaced("a direction", 3, user_of(1, 0, 1), user_of(0, 1, 1), others=SAME)


class LeafMore(JointGlmProtocol):
    """A node has the leaf before its first one as well."""

    def _node(self, state: Any, t: int, level: int) -> Any:
        return np.sum(state.leaves[max(0, t - 2**level - 1) : t], axis=0)


class OneDraw(JointGlmProtocol):
    """V's and H's part of a node have the same noise, so that their difference is shown."""

    def _shown(self, coins: Coins, total: Any) -> Any:
        half = len(total) // 2
        shown = super()._shown(coins, total[:half])
        apart = coins.reveal(total[half:] - total[:half], site="difference")
        return np.concatenate([shown, shown + apart])


class RawRole(JointGlmProtocol):
    """Criterion I holds if the first reward is at least 1/2."""

    def _choose(self, coins: Coins, state: Any, t: int, features: Any) -> tuple[Any, Any]:
        explores, action = super()._choose(coins, state, t, features)
        return explores and (t == 0 or state.rounds[0][1] >= 0.5), action


class RawLeaf(JointGlmProtocol):
    """V of a round has the last leaf without noise, 1000 times."""

    def _released(self, state: Any, t: int) -> tuple[Any, Any]:
        V, H = super()._released(state, t)
        return (V + 1000 * self._matrix(state.leaves[-1], 0) if t else V), H


def other(kind: type[JointGlmProtocol], right: JointGlmProtocol) -> JointGlmProtocol:
    """Return ``right`` with the mistake of ``kind``."""
    return kind(**{name.name: getattr(right, name.name) for name in fields(right)})


def all_of(
    program: JointGlmProtocol, pair: Neighbours, claim: GaussianDP = CLAIM, *, expect: str = "refuted"
) -> Control:
    """Return the exact loss of all releases of a program whose values follow from the data.

    Values are in units of their noise. Two runs with other noise must agree.
    """

    def evaluate(run: Run) -> list[Evidence]:
        one, again = (
            [_in_units(played(program, seed, users)) for users in (pair.left, pair.right)] for seed in (3, 4)
        )
        if not all(np.allclose(x, y, rtol=0, atol=1e-9) for x, y in zip(one, again, strict=True)):
            raise BrokenHarnessError("the releases of this control must follow from its data.")
        return [
            whole_release_witness(
                claim, distributions=[Gaussian(variance=1).shift(np.round(values, 9)) for values in one],
                site="all", to=PUBLIC.name, words=f"all nodes and gradients; {pair.name}",
                inputs=written_inputs(pair.left.tolist(), pair.right.tolist()),
            )
        ]  # fmt: skip

    return Control(claim=claim, evaluate=evaluate, expect=expect)


def _in_units(released: list[tuple[str, Any, Fraction]]) -> Any:
    return np.concatenate([np.ravel(value) / math.sqrt(variance) for _, value, variance in released])


def instead(program: Any, pair: Neighbours) -> Control:
    """Audit ``program`` instead of the right one, at one pair."""
    made = replace(audit(RIGHT), neighbours=lambda run: [pair])
    return broken(made, lambda right: program)


def turned(others: Any) -> Neighbours:
    return replaced("a direction", 0, user_of(1, 0, 1), user_of(0, 1, 1), others=[others])


@controls(rows, "SAR-A.1/controls", "Algorithm 2 with deliberate mistakes")
def mistakes() -> Mapping[str, Control]:
    """Every broken program of Algorithm 2 is refuted, and the correct one is not

    Eight users, two features. The claim is that of SAR-A.1/program, or 501/1000 for the trees alone. Where
    the loss is of all releases, all users explore, or none does, and nothing but noise is drawn.
    """
    short = replace(TREES_ALONE, threshold=math.inf, kappa_star=100.0)
    uncut = replace(short, cut=False)
    return {
        "half of the nodes' scale": all_of(replace(TREES_ALONE, node=NODE / 4), DIRECTION, TREES_CLAIM),
        "V's noise for 1/κ*": all_of(replace(TREES_ALONE, v_units=0.25), DIRECTION, TREES_CLAIM),
        "a leaf too many in a node": all_of(other(LeafMore, TREES_ALONE), DIRECTION, TREES_CLAIM),
        "H's weights not cut at 1/κ*": all_of(uncut, DIRECTION, TREES_CLAIM),
        "half of the gradients' scale": all_of(replace(EXPLORES, call=GaussianCall(CALL / 4)), REWARD),
        "gradients not clipped": all_of(replace(EXPLORES, clip=1.0, steps=1), REWARD),
        "caps not enforced": all_of(replace(EXPLORES, cap_explore=None), REWARD),
        "the whole budget at each of four calls": all_of(replace(EXPLORES, cap_explore=4), REWARD),
        "the first reward decides Criterion I": all_of(other(RawRole, TREES_ALONE), REWARD, TREES_CLAIM),
        "V and H share their noise": instead(other(OneDraw, RIGHT), pairs()[2]),
        "the last leaf without noise in V": instead(
            other(RawLeaf, RIGHT), turned(user_of(0.6, 0.5, 0, 0.5, 0.6, 0))
        ),
        "correct, trees": all_of(TREES_ALONE, DIRECTION, TREES_CLAIM, expect="inconclusive"),
        "correct, none explores": all_of(short, DIRECTION, TREES_CLAIM, expect="inconclusive"),
        "correct, all releases": all_of(EXPLORES, REWARD, expect="inconclusive"),
        "correct": Control(
            claim=CLAIM, evaluate=lambda run: attacked(audit(RIGHT), run), expect="consistent"
        ),
    }
