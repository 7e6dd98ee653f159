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
from audits.glm_bandits.rows.joint_program import RIGHT, played
from audits.glm_bandits.rows.joint_program import audit as capped
from audits.glm_bandits.rows.tree_mutants import audit as tree_audit
from audits.glm_bandits.rows.tree_mutants import (
    long_second,
    longer_aslant,
    longer_between,
    trace_shown,
)
from dpaudit.coins import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.privacy import privacy_outcome, short_outcome


def _users(arms: list[float], reward: float = 1.0) -> np.ndarray:
    return np.array([[[x, reward]] for x in arms])


def test_leaves_go_to_the_tree_of_the_role() -> None:
    """x² in V for a long arm, min(slope, 1/κ*) x² in units of 1/κ* in H for a short one; nodes are sums."""
    released = played(RIGHT, 1, _users([1.0, 0.25]))
    nodes = [value for site, value, _ in released if site == "node"]
    assert nodes[0] == pytest.approx([1.0, 0.0])
    weight = nodes[1][1] / 0.25**2
    assert nodes[1][0] == 0
    assert 0 < weight <= 1
    assert nodes[2] == pytest.approx([1.0, nodes[1][1]])


def test_a_call_sees_the_clipped_gradient() -> None:
    """Rewards of 0 and 1 give 1/2 and -1/2 at θ = 0: clipped at 1/2."""
    for reward, sign in ((0.0, 1), (1.0, -1)):
        calls = [v for site, v, _ in played(RIGHT, 2, _users([1.0, 1.0], reward)) if site == "theta_o"]
        assert calls == [pytest.approx(0.5 * sign)]


@pytest.mark.parametrize("cap", [0, 1, 3, None])
def test_caps_count_calls(cap: int | None) -> None:
    """As printed a call in each explored round, up to the cap."""
    program = replace(RIGHT, fit_at="explored", cap_explore=cap)
    released = played(program, 3, _users([1.0, 0.25, 1.0, 1.0, 1.0]))
    made = sum(site == "theta_o" for site, _, _ in released)
    assert made == (4 if cap is None else min(cap, 4))


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
    coins.reveal(int((np.asarray(users)[:, :, 0] < 0).sum()), site="signs")


def middle_shown(coins: Coins, users: Any) -> None:
    """Whether a reward is neither 0 nor 1, beside the rest."""
    RIGHT(coins, users)
    coins.reveal(int((np.asarray(users)[:, :, 1] == 0.5).any()), site="middle")


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
