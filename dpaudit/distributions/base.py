"""What a distribution is: the distribution of what comes out of a site, as a frozen value with exact
parameters.

Shapes. A distribution describes independent scalars (``event_ndim == 0``) or one structured outcome such as a
count
vector (``event_ndim == 1``). ``batch_shape`` is the shape of independent copies that the parameters call for
(the shape of a vector offset, say). ``sample(rng, size)`` returns ``size + batch_shape + event_shape``;
``logp(x)`` returns one number for each independent copy: the shape of ``x`` without its event axes. Whoever
holds the coins decides which axes to sum.

Every distribution offers the same number twice: ``logp`` in floats, for speed, and ``logp_ball``, an
enclosure of the
total log-density of one whole outcome, for witnesses and certificates. ``dpaudit verify`` uses only the
second.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, refuse_floats, require_written_so

__all__ = [
    "Argument",
    "BaseMeasure",
    "Distribution",
    "LogConcavity",
    "Support",
    "distribution_from_json",
    "register",
    "shift_by",
]

#: Where a cumulant is taken: at an exact number, at a float as the dyadic number it is, or over a ball.
Argument = ExactLike | arb


class BaseMeasure(Enum):
    """What a density is taken with respect to."""

    LEBESGUE = "lebesgue"
    COUNTING = "counting"


@dataclass(frozen=True)
class Support:
    """The smallest interval that holds all outcomes; ``None`` for an infinite end. On the integers if
    ``integer``."""

    lower: Fraction | None
    upper: Fraction | None
    integer: bool

    @property
    def finite(self) -> bool:
        return self.integer and self.lower is not None and self.upper is not None


@dataclass(frozen=True)
class LogConcavity:
    """Whether the density is log-concave (on the integers: p(k)^2 >= p(k-1) p(k+1), no internal zeros), and
    why."""

    holds: bool
    reason: str


class Distribution(ABC):
    """A probability distribution. Subclasses are frozen dataclasses with exact parameters, registered under
    ``name``."""

    name: ClassVar[str]
    base_measure: ClassVar[BaseMeasure]
    event_ndim: ClassVar[int] = 0

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the independent copies that the parameters describe; ``()`` for one scalar."""
        return ()

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        """Draw an array of shape ``size + batch_shape + event_shape``."""

    @abstractmethod
    def logp(self, x: Any) -> NDArray[np.float64]:
        """Log-density of each independent copy, in floats; ``-inf`` off the support."""

    @abstractmethod
    def logp_ball(self, x: Any) -> arb:
        """An ``arb`` that contains the total log-density of the one outcome ``x``; ``-inf`` off the
        support."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain JSON with exact strings; ``distribution_from_json`` reads it back to an equal
        distribution."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Distribution:
        """Inverse of ``to_json``."""

    # What only some distributions have. A distribution without it says so; it never approximates.

    def cdf(self, x: Any) -> NDArray[np.float64]:
        """P(X <= x), in floats, elementwise."""
        raise NotTractableError(f"{self.name} has no cdf. Use sampling.", code="E-CDF-MISSING")

    def sf(self, x: Any) -> NDArray[np.float64]:
        """P(X > x), in floats, elementwise, accurate in the tail."""
        raise NotTractableError(
            f"{self.name} has no survival function. Use sampling.", code="E-SURVIVAL-MISSING"
        )

    def ppf(self, q: Any) -> NDArray[Any]:
        """Smallest x with P(X <= x) >= q, elementwise: the map that replays a hidden draw from its
        uniform."""
        raise NotTractableError(
            f"{self.name} has no inverse cdf. Draw it visibly or sum over its outcomes.",
            code="E-QUANTILE-MISSING",
        )

    def cdf_ball(self, x: Any) -> arb:
        """An ``arb`` that contains P(X <= x)."""
        raise NotTractableError(
            f"{self.name} has no certified cdf. Bound it by hand or use sampling.", code="E-CDF-BALL-MISSING"
        )

    def sf_ball(self, x: Any) -> arb:
        """An ``arb`` that contains P(X > x), with a small relative radius in the tail."""
        raise NotTractableError(
            f"{self.name} has no certified survival function. Bound it by hand or use sampling.",
            code="E-SURVIVAL-BALL-MISSING",
        )

    def log_mgf_ball(self, t: Argument) -> arb:
        """An ``arb`` that contains log E exp(t X); ``+inf`` where the expectation is infinite."""
        raise NotTractableError(
            f"{self.name} has no moment generating function. Use another tail bound.", code="E-MGF-MISSING"
        )

    def mean(self) -> float:
        raise NotTractableError(f"{self.name} has no mean.", code="E-MEAN-MISSING")

    def variance(self) -> float:
        raise NotTractableError(f"{self.name} has no variance.", code="E-VARIANCE-MISSING")

    @property
    def support(self) -> Support:
        raise NotTractableError(f"{self.name} has no interval as its support.", code="E-SUPPORT-MISSING")

    @property
    def log_concave(self) -> LogConcavity:
        return LogConcavity(False, "not known")

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        """The outcomes with their probabilities (``arb``), for exact enumeration.

        A distribution with infinite support yields its likeliest outcomes until the mass left out is at most
        ``tail``; with ``tail=0`` it raises ``NotTractableError``, as does a distribution with a density.
        """
        raise NotTractableError(
            f"{self.name} cannot be enumerated. Pass its outcome as given, or use sampling.",
            code="E-ATOMS-MISSING",
        )

    def shift(self, offset: Any) -> Distribution:
        """The distribution of X + offset. An array gives independent copies, one for each entry."""
        return _SHIFTING[-1](self, offset)


#: What ``Distribution.shift`` calls. Its result is a distribution itself, from a file that imports this one.
_SHIFTING: list[Callable[[Distribution, Any], Distribution]] = []


def shift_by(function: Callable[[Distribution, Any], Distribution]) -> None:
    """Make ``function`` what ``Distribution.shift`` calls."""
    _SHIFTING.append(function)


L = TypeVar("L", bound=type[Distribution])
_REGISTRY: dict[str, type[Distribution]] = {}


def register(name: str) -> Callable[[L], L]:
    """Class decorator: make a distribution readable from JSON under ``name``."""

    def decorate(cls: L) -> L:
        if name in _REGISTRY:
            raise InvalidParameterError(
                f"the name of a distribution must be unique, but {name!r} is taken.", code="E-NAME-TAKEN"
            )
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return decorate


def distribution_from_json(data: dict[str, Any]) -> Distribution:
    """Read a distribution that ``to_json`` wrote. Raises ``InvalidParameterError`` for an unknown one, and
    for another
    spelling of a known one (``"2/2"``, ``true`` for 1, a field that the distribution does not have)."""
    kind = data.get("law") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _REGISTRY:
        raise InvalidParameterError(
            f"a distribution must be one of {sorted(_REGISTRY)}, got {kind!r}.", code="E-DISTRIBUTION-UNKNOWN"
        )
    refuse_floats(data, name="a distribution in a file")
    distribution = _REGISTRY[kind].from_json(data)
    require_written_so(distribution.to_json(), data, name=f"the distribution {kind!r}")
    return distribution


def log1mexp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 - e^{-x}) for x >= 0 (-inf at 0) without cancellation (Maechler 2012)."""
    with np.errstate(divide="ignore"):
        return np.where(x > math.log(2), np.log1p(-np.exp(-x)), np.log(-np.expm1(-x)))
