"""Define the distribution of an outcome, as a frozen value with exact parameters.

Shapes. A distribution describes independent scalars (``event_ndim == 0``) or one structured outcome such as a
count vector (``event_ndim == 1``). ``batch_shape`` is the shape of the independent copies that the parameters
describe, such as the shape of a vector offset. ``sample(rng, size)`` returns an array of shape
``size + batch_shape + event_shape``. ``logp(x)`` returns one number for each independent copy: its shape is
the shape of ``x`` without the event axes. The interpreter of the coins decides which axes to sum.

Every distribution computes the same number twice: ``logp`` in floats, for speed, and ``logp_ball``, an
enclosure of the total log-density of one whole outcome, for witnesses and certificates. ``dpaudit verify``
uses only the second.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import ExactLike, dyadic, refuse_floats, require_written_so

__all__ = [
    "Argument",
    "BaseMeasure",
    "Distribution",
    "LogConcavity",
    "Support",
    "centre_distances",
    "distribution_from_json",
    "register",
    "shift_by",
]

#: The argument of a cumulant: an exact number, a float (as its exact dyadic value), or a ball.
Argument = ExactLike | arb


class BaseMeasure(Enum):
    """The measure with respect to which a density is taken."""

    LEBESGUE = "lebesgue"
    COUNTING = "counting"


@dataclass(frozen=True)
class Support:
    """The smallest interval that contains all outcomes.

    An infinite end is ``None``. If ``integer``, all outcomes are integers.
    """

    lower: Fraction | None
    upper: Fraction | None
    integer: bool

    @property
    def finite(self) -> bool:
        """Whether there are finitely many outcomes, all integers."""
        return self.integer and self.lower is not None and self.upper is not None


@dataclass(frozen=True)
class LogConcavity:
    """Whether a density is known to be log-concave, and the reason.

    On the integers this means p(k)^2 >= p(k-1) p(k+1) without internal zeros.
    """

    holds: bool
    reason: str


class Distribution(ABC):
    """A probability distribution. Subclasses are frozen dataclasses, registered under ``name``."""

    name: ClassVar[str]
    base_measure: ClassVar[BaseMeasure]
    event_ndim: ClassVar[int] = 0

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the independent copies that the parameters describe, ``()`` for one scalar."""
        return ()

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        """Draw independent outcomes.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness.
        size : tuple of int
            The shape of the sample (a single outcome).

        Returns
        -------
        array
            The outcomes, of shape ``size + batch_shape + event_shape``.
        """

    @abstractmethod
    def logp(self, x: Any) -> NDArray[np.float64]:
        """Return the log-density of each independent copy, in floats, ``-inf`` outside the support."""

    @abstractmethod
    def logp_ball(self, x: Any) -> arb:
        """Return an ``arb`` that contains the total log-density of one outcome (``-inf`` if impossible)."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON with exact strings, which ``distribution_from_json`` reads to an equal value."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Distribution:
        """Read what ``to_json`` wrote."""

    # Only some distributions have the following. The others raise NotTractableError and never approximate.

    def cdf(self, x: Any) -> NDArray[np.float64]:
        """Return P(X <= x), in floats, elementwise."""
        raise NotTractableError(f"{self.name} has no cdf. Use sampling.", code="E-CDF-MISSING")

    def sf(self, x: Any) -> NDArray[np.float64]:
        """Return P(X > x), in floats, elementwise, accurate in the tail."""
        raise NotTractableError(
            f"{self.name} has no survival function. Use sampling.", code="E-SURVIVAL-MISSING"
        )

    def ppf(self, q: Any) -> NDArray[Any]:
        """Return the smallest x with P(X <= x) >= q, elementwise, for q in [0, 1].

        A replay uses this to compute a hidden draw from its uniform number.
        """
        raise NotTractableError(
            f"{self.name} has no inverse cdf. Draw it visibly or sum over its outcomes.",
            code="E-QUANTILE-MISSING",
        )

    def cdf_ball(self, x: Any) -> arb:
        """Return an ``arb`` that contains P(X <= x)."""
        raise NotTractableError(
            f"{self.name} has no certified cdf. Bound it by hand or use sampling.", code="E-CDF-BALL-MISSING"
        )

    def sf_ball(self, x: Any) -> arb:
        """Return an ``arb`` that contains P(X > x), with a small relative radius in the tail."""
        raise NotTractableError(
            f"{self.name} has no certified survival function. Bound it by hand or use sampling.",
            code="E-SURVIVAL-BALL-MISSING",
        )

    def log_mgf_ball(self, t: Argument) -> arb:
        """Return an ``arb`` that contains log E exp(t X), ``+inf`` if the expectation is infinite."""
        raise NotTractableError(
            f"{self.name} has no moment generating function. Use another tail bound.", code="E-MGF-MISSING"
        )

    def mean(self) -> float:
        """Return the mean."""
        raise NotTractableError(f"{self.name} has no mean.", code="E-MEAN-MISSING")

    def variance(self) -> float:
        """Return the variance."""
        raise NotTractableError(f"{self.name} has no variance.", code="E-VARIANCE-MISSING")

    @property
    def support(self) -> Support:
        """The smallest interval that contains all outcomes."""
        raise NotTractableError(f"{self.name} has no interval as its support.", code="E-SUPPORT-MISSING")

    @property
    def log_concave(self) -> LogConcavity:
        """Whether the density is known to be log-concave, and the reason."""
        return LogConcavity(False, "not known")

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        """Return the outcomes with their probabilities, for exact enumeration.

        Parameters
        ----------
        tail : float
            The mass in [0, 1) that may be left out (0).

        Returns
        -------
        iterator of (outcome, arb)
            All outcomes of positive probability. A distribution with infinite support yields its likeliest
            outcomes until the mass left out is at most ``tail``.

        Raises
        ------
        NotTractableError
            The distribution has a density, or infinite support and ``tail=0``.
        """
        raise NotTractableError(
            f"{self.name} cannot be enumerated. Pass its outcome as given, or use sampling.",
            code="E-ATOMS-MISSING",
        )

    @property
    def noise_and_offset(self) -> tuple[Distribution, Fraction | NDArray[Any]]:
        """The distribution of X - offset, and the offset. It is 0 for a distribution that is not a shift."""
        return self, Fraction(0)

    @property
    def added_noise(self) -> Distribution:
        """The noise alone: without its offset, and before a reduction modulo m."""
        return self.noise_and_offset[0]

    def distances(self, other: Distribution) -> list[Fraction] | None:
        """Return the distance between the two offsets of each entry, the short distance modulo m.

        Return ``None`` if the two are not the same noise of one shape.
        """
        noise, offset = self.noise_and_offset
        same, moved = other.noise_and_offset
        if noise != same or self.batch_shape != other.batch_shape:
            return None
        return centre_distances(offset, moved)

    def noise_parts(self, count: int = 1) -> Iterator[tuple[dict[str, Any] | None, int, Fraction]]:
        """Yield the independent parts of a sum of ``count`` copies, as the kernel reads noise.

        Each is a distribution with its number and 0, or ``None`` and a constant that is added.

        Raises
        ------
        InvalidParameterError
            The distribution is a batch of copies.
        """
        yield self.to_json(), count, Fraction(0)

    def amount_over(self, family: str, stated: Mapping[str, Any]) -> Fraction | None:
        """Return how much noise this is, as a multiple of stated noise, or ``None`` for another family.

        Parameters
        ----------
        family : str
            The name of the stated distribution.
        stated : mapping
            Its parameters, which are exact numbers, and perhaps others.

        Returns
        -------
        Fraction or None
            At least 1 only if this is the stated noise plus independent noise.
        """
        return None

    @property
    def spread(self) -> Fraction | None:
        """The number s such that a shift by D costs D^2 / 2s in zero-concentrated privacy.

        It is the variance of noise with Gaussian tails (for a discrete Gaussian its parameter), and ``None``
        for other noise.
        """
        return None

    @property
    def gaussian_variance(self) -> Fraction | None:
        """The variance of a centred normal distribution, and ``None`` for every other distribution."""
        return None

    @property
    def messages(self) -> Counter[Distribution] | None:
        """The distributions of independent messages that are shown without their order, or ``None``."""
        return None

    def changed_message(self, other: Distribution) -> tuple[Distribution, Distribution] | None:
        """Return the two distributions of the one changed message, if all other messages agree.

        Return ``None`` otherwise. The messages without their order are a function of all messages in order,
        of which one changed. So any bound on the loss of that one alone bounds the loss of all of them.
        """
        here, there = self.messages, other.messages
        if type(self) is not type(other) or here is None or there is None:
            return None
        gone, come = list((here - there).elements()), list((there - here).elements())
        return (gone[0], come[0]) if len(gone) == len(come) == 1 else None

    def as_outcome(self, number: int) -> Any:
        """Return the outcome that one number describes, or ``None`` if outcomes have more than one number."""
        return None if self.event_ndim else number

    def entry(self, place: int) -> Distribution:
        """Return the distribution of one of the independent copies, which are counted in C order."""
        raise NotTractableError(f"{self.name} has no independent copies.", code="E-COPIES-MISSING")

    def scaled(self, factor: ExactLike) -> Self:
        """Return this noise with ``factor`` times its scale, around the same centre.

        On the integers, this is the noise of the same family with the scaled parameter.

        Raises
        ------
        InvalidParameterError
            The distribution has no scale.
        """
        raise InvalidParameterError(
            f"only noise with a scale can be scaled, got {type(self).__name__}.", code="E-SCALE-MISSING"
        )

    def shift_loss(self, distance: Fraction) -> Fraction | arb | None:
        """Return the largest |log p(x) - log p(x - distance)| over outcomes, the pure epsilon of a shift.

        Parameters
        ----------
        distance : Fraction
            The shift, in units of the outcome.

        Returns
        -------
        Fraction, arb or None
            The loss if it is rational, and a ball that contains it otherwise. ``None`` if it is unbounded, or
            if this distribution has no closed form for it.
        """
        return None if distance else Fraction(0)

    def largest_loss(self, other: Distribution) -> Fraction | arb | None:
        """Return the largest |log p - log p'| over outcomes, as ``shift_loss`` does, if it is known."""
        return None

    def squared_cost(self, other: Distribution, loss: Callable[[], Fraction | None]) -> Fraction | None:
        """Return twice a bound on rho, if a change between the two distributions is rho-zCDP.

        Parameters
        ----------
        other : Distribution
            The distribution on the neighbour.
        loss : callable
            Computes an upper bound on |log p - log p'|, or ``None``.

        Returns
        -------
        Fraction or None
            For noise with Gaussian tails the squared change over its ``spread``, otherwise the squared loss
            (e^2/2-zCDP, Bun and Steinke 2016, Proposition 1.4). ``None`` if neither is known.
        """
        spread, moves = self.added_noise.spread, self.distances(other)
        if spread is not None and spread > 0 and moves is not None:
            return sum((gap**2 for gap in moves), Fraction(0)) / spread
        worst = loss()
        return None if worst is None else worst**2

    def outcome_against(self, other: Distribution, distance: float) -> Any:
        """Return an outcome that is much likelier under this distribution than under ``other``.

        Parameters
        ----------
        other : Distribution
            The distribution on the neighbour.
        distance : float
            How far out the outcome of an infinite support is, in standard deviations of the noise.

        Returns
        -------
        outcome or None
            Of finitely many outcomes the one with the largest ratio. ``None`` if nothing is known.
        """
        if self.batch_shape:
            return None
        try:
            outcomes = [value for value, p in self.atoms() if p > 0]
        except NotTractableError:
            return None
        losses = [float(np.sum(self.logp(x))) - float(np.sum(other.logp(x))) for x in outcomes]
        return outcomes[int(np.argmax(losses))] if outcomes else None

    def shift(self, offset: Any) -> Distribution:
        """Return the distribution of X + offset. An array gives independent copies, one for each entry."""
        return _SHIFTING[-1](self, offset)


