"""Algorithm 2 as a program: its trees, caps and switches, by hand and by a second route."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.rows.dependence import lengths, switches
from audits.glm_bandits.rows.joint_program import (
    CALL,
    NODE,
    RIGHT,
    STEPS,
    USERS,
    LeafMore,
    OneDraw,
    RawLeaf,
    RawRole,
    of_users,
    other,
    played,
    user_of,
)
from audits.glm_bandits.rows.joint_program import audit as capped
from audits.glm_bandits.rows.tree_mutants import audit as tree_audit
from audits.glm_bandits.rows.tree_mutants import (
    long_second,
    longer_aslant,
    longer_between,
    trace_shown,
)
from dpaudit.coins import Coins, Sampler
from dpaudit.coins.base import To
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import PUBLIC
from dpaudit.distributions.base import Distribution
from dpaudit.prover.values.prove import prove_values
from dpaudit.reference.algorithms.contextual.glm_optimisers import FitCall
from dpaudit.reference.algorithms.contextual.joint_glm import JointConstants, JointGlm
from dpaudit.reference.algorithms.contextual.joint_glm_protocol import GaussianCall, JointGlmProtocol
from dpaudit.reference.algorithms.contextual.links import logistic as logistic_link
from dpaudit.reference.mechanisms.shuffled_gradient_descent import averaged_descent
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.privacy import privacy_outcome, short_outcome
from dpaudit.suite.attempts import program_files


def _users(lengths: list[float], reward: float = 1.0) -> np.ndarray:
    return np.array([user_of(x, 0, reward) for x in lengths])


def _nodes(program: JointGlmProtocol, users: np.ndarray) -> list[np.ndarray]:
    return [value for site, value, _ in played(program, 1, users) if site == "node"]


def test_leaves_go_to_the_tree_of_the_role() -> None:
    """x xᵀ in V for a long arm, μ'/e x xᵀ in units of 1/κ* in H for a short one; nodes are sums."""
    nodes = _nodes(replace(RIGHT, cap_explore=0), _users([1.0, 0.25]))
    assert nodes[0] == pytest.approx([1, 0, 0, 0, 0, 0])
    weight = 4 * 0.25 / math.e  # κ* μ'(0)/e
    assert nodes[1] == pytest.approx([0, 0, 0, weight / 16, 0, 0])
    assert nodes[2] == pytest.approx(nodes[0] + nodes[1])


def test_entries_off_the_diagonal_count_twice() -> None:
    """The length of a leaf is ‖x‖², and the released matrix is symmetric again."""
    x = (0.6, 0.8)
    leaf = _nodes(RIGHT, np.array([user_of(*x, 1)]))[0][:3]
    assert np.linalg.norm(leaf) == pytest.approx(1)
    np.testing.assert_allclose(RIGHT._matrix(leaf, 0), np.outer(x, x))


def test_a_call_sees_the_clipped_gradients() -> None:
    """Rewards of 0 and 1 give gradients of 1/2 and -1/2 at θ = 0, cut to 1/8, in each of two steps."""
    program = replace(RIGHT, growth=1e-9)
    for reward, sign in ((0.0, 1), (1.0, -1)):
        released = played(program, 2, _users([1.0, 1.0], reward))
        calls = [value for site, value, _ in released if site == "theta_o"]
        assert calls == [pytest.approx([0.125 * sign, 0])] * STEPS


@pytest.mark.parametrize("cap", [0, 1, 3, None])
def test_caps_count_calls(cap: int | None) -> None:
    """As printed a call in each explored round, up to the cap."""
    program = replace(RIGHT, fit_at="explored", threshold=0.5 / 32, cap_explore=cap, node=Fraction(1, 100))
    released = played(program, 3, _users([1.0, 0.25, 1.0, 1.0, 1.0]))
    made = sum(site == "theta_o" for site, _, _ in released)
    assert made == STEPS * (4 if cap is None else min(cap, 4))


def test_switches_follow_roles_but_not_rewards() -> None:
    """With releases held fixed: the same for other rewards, not the same for other roles."""
    program = replace(RIGHT, fit_at="explored", growth=1.05, cap_explore=None, cap_exploit=None)
    arms = [1.0, 0.25, 0.25] * 5
    same, apart = 0, 0
    for seed in range(10):
        first = switches(program, seed, _users(arms))
        same += first == switches(program, seed, _users(arms, 0.0))
        apart += first != switches(program, seed, _users(arms[::-1]))
    assert same == 10
    assert apart > 0


