"""The paper's experiments: orderings of the variants, as tables with standard errors."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-E1 to CZ23-E5."""
