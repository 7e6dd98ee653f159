"""Force a pair of neighbours to the outcomes where their privacy loss is largest.

A sampled transcript shows a typical loss. The worst case lies in the tails and on rare branches, so the
search forces it: run, replay on the neighbour, push the outcome of every affected site in the direction where
the two distributions differ most, and run again. The loss of the resulting transcript is exact whatever the
search did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpaudit.coins import Choice, Program, Recording, Replay, force, replay
from dpaudit.coins.forcer import ImpossibleHistoryError
from dpaudit.coins.limits import Limits
from dpaudit.coins.replayer import SessionPair
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.distributions import Kernel, ScalarDistribution
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["far_out", "push_to_the_tail", "worst_history"]


#: Standard deviations beyond any threshold that a program would compare noisy values with.
FAR = 2.0**30
#: Largest number of answers of a channel that are chosen by the ratio of joint distributions, which is slow.
ANSWERS = 32


def far_out(direction: int) -> Choice:
    """Return the history in which every additive noise is huge, upwards (1) or downwards (-1) if possible.

    It enters branches behind a threshold on noisy values, however rare they are.
    """

    def choose(site: str, occurrence: int, distribution: Distribution | Kernel) -> Any:
        if isinstance(distribution, Kernel):
            return None
        noise, offset = distribution.noise_and_offset
        if not isinstance(noise, ScalarDistribution) or noise.event_ndim:
            return None
        value = np.asarray(offset, dtype=float) + direction * FAR * np.sqrt(noise.variance())
        if distribution.base_measure is BaseMeasure.COUNTING:
            value = np.rint(value).astype(np.int64)
        if not np.isfinite(distribution.logp(value)).all():
            return None  # for example, one-sided noise
        return value.item() if value.ndim == 0 else value

    return choose


def worst_history(
    program: Program,
    pair: Neighbours,
    *,
    rng: np.random.Generator,
    choice: Choice | None = None,
    push: float = 8.0,
    rounds: int = 6,
    keep_errors: bool = False,
    limits: Limits | None = None,
    replayed: Callable[[Recording], Replay] | None = None,
) -> list[Replay]:
    """Return replays of ``pair`` along histories of growing loss.

    The first follows ``choice`` alone (or is sampled). The others push affected sites into their tails.
    ``push`` is the distance in standard deviations of the noise. A history that the program makes impossible
    ends the search, with the replays found so far. ``keep_errors`` and ``limits`` are as in ``force``.
    ``replayed`` replays a recording on the neighbour. Without it, everything that anybody sees is compared.
    """
    forced: dict[tuple[str, int], Any] = {}
    found: list[Replay] = []
    for _ in range(rounds):
        try:
            recording = force(
                program, pair.left, _merge(forced, choice), rng=rng, keep_errors=keep_errors, limits=limits
            )
        except InvalidParameterError as error:
            if keep_errors and not isinstance(error, ImpossibleHistoryError):
                raise  # an output of the program is refused
            break
        result = replay(program, pair.right, recording) if replayed is None else replayed(recording)
        found.append(result)
        wanted = push_to_the_tail(result, push)
        if all(key in forced for key in wanted):
            break
        forced.update({key: value for key, value in wanted.items() if key not in forced})
    return found


def _merge(forced: Mapping[tuple[str, int], Any], choice: Choice | None) -> Choice:
    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        if (site, occurrence) in forced:
            return forced[site, occurrence]
        return None if choice is None else choice(site, occurrence, distribution)

    return choose


def push_to_the_tail(result: Replay, push: float) -> dict[tuple[str, int], Any]:
    """Return for every affected site an outcome at which its two distributions differ nearly the most.

    The keys are site name and occurrence.
    """
    occurrence: dict[str, int] = {}
    position: dict[int, tuple[str, int]] = {}
    for index, record in enumerate(result.recording.sites):
        if record.kind in ("observe", "aggregate", "channel"):
            position[index] = (record.site, occurrence.get(record.site, 0))
            occurrence[record.site] = position[index][1] + 1
    wanted: dict[tuple[str, int], Any] = {}
    for moved in (loss for loss in result.losses if loss.moved and loss.index in position):
        here = moved.record.distribution
        value = None if here is None else here.outcome_against(moved.distribution_neighbour, push)
        if value is not None:
            wanted[position[moved.index]] = value
    for session in (item for item in result.sessions if item.moved):
        answers = _extreme_answers(session, push)
        wanted |= {position[index]: value for index, value in zip(session.indices, answers, strict=False)}
    return wanted


def _extreme_answers(session: SessionPair, push: float) -> list[Any]:
    """Return answers of a channel at which its two joint distributions differ much.

    The nodes of a tree are far out. Of finitely many answers, take the one with the largest ratio given those
    before.
    """
    kernels = (session.kernel, session.kernel_neighbour)
    found: list[Any] = []
    states = [kernel.open() for kernel in kernels]
    for number, queries in enumerate(zip(session.queries, session.queries_neighbour, strict=True)):
        distributions = [
            k.answer_distribution(s, q) for k, s, q in zip(kernels, states, queries, strict=True)
        ]
        try:
            if all(isinstance(distribution, Distribution) for distribution in distributions):
                value = (
                    None
                    if distributions[0] == distributions[1]
                    else distributions[0].outcome_against(distributions[1], push)
                )
                value = session.outcomes[number] if value is None else value
            elif number < ANSWERS and session.kernel.answers is not None:
                value = _likeliest_answer(session, found)
            else:
                break
            for kernel, state, query in zip(kernels, states, queries, strict=True):
                kernel.take(state, query, value)
        except InvalidParameterError:
            break  # the channel is closed after these answers
        found.append(value)
    return found


def _likeliest_answer(session: SessionPair, before: Sequence[Any]) -> Any:
    """Return the possible next answer with the largest log-ratio of the joint distributions."""
    end = len(before) + 1
    losses = {}
    for answer in session.kernel.answers:
        outcomes = (*before, answer)
        here, there = (
            float(np.sum(kernel.log_joint(queries[:end], outcomes)))
            for kernel, queries in (
                (session.kernel, session.queries),
                (session.kernel_neighbour, session.queries_neighbour),
            )
        )
        if np.isfinite(here):
            losses[answer] = here - there
    return max(losses, key=lambda answer: losses[answer])
