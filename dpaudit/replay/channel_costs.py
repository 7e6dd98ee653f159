"""Compare the queries of an affected channel on the two inputs, and compute its cost at its worst answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpaudit.coins.replayer import SessionPair
from dpaudit.core.exact import dyadic
from dpaudit.distributions.base import Distribution

__all__ = ["node_distributions", "query_moves", "threshold_cost"]


def query_moves(session: SessionPair) -> list[list[Fraction]] | None:
    """Return the change of each entry of each query, neighbour minus recorded.

    Return ``None`` if the shapes or numbers of queries differ.
    """
    if len(session.queries) != len(session.queries_neighbour):
        return None
    found = []
    for left, right in zip(session.queries, session.queries_neighbour, strict=True):
        if np.shape(left) != np.shape(right):
            return None
        pairs = zip(np.ravel(left).tolist(), np.ravel(right).tolist(), strict=True)
        found.append([dyadic(b) - dyadic(a) for a, b in pairs])
    return found


def node_distributions(session: SessionPair) -> list[tuple[Distribution, Distribution]] | None:
    """Return the distributions of the affected nodes of a tree, on both inputs.

    Return ``None`` for another channel, and if the numbers of answers differ.
    """
    here = session.kernel.node_distributions(session.queries)
    there = session.kernel_neighbour.node_distributions(session.queries_neighbour)
    if here is None or there is None or len(here) != len(there):
        return None
    return [(one, two) for one, two in zip(here, there, strict=True) if one != two]


def threshold_cost(session: SessionPair) -> Fraction | None:
    """Return the bound of the channel on the loss of a session, if it is the same channel on both inputs."""
    moves = query_moves(session)
    if moves is None or session.kernel != session.kernel_neighbour:
        return None
    loss: Fraction | None = session.kernel.largest_loss(moves)
    return loss
