"""Product laws: independent coordinates, each with a law of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import BaseMeasure, Law, LogConcavity, law_from_json, register
from dpaudit.distributions.copies import joint_atoms, one_whole, trailing
from dpaudit.distributions.scalar import Floats

__all__ = ["Product"]


@register("product")
@dataclass(frozen=True, repr=False, init=False)
class Product(Law):
    """Independent scalar laws side by side: an outcome is a vector of shape ``(len(laws),)``.

    Densities are taken with respect to the product of the coordinates' base measures; ``base_measure`` is
    COUNTING only if all of them are. Equal coordinates are evaluated and drawn together, as one array.
    """

    laws: tuple[Law, ...]

    def __init__(self, laws: Sequence[Law]) -> None:
        kept = tuple(laws)
        if not kept:
            raise InvalidParameterError(
                "a product must have at least one law, got an empty list; leave the site out."
            )
        for law in kept:
            if not isinstance(law, Law) or law.event_ndim or law.batch_shape:
                raise InvalidParameterError(
                    f"each coordinate of a product must be a scalar law, got {law!r}; split it."
                )
        counting = all(law.base_measure is BaseMeasure.COUNTING for law in kept)
        object.__setattr__(self, "laws", kept)
        object.__setattr__(self, "base_measure", BaseMeasure.COUNTING if counting else BaseMeasure.LEBESGUE)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return (len(self.laws),)

    @cached_property
    def _groups(self) -> list[tuple[Law, NDArray[np.intp]]]:
        """Each distinct law with its coordinates, in order of first appearance."""
        positions: dict[Law, list[int]] = {}
        for position, law in enumerate(self.laws):
            positions.setdefault(law, []).append(position)
        return [(law, np.array(where)) for law, where in positions.items()]

    def _gather(
        self, shape: tuple[int, ...], part: Callable[[Law, NDArray[np.intp]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Assemble an array of shape ``(..., len(laws))`` from one array for each group."""
        parts = [(part(law, where), where) for law, where in self._groups]
        result = np.empty(shape, dtype=np.result_type(*(values for values, _ in parts)))
        for values, where in parts:
            result[..., where] = values
        return result

    def sample(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> NDArray[Any]:
        return self._gather(size + self.batch_shape, lambda law, where: law.sample(rng, (*size, len(where))))

    def logp(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda law, where: law.logp(array[..., where]))

    def cdf(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda law, where: law.cdf(array[..., where]))

    def sf(self, x: Any) -> Floats:
        array = trailing(x, self.batch_shape)
        return self._gather(array.shape, lambda law, where: law.sf(array[..., where]))

    def ppf(self, q: Any) -> NDArray[Any]:
        array = trailing(q, self.batch_shape)
        return self._gather(array.shape, lambda law, where: law.ppf(array[..., where]))

    def logp_ball(self, x: Any) -> arb:
        entries = one_whole(x, self.batch_shape)
        return sum((law.logp_ball(entry) for law, entry in zip(self.laws, entries, strict=True)), arb(0))

    @property
    def log_concave(self) -> LogConcavity:
        for position, law in enumerate(self.laws):
            if not law.log_concave.holds:
                return LogConcavity(False, f"coordinate {position}: {law.log_concave.reason}")
        return LogConcavity(True, "in each coordinate: the laws are independent and each is log-concave")

    def atoms(self, *, tail: float = 0.0) -> Iterator[tuple[Any, arb]]:
        return joint_atoms(self.laws, self.batch_shape, tail)

    def to_json(self) -> dict[str, Any]:
        return {"law": self.name, "laws": [law.to_json() for law in self.laws]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.keys() != {"law", "laws"} or not isinstance(data["laws"], list):
            raise InvalidParameterError(
                f"a product law must have a list of laws, got {sorted(data)}; re-create the file."
            )
        return cls([law_from_json(law) for law in data["laws"]])

    def __repr__(self) -> str:
        return f"Product({list(self.laws)!r})"
