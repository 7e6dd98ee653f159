"""Compute the cost of the printed constants: bits of a message (127), and nodes of the tree.

``JointParameters`` of ``printed_parameters`` counts the calls of the optimizer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpaudit.core.errors import InvalidParameterError

__all__ = ["BitBill", "bit_bill", "node_updates", "prefix_nodes"]


@dataclass(frozen=True)
class BitBill:
    """The bits of one call and of private gradient descent.

    The fields are g and b of one call, the bits of one user for a vector and a matrix, the iterations of
    private gradient descent, and the bits of one user for all of its vectors. The last two are None if
    descent has less than one step.
    """

    precision: int
    trials: int
    vector_bits: int
    matrix_bits: int
    steps: int | None
    descent_bits: int | None


def _counts(n: int, dim: int, epsilon: float, delta: float) -> tuple[int, int]:
    """Return g and b of (127), rounded up."""
    g = math.ceil(max(2 * math.sqrt(n), dim, 4))
    return g, math.ceil(24e4 * g**2 * math.log(4 * (dim**2 + 1) / delta) ** 2 / (epsilon**2 * n))


def bit_bill(*, n: int, dim: int, epsilon: float, delta: float) -> BitBill:
    """Return the bill of ``n`` users at the printed constants, in floats.

    Raise ``InvalidParameterError`` outside (127)'s range, 0 < epsilon <= 15 and 0 < delta < 1/2.
    """
    if n < 1 or dim < 1 or not 0 < epsilon <= 15 or not 0 < delta < 0.5:
        raise InvalidParameterError(
            f"(127) needs users, a dimension, 0 < epsilon <= 15 and 0 < delta < 1/2, got {n}, {dim}, "
            f"{epsilon} and {delta}."
        )
    g, b = _counts(n, dim, epsilon, delta)
    steps = math.floor(epsilon**2 * n**2 / (dim * math.log(n * dim / delta) ** 3))
    bill = None
    if steps >= 1:
        each = epsilon / (2 * math.sqrt(2 * steps * math.log(1 / delta)))
        bill = steps * dim * sum(_counts(n, dim, each, delta / (steps + 1)))
    return BitBill(g, b, (g + b) * dim, (g + b) * dim**2, steps or None, bill)


def node_updates(time: int) -> int:
    """Count the nodes of a binary tree whose leaves become complete at step ``time``."""
    return (time & -time).bit_length()


def prefix_nodes(time: int) -> int:
    """Count the nodes that cover the first ``time`` leaves."""
    return time.bit_count()
