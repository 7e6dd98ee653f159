"""The rarely switching algorithm under joint privacy as a program under audit.

Algorithm 2 of Sarmasarkar (2026) in the practical variant of its Remark A.1, with one feature. User t sees an
action. All others see what it is computed from: the nodes of the trees of V and H, both trees' node at once,
each in units of its sensitivity; and the noisy gradient of each call of an optimiser. V's leaf is x² if
criterion I holds, else 0; H's leaf is min(slope, 1/κ*) x² if it does not hold. An optimiser's call is one
step from its last estimate on the clipped gradients of its users, with noise drawn for a number of calls.
``cap_explore`` and ``cap_exploit`` end the calls.

In print theta_o is fitted in every round that explores, and theta_tau in none of them ("explored"): this
reveals whether the round's user explored. With "grown" both are fitted before a round if the released V, or
H, has grown by a factor since the last time, which follows from the nodes. Mean gradients are over all rounds
so far, whose number is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike
from dpaudit.core.views import user
from dpaudit.distributions import Gaussian
from dpaudit.reference.mechanisms.matrix_tree import cover

__all__ = ["JointGlmProtocol"]

#: The least value of V and H, whose released values can be negative.
LEAST = 1e-12


@dataclass(frozen=True, kw_only=True)
class JointGlmProtocol:
    """Algorithm 2 with one feature.

    ``node`` and ``call`` are the variances of a node's entry, in units of its sensitivity, and of a call's
    gradient. ``clip`` is the length of its users' gradients. ``threshold`` is the threshold of criterion I on
    x²/V, ``growth`` the factor of criterion II. ``fit_at`` selects when theta_o is fitted, ``width`` and
    ``beta`` are the radii, ``step`` the optimisers' step. A cap of None means no cap.

    Called with coins and users (n, K, 2), each action's feature and reward, it returns nothing. Raises
    ``InvalidParameterError`` for a clip or ridge that is not positive; when called, for another shape.
    """

    mean: Callable[[float], float]
    slope: Callable[[float], float]
    kappa_star: float
    node: ExactLike
    call: ExactLike
    clip: float
    ridge: float
    threshold: float
    width: float = 1.0
    beta: float = 1.0
    growth: float = 2.0
    step: float = 1.0
    cap_explore: int | None = None
    cap_exploit: int | None = None
    fit_at: Literal["grown", "explored"] = "grown"

    def __post_init__(self) -> None:
        if not self.clip > 0 or not self.ridge > 0:
            raise InvalidParameterError(
                f"clip and ridge must be greater than 0, got {self.clip} and {self.ridge}."
            )

    def __call__(self, coins: Coins, users: Any) -> None:
        given = np.asarray(users, dtype=float)
        if given.ndim != 3 or given.shape[2] != 2:
            raise InvalidParameterError(f"users must have shape (n, K, 2), got {given.shape}.")
        state = _State(self.ridge)
        for t, arms in enumerate(given):
            explores, action = self._choose(coins, state, t, arms[:, 0])
            coins.reveal(action, site="action", to=user(t))
            x, reward = arms[action].tolist()
            weight = min(self.slope(x * state.theta_explore), 1 / self.kappa_star)
            role, square = float(explores), x * x
            leaf = np.array([role * square, (1.0 - role) * weight * square * self.kappa_star])
            state.rounds.append((x, reward, explores))
            state.leaves.append(leaf)
            self._complete(coins, state, t + 1)
            if self.fit_at == "explored" and explores:
                self._explore_fit(coins, state)

    def _choose(self, coins: Coins, state: _State, t: int, features: Any) -> tuple[Any, int]:
        """Return whether criterion I holds, and the played arm; criterion II fits theta_tau before."""
        released = np.zeros(2)
        for key in cover(t):
            released = released + state.nodes[key]
        V = max(self.ridge + float(released[0]), LEAST)
        H = max(self.ridge + float(released[1]) / self.kappa_star, LEAST)
        if self.fit_at == "grown" and t:
            if self.growth * state.grown < V:
                state.grown = V
                self._explore_fit(coins, state)
            self._switch(coins, state, H)
        lengths = np.abs(features) / _root(V)
        explores = lengths.max() ** 2 >= self.threshold
        if self.fit_at == "explored" and not explores:
            self._switch(coins, state, H)
        means = features * state.theta_explore
        left = means + self.width * lengths >= (means - self.width * lengths).max()
        scores = features * state.theta_exploit + self.beta * np.abs(features) / _root(state.switched)
        best = np.where(left, scores, scores.min() - 1.0).argmax()
        return explores, int(lengths.argmax() if explores else best)

    def _switch(self, coins: Coins, state: _State, H: float) -> None:
        state.most = max(state.most, H)
        if state.most > self.growth * state.last and _below(state.calls_exploit, self.cap_exploit):
            state.calls_exploit += 1
            state.last, state.switched = state.most, H
            state.theta_exploit = self._fit(coins, state, False, state.theta_exploit, "theta_tau")

    def _explore_fit(self, coins: Coins, state: _State) -> None:
        if _below(state.calls_explore, self.cap_explore):
            state.calls_explore += 1
            state.theta_explore = self._fit(coins, state, True, state.theta_explore, "theta_o")

    def _complete(self, coins: Coins, state: _State, t: int) -> None:
        """Release the nodes whose last leaf is that of round ``t``, both trees at once."""
        for level in range((t & -t).bit_length()):
            total = np.sum(state.leaves[t - 2**level : t], axis=0)
            state.nodes[level, t >> level] = coins.release(total, Gaussian(variance=self.node), site="node")

    def _fit(self, coins: Coins, state: _State, explored: bool, theta: float, site: str) -> float:
        """Take one noisy step on the rounds with this role.

        The number of rounds so far is public, and the number of those with the role is not.
        """
        total: Any = 0.0
        for x, reward, role in state.rounds:
            gradient = min(max((self.mean(x * theta) - reward) * x, -self.clip), self.clip)
            total = total + gradient * (role == explored)
        shown = coins.release(total, Gaussian(variance=self.call), site=site)
        return float(np.clip(theta - self.step * float(shown) / max(1, len(state.leaves)), -1.0, 1.0))


class _State:
    """The releases, counts and rounds of a run."""

    def __init__(self, ridge: float) -> None:
        self.nodes: dict[tuple[int, int], Any] = {}
        self.leaves: list[Any] = []
        #: The feature and reward of each round, and whether it explored.
        self.rounds: list[tuple[float, float, Any]] = []
        self.theta_explore = self.theta_exploit = 0.0
        self.calls_explore = self.calls_exploit = 0
        self.most = self.last = self.switched = self.grown = ridge


def _root(number: float) -> float:
    """Return the root of a number that is at least LEAST."""
    return max(math.sqrt(number), math.sqrt(LEAST))


def _below(count: int, cap: int | None) -> bool:
    return cap is None or count < cap
