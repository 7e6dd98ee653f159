"""Linear UCB with concurrent shufflers, simulated: Algorithm 4 of Tenenbaum, Kaplan, Mansour and Stemmer
(ICML 2023).

User t plays with the estimates of step t - 1. V and u change when a batch is full, the radius in every round.
Sums of batches are exact sums plus the noise of the nodes of V_t, one draw per node, for all replicates at
once:

    state = init(policy, replicates, dim)
    arms = choose(policy, state, features)
    state = step(policy, state, batch, rng)     # after each user

The program under audit is in ``concurrent_linucb_protocol``; this file simulates regret. Both choose by
``optimism``. Batches that are
open at the end never report. A V_t that is not positive definite is used unchanged, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.environments import Batch, Environment
from dpaudit.reference.algorithms.contextual.optimism import optimistic_scores
from dpaudit.reference.mechanisms.concurrent_tree import Tree
from dpaudit.reference.mechanisms.prefix_noise import NodeNoise
from dpaudit.suite.regret import RegretRuns, Seed, checked_grid, root_of

__all__ = ["ConcurrentPolicy", "ConcurrentRuns", "ConcurrentState", "choose", "init", "simulate", "step"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConcurrentPolicy:
    """Algorithm 4 over ``tree``, with ``ridge`` λ > 0 and ``radius(t)`` after t rounds.

    The noises of an entry of a node's vector and matrix are given by height, the lowest first; none for exact
    sums. Raises ``InvalidParameterError`` for a ridge that is not positive, or noises for another number of
    heights.
    """

    tree: Tree
    ridge: float
    radius: Callable[[int], float]
    vec_noise: Sequence[NodeNoise] = ()
    mat_noise: Sequence[NodeNoise] = ()

    def __post_init__(self) -> None:
        heights = self.tree.n_shufflers
        if not self.ridge > 0 or {len(self.vec_noise), len(self.mat_noise)} - {0, heights}:
            raise InvalidParameterError(
                f"ridge must be greater than 0 and noises one for each of {heights} heights, or none, got "
                f"{self.ridge}, {len(self.vec_noise)} and {len(self.mat_noise)}."
            )


class ConcurrentState(NamedTuple):
    """The state after ``time`` rounds.

    It holds the exact sums of all users, ``gram`` (R, d, d) and ``reward_vec`` (R, d); the same of the users
    in full batches; the noise in V_t's nodes by height, (k, R, d) and (k, R, d, d); and what users are sent.
    """

    time: int
    gram: Floats
    reward_vec: Floats
    full_gram: Floats
    full_reward_vec: Floats
    vec: Floats
    mat: Floats
    theta_hat: Floats
    inverse: Floats
    indefinite: Ints

    @property
    def mat_error(self) -> Floats:
        """Return H'_t = V'_t - Σ x xᵀ over all users, (R, d, d): noise, minus the users who are not
        reported yet.
        """
        return np.asarray(self.full_gram + self.mat.sum(axis=0) - self.gram)

    @property
    def vec_error(self) -> Floats:
        """Return h_t = u_t - Σ x y over all users, (R, d)."""
        return np.asarray(self.full_reward_vec + self.vec.sum(axis=0) - self.reward_vec)


def init(policy: ConcurrentPolicy, replicates: int, dim: int) -> ConcurrentState:
    """Return the state before the first user: u = 0 and V = λI."""
    k, zeros, square = policy.tree.n_shufflers, np.zeros((replicates, dim)), np.zeros((replicates, dim, dim))
    return ConcurrentState(
        time=0,
        gram=square,
        reward_vec=zeros,
        full_gram=square,
        full_reward_vec=zeros,
        vec=np.zeros((k, replicates, dim)),
        mat=np.zeros((k, replicates, dim, dim)),
        theta_hat=zeros,
        inverse=np.tile(np.eye(dim) / policy.ridge, (replicates, 1, 1)),
        indefinite=np.zeros(replicates, dtype=np.int64),
    )


def choose(policy: ConcurrentPolicy, state: ConcurrentState, features: Floats) -> Ints:
    """Return the arm of each replicate, the largest <x, θ> + β ‖x‖ in V^-1, from features (R, K, d).

    The first arm wins ties.
    """
    mean = np.matmul(features, state.theta_hat[:, :, None])[:, :, 0]
    weights = np.matmul(features, state.inverse)
    scores = optimistic_scores(features, weights, mean, policy.radius(state.time), axis=2)
    return np.asarray(scores.argmax(axis=1))


def step(
    policy: ConcurrentPolicy, state: ConcurrentState, batch: Batch, rng: np.random.Generator
) -> ConcurrentState:
    """Return the state after one more user; V and u are renewed when a batch is full."""
    time = state.time + 1
    gram, reward_vec = state.gram + batch.gram(), state.reward_vec + batch.reward_vec()
    state = state._replace(time=time, gram=gram, reward_vec=reward_vec)
    full = [height for height, size in enumerate(policy.tree.sizes) if time % size == 0]
    if not full:
        return state
    vec, mat = _noise(policy, state, full[-1], rng)
    total = gram + mat.sum(axis=0) + policy.ridge * np.eye(gram.shape[-1])
    inverse = np.linalg.inv(total)
    return state._replace(
        full_gram=gram,
        full_reward_vec=reward_vec,
        vec=vec,
        mat=mat,
        theta_hat=np.matmul(inverse, (reward_vec + vec.sum(axis=0))[:, :, None])[:, :, 0],
        inverse=inverse,
        indefinite=state.indefinite + (np.linalg.eigvalsh(total)[:, 0] <= 0),
    )


def _noise(
    policy: ConcurrentPolicy, state: ConcurrentState, height: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Add a node of the highest full ``height`` to its siblings, and drop the nodes below it."""
    vec, mat = state.vec.copy(), state.mat.copy()
    vec[:height], mat[:height] = 0.0, 0.0
    if policy.vec_noise:
        vec[height] += policy.vec_noise[height].draw_noise(rng, vec.shape[1:])
    if policy.mat_noise:
        upper = np.triu(policy.mat_noise[height].draw_noise(rng, mat.shape[1:]))
        mat[height] += upper + np.triu(upper, 1).swapaxes(-1, -2)
    return vec, mat


@dataclass(frozen=True, eq=False)
class ConcurrentRuns:
    """Pseudo-regret by run and checkpoint, and the batches after which V_t was not positive definite, by
    run.
    """

    pseudo: RegretRuns
    indefinite: Ints


def simulate(
    policy: ConcurrentPolicy,
    environment: Environment,
    *,
    seed: Seed,
    name: str = "concurrent LinUCB",
    checkpoints: Sequence[int] | None = None,
    watch: Callable[[ConcurrentState], None] | None = None,
) -> ConcurrentRuns:
    """Play all users of the tree's horizon; ``watch`` receives the state after each user."""
    horizon = policy.tree.horizon
    grid = checked_grid(horizon, checkpoints)
    rewards, noise = map(np.random.default_rng, root_of(seed).spawn(2))
    replicates, _, dim = environment.shape
    state, regret_so_far = init(policy, replicates, dim), np.zeros(replicates)
    curves = np.zeros((replicates, len(grid)))
    for t in range(1, horizon + 1):
        batch = environment.play(partial(choose, policy, state), 1, rewards)
        regret_so_far += batch.regret
        state = step(policy, state, batch, noise)
        if watch is not None:
            watch(state)
        curves[:, grid == t] = regret_so_far[:, None]
    return ConcurrentRuns(RegretRuns(name, grid, curves), state.indefinite)
