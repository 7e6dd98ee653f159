"""Define the sum over a Poisson subsample with Gaussian noise, the output of a private gradient step.

Every record is in the sample with the same probability, independently, and nobody sees the sample. The
outcome therefore has one distribution, a mixture over all samples, and a step has an exact privacy loss like
any other release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, dyadic, exact, exact_str, probability
from dpaudit.distributions.base import BaseMeasure, Distribution, Support, register
from dpaudit.distributions.binomial import Bernoulli, log_of_fraction
from dpaudit.distributions.scalar import Floats, levels, outcomes, parameter, positive_parameter
from dpaudit.kernel.ball import ball

__all__ = ["SubsampledGaussianSum"]

#: The largest number of different sums of subsets. Each is a component of the density.
MAX_COMPONENTS = 4096

Row = tuple[Fraction, ...]


@register("subsampled-gaussian-sum")
@dataclass(frozen=True, init=False, repr=False)
class SubsampledGaussianSum(Distribution):
    """The distribution of sum over i of B_i x_i + Z, with independent B_i ~ Bernoulli(rate) and Gaussian Z.

    The attribute ``records`` holds the non-zero records in order of size, so that equal distributions compare
    equal. Any number of records can be sampled. A density is a sum over the different sums of subsets. It
    raises ``NotTractableError`` if there are more than 4096 of these (12 records of different values).

    Parameters
    ----------
    records : array or sequence
        The x_i: shape (n,) for numbers, or (n, d) for vectors, whose outcome has shape (d,) with noise in
        every coordinate. A float counts as its exact value.
    rate : exact number
        The sampling probability, in [0, 1].
    sigma, variance : exact number, optional
        The standard deviation or the variance of the noise, in [2^-480, 2^480]. Pass either.
    dimension : int, optional
        d, or 0 for numbers. Default: the dimension of the records.

    Raises
    ------
    InvalidParameterError
        A parameter is out of range, or the records differ in shape.
    """

    records: tuple[Row, ...]
    rate: Fraction
    sigma2: Fraction
    dimension: int
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.LEBESGUE

    def __init__(
        self,
        records: Sequence[Any] | NDArray[Any],
        *,
        rate: ExactLike,
        sigma: ExactLike | None = None,
        variance: ExactLike | None = None,
        dimension: int | None = None,
    ) -> None:
        if (sigma is None) == (variance is None):
            raise InvalidParameterError(
                f"the noise must have either sigma or variance, got sigma={sigma!r} and "
                f"variance={variance!r}.",
                code="E-PARAMETER-CHOICE",
            )
        rows, found = _read_records(records, dimension)
        share = probability(parameter(rate, name="rate"), name="rate")
        spread = (
            positive_parameter(sigma, name="sigma") ** 2
            if sigma is not None
            else positive_parameter(variance or 0, name="variance")
        )
        kept = tuple(sorted(row for row in rows if any(row)))
        for name, value in (("records", kept), ("rate", share), ("sigma2", spread), ("dimension", found)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "event_ndim", int(found > 0))

    @cached_property
    def components(self) -> list[tuple[Row, Fraction]]:
        """The different sums of subsets, with their probabilities."""
        return _components(self.records, self.rate, max(self.dimension, 1))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Centres, shape (m, d) or (m,), and log-weights, shape (m,)."""
        centres = np.array([[float(entry) for entry in row] for row, _ in self.components])
        weights = np.array([log_of_fraction(weight) for _, weight in self.components])
        return centres if self.dimension else centres[:, 0], weights

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[np.float64]:
        shape = (*size, self.dimension) if self.dimension else size
        noise = rng.normal(scale=math.sqrt(self.sigma2), size=shape)
        if not self.records:
            return np.asarray(noise)
        rows = np.array([[float(entry) for entry in row] for row in self.records])
        taken = Bernoulli(p=self.rate).sample(rng, (*size, len(rows)))
        total = taken @ rows
        return np.asarray(noise + (total if self.dimension else total[..., 0]))

    def logp(self, x: Any) -> Floats:
        points, (centres, weights) = outcomes(x), self._table
        with np.errstate(invalid="ignore"):  # at infinity the density is 0
            gaps = (points[..., None, :] - centres) if self.dimension else (points[..., None] - centres)
            squares = np.sum(gaps**2, axis=-1) if self.dimension else gaps**2
        squares = np.where(np.isnan(squares), np.inf, squares)
        spread, d = float(self.sigma2), max(self.dimension, 1)
        terms = weights - squares / (2 * spread) - d / 2 * math.log(2 * math.pi * spread)
        return np.asarray(special.logsumexp(terms, axis=-1))

    def logp_ball(self, x: Any) -> arb:
        point = [dyadic(entry) for entry in self._one_outcome(x)]
        total = arb(0)
        for row, weight in self.components:
            square = sum(((a - b) ** 2 for a, b in zip(point, row, strict=True)), Fraction(0))
            total += ball(weight) * ball(-square / (2 * self.sigma2)).exp()
        return total.log() - (2 * arb.pi() * ball(self.sigma2)).log() * len(point) / 2

    def _one_outcome(self, x: Any) -> list[float]:
        array = outcomes(x)
        if array.shape != ((self.dimension,) if self.dimension else ()):
            raise InvalidParameterError(
                f"one outcome must have dimension {self.dimension}, got shape {array.shape}.",
                code="E-OUTCOME-SHAPE",
            )
        return [float(entry) for entry in array.ravel()]

    def cdf(self, x: Any) -> Floats:
        return self._mixed(outcomes(x), 1)

    def sf(self, x: Any) -> Floats:
        return self._mixed(outcomes(x), -1)

    def _mixed(self, points: Floats, sign: Any) -> Floats:
        """Return the mass below ``points`` where ``sign`` is 1, and above where it is -1."""
        self._require_number("cdf")
        centres, weights = self._table
        gaps = np.asarray(sign * points)[..., None] - np.asarray(sign)[..., None] * centres
        tails = special.ndtr(gaps / math.sqrt(self.sigma2))
        return np.asarray(np.sum(np.exp(weights) * tails, axis=-1))

    def ppf(self, q: Any) -> Floats:
        """Return quantiles, by bisection between the quantiles of the outer components."""
        self._require_number("inverse cdf")
        wanted, (centres, _) = levels(q), self._table
        away = math.sqrt(self.sigma2) * special.ndtri(wanted)
        inside = np.where(np.isfinite(away), away, 0.0)
        low, high = centres.min() + inside, centres.max() + inside
        upper = wanted > 0.5  # compare the smaller tail, which is more accurate
        sign, aim = np.where(upper, -1, 1), np.where(upper, 1 - wanted, wanted)
        for _ in range(200):
            middle, before = low + (high - low) / 2, (low, high)
            tail = self._mixed(middle, sign)
            left = np.where(upper, tail > aim, tail < aim)
            low, high = np.where(left, middle, low), np.where(left, high, middle)
            if np.array_equal(before, (low, high)):
                break  # there is no float in between
        return np.where(np.isfinite(away), high, away)

    def cdf_ball(self, x: Any) -> arb:
        return self._mixed_ball(x, 1)

    def sf_ball(self, x: Any) -> arb:
        return self._mixed_ball(x, -1)

    def _mixed_ball(self, x: Any, sign: int) -> arb:
        self._require_number("cdf")
        point, scale, total = self._one_outcome(x)[0], (2 * ball(self.sigma2)).sqrt(), arb(0)
        if math.isinf(point):
            return arb(sign * point > 0)
        for (centre,), weight in self.components:
            total += ball(weight) * (ball(sign * (centre - dyadic(point))) / scale).erfc() / 2
        return total

    def _require_number(self, what: str) -> None:
        if self.dimension:
            raise NotTractableError(
                f"a vector has no {what}. Use its density, or sampling.", code="E-DISTRIBUTION-NOT-SCALAR"
            )

    def mean(self) -> float:
        self._require_number("single mean")
        return float(self.rate * sum((row[0] for row in self.records), Fraction(0)))

    def variance(self) -> float:
        """Return the variance of the outcome, from noise and sampling."""
        self._require_number("single variance")
        squares = sum((row[0] ** 2 for row in self.records), Fraction(0))
        return float(self.sigma2 + self.rate * (1 - self.rate) * squares)

    @property
    def support(self) -> Support:
        return Support(lower=None, upper=None, integer=False)

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return an outcome ``distance`` standard deviations of the noise away from the mean of ``other``.

        The direction is the sum of the records of this distribution minus the sum of the records of
        ``other``.
        """
        if not isinstance(other, SubsampledGaussianSum):
            return super().outcome_against(other, distance)
        size = max(self.dimension, 1)
        mine, others = (
            np.array(distribution.records, dtype=float).reshape(-1, size) for distribution in (self, other)
        )
        change = mine.sum(axis=0) - others.sum(axis=0)
        norm = float(np.linalg.norm(change))
        away = change / norm if norm > 0 else np.eye(size)[0]
        point = others.sum(axis=0) * float(self.rate) + distance * math.sqrt(self.sigma2) * away
        return point if self.dimension else float(point[0])

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.name,
            "records": [[exact_str(entry) for entry in row] for row in self.records],
            "dimension": str(self.dimension),
            "rate": exact_str(self.rate),
            "variance": exact_str(self.sigma2),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        rows = data.get("records")
        good = data.keys() == {"law", "records", "dimension", "rate", "variance"} and isinstance(rows, list)
        entries = [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
        texts = [*(entry for row in entries for entry in row), data.get("rate"), data.get("variance")]
        if not good or len(entries) < len(rows or ()) or not all(isinstance(text, str) for text in texts):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have records, dimension, rate and variance as exact "
                f"strings, got {str(data)[:60]}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        size = int(exact(data["dimension"], name="dimension"))
        records = entries if size else [row[0] if len(row) == 1 else row for row in entries]
        return cls(records, rate=data["rate"], variance=data["variance"], dimension=size)

    def __repr__(self) -> str:
        rows = [[exact_str(entry) for entry in row] for row in self.records]
        inside = rows if self.dimension else [row[0] for row in rows]
        given = f"rate={exact_str(self.rate)!r}, variance={exact_str(self.sigma2)!r}"
        return f"SubsampledGaussianSum({inside!r}, {given}, dimension={self.dimension})"


def _read_records(records: Sequence[Any] | NDArray[Any], dimension: int | None) -> tuple[list[Row], int]:
    """Return the records as exact rows of equal length, and this length, or 0 for numbers (rows of one)."""
    if dimension is None:
        one = records.shape[1:] if isinstance(records, np.ndarray) else np.shape([*records, 0][0])
        dimension = one[0] if one else 0
    rows = []
    for record in records:
        shape = np.shape(record)
        if shape != ((dimension,) if dimension else ()):
            raise InvalidParameterError(
                f"every record must have dimension {dimension}, got shape {shape}.", code="E-RECORD-SHAPE"
            )
        entries = record if dimension else [record]
        rows.append(tuple(_entry(entry) for entry in entries))
    return rows, dimension


def _entry(entry: Any) -> Fraction:
    return dyadic(entry) if isinstance(entry, float | np.generic) else exact(entry, name="record")


@lru_cache(maxsize=256)
def _components(records: tuple[Row, ...], rate: Fraction, size: int) -> list[tuple[Row, Fraction]]:
    sums: dict[Row, Fraction] = {(Fraction(0),) * size: Fraction(1)}
    for record in records:
        later: dict[Row, Fraction] = {}
        for row, weight in sums.items():
            moved = tuple(a + b for a, b in zip(row, record, strict=True))
            for place, chance in ((row, 1 - rate), (moved, rate)):
                if chance:
                    later[place] = later.get(place, Fraction(0)) + weight * chance
        sums = later
        if len(sums) > MAX_COMPONENTS:
            raise NotTractableError(
                f"the density requires at most {MAX_COMPONENTS} different sums of subsets, {len(records)} "
                "records have more. Use fewer records, or records of equal values.",
                code="E-TERMS-TOO-MANY",
            )
    return sorted(sums.items())
