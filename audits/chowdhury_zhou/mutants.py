"""Broken protocols: each must be caught, and the row says how."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """One row for each mutant of the distributed protocols."""
