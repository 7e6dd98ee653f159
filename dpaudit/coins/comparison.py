"""What a replay shows: each site under both inputs, the leaks, and from both the loss of any view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.transcript import Recording, SiteRecord, same_value
from dpaudit.laws.base import Law
from dpaudit.views import EVERYTHING, View

__all__ = ["Leak", "LeakKind", "Replay", "SessionPair", "SiteLoss"]

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
    law_neighbour: Law
    loss: NDArray[np.float64]
    moved: bool


@dataclass(frozen=True)
class SessionPair:
    """One channel under both inputs: the kernels and queries, and the positions of its answers."""

    kernel: Any
    kernel_neighbour: Any
    queries: tuple[Any, ...]
    queries_neighbour: tuple[Any, ...]
    outcomes: tuple[Any, ...]
    indices: tuple[int, ...]

    def loss(self, end: int) -> NDArray[np.float64]:
        """Joint loss of the answers at positions before ``end``."""
        n = sum(index < end for index in self.indices)
        if n == 0:
            return np.zeros(())
        return np.asarray(
            self.kernel.log_joint(self.queries[:n], self.outcomes[:n])
            - self.kernel_neighbour.log_joint(self.queries_neighbour[:n], self.outcomes[:n])
        )

    @property
    def moved(self) -> bool:
        return self.kernel != self.kernel_neighbour or not same_value(self.queries, self.queries_neighbour)


@dataclass(frozen=True)
class Replay:
    """A recording held against one replay on a neighbouring input, ``data``."""

    recording: Recording
    losses: tuple[SiteLoss, ...]
    sessions: tuple[SessionPair, ...]
    leaks: tuple[Leak, ...]
    renamed: tuple[str, ...]
    obstacles: tuple[str, ...]
    reached: int
    data: Any = field(default=None, compare=False, repr=False)

    def witness_end(self, view: View = EVERYTHING) -> int:
        """The position of the first random site that ``view`` does not see (or of the end of the common
        run)."""
        for index, record in enumerate(self.recording.sites[: self.reached]):
            if record.random and not view.sees(record.to):
                return index
            if record.kind == "aggregate" and record.law is None:
                return index
        return self.reached

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
        """The leaks that refute in ``view``: seen there, with nothing random hidden from it before them."""
        end = self.witness_end(view)
        return tuple(
            leak for leak in self.leaks if leak.refutes and leak.index <= end and self._seen(leak, view)
        )

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
