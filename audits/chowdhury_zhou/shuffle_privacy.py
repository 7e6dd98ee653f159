"""Theorem 3: privacy with a relaxed secure aggregation, and its proof's chain."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows on Theorem 3 and Definition 9."""
