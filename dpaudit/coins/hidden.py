"""Match the random sites and shown values that a replay does not compare, by name and occurrence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dpaudit.coins.levels import outcome_at
from dpaudit.coins.transcript import SiteRecord, same_shown
from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["Key", "Unseen", "nearly_equal", "possible_outcome", "shifted_to"]

#: A bound on the difference of two float sums of the same numbers, relative to the largest number in them.
ROUNDING = 2.0**-44

#: A site's name and its occurrence, from 0.
Key = tuple[str, int]


class Unseen:
    """The sites of a recording that are not compared.

    ``differing`` holds the names of sites that show another value on the neighbour, no value, or more values.
    """

    def __init__(self, records: Iterable[SiteRecord]) -> None:
        self._random: dict[Key, SiteRecord] = {}
        self._shown: dict[Key, SiteRecord] = {}
        self._met: dict[str, int] = {}
        self.differing: dict[str, None] = {}
        counts: dict[str, int] = {}
        for record in records:
            number = counts.get(record.site, 0)
            counts[record.site] = number + 1
            (self._random if record.random else self._shown)[record.site, number] = record

    def random(self, site: str) -> tuple[Key, SiteRecord | None]:
        """Return the key of the next random site of this name, and its record if there is one."""
        key = self._next(site)
        return key, self._random.get(key)

    def shown(self, site: str, value: Any) -> None:
        """Compare a value that the neighbour shows outside the view with the recorded one."""
        record = self._shown.pop(self._next(site), None)
        if record is None or not same_shown(record.value, value):
            self.differing[site] = None

    def end(self) -> None:
        """Note the recorded values that the neighbour did not show by the end of its run."""
        for site, _ in self._shown:
            self.differing[site] = None

    def _next(self, site: str) -> Key:
        number = self._met.get(site, 0)
        self._met[site] = number + 1
        return site, number


def possible_outcome(distribution: Distribution, record: SiteRecord | None) -> Any:
    """Return the recorded outcome if ``distribution`` can have it, and otherwise its median.

    Return ``None`` if no outcome can be computed.
    """
    if record is not None:
        try:
            if np.all(np.isfinite(distribution.logp(record.value))):
                return record.value
        except (DpauditError, ValueError, TypeError, IndexError):
            pass  # an outcome of another shape or kind
    return outcome_at(distribution, 0.5)


def nearly_equal(left: Any, right: Any, *, beside: Any) -> bool:
    """Return whether two shown numbers or arrays have one type and are equal up to rounding.

    The rounding is that of a sum in which ``beside`` is a term.
    """
    if type(left) is not type(right) or np.shape(left) != np.shape(right):
        return False
    one, other, third = (np.asarray(value) for value in (left, right, beside))
    if one.dtype != other.dtype or one.dtype.kind not in "iuf":
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    most = ROUNDING * max(float(np.max(np.abs(x), initial=0.0)) for x in (one, other, third))
    return bool(np.all(np.abs(one - other) <= most))


def shifted_to(distribution: Distribution, shown: Any, value: Any) -> Distribution:
    """Return ``distribution`` shifted by ``shown - value``.

    This is the distribution of a shown value that is the outcome of ``distribution`` plus a number. Raise
    ``InvalidParameterError`` if a distribution on the integers would be shifted by a non-integer.
    """
    offset = np.asarray(shown) - np.asarray(value)
    if distribution.base_measure is BaseMeasure.COUNTING:
        whole = np.rint(offset).astype(np.int64)
        if not np.array_equal(whole, offset):
            raise InvalidParameterError(
                f"an integer distribution must be shifted by integers, got {offset}.",
                code="E-SHIFT-NOT-INTEGER",
            )
        offset = whole
    return distribution.shift(offset.item() if offset.ndim == 0 else offset)
