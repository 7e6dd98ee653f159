"""Replay a recorded run on a neighbouring input, and evaluate every distribution there.

A replay is done in a view. The adversary with this view sees part of the recorded transcript. On the
neighbouring input, the program must show the adversary the same values in the same order. Otherwise it
*leaks*. Compared sites are matched by position, never by name, because no adversary sees names. A different
name is noted. A replay compares the sites that the view sees, and the random sites that are ``counted`` by
name: releases whose cost is in a certificate, whether or not the view sees them.

Sites that are not compared take the values of the neighbour. A value that only others see, or a return value
outside the view, may differ, be missing, or occur on the neighbour only. Hidden draws and other random sites
that are not compared are matched by name and occurrence. If the distribution is equal on both inputs, the
recorded value is used again. If it differs, a draw gets the inverse cdf of the new distribution at the
recorded uniform number, and any other site gets a possible outcome. ``open`` lists such choices.

The results, for any view V of the claim:

* ``loss(V)`` is the sum over visible sites of log p(out) - log p'(out). This is the exact privacy loss of
  what V sees *jointly with the hidden outcomes as recorded*. It is the loss of V's transcript itself only on
  the prefix before the first random site that V does not see, on either input. After that, the hidden outcome
  must be summed out. ``witness_end(V)`` is the end of that prefix, and a witness never goes past it.
* ``leaks`` lists compared sites that are missing, extra, of another shape or kind, shown to another audience,
  or that reveal another value.
* ``SiteLoss.moved`` is true for the compared sites whose distributions differ.

Losses given hidden outcomes bound the loss of what is seen. Proof: at every hidden choice, let the two runs
draw their outcomes (h, h') jointly, from a distribution whose two marginals given the past are the
distribution of h and the distribution of h': h' = h if these are equal, and any coupling otherwise. Summed
over h' first, from the last choice back, the weights of the pairs give the distribution of the transcript on
the recorded input. Summed over h first, they give its distribution on the neighbour. An adversary who also
sees the pairs therefore sees two distributions whose marginals are the two distributions of the transcript.
The pairs are drawn identically on both inputs and have no privacy cost. What remains are the distributions of
the compared sites given h and given h', which replays evaluate. Dropping the pairs is post-processing. The
bound is the maximum over all possible pairs. For an ``open`` choice, a replay shows only one pair, and only
all pairs give a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.comparison import HiddenChoice, Leak, Replay, SessionPair, SiteLoss, none_counted
from dpaudit.coins.hidden import Key, nearly_equal, possible_outcome, shifted_to
from dpaudit.coins.limits import StepLimitError
from dpaudit.coins.matching import DivergedError, Matching
from dpaudit.coins.transcript import (
    Kind,
    Recording,
    SiteRecord,
    frozen_copy,
    outcome_shape,
    run_program,
    same_shown,
    same_value,
)
from dpaudit.coins.unwatched import unwatched
from dpaudit.core.errors import DpauditError, InvalidParameterError, MechanismError, NotTractableError
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View, audience
from dpaudit.distributions.base import Distribution

__all__ = ["Leak", "Replay", "Replayer", "SessionPair", "SiteLoss", "replay"]


class Replayer(Matching, Coins):
    """An interpreter that runs a program on a neighbouring input along a recording. See ``replay``."""

    @unwatched
    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        if not self.compares(audience(to), site):
            return self._hidden(distribution, "observe", site)
        return self._random(distribution, "observe", site, to)

    @unwatched
    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return super().release(value, noise, site=site, to=to)

    @unwatched
    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        distributions = tuple(distributions)
        if not self.compares(audience(to), site):
            return self._hidden_aggregate(distributions, through, site)
        index, entry = self._match("aggregate", site, to)
        if entry.kind == "aggregate" and entry.through != through:
            self.unmet.append(
                f"site {site!r}: the image of the aggregate is {entry.through} on one input and {through} on "
                "the other"
            )
        try:
            return self._random(through.image_distribution(distributions), "aggregate", site, to)
        except NotTractableError as error:
            if entry.parts != distributions:
                self.unmet.append(
                    f"site {site!r}: the distribution of the aggregate differs between the inputs and is "
                    f"not tractable ({error})"
                )
            self._advance(index, entry, site)
            return frozen_copy(entry.value)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self._go_on()
        self.kernels.append(kernel)
        index = len(self.kernels) - 1
        self.queries[index] = []
        return _ReplayedSession(self, kernel, index, site, to)

    @unwatched
    def draw(self, distribution: Distribution, *, site: str) -> Any:
        return self._hidden(distribution, "draw", site)

    @unwatched
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        if not self.view.sees(audience(to)):
            self._go_on()
            self.unseen.shown(site, value)
            return value
        index, entry = self._match("reveal", site, to)
        if index in self._released:
            return self._release(index, entry, value, site)
        if self._compare and not same_shown(entry.value, value):
            raise self._diverge(Leak("value", index, site, entry.value, value, refutes=True))
        self._advance(index, entry, site)
        return value

    def _hidden(self, distribution: Distribution, kind: Kind, site: str) -> Any:
        """Return an outcome that is not compared: the recorded one if the distribution is the same."""
        key, entry = self.meet_hidden(site)
        if entry is None and kind == "draw":
            raise self.no_record_of(site)
        moved = entry is None or entry.distribution != distribution
        if key in self._chosen:
            value = self._chosen[key]
        elif entry is not None and not moved:
            value = entry.value
        else:
            # This outcome is one case of several, and this replay does not show the others.
            what = "draw" if kind == "draw" else "outcome"
            self.unmet.append(
                f"site {site!r}: the distribution of a hidden {what} differs between the inputs. Sum over "
                "its outcomes (coins.sum_out)"
            )
            value = self._moved_outcome(distribution, entry, site)
        self.choices[key] = HiddenChoice(key, entry, distribution, frozen_copy(value), moved)
        return frozen_copy(value)

    def _moved_outcome(self, distribution: Distribution, entry: SiteRecord | None, site: str) -> Any:
        """Return an outcome of a hidden distribution that differs between the inputs.

        Use the recorded uniform number, if there is one and it gives a finite outcome.
        """
        value = None
        if entry is not None and entry.uniform is not None:
            if distribution.batch_shape != np.shape(entry.uniform) and distribution.batch_shape:
                shapes = (np.shape(entry.uniform), distribution.batch_shape)
                raise self._diverge(Leak("hidden", self.reached, site, *shapes, refutes=False))
            value = distribution.ppf(entry.uniform)
        if value is None or not np.all(np.isfinite(value)):
            value = possible_outcome(distribution, entry)
        if value is None:
            raise self.no_record_of(site)
        return value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray | np.generic) else value

    def _release(self, index: int, entry: SiteRecord, value: Any, site: str) -> Any:
        """Compare a value that is a hidden outcome plus a number on both inputs, and charge it as a release.

        Let h and h' be the outcomes on the two inputs. Both runs show the same value. Its distribution is the
        distribution of the outcome, shifted by the shown value minus h on the recorded input and minus h' on
        the neighbour.
        """
        choice = self.choices.get(self._released[index])
        if choice is None or choice.record is None or choice.record.distribution is None:
            raise self._diverge(Leak("value", index, site, entry.value, value, refutes=True))
        if not nearly_equal(entry.value, value, beside=choice.value):
            raise self._diverge(Leak("value", index, site, entry.value, value, refutes=True))
        try:
            here = shifted_to(choice.record.distribution, entry.value, choice.record.value)
            there = shifted_to(choice.distribution, entry.value, choice.value)
        except (DpauditError, ValueError, TypeError) as error:
            raise self._diverge(Leak("value", index, site, entry.value, value, refutes=True)) from error
        record = replace(entry, distribution=here)
        loss = self._loss(record, here, there)
        self._append(index, record, there, loss, moved=here != there)
        self._advance(index, entry, site)
        return frozen_copy(entry.value)

    def _hidden_aggregate(self, distributions: tuple[Distribution, ...], through: Any, site: str) -> Any:
        try:
            image = through.image_distribution(distributions)
        except NotTractableError as error:
            _, entry = self.meet_hidden(site)
            if entry is None:
                raise self.no_record_of(site) from error
            if entry.parts != distributions or entry.through != through:
                self.unmet.append(
                    f"site {site!r}: the distribution of a hidden aggregate differs between the inputs and "
                    f"is not tractable ({error})"
                )
            return frozen_copy(entry.value)
        return self._hidden(image, "aggregate", site)

    def _random(self, distribution: Distribution, kind: Kind, site: str, to: To) -> Any:
        index, entry = self._match(kind, site, to, distribution)
        recorded = entry.distribution
        if recorded is None:
            self.unmet.append(
                f"site {site!r}: the recorded distribution is not tractable ({entry.unmet_condition})"
            )
        elif recorded == distribution:
            self._append(index, entry, distribution, np.zeros(()), moved=False)
        else:
            self._compare_shapes(index, entry, distribution, site)
            if self.replicates is None and self.pending.takes(entry.value, recorded, distribution):
                self.pending.add(len(self.losses))
                self._append(index, entry, distribution, np.zeros(()), moved=True)
            else:
                self._append(
                    index, entry, distribution, self._loss(entry, recorded, distribution), moved=True
                )
        self._advance(index, entry, site)
        return frozen_copy(entry.value)

    def _append(
        self,
        index: int,
        entry: SiteRecord,
        distribution: Distribution,
        loss: NDArray[np.float64],
        *,
        moved: bool,
    ) -> None:
        self.losses.append(SiteLoss(index, entry, distribution, loss, moved))

    def _compare_shapes(self, index: int, entry: SiteRecord, distribution: Distribution, site: str) -> None:
        """End the replay if the neighbour's distribution cannot produce the recorded outcome.

        Its outcomes have another shape, or one distribution has a density and the other has atoms.
        """
        shape = outcome_shape(entry.value)
        outer = () if self.replicates is None or distribution.batch_shape else (self.replicates,)
        expected = outer + distribution.batch_shape
        if distribution.event_ndim == 0 and expected != shape:
            raise self._diverge(Leak("shape", index, site, shape, expected, refutes=True))
        if (
            entry.distribution is not None
            and entry.distribution.base_measure is not distribution.base_measure
        ):
            measures = (entry.distribution.base_measure.value, distribution.base_measure.value)
            raise self._diverge(Leak("kind", index, site, *measures, refutes=True))

    def _loss(
        self, entry: SiteRecord, recorded: Distribution, distribution: Distribution
    ) -> NDArray[np.float64]:
        """Return the loss at the recorded outcome, or end the replay if it cannot be evaluated.

        Such a failure does not refute the claim.
        """
        try:
            return self._per_replicate(recorded.logp(entry.value), distribution.logp(entry.value))
        except Exception as error:
            self.unmet.append(f"site {entry.site!r}: the loss could not be evaluated: {error}")
            what = (recorded.name, distribution.name)
            raise self._diverge(Leak("kind", self.reached, entry.site, *what, refutes=False)) from error

    def _per_replicate(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        # Sum over event axes only. With replicates, the leading axis is kept.
        with np.errstate(invalid="ignore"):
            loss = np.asarray(left) - np.asarray(right)
        axes = tuple(range(0 if self.replicates is None else 1, loss.ndim))
        return np.asarray(loss.sum(axis=axes))


class _ReplayedSession(ChannelSession):
    def __init__(self, coins: Replayer, kernel: Any, index: int, site: str, to: To) -> None:
        self._coins, self._kernel, self._index, self._site, self._to = coins, kernel, index, site, to
        self._queries = 0
        self._follows = True

    @unwatched
    def ask(self, query: Any) -> Any:
        coins = self._coins
        if not coins.compares(audience(self._to), self._site):
            return self._ask_hidden(query)
        index, entry = coins._match("channel", self._site, self._to)
        if not self._bind(entry):
            names = (f"channel {entry.session}", f"channel {self._index}")
            raise coins._diverge(Leak("kind", index, self._site, *names, refutes=False))
        coins.queries[self._index].append(frozen_copy(query))
        coins._advance(index, entry, self._site)
        return frozen_copy(entry.value)

    def _bind(self, entry: SiteRecord) -> bool:
        """Return whether ``entry`` is an answer of the recorded session that this session replays."""
        bound, session = self._coins.bound, entry.session
        if session is None:
            return False
        if self._index not in bound and session not in bound.values():
            bound[self._index] = session
        return bound.get(self._index) == session

    def _ask_hidden(self, query: Any) -> Any:
        """Return the recorded answer, without comparing it.

        Its distribution is the same on both inputs if kernel, queries and answers have been the same so far.
        Otherwise note an unmet condition.
        """
        coins = self._coins
        _, entry = coins.meet_hidden(self._site)
        if entry is None or entry.session is None:
            raise coins.no_record_of(self._site)
        recording = coins.recording
        answers = [item for item in recording.sites if item.session == entry.session]
        self._follows = (
            self._follows
            and self._bind(entry)
            and recording.kernels[entry.session] == self._kernel
            and answers[self._queries : self._queries + 1] == [entry]
            and same_value(entry.query, query)
        )
        self._queries += 1
        if not self._follows:
            coins.unmet.append(
                f"site {self._site!r}: the distribution of a hidden channel's answers differs between the "
                "inputs"
            )
        return frozen_copy(entry.value)


def replay(
    program: Program,
    data: Any,
    recording: Recording,
    *,
    compare: bool = True,
    view: View = EVERYTHING,
    counted: Callable[[str], bool] = none_counted,
    hidden: Mapping[Key, Any] | None = None,
    released: Mapping[int, Key] | None = None,
) -> Replay:
    """Replay a recording on a neighbouring input.

    If the program raises on the neighbour only, this is a leak and not an error, because the adversary sees
    that it failed.

    Parameters
    ----------
    program : callable
        The recorded program ``program(coins, data)``.
    data : object
        A neighbour of the recorded input.
    recording : Recording
        The run to follow.
    compare : bool
        Whether revealed values must equal the recorded ones (True). If not, only distributions are compared.
    view : View
        The adversary's view. By default it sees every site except hidden draws.
    counted : callable
        ``counted(site)`` is true for random sites to compare although the view does not see them.
    hidden : mapping of (site, occurrence) to outcome, optional
        Outcomes on the neighbour of random sites that are not compared.
    released : mapping of int to (site, occurrence), optional
        For positions of reveals, the random site of which the value is a release with additive noise.

    Returns
    -------
    Replay
        The privacy losses, the leaks and the unmet conditions.
    """
    coins = Replayer(recording, compare=compare, view=view, counted=counted, hidden=hidden, released=released)
    try:
        run_program(program, data, coins)
        coins.finish()
    except DivergedError:
        pass
    except StepLimitError as error:
        coins.note_endless(error)
    except (MechanismError, InvalidParameterError) as error:
        coins.note_raised(error)
    coins.pending.settle(coins.losses)
    return Replay(
        recording=recording,
        losses=tuple(coins.losses),
        sessions=_sessions(coins),
        leaks=tuple(coins.leaks),
        renamed=tuple(coins.renamed),
        unmet=tuple(coins.unmet),
        reached=coins.reached,
        data=data,
        view=view,
        counted=counted,
        choices=tuple(coins.choices.values()),
        unseen=tuple(coins.unseen.differing),
        hidden_from=coins.hidden_from,
        hidden=dict(hidden or {}),
        released=dict(released or {}),
    )


def _sessions(coins: Replayer) -> tuple[SessionPair, ...]:
    pairs = []
    for number, session in coins.bound.items():
        queries = coins.queries[number]
        rows = [(i, r) for i, r in enumerate(coins.recording.sites) if r.session == session][: len(queries)]
        if rows:
            pairs.append(
                SessionPair(
                    kernel=coins.recording.kernels[session],
                    kernel_neighbour=coins.kernels[number],
                    queries=tuple(r.query for _, r in rows),
                    queries_neighbour=tuple(queries),
                    outcomes=tuple(r.value for _, r in rows),
                    indices=tuple(i for i, _ in rows),
                )
            )
    return tuple(pairs)
