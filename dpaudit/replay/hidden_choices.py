"""Choose the outcome of a hidden draw on the neighbour that is paired with the recorded outcome.

A replay shows one pair (h, h') of hidden outcomes, and any pairing with the right two distributions gives a
bound (``coins.replayer``). Two pairings need only replays:

* *A release.* A program draws h and reveals f + h, with f computed from its data and earlier values. Let h'
  be the outcome for which the neighbour reveals the same: h' = h + f - f'. The shift is one to one and keeps
  lengths, so the pairing costs log p(h) - log p'(h'), the cost of releasing f with this noise. Everything
  after it is compared given h and h'. The assumption that f does not depend on h is tested: at outcomes
  spread over the distribution on either input, and over all histories that agree up to the draw
  (``Additions``).
* *Every outcome.* If an affected hidden distribution has few outcomes, each is paired with the recorded one.

Everything else stays ``open``, or is a value that follows a hidden draw in a way not detected here: no
verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpaudit.coins import Replay
from dpaudit.coins.comparison import HiddenChoice
from dpaudit.coins.hidden import Key, nearly_equal
from dpaudit.coins.levels import outcome_at, outcomes_of
from dpaudit.coins.replayer import Leak
from dpaudit.coins.transcript import same_shown
from dpaudit.core.errors import DpauditError
from dpaudit.core.exact import encode_value
from dpaudit.distributions.base import BaseMeasure

__all__ = ["Additions", "Again", "settled"]

#: A hidden distribution with more outcomes, or a history with more replays, is not replayed at all outcomes.
OUTCOMES, REPLAYS = 16, 64
#: Largest number of reveals of one history that are taken as releases, each of one of the last few draws.
RELEASES, LAST = 64, 4
#: Number of times that an outcome is corrected for rounding.
CORRECTIONS = 3
#: Levels at which a program is tested for adding its hidden draw, and number of reveals examined after a
#: draw.
LEVELS, REVEALS = (1e-6, 0.1, 0.35, 0.6, 0.85, 1 - 1e-6), 8


class Again(Protocol):
    """Replay the same recording with chosen hidden outcomes, and with some reveals as releases of a draw."""

    def __call__(self, hidden: Mapping[Key, Any], released: Mapping[int, Key]) -> Replay: ...


def settled(result: Replay, again: Again, own: Again) -> list[Replay]:
    """Return ``result``, or the replays that replace it.

    These charge releases, and take every outcome of an affected hidden distribution that has few. ``again``
    replays on the neighbour, ``own`` on the recorded input.
    """
    found: list[Replay] = []
    waiting = [result]
    while waiting:
        here = waiting.pop()
        solved = _as_release(here, again, own)
        if solved is not None:
            waiting.append(solved)
            continue
        if not here.open or here.recording.replicates is not None:
            found.append(here)
            continue
        key, distribution = here.open[0].key, here.open[0].distribution
        values = outcomes_of(distribution, most=OUTCOMES)
        # Try a distribution with many outcomes at one of them, which suffices to detect a revealed draw.
        some = values or [outcome_at(distribution, LEVELS[1])]
        tried = [again({**here.hidden, key: value}, here.released) for value in some if value is not None]
        releases = (_as_release(item, again, own, of=key) for item in tried)
        solved = next((one for one in releases if one is not None), None)
        if solved is not None:
            waiting.append(solved)
        elif values and len(found) + len(waiting) + len(values) <= REPLAYS:
            waiting += tried
        else:
            found.append(here)
    return found


def _as_release(result: Replay, again: Again, own: Again, *, of: Key | None = None) -> Replay | None:
    """Return the replay in which the differing value is a release of one of the last hidden draws, if any.

    ``of`` restricts the search to one draw.
    """
    leak = next((item for item in result.leaks if item.what == "value"), None)
    if leak is None or result.recording.replicates is not None or len(result.released) >= RELEASES:
        return None
    before = {id(record) for record in result.recording.sites[: leak.index]}
    free = [
        item
        for item in reversed(result.choices)
        if item.record is not None and id(item.record) in before and item.key not in result.released.values()
    ]
    for item in free[:LAST]:
        value = _showing_the_same(item, leak) if of in (None, item.key) else None
        if value is None or not _is_added(item, result, leak, again, own):
            continue
        value = _corrected(item, value, result, leak, again)
        found = again({**result.hidden, item.key: value}, {**result.released, leak.index: item.key})
        if any(loss.index == leak.index for loss in found.losses):
            return found
    return None


def _corrected(choice: HiddenChoice, value: Any, result: Replay, leak: Leak, again: Again) -> Any:
    """Return ``value``, corrected for rounding if the neighbour then shows exactly the same number."""
    moved = value
    for _ in range(CORRECTIONS):
        there = _shown_at(again({**result.hidden, choice.key: moved}, result.released), leak.index)
        if there is None or same_shown(leak.recorded, there):
            return value if there is None else moved
        moved = moved + (leak.recorded - there)
    return value


def _is_added(choice: HiddenChoice, result: Replay, leak: Leak, again: Again, own: Again) -> bool:
    """Return whether on both inputs the output is the hidden outcome plus a constant.

    The test uses outcomes spread over the distribution.
    """
    record = choice.record
    if record is None or record.distribution is None:
        return False
    sides = (
        (own, record.distribution, leak.recorded, record.value),
        (again, choice.distribution, leak.neighbour, choice.value),
    )
    for replayed, distribution, shown, value in sides:
        added = np.asarray(shown) - np.asarray(value)
        for level in LEVELS:
            other = outcome_at(distribution, level)
            if other is None:
                return False
            probe = replayed({**result.hidden, choice.key: other}, result.released)
            there = _shown_at(probe, leak.index)
            wanted = added + np.asarray(other)
            largest = np.maximum(np.abs(value), np.abs(other))
            if there is None or not nearly_equal(np.asarray(there) * 1, wanted * 1, beside=largest):
                return False
    return True


def _shown_at(result: Replay, index: int) -> Any:
    """Return what the neighbour reveals at a position, or ``None`` if it does not get there."""
    if result.reached > index:
        return result.recording.sites[index].value
    return next(
        (leak.neighbour for leak in result.leaks if leak.index == index and leak.what == "value"), None
    )


def _showing_the_same(choice: HiddenChoice, leak: Leak) -> Any:
    """Return the outcome for which the neighbour shows the recorded value.

    This assumes that the neighbour adds the outcome to something else. Return ``None`` if the distribution
    does not allow it.
    """
    recorded, neighbour = leak.recorded, leak.neighbour
    kinds = [np.asarray(item).dtype.kind for item in (choice.value, recorded, neighbour)]
    shapes = {np.shape(item) for item in (choice.value, recorded, neighbour)}
    if type(recorded) is not type(neighbour) or not set(kinds) <= set("iuf") or len(shapes) != 1:
        return None
    if not all(np.all(np.isfinite(item)) for item in (choice.value, recorded, neighbour)):
        return None
    value = np.asarray(choice.value) + (np.asarray(recorded) - np.asarray(neighbour))
    if choice.distribution.base_measure is BaseMeasure.COUNTING:
        whole = np.rint(value).astype(np.int64)
        if not np.array_equal(whole, value):
            return None
        value = whole
    try:
        possible = bool(np.all(np.isfinite(choice.distribution.logp(value))))
    except (DpauditError, ValueError, TypeError):
        return None
    return None if not possible else value.item() if value.ndim == 0 else value


@dataclass
class Additions:
    """The numbers to which programs add their hidden draws.

    After the same past this must be the same number, whether or not the draw was charged as a release.
    """

    added: dict[Any, Any] = field(default_factory=dict)
    varying: set[Any] = field(default_factory=set)
    taken: dict[Any, str] = field(default_factory=dict)

    def note(self, result: Replay, pair: str) -> None:
        """Keep what the reveals of a replay add to the last hidden draws before them."""
        sites = result.recording.sites
        places = {id(site): index for index, site in enumerate(sites)}
        for choice in result.choices[-LAST:]:
            if choice.record is None or not _is_numeric(choice.value):
                continue
            start = places[id(choice.record)]
            past = str([_written(site.value) for site in sites[:start]])
            shown = [index for index in range(start, result.reached) if sites[index].kind == "reveal"]
            for number, index in enumerate(shown[:REVEALS]):
                name = (pair, choice.key, number, sites[index].site)
                if result.released.get(index) == choice.key:
                    self.taken[name] = sites[index].site
                for side, value in (("here", choice.record.value), ("there", choice.value)):
                    self._keep((side, *name), past, sites[index].value, value)

    def _keep(self, name: Any, past: str, shown: Any, value: Any) -> None:
        if not _is_numeric(shown) or np.shape(shown) != np.shape(value):
            return
        added = np.asarray(shown) - np.asarray(value)
        first = self.added.setdefault((name, past), added)
        if not nearly_equal(first * 1, added * 1, beside=np.maximum(np.abs(shown), np.abs(value))):
            self.varying.add(name[1:])

    def objections(self) -> list[str]:
        """Return the reveals that were wrongly taken as releases.

        After the same past, they add different numbers to different outcomes.
        """
        return [
            f"site {site!r}: the number added to the hidden draw {name[1][0]!r} depends on it; release the "
            "value with coins.release"
            for name, site in self.taken.items()
            if name in self.varying
        ]


def _is_numeric(value: Any) -> bool:
    return bool(np.asarray(value).dtype.kind in "iuf")


def _written(value: Any) -> str:
    return str(encode_value(value))
