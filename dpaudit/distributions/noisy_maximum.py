"""Define the value of the largest noisy score, which a wrong Report Noisy Max releases instead of the index.

The maximum of K noisy scores reveals far more than its index. Below all scores, its density decreases like a
product of K densities, so the log-ratio of two inputs grows with K. With Laplace noise of scale b, K shifts
by D cost K D/b in the lower tail. With one-sided noise, an end of the support depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic, exact, exact_str
from dpaudit.distributions.base import BaseMeasure, Distribution, Support, distribution_from_json, register
from dpaudit.distributions.scalar import Floats, ScalarDistribution, one_outcome, outcomes

__all__ = ["NoisyMaximum"]


@register("noisy-maximum")
@dataclass(frozen=True, init=False, repr=False)
class NoisyMaximum(Distribution):
    """The distribution of max_j (scores_j + noise_j) with independent continuous noise.

    P(M <= v) is the product of F(v - q_j). The density is the sum over i of f(v - q_i) times the product over
    j != i of F(v - q_j).

    Parameters
    ----------
    scores : sequence of exact numbers or floats
        The K >= 1 scores q_j. A float counts as its exact value.
    noise : Distribution
        A scalar distribution with a density f and a cdf F.

    Raises
    ------
    InvalidParameterError
        There are no scores, or the noise is discrete or not scalar.
    """

    scores: tuple[Fraction, ...]
    noise: ScalarDistribution
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE

    def __init__(self, scores: Sequence[ExactLike | float] | NDArray[Any], noise: Distribution) -> None:
        kept = tuple(_exact_score(q) for q in scores)
        if not kept:
            raise InvalidParameterError(
                "scores must have at least one candidate, got none.", code="E-SCORES-SHAPE"
            )
        if not isinstance(noise, ScalarDistribution) or noise.base_measure is not BaseMeasure.LEBESGUE:
            raise InvalidParameterError(
                "noise must be a continuous scalar distribution, such as Laplace or Gaussian, got "
                f"{noise!r}.",
                code="E-NOISE-NOT-CONTINUOUS",
            )
        object.__setattr__(self, "scores", kept)
        object.__setattr__(self, "noise", noise)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Floats:
        noise = self.noise.sample(rng, (*size, len(self.scores)))
        return np.asarray(np.max(self._centres() + noise, axis=-1))

    def _centres(self) -> Floats:
        return np.array([float(q) for q in self.scores])

    def logp(self, x: Any) -> Floats:
        points = outcomes(x)
        gaps = points[..., None] - self._centres()
        with np.errstate(divide="ignore"):
            below = np.log(self.noise.cdf(gaps))  # the cdf is accurate in the lower tail
        # The factors of the other scores: -inf if one of them exceeds all possible values of v.
        others = np.where(np.isneginf(below).sum(axis=-1, keepdims=True) > np.isneginf(below), -np.inf, 0.0)
        finite = np.where(np.isneginf(below), 0.0, below)
        terms = self.noise.logp(gaps) + (finite.sum(axis=-1, keepdims=True) - finite) + others
        top = terms.max(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = top[..., 0] + np.log(np.exp(terms - top).sum(axis=-1))
        return np.where(np.isneginf(top[..., 0]), -np.inf, total)

    def logp_ball(self, x: Any) -> arb:
        outcome = one_outcome(x)
        if outcome is None:
            return arb.neg_inf()
        gaps = [outcome - q for q in self.scores]
        below = [self.noise.cdf_ball(gap) for gap in gaps]
        total = arb(0)
        for i, gap in enumerate(gaps):
            density = self.noise.logp_ball(gap)
            if density.is_finite():
                total += density.exp() * math.prod(below[:i] + below[i + 1 :], start=arb(1))
        return arb.neg_inf() if total.is_zero() else total.log()

    def cdf(self, x: Any) -> Floats:
        return np.asarray(np.prod(self.noise.cdf(outcomes(x)[..., None] - self._centres()), axis=-1))

    def sf(self, x: Any) -> Floats:
        """Return P(M > x), accurate in the upper tail, as 1 minus a product of 1 - S."""
        survival = self.noise.sf(outcomes(x)[..., None] - self._centres())
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.log1p(-survival).sum(axis=-1)))

    def cdf_ball(self, x: Any) -> arb:
        outcome = one_outcome(x)
        if outcome is None:
            return arb(float(x) > 0)
        return math.prod((self.noise.cdf_ball(outcome - q) for q in self.scores), start=arb(1))

    def sf_ball(self, x: Any) -> arb:
        return 1 - self.cdf_ball(x)

    @property
    def support(self) -> Support:
        ends = self.noise.support
        lower = None if ends.lower is None else ends.lower + max(self.scores)
        return Support(
            lower=lower, upper=None if ends.upper is None else ends.upper + max(self.scores), integer=False
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "scores": [exact_str(q) for q in self.scores],
            "noise": self.noise.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> NoisyMaximum:
        scores = data.get("scores")
        if (
            data.keys() != {"law", "scores", "noise"}
            or not isinstance(scores, list)
            or not all(isinstance(q, str) for q in scores)
        ):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have scores, exact strings, and noise, got "
                f"{str(data)[:60]}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        return cls(scores, distribution_from_json(data["noise"]))

    def __repr__(self) -> str:
        return f"NoisyMaximum(scores={[exact_str(q) for q in self.scores]!r}, noise={self.noise!r})"


def _exact_score(score: Any) -> Fraction:
    return dyadic(score) if isinstance(score, float | np.floating) else exact(score, name="score")
