"""Hidden choices of one history: which outcome on the neighbour stands against the recorded one.

A replay shows one pair (h, h') of hidden outcomes, and any pairing with the right two distributions gives a
bound (``coins.replayer``). Two pairings need no more than replays:

* *A release.* A program draws h and reveals f + h, with f from its data and from what came before. Let h' be
  the outcome with which the neighbour shows the same: h' = h + f - f'. The shift is one to one and keeps
  lengths, so the pairing costs log p(h) - log p'(h'), what releasing f with this noise would cost, and all
  that follows is compared given h and h'. That f does not follow h is tested: at outcomes spread over the
  distribution on either input, and over all histories that share what came before the draw (``Additions``).
* *Every outcome.* Where a hidden distribution moved that has few outcomes, each is paired with the recorded
  one.

What is left is ``open``, or a value that follows a hidden draw in a way that is not seen here: no verdict.
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

#: A hidden distribution with more outcomes is not replayed at all of them, nor a history with more replays.
OUTCOMES, REPLAYS = 16, 64
#: At most so many reveals of one history are taken as releases, each of one of the last few draws.
RELEASES, LAST = 64, 4
#: How often an outcome is corrected by the rounding that it leaves.
CORRECTIONS = 3
#: Where it is tested that a program adds to its hidden draw; and how many reveals after a draw are looked at.
LEVELS, REVEALS = (1e-6, 0.1, 0.35, 0.6, 0.85, 1 - 1e-6), 8


class Again(Protocol):
    """Replays the same recording with chosen hidden outcomes, and some reveals as releases of one."""

    def __call__(self, hidden: Mapping[Key, Any], released: Mapping[int, Key]) -> Replay: ...


def settled(result: Replay, again: Again, own: Again) -> list[Replay]:
    """``result``, or the replays that stand for it: with releases charged, and at every outcome of a hidden
    distribution that moved and has few. ``again`` replays on the neighbour, ``own`` on the recorded input."""
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
        # A distribution with many outcomes is tried at one of them: a draw that is revealed shows itself
        # there.
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
    """The replay in which the value that differs is a release of one of the last hidden choices (``of`` this
    one), if it is."""
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
    """``value``, moved by the rounding of a sum where the neighbour then shows the very same number."""
    moved = value
    for _ in range(CORRECTIONS):
        there = _shown_at(again({**result.hidden, choice.key: moved}, result.released), leak.index)
        if there is None or same_shown(leak.recorded, there):
            return value if there is None else moved
        moved = moved + (leak.recorded - there)
    return value


def _is_added(choice: HiddenChoice, result: Replay, leak: Leak, again: Again, own: Again) -> bool:
    """Whether on both inputs what is shown is the hidden outcome plus one and the same number, at outcomes
    spread over its distribution."""
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
    """What the neighbour of a replay reveals at a position; ``None`` where it does not come there."""
    if result.reached > index:
        return result.recording.sites[index].value
    return next(
        (leak.neighbour for leak in result.leaks if leak.index == index and leak.what == "value"), None
    )


def _showing_the_same(choice: HiddenChoice, leak: Leak) -> Any:
    """The outcome with which the neighbour shows what was recorded, if it adds it to something else and the
    distribution allows it."""
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
    """What programs add their hidden draws to: after the same past it must be the same number, whether or not
    the draw was charged as a release in that history."""

    added: dict[Any, Any] = field(default_factory=dict)
    varying: set[Any] = field(default_factory=set)
    taken: dict[Any, str] = field(default_factory=dict)

    def note(self, result: Replay, pair: str) -> None:
        """Keep what the reveals of a replay add to the last hidden choices before them."""
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
        """Reveals that were taken as releases and are none: after one and the same past another number is
        added to another outcome."""
        return [
            f"site {site!r}: what is added to the hidden draw {name[1][0]!r} depends on it; release the "
            "value with coins.release"
            for name, site in self.taken.items()
            if name in self.varying
        ]


def _is_numeric(value: Any) -> bool:
    return bool(np.asarray(value).dtype.kind in "iuf")


def _written(value: Any) -> str:
    return str(encode_value(value))
