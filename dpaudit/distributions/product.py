"""Define product distributions: independent coordinates with different distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import (
    BaseMeasure,
    Distribution,
    LogConcavity,
    distribution_from_json,
    register,
)
from dpaudit.distributions.copies import joint_atoms, one_whole, trailing
from dpaudit.distributions.scalar import Floats

__all__ = ["Product"]


@register("product")
@dataclass(frozen=True, repr=False, init=False)
class Product(Distribution):
    """The distribution of a vector of independent scalars, of shape ``(len(distributions),)``.

    Densities are taken with respect to the product of the coordinates' base measures. ``base_measure`` is
    COUNTING only if it is so for all coordinates. Equal coordinates are evaluated and drawn as one array.

    Parameters
    ----------
    distributions : sequence of Distribution
        One scalar distribution for each coordinate, at least one.

    Raises
    ------
    InvalidParameterError
        There are no distributions, or one is not scalar.
    """

    distributions: tuple[Distribution, ...]

    def __init__(self, distributions: Sequence[Distribution]) -> None:
        kept = tuple(distributions)
        if not kept:
            raise InvalidParameterError(
                "a product must have at least one distribution, got an empty list.", code="E-PARTS-MISSING"
            )
        for distribution in kept:
            if (
                not isinstance(distribution, Distribution)
                or distribution.event_ndim
                or distribution.batch_shape
            ):
                raise InvalidParameterError(
                    f"each coordinate of a product must be a scalar distribution, got {distribution!r}.",
                    code="E-DISTRIBUTION-NOT-SCALAR",
                )
        counting = all(distribution.base_measure is BaseMeasure.COUNTING for distribution in kept)
        object.__setattr__(self, "distributions", kept)
        object.__setattr__(self, "base_measure", BaseMeasure.COUNTING if counting else BaseMeasure.LEBESGUE)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return (len(self.distributions),)

    @cached_property
    def _groups(self) -> list[tuple[Distribution, NDArray[np.intp]]]:
        """The distinct distributions with their coordinates, in order of first appearance."""
        positions: dict[Distribution, list[int]] = {}
        for position, distribution in enumerate(self.distributions):
            positions.setdefault(distribution, []).append(position)
        return [(distribution, np.array(where)) for distribution, where in positions.items()]

    def _gather(
        self, shape: tuple[int, ...], part: Callable[[Distribution, NDArray[np.intp]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Assemble an array of shape ``(..., len(distributions))`` from one array for each group."""
        parts = [(part(distribution, where), where) for distribution, where in self._groups]
        result = np.empty(shape, dtype=np.result_type(*(values for values, _ in parts)))
        for values, where in parts:
            result[..., where] = values
        return result

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        return self._gather(
            size + self.batch_shape, lambda distribution, where: distribution.sample(rng, (*size, len(where)))
        )

    def logp(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda distribution, where: distribution.logp(array[..., where]))

    def cdf(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda distribution, where: distribution.cdf(array[..., where]))

    def sf(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda distribution, where: distribution.sf(array[..., where]))

    def ppf(self, q: Any) -> NDArray[Any]:
        array = trailing(q, self.batch_shape)
        return self._gather(array.shape, lambda distribution, where: distribution.ppf(array[..., where]))

    def logp_ball(self, x: Any) -> arb:
        entries = one_whole(x, self.batch_shape)
        return sum(
            (
                distribution.logp_ball(entry)
                for distribution, entry in zip(self.distributions, entries, strict=True)
            ),
            arb(0),
        )

    @property
    def log_concave(self) -> LogConcavity:
        for position, distribution in enumerate(self.distributions):
            if not distribution.log_concave.holds:
                return LogConcavity(False, f"coordinate {position}: {distribution.log_concave.reason}")
        return LogConcavity(
            True, "in each coordinate: the distributions are independent and each is log-concave"
        )

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        return joint_atoms(self.distributions, self.batch_shape, tail)

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "laws": [distribution.to_json() for distribution in self.distributions]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "laws"} or not isinstance(data["laws"], list):
            raise InvalidParameterError(
                f"a product distribution must have a list of distributions, got {sorted(data)}.",
                code="E-DISTRIBUTION-FIELDS",
            )
        return cls([distribution_from_json(distribution) for distribution in data["laws"]])

    def __repr__(self) -> str:
        return f"Product({list(self.distributions)!r})"
