"""Replays of a program on neighbouring inputs: exact losses, leaks, and what its proof has to pay for.

``privacy`` holds the audit of one program; the other files are what it does, in this order: which pairs
(``domains``, ``search``, ``positions``) along which histories (``histories``, ``quantiles``), what they show
(``findings``, ``witnessing``, ``entered``), and whether the certificate speaks of the program (``leaves``,
``mismatches``). ``followed`` is for aggregates whose distribution has no closed form.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.replay.audit import PrivacyAudit
    from dpaudit.replay.data_sets import DataSets
    from dpaudit.replay.domains import Interval, Values
    from dpaudit.replay.enumeration import enumerated

__all__ = ["DataSets", "Interval", "PrivacyAudit", "Values", "enumerated"]

_HOMES = {
    "DataSets": "data_sets",
    "Interval": "domains",
    "PrivacyAudit": "audit",
    "Values": "domains",
    "enumerated": "enumeration",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpaudit.replay' has no attribute {name!r}")
    return getattr(import_module(f"dpaudit.replay.{_HOMES[name]}"), name)
