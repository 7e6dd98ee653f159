"""Regret of Algorithm 1: Lemmas 1 and 2 and the steps of their proofs."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-L1, CZ23-L2 and CZ23-R4."""
