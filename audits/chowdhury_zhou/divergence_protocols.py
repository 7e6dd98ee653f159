"""Rows to come."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """Rows."""
