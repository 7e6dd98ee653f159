"""LinUCB by batches on noisy sums (Algorithm 1 of Chowdhury and Zhou 2022), as pure functions of arrays.

The arrays have a replicate axis:

    state = init(policy, replicates, dim)
    arms = choose(state, features)                 # between two updates the policy does not change
    state = step(policy, state, batch, rng)        # after each batch

One policy covers all trust models: the noise selects the model (none, P_Amp, P_Vec, local, tree). Ridge and
radius may depend on time. B = 1 without noise is LinUCB.

The choice is that of the program under audit (``shuffle_linucb_protocol``): both call ``optimism``.

V_m can fail to be positive definite, and the paper does not define this case. Lengths are then clipped
(``optimism``), and the batch is counted (``indefinite_batches``). Rows state the number of such runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.reference.algorithms.contextual import checks
from dpaudit.reference.algorithms.contextual.aggregate_noise import AggregateNoise, NoiseState, NoNoise
from dpaudit.reference.algorithms.contextual.environments import Batch
from dpaudit.reference.algorithms.contextual.optimism import optimistic_scores

__all__ = ["BatchedPolicy", "PolicyState", "choose", "init", "scores", "step"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: A number, one per replicate (R,), at a time t.
Schedule = Callable[[int], float | Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchedPolicy:
    """The policy with batches of ``batch_size`` users.

    ``ridge(t)`` and ``radius(t)`` are taken at time t = end of the last batch, 0 before the first. Raises
    ``InvalidParameterError`` for a batch size that is not an integer of 1 or more.
    """

    batch_size: int
    ridge: Schedule
    radius: Schedule
    noise: AggregateNoise = NoNoise()  # noqa: RUF009  # a frozen value without state

    def __post_init__(self) -> None:
        checks.whole(self.batch_size, name="batch_size")


class PolicyState(NamedTuple):
    """The state after ``time`` rounds.

    It holds the exact sums ``gram`` (R, d, d) and ``reward_vec`` (R, d) of all batches, the noise, and what
    the users are sent: ``theta_hat`` (R, d), ``inverse`` of V_m (R, d, d), ``radius`` (R,).
    ``indefinite_batches`` (R,) counts the batches whose V_m was not positive definite.
    """

    time: int
    gram: Floats
    reward_vec: Floats
    noise: NoiseState
    theta_hat: Floats
    inverse: Floats
    radius: Floats
    indefinite_batches: Ints


def _at(schedule: Schedule, time: int, replicates: int, name: str) -> Floats:
    """Return a schedule's value, (R,): a radius of 0 or more (0 explores nothing), a ridge greater than 0."""
    value = schedule(time)
    (checks.positive if name == "ridge" else partial(checks.at_least, least=0))(value, name=f"{name}({time})")
    return np.broadcast_to(np.asarray(value, dtype=float), (replicates,))


def init(policy: BatchedPolicy, replicates: int, dim: int) -> PolicyState:
    """Return the state before the first round: theta_hat = 0 and V_0 = λI."""
    checks.whole(replicates, name="replicates")
    checks.whole(dim, name="dim")
    zeros = np.zeros((replicates, dim))
    square = np.zeros((replicates, dim, dim))
    ridge = _at(policy.ridge, 0, replicates, "ridge")
    return PolicyState(
        time=0,
        gram=square,
        reward_vec=zeros,
        noise=policy.noise.init(replicates, dim),
        theta_hat=zeros,
        inverse=np.eye(dim) / ridge[:, None, None],
        radius=_at(policy.radius, 0, replicates, "radius"),
        indefinite_batches=np.zeros(replicates, dtype=np.int64),
    )


def scores(state: PolicyState, features: Floats) -> Floats:
    """Return <x, theta_hat> + β ‖x‖ in V^-1 of each arm, (R, K), from features (R, K, d)."""
    columns = features.transpose(0, 2, 1)  # contiguous for fixed arms, whose features are stored this way
    mean = np.matmul(state.theta_hat[:, None, :], columns)[:, 0]
    weights = np.matmul(state.inverse, columns)
    return np.asarray(optimistic_scores(columns, weights, mean, state.radius[:, None], axis=1))


def choose(state: PolicyState, features: Floats) -> Ints:
    """Return the arm of each replicate, the first arm on ties."""
    return np.asarray(scores(state, features).argmax(axis=1))


def step(policy: BatchedPolicy, state: PolicyState, batch: Batch, rng: np.random.Generator) -> PolicyState:
    """Return the state after one more batch; raises ``numpy.linalg.LinAlgError`` for a singular V_m."""
    time = state.time + int(batch.users[0].sum())
    gram, reward_vec = state.gram + batch.gram(), state.reward_vec + batch.reward_vec()
    noise = policy.noise.step(state.noise, batch, rng)
    replicates, dim = reward_vec.shape
    ridge = _at(policy.ridge, time, replicates, "ridge")
    total = gram + noise.mat + ridge[:, None, None] * np.eye(dim)
    inverse = np.asarray(np.linalg.inv(total), dtype=np.float64)
    return PolicyState(
        time=time,
        gram=gram,
        reward_vec=reward_vec,
        noise=noise,
        theta_hat=np.matmul(inverse, (reward_vec + noise.vec)[:, :, None])[:, :, 0],
        inverse=inverse,
        radius=_at(policy.radius, time, replicates, "radius"),
        indefinite_batches=state.indefinite_batches + _indefinite(total, policy.noise),
    )


def _indefinite(total: Floats, noise: AggregateNoise) -> Ints:
    """Return 1 if the smallest eigenvalue is not positive.

    Gershgorin discs above 0, or a factorisation that exists, avoid the eigenvalues.
    """
    found = np.zeros(len(total), dtype=np.int64)
    if isinstance(noise, NoNoise):
        return found
    diagonal = np.einsum("rii->ri", total)
    lowest = (diagonal + np.abs(diagonal) - np.abs(total).sum(axis=2)).min(axis=1)
    doubtful = np.flatnonzero(~(lowest > 0))
    if not len(doubtful):
        return found
    try:
        np.linalg.cholesky(total[doubtful])
    except np.linalg.LinAlgError:
        found[doubtful] = np.linalg.eigvalsh(total[doubtful])[:, 0] <= 0
    return found
