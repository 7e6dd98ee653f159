"""Privacy of the whole adaptive protocols: what the adversary sees of Algorithm 1 over all batches."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows on the protocols of Theorems 1, 2, 4, 5 and 6, run through the coins."""
