"""Notes of a check: its power, state leaks, unusual outputs, and differences that were not examined."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.blackbox.claim_betting import ClaimBetting
from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.features import Past
from dpaudit.blackbox.fork_test import FreshCopies
from dpaudit.blackbox.global_generators import used
from dpaudit.blackbox.hypotheses import Points
from dpaudit.blackbox.independence import lie_apart, numbers_of, sign_in_copies, sign_of_memory
from dpaudit.blackbox.mutation import CHANGES_ITS_INPUT, OnCopies, state_of
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.pair import PairAttack
from dpaudit.blackbox.power import Schedule, exclusive_probability, visible_epsilon
from dpaudit.blackbox.runs import can_limit_time
from dpaudit.blackbox.search import Search, Target
from dpaudit.blackbox.state_leak_test import carries_over
from dpaudit.blackbox.words import at_most
from dpaudit.core.errors import MechanismError
from dpaudit.core.neighbours import Neighbours

__all__ = [
    "NEW_PROCESS",
    "RAISED",
    "event_of",
    "fresh_copies",
    "memory",
    "note_on_bits",
    "notes_before",
    "notes_on_outputs",
    "power",
    "power_notes",
    "power_of",
    "strongest_event",
]

REPLAYED_CALLS = 4
POWER_PROBABILITIES = (0.5, 0.1, 0.01)
#: If this many outputs are the same, the mechanism is taken to give no other output on this input.
CONSTANT_CALLS = 24
#: From this share of runs that raised, a run has too little power to describe.
MOSTLY = 0.5
#: From this number of input pairs, an inconclusive result notes that the pairs share the runs.
MANY_PAIRS = 8
#: Words by which a note on exceptions is recognised.
RAISED = "inputs raised"
#: Note for the case that forks stalled.
NEW_PROCESS = (
    "a forked copy of this process did not answer in time, for example because a library had started "
    "threads before. Fresh copies of the mechanism were made in a new process"
)
#: Number of kinds of outputs that are listed.
SHOWN_KINDS = 3
#: Each fresh copy takes a fork and two calls. If outputs vary, only the second number of copies is called.
MAX_COPIES, ASKED_COPIES = 200, 16
FRESH_KEY, REPLAY_KEY = 2**31 + 1, 2**31


def fresh_copies(target: Target, pair: tuple[Any, Any]) -> FreshCopies:
    """Prepare copies of the mechanism in its current state, to be called on the first input.

    All copies but the first make a call on the other input before it, so that a generator that the mechanism
    holds is in another state.
    """

    def answer(number: int) -> tuple[str, list[float]]:
        return _output_of_copy(target, pair, number=number)

    # Randomised response at the claimed epsilon gives this many equal answers with probability 1/1000.
    count = math.ceil(7 * (1 + math.exp(min(target.epsilon, 10.0))))
    return FreshCopies(answer, max(ASKED_COPIES, min(count, MAX_COPIES)))


def _output_of_copy(target: Target, pair: tuple[Any, Any], *, number: int) -> tuple[str, list[float]]:
    """Return the output of one copy on the first input, as text and as numbers."""
    for data in (pair[1], pair[0]) if number else (pair[0],):
        seed = np.random.SeedSequence(target.seed, spawn_key=(FRESH_KEY, number))
        output = target.chunk(copy.deepcopy(data), 1, seed)()
    encoder = OutcomeEncoder()
    return encoder.fingerprint(output), numbers_of(encoder.encode(output))[0].tolist()


def notes_before(target: Target, data: Any) -> tuple[Target, list[str]]:
    """Return the target and notes on reproducibility, on changes of the input, and on the time limit.

    Call the mechanism twice with the same generator. If it changes its input, the returned target works on
    copies.
    """
    notes, data = [], copy.deepcopy(data)
    if target.timeout is not None and not can_limit_time():
        notes.append("no time limit for calls: timers work only in a main thread, on systems that have them")
    seed = np.random.SeedSequence(target.seed, spawn_key=(REPLAY_KEY,))
    before = state_of(data)
    chunk = target.chunk(copy.deepcopy(data), REPLAYED_CALLS, seed)
    chunk()
    if before is not None and state_of(chunk.data) != before:
        notes.append(CHANGES_ITS_INPUT)
        target = replace(target, mechanism=OnCopies(target.mechanism))
    chunk = replace(chunk, mechanism=target.mechanism, data=data)
    keys = [OutcomeEncoder().encode(chunk()).keys for _ in range(2)]
    drawn = [name for name in used(seed) if target.seed_globals]
    if drawn:
        notes.append(f"the mechanism draws from {' and '.join(drawn)}, which this check seeds")
    if not np.array_equal(keys[0], keys[1]):
        notes.append(
            "not reproducible: the same seed gave different outputs, so the mechanism keeps state or has "
            "another source of randomness"
        )
    return target, notes


def memory(
    search: Search,
    copies: FreshCopies,
    pairs: Sequence[Neighbours],
    *,
    leader: int,
    refuted: bool,
    clock: Clock,
) -> str:
    """Return why the calls were not independent, or an empty text if there is no sign of dependence.

    ``leader`` is the index of the pair with the strongest evidence against the claim. ``refuted`` states
    whether the claim is refuted if calls are independent. The tests that protect a refutation are made even
    if the time is over.
    """
    candidate = search.candidates[leader]
    if not candidate.attack.pairs:
        return ""
    if all(candidate.constant):
        # A mechanism that keeps its answer does so on all inputs, including the one that the copies run on.
        enough = candidate.attack.pairs >= CONSTANT_CALLS and search.candidates[0].constant[0]
        if not enough:
            return ""
        answers = copies.answers(deadline=clock.deadline)
        if answers and copies.spawned:
            # A new process may lack settings of this one. Its copies may then agree for another reason.
            try:
                answers.append(_output_of_copy(search.target, (pairs[0].left, pairs[0].right), number=0))
            except MechanismError:
                answers = None
        return _keeps_its_answer(answers)
    sign = sign_of_memory(candidate.attack.past, reader=candidate.encoder, seed=search.target.seed)
    if not sign and refuted and search.candidates[0].attack.pairs >= CONSTANT_CALLS:
        seen, others = map(numbers_of, search.candidates[0].attack.past)
        # A state leak keeps the outputs on one input close to each other. Copies may share open connections
        # of the caller, so they are called only if the outputs look like that.
        if lie_apart(seen, others):
            answers = copies.answers(ASKED_COPIES, deadline=clock.deadline)
            sign = sign_in_copies(seen, [row for _, row in answers or ()])
    if sign:
        return f"{sign}. Pass a mechanism that keeps no state between calls"
    if clock.over and not refuted:
        return ""
    return carries_over(search.target, (pairs[leader].left, pairs[leader].right))


def _keeps_its_answer(answers: list[tuple[str, list[float]]] | None) -> str:
    """Return why a mechanism with constant outputs keeps its first answer, from outputs of fresh copies."""
    if answers is None:
        return (
            "all outputs on an input were the same, and no fresh copy of the mechanism could be made to "
            "find out whether it adds no noise or keeps its first answer. Call it in two new processes"
        )
    if len({key for key, _ in answers}) == 1:
        return ""  # a function of the data: nothing is drawn, so nothing depends on earlier calls
    return (
        "the output on an input was the same for every generator, but different in a fresh copy of the "
        "mechanism, so it keeps its answers. Pass the function without its cache"
    )


def notes_on_outputs(search: Search) -> list[str]:
    """Return notes on runs that raised, on constant outputs, and on objects that could not be read."""
    notes = []
    for side, name in enumerate(("first", "second")):
        raised = sum(candidate.raised[side] for candidate in search.candidates)
        runs = sum(candidate.attack.pairs for candidate in search.candidates)
        if raised:
            found = [item.first_failure[side] for item in search.candidates]
            example = next(failure for failure in found if failure)
            share = f"{100 * raised / runs:.3g}%"
            notes.append(f"{share} of the runs on the {name} {RAISED} (such as {example})")
    notes += _constants(search) + _kinds(search)
    encoders = [candidate.encoder for candidate in search.candidates]
    rounded = sorted({item.column_name(k) for item in encoders for k in item.rounded})
    if rounded:
        notes.append(f"differences without noise and within rounding were ignored in: {', '.join(rounded)}")
    closed = sorted({name for candidate in search.candidates for name in candidate.encoder.closed})
    if closed:
        notes.append(
            f"outputs hold objects that cannot be read ({', '.join(closed)}), and these were not compared"
        )
    played = [candidate for candidate in search.candidates if candidate.attack.pairs]
    if played and all(all(item.constant) and item.only_key[0] == item.only_key[1] for item in played):
        notes.append("every output on both inputs was equal in this check. Does the mechanism use its data?")
    if played and all(np.isnan(side.values).all() for item in played for side in item.attack.past):
        notes.append(
            "no output held a number or text, only None, NaN or nothing. Does the mechanism return a value?"
        )
    return notes


def _kinds(search: Search) -> list[str]:
    """Return a note on how often outputs were NaN, None or of an unusual shape or type."""
    for place, candidate in enumerate(search.candidates):
        if not candidate.attack.pairs:
            continue
        codes, counts = np.unique(
            np.concatenate([side.symbols for side in candidate.attack.past]), return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        kinds = [
            (candidate.encoder.kinds(codes[k], codes[k] + 1)[0], counts[k] / counts.sum()) for k in order
        ]
        kinds = [(words, share) for words, share in kinds if not words.startswith("the call raised")]
        if len(kinds) > 1:
            shown = [f"{words} ({100 * share:.3g}%)" for words, share in kinds[:SHOWN_KINDS]]
            rest = len(kinds) - SHOWN_KINDS
            shown += [f"{rest} other kind{'s' if rest > 1 else ''}"] if rest > 0 else []
            where = f" on pair {place}" if len(search.candidates) > 1 else ""
            return [f"outputs had several kinds{where}: {', '.join(shown)}"]
    return []


def _has_fractions(past: Past) -> bool:
    values = past[0].values[:64]
    finite = values[np.isfinite(values)]
    return bool(np.any(finite != np.floor(finite)))


def note_on_bits(search: Search) -> list[str]:
    """Return a note that a claim about real numbers ignores the bit patterns of floats."""
    played = [candidate for candidate in search.candidates if candidate.attack.pairs]
    if search.target.bits or not any(_has_fractions(item.attack.past) for item in played):
        return []
    return ["low-order bits of floats were ignored. A claim with model=dpaudit.blackbox.AS_RUN includes them"]


def _why_little_power(search: Search) -> str:
    """Return why the run has little power however long it was, or an empty text."""
    runs = 2 * sum(candidate.attack.pairs for candidate in search.candidates)
    raised = sum(sum(candidate.raised) for candidate in search.candidates)
    if runs and raised >= MOSTLY * runs:
        return "most runs raised, so this check has little power"
    strange = max(candidate.encoder.strange for candidate in search.candidates)
    if strange:
        return (
            f"{100 * strange:.3g}% of the outputs hold text that occurred only once, so it cannot be "
            "compared. Return its numbers, or a label that occurs repeatedly"
        )
    return ""


def power_notes(search: Search, found: dict[str, Any]) -> list[str]:
    """Describe the events that an inconclusive run would have detected, from the result of ``power``."""
    reason = _why_little_power(search)
    if reason:  # ``power`` left the events out
        return [reason]
    points = search.target.points
    pure = len(points.deltas) == 1 and points.deltas[0] == 0
    events = [
        f"an event of probability {entry['probability']:g} on one input that is "
        f"{_rounded_ratio(entry['epsilon'])} times rarer on the other"
        + (f" (epsilon {entry['epsilon']:.4g})" if pure else "")
        for entry in found["events"]
        if entry["epsilon"]
    ]
    if found["exclusive"]:
        events.append(f"an event of probability {found['exclusive']:.3g} that never occurs on the other")
    if not events:
        return [_no_power(search)]
    notes = [
        f"power: with probability about 1/2, this run would have detected {', or '.join(events)}. "
        "docs/check.md lists the differences that are not examined."
    ]
    if len(search.candidates) >= MANY_PAIRS:
        notes.append(
            f"{len(search.candidates)} pairs of inputs shared the runs. Fewer pairs, or a larger "
            "max_samples, give more power"
        )
    return notes


def _rounded_ratio(log_ratio: float) -> str:
    """Return e to the power of ``log_ratio``, rounded up to three figures."""
    return at_most(math.exp(log_ratio), 3)


def _no_power(search: Search) -> str:
    """Return a note that the pair with the fewest runs had too few of them to detect any violation."""
    pairs = len(search.candidates)
    played = sum(2 * candidate.attack.pairs for candidate in search.candidates)
    where, fewer = (f" on {pairs} pairs of inputs", " or pass fewer pairs") if pairs > 1 else ("", "")
    return (
        f"power: {played:,} runs{where} are too few to detect any violation with probability 1/2. Increase "
        f"max_samples{fewer}"
    )


def _constants(search: Search) -> list[str]:
    """Return a note on outputs that are constant on each input and differ between the two inputs."""
    for place, candidate in enumerate(search.candidates):
        keys = candidate.only_key
        if candidate.attack.pairs >= CONSTANT_CALLS and all(candidate.constant) and keys[0] != keys[1]:
            shown = [
                candidate.encoder.describe(side.values[0], int(side.symbols[0]), int(side.keys[0]))
                for side in candidate.attack.past
            ]
            if shown[0] == shown[1]:
                shown = ["an output", "a different output with the same text"]
            where = f" on pair {place}" if len(search.candidates) > 1 else ""
            return [
                f"all {candidate.attack.pairs:,} runs on each input gave the same output{where}: {shown[0]} "
                f"on the first, {shown[1]} on the second. Without noise, no finite epsilon holds"
            ]
    return []


def power(search: Search, alpha: float) -> dict[str, Any]:
    """Compute the power for the pair with the fewest runs, a lower bound on the power for all pairs.

    Returns
    -------
    dict
        ``events``: for each probability in ``POWER_PROBABILITIES``, the smallest detectable epsilon, or None.
        ``exclusive``: the smallest detectable probability of an event that never occurs on the other input,
        or None.
    """
    attack = min((candidate.attack for candidate in search.candidates), key=lambda item: item.pairs)
    if _why_little_power(search):
        return {"events": [], "exclusive": None}
    return power_of(attack, search.target.points, candidates=len(search.candidates), alpha=alpha)


def power_of(attack: PairAttack, points: Points, *, candidates: int, alpha: float) -> dict[str, Any]:
    """Compute the power of the blocks of one pair, as ``power`` does."""
    sizes = [block.pairs for block in attack.blocks]
    if attack.experts is None or not sizes:
        return {"events": [], "exclusive": None}
    epsilon, delta = points.middle
    schedule = Schedule(
        epsilon=epsilon,
        delta=delta,
        first=attack.pairs - sum(sizes),
        sizes=sizes,
        share=float(np.median(attack.experts.weights)) * points.share,
        follow=attack.experts.follow * points.share,
        candidates=candidates,
        alpha=alpha,
    )
    events = [
        {"probability": p, "epsilon": visible_epsilon(schedule, probability=p)} for p in POWER_PROBABILITIES
    ]
    return {"events": events, "exclusive": exclusive_probability(schedule)}


def _divergence(betting: ClaimBetting, points: Points) -> str:
    """Describe the divergence with the strongest evidence, or return an empty text."""
    place = betting.richest_order
    if place is None:
        return ""
    order, bound = points.orders[place], points.divergences[place]
    name = "Kullback-Leibler divergence" if order == 1 else f"Rényi divergence of order {order:g}"
    return f"no single event: the {name} of the outputs is too large (the claim allows {bound:.4g})"


def strongest_event(search: Search, pair: int) -> str:
    """Describe the cell of this pair's richest expert with the strongest evidence, with its counts."""
    candidate = search.candidates[pair]
    if candidate.betting is None or candidate.log_wealth <= 0:
        return ""
    return event_of(candidate.attack, candidate.betting, search.target.points)


