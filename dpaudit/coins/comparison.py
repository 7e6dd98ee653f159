"""Hold the result of a replay: each site under both inputs, the leaks, and the privacy loss in any view."""

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
    """A difference between the runs on two inputs that no noise hides, at position ``index``.

    ``refutes`` is true if an adversary who sees the site distinguishes the two inputs with certainty, given
    the common prefix. A different audience, a channel instead of a release, or a hidden draw that appears or
    disappears is a fault in the structure of the program, but does not refute the claim by itself.
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
    """A random site under both inputs.

    ``loss`` is log p(value) - log p'(value), one number per replicate. ``moved`` is true if the two
    distributions differ.
    """

    index: int
    record: SiteRecord
    distribution_neighbour: Distribution
    loss: NDArray[np.float64]
    moved: bool


@dataclass(frozen=True)
class HiddenChoice:
    """A random choice in the run on the neighbour that is not compared.

    ``key`` is its site and occurrence. ``record`` is the recorded site, if there is one. ``moved`` is true if
    the distribution differs from the recorded one, or if only the neighbour makes this choice.
    """

    key: tuple[str, int]
    record: SiteRecord | None
    distribution: Distribution
    value: Any
    moved: bool


def none_counted(site: str) -> bool:
    """Return False: no site outside the view is compared."""
    return False


def is_compared(record: SiteRecord, view: View, counted: Callable[[str], bool]) -> bool:
    """Return whether a replay in ``view`` compares a site.

    It does if the view sees the site, or if the site is random and ``counted`` by name. Hidden draws are
    never compared.
    """
    if record.kind == "draw":
        return False
    return view.sees(record.to) or (record.random and counted(record.site))


@dataclass(frozen=True)
class SessionPair:
    """A channel under both inputs: its kernels, queries and answers, and the positions of the answers."""

    kernel: Any
    kernel_neighbour: Any
    queries: tuple[Any, ...]
    queries_neighbour: tuple[Any, ...]
    outcomes: tuple[Any, ...]
    indices: tuple[int, ...]
    #: Results of ``loss``, because every view and several parts of an audit request the same numbers.
    _known: dict[int, NDArray[np.float64]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def loss(self, end: int) -> NDArray[np.float64]:
        """Return the joint loss of the answers at positions before ``end``, as a read-only array."""
        n = sum(index < end for index in self.indices)
        if n not in self._known:
            found = np.zeros(()) if n == 0 else self._loss(n)
            found.flags.writeable = False
            self._known[n] = found
        return self._known[n]

    def _loss(self, n: int) -> NDArray[np.float64]:
        """Return the joint loss of the first ``n`` answers."""
        return np.array(
            self.kernel.log_joint(self.queries[:n], self.outcomes[:n])
            - self.kernel_neighbour.log_joint(self.queries_neighbour[:n], self.outcomes[:n])
        )

    @property
    def moved(self) -> bool:
        """Whether the kernels or the queries differ between the inputs."""
        return self.kernel != self.kernel_neighbour or not same_value(self.queries, self.queries_neighbour)


@dataclass(frozen=True)
class Replay:
    """A recording compared with its replay on a neighbouring input.

    Attributes
    ----------
    recording : Recording
        The recorded run.
    losses : tuple of SiteLoss
        The compared random sites, outside channels.
    sessions : tuple of SessionPair
        The compared channels.
    leaks : tuple of Leak
        Differences that no noise hides.
    renamed, unmet : tuple of str
        Notes on sites with another name on the neighbour, and the unmet conditions of the replay.
    reached : int
        The position in the recording up to which both runs agree on what is shown.
    data : object
        The neighbouring input.
    view : View
        The adversary's view.
    counted : callable
        ``counted(site)`` is true for random sites that are compared although the view does not see them.
    choices : tuple of HiddenChoice
        The random sites that are not compared.
    unseen : tuple of str
        Names of sites that differ between the inputs but are outside the view.
    hidden_from : int or None
        The position at which the neighbour first drew an outcome that is not compared.
    hidden : mapping of (site, occurrence) to outcome
        Outcomes that were chosen for sites that are not compared.
    released : mapping of int to (site, occurrence)
        For positions of reveals, the hidden choice that each releases.
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
        """The hidden choices whose distributions differ and whose outcome is only one of several cases."""
        return tuple(item for item in self.choices if item.moved and item.key not in self.hidden)

    def witness_end(self, view: View | None = None) -> int:
        """Return the position up to which the loss in ``view`` is exact.

        It is the position of the first random site, on either input, that ``view`` does not see or that was
        not compared, or else the end of the common run. The default is the view of the replay. If ``view``
        sees more than that view, only compared sites are considered, and the differing values of ``unseen``
        are left out.
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
        """Return the privacy loss of the sites that ``view`` sees before position ``end``, per replicate."""
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
        """Return the leaks that refute the claim in ``view``.

        The view sees them, and on neither input does a random site come before them that the view does not
        see.
        """
        end = self.witness_end(view)
        return tuple(
            leak
            for leak in self.leaks
            if leak.refutes and leak.index <= end and not self.follows_hidden(leak) and self._seen(leak, view)
        )

    def follows_hidden(self, leak: Leak) -> bool:
        """Return whether a random site that was not compared comes before a leak, on either input.

        With another outcome of that site, the program might show what it shows on the neighbour.
        """
        before = len(self.recording.sites) + 1 if self.hidden_from is None else self.hidden_from
        return leak.index > self.witness_end(EVERYTHING) or leak.index >= before

    def _seen(self, leak: Leak, view: View) -> bool:
        if leak.what in ("missing", "raised", "extra"):
            # One run shows something and the other does not, so every view that sees a later site sees it.
            return leak.what == "extra" or any(
                view.sees(record.to) for record in self.recording.sites[leak.index :]
            )
        return view.sees(self.recording.sites[leak.index].to)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
