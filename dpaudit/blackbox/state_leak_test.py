"""What a call keeps of the call before: with its generator given, an output may depend on the input alone.

Outputs of one chunk of calls follow calls on the same input, so that what a mechanism carries over from an
earlier input looks like that input's own effect: a sum over two calls moves twice as far. Each call may be
private by itself, so this refutes nothing.

A mechanism may also keep its first input for good, and then all later calls agree. So the same is asked in
copies of the process from before the first call, some of which begin with the other input.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.fork_test import FreshCopies
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.runs import CallTooLongError, Chunk
from dpaudit.blackbox.search import Target
from dpaudit.core.errors import MechanismError

__all__ = ["CARRIES_OVER", "carries_over", "copies_in_both_orders", "keeps_its_first"]

CARRY_KEY = 2**31 + 2
#: Calls on the second input of a copy, and copies that must agree: a mechanism that draws from elsewhere than
#: its generator, mostly the same, does so by chance less than once in 10^7 checks.
CALLS, COPIES = 8, 5
#: Histories of a kind that must agree, with that many calls each, where a shorter look found a difference.
REPEATS = 4
#: Seconds that all copies have: a mechanism that is slower is not compared.
SECONDS = 10.0

CARRIES_OVER = (
    "the output on one input was another one, with the same generator, after a call on the other input: it "
    "carries data over from call to call; hand over a mechanism that keeps nothing, or one whose input is "
    "the whole history"
)


def carries_over(target: Target, pair: tuple[Any, Any]) -> str:
    """That an output depends on which input of ``pair`` the call before was about, in words; empty where it
    does not, and where nothing can be said: for a mechanism that draws from elsewhere, or changes with every
    call.

    Each generator is the same in all histories, so a difference that comes again is no chance. One of two
    answers that are drawn from elsewhere comes again too, so a difference is looked for again in more calls.
    """
    for data, other in (pair, pair[::-1]):
        try:
            if all(
                _depends_on_the_last(target, data, other, calls=calls, repeats=repeats)
                for calls, repeats in ((1, 2), (CALLS, REPEATS))
            ):
                return CARRIES_OVER
        except (CallTooLongError, MechanismError):
            return ""
    return ""


def _depends_on_the_last(target: Target, data: Any, other: Any, *, calls: int, repeats: int) -> bool:
    """Whether calls on ``data`` after calls on ``other`` give something else than after calls on ``data``,
    the same in all repeats."""
    after_itself, after_other = (
        {_prints(target, (first, data), calls=calls)[-1] for _ in range(repeats)} for first in (data, other)
    )
    return len(after_itself) == len(after_other) == 1 and after_itself != after_other


def copies_in_both_orders(target: Target, pairs: Sequence[tuple[Any, Any]]) -> FreshCopies:
    """Copies of the mechanism as it is now, for ``keeps_its_first``."""

    def answer(number: int) -> list[str]:
        place, order = number // (4 * COPIES), number % 4
        data, other = pairs[place] if order < 2 else pairs[place][::-1]
        first = other if order % 2 else data
        return _prints(target, (first, data), calls=CALLS, key=0)

    return FreshCopies(answer, 4 * COPIES * len(pairs), limit=SECONDS)


def keeps_its_first(
    copies: FreshCopies, more: FreshCopies, place: int, *, deadline: float | None = None
) -> str:
    """That outputs on one input of the pair at ``place`` depend on which input was the first one ever, in
    words; empty where they do not, and where nothing can be said.

    A mechanism that gives other outputs with the same generator, on one input alone, draws from elsewhere or
    changes with every call: that is another matter. ``more`` copies are asked if one of ``copies`` differs.
    """
    start = 4 * COPIES * place
    if not _differs(copies.answers(4, start=start, deadline=deadline)):
        return ""
    return CARRIES_OVER if _differs(more.answers(4 * COPIES, start=start, deadline=deadline)) else ""


def _differs(answers: list[Any] | None) -> bool:
    """Whether outputs after the other input differ from those after the input itself, in all copies alike."""
    for order in (0, 2):
        itself, after_other = ((answers or [])[order + k :: 4] for k in (0, 1))
        repeats = len({text for prints in itself for text in prints}) == 1
        agree = len({prints[1] for prints in after_other}) == 1
        if repeats and agree and after_other[0][1] != itself[0][1]:
            return True
    return False


def _prints(target: Target, asked: Sequence[Any], *, calls: int, key: int | None = None) -> list[str]:
    """The outputs on each input, one right after the other: with a generator for each place, or with the same
    for all of them (``key``)."""
    found = []
    for number, data in enumerate(asked):
        seed = np.random.SeedSequence(target.seed, spawn_key=(CARRY_KEY, number if key is None else key))
        output = Chunk(target.mechanism, copy.deepcopy(data), calls, seed, target.batch, target.timeout)()
        found.append(OutcomeEncoder().fingerprint(output))
    return found
