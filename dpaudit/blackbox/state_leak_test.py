"""Detect state that a mechanism carries from one call to the next.

Given its generator, an output may depend only on its input. The calls of one chunk are all on the same input,
so state from an earlier call looks like an effect of the input: a sum over two calls changes twice as much.
Each call may still be private by itself, so a state leak refutes nothing.

A mechanism may also keep its first input forever, and then all later calls agree. Therefore the test is
repeated in copies of the process from before the first call, some of which start with the other input.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.fork_test import FreshCopies
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.runs import CallTooLongError
from dpaudit.blackbox.search import Target
from dpaudit.core.errors import MechanismError

__all__ = ["CARRIES_OVER", "carries_over", "copies_in_both_orders", "keeps_its_first"]

CARRY_KEY = 2**31 + 2
#: Number of calls on the second input of a copy, and of copies that must agree. For a mechanism with another
#: source of randomness whose outputs are mostly equal, they agree by chance less than once in 10^7 checks.
CALLS, COPIES = 8, 5
#: Number of histories of one kind that must agree, after a shorter test found a difference.
REPEATS = 4
#: Time limit for all copies, in seconds. A slower mechanism is not compared.
SECONDS = 10.0

CARRIES_OVER = (
    "with the same generator, the output on one input was different after a call on the other input, so the "
    "mechanism carries data from call to call. Pass a mechanism that keeps no state, or a mechanism whose "
    "input is the whole history"
)


def carries_over(target: Target, pair: tuple[Any, Any]) -> str:
    """Return why an output depends on the input of the previous call, or an empty text.

    The text is also empty if nothing is known, for a mechanism with another source of randomness, or one that
    changes with every call. Each generator is the same in all histories, so a repeated difference is not
    chance. One of two answers from another source may repeat as well, so a difference is tested again with
    more calls.
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
    """Return whether outputs on ``data`` differ after calls on ``other`` and after calls on ``data``.

    The outputs must be the same in all repeats of each kind.
    """
    after_itself, after_other = (
        {_prints(target, (first, data), calls=calls)[-1] for _ in range(repeats)} for first in (data, other)
    )
    return len(after_itself) == len(after_other) == 1 and after_itself != after_other


def copies_in_both_orders(target: Target, pairs: Sequence[tuple[Any, Any]]) -> FreshCopies:
    """Prepare copies of the mechanism in its current state, for ``keeps_its_first``."""

    def answer(number: int) -> list[str]:
        place, order = number // (4 * COPIES), number % 4
        data, other = pairs[place] if order < 2 else pairs[place][::-1]
        first = other if order % 2 else data
        return _prints(target, (first, data), calls=CALLS, key=0)

    return FreshCopies(answer, 4 * COPIES * len(pairs), limit=SECONDS)


def keeps_its_first(
    copies: FreshCopies, more: FreshCopies, place: int, *, deadline: float | None = None
) -> str:
    """Return why outputs on the pair at ``place`` depend on the very first input, or an empty text.

    The text is also empty if nothing is known. A mechanism whose outputs on a single input differ with the
    same generator has another source of randomness or changes with every call, which this test does not
    report. The copies ``more`` run only if ``copies`` show a difference.
    """
    start = 4 * COPIES * place
    if not _differs(copies.answers(4, start=start, deadline=deadline)):
        return ""
    return CARRIES_OVER if _differs(more.answers(4 * COPIES, start=start, deadline=deadline)) else ""


def _differs(answers: list[Any] | None) -> bool:
    """Return whether outputs after the other input differ from those after the input itself in all copies."""
    for order in (0, 2):
        itself, after_other = ((answers or [])[order + k :: 4] for k in (0, 1))
        repeats = len({text for prints in itself for text in prints}) == 1
        agree = len({prints[1] for prints in after_other}) == 1
        if repeats and agree and after_other[0][1] != itself[0][1]:
            return True
    return False


def _prints(target: Target, asked: Sequence[Any], *, calls: int, key: int | None = None) -> list[str]:
    """Return fingerprints of the outputs on each input in turn.

    Each place has its own generator, or all places have the generator of ``key``.
    """
    found = []
    for number, data in enumerate(asked):
        seed = np.random.SeedSequence(target.seed, spawn_key=(CARRY_KEY, number if key is None else key))
        output = target.chunk(copy.deepcopy(data), calls, seed)()
        found.append(OutcomeEncoder().fingerprint(output))
    return found
