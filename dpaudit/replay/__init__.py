"""Replay a program on neighbouring inputs: exact losses, leaks, and what its certificate must cover.

``privacy`` audits one program. The other files are its steps, in this order: choose pairs (``domains``,
``search``, ``positions``) and histories (``histories``, ``quantiles``), collect what replays show
(``findings``, ``witness_search``, ``coverage``), and check that the certificate fits the program (``leaves``,
``certificate_matching``). ``aggregate_histories`` is for aggregates whose distribution has no closed form.
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
