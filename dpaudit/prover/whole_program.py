"""Explore all paths of a whole program over symbolic data, with the values that it returns or yields."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from dpaudit.coins.base import Program
from dpaudit.coins.prover import ProvingCoins
from dpaudit.prover.data import Symbols
from dpaudit.prover.explore import Explored, Walk, explore
from dpaudit.prover.forms import symbol
from dpaudit.prover.refutation import SEEN

__all__ = ["explore_program"]


def explore_program(
    program: Program,
    data: Symbols,
    *,
    coins: type[ProvingCoins] = ProvingCoins,
    walk_class: type[Walk] = Walk,
) -> Explored:
    """Return all paths of a program over symbolic data. The return value is shown at the end.

    Raise ``RefusedError`` for a program that ``coins`` and ``walk_class`` cannot follow.
    """

    def run(walk: Walk) -> None:
        records = data.records(lambda name: walk.private(symbol(name)))
        result = program(coins(walk), records)
        walk.shown(_yielded(result, walk) if isinstance(result, Generator) else result)

    return explore(
        run,
        domain=data.domain(),
        integers=set(data.names) if data.integers else None,
        walk_class=walk_class,
    )


def _yielded(running: Generator[Any, None, Any], walk: Walk) -> tuple[Any, ...]:
    """Return all values that a generator yields.

    Refuse a generator that also shows values with its coins, or returns something, because the order of the
    output is not modelled (G6).
    """
    values = []
    while True:
        try:
            values.append(next(running))
        except StopIteration as end:
            if end.value is not None or any(event[0] in SEEN for event in walk.events):
                walk.refuse(
                    "a generator also revealed, released or returned something (yield all or nothing)"
                )
            return tuple(values)
