"""Run the inputs of a fingerprint in reverse order, to find state that one input leaves for the next.

A program that keeps its first dataset (a default argument, ``setdefault``, a cache, a running maximum) does
the same in every process that runs the same input first. So one of the fresh processes runs the inputs in
reverse order. The fingerprint lists each input at its own place, and differs if an earlier run matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from dpaudit.blackbox.fork_test import FreshCopies

__all__ = ["DIFFERS", "backwards", "each_input", "reversed_inputs"]

#: The error for a program whose runs depend on earlier inputs.
DIFFERS = (
    "randomness outside coins, or state between runs: a copy of this process that ran the inputs in reverse "
    "order gave other results for the same input and coins. Draw only through the coins, and keep no state "
    "between runs."
)

_REVERSED = ContextVar("reversed inputs", default=False)

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def reversed_inputs(on: bool = True) -> Iterator[None]:
    """Within this context, let ``each_input`` begin with the last item, if ``on``."""
    token = _REVERSED.set(on)
    try:
        yield
    finally:
        _REVERSED.reset(token)


def each_input(items: Sequence[Item], function: Callable[[Item], Result]) -> list[Result]:
    """Return ``function`` of each item, in the order of the items.

    The calls are made in that order too, or from the last item to the first within ``reversed_inputs``.
    """
    places = range(len(items))
    results = {place: function(items[place]) for place in (places[::-1] if _REVERSED.get() else places)}
    return [results[place] for place in places]


@contextmanager
def backwards(answer: Callable[[], Any]) -> Iterator[FreshCopies]:
    """Start a copy of this process that computes ``answer`` with the inputs in reverse order."""

    def reversed_answer(number: int) -> Any:
        with reversed_inputs():
            return answer()

    with FreshCopies(reversed_answer, 1, may_stall=False) as copies:
        yield copies
