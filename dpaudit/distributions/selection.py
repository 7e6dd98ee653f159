"""Define the distribution of the index of the largest noisy score.

Report Noisy Max releases only argmax_j (scores_j + noise_j). This is one outcome with this distribution, not
K releases of noisy scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import decode_value, dyadic, encode_value, exact, exact_str
from dpaudit.distributions.base import BaseMeasure, Distribution, Support, distribution_from_json, register
from dpaudit.distributions.continuous import Exponential, Gaussian, Gumbel, Laplace
from dpaudit.distributions.copies import one_whole, trailing
from dpaudit.distributions.shared_level import Floats, log_level_integral
from dpaudit.distributions.shared_level_ball import level_integral_ball, to_accuracy
from dpaudit.kernel.ball import ball

__all__ = ["NoisyArgmax"]


@register("noisy-argmax")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class NoisyArgmax(Distribution):
    """The distribution of argmax_j (scores_j + noise_j) with independent continuous noise.

    The outcomes are the indices 0 to K-1. ``logp`` and ``logp_ball`` exist for ``Laplace``, ``Exponential``,
    ``Gaussian`` and ``Gumbel`` noise. Any continuous noise can be sampled.

    Parameters
    ----------
    scores : array or sequence
        An array (..., K) of integers or floats, whose leading axes are independent copies, or a list of K
        exact numbers. A float in the list counts as its exact value.
    noise : Distribution
        A scalar distribution with any centre, because a common shift does not change the argmax.

    Raises
    ------
    NotTractableError
        The noise is discrete. Ties then have positive probability, and the distribution depends on how they
        are broken.
    InvalidParameterError
        The scores are not finite numbers, or the noise is not scalar.
    """

    scores: NDArray[Any]
    noise: Distribution
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.COUNTING

    def __init__(self, scores: NDArray[Any] | Sequence[Any], noise: Distribution) -> None:
        if noise.base_measure is not BaseMeasure.LEBESGUE:
            raise NotTractableError(
                f"the argmax distribution requires noise without ties, got the discrete {noise.name}. Use "
                "continuous noise, or enumerate the noisy scores with your own tie rule.",
                code="E-NOISE-NOT-CONTINUOUS",
            )
        if noise.event_ndim != 0 or noise.batch_shape != ():
            raise InvalidParameterError(
                f"noise must be one scalar distribution, got batch shape {noise.batch_shape}.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        object.__setattr__(self, "scores", _read_scores(scores))
        object.__setattr__(self, "noise", noise)

    @property
    def count(self) -> int:
        """The number K of candidates."""
        return int(self.scores.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return tuple(self.scores.shape[:-1])

    @property
    def support(self) -> Support:
        return Support(lower=Fraction(0), upper=Fraction(self.count - 1), integer=True)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        noise = self.noise.sample(rng, (*size, *self.scores.shape))
        return np.asarray(np.argmax(self.scores.astype(np.float64) + noise, axis=-1), dtype=np.int64)

    def logp(self, x: Any) -> Floats:
        index = trailing(x, self.batch_shape)
        inside = (index >= 0) & (index < self.count) & (np.floor(index) == index)
        winner = np.where(inside, index, 0).astype(np.int64)
        # The noisy score of winner i is the level. Relative to q_i, the other noisy scores, centred at
        # q_j - q_i, are below it.
        return np.where(inside, self._log_probability(self._gaps(winner)), -np.inf)

    def _gaps(self, winner: NDArray[np.int64]) -> Floats:
        """Return q_j - q_i for the K - 1 losers j as floats, rounded from exact values of exact scores."""
        losers = np.arange(self.count - 1)
        losers = losers + (losers >= winner[..., None])
        scores = np.broadcast_to(self.scores, (*winner.shape, self.count))
        gaps = np.take_along_axis(scores, losers, axis=-1) - np.take_along_axis(
            scores, winner[..., None], axis=-1
        )
        return np.asarray(gaps.astype(np.float64))

    def _log_probability(self, gaps: Floats) -> Floats:
        if isinstance(self.noise, Gumbel):
            # P(i) = e^{q_i/b} / Σ_j e^{q_j/b}: the exponential mechanism (McSherry and Talwar 2007)
            own = np.zeros((*gaps.shape[:-1], 1))
            return -np.asarray(
                special.logsumexp(np.concatenate([own, gaps / float(self.noise.scale)], axis=-1), axis=-1)
            )
        if self.count == 2 and isinstance(self.noise, Laplace | Exponential | Gaussian):
            return _two_candidates(self.noise, gaps[..., 0])
        return log_level_integral(self.noise, self.noise, gaps, False)

    def logp_ball(self, x: Any) -> arb:
        entries = one_whole(x, self.batch_shape)
        known: dict[Any, arb] = {}
        total = arb(0)
        for row, one in zip(self.scores.reshape(-1, self.count), entries, strict=True):
            if not 0 <= one < self.count or one != int(one):
                return arb.neg_inf()
            key = (row.tobytes() if row.dtype != object else tuple(row), int(one))
            if key not in known:
                known[key] = self._probability_ball([dyadic(q) for q in row], int(one)).log()
            total += known[key]
        return total

    def _probability_ball(self, scores: list[Fraction], winner: int) -> arb:
        gaps = [q - scores[winner] for j, q in enumerate(scores) if j != winner]
        if isinstance(self.noise, Gumbel):
            scale = self.noise.scale
            return to_accuracy(lambda: 1 / (1 + sum((ball(gap / scale).exp() for gap in gaps), arb(0))))
        return level_integral_ball(self.noise, self.noise, gaps, ())

    def squared_cost(self, other: Distribution, loss: Callable[[], Fraction | None]) -> Fraction | None:
        """Return twice rho. A common shift changes no maximum.

        Gaussian noise: the squared change of the scores around its mean over the variance. Gumbel noise has a
        bounded range, so that rho is e^2/8 (Cesar and Rogers 2021).
        """
        variance = self.noise.gaussian_variance
        if variance is not None and isinstance(other, NoisyArgmax):
            alike = self.noise == other.noise and self.scores.shape == other.scores.shape
            return _centred_square(self, other) / variance if alike else None
        cost = super().squared_cost(other, loss)
        return cost / 4 if cost is not None and isinstance(self.noise, Gumbel) else cost

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[int, arb]]:
        if self.batch_shape:
            raise NotTractableError(
                f"only a single argmax can be enumerated, got a batch of shape {self.batch_shape}. "
                "Enumerate its entries.",
                code="E-ATOMS-MISSING",
            )
        scores = [dyadic(q) for q in self.scores]
        known: dict[Fraction, arb] = {}
        for index, score in enumerate(scores):
            if score not in known:  # equal scores have equal probabilities
                known[score] = self._probability_ball(scores, index)
            yield index, known[score]

    def cdf(self, x: Any) -> Floats:
        index = np.floor(np.asarray(x, dtype=np.float64))
        reached = np.cumsum(self._table(), axis=-1)
        reached[..., -1] = 1.0
        position = np.clip(index, 0, self.count - 1).astype(np.int64)
        reached = np.broadcast_to(reached, (*np.broadcast_shapes(index.shape, self.batch_shape), self.count))
        position = np.broadcast_to(position, reached.shape[:-1])
        return np.where(index < 0, 0.0, np.take_along_axis(reached, position[..., None], axis=-1)[..., 0])

    def ppf(self, q: Any) -> NDArray[np.int64]:
        level = np.asarray(q, dtype=np.float64)
        if not np.all((level >= 0) & (level <= 1)):
            raise InvalidParameterError(f"q must be in [0, 1], got {level!r}.", code="E-LEVEL-RANGE")
        passed = np.cumsum(self._table(), axis=-1)[..., :-1] < level[..., None]
        return np.asarray(passed.sum(axis=-1), dtype=np.int64)

    def _table(self) -> Floats:
        """Return the probabilities of all indices, with shape batch_shape + (K,)."""
        indices = np.arange(self.count).reshape((self.count,) + (1,) * len(self.batch_shape))
        return np.moveaxis(
            np.exp(self.logp(np.broadcast_to(indices, (self.count, *self.batch_shape)))), 0, -1
        )

    def to_json(self) -> dict[str, Any]:
        scores: Any = (
            encode_value(self.scores) if self.scores.dtype != object else [exact_str(q) for q in self.scores]
        )
        return {"law": self.name, "scores": scores, "noise": self.noise.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> NoisyArgmax:
        if data.keys() != {"law", "scores", "noise"}:
            raise InvalidParameterError(
                f"a {cls.name} distribution must have the keys scores and noise, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        raw = data["scores"]
        scores = raw if isinstance(raw, list) else decode_value(raw)
        if not isinstance(scores, list | np.ndarray):
            raise InvalidParameterError(
                f"scores must be a list or an array, got {scores!r}.", code="E-DISTRIBUTION-FIELDS"
            )
        return cls(scores=scores, noise=distribution_from_json(data["noise"]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoisyArgmax):
            return NotImplemented
        return self.noise == other.noise and np.array_equal(self.scores, other.scores)

    def __hash__(self) -> int:
        return hash((self.noise, self.scores.shape, tuple(self.scores.astype(np.float64).ravel().tolist())))

    def __repr__(self) -> str:
        return f"NoisyArgmax(scores={self.scores.tolist()!r}, noise={self.noise!r})"


def _read_scores(scores: NDArray[Any] | Sequence[Any]) -> NDArray[Any]:
    """Return scores as a read-only array of int64, float64, or exact ``Fraction`` objects."""
    array = scores.copy() if isinstance(scores, np.ndarray) else _from_list(list(scores))
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidParameterError(
            f"scores must have shape (..., K) with at least one candidate, got shape {array.shape}.",
            code="E-SCORES-SHAPE",
        )
    if array.dtype == object:
        if array.ndim != 1:
            raise InvalidParameterError(
                f"scores made of exact objects must be one list, got shape {array.shape}. Use floats for "
                "batches.",
                code="E-SCORES-SHAPE",
            )
        array = _from_list(array.tolist())
    elif array.dtype.kind in "biu":
        if array.size and (array.max() > 2**62 or array.min() < -(2**62)):
            raise InvalidParameterError(
                "integer scores must be within ±2^62, got a larger one.", code="E-SCORES-RANGE"
            )
        array = array.astype(np.int64)
    elif array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64)
    else:
        raise InvalidParameterError(
            f"scores must be integers, floats or exact numbers, got dtype {array.dtype}.",
            code="E-SCORES-TYPE",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidParameterError(
            "scores must be finite, got NaN or an infinity.", code="E-SCORES-NOT-FINITE"
        )
    array.setflags(write=False)
    return array


def _from_list(items: list[Any]) -> NDArray[Any]:
    if any(isinstance(item, list | tuple | np.ndarray) for item in items):
        return np.array(items)
    numbers = [dyadic(q) if isinstance(q, float | np.floating) else exact(q, name="score") for q in items]
    if all(q.denominator == 1 and abs(q) <= 2**53 for q in numbers):
        return np.array([int(q) for q in numbers], dtype=np.int64)
    result = np.empty(len(numbers), dtype=object)
    result[:] = numbers
    return result


def _two_candidates(noise: Laplace | Exponential | Gaussian, gap: Floats) -> Floats:
    """Return log P(noise_i - noise_j >= gap), from the closed form of the difference of two noises."""
    if isinstance(noise, Gaussian):  # the difference is Gaussian with twice the variance
        return np.asarray(special.log_ndtr(-gap / math.sqrt(2 * noise.sigma2)))
    u = np.abs(gap) / float(noise.scale)
    # The difference of two exponential variables is Laplace, so P(D > u) = e^{-u} / 2 for u > 0.
    log_tail = -u - math.log(2)
    if isinstance(noise, Laplace):
        # The difference of two Laplace variables has density (1 + |u|) e^{-|u|} / 4. Its integral from u > 0
        # is P(D > u) = (2 + u) e^{-u} / 4.
        log_tail = log_tail + np.log1p(u / 2)
    return np.where(gap >= 0, log_tail, np.log1p(-np.exp(log_tail)))


def _centred_square(distribution: NoisyArgmax, other: NoisyArgmax) -> Fraction:
    """Return the sum of squares of the scores' changes, each minus their mean, over all maxima."""
    here, there = (one.scores.reshape(-1, one.count).tolist() for one in (distribution, other))
    total = Fraction(0)
    for row, moved in zip(here, there, strict=False):
        gaps = [dyadic(a) - dyadic(b) for a, b in zip(row, moved, strict=False)]
        mean = sum(gaps, Fraction(0)) / len(gaps)
        total += sum(((gap - mean) ** 2 for gap in gaps), Fraction(0))
    return total
