"""A row on a program for groups that are not yet decorated functions."""

from __future__ import annotations

from dpaudit.replays.audit import PrivacyAudit
from dpaudit.rows import privacy
from dpaudit.suite import Group

__all__ = ["add_privacy_rows"]


def add_privacy_rows(
    suite: Group,
    id: str,
    audit: PrivacyAudit,
    *,
    title: str,
    expect: str,
    expect_accounting: str,
    source: str = "",
) -> None:
    """Add ``id``, with the proof's accounting as a cell."""

    def made() -> PrivacyAudit:
        return audit

    made.__doc__ = title
    privacy(suite, id, source, expect=expect, accounting=expect_accounting)(made)
