"""Match a replay with its recording: compared sites by position, and other sites by name."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from dpaudit.coins.base import To
from dpaudit.coins.comparison import HiddenChoice, Leak, SiteLoss, is_compared, none_counted
from dpaudit.coins.equal_shifts import PendingLosses
from dpaudit.coins.hidden import Key, Unseen
from dpaudit.coins.limits import StepLimitError, exhausted
from dpaudit.coins.transcript import Kind, Recording, SiteRecord, raised_by
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.views import EVERYTHING, PUBLIC, Audience, View, audience
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["DivergedError", "Matching"]


class DivergedError(BaseException):
    """A replay cannot continue.

    This is a BaseException, so that the program's handlers do not catch it. A program that catches it all the
    same gets it again at its next site, and nothing more is noted.
    """


class Matching:
    """The state of a replay: its position in the recording, and what it has found so far."""

    def __init__(
        self,
        recording: Recording,
        *,
        compare: bool = True,
        view: View = EVERYTHING,
        counted: Callable[[str], bool] = none_counted,
        hidden: Mapping[Key, Any] | None = None,
        released: Mapping[int, Key] | None = None,
    ) -> None:
        self.recording = recording
        self.replicates = recording.replicates
        self.view = view
        self.losses: list[SiteLoss] = []
        self.pending = PendingLosses()
        self.leaks: list[Leak] = []
        self.renamed: list[str] = []
        self.unmet: list[str] = []
        self.choices: dict[Key, HiddenChoice] = {}
        self.kernels: list[Any] = []
        self.queries: dict[int, list[Any]] = {}
        self.bound: dict[int, int] = {}
        self.hidden_from: int | None = None
        self._compare = compare
        self._counted = counted
        self._chosen = dict(hidden or {})
        self._released = dict(released or {})
        self._diverged = False
        compared = [is_compared(record, view, counted) for record in recording.sites]
        self._shown = [index for index, shows in enumerate(compared) if shows]
        self._next = 0
        self.unseen = Unseen(itertools.compress(recording.sites, map(operator.not_, compared)))

    def compares(self, to: Audience, site: str) -> bool:
        """Return whether a random site in the run on the neighbour is compared."""
        return self.view.sees(to) or self._counted(site)

    @property
    def reached(self) -> int:
        """The position in the recording up to which the replay agreed on what is shown."""
        return self._shown[self._next] if self._next < len(self._shown) else len(self.recording.sites)

    def meet_hidden(self, site: str) -> tuple[Key, SiteRecord | None]:
        """Return the key, and the record if any, of the next random site of this name outside the view."""
        self._go_on()
        if self.hidden_from is None:
            self.hidden_from = self.reached
        return self.unseen.random(site)

    def no_record_of(self, site: str) -> DivergedError:
        """End the replay, because the recording has no such hidden draw. Return the exception to raise."""
        if self._at_cut():
            self._diverged = True
            return DivergedError()
        return self._diverge(Leak("hidden", self.reached, site, "no draw", "a hidden draw", refutes=False))

    def finish(self) -> None:
        """Note the recorded sites that are missing on the neighbour, after the program has ended."""
        self._go_on()
        self.unseen.end()
        if self._next < len(self._shown):
            index = self._shown[self._next]
            entry = self.recording.sites[index]
            self.leaks.append(
                Leak("missing", index, entry.site, entry.value, "nothing: the run has ended", refutes=True)
            )

    def note_raised(self, error: MechanismError | InvalidParameterError) -> None:
        """Compare an error that the program raised on the neighbour, unless the replay had diverged before.

        Two runs that end by the same error agree. Another type of error is another outcome. Another message,
        attribute, note, cause or context is visible only to someone who reads it, so it does not refute the
        claim by itself.
        """
        why = exhausted(error.__cause__)
        if self._diverged or self._at_cut():
            return
        raised = raised_by(error)
        entry = None if self._next >= len(self._shown) else self.recording.sites[self._shown[self._next]]
        if why:
            self.unmet.append(f"a replay on the neighbour ended early: {why}")
            self._diverged = True
        elif entry is None or entry.kind != "raise":
            text = f"{raised[0]}: {raised[1]}"
            self.leaks.append(Leak("raised", self.reached, "program", "no error", text, refutes=True))
        elif entry.value != raised:
            certain = bool(entry.value[0] != raised[0])
            length = 3 if entry.value[:2] == raised[:2] else 2
            shown = entry.value[:length], raised[:length]
            self.leaks.append(Leak("raised", self.reached, "program", shown[0], shown[1], refutes=certain))
        else:
            self._next += 1

    def note_endless(self, error: StepLimitError) -> None:
        """Note that the program exceeded a limit on the neighbour only."""
        if not self._diverged and not self._at_cut():
            self.leaks.append(
                Leak("raised", self.reached, "program", "an end", f"no end: {error}", refutes=False)
            )

    def _at_cut(self) -> bool:
        """Return whether the replay has reached the end of a recording that was cut there."""
        return bool(self.recording.cut) and self._next >= len(self._shown)

    def _go_on(self) -> None:
        """Raise again if the replay has diverged. What a program shows after it caught that is not a leak."""
        if self._diverged:
            raise DivergedError

    def _diverge(self, leak: Leak) -> DivergedError:
        self._diverged = True
        self.leaks.append(leak)
        return DivergedError()

    def _match(
        self, kind: Kind, site: str, to: To, distribution: Distribution | None = None
    ) -> tuple[int, SiteRecord]:
        self._go_on()
        principals = audience(to)
        if self._at_cut():
            self._diverged = True
            raise DivergedError
        if self._next >= len(self._shown):
            end = len(self.recording.sites)
            raise self._diverge(
                Leak("extra", end, site, "nothing: the run has ended", kind, refutes=PUBLIC in principals)
            )
        index = self._shown[self._next]
        entry = self.recording.sites[index]
        if entry.kind == "raise":
            text = ": ".join(entry.value[:2])
            raise self._diverge(Leak("raised", index, "program", text, "no error", refutes=True))
        if entry.to != principals:
            names = [sorted(p.name for p in group) for group in (entry.to, principals)]
            raise self._diverge(Leak("audience", index, entry.site, names[0], names[1], refutes=False))
        if (entry.kind == "reveal") != (kind == "reveal") or (entry.kind == "channel") != (kind == "channel"):
            # One run reveals a value and the other draws from a density, under which an exact value has
            # probability 0. An adversary who sees the value is certain.
            continuous = any(
                distribution is not None and distribution.base_measure is BaseMeasure.LEBESGUE
                for distribution in (entry.distribution, distribution)
            )
            raise self._diverge(Leak("kind", index, entry.site, entry.kind, kind, refutes=continuous))
        return index, entry

    def _advance(self, index: int, entry: SiteRecord, site: str) -> None:
        if entry.site != site:
            self.renamed.append(f"{entry.site!r} at position {index} is named {site!r} on the neighbour")
        self._next += 1
