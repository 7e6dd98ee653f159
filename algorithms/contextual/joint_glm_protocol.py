"""The rarely switching algorithm under joint privacy (Algorithm 2 of Sarmasarkar 2026) as a program under
audit.

User t sees an action. All others see what it is computed from: the nodes of the trees of V and H, both trees'
node at once, each in units of its sensitivity; and the noisy sum of gradients in each step of P_GD. V's leaf
is x xᵀ if Criterion I holds, else 0. H's leaf is μ'(<x, θ_o>)/e x xᵀ if it does not hold.

``JointGlm`` simulates the same algorithm with a replicate axis. Both use the formulas of ``glm_rules`` and
the descent of ``shuffled_gradient_descent``. Without noise they play the same arms.

In print theta_o is fitted in every round that explores, and theta_tau only in rounds that do not
("explored"): this reveals whether the round's user explored. A mean gradient is then over the rounds with
that role. With "grown" both are fitted before a round if the determinant of the released V, or H, has grown
by a factor since the last time, which follows from the nodes. A mean gradient is then over all rounds so far,
whose number is public, with gradient 0 for rounds of the other role. ``cut`` cuts H's weights at 1/κ*, for
which its noise is drawn. ``cap_explore`` and ``cap_exploit`` end the calls (Remark A.1).
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
from dpaudit.reference.algorithms.contextual.glm_history import squared_norms
from dpaudit.reference.algorithms.contextual.glm_rules import (
    definite,
    has_grown,
    is_too_long,
    survivors,
    within,
)
from dpaudit.reference.mechanisms.matrix_tree import cover
from dpaudit.reference.mechanisms.shuffled_gradient_descent import averaged_descent

__all__ = ["Call", "GaussianCall", "JointGlmProtocol"]

#: One noisy sum: from coins, the site and the users' gradients (d,), each of length at most the clip, to
#: their noisy sum (d,).
Call = Callable[[Coins, str, list[Any]], Any]


@dataclass(frozen=True)
class GaussianCall:
    """A sum of gradients with Gaussian noise of this variance in each entry, as in Remark A.1."""

    variance: ExactLike

    def __call__(self, coins: Coins, site: str, gradients: list[Any]) -> Any:
        return coins.release(_total(gradients), Gaussian(variance=self.variance), site=site)


@dataclass(frozen=True, kw_only=True)
class JointGlmProtocol:
    """Algorithm 2 with ``dim`` features and ``arms`` actions.

    ``mean`` and ``slope`` are μ and μ'. ``node`` is the variance of the entries of a node in units of its
    sensitivity: ``v_units`` for V, which is 1/κ* in print, and 1/κ* for H. ``call`` releases the sum of the
    gradients, each cut to length ``clip``, in each of the ``steps`` steps of size ``rate`` of P_GD.
    ``threshold`` is the threshold of Criterion I on ‖x‖² in V^-1, ``growth`` the factor of Criterion II.
    ``param_norm`` is S, ``width`` is γ√κ and ``beta`` the factor of the bonus. A cap of None means no cap.

    Called with coins and users (n, K (d + 1)), the features and the reward of each action in turn, it returns
    nothing. Features longer than 1 are shortened when they are played. Raises ``InvalidParameterError`` for a
    clip, ridge or number that is not positive; when called, for another shape.
    """

    mean: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    kappa_star: float
    dim: int
    arms: int
    node: ExactLike
    call: Call
    clip: float
    ridge: float
    threshold: float
    ridge_upper: float = 0.0
    param_norm: float = 1.0
    width: float = 1.0
    beta: float = 1.0
    growth: float = 2.0
    steps: int = 1
    rate: float = 1.0
    v_units: float = 1.0
    cap_explore: int | None = None
    cap_exploit: int | None = None
    fit_at: Literal["grown", "explored"] = "grown"
    cut: bool = True

    def __post_init__(self) -> None:
        if not min(self.clip, self.ridge, self.dim, self.arms, self.steps) > 0:
            raise InvalidParameterError(
                "clip, ridge, dim, arms and steps must be greater than 0, got "
                f"{self.clip}, {self.ridge}, {self.dim}, {self.arms} and {self.steps}."
            )

    def __call__(self, coins: Coins, users: Any) -> None:
        shape = (len(users), self.arms * (self.dim + 1))
        if np.shape(users) != shape:
            raise InvalidParameterError(f"users must have shape {shape}, got {np.shape(users)}.")
        state = _State(self.ridge, self.dim)
        for t in range(len(users)):
            given = users[t].reshape(self.arms, self.dim + 1)
            features, rewards = given[:, : self.dim], given[:, self.dim]
            explores, action = self._choose(coins, state, t, features)
            coins.reveal(action, site="action", to=user(t))
            x = features[action]
            self._record(state, x / max(float(np.linalg.norm(x)), 1.0), rewards[action], explores)
            self._complete(coins, state, t + 1)
            if self.fit_at == "explored" and explores:
                self._explore_fit(coins, state)

    # The choice of an action

    def _choose(self, coins: Coins, state: _State, t: int, features: Any) -> tuple[Any, Any]:
        """Return whether Criterion I holds, and the played arm; fit estimates before."""
        V, H = self._released(state, t)
        state.V, inverse = V, np.linalg.inv(V)
        if self.fit_at == "grown" and t:
            size = np.linalg.slogdet(V)[1]
            if _below(state.calls_explore, self.cap_explore) and has_grown(size, state.grown, self.growth):
                state.grown = size
                self._explore_fit(coins, state)
            self._switch(coins, state, H)
        lengths = np.maximum(squared_norms(features, inverse), 0.0)
        explores = is_too_long(lengths, self.threshold)
        if self.fit_at == "explored":
            self._switch_late(coins, state, H, explores)
        scores = self._scores(state, features, lengths)
        return explores, int(lengths.argmax() if explores else scores.argmax())

    def _released(self, state: _State, t: int) -> tuple[Any, Any]:
        """Return V and H of the first ``t`` leaves, positive definite."""
        V = H = self.ridge * np.eye(self.dim)
        for key in cover(t):
            V, H = V + state.nodes[key][0], H + state.nodes[key][1]
        return (V, H) if not t else (self._entries(definite(V)), self._entries(definite(H)))

    def _entries(self, matrix: Any) -> Any:
        """Return ``matrix`` entry by entry: then the prover knows its shape."""
        return np.array([[float(matrix[i, j]) for j in range(self.dim)] for i in range(self.dim)])

    def _scores(self, state: _State, features: Any, lengths: Any) -> Any:
        left = survivors(features @ state.theta_explore, self.width * np.sqrt(lengths))
        bonus = np.sqrt(np.maximum(squared_norms(features, state.switch_inverse), 0.0))
        scores = features @ state.theta_exploit + self.beta * bonus
        return np.where(left, scores, scores.min() - 1.0)

    # Estimates

    def _switch_late(self, coins: Coins, state: _State, H: Any, explores: Any) -> None:
        """Follow the print: Criterion II is examined only if Criterion I does not hold."""
        state.most = np.maximum(state.most, np.linalg.slogdet(H)[1])
        if not explores:
            self._switch(coins, state, H)

    def _switch(self, coins: Coins, state: _State, H: Any) -> None:
        state.most = np.maximum(state.most, np.linalg.slogdet(H)[1])
        if _below(state.calls_exploit, self.cap_exploit) and has_grown(state.most, state.last, self.growth):
            state.calls_exploit += 1
            state.last, state.switch_inverse = state.most, np.linalg.inv(H)
            state.theta_exploit = self._fit(
                coins, state, False, "theta_tau", (state.theta_explore, state.V, self.width)
            )

    def _explore_fit(self, coins: Coins, state: _State) -> None:
        if _below(state.calls_explore, self.cap_explore):
            state.calls_explore += 1
            ball = np.zeros(self.dim), np.eye(self.dim), self.param_norm
            state.theta_explore = self._fit(coins, state, True, "theta_o", ball)

    def _fit(self, coins: Coins, state: _State, role: bool, site: str, region: tuple[Any, Any, float]) -> Any:
        """Run P_GD on the rounds with this role, over an ellipsoid of centre, shape and radius ``region``."""
        rounds = state.rounds
        if self.fit_at == "explored":
            rounds = [one for one in rounds if one[2] == role]
        if not rounds:
            return within(np.zeros(self.dim), *region)

        def gradient(step: int, theta: Any) -> Any:
            sent = [self._gradient(theta, x, reward) * (e == role) for x, reward, e in rounds]
            return (self.call(coins, site, sent) + self.ridge_upper * theta) / len(rounds)

        return averaged_descent(
            gradient, lambda theta: within(theta, *region), dim=self.dim, steps=self.steps, rate=self.rate
        )

    def _gradient(self, theta: Any, x: Any, reward: Any) -> Any:
        """Return the gradient of one user's loss, cut to length ``clip``."""
        found = (self.mean(x @ theta) - reward) * x
        return found / max(float(np.linalg.norm(found)) / self.clip, 1.0)

    # Trees

    def _record(self, state: _State, x: Any, reward: Any, explores: Any) -> None:
        """Add a round, and its leaves of V and H in units of their sensitivities."""
        weight = self.slope(x @ state.theta_explore) / math.e * self.kappa_star
        found, role = self._product(x), float(explores)
        if self.cut:
            weight = min(weight, 1.0)
        leaf = np.concatenate([role / self.v_units * found, (1.0 - role) * weight * found])
        if self.cut:  # changes nothing, but the prover sees how long a leaf is
            leaf = leaf / max(float(np.linalg.norm(leaf)) / max(1.0, 1.0 / self.v_units), 1.0)
        state.rounds.append((x, reward, explores))
        state.leaves.append(leaf)

    def _product(self, x: Any) -> Any:
        """Return the entries of x xᵀ on and above the diagonal, in noise units (``matrix_tree``)."""
        return np.array([_unit(i, j) * x[i] * x[j] for i in range(self.dim) for j in range(i, self.dim)])

    def _complete(self, coins: Coins, state: _State, t: int) -> None:
        """Release the nodes whose last leaf is that of round ``t``, both trees at once."""
        for level in range((t & -t).bit_length()):
            shown = self._shown(coins, self._node(state, t, level))
            half = len(shown) // 2
            state.nodes[level, t >> level] = (
                self.v_units * self._matrix(shown, 0),
                self._matrix(shown, half) / self.kappa_star,
            )

    def _node(self, state: _State, t: int, level: int) -> Any:
        return _total(state.leaves[t - 2**level : t])

    def _shown(self, coins: Coins, total: Any) -> Any:
        return coins.release(total, Gaussian(variance=self.node), site="node")

    def _matrix(self, shown: Any, first: int) -> Any:
        """Return the symmetric matrix of entries in noise units from place ``first`` on."""
        d = self.dim
        place = {(i, j): first + i * d - i * (i - 1) // 2 + j - i for i in range(d) for j in range(i, d)}
        entries = {key: shown[k] / _unit(*key) for key, k in place.items()}
        return np.array([[entries[min(i, j), max(i, j)] for j in range(d)] for i in range(d)])


class _State:
    """The releases, counts and rounds of a run."""

    def __init__(self, ridge: float, dim: int) -> None:
        #: V's and H's part of each node.
        self.nodes: dict[tuple[int, int], Any] = {}
        self.leaves: list[Any] = []
        #: The feature and reward of each round, and whether it explored.
        self.rounds: list[tuple[Any, Any, Any]] = []
        self.theta_explore, self.theta_exploit = np.zeros(dim), np.zeros(dim)
        self.calls_explore = self.calls_exploit = 0
        #: Logarithms of determinants.
        self.most = self.last = self.grown = dim * math.log(ridge)
        self.V, self.switch_inverse = ridge * np.eye(dim), np.eye(dim) / ridge


def _total(vectors: list[Any]) -> Any:
    """Return the sum, in a loop: then the prover bounds its change by the length of one vector."""
    total: Any = 0.0
    for vector in vectors:
        total = total + vector
    return total


def _unit(i: int, j: int) -> float:
    return 1.0 if i == j else math.sqrt(2.0)


def _below(count: int, cap: int | None) -> bool:
    return cap is None or count < cap
