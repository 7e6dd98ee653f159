"""Replayer: run the program on a neighbouring input, feed it the recorded outcomes, evaluate every law there.

Theory of operation. The adversary who holds everything that anybody sees is handed the recorded transcript;
the program under replay must show the same things in the same order, or it *leaks*. Sites are matched by
position among the shown ones, never by name (no adversary sees a name; a differing name is noted). Hidden
draws are matched by name and occurrence: where the law is equal on both sides the recorded value is used
again, where it differs the stored uniform goes through the inverse cdf of the new law.

What comes out, for any view V that the claim is about:

* ``loss(V)``: the sum over visible sites of log p(out) - log p'(out), the exact privacy loss of what V sees
  *jointly with the hidden outcomes as recorded*. It is the loss of V's transcript itself only on the prefix
  before the first random site that V does not see: from there on the hidden outcome has to be summed out.
  ``witness_end(V)`` says where that prefix ends; a witness never goes past it.
* ``leaks``: a shown site missing, extra, of another shape or kind, to another audience, or another revealed
  value.
* the observed accounting: which sites' laws moved (``SiteLoss.moved``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.comparison import Leak, Replay, SessionPair, SiteLoss
from dpaudit.coins.limits import StepLimitError, exhausted
from dpaudit.coins.transcript import (
    Kind,
    Recording,
    SiteRecord,
    frozen_copy,
    outcome_shape,
    raised_by,
    run_program,
    same_shown,
)
from dpaudit.coins.unwatched import unwatched
from dpaudit.errors import InvalidParameterError, MechanismError, NotTractableError
from dpaudit.laws.base import BaseMeasure, Law
from dpaudit.views import PUBLIC, SERVER, audience

__all__ = ["Leak", "Replay", "Replayer", "SessionPair", "SiteLoss", "replay"]


class _DivergedError(BaseException):
    """Unwinds a program whose replay cannot go on. A BaseException, so that a program's own handlers let it
    through; one that catches it nevertheless gets it again at its next site, and notes nothing more."""


class Replayer(Coins):
    """The interpreter behind ``replay``."""

    def __init__(self, recording: Recording, *, compare: bool = True) -> None:
        self.recording = recording
        self._compare = compare
        self.replicates = recording.replicates
        self.losses: list[SiteLoss] = []
        self.leaks: list[Leak] = []
        self.renamed: list[str] = []
        self.obstacles: list[str] = []
        self.kernels: list[Any] = []
        self.queries: dict[int, list[Any]] = {}
        self._diverged = False
        self._shown = [i for i, record in enumerate(recording.sites) if record.kind != "draw"]
        self._next = 0
        self._draws: dict[tuple[str, int], SiteRecord] = {}
        self._seen: dict[str, int] = {}
        counts: dict[str, int] = {}
        for entry in recording.sites:
            if entry.kind == "draw":
                self._draws[entry.site, counts.get(entry.site, 0)] = entry
                counts[entry.site] = counts.get(entry.site, 0) + 1

    @property
    def reached(self) -> int:
        """The position in the recording up to which the replay agreed on what is shown."""
        return self._shown[self._next] if self._next < len(self._shown) else len(self.recording.sites)

    @unwatched
    def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
        return self._random(law, "observe", site, to)

    @unwatched
    def release(self, value: Any, noise: Law, *, site: str, to: To = PUBLIC) -> Any:
        return super().release(value, noise, site=site, to=to)

    @unwatched
    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        laws = tuple(laws)
        index, entry = self._match("aggregate", site, to)
        if entry.kind == "aggregate" and entry.through != through:
            self.obstacles.append(
                f"site {site!r}: the aggregate goes through {entry.through} and {through} on the two inputs"
            )
        try:
            return self._random(through.image_law(laws), "aggregate", site, to)
        except NotTractableError as error:
            if entry.parts != laws:
                self.obstacles.append(
                    f"site {site!r}: the law of the aggregate moved and is not tractable ({error})"
                )
            self._advance(index, entry, site)
            return frozen_copy(entry.value)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self._go_on()
        self.kernels.append(kernel)
        index = len(self.kernels) - 1
        self.queries[index] = []
        return _ReplayedSession(self, index, site, to)

    @unwatched
    def draw(self, law: Law, *, site: str) -> Any:
        self._go_on()
        occurrence = self._seen.get(site, 0)
        self._seen[site] = occurrence + 1
        entry = self._draws.get((site, occurrence))
        if entry is None:
            raise self._diverge(Leak("hidden", self.reached, site, "no draw", "a hidden draw", refutes=False))
        if entry.law == law:
            return frozen_copy(entry.value)
        # One uniform shows one case of many: what the other outcomes would show is not seen in this replay.
        self.obstacles.append(f"site {site!r}: the law of a hidden draw moved; sum it out (coins.sum_out)")
        if law.batch_shape != np.shape(entry.uniform) and law.batch_shape:
            raise self._diverge(
                Leak("hidden", self.reached, site, np.shape(entry.uniform), law.batch_shape, refutes=False)
            )
        value = law.ppf(entry.uniform)
        return value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray | np.generic) else value

    @unwatched
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        index, entry = self._match("reveal", site, to)
        if self._compare and not same_shown(entry.value, value):
            raise self._diverge(Leak("value", index, site, entry.value, value, refutes=True))
        self._advance(index, entry, site)
        return value

    def finish(self) -> None:
        """After the program's end: whatever was recorded and not replayed is missing."""
        self._go_on()
        if self._next < len(self._shown):
            index = self._shown[self._next]
            entry = self.recording.sites[index]
            self.leaks.append(
                Leak("missing", index, entry.site, entry.value, "nothing: the run has ended", refutes=True)
            )

    def _random(self, law: Law, kind: Kind, site: str, to: To) -> Any:
        index, entry = self._match(kind, site, to, law)
        recorded = entry.law
        if recorded is None:
            self.obstacles.append(f"site {site!r}: the recorded law is not tractable ({entry.obstacle})")
        elif recorded == law:
            self._append(index, entry, law, np.zeros(()), moved=False)
        else:
            self._compare_shapes(index, entry, law, site)
            self._append(index, entry, law, self._loss(entry, recorded, law), moved=True)
        self._advance(index, entry, site)
        return frozen_copy(entry.value)

    def _append(
        self, index: int, entry: SiteRecord, law: Law, loss: NDArray[np.float64], *, moved: bool
    ) -> None:
        self.losses.append(SiteLoss(index, entry, law, loss, moved))

    def _compare_shapes(self, index: int, entry: SiteRecord, law: Law, site: str) -> None:
        """A law whose outcomes have another shape, or that has a density where the other has atoms, cannot
        produce the recorded outcome."""
        shape = outcome_shape(entry.value)
        outer = () if self.replicates is None or law.batch_shape else (self.replicates,)
        expected = outer + law.batch_shape
        if law.event_ndim == 0 and expected != shape:
            raise self._diverge(Leak("shape", index, site, shape, expected, refutes=True))
        if entry.law is not None and entry.law.base_measure is not law.base_measure:
            measures = (entry.law.base_measure.value, law.base_measure.value)
            raise self._diverge(Leak("kind", index, site, *measures, refutes=True))

    def _loss(self, entry: SiteRecord, recorded: Law, law: Law) -> NDArray[np.float64]:
        """The loss at the recorded outcome. A law that cannot evaluate it says nothing about the program."""
        try:
            return self._per_replicate(recorded.logp(entry.value), law.logp(entry.value))
        except Exception as error:
            self.obstacles.append(f"site {entry.site!r}: the loss could not be evaluated: {error}")
            what = (recorded.name, law.name)
            raise self._diverge(Leak("kind", self.reached, entry.site, *what, refutes=False)) from error

    def _per_replicate(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        # Sum over event axes only: with replicates the leading axis is kept.
        with np.errstate(invalid="ignore"):
            loss = np.asarray(left) - np.asarray(right)
        axes = tuple(range(0 if self.replicates is None else 1, loss.ndim))
        return np.asarray(loss.sum(axis=axes))

    def note_raised(self, error: MechanismError | InvalidParameterError) -> None:
        """The program raised on the neighbour: shown, unless the replay had diverged before.

        Two runs that end by the same error agree. Another type of error is another outcome; another message
        is one only for whoever reads it, so that it refutes nothing by itself.
        """
        why = exhausted(error.__cause__)
        if self._diverged or self._at_cut():
            return
        raised = raised_by(error)
        entry = None if self._next >= len(self._shown) else self.recording.sites[self._shown[self._next]]
        if why:
            self.obstacles.append(f"a replay on the neighbour ended early: {why}")
            self._diverged = True
        elif entry is None or entry.kind != "raise":
            text = f"{raised[0]}: {raised[1]}"
            self.leaks.append(Leak("raised", self.reached, "program", "no error", text, refutes=True))
        elif entry.value != raised:
            certain = bool(entry.value[0] != raised[0])
            self.leaks.append(Leak("raised", self.reached, "program", entry.value, raised, refutes=certain))
        else:
            self._next += 1

    def note_endless(self, error: StepLimitError) -> None:
        """The program exceeded a limit on the neighbour only."""
        if not self._diverged and not self._at_cut():
            self.leaks.append(
                Leak("raised", self.reached, "program", "an end", f"no end: {error}", refutes=False)
            )

    def _at_cut(self) -> bool:
        """Whether the replay has come to the end of a recording that was cut there."""
        return bool(self.recording.cut) and self._next >= len(self._shown)

    def _go_on(self) -> None:
        """Raise again where the replay has diverged: what a program shows after it caught that is no leak."""
        if self._diverged:
            raise _DivergedError

    def _diverge(self, leak: Leak) -> _DivergedError:
        self._diverged = True
        self.leaks.append(leak)
        return _DivergedError()

    def _match(self, kind: Kind, site: str, to: To, law: Law | None = None) -> tuple[int, SiteRecord]:
        self._go_on()
        people = audience(to)
        if self._at_cut():
            self._diverged = True
            raise _DivergedError
        if self._next >= len(self._shown):
            end = len(self.recording.sites)
            raise self._diverge(
                Leak("extra", end, site, "nothing: the run has ended", kind, refutes=PUBLIC in people)
            )
        index = self._shown[self._next]
        entry = self.recording.sites[index]
        if entry.kind == "raise":
            text = ": ".join(entry.value)
            raise self._diverge(Leak("raised", index, "program", text, "no error", refutes=True))
        if entry.to != people:
            names = [sorted(p.name for p in group) for group in (entry.to, people)]
            raise self._diverge(Leak("audience", index, entry.site, names[0], names[1], refutes=False))
        if (entry.kind == "reveal") != (kind == "reveal") or (entry.kind == "channel") != (kind == "channel"):
            # A revealed value against a law with a density: the adversary who sees the exact value is
            # certain.
            continuous = any(
                law is not None and law.base_measure is BaseMeasure.LEBESGUE for law in (entry.law, law)
            )
            raise self._diverge(Leak("kind", index, entry.site, entry.kind, kind, refutes=continuous))
        return index, entry

    def _advance(self, index: int, entry: SiteRecord, site: str) -> None:
        if entry.site != site:
            self.renamed.append(f"{entry.site!r} at position {index} is named {site!r} on the neighbour")
        self._next += 1


class _ReplayedSession(ChannelSession):
    def __init__(self, coins: Replayer, index: int, site: str, to: To) -> None:
        self._coins, self._index, self._site, self._to = coins, index, site, to

    @unwatched
    def ask(self, query: Any) -> Any:
        index, entry = self._coins._match("channel", self._site, self._to)
        if entry.session != self._index:
            names = (f"channel {entry.session}", f"channel {self._index}")
            raise self._coins._diverge(Leak("kind", index, self._site, *names, refutes=False))
        self._coins.queries[self._index].append(frozen_copy(query))
        self._coins._advance(index, entry, self._site)
        return frozen_copy(entry.value)


def replay(program: Program, data: Any, recording: Recording, *, compare: bool = True) -> Replay:
    """Run ``program`` on ``data``, a neighbour of the recorded input, along ``recording``.

    A program that raises on the neighbour only is a leak (the adversary sees that it failed), not an error.
    Without ``compare`` revealed values are not held against the recorded ones: only laws matter then.
    """
    coins = Replayer(recording, compare=compare)
    try:
        run_program(program, data, coins)
        coins.finish()
    except _DivergedError:
        pass
    except StepLimitError as error:
        coins.note_endless(error)
    except (MechanismError, InvalidParameterError) as error:
        coins.note_raised(error)
    return Replay(
        recording=recording,
        losses=tuple(coins.losses),
        sessions=_sessions(coins),
        leaks=tuple(coins.leaks),
        renamed=tuple(coins.renamed),
        obstacles=tuple(coins.obstacles),
        reached=coins.reached,
        data=data,
    )


def _sessions(coins: Replayer) -> tuple[SessionPair, ...]:
    pairs = []
    for number, kernel in enumerate(coins.kernels):
        asked = coins.queries[number]
        rows = [(i, r) for i, r in enumerate(coins.recording.sites) if r.session == number][: len(asked)]
        if number < len(coins.recording.kernels):
            pairs.append(
                SessionPair(
                    kernel=coins.recording.kernels[number],
                    kernel_neighbour=kernel,
                    queries=tuple(r.query for _, r in rows),
                    queries_neighbour=tuple(asked),
                    outcomes=tuple(r.value for _, r in rows),
                    indices=tuple(i for i, _ in rows),
                )
            )
    return tuple(pairs)
