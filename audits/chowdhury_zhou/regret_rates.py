"""Regret rates of Theorems 1 to 6, on exact means."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-T1R to CZ23-T6R, CZ23-OPT and CZ23-ADP."""
