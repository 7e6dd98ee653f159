"""Define the distribution of a value that is not random."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import decode_value, dyadic, encode_value
from dpaudit.distributions.base import Argument, BaseMeasure, Distribution, LogConcavity, Support, register
from dpaudit.distributions.copies import one_whole, trailing
from dpaudit.distributions.scalar import Floats, levels, one_outcome, outcomes, tilt
from dpaudit.kernel.ball import ball

__all__ = ["PointMass", "Revealed"]

Revealed = int | float | bool | str | Fraction | NDArray[Any]


@register("point-mass")
@dataclass(frozen=True, repr=False, init=False, eq=False)
class PointMass(Distribution):
    """The distribution of a value that is not random.

    Two point masses are equal if ``encode_value`` writes them identically: with the same type, dtype, shape
    and bits. The cdf, the moments and the moment generating function exist for numbers only.

    Parameters
    ----------
    value : number, str or array of numbers
        The value. An array has one atom for each entry.

    Raises
    ------
    InvalidParameterError
        The value has another type, or contains NaN.
    """

    value: Any
    base_measure: ClassVar[BaseMeasure] = BaseMeasure.COUNTING

    def __init__(self, value: Revealed | np.generic) -> None:
        array = np.array(value)
        if array.dtype.kind not in "biufU" and not isinstance(value, int | Fraction):
            raise InvalidParameterError(
                "a point mass must be a number, a string or an array of numbers, got "
                f"{type(value).__name__}.",
                code="E-POINT-MASS-TYPE",
            )
        if array.ndim and array.dtype.kind == "U":
            raise InvalidParameterError(
                "an array of a point mass must hold numbers, got strings.", code="E-POINT-MASS-TYPE"
            )
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InvalidParameterError(
                "the value of a point mass must not be NaN, because NaN is not equal to itself.",
                code="E-OUTCOME-NAN",
            )
        array.flags.writeable = False
        object.__setattr__(self, "value", array if array.ndim else array.item())

    @property
    def _array(self) -> NDArray[Any]:
        return np.asarray(self.value)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._array.shape

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PointMass):
            return NotImplemented
        return bool(encode_value(self.value) == encode_value(other.value))

    def __hash__(self) -> int:
        return hash(json.dumps(encode_value(self.value)))

    def __repr__(self) -> str:
        return f"PointMass({self.value!r})"

    def noise_parts(self, count: int = 1) -> Iterator[tuple[dict[str, Any] | None, int, Fraction]]:
        yield None, 0, count * dyadic(self.value)

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "value": encode_value(self.value)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "value"}:
            raise InvalidParameterError(
                f"a {cls.name} distribution must have only a value, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        return cls(decode_value(data["value"]))

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        return np.broadcast_to(self._array, size + self.batch_shape).copy()

    def logp(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        if array.dtype.kind == "f":
            outcomes(array)  # refuses NaN
        return np.where(array == self._array, 0.0, -np.inf)

    def logp_ball(self, x: Any) -> arb:
        # Compare Python numbers, which compare by exact value, because arrays would round large integers.
        pairs = zip(one_whole(x, self.batch_shape), self._array.ravel().tolist(), strict=True)
        return arb(0) if all(a == b for a, b in pairs) else arb.neg_inf()

    def _numbers(self) -> NDArray[Any]:
        if isinstance(self.value, str):
            raise NotTractableError(f"strings have no order, got {self!r}.", code="E-ORDER-MISSING")
        return self._array

    def _number(self) -> Fraction:
        if self.batch_shape or isinstance(self.value, str) or not np.isfinite(float(self.value)):
            raise NotTractableError(
                f"this is defined only for a single finite number, got {self!r}. Evaluate each entry by "
                "itself.",
                code="E-DISTRIBUTION-NOT-SCALAR",
            )
        return dyadic(self.value)

    def cdf(self, x: Any) -> Floats:
        return np.where(outcomes(trailing(x, self.batch_shape)) >= self._numbers(), 1.0, 0.0)

    def sf(self, x: Any) -> Floats:
        return 1 - self.cdf(x)

    def ppf(self, q: Any) -> NDArray[Any]:
        return np.broadcast_to(self._array, levels(trailing(q, self.batch_shape)).shape).copy()

    def cdf_ball(self, x: Any) -> arb:
        value, outcome = self._number(), one_outcome(x)
        return arb(int(float(x) > 0 if outcome is None else outcome >= value))

    def sf_ball(self, x: Any) -> arb:
        return 1 - self.cdf_ball(x)

    def log_mgf_ball(self, t: Argument) -> arb:
        return tilt(t) * ball(self._number())

    def mean(self) -> float:
        return float(self._number())

    def variance(self) -> float:
        self._numbers()
        return 0.0

    @property
    def support(self) -> Support:
        value = self._number()
        return Support(lower=value, upper=value, integer=value.denominator == 1)

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(True, "a single atom")

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        return iter([(self.value, arb(1))])

    def shift(self, offset: Any) -> Distribution:
        self._numbers()
        return super().shift(offset)
