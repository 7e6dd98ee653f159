"""Replay a program on neighbouring inputs: exact losses, leaks, and what its certificate must cover.

``privacy`` audits one program. The other files are its steps, in this order: choose pairs (``domains``,
``search``, ``positions``) and histories (``histories``, ``quantiles``), collect what replays show
(``findings``, ``witness_search``, ``coverage``), and check that the certificate fits the program (``leaves``,
``certificate_matching``). ``aggregate_histories`` is for aggregates whose distribution has no closed form.
"""

from typing import TYPE_CHECKING

from dpaudit.core.first_use import on_first_use

if TYPE_CHECKING:
    from dpaudit.replay.audit import PrivacyAudit
    from dpaudit.replay.data_sets import DataSets
    from dpaudit.replay.domains import Interval, Values
    from dpaudit.replay.enumeration import enumerated

__all__ = ["DataSets", "Interval", "PrivacyAudit", "Values", "enumerated"]

__getattr__ = on_first_use(
    __name__,
    {
        "DataSets": "data_sets",
        "Interval": "domains",
        "PrivacyAudit": "audit",
        "Values": "domains",
        "enumerated": "enumeration",
    },
)
