"""What a replay does not compare: random sites and shown values that its view does not see.

They are matched by name and occurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.coins.transcript import Recording, SiteRecord, same_shown
from dpaudit.errors import DpauditError, InvalidParameterError, NotTractableError
from dpaudit.laws.base import Law

__all__ = ["Key", "Unseen", "outcome_at", "possible_outcome"]

#: A site's name and its occurrence, from 0.
Key = tuple[str, int]


class Unseen:
    """The sites of a recording that are not compared. ``differing`` are the names of those that show another
    value on the neighbour, or none, or more."""

    def __init__(self, recording: Recording, compared: Callable[[SiteRecord], bool]) -> None:
        self._random: dict[Key, SiteRecord] = {}
        self._shown: dict[Key, SiteRecord] = {}
        self._met: dict[str, int] = {}
        self.differing: dict[str, None] = {}
        counts: dict[str, int] = {}
        for record in recording.sites:
            if not compared(record):
                number = counts.get(record.site, 0)
                counts[record.site] = number + 1
                (self._random if record.random else self._shown)[record.site, number] = record

    def random(self, site: str) -> tuple[Key, SiteRecord | None]:
        """The next random site of this name, and its record if there is one."""
        key = self._next(site)
        return key, self._random.get(key)

    def shown(self, site: str, value: Any) -> None:
        """The neighbour shows ``value`` to others."""
        record = self._shown.pop(self._next(site), None)
        if record is None or not same_shown(record.value, value):
            self.differing[site] = None

    def end(self) -> None:
        """The neighbour's run has ended: what was shown to others and was not met is missing there."""
        for site, _ in self._shown:
            self.differing[site] = None

    def _next(self, site: str) -> Key:
        number = self._met.get(site, 0)
        self._met[site] = number + 1
        return site, number


def possible_outcome(law: Law, record: SiteRecord | None) -> Any:
    """An outcome of ``law``: the recorded one where it is possible, else the median, or the atom there;
    ``None`` where none is known."""
    if record is not None:
        try:
            if np.all(np.isfinite(law.logp(record.value))):
                return record.value
        except (DpauditError, ValueError, TypeError, IndexError):
            pass  # an outcome of another shape or kind
    return outcome_at(law, 0.5)


def outcome_at(law: Law, level: float) -> Any:
    """The outcome of ``law`` at a quantile, in every entry; of a law without an order the atom there;
    ``None`` where there is neither."""
    try:
        value = np.asarray(law.ppf(np.full(law.batch_shape, level)))
        return value.item() if value.ndim == 0 else value
    except NotTractableError:
        pass
    except (InvalidParameterError, OverflowError):
        return None  # an outcome that floats cannot hold
    try:
        below = 0.0
        for value, probability in law.atoms():
            below += float(probability)
            if below >= level:
                return value
    except (DpauditError, ValueError):
        return None
    return None
