"""The opening times of the k concurrent shufflers, and their batches.

Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023), Algorithms 1 to 3. In step t the server activates batches,
user t sends to every open batch, full batches are shuffled and read, and only then the estimate is output. A
batch of users start..stop is therefore open from step ``start`` to step ``stop``, and its shuffler may open
again at ``stop + 1``, not before. Every height of the tree has one shuffler.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from dpaudit.reference.mechanisms.concurrent_tree import Node, Tree

__all__ = ["Batch", "active_batches", "conflicts", "opened_at", "read_at", "shuffler_schedule"]


@dataclass(frozen=True, order=True)
class Batch:
    """One batch: users ``start..stop`` at ``shuffler`` (the node's height).

    It is activated in step ``open_time`` and read in step ``close_time``, or never (``None``) if the horizon
    comes first.
    """

    open_time: int
    shuffler: int
    start: int
    stop: int
    close_time: int | None

    @property
    def node(self) -> Node:
        return Node(self.shuffler, self.start, self.stop)


def shuffler_schedule(tree: Tree) -> tuple[Batch, ...]:
    """Return all batches that are ever opened, by the time of opening and then by shuffler."""
    batches = []
    for height, size in enumerate(tree.sizes, start=1):
        for index in range(-(-tree.horizon // size)):
            node = tree.node(height, index)
            closed = node.stop if node.stop <= tree.horizon else None
            batches.append(Batch(node.start, height, node.start, node.stop, closed))
    return tuple(sorted(batches))


def opened_at(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return the nodes whose first user is ``t``, the lowest first: their batches are activated in step t."""
    return tuple(node for node in tree.above(t) if node.start == t)


def active_batches(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return the nodes to whose batches user ``t`` sends, one for each shuffler, the lowest first."""
    return tree.above(t)


def read_at(tree: Tree, t: int) -> tuple[Node, ...]:
    """Return the nodes whose last user is ``t``, the lowest first: their batches are shuffled and read in
    step t.
    """
    return tuple(node for node in tree.above(t) if node.stop == t)


def conflicts(batches: Iterable[Batch]) -> list[tuple[Batch, Batch]]:
    """Return pairs of batches of one shuffler, in order of opening, if the second opened before the first was
    done.

    A batch that is never read is never done. The result is empty if k shufflers can follow the schedule.
    """
    by_shuffler: dict[int, list[Batch]] = {}
    for batch in sorted(batches):
        by_shuffler.setdefault(batch.shuffler, []).append(batch)
    return [
        (first, second)
        for queue in by_shuffler.values()
        for first, second in itertools.pairwise(queue)
        if first.close_time is None or second.open_time <= first.close_time
    ]