def event_of(attack: PairAttack, betting: ClaimBetting, tested: Points) -> str:
    """Describe the strongest evidence of one attack against a claim."""
    expert = betting.richest_expert
    if attack.experts is None or betting.richest_order is not None:
        return _divergence(betting, tested)
    first, second = attack.known[:, expert].astype(float)
    wins, losses = np.maximum(first, second), np.minimum(first, second)
    # Choose the (epsilon, delta) point of the claim that this one event contradicts most.
    points = zip(tested.epsilons, tested.deltas, strict=True)
    excess = np.array([wins - math.exp(epsilon) * losses - delta * attack.pairs for epsilon, delta in points])
    scores = excess / np.sqrt(wins + losses + 1.0)
    place, cell = np.unravel_index(int(np.argmax(scores)), scores.shape)
    if excess[place, cell] <= 0:
        return ""
    epsilon, delta = tested.epsilons[place], tested.deltas[place]
    ratio = f"{wins[cell] / losses[cell]:.3g} times as often" if losses[cell] else "on one input only"
    allowed = f"{math.exp(epsilon):.3g} times" + (f" and {delta:.3g} of the runs more" if delta else "")
    return (
        f"{attack.experts.describe(expert, int(cell))}: {first[cell]:.0f} of {attack.pairs} runs on the "
        f"first input, {second[cell]:.0f} of {attack.pairs} on the second ({ratio}; the claim allows "
        f"{allowed})"
    )
