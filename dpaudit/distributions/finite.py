"""Define the categorical distribution: finitely many outcomes 0, 1, ... with exact probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic
from dpaudit.distributions.base import Argument, LogConcavity, Support, register
from dpaudit.distributions.binomial import log_of_fraction
from dpaudit.distributions.exact_sampling import choose
from dpaudit.distributions.lattice import LatticeDistribution
from dpaudit.distributions.scalar import Floats, parameter, tilt
from dpaudit.kernel.ball import ball
from dpaudit.kernel.t2 import noise

__all__ = ["Categorical"]


def _common_weights(numbers: Sequence[ExactLike], name: str) -> tuple[int, ...]:
    """Return the smallest integers in the same proportions as the exact numbers."""
    if isinstance(numbers, str) or not isinstance(numbers, Sequence | np.ndarray) or len(numbers) == 0:
        raise InvalidParameterError(
            f"{name} must be a non-empty sequence of exact numbers, got {numbers!r:.60}.",
            code="E-WEIGHTS-TYPE",
        )
    fractions = [parameter(number, name=f"{name}[{i}]") for i, number in enumerate(numbers)]
    if min(fractions) < 0 or max(fractions) == 0:
        raise InvalidParameterError(
            f"{name} must be non-negative and not all 0, got a minimum of {min(fractions)}.",
            code="E-WEIGHTS-RANGE",
        )
    bottom = math.lcm(*(f.denominator for f in fractions))
    integers = [f.numerator * (bottom // f.denominator) for f in fractions]
    divisor = math.gcd(*integers)
    return tuple(integer // divisor for integer in integers)


@register("categorical")
@dataclass(frozen=True, repr=False, init=False)
class Categorical(LatticeDistribution):
    """The distribution with outcome j = 0, 1, ... of probability ``weights[j] / sum(weights)``.

    The attribute ``weights`` holds coprime integers, so that distributions with equal probabilities are
    equal. For weights that an algorithm computed in floats, use ``Categorical.of_floats``. Samples are exact
    (``exact_sampling.choose``).

    Parameters
    ----------
    probabilities : sequence of exact numbers, optional
        The probabilities, whose sum is exactly 1.
    weights : sequence of exact numbers, optional
        Non-negative numbers, not all 0. Pass either ``probabilities`` or ``weights``.

    Raises
    ------
    InvalidParameterError
        Both or neither are given, or the numbers are out of range.
    """

    weights: tuple[int, ...]
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("weights",), ("probabilities",))

    def __init__(
        self, *, probabilities: Sequence[ExactLike] | None = None, weights: Sequence[ExactLike] | None = None
    ) -> None:
        if (probabilities is None) == (weights is None):
            raise InvalidParameterError(
                "a Categorical must have either probabilities or weights, got both or neither.",
                code="E-PARAMETER-CHOICE",
            )
        if weights is not None:
            kept = _common_weights(weights, "weights")
        else:
            kept = _common_weights(probabilities or (), "probabilities")
            total = sum(parameter(p, name="probabilities") for p in probabilities or ())
            if total != 1:
                raise InvalidParameterError(
                    f"probabilities must sum to exactly 1, got {total}. Use weights= for other sums.",
                    code="E-PROBABILITIES-SUM",
                )
        object.__setattr__(self, "weights", kept)

    @classmethod
    def of_floats(cls, weights: Any) -> Self:
        """Return the distribution with weights that a program computed in floats.

        Each weight is the exact value of its float, and the sum is exact.
        """
        return cls(weights=[dyadic(w) for w in np.asarray(weights, dtype=np.float64).ravel().tolist()])

    @property
    def total(self) -> int:
        """The sum of the integer weights."""
        return sum(self.weights)

    def probability_of(self, outcome: int) -> Fraction:
        """Return P(X = outcome) as an exact number."""
        inside = 0 <= outcome < len(self.weights)
        return Fraction(self.weights[outcome], self.total) if inside else Fraction(0)

    def parameters(self) -> dict[str, Any]:
        return {"weights": self.weights}

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "weights": [str(w) for w in self.weights]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        weights = data.get("weights")
        if (
            data.keys() != {"law", "weights"}
            or not isinstance(weights, list)
            or not all(isinstance(w, str) for w in weights)
        ):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have a list of weights as strings, got {str(data)[:60]}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        return cls(weights=weights)

    def __repr__(self) -> str:
        return f"Categorical(weights={list(self.weights)!r})"

    @property
    def support(self) -> Support:
        possible = [j for j, weight in enumerate(self.weights) if weight]
        return Support(lower=Fraction(possible[0]), upper=Fraction(possible[-1]), integer=True)

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.int64]:
        return choose(rng, self._thresholds, size)

    def _thresholds(self, bits: int) -> list[int]:
        total = self.total
        return [(c << bits) // total for c in accumulate(self.weights[:-1])]

    def _log_pmf(self, k: Floats) -> Floats:
        return np.asarray(_categorical_tables(self)[0][k.astype(np.int64)])

    def _log_pmf_ball(self, k: int) -> arb:
        p = self.probability_of(k)
        return ball(p).log() if p else arb.neg_inf()

    def _pmf_ball(self, k: int) -> arb:
        return ball(self.probability_of(k))

    def _below(self, k: Floats) -> Floats:
        return self._tail(k, 1)

    def _above(self, k: Floats) -> Floats:
        return self._tail(k, 2)

    def _tail(self, k: Floats, column: int) -> Floats:
        position = np.clip(k, -1, len(self.weights) - 1).astype(np.int64) + 1
        return np.asarray(_categorical_tables(self)[column][position])

    def _below_ball(self, k: int) -> arb:
        return ball(Fraction(sum(self.weights[: max(k + 1, 0)]), self.total))

    def _above_ball(self, k: int) -> arb:
        return ball(Fraction(sum(self.weights[max(k + 1, 0) :]), self.total))

    def log_mgf_ball(self, t: Argument) -> arb:
        values = tuple(Fraction(j) for j in range(len(self.weights)))
        return noise.Finite(values, tuple(map(Fraction, self.weights))).cumulant(tilt(t))

    def mean(self) -> float:
        return float(self._exact_mean)

    @property
    def _exact_mean(self) -> Fraction:
        return Fraction(sum(j * w for j, w in enumerate(self.weights)), self.total)

    def variance(self) -> float:
        square = Fraction(sum(j * j * w for j, w in enumerate(self.weights)), self.total)
        return float(square - self._exact_mean**2)

    @property
    def log_concave(self) -> LogConcavity:
        ends, w = self.support, self.weights
        inside = range(int(ends.lower or 0) + 1, int(ends.upper or 0))
        for j in inside:
            if w[j] ** 2 < w[j - 1] * w[j + 1] or w[j] == 0:
                return LogConcavity(
                    False, f"p({j})^2 < p({j - 1}) p({j + 1}), or an outcome inside the support has none"
                )
        return LogConcavity(
            True, "p(j)^2 >= p(j-1) p(j+1) at every outcome inside the support, checked in integers"
        )


@lru_cache(maxsize=64)
def _categorical_tables(distribution: Categorical) -> tuple[Floats, Floats, Floats]:
    """Return the log-probabilities, P(X <= j - 1) and P(X > j - 1), each correctly rounded from integers."""
    total = distribution.total
    sums = [0, *accumulate(distribution.weights)]
    logs = np.array([log_of_fraction(Fraction(w, total)) for w in distribution.weights])
    return logs, np.array([s / total for s in sums]), np.array([(total - s) / total for s in sums])