def centre_distances(here: Fraction | NDArray[Any], there: Fraction | NDArray[Any]) -> list[Fraction] | None:
    """Return |a - b| for each entry of two offsets, exactly, or ``None`` if their numbers differ."""
    sides = [[one] if isinstance(one, Fraction) else one.ravel().tolist() for one in (here, there)]
    if len(sides[0]) != len(sides[1]):
        return None
    # Most entries are unchanged, so make fractions only for the others.
    return [Fraction(0) if a == b else abs(dyadic(a) - dyadic(b)) for a, b in zip(*sides, strict=True)]


#: The function that ``Distribution.shift`` calls. It is in a file that imports this one.
_SHIFTING: list[Callable[[Distribution, Any], Distribution]] = []


def shift_by(function: Callable[[Distribution, Any], Distribution]) -> None:
    """Make ``Distribution.shift`` call ``function``."""
    _SHIFTING.append(function)


L = TypeVar("L", bound=type[Distribution])
_REGISTRY: dict[str, type[Distribution]] = {}


def register(name: str) -> Callable[[L], L]:
    """Return a class decorator that makes a distribution readable from JSON under ``name``."""

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
    """Read a distribution that ``to_json`` wrote.

    Raises
    ------
    InvalidParameterError
        The distribution is unknown, or is written differently from how ``to_json`` writes it (``"2/2"``,
        ``true`` for 1, a field that the distribution does not have).
    """
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
    """Return log(1 - e^{-x}) for x >= 0 (-inf at 0) without cancellation (Maechler 2012)."""
    with np.errstate(divide="ignore"):
        return np.where(x > math.log(2), np.log1p(-np.exp(-x)), np.log(-np.expm1(-x)))
