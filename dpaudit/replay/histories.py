"""Force a pair of neighbours to the outcomes where their privacy loss is largest.

A sampled transcript shows a typical loss. The worst case lies in the tails and on rare branches, so the
search forces it: run, replay on the neighbour, push the outcome of every affected site in the direction where
the two distributions differ most, and run again. The loss of the resulting transcript is exact whatever the
search did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb

from dpaudit.coins import Choice, Program, Recording, Replay, force, replay
from dpaudit.coins.forcer import ImpossibleHistoryError
from dpaudit.coins.limits import Limits
from dpaudit.coins.replayer import SessionPair
from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.neighbours import Neighbours
from dpaudit.distributions import (
    CountVector,
    Kernel,
    ScalarDistribution,
    Shifted,
    ShuffledMultiset,
    SubsampledGaussianSum,
    WrappedMod,
)
from dpaudit.distributions.base import BaseMeasure, Distribution
from dpaudit.distributions.multiset import canonical_rows
from dpaudit.replay.residues import extreme_residues
from dpaudit.replay.shifts import moved_message

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
        value = _extreme_outcome(moved.record.distribution, moved.distribution_neighbour, push)
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
                    else _extreme_outcome(distributions[0], distributions[1], push)
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


def _extreme_outcome(distribution: Distribution | None, other: Distribution, push: float) -> Any:
    if isinstance(distribution, Shifted) and isinstance(other, Shifted) and distribution.base == other.base:
        here, there = np.asarray(distribution.offset, dtype=float), np.asarray(other.offset, dtype=float)
        # Beyond both centres, on the side of the recorded input: for log-concave noise log p - log p' is
        # largest there.
        away = push * np.sqrt(distribution.base.variance())
        value = np.where(here >= there, np.maximum(here, there) + away, np.minimum(here, there) - away)
        if distribution.base_measure is BaseMeasure.COUNTING:
            value = np.rint(value).astype(np.int64)
        return value.item() if value.ndim == 0 else value
    if isinstance(distribution, WrappedMod) and isinstance(other, WrappedMod):
        residues = extreme_residues(distribution, other)
        if residues is not None:
            return residues.item() if residues.ndim == 0 else residues
    if isinstance(distribution, SubsampledGaussianSum) and isinstance(other, SubsampledGaussianSum):
        return distribution.outcome_against(other, push)
    if isinstance(distribution, ShuffledMultiset) and distribution.base_measure is not BaseMeasure.COUNTING:
        return _extreme_list(distribution, other, push)
    if distribution is None or distribution.batch_shape:
        return None
    return _likeliest_ratio(distribution, other)


def _extreme_list(distribution: ShuffledMultiset, other: Distribution, push: float) -> Any:
    """Push the changed one of shuffled messages far out, with all others close to it.

    No other message is then more likely to be the changed one.
    """
    moved = moved_message(distribution, other)
    if moved is None or distribution.batch_shape:
        return None
    value = _extreme_outcome(*moved, push)
    if value is None:
        return None
    apart = np.arange(distribution.users).reshape(-1, *[1] * np.ndim(value)) / 1024  # ties have probability 0
    return canonical_rows(np.asarray(value, dtype=float) + apart, distribution.row_ndim)


def _likeliest_ratio(distribution: Distribution, other: Distribution) -> Any:
    """Return the atom with the largest likelihood ratio, for distributions with finitely many atoms."""
    try:
        atoms = [(value, p) for value, p in distribution.atoms() if p > 0]
        if isinstance(distribution, CountVector) and isinstance(
            other, CountVector
        ):  # thousands: from their tables
            table = {tuple(value): p for value, p in other.atoms() if p > 0}
            losses = [_log_ratio(p, table.get(tuple(value))) for value, p in atoms]
            return atoms[int(np.argmax(losses))][0] if atoms else None
    except NotTractableError:
        return None
    outcomes = [value for value, _ in atoms]
    if not outcomes:
        return None
    losses = [
        float(np.sum(distribution.logp(value))) - float(np.sum(other.logp(value))) for value in outcomes
    ]
    return outcomes[int(np.argmax(losses))]


def _log_ratio(p: arb, q: arb | None) -> float:
    """Return the log-ratio of an atom's probabilities, infinite if the other distribution has none."""
    return math.inf if q is None else float((p / q).log())
