"""What a replay shows: each site under both inputs, the leaks, and from both the loss of any view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.transcript import Recording, SiteRecord, same_value
from dpaudit.core.views import EVERYTHING, View
from dpaudit.distributions.base import Distribution

__all__ = [
    "HiddenChoice",
    "Leak",
    "LeakKind",
    "Replay",
    "SessionPair",
    "SiteLoss",
    "is_compared",
    "none_counted",
]

LeakKind = Literal["value", "missing", "extra", "shape", "kind", "audience", "raised", "hidden"]


@dataclass(frozen=True)
class Leak:
    """Something shown that depends on the data without noise, at position ``index`` of the recording.

    ``refutes`` says that whoever sees the site tells the two inputs apart with certainty, given the common
    prefix. A differing audience, a channel in the place of a release or a hidden draw that appears or
    vanishes is a fault of the program's structure, not yet a refutation.
    """

    what: LeakKind
    index: int
    site: str
    recorded: Any
    neighbour: Any
    refutes: bool

    def __str__(self) -> str:
        return (
            f"{self.what} at site {self.site!r} (position {self.index}): {_short(self.recorded)} against "
            f"{_short(self.neighbour)}"
        )


@dataclass(frozen=True)
class SiteLoss:
    """One random site under both inputs: ``loss`` is log p(value) - log p'(value), one number per
    replicate."""

    index: int
    record: SiteRecord
    distribution_neighbour: Distribution
    loss: NDArray[np.float64]
    moved: bool


@dataclass(frozen=True)
class HiddenChoice:
    """A random choice of the neighbour's that is not compared: its site and occurrence (``key``), its record
    if there is one, its distribution and outcome. It ``moved`` where the distribution is another one, or it
    is made there only.
    """

    key: tuple[str, int]
    record: SiteRecord | None
    distribution: Distribution
    value: Any
    moved: bool


def none_counted(site: str) -> bool:
    """No site counts as shown that the view does not see."""
    return False


def is_compared(record: SiteRecord, view: View, counted: Callable[[str], bool]) -> bool:
    """Whether a replay in ``view`` compares a site: it is seen there, or random and ``counted`` by name."""
    if record.kind == "draw":
        return False
    return view.sees(record.to) or (record.random and counted(record.site))


@dataclass(frozen=True)
class SessionPair:
    """One channel under both inputs: the kernels and queries, and the positions of its answers."""

    kernel: Any
    kernel_neighbour: Any
    queries: tuple[Any, ...]
    queries_neighbour: tuple[Any, ...]
    outcomes: tuple[Any, ...]
    indices: tuple[int, ...]
    #: What ``loss`` said before: every view and every part of an audit asks.
    _known: dict[int, NDArray[np.float64]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def loss(self, end: int) -> NDArray[np.float64]:
        """Joint loss of the answers at positions before ``end``; read-only."""
        n = sum(index < end for index in self.indices)
        if n not in self._known:
            found = np.zeros(()) if n == 0 else self._loss(n)
            found.flags.writeable = False
            self._known[n] = found
        return self._known[n]

    def _loss(self, n: int) -> NDArray[np.float64]:
        """Joint loss of the first ``n`` answers."""
        return np.array(
            self.kernel.log_joint(self.queries[:n], self.outcomes[:n])
            - self.kernel_neighbour.log_joint(self.queries_neighbour[:n], self.outcomes[:n])
        )

    @property
    def moved(self) -> bool:
        return self.kernel != self.kernel_neighbour or not same_value(self.queries, self.queries_neighbour)


@dataclass(frozen=True)
class Replay:
    """A recording held against one replay on a neighbouring input, ``data``, in ``view``.

    ``counted`` says which random sites are compared although the view does not see them, by name; ``choices``
    are the others. ``unseen`` are the names of sites that the view does not see and that differ.
    ``hidden_from`` is the position at which the neighbour first drew what was not compared, ``hidden`` are
    the outcomes of such sites that were chosen, ``released`` maps positions of reveals to the hidden choice
    of which each is a release.
    """

    recording: Recording
    losses: tuple[SiteLoss, ...]
    sessions: tuple[SessionPair, ...]
    leaks: tuple[Leak, ...]
    renamed: tuple[str, ...]
    unmet: tuple[str, ...]
    reached: int
    data: Any = field(default=None, compare=False, repr=False)
    view: View = EVERYTHING
    counted: Callable[[str], bool] = field(default=none_counted, compare=False, repr=False)
    choices: tuple[HiddenChoice, ...] = ()
    unseen: tuple[str, ...] = ()
    hidden_from: int | None = None
    hidden: Mapping[tuple[str, int], Any] = field(default_factory=dict, compare=False, repr=False)
    released: Mapping[int, tuple[str, int]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def open(self) -> tuple[HiddenChoice, ...]:
        """The hidden choices that moved and came out one way of many."""
        return tuple(item for item in self.choices if item.moved and item.key not in self.hidden)

    def witness_end(self, view: View | None = None) -> int:
        """The position up to which the loss in ``view`` (the replay's own) is exact: that of the first random
        site, on either input, that ``view`` does not see or that was not compared (or of the end of the
        common run).

        A ``view`` that sees more than the replay's own asks about all that was compared: what was not, the
        differing values of ``unseen``, is left out.
        """
        view = self.view if view is None else view
        end = self.reached if self.hidden_from is None else min(self.reached, self.hidden_from)
        for index, record in enumerate(self.recording.sites[:end]):
            if record.random and not (view.sees(record.to) and is_compared(record, self.view, self.counted)):
                return index
            if record.kind == "aggregate" and record.distribution is None:
                return index
        return end

    def loss(self, view: View = EVERYTHING, *, end: int | None = None) -> NDArray[np.float64]:
        """Privacy loss of the sites that ``view`` sees before position ``end``, one number per replicate."""
        stop = self.reached if end is None else end
        total = np.zeros(() if self.recording.replicates is None else (self.recording.replicates,))
        for item in self.losses:
            if item.index < stop and view.sees(item.record.to):
                total = total + item.loss
        for session in self.sessions:
            if session.indices and view.sees(self.recording.sites[session.indices[0]].to):
                part = session.loss(stop)  # one number for each coordinate of an array-valued query
                axes = tuple(range(0 if self.recording.replicates is None else 1, part.ndim))
                total = total + part.sum(axis=axes)
        return total

    def leaks_in(self, view: View) -> tuple[Leak, ...]:
        """The leaks that refute in ``view``: seen there, with nothing random hidden from it before them, on
        either input."""
        end = self.witness_end(view)
        return tuple(
            leak
            for leak in self.leaks
            if leak.refutes and leak.index <= end and not self.follows_hidden(leak) and self._seen(leak, view)
        )

    def follows_hidden(self, leak: Leak) -> bool:
        """Whether anything random that was not compared comes before a leak, on either input: other outcomes
        of it might show what the neighbour shows."""
        before = len(self.recording.sites) + 1 if self.hidden_from is None else self.hidden_from
        return leak.index > self.witness_end(EVERYTHING) or leak.index >= before

    def _seen(self, leak: Leak, view: View) -> bool:
        if leak.what in ("missing", "raised", "extra"):
            # Something is shown on one side and nothing on the other: seen by whoever sees any of what
            # remains.
            return leak.what == "extra" or any(
                view.sees(record.to) for record in self.recording.sites[leak.index :]
            )
        return view.sees(self.recording.sites[leak.index].to)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
