"""The rows on whole protocols that are not yet in groups."""

from audits.distributed_mab import (
    divergence_protocols,
    enumerated_protocols,
    lost_messages,
    returning_programs,
)
from dpaudit.suite import Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """Lost messages, fractions and masked messages, Rényi and concentrated DP, returning users."""
    lost_messages.add_rows(suite)
    enumerated_protocols.add_rows(suite)
    divergence_protocols.add_rows(suite)
    returning_programs.add_rows(suite)