class Silent(Sampler):
    """Coins without noise, and the actions shown."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(0))
        self.actions: list[int] = []
        self.calls: list[str] = []

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self.calls += [site] * (site != "node")
        return value

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self.actions.append(int(value))
        return value


def _fit(call: FitCall, rng: np.random.Generator) -> np.ndarray:
    def gradient(step: int, theta: np.ndarray) -> np.ndarray:
        residuals = call.link.mean(call.points @ theta) - call.rewards
        return np.asarray(residuals @ call.points + call.ridge * theta) / len(call.points)

    if not len(call.points):
        return np.asarray(call.project(np.zeros(2)))
    return np.asarray(averaged_descent(gradient, call.project, dim=2, steps=STEPS, rate=4.0))


@pytest.mark.parametrize("seed", range(4))
def test_the_simulation_plays_the_same_without_noise(seed: int) -> None:
    """Same arms, calls of θ_o and calls of θ_τ in 60 rounds of the printed algorithm, by two programs."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(60, 3, 2))
    arms /= np.maximum(np.linalg.norm(arms, axis=2, keepdims=True), 1)
    arms *= rng.choice([0.3, 1.0], size=(60, 1, 1))
    rewards = rng.integers(0, 2, size=(60, 3)).astype(float)
    constants = JointConstants(
        horizon=60, dim=2, param_norm=1.0, ridge=1.0, ridge_upper=0.5, width=0.5, beta=0.7, threshold=0.1,
        call_explore=(1.0, 0.1), call_exploit=(1.0, 0.1), std_explore=0.0, std_exploit=0.0, growth=1.2,
    )  # fmt: skip
    policy = JointGlm(constants, logistic_link(), _fit, replicates=1, rng=rng)
    expected = []
    for t in range(60):
        arm = int(policy.choose(t, arms[t])[0])
        expected.append(arm)
        policy.learn(t, arms[t][[arm]], rewards[t][[arm]])
    coins = Silent()
    program = replace(
        RIGHT, arms=3, clip=10.0, ridge=1.0, ridge_upper=0.5, width=0.5, beta=0.7, threshold=0.1, growth=1.2,
        fit_at="explored", cut=False, cap_explore=None, cap_exploit=None,
    )  # fmt: skip
    program(coins, np.concatenate([arms, rewards[:, :, None]], axis=2).reshape(60, 9))
    assert coins.actions == expected
    for site, name in (("theta_o", "calls theta_o"), ("theta_tau", "calls theta_tau")):
        made = STEPS * int(policy.counts[name][0])
        assert coins.calls.count(site) == made > 0


class RawSwitch(JointGlmProtocol):
    """Criterion II also requires that the last reward is at least 1/2."""

    def _switch(self, coins: Coins, state: Any, H: Any) -> None:
        if state.rounds[-1][1] >= 0.5:
            super()._switch(coins, state, H)


class RawMean(JointGlmProtocol):
    """The mean gradient of θ_o is over the rounds that explored, whose number is private."""

    def _fit(self, coins: Coins, state: Any, role: bool, site: str, region: Any) -> Any:
        found = super()._fit(coins, state, role, site, region)
        return found / max(1.0, sum(float(e) for _, _, e in state.rounds))


WRONG = {
    "half of the nodes' scale": replace(RIGHT, node=NODE / 4),
    "half of the gradients' scale": replace(RIGHT, call=GaussianCall(CALL / 4)),
    "two calls of θ_o": replace(RIGHT, steps=STEPS + 1, cap_explore=2, cap_exploit=0),
    "three steps": replace(RIGHT, steps=STEPS + 1),
    "a longer clip": replace(RIGHT, clip=0.25),
    "V's noise for 1/κ*": replace(RIGHT, v_units=0.25),
    "weights not cut": replace(RIGHT, cut=False, kappa_star=100.0),
    "as printed": replace(RIGHT, fit_at="explored"),
    "a leaf too many": replace(other(LeafMore, RIGHT), cap_exploit=0),
    **{kind.__name__: other(kind, RIGHT) for kind in (OneDraw, RawRole, RawLeaf, RawSwitch, RawMean)},
}


@pytest.mark.parametrize("name", WRONG)
def test_the_prover_verifies_no_wrong_program(name: str) -> None:
    """Three users for mistakes that two do not show. Without its mistake each of these is verified."""
    users = 3 if name in ("two calls of θ_o", "a leaf too many") else 2
    claim, data = of_users(users), replace(USERS, size=users)
    found = prove_values(WRONG[name], claim, data=data, files=[*program_files(), __file__])
    assert found.verdict != "verified"


def test_chernoff_is_above_the_binomial_tail() -> None:
    """Lemma H.1's row bounds d P(Bin(B, q/d) < qB/(8 d) - 16 log(Td)), at a batch of whole length."""
    T, d, q, B = 2, 2, Fraction(1, 2), 800
    times = Fraction(B / (128 * d / float(q) * math.log(T * d)))
    found, level = lengths(T, d, q, times)
    limit = B / 32 - 16 * math.log(T * d)
    assert 1 < limit < 5
    assert float(found) >= d * stats.binom.cdf(math.ceil(limit) - 1, B, 0.25) > 0
    assert 0 < float(found) < float(level)


def signs_shown(coins: Coins, users: Any) -> None:
    """How many arms are negative, beside the rest."""
    RIGHT(coins, users)
    coins.reveal(int((np.asarray(users)[:, 0] < 0).sum()), site="signs")


def middle_shown(coins: Coins, users: Any) -> None:
    """Whether a reward is neither 0 nor 1, beside the rest."""
    RIGHT(coins, users)
    coins.reveal(int((np.asarray(users)[:, 2] == 0.5).any()), site="middle")


@pytest.mark.parametrize(
    "made",
    [
        *(replace(capped(RIGHT), program=program) for program in (signs_shown, middle_shown)),
        *(tree_audit(program) for program in (longer_between, longer_aslant, trace_shown, long_second)),
    ],
    ids=["signs", "rewards", "middle lengths", "oblique arms", "traces", "a long arm"],
)
def test_the_audits_see_all_of_their_domain(made: PrivacyAudit) -> None:
    """Mistakes at arms and rewards away from the corners are refuted by the replays."""
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    found = short_outcome(made, run) or privacy_outcome(made, run)
    verdict = judge(made.claim, found.evidence, unmet=found.unmet, alpha=0.01).verdict
    assert verdict is VerdictKind.REFUTED


def test_refusals() -> None:
    """No clip, data of another shape."""
    with pytest.raises(InvalidParameterError):
        replace(RIGHT, clip=0.0)
    with pytest.raises(InvalidParameterError):
        played(RIGHT, 1, np.zeros((2, 2)))
