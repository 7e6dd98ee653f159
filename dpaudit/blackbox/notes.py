"""What a check says beside its verdict: what the run could have seen, and what it could not."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.features import Past
from dpaudit.blackbox.fork_test import FreshCopies
from dpaudit.blackbox.independence import lie_apart, numbers_of, sign_in_copies, sign_of_memory
from dpaudit.blackbox.mutation import CHANGES_ITS_INPUT, OnCopies, state_of
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.power import Schedule, exclusive_probability, visible_epsilon
from dpaudit.blackbox.runs import Chunk, can_limit_time
from dpaudit.blackbox.search import Search, Target
from dpaudit.blackbox.state_leak_test import carries_over
from dpaudit.blackbox.words import at_most
from dpaudit.core.errors import MechanismError
from dpaudit.core.neighbours import Neighbours

__all__ = [
    "NEW_PROCESS",
    "RAISED",
    "fresh_copies",
    "memory",
    "note_on_bits",
    "notes_before",
    "notes_on_outputs",
    "power",
    "power_notes",
    "telling_event",
]

REPLAYED_CALLS = 4
POWER_PROBABILITIES = (0.5, 0.1, 0.01)
#: Outputs that are the same for so many calls are taken to be all that this input gives.
CONSTANT_CALLS = 24
#: From this share of runs that raised on, or of texts that never came again, the run has seen too little.
MOSTLY = 0.5
#: From so many pairs of inputs on an open result says that they share the runs.
MANY_PAIRS = 8
#: What a note on exceptions says.
RAISED = "inputs raised"
#: What a note says where forks stalled.
NEW_PROCESS = (
    "a forked copy of this process did not answer in time, as where a library had started threads before; "
    "fresh copies of the mechanism were made in a new process"
)
#: Kinds of outputs that are listed.
SHOWN_KINDS = 3
#: Fresh copies cost a fork and two calls each; so many are asked what is refuted by outputs that vary.
MAX_COPIES, ASKED_COPIES = 200, 16
FRESH_KEY, REPLAY_KEY = 2**31 + 1, 2**31


def fresh_copies(target: Target, pair: tuple[Any, Any]) -> FreshCopies:
    """Copies of the mechanism as it is now, to be asked for its output on the first input. All but the first
    copy call on the other input before, so that a generator that the mechanism holds has moved on.
    """

    def answer(number: int) -> tuple[str, list[float]]:
        return _output_of_copy(target, pair, number=number)

    # Randomised response at the claimed epsilon would give so many equal answers once in a thousand times.
    count = math.ceil(7 * (1 + math.exp(min(target.epsilon, 10.0))))
    return FreshCopies(answer, max(ASKED_COPIES, min(count, MAX_COPIES)))


def _output_of_copy(target: Target, pair: tuple[Any, Any], *, number: int) -> tuple[str, list[float]]:
    """The output on the first input, as text and as numbers."""
    for data in (pair[1], pair[0]) if number else (pair[0],):
        seed = np.random.SeedSequence(target.seed, spawn_key=(FRESH_KEY, number))
        output = Chunk(target.mechanism, copy.deepcopy(data), 1, seed, target.batch, target.timeout)()
    encoder = OutcomeEncoder()
    return encoder.fingerprint(output), numbers_of(encoder.encode(output))[0].tolist()


def notes_before(target: Target, data: Any) -> tuple[Target, list[str]]:
    """Call the mechanism twice with the same generator, see whether it changes its input (the target then
    works on copies), and whether calls can be limited in time.
    """
    notes, data = [], copy.deepcopy(data)
    if target.timeout is not None and not can_limit_time():
        notes.append(
            "calls were not limited in time: timers work only in a main thread, on systems that have them"
        )
    seed = np.random.SeedSequence(target.seed, spawn_key=(REPLAY_KEY,))
    before = state_of(data)
    chunk = Chunk(target.mechanism, copy.deepcopy(data), REPLAYED_CALLS, seed, target.batch, target.timeout)
    chunk()
    if before is not None and state_of(chunk.data) != before:
        notes.append(CHANGES_ITS_INPUT)
        target = replace(target, mechanism=OnCopies(target.mechanism))
    chunk = replace(chunk, mechanism=target.mechanism, data=data)
    keys = [OutcomeEncoder().encode(chunk()).keys for _ in range(2)]
    if not np.array_equal(keys[0], keys[1]):
        notes.append(
            "the same generator gave other outputs: the mechanism draws from elsewhere or keeps something "
            "between calls, so this run cannot be repeated"
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
    """Why the calls were not independent, in words; empty where nothing speaks against it. ``leader``: the
    place of the pair that spoke most against the claim, ``refuted`` if they were independent. What guards a
    refutation is asked also when the time is over."""
    candidate = search.candidates[leader]
    if not candidate.attack.pairs:
        return ""
    if all(candidate.constant):
        # A mechanism that remembers does so on all inputs, also on the one that the copies are asked about.
        enough = candidate.attack.pairs >= CONSTANT_CALLS and search.candidates[0].constant[0]
        if not enough:
            return ""
        answers = copies.answers(deadline=clock.deadline)
        if answers and copies.spawned:
            # A new process may lack what this one was told, and then answer alike for another reason.
            try:
                answers.append(_output_of_copy(search.target, (pairs[0].left, pairs[0].right), number=0))
            except MechanismError:
                answers = None
        return _remembers(answers)
    sign = sign_of_memory(candidate.attack.past, reader=candidate.encoder, seed=search.target.seed)
    if not sign and refuted and search.candidates[0].attack.pairs >= CONSTANT_CALLS:
        seen, others = map(numbers_of, search.candidates[0].attack.past)
        # A memory keeps the outputs on an input together. Copies may share connections of the caller's, so
        # that they are asked only where it looks like one.
        if lie_apart(seen, others):
            answers = copies.answers(ASKED_COPIES, deadline=clock.deadline)
            sign = sign_in_copies(seen, [row for _, row in answers or ()])
    if sign:
        return f"{sign}; hand over a mechanism that keeps nothing from call to call"
    if clock.over and not refuted:
        return ""
    return carries_over(search.target, (pairs[leader].left, pairs[leader].right))


def _remembers(answers: list[tuple[str, list[float]]] | None) -> str:
    """What the outputs of fresh copies say about a mechanism whose outputs on an input are all the same."""
    if answers is None:
        return (
            "all outputs on an input were the same, and no fresh copy of the mechanism could be made to "
            "see whether it adds no noise or remembers its first answer; call it in two fresh processes"
        )
    if len({key for key, _ in answers}) == 1:
        return ""  # a function of the data: nothing is drawn, so nothing depends on earlier calls
    return (
        "the output on an input was the same for every generator, in a fresh copy of the mechanism "
        "another one: it remembers its answers; hand over the function without its cache"
    )


def notes_on_outputs(search: Search) -> list[str]:
    """What share raised, outputs that are all the same, and what the features could not look into."""
    notes = []
    for side, name in enumerate(("first", "second")):
        raised = sum(candidate.raised[side] for candidate in search.candidates)
        runs = sum(candidate.attack.pairs for candidate in search.candidates)
        if raised:
            found = [item.first_failure[side] for item in search.candidates]
            example = next(failure for failure in found if failure)
            share = f"{100 * raised / runs:.3g} %"
            notes.append(f"{share} of the runs on the {name} {RAISED} (such as {example})")
    notes += _constants(search) + _kinds(search)
    encoders = [candidate.encoder for candidate in search.candidates]
    rounded = sorted({item.column_name(k) for item in encoders for k in item.rounded})
    if rounded:
        notes.append(
            f"what differs by no more than rounding, without noise, was taken as equal: {', '.join(rounded)}"
        )
    closed = sorted({name for candidate in search.candidates for name in candidate.encoder.closed})
    if closed:
        notes.append(
            f"outputs held what cannot be looked into ({', '.join(closed)}); what it shows is not seen"
        )
    played = [candidate for candidate in search.candidates if candidate.attack.pairs]
    if played and all(all(item.constant) and item.only_key[0] == item.only_key[1] for item in played):
        notes.append(
            "on both inputs every output looked the same to this check; does the mechanism look at its data?"
        )
    if played and all(np.isnan(side.values).all() for item in played for side in item.attack.past):
        notes.append("no output held a number or text, only None, NaN or nothing; does the mechanism return?")
    return notes


def _kinds(search: Search) -> list[str]:
    """How often outputs were NaN, ``None`` or of another shape or type than the usual one."""
    for place, candidate in enumerate(search.candidates):
        if not candidate.attack.pairs:
            continue
        codes, counts = np.unique(
            np.concatenate([side.symbols for side in candidate.attack.past]), return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        said = [(candidate.encoder.kinds(codes[k], codes[k] + 1)[0], counts[k] / counts.sum()) for k in order]
        said = [(words, share) for words, share in said if not words.startswith("the call raised")]
        if len(said) > 1:
            shown = [f"{words} ({100 * share:.3g} %)" for words, share in said[:SHOWN_KINDS]]
            rest = len(said) - SHOWN_KINDS
            shown += [f"{rest} other kind{'s' if rest > 1 else ''}"] if rest > 0 else []
            where = f" on pair {place}" if len(search.candidates) > 1 else ""
            return [f"outputs were of several kinds{where}: {', '.join(shown)}"]
    return []


def _has_fractions(past: Past) -> bool:
    values = past[0].values[:64]
    finite = values[np.isfinite(values)]
    return bool(np.any(finite != np.floor(finite)))


def note_on_bits(search: Search) -> list[str]:
    """That a claim over the reals leaves the bit patterns of floats out, and how to look at them."""
    played = [candidate for candidate in search.candidates if candidate.attack.pairs]
    if search.target.bits or not any(_has_fractions(item.attack.past) for item in played):
        return []
    return [
        "the low-order bits of floats were ignored; a claim with model=dpaudit.blackbox.AS_RUN counts them"
    ]


def _hardly_looked(search: Search) -> str:
    """Why the run says little however long it was, in words; empty where it does not."""
    runs = 2 * sum(candidate.attack.pairs for candidate in search.candidates)
    raised = sum(sum(candidate.raised) for candidate in search.candidates)
    if runs and raised >= MOSTLY * runs:
        return "most runs raised, so that this run says little about the mechanism"
    strange = max(candidate.encoder.strange for candidate in search.candidates)
    if strange:
        return (
            f"{100 * strange:.3g} % of the outputs hold text that came only once, into which nothing here "
            "can look; return its numbers, or a label that comes again"
        )
    return ""


def power_notes(search: Search, found: dict[str, Any]) -> list[str]:
    """What an inconclusive run would have seen, from ``power``."""
    hardly = _hardly_looked(search)
    if hardly:  # nothing is said to have been seen: ``power`` left it out
        return [hardly]
    points = search.target.points
    pure = len(points.deltas) == 1 and points.deltas[0] == 0
    seen = [
        f"one of {entry['probability']:g}, {_rounded_ratio(entry['epsilon'])} times rarer"
        + (f" (epsilon {entry['epsilon']:.4g})" if pure else "")
        for entry in found["events"]
        if entry["epsilon"]
    ]
    if found["exclusive"]:
        seen.append(f"one of {found['exclusive']:.3g} that never comes there")
    if not seen:
        return [_sees_little(search)]
    notes = [
        "events that this run would have seen, about half the time, in the outputs as this check reads them "
        "(docs/check.md says what it leaves out), by their probability on one input and how much rarer they "
        f"are on the other: {'; '.join(seen)}"
    ]
    if len(search.candidates) >= MANY_PAIRS:
        notes.append(
            f"the runs were divided among {len(search.candidates)} pairs of inputs: fewer pairs, or a larger "
            "max_samples, see more"
        )
    return notes


def _rounded_ratio(log_ratio: float) -> str:
    """e to this power, rounded up to three figures."""
    return at_most(math.exp(log_ratio), 3)


def _sees_little(search: Search) -> str:
    """That the pair with the fewest runs had too few of them for any violation to be seen there."""
    pairs = len(search.candidates)
    played = sum(2 * candidate.attack.pairs for candidate in search.candidates)
    where, fewer = (f" on {pairs} pairs of inputs", ", or name fewer pairs") if pairs > 1 else ("", "")
    return (
        f"no violation of this claim would be seen about half the time in {played:,} runs{where}; make "
        f"more{fewer}"
    )


def _constants(search: Search) -> list[str]:
    """Outputs that never changed on an input and differ between the two: no noise hides the data there."""
    for place, candidate in enumerate(search.candidates):
        keys = candidate.only_key
        if candidate.attack.pairs >= CONSTANT_CALLS and all(candidate.constant) and keys[0] != keys[1]:
            shown = [
                candidate.encoder.describe(side.values[0], int(side.symbols[0]), int(side.keys[0]))
                for side in candidate.attack.past
            ]
            if shown[0] == shown[1]:
                shown = ["an output", "another one that reads the same"]
            where = f" on pair {place}" if len(search.candidates) > 1 else ""
            return [
                f"all {candidate.attack.pairs:,} runs on each input gave the same output{where}: {shown[0]} "
                f"on the first, {shown[1]} on the second; if there is no noise, no epsilon holds"
            ]
    return []


def power(search: Search, alpha: float) -> dict[str, Any]:
    """The power statement of the pair that got fewest runs: a violation on any pair of the list would have
    been seen as well.
    """
    attack = min((candidate.attack for candidate in search.candidates), key=lambda item: item.pairs)
    sizes = [block.pairs for block in attack.blocks]
    if attack.experts is None or not sizes or _hardly_looked(search):
        return {"events": [], "exclusive": None}
    schedule = Schedule(
        epsilon=search.target.epsilon,
        delta=search.target.delta,
        first=attack.pairs - sum(sizes),
        sizes=sizes,
        share=float(np.median(attack.experts.weights)) / len(search.target.points.epsilons),
        follow=attack.experts.follow / len(search.target.points.epsilons),
        candidates=len(search.candidates),
        alpha=alpha,
    )
    events = [
        {"probability": p, "epsilon": visible_epsilon(schedule, probability=p)} for p in POWER_PROBABILITIES
    ]
    return {"events": events, "exclusive": exclusive_probability(schedule)}


def telling_event(search: Search, pair: int) -> str:
    """The cell of the richest expert of this pair with most evidence against the claim, in words
    with its counts.
    """
    target = search.target
    candidate = search.candidates[pair]
    attack, betting = candidate.attack, candidate.betting
    if attack.experts is None or betting is None or candidate.log_wealth <= 0:
        return ""
    _, expert = np.unravel_index(int(np.argmax(betting.experts)), betting.experts.shape)
    first, second = attack.known[:, expert].astype(float)
    wins, losses = np.maximum(first, second), np.minimum(first, second)
    # at the point of the claim's curve that one event speaks most against: the bets may share theirs
    points = zip(target.points.epsilons, target.points.deltas, strict=True)
    excess = np.array([wins - math.exp(epsilon) * losses - delta * attack.pairs for epsilon, delta in points])
    told = excess / np.sqrt(wins + losses + 1.0)
    place, cell = np.unravel_index(int(np.argmax(told)), told.shape)
    if excess[place, cell] <= 0:
        return ""
    epsilon, delta = target.points.epsilons[place], target.points.deltas[place]
    ratio = f"{wins[cell] / losses[cell]:.3g} times as often" if losses[cell] else "on one input only"
    allowed = f"{math.exp(epsilon):.3g} times" + (f" and {delta:.3g} of the runs more" if delta else "")
    return (
        f"{attack.experts.describe(int(expert), int(cell))}: {first[cell]:.0f} of {attack.pairs} runs on the "
        f"first input, {second[cell]:.0f} of {attack.pairs} on the second ({ratio}; the claim allows "
        f"{allowed})"
    )
