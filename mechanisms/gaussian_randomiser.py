"""The Gaussian randomiser of linear bandits: a user sends φy and φφᵀ with Gaussian noise on every entry.

Chowdhury and Zhou (ICML 2022), Algorithm 2. With features |φ| <= L and rewards |y| <= Y, noise N(0, σ²) is
added to each entry of the vector and to each entry on and above the diagonal of the matrix. The matrix is
then made symmetric:

* ``copy`` (as printed): the entries below the diagonal are copies of the entries above, so an off-diagonal
  number is seen once, with variance σ²;
* ``average`` (the authors' code): (N + Nᵀ)/2 with N independent everywhere; off the diagonal variance σ²/2;
* ``none``: N independent everywhere and sent as it is; each off-diagonal number is seen twice.

Joint sensitivity. In units of σ, the squared distance of two users' messages is |φy - φ'y'|² + |Δ|²_F, Δ =
φφᵀ - φ'φ'ᵀ, for ``average`` and ``none`` (half the variance once, or twice the full one, on each of the two
halves of Δ), and |φy - φ'y'|² + (|Δ|²_F + |diag Δ|²)/2, which is no larger, for ``copy``. It is at most
2L²Y² + 2L⁴ + Y⁴/2.

Proof. With c = <φ, φ'>: |φy - φ'y'|² = |φ|²y² + |φ'|²y'² - 2yy'c <= 2L²Y² + 2Y²|c|, and |Δ|²_F = |φ|⁴ +
|φ'|⁴ - 2c² <= 2L⁴ - 2c². The sum is largest at |c| = Y²/2. ∎

With L = Y = 1 the bound is 4.5. It is attained with y = y' = 1 (so by rewards in [0, 1], too) and c = -1/2:
for ``average`` and ``none`` by every such pair of unit vectors, for ``copy`` if Δ is diagonal, as for φ =
(cos 15°, sin 15°) and φ' = -(sin 15°, cos 15°) (``worst_pair``). The bound is the same whether one or two
permutations shuffle vectors and matrices.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, positive

__all__ = [
    "Symmetrize",
    "encode",
    "in_noise_units",
    "squared_sensitivity",
    "squared_shift",
    "worst_pair",
]

Symmetrize = Literal["copy", "average", "none"]
Floats = NDArray[np.float64]


def squared_sensitivity(*, feature_norm_squared: ExactLike = 1, reward_bound: ExactLike = 1) -> Fraction:
    """Return 2L²Y² + 2L⁴ + Y⁴/2, the largest squared change of vector and matrix jointly, in units of σ².

    The change replaces one user; ``feature_norm_squared`` is L². Raises ``InvalidParameterError`` unless Y²
    <= 2L², the condition under which the bound is attained.
    """
    square = positive(feature_norm_squared, name="feature_norm_squared")
    reward = positive(reward_bound, name="reward_bound")
    if reward**2 > 2 * square:
        raise InvalidParameterError(
            f"reward_bound² must be at most twice feature_norm_squared, got {reward} and {square}."
        )
    return 2 * square * reward**2 + 2 * square**2 + reward**4 / 2


def _checked(features: Floats, reward: float, feature_norm: float, reward_bound: float) -> Floats:
    vector = np.asarray(features, dtype=float)
    length = math.sqrt(math.fsum(entry * entry for entry in vector.tolist()))
    if vector.ndim != 1 or not length <= feature_norm * (1 + 1e-12):
        raise InvalidParameterError(
            f"features must be a vector of norm at most {feature_norm}, got shape {vector.shape} and norm "
            f"{length}."
        )
    if not abs(reward) <= reward_bound:
        raise InvalidParameterError(f"|reward| must be at most {reward_bound}, got {reward}.")
    return vector


def encode(
    features: Floats, reward: float, *, feature_norm: float = 1.0, reward_bound: float = 1.0
) -> tuple[Floats, Floats]:
    """Return (φy, φφᵀ) of one user: shapes (d,) and (d, d).

    Raises ``InvalidParameterError`` if |φ| or |y| exceeds its bound.
    """
    vector = _checked(features, reward, feature_norm, reward_bound)
    return vector * reward, np.outer(vector, vector)


def in_noise_units(vector: Floats, matrix: Floats, symmetrize: Symmetrize = "copy") -> Floats:
    """Return the message as independent numbers that all carry noise of variance σ²: shape (d + d(d+1)/2,).

    Diagonal and vector are unchanged. Entries above the diagonal appear once for ``copy``. They are
    multiplied by sqrt 2 for ``average`` (variance σ²/2) and ``none`` (two observations of variance σ², whose
    sum is sufficient).
    """
    rows, columns = np.triu_indices(matrix.shape[0])
    upper = matrix[rows, columns].copy()
    if symmetrize != "copy":
        upper[rows != columns] *= math.sqrt(2)
    return np.concatenate([vector, upper])


def squared_shift(
    one: tuple[Floats, float], other: tuple[Floats, float], symmetrize: Symmetrize = "copy"
) -> float:
    """Return the squared distance of the messages of two users (features, reward), in units of σ²."""
    here, there = (
        in_noise_units(*encode(*user, feature_norm=math.inf, reward_bound=math.inf), symmetrize)
        for user in (one, other)
    )
    return float(np.sum((here - there) ** 2))


def worst_pair() -> tuple[tuple[Floats, float], tuple[Floats, float]]:
    """Return two users at squared distance 4.5 (1 - 10⁻¹¹) or more, and below 4.5 in exact numbers.

    They have d = 2 and reward 1. Their norms are just below 1, so rounding cannot push them out of the
    domain.
    """
    a, b = (np.array([math.cos(math.pi / 12), math.sin(math.pi / 12)]) * (1 - 2.0**-40)).tolist()
    return (np.array([a, b]), 1.0), (np.array([-b, -a]), 1.0)
