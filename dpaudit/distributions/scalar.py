"""Define the base class of distributions of one real number: checked outcomes and parameters, JSON, repr.

A subclass defines its formulas in the underscored methods, which receive only valid input:

* ``_logp``, ``_cdf`` and ``_sf`` get a float array without NaN. ``_logp`` gets finite entries only.
* ``_ppf`` gets levels in [0, 1].
* ``_logp_ball``, ``_cdf_ball`` and ``_sf_ball`` get the outcome as an exact rational.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, dyadic, exact, exact_str
from dpaudit.distributions.base import Argument, Distribution
from dpaudit.kernel.ball import ball

__all__ = [
    "Floats",
    "ScalarDistribution",
    "levels",
    "one_outcome",
    "outcomes",
    "parameter",
    "positive_parameter",
    "reaches",
    "tilt",
]

Floats = NDArray[np.float64]

#: The range of parameters. Exact arithmetic has no limits, so these keep squares within the float range.
_SMALLEST, _LARGEST = Fraction(1, 2**480), Fraction(2**480)


def parameter(value: ExactLike, *, name: str) -> Fraction:
    """Return one exact number. Raise ``InvalidParameterError`` for arrays and whatever ``exact`` refuses."""
    if isinstance(value, np.ndarray | list | tuple):
        raise InvalidParameterError(
            f"{name} must be one number, got {type(value).__name__} of length {np.size(value)}. Use "
            "Product([...]) for coordinates with different distributions, or .shift(array) for "
            "independent copies.",
            code="E-PARAMETER-NOT-SCALAR",
        )
    return exact(value, name=name)


def positive_parameter(value: ExactLike, *, name: str) -> Fraction:
    """Return one exact number in [2^-480, 2^480], or raise ``InvalidParameterError``."""
    number = parameter(value, name=name)
    if not _SMALLEST <= number <= _LARGEST:
        shown = str(number) if len(str(number)) < 40 else f"a number of {len(str(number))} digits"
        raise InvalidParameterError(
            f"{name} must be in [2^-480, 2^480], got {shown}.", code="E-PARAMETER-RANGE"
        )
    return number


def outcomes(x: Any) -> Floats:
    """Return outcomes as a float array. Raise ``InvalidParameterError`` for NaN and other non-numbers."""
    array = np.asarray(x)
    if array.dtype.kind == "O":
        array = np.array([_as_float(item) for item in array.ravel()], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise InvalidParameterError(
            f"an outcome must be a real number, got dtype {array.dtype}.", code="E-OUTCOME-NOT-NUMBER"
        )
    floats = array.astype(np.float64, copy=False)
    if array.dtype.kind == "f" and np.isnan(floats).any():
        raise InvalidParameterError("an outcome must be a number, got NaN.", code="E-OUTCOME-NAN")
    return floats


def _as_float(item: Any) -> float:
    if not isinstance(item, int | float | Fraction | np.number | np.bool_):
        raise InvalidParameterError(
            f"an outcome must be a real number, got {type(item).__name__}.", code="E-OUTCOME-NOT-NUMBER"
        )
    try:
        return float(item)
    except OverflowError:
        return np.inf if item > 0 else -np.inf  # beyond the float range the log-density is -inf in floats
    except TypeError as error:
        raise InvalidParameterError(
            f"an outcome must be a real number, got {item!r}.", code="E-OUTCOME-NOT-NUMBER"
        ) from error


def one_outcome(x: Any) -> Fraction | None:
    """Return one finite outcome as an exact rational, or ``None`` for an infinite outcome.

    No distribution here yields an infinite outcome.
    """
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x.item()
    if isinstance(x, Fraction | int | np.integer | np.bool_):
        return dyadic(x)
    if not isinstance(x, float | np.floating):
        raise InvalidParameterError(
            f"one outcome must be one real number, got {type(x).__name__} of shape {np.shape(x)}.",
            code="E-OUTCOME-NOT-NUMBER",
        )
    return None if np.isinf(x) else dyadic(x)


def levels(q: Any) -> Floats:
    """Return probability levels as a float array. Raise ``InvalidParameterError`` outside [0, 1]."""
    array = outcomes(q)
    if not np.all((array >= 0) & (array <= 1)):
        raise InvalidParameterError(
            f"q must be in [0, 1], got values from {array.min()} to {array.max()}.", code="E-LEVEL-RANGE"
        )
    return array


def tilt(t: Argument) -> arb:
    """Return the argument of a moment generating function as a ball. A float counts as its exact value."""
    if isinstance(t, arb):
        return t
    return ball(dyadic(t)) if isinstance(t, float | np.floating) else ball(parameter(t, name="t"))


def reaches(t: Argument, pole: Fraction, *, both: bool = False) -> bool:
    """Return whether t >= pole, or abs(t) >= pole if ``both``. For a ball this must hold at every point."""
    if isinstance(t, arb):
        return bool(t >= ball(pole) or (both and t <= ball(-pole)))
    number = dyadic(t) if isinstance(t, float | np.floating) else parameter(t, name="t")
    return number >= pole or (both and number <= -pole)


class ScalarDistribution(Distribution):
    """A distribution of one real number with exact scalar parameters."""

    #: Sets of constructor keywords, each a complete description. JSON holds exactly one set.
    forms: ClassVar[tuple[tuple[str, ...], ...]]

    #: The parameters that change with the scale of the noise, each with its power of the scale.
    scaling: ClassVar[dict[str, int]] = {}

    #: Whether noise of a larger scale is this noise plus independent noise.
    divisible: ClassVar[bool] = False

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return exact parameters under one of ``forms``, which construct an equal distribution."""

    @abstractmethod
    def _logp(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _logp_ball(self, x: Fraction) -> arb: ...

    @abstractmethod
    def _cdf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _sf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _ppf(self, q: Floats) -> NDArray[Any]: ...

    @abstractmethod
    def _cdf_ball(self, x: Fraction) -> arb: ...

    @abstractmethod
    def _sf_ball(self, x: Fraction) -> arb: ...

    def logp(self, x: Any) -> Floats:
        array = outcomes(x)
        finite = np.isfinite(array)
        with np.errstate(over="ignore"):  # squares and ratios of large outcomes overflow to inf correctly
            if finite.all():
                return np.asarray(self._logp(array))
            return np.where(finite, self._logp(np.where(finite, array, 0.0)), -np.inf)

    def logp_ball(self, x: Any) -> arb:
        outcome = one_outcome(x)
        return arb.neg_inf() if outcome is None else self._logp_ball(outcome)

    def cdf(self, x: Any) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self._cdf(outcomes(x)))

    def sf(self, x: Any) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self._sf(outcomes(x)))

    def ppf(self, q: Any) -> NDArray[Any]:
        with np.errstate(divide="ignore"):  # the levels 0 and 1 correctly give infinities
            return np.asarray(self._ppf(levels(q)))

    def cdf_ball(self, x: Any) -> arb:
        outcome = one_outcome(x)
        return arb(float(x) > 0) if outcome is None else self._cdf_ball(outcome)

    def sf_ball(self, x: Any) -> arb:
        outcome = one_outcome(x)
        return arb(float(x) < 0) if outcome is None else self._sf_ball(outcome)

    def scaled(self, factor: ExactLike) -> Self:
        if not self.scaling:
            return super().scaled(factor)
        number = positive_parameter(factor, name="factor")
        given = self.parameters()
        return type(self)(**{key: value * number ** self.scaling.get(key, 0) for key, value in given.items()})

    def amount_over(self, family: str, stated: Mapping[str, Any]) -> Fraction | None:
        if self.name != family or len(self.scaling) != 1:
            return None
        (key,), given = self.scaling, self.parameters()
        if any(value != exact(stated[other]) for other, value in given.items() if other != key):
            return None
        ratio = Fraction(given[key]) / exact(stated[key], name=key)
        return ratio if self.divisible or ratio == 1 else Fraction(0)

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, **{key: exact_str(value) for key, value in self.parameters().items()}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        given = {key: value for key, value in data.items() if key != "law"}
        if not any(given.keys() == set(form) for form in cls.forms):
            raise InvalidParameterError(
                f"a {cls.name} distribution must have the keys {' or '.join(map(str, cls.forms))}, got "
                f"{sorted(given)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        for key, value in given.items():
            if not isinstance(value, str | int):
                raise InvalidParameterError(
                    f"{key} must be an exact string, got {type(value).__name__}.",
                    code="E-DISTRIBUTION-FIELDS",
                )
        return cls(**given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={exact_str(value)!r}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({inside})"
