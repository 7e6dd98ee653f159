"""Define images, the functions of all users' outcomes that an adversary sees, and their distributions.

``Coins.aggregate`` draws one outcome per user and shows only the image. ``apply`` maps given outcomes to
their image, ``sample`` draws user by user, and ``image_distribution`` returns the exact distribution of the
image or raises the reason why there is none. Images are frozen values without data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.exact import dyadic
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.binomial import Bernoulli, Binomial
from dpaudit.distributions.continuous import Gaussian
from dpaudit.distributions.convolution import ConvolvedIntegers
from dpaudit.distributions.counts import CountVector
from dpaudit.distributions.identity import identity
from dpaudit.distributions.lattice import DiscreteLaplace, LatticeDistribution
from dpaudit.distributions.multiset import ShuffledMultiset, canonical_rows
from dpaudit.distributions.point_mass import PointMass
from dpaudit.distributions.polya import Polya
from dpaudit.distributions.polya_difference import PolyaDifference
from dpaudit.distributions.product import Product
from dpaudit.distributions.shifted import Shifted
from dpaudit.distributions.skellam import Skellam
from dpaudit.distributions.wrapped import WrappedMod

Part = TypeVar("Part", Polya, PolyaDifference)

__all__ = ["Counts", "Image", "Shuffle", "Sum", "SumMod", "image_from_json"]


class Image(ABC):
    """A symmetric function of the users' outcomes."""

    name: ClassVar[str]

    @property
    def ring(self) -> int | None:
        """The number m if the image is in Z_m, and ``None`` otherwise."""
        return None

    @abstractmethod
    def apply(self, parts: Any) -> NDArray[Any]:
        """Return the image of ``parts``, an array (or list) with the n users on the first axis."""

    @abstractmethod
    def image_distribution(self, distributions: Sequence[Distribution]) -> Distribution:
        """Return the exact distribution of the image of independent outcomes.

        Parameters
        ----------
        distributions : sequence of Distribution
            One distribution for each user, at least one.

        Raises
        ------
        NotTractableError
            The exact distribution is not available, for the reason in the text.
        """

    def sample(
        self, distributions: Sequence[Distribution], rng: np.random.Generator, size: tuple[int, ...] = ()
    ) -> NDArray[Any]:
        """Draw the outcome of every user and return the image.

        The distribution is the same as that from ``image_distribution(distributions).sample``.
        """
        return self.apply(np.stack([distribution.sample(rng, size) for distribution in _some(distributions)]))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, from which ``image_from_json`` reads an equal image."""
        return {"image": self.name}


@dataclass(frozen=True)
class Sum(Image):
    """The sum of all outcomes, elementwise and without a modulus."""

    name: ClassVar[str] = "sum"

    def apply(self, parts: Any) -> NDArray[Any]:
        return np.asarray(np.sum(_users_first(parts), axis=0))

    def image_distribution(self, distributions: Sequence[Distribution]) -> Distribution:
        bases, offset = _peel(_some(distributions))
        if not bases:
            return PointMass(
                int(offset) if isinstance(offset, Fraction) and offset.denominator == 1 else offset
            )
        base = _remembered_sum_of(bases)
        return base if isinstance(offset, Fraction) and offset == 0 else base.shift(offset)


@dataclass(frozen=True)
class SumMod(Image):
    """The elementwise sum of integer outcomes in Z_m, the output of secure aggregation.

    Parameters
    ----------
    modulus : int
        The modulus m, from 1 to 2^52.
    """

    modulus: int
    name: ClassVar[str] = "sum-mod"

    @property
    def ring(self) -> int:
        return self.modulus

    def __post_init__(self) -> None:
        if (
            isinstance(self.modulus, bool)
            or not isinstance(self.modulus, int)
            or not 1 <= self.modulus <= 2**52
        ):
            raise InvalidParameterError(
                f"modulus must be an integer from 1 to 2^52, got {self.modulus!r}.", code="E-MODULUS-RANGE"
            )

    def apply(self, parts: Any) -> NDArray[np.int64]:
        array = _users_first(parts)
        if not (np.floor(array) == array).all():
            raise InvalidParameterError(
                "outcomes in Z_m must be integers, got fractions.", code="E-OUTCOME-NOT-INTEGER"
            )
        total = np.zeros(array.shape[1:], dtype=np.int64)
        for part in array:  # reduce at every step, so that every sum fits in int64
            total = (total + part.astype(np.int64) % self.modulus) % self.modulus
        return total

    def image_distribution(self, distributions: Sequence[Distribution]) -> Distribution:
        bases, offset = _peel(_some(distributions))
        if bases:
            return WrappedMod(_remembered_sum_of(bases), modulus=self.modulus, offset=_whole(offset))
        return PointMass(np.mod(_whole(offset), self.modulus))

    def to_json(self) -> dict[str, Any]:
        return {"image": self.name, "modulus": self.modulus}


@dataclass(frozen=True)
class Counts(Image):
    """The number of occurrences of each symbol, a vector on a new last axis.

    Parameters
    ----------
    outcomes : int
        The number of symbols 0, ..., ``outcomes`` - 1, at least 1.
    """

    outcomes: int
    name: ClassVar[str] = "counts"

    def __post_init__(self) -> None:
        if isinstance(self.outcomes, bool) or not isinstance(self.outcomes, int) or self.outcomes < 1:
            raise InvalidParameterError(
                f"outcomes must be an integer, 1 or more, got {self.outcomes!r}.", code="E-SYMBOLS-RANGE"
            )

    def apply(self, parts: Any) -> NDArray[np.int64]:
        symbols = _users_first(parts)
        if not np.isin(symbols, np.arange(self.outcomes)).all():
            raise InvalidParameterError(
                f"counted outcomes must be in 0..{self.outcomes - 1}, got others.", code="E-OUTCOME-RANGE"
            )
        return np.stack([(symbols == j).sum(axis=0, dtype=np.int64) for j in range(self.outcomes)], axis=-1)

    def image_distribution(self, distributions: Sequence[Distribution]) -> Distribution:
        return CountVector(_some(distributions), outcomes=self.outcomes)

    def to_json(self) -> dict[str, Any]:
        return {"image": self.name, "outcomes": self.outcomes}


@dataclass(frozen=True)
class Shuffle(Image):
    """All messages in sorted order, which reveals nothing about their senders.

    Numbers have shape (..., n). Vectors have shape (..., n, d) and are sorted lexicographically.

    Parameters
    ----------
    row_ndim : int or None
        0 if a message is a number, 1 if it is a vector. By default, a message has the whole batch shape of a
        user's distribution. Pass a number if distributions (or ``parts``) have other axes before it, such as
        replicates.
    """

    row_ndim: int | None = None
    name: ClassVar[str] = "shuffle"

    def __post_init__(self) -> None:
        if isinstance(self.row_ndim, bool) or self.row_ndim not in (None, 0, 1):
            raise InvalidParameterError(
                f"row_ndim must be 0 (numbers), 1 (vectors) or None, got {self.row_ndim!r}.",
                code="E-ROW-NDIM-RANGE",
            )

    def apply(self, parts: Any) -> NDArray[Any]:
        array = _users_first(parts)
        rows = self.row_ndim if self.row_ndim is not None else array.ndim - 1
        if rows > 1 or array.ndim < 1 + rows:
            raise InvalidParameterError(
                f"messages must be numbers or vectors, got parts of shape {array.shape}. Pass row_ndim if "
                "other axes come first.",
                code="E-MESSAGE-SHAPE",
            )
        return canonical_rows(np.moveaxis(array, 0, array.ndim - 1 - rows), rows)

    def sample(
        self, distributions: Sequence[Distribution], rng: np.random.Generator, size: tuple[int, ...] = ()
    ) -> NDArray[Any]:
        rows = ShuffledMultiset(distributions[:1], row_ndim=self.row_ndim).row_ndim
        return Shuffle(row_ndim=rows).apply(
            np.stack([distribution.sample(rng, size) for distribution in _some(distributions)])
        )

    def image_distribution(self, distributions: Sequence[Distribution]) -> Distribution:
        return ShuffledMultiset(_some(distributions), row_ndim=self.row_ndim)

    def to_json(self) -> dict[str, Any]:
        return {"image": self.name, "row_ndim": self.row_ndim}


_IMAGES: dict[str, type[Image]] = {image.name: image for image in (Sum, SumMod, Counts, Shuffle)}


def image_from_json(data: dict[str, Any]) -> Image:
    """Read an image that ``to_json`` wrote. Raise ``InvalidParameterError`` for an unknown image."""
    kind = data.get("image") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _IMAGES:
        raise InvalidParameterError(
            f"an image must be one of {sorted(_IMAGES)}, got {kind!r}.", code="E-IMAGE-UNKNOWN"
        )
    try:
        return _IMAGES[kind](**{key: value for key, value in data.items() if key != "image"})
    except TypeError as error:
        raise InvalidParameterError(
            f"the image {kind!r} does not have the fields {sorted(data)}.", code="E-IMAGE-FIELDS"
        ) from error


def _some(distributions: Sequence[Distribution]) -> Sequence[Distribution]:
    if len(distributions) == 0:
        raise InvalidParameterError(
            "an aggregate requires at least one user, got none.", code="E-USERS-MISSING"
        )
    return distributions


def _users_first(parts: Any) -> NDArray[Any]:
    array = np.asarray(parts)
    if array.ndim == 0 or array.shape[0] == 0:
        raise InvalidParameterError(
            f"parts must have the users on the first axis, got shape {array.shape}.", code="E-PARTS-SHAPE"
        )
    return array


# The distribution of a sum

#: Distributions of sums, by the identities of the terms in order, and the terms. A program that sums in every
#: run needs the same ones repeatedly.
_SUMS: dict[tuple[int, ...], tuple[Distribution, list[Distribution]]] = {}
#: The largest number of cached sums, and of terms in a cached sum.
_REMEMBERED, _USERS = 256, 4096


def _remembered_sum_of(bases: list[Distribution]) -> Distribution:
    if len(bases) > _USERS:
        return _sum_of(bases)
    key = tuple(map(identity, bases))  # valid while the entry keeps a reference to the distributions
    if key not in _SUMS:
        if len(_SUMS) >= _REMEMBERED:
            _SUMS.clear()
        _SUMS[key] = _sum_of(bases), bases
    return _SUMS[key][0]


def _peel(distributions: Sequence[Distribution]) -> tuple[list[Distribution], Fraction | NDArray[Any]]:
    """Return the random parts without their shifts, and the total of all shifts and constants."""
    # Users with the same value usually share one distribution object.
    distinct = {identity(distribution): distribution for distribution in distributions}
    shapes = {distribution.batch_shape for distribution in distinct.values()}
    if len(shapes) > 1:
        raise InvalidParameterError(
            f"the outcomes of all users must have one shape, got {sorted(shapes)}.", code="E-OUTCOME-SHAPE"
        )
    parts = {key: _part(distribution) for key, distribution in distinct.items()}
    keys = [*map(identity, distributions)]
    bases = [base for key in keys if (base := parts[key][0]) is not None]
    multiplicity = Counter(keys)
    shifts = [(offset, multiplicity[key]) for key, (_, offset) in parts.items() if offset is not None]
    return bases, _total(shifts)


def _part(distribution: Distribution) -> tuple[Distribution | None, Any]:
    """Return the random part of a distribution without its shift, and the shift, each ``None`` if absent."""
    if distribution.event_ndim:
        raise NotTractableError(
            "a sum has an exact distribution only for numbers and vectors of independent numbers, got "
            f"{distribution!r}. Use sampling.",
            code="E-DISTRIBUTION-NOT-SCALAR",
        )
    if isinstance(distribution, PointMass):
        if isinstance(distribution.value, str):
            raise InvalidParameterError(
                f"summed outcomes must be numbers, got {distribution.value!r}.", code="E-OUTCOME-NOT-NUMBER"
            )
        return None, distribution.value
    return (
        (distribution.base, distribution.offset)
        if isinstance(distribution, Shifted)
        else (distribution, None)
    )


def _total(offsets: list[tuple[Any, int]]) -> Fraction | NDArray[Any]:
    """Return the sum of numbers or arrays with multiplicities.

    Sums of numbers and of integer arrays are exact. Sums of float arrays are correctly rounded once.
    """
    arrays = [item for item, times in offsets if isinstance(item, np.ndarray) for _ in range(times)]
    scalars = _total_of_numbers([item for item in offsets if not isinstance(item[0], np.ndarray)])
    if not arrays:
        return scalars
    stack = np.stack(arrays)
    if stack.dtype.kind in "biu" and scalars.denominator == 1:
        flat = [sum(column) + int(scalars) for column in stack.reshape(len(arrays), -1).T.tolist()]
        return np.array(flat, dtype=np.int64).reshape(stack.shape[1:])
    columns = stack.astype(np.float64).reshape(len(arrays), -1).T.tolist()
    return np.array([math.fsum([*column, float(scalars)]) for column in columns]).reshape(stack.shape[1:])


def _total_of_numbers(numbers: list[tuple[Any, int]]) -> Fraction:
    """Return the exact sum. Integers are added as integers, which is much faster."""
    exactly = [(dyadic(number), times) for number, times in numbers]
    whole = sum(number.numerator * times for number, times in exactly if number.denominator == 1)
    return sum((number * times for number, times in exactly if number.denominator != 1), Fraction(whole))


def _whole(offset: Fraction | NDArray[Any]) -> Any:
    """Return an offset in Z_m as an integer or an integer array."""
    if isinstance(offset, Fraction):
        if offset.denominator != 1:
            raise InvalidParameterError(
                f"outcomes in Z_m must be integers, got a total shift of {offset}.",
                code="E-OUTCOME-NOT-INTEGER",
            )
        return int(offset)
    if not (np.floor(offset) == offset).all():
        raise InvalidParameterError(
            "outcomes in Z_m must be integers, got fractional shifts.", code="E-OUTCOME-NOT-INTEGER"
        )
    return offset.astype(np.int64)


def _sum_of(bases: list[Distribution]) -> Distribution:
    """Return the distribution of the sum of independent unshifted variables.

    They must be of one family, or integers with finitely many outcomes.
    """
    if len(bases) == 1:
        return bases[0]
    found = set(map(type, bases))  # many users have distributions of few types
    if any(issubclass(kind, Product) for kind in found):
        products = [base for base in bases if isinstance(base, Product)]
        if len(products) < len(bases):
            raise NotTractableError(
                "vectors with different distributions cannot be summed with vectors of one distribution. "
                "Use Product for all users.",
                code="E-SUM-NO-CLOSED-FORM",
            )
        return Product(
            [
                _sum_of([product.distributions[j] for product in products])
                for j in range(len(products[0].distributions))
            ]
        )
    for family, total in _FAMILIES:
        distribution = total(bases) if all(issubclass(kind, family) for kind in found) else None
        if distribution is not None:
            return distribution
    kinds = sorted({base.name for base in bases})
    if all(isinstance(base, LatticeDistribution) and base.support.finite for base in bases):
        return ConvolvedIntegers(bases)
    raise NotTractableError(
        f"the sum of {len(bases)} distributions of kind {', '.join(kinds)} has no closed form. Use "
        "sampling, or certify it from its parts.",
        code="E-SUM-NO-CLOSED-FORM",
    )


def _sum_gaussian(bases: list[Distribution]) -> Distribution | None:
    return Gaussian(variance=sum(part.sigma2 for part in cast(list[Gaussian], bases)))


def _sum_skellam(bases: list[Distribution]) -> Distribution | None:
    """Return the Skellam distribution of a sum. The Poisson means add, hence the variances add."""
    return Skellam(variance=sum(part.parameters()["variance"] for part in cast(list[Skellam], bases)))


def _sum_binomial(bases: list[Distribution]) -> Distribution | None:
    parts = cast(list[Binomial | Bernoulli], bases)
    if len({part.p for part in parts}) > 1:
        return None
    return Binomial(
        trials=sum(part.trials if isinstance(part, Binomial) else 1 for part in parts), p=parts[0].p
    )


def _sum_polya(bases: list[Distribution]) -> Distribution | None:
    """Return the Pólya distribution of a sum, or ``None`` if the ratios differ.

    The generating functions ((1-x)/(1-xz))^r multiply, so the shapes add if the ratios are equal.
    """
    parts = cast(list[Polya], bases)
    if len({(part.log_ratio, part.ratio) for part in _distinct(parts)}) > 1:
        return None
    shape = _total_shape(parts)
    first = parts[0]
    return (
        Polya(shape=shape, log_ratio=first.log_ratio)
        if first.ratio is None
        else Polya(shape=shape, ratio=first.ratio)
    )


def _distinct(parts: Sequence[Part]) -> list[Part]:
    """Return each object once, because users with one distribution usually share the object."""
    return list({identity(part): part for part in parts}.values())


def _total_shape(parts: Sequence[Part]) -> Fraction:
    """Return the sum of all shapes, each distinct object times its multiplicity."""
    multiplicity = Counter(map(identity, parts))
    return sum((part.shape * multiplicity[identity(part)] for part in _distinct(parts)), Fraction(0))


def _sum_polya_difference(bases: list[Distribution]) -> Distribution | None:
    """Return the distribution of a sum of Pólya differences, or ``None`` if the ratios differ.

    The shapes add if the ratios are equal. Shape 1 is the difference of two geometric variables, which is
    discrete Laplace (Goryczka and Xiong 2017).
    """
    parts = cast(list[PolyaDifference], bases)
    if len({part.log_ratio for part in _distinct(parts)}) > 1:
        return None
    shape = _total_shape(parts)
    if shape == 1:
        return DiscreteLaplace(scale=1 / parts[0].log_ratio)
    return PolyaDifference(shape=shape, log_ratio=parts[0].log_ratio)


#: Families whose sums may be in the same family, with functions that return the sum or ``None``.
_FAMILIES: tuple[
    tuple[tuple[type[Distribution], ...], Callable[[list[Distribution]], Distribution | None]], ...
] = (
    ((Gaussian,), _sum_gaussian),
    ((Skellam,), _sum_skellam),
    ((Binomial, Bernoulli), _sum_binomial),
    ((Polya,), _sum_polya),
    ((PolyaDifference,), _sum_polya_difference),
)
