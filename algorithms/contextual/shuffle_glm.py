"""The batched algorithm under shuffle privacy (Algorithm 1 of Sarmasarkar 2026), one run.

Batch 1 plays G-optimal designs. Every later batch eliminates by the bounds of all batches before it, scales
the remaining arms, and plays a G-optimal design on them. At its end a batch releases one noisy matrix and one
estimate. Design, optimiser and matrix noise are arguments, so each can be exact, printed, or broken.

The printed batch lengths can be longer than the horizon: the last batch that begins is cut at the horizon,
and ``ShuffleRun.lengths`` holds the lengths played. A batch that is cut releases nothing.

A released matrix need not be positive definite: the noise can be larger than the ridge. The paper's widths
have no meaning for such a matrix, and it prints nothing for this case. ``psd_mode`` "error" raises; "clip" is
a repair: it raises the eigenvalues to 1e-12 and counts the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import UndecidedError
from dpaudit.reference.algorithms.contextual.glm_environments import GlmEnvironment
from dpaudit.reference.algorithms.contextual.glm_optimisers import Fit, FitCall
from dpaudit.reference.algorithms.contextual.glm_rules import definite, survivors
from dpaudit.reference.algorithms.contextual.joint_glm_constants import GlmBudget
from dpaudit.reference.algorithms.contextual.links import Link
from dpaudit.reference.mechanisms.prefix_noise import VectorEntryNoise

__all__ = [
    "Design",
    "ShuffleBatches",
    "ShuffleConstants",
    "ShuffleRun",
    "batch_lengths",
    "printed_shuffle_constants",
    "shuffle_glm",
    "shuffled_matrix_noise",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: From arms (K, d) to weights (K,) that sum to 1.
Design = Callable[[Floats], Floats]
#: (users, sensitivity, generator) -> noise (d, d) of one matrix sum.
MatrixNoise = Callable[[int, float, np.random.Generator], Floats]


@dataclass(frozen=True, kw_only=True)
class ShuffleConstants:
    """The constants of Algorithm 1.

    ``late_scale`` is the factor of ‖x‖ in the bounds of batches k >= 2: sqrt(kappa) in (13) and (14), 1 in
    the algorithm that it builds on. ``cut`` cuts the weights of the matrix sums at 1/kappa*, which repairs
    the privacy of the printed algorithm.
    """

    lengths: tuple[int, ...]
    ridge: float
    ridge_upper: float
    gamma: float
    budget: GlmBudget
    late_scale: float
    cut: bool = False

    @property
    def call(self) -> tuple[float, float]:
        """Return (epsilon/2, delta/2), for the matrix and for the estimate."""
        return self.budget.epsilon / 2, self.budget.delta / 2


@dataclass(frozen=True, eq=False)
class ShuffleRun:
    """The result of a run.

    ``regret`` (T,) cumulated; ``lengths`` of the batches as played; ``thetas`` and ``designs`` released;
    ``survivors`` the mean number of arms left in each batch from the second on; ``counts`` of branches.
    """

    regret: Floats
    lengths: tuple[int, ...]
    thetas: tuple[Floats, ...]
    designs: tuple[Floats, ...]
    survivors: tuple[float, ...]
    counts: dict[str, int] = field(default_factory=dict)


def batch_lengths(first: float, growth: float, n_batches: int) -> tuple[int, ...]:
    """Return the lengths of (6), (7): ``first``, ``growth``, then ``growth`` times the root of the
    previous length, rounded up.
    """
    lengths = [first, growth]
    while len(lengths) < n_batches:
        lengths.append(growth * math.sqrt(lengths[-1]))
    return tuple(math.ceil(length) for length in lengths[:n_batches])


def printed_shuffle_constants(
    budget: GlmBudget,
    *,
    n_batches: int,
    sigma_constant: float = 1.0,
    nu_constant: float = 1.0,
    shift: int = 1,
) -> ShuffleConstants:
    """Return (6) to (10) and (15), natural logarithms.

    alpha = T^(1/(2(1 - 2^(-M + shift)))), ``shift`` 1 in section 5 and 0 in appendix F; ``n_batches`` M is 2
    or more.
    """
    b, d = budget, budget.dim
    r, s = b.reward_bound, b.param_norm
    growth = b.horizon ** (1 / (2 * (1 - 2.0 ** (-n_batches + shift))))
    scale = r * math.log(d**2 / b.delta) / (b.kappa_star * b.epsilon)
    sigma = sigma_constant * scale
    level = math.sqrt(math.log(2 * d * n_batches * b.horizon / b.delta))
    nu = nu_constant * r * s**2 / b.epsilon * math.sqrt(d * math.log(b.horizon * d / b.delta) ** 3)
    needed = d * r * math.log(b.horizon)
    ridge = 20 * needed + 6 * sigma * level
    gamma = 30 * r * s * math.sqrt(needed + 12 * sigma * level) + math.sqrt(4 * r * s * nu)
    last = math.sqrt(math.log(2 * n_batches * b.horizon / b.delta))
    first = (math.sqrt(b.kappa) * math.exp(3 * s) * d**2 * gamma**2 / s * growth) ** (2 / 3)
    return ShuffleConstants(
        lengths=batch_lengths(first, growth, n_batches),
        ridge=ridge,
        ridge_upper=ridge + 8 * scale * (math.sqrt(d) + 6 * last),
        gamma=gamma,
        budget=b,
        late_scale=math.sqrt(b.kappa),
    )


def shuffled_matrix_noise(epsilon: float, delta: float, *, dim: int) -> MatrixNoise:
    """Draw the noise of one shuffled matrix sum by (127).

    Upper-triangular entries are independent and mirrored, with rounding at its worst.
    """

    def noise(users: int, sensitivity: float, rng: np.random.Generator) -> Floats:
        entry = VectorEntryNoise.printed(users, Fraction(epsilon), Fraction(delta), dim=dim)
        upper = np.triu(entry.draw_noise(rng, (dim, dim)))
        return np.asarray(sensitivity * (upper + np.triu(upper, 1).T))

    return noise


def shuffle_glm(
    environment: GlmEnvironment,
    constants: ShuffleConstants,
    *,
    fit: Fit,
    design: Design,
    noise: MatrixNoise,
    rng: np.random.Generator,
    psd_mode: Literal["error", "clip"] = "error",
) -> ShuffleRun:
    """Play one run over all rounds of ``environment``.

    Raises ``UndecidedError`` for a released matrix that is not positive definite. With ``psd_mode`` "clip",
    which the paper does not print, eigenvalues are raised to 1e-12 instead; ``counts["not definite"]`` counts
    these matrices.
    """
    horizon = environment.shape[0]

    def release(points: Floats, weights: Floats, sensitivity: float) -> Floats:
        return (points * weights[:, None]).T @ points + noise(len(points), sensitivity, rng)

    run = ShuffleBatches(
        constants, environment.link, release=release, fit=lambda call: fit(call, rng), psd_mode=psd_mode
    )

    def draw(weights: Floats) -> int:
        return int(rng.choice(len(weights), p=weights))

    regret, lengths, survivors, t = np.zeros(horizon), [], [], 0
    for length in constants.lengths:
        users = min(length, horizon - t)
        if users <= 0:
            break
        left = []
        for t_now in range(t, t + users):
            arm, alive = run.play(environment.arms[t_now], design, draw)
            run.learn(float(environment.rewards(t_now, np.array([arm]), rng)[0]))
            regret[t_now] = environment.regret(t_now, np.array([arm]))[0]
            left.append(alive)
        survivors.append(float(np.mean(left)))
        lengths.append(users)
        t += users
        run.close(released=users == length)
    return ShuffleRun(
        regret=np.cumsum(regret),
        lengths=tuple(lengths),
        thetas=tuple(run.thetas),
        designs=tuple(run.designs),
        survivors=tuple(survivors[1:]),
        counts={
            "batches cut": int(lengths[-1] < constants.lengths[len(lengths) - 1]),
            "rounds left": horizon - t,
            "not definite": run.not_definite,
        },
    )


class ShuffleBatches:
    """The algorithm itself: what was released, and the current batch.

    The simulation and the program under audit (``shuffle_glm_protocol``) run it with their own ``release`` of
    a sum of weighted x xᵀ, from points, weights and sensitivity, and their own ``fit``.
    """

    def __init__(
        self,
        constants: ShuffleConstants,
        link: Link,
        *,
        release: Callable[[Floats, Floats, float], Floats],
        fit: Callable[[FitCall], Floats],
        psd_mode: Literal["error", "clip"],
    ) -> None:
        self.constants, self.link, self._release, self._fit = constants, link, release, fit
        self.psd_mode, self.not_definite = psd_mode, 0
        self.thetas: list[Floats] = []
        self.designs: list[Floats] = []
        self._points: list[Floats] = []
        self._rewards: list[float] = []
        self._weights: list[float] = []

    def _length(self, arms: Floats, k: int) -> Floats:
        inverse = np.linalg.inv(self.designs[k])
        squares = np.einsum("kd,de,ke->k", arms, inverse, arms)  # below 0 by rounding only
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def survivors(self, arms: Floats) -> Bools:
        """Return the arms that no earlier batch eliminates, batch by batch."""
        c, left = self.constants, np.ones(len(arms), dtype=bool)
        for k, theta in enumerate(self.thetas):
            scale = math.sqrt(c.budget.kappa) if k == 0 else c.late_scale
            means, widths = arms @ theta, scale * c.gamma * self._length(arms, k)
            left[left] = survivors(means[left], widths[left])
        return left

    def arm_weights(self, arms: Floats) -> Floats:
        """Return mu'(<x, theta_1>) / beta(x) of (11), (12); 1 in the first batch."""
        if not self.thetas:
            return np.ones(len(arms))
        b = self.constants.budget
        widths = self.constants.gamma * math.sqrt(b.kappa) * self._length(arms, 0)
        scales = np.exp(b.reward_bound * np.minimum(2 * b.param_norm, widths))
        return np.asarray(self.link.slope(arms @ self.thetas[0]) / scales)

    def play(self, arms: Floats, design: Design, draw: Callable[[Floats], int]) -> tuple[int, int]:
        """Return the arm that ``draw`` chooses by the design's weights, and the number of arms left."""
        left = np.flatnonzero(self.survivors(arms))
        weights = self.arm_weights(arms[left])
        chosen = draw(design(arms[left] * np.sqrt(weights)[:, None]))
        arm = int(left[chosen])
        self._points.append(arms[arm])
        self._weights.append(float(weights[chosen]))
        return arm, len(left)

    def learn(self, reward: float) -> None:
        """Add the reward of the last arm."""
        self._rewards.append(reward)

    def close(self, *, released: bool) -> None:
        """Release matrix and estimate of the batch, unless it was cut."""
        points, rewards, weights = map(np.array, (self._points, self._rewards, self._weights))
        self._points, self._rewards, self._weights = [], [], []
        if not released:
            return
        c, dim = self.constants, points.shape[1]
        sensitivity = 1 / c.budget.kappa_star if self.thetas else 1.0
        sent = np.minimum(weights, sensitivity) if c.cut else weights
        total = self._release(points, sent, sensitivity)
        self.designs.append(self._definite(total + c.ridge * np.eye(dim)))
        self.thetas.append(self._fit(self._call(points, rewards)))

    def _definite(self, released: Floats) -> Floats:
        """Return ``released`` if it is positive definite; otherwise raise, or return its repair."""
        values = np.linalg.eigvalsh(released)
        # Eigenvalues within rounding of 0 are not usable either: an inverse would have negative squares.
        if values[0] > np.finfo(float).eps * len(values) * abs(values[-1]):
            return released
        self.not_definite += 1
        if self.psd_mode == "error":
            raise UndecidedError(
                f"the matrix of batch {len(self.designs) + 1} must be positive definite, got smallest "
                f'eigenvalue {values[0]:.4g}. Raise the ridge, or pass psd_mode="clip".'
            )
        return np.asarray(definite(released))

    def _call(self, points: Floats, rewards: Floats) -> FitCall:
        c, dim = self.constants, points.shape[1]
        return FitCall(
            link=self.link,
            points=points,
            rewards=rewards,
            ridge=c.ridge_upper,
            radius=c.budget.param_norm,
            centre=np.zeros(dim),
            shape=np.eye(dim),
            start=np.zeros(dim),
            epsilon=c.call[0],
            delta=c.call[1],
        )
