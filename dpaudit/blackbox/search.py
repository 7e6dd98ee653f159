"""Choose the pair of neighbours to run next, and combine the evidence of all pairs.

Every pair has its own wealth, and the verdict uses a mixture of them (``mixture``). The choice of the next
pair may depend on the past in any way, because a pair that is not run keeps its wealth. Most runs go to the
pair that is expected to refute soonest, and the rest go to the others in turn.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.blackbox.claim_betting import ClaimBetting
from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.grids import guesses
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.mixture import PairMixture
from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder, Outcomes
from dpaudit.blackbox.pair import PairAttack
from dpaudit.blackbox.replay import Replay
from dpaudit.blackbox.rounding import largest_number
from dpaudit.blackbox.runs import Chunk, chunks_of, limit_calls, run_compared
from dpaudit.blackbox.statistics.blocks import Failure, Workers
from dpaudit.blackbox.statistics.cells import CellBlock, log_gains
from dpaudit.blackbox.words import in_words
from dpaudit.core.errors import MechanismError

__all__ = ["EXPLORED", "Candidate", "Search", "Target"]

#: If all of this many first calls on a pair raise, the mechanism is broken, and this is not an outcome.
FAILURES_THAT_BREAK = 64
#: Parts of the first blocks of a pair, and of all blocks with this many tasks, run in this process as well.
COMPARED_BLOCKS, COMPARED_TASKS = 2, 16
#: Runs on all other pairs in total, as a share of the runs on the leading pair.
EXPLORED = 0.25
#: Log-wealth that a pair is expected to need.
WEALTH_AIM = 6.0


@dataclass(frozen=True)
class Target:
    """Mechanism, how to call it, and the numbers of the claim.

    The tested numbers lie just above the claimed ones, so that rejecting them refutes the claim.
    """

    mechanism: Callable[..., Any]
    batch: bool
    timeout: float | None
    seed: int
    #: The (epsilon, delta) points that are tested. The capital is divided among them.
    points: Points
    bits: bool
    #: Whether workers other than this process run the calls.
    spread: bool = False
    seed_globals: bool = True

    def chunk(
        self, data: Any, calls: int, seed: np.random.SeedSequence, *, deadline: float | None = None
    ) -> Chunk:
        """Return calls on one input outside of the search."""
        return Chunk(self.mechanism, data, calls, seed, self.batch, self.timeout, deadline, self.seed_globals)

    @property
    def epsilon(self) -> float:
        """Return the epsilon of the middle point, which splits and notes use."""
        return self.points.middle[0]

    @property
    def delta(self) -> float:
        """Return the delta of the middle point."""
        return self.points.middle[1]


class Candidate:
    """Pair of inputs with its attack and its bettor against the claim."""

    def __init__(self, target: Target, index: int, data: tuple[Any, Any]) -> None:
        self.encoder = OutcomeEncoder()
        guessed = guesses(data) if target.bits else ()
        self.attack = PairAttack(
            epsilon=target.epsilon,
            bits=target.bits,
            reader=self.encoder,
            guessed=guessed,
            fine=bool(len(target.points.orders)),
        )
        self.log_wealth = 0.0
        self.wait = math.inf
        self.betting: ClaimBetting | None = None
        self._target = target
        self._index = index
        self._data = data
        self._round = 0
        self._largest: float | None = None
        #: Number of blocks that workers have run.
        self._sent = 0
        #: Number of runs that raised, and the first exception, on the first and the second input.
        self.raised = [0, 0]
        self.first_failure = ["", ""]
        #: Key of the first output on each input. ``constant`` states whether all later keys equal it.
        self.only_key: list[int | None] = [None, None]
        self.constant = [True, True]

    def step(self, pairs: int, workers: Workers, clock: Clock, samples: int) -> None:
        """Run one block of pairs of runs and bet on it."""
        first, second = self._draw(pairs, workers, clock, samples)
        block = self.attack.play(first, second)
        if self.betting is None:
            self.betting = self.attack.betting(self._target.points.stacked)
        if block is not None:
            self.log_wealth = float(self.betting.update(block)[0])
        self.wait = self._expected_wait()

    def _expected_wait(self) -> float:
        """Estimate the pairs of runs until this pair alone refutes, at the past earnings of its stakes."""
        target, known = self._target, self.attack.known
        gains = log_gains(CellBlock(known, known), target.points.epsilons, target.points.deltas)
        # Exclude bold experts. Their cells were filled by one input only, so past gains predict nothing.
        rate = float(gains[:, ~self.attack.bold].max()) / self.attack.pairs
        if len(target.points.orders):  # bets on divergences are known by what they have earned
            rate = max(rate, self.log_wealth / self.attack.pairs)
        return max(WEALTH_AIM - self.log_wealth, 0.0) / rate if rate > 0 else math.inf

    def _draw(self, pairs: int, workers: Workers, clock: Clock, samples: int) -> tuple[Outcomes, Outcomes]:
        target = self._target
        tasks = [
            chunks_of(
                target.mechanism,
                data,
                pairs,
                seed=target.seed,
                key=(self._index, self._round, side),
                batch=target.batch,
                timeout=target.timeout,
                deadline=clock.deadline,
                seed_globals=target.seed_globals,
            )
            for side, data in enumerate(self._data)
        ]
        both_tasks = [*tasks[0], *tasks[1]]
        if target.spread:
            # Compared tasks run twice. In small blocks, compare only the first blocks.
            often = self._sent < COMPARED_BLOCKS or len(both_tasks) >= COMPARED_TASKS
            compared = (0, len(tasks[0])) if often else ()
            results, was_sent = run_compared(workers, both_tasks, compared)
            self._sent += was_sent
        else:
            watched = clock.watch(both_tasks, samples=samples, log_wealth=self.log_wealth)
            with limit_calls(target.timeout):
                results = workers.run(watched)
        self._round += 1
        parts = (results[: len(tasks[0])], results[len(tasks[0]) :])
        raw = [
            np.concatenate(part) if target.batch else [item for chunk in part for item in chunk]
            for part in parts
        ]
        both = np.concatenate(raw) if target.batch else [*raw[0], *raw[1]]
        if self._largest is None:
            self._largest = 0.0 if target.bits else _largest_in(self._data)
        outcomes = self.encoder.encode(both, pairs=0 if target.bits else pairs, largest=self._largest)
        self._count_failures(raw)
        self._watch_constant(outcomes, pairs)
        self._refuse_failures(len(outcomes.keys))
        return outcomes[:pairs], outcomes[pairs:]

    def _count_failures(self, raw: list[Any]) -> None:
        for side, outputs in enumerate(raw):
            failures = (
                [item for item in outputs if isinstance(item, Failure)] if isinstance(outputs, list) else []
            )
            self.raised[side] += len(failures)
            if failures and not self.first_failure[side]:
                self.first_failure[side] = in_words(failures[0])

    def _refuse_failures(self, calls: int) -> None:
        """Raise ``MechanismError`` if all of the first calls on both inputs raised.

        ``calls`` is the number of calls in the last block.
        """
        calls += 2 * self.attack.pairs
        if calls >= FAILURES_THAT_BREAK and sum(self.raised) == calls:
            sides = zip(self.first_failure, ("first", "second"), strict=True)
            raised = [f"on the {side} input {failure}" for failure, side in sides]
            raise MechanismError(
                f"the mechanism raised in all of the first {calls} calls on pair {self._index}: "
                f"{' and '.join(raised)}. To debug it, call it once on each input"
                f"{_in_other_order(self._target.mechanism)}.",
                code="E-MECHANISM-RAISES",
            )

    def _watch_constant(self, outcomes: Outcomes, pairs: int) -> None:
        for side, keys in enumerate((outcomes.keys[:pairs], outcomes.keys[pairs:])):
            if self.only_key[side] is None:
                self.only_key[side] = int(keys[0])
            self.constant[side] = self.constant[side] and bool(
                np.all(keys == np.uint64(self.only_key[side] or 0))
            )


def _largest_in(data: tuple[Any, Any]) -> float:
    """Return the size of the largest number in a pair of inputs, or 0 if they cannot be read."""
    try:
        return largest_number(OutcomeEncoder().encode(list(data)).values, labels_below=LABEL_BASE)
    except Exception:  # an input may be anything
        return 0.0


def _in_other_order(mechanism: Callable[..., Any]) -> str:
    """Return a hint if the name of the first parameter suggests a generator. Otherwise, return no text."""
    try:
        first = next(iter(inspect.signature(mechanism).parameters), "")
    except (TypeError, ValueError):
        return ""
    if first.lower() not in ("rng", "generator", "random_state", "prng"):
        return ""
    return f" (it is called as mechanism(data, rng), and its first parameter is named {first})"


class Search:
    """Runs on all pairs of neighbours, block by block, in an order that depends on the past."""

    def __init__(
        self, target: Target, neighbours: list[tuple[Any, Any]], workers: Workers, clock: Clock
    ) -> None:
        self.target = target
        self._workers = workers
        self._clock = clock
        self.candidates = [Candidate(target, index, data) for index, data in enumerate(neighbours)]
        self.samples = 0
        self._order: list[int] = []
        self._mixture = PairMixture(len(neighbours), 1)

    def step(self, budget: int) -> bool:
        """Run one block of at most ``budget`` runs. Return False if not even one pair of runs is possible."""
        index = self._next()
        candidate = self.candidates[index]
        pairs = min(candidate.attack.next_block(), budget // 2)
        if pairs < 1:
            return False
        candidate.step(pairs, self._workers, self._clock, self.samples)
        self._mixture.update(index, np.array([candidate.log_wealth]))
        self.samples += 2 * pairs
        self._order.append(index)
        return True

    def _next(self) -> int:
        played = np.array([candidate.attack.pairs for candidate in self.candidates])
        fewest = int(np.argmin(played))
        waits = np.array([candidate.wait for candidate in self.candidates])
        leader = int(np.argmin(waits))
        if self.candidates[fewest].betting is None or not np.isfinite(waits[leader]):
            return fewest
        if len(played) == 1 or played.sum() - played[leader] >= EXPLORED * played[leader]:
            return leader
        return int(np.argmin(np.where(np.arange(len(played)) == leader, np.iinfo(np.int64).max, played)))

    @property
    def best(self) -> int:
        """Return the index of the pair with the largest wealth."""
        return int(np.argmax([candidate.log_wealth for candidate in self.candidates]))

    @property
    def log_wealth(self) -> float:
        """Return the log of the combined wealth of all pairs against the claim."""
        return float(self._mixture.log_wealth[0])

    @property
    def replay(self) -> Replay:
        """Return the blocks so far, for new bets."""
        attacks = [candidate.attack for candidate in self.candidates]
        return Replay([attack.played for attack in attacks], tuple(self._order))
