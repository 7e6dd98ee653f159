"""What a call keeps of the call before: with its generator given, an output may depend on the input alone.

Outputs of one chunk of calls follow calls on the same input, so that what a mechanism carries over from an
earlier input looks like that input's own effect: a sum over two calls moves twice as far. Each call may be
private by itself, so this refutes nothing.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.runs import CallTooLongError, Chunk
from dpaudit.blackbox.search import Target
from dpaudit.errors import MechanismError

__all__ = ["carries_over"]

CARRY_KEY = 2**31 + 2


def carries_over(target: Target, pair: tuple[Any, Any]) -> str:
    """That an output depends on which input of ``pair`` the call before was about, in words; empty where it
    does not, and where nothing can be said: for a mechanism that draws from elsewhere, or changes with every
    call.

    Each generator is the same in all histories, so a difference that comes again is no chance.
    """
    for data, other in (pair, pair[::-1]):
        try:
            after_itself, after_other = (
                [_last(target, first, data) for _ in range(2)] for first in (data, other)
            )
        except (CallTooLongError, MechanismError):
            return ""
        known = after_itself[0] == after_itself[1] and after_other[0] == after_other[1]
        if known and after_itself[0] != after_other[0]:
            return (
                "the output on one input was another one, with the same generator, after a call on the other "
                "input: it carries data over from call to call; hand over a mechanism that keeps nothing, or "
                "one whose input is the whole history"
            )
    return ""


def _last(target: Target, first: Any, data: Any) -> str:
    """The output on ``data`` right after a call on ``first``."""
    for number, asked in enumerate((first, data)):
        seed = np.random.SeedSequence(target.seed, spawn_key=(CARRY_KEY, number))
        output = Chunk(target.mechanism, copy.deepcopy(asked), 1, seed, target.batch, target.timeout)()
    return OutcomeEncoder().fingerprint(output)
