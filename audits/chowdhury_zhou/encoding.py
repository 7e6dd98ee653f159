"""Fixed-point encoding and the analyzer's two cases."""

from __future__ import annotations

from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-ENC and CZ23-CASE."""
