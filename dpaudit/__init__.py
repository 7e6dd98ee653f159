"""dpaudit: verify or refute differential-privacy claims, with evidence that anyone can re-check.

``check(mechanism, claim, data=...)`` audits a callable ``(data, rng) -> output`` from the outside. A
program written against ``dpaudit.coins`` is audited from the inside, with exact losses: see ``PrivacyAudit``
and the decorator ``dpaudit.suite.privacy``. ``dpaudit run`` runs suites.

The names below are loaded on first use, so that ``import dpaudit`` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.auditing import AuditResult, audit
    from dpaudit.blackbox.check import AS_RUN, CheckResult, check
    from dpaudit.blackbox.inputs import Inputs
    from dpaudit.blackbox.neighbours import corners
    from dpaudit.blackbox.recorded.record_draws import listen
    from dpaudit.certify.sites import Site
    from dpaudit.coins import Returned, Sampler, record, replay
    from dpaudit.core.claims import (
        Adjacency,
        ApproxDP,
        GaussianDP,
        Profile,
        PureDP,
        RenyiDP,
        TailBound,
        Unit,
        ZeroConcentratedDP,
    )
    from dpaudit.core.data import Anything, Ball, Categories, Integers, Interval, Records, Table
    from dpaudit.core.errors import DpauditError
    from dpaudit.core.evidence import Certificate, Estimate, Witness
    from dpaudit.core.neighbours import Neighbours
    from dpaudit.core.suite import Cell, Group, Outcome, Run, Suite
    from dpaudit.core.verdicts import judge
    from dpaudit.core.views import PUBLIC, SERVER, View, user
    from dpaudit.prover.data import EVERY, EachMoves, OneReplaced, Symbols
    from dpaudit.prover.proof import Proof
    from dpaudit.prover.prove import prove
    from dpaudit.replay.audit import PrivacyAudit
    from dpaudit.report.frames import Report

__version__ = "0.1.0"

_HOMES = {
    "dpaudit.auditing": ["AuditResult", "audit"],
    "dpaudit.core.data": ["Anything", "Ball", "Categories", "Integers", "Interval", "Records", "Table"],
    "dpaudit.certify.sites": ["Site"],
    "dpaudit.blackbox.check": ["AS_RUN", "CheckResult", "check"],
    "dpaudit.blackbox.inputs": ["Inputs"],
    "dpaudit.blackbox.neighbours": ["corners"],
    "dpaudit.core.neighbours": ["Neighbours"],
    "dpaudit.prover.data": ["EVERY", "EachMoves", "OneReplaced", "Symbols"],
    "dpaudit.prover.proof": ["Proof"],
    "dpaudit.prover.prove": ["prove"],
    "dpaudit.blackbox.recorded.record_draws": ["listen"],
    "dpaudit.replay.audit": ["PrivacyAudit"],
    "dpaudit.core.claims": [
        "Adjacency",
        "ApproxDP",
        "GaussianDP",
        "Profile",
        "PureDP",
        "RenyiDP",
        "TailBound",
        "Unit",
        "ZeroConcentratedDP",
    ],
    "dpaudit.coins": ["Returned", "Sampler", "record", "replay"],
    "dpaudit.core.errors": ["DpauditError"],
    "dpaudit.core.evidence": ["Certificate", "Estimate", "Witness"],
    "dpaudit.report.frames": ["Report"],
    "dpaudit.core.suite": ["Cell", "Group", "Outcome", "Run", "Suite"],
    "dpaudit.core.verdicts": ["judge"],
    "dpaudit.core.views": ["PUBLIC", "SERVER", "View", "user"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AS_RUN",
    "EVERY",
    "PUBLIC",
    "SERVER",
    "Adjacency",
    "Anything",
    "ApproxDP",
    "AuditResult",
    "Ball",
    "Categories",
    "Cell",
    "Certificate",
    "CheckResult",
    "DpauditError",
    "EachMoves",
    "Estimate",
    "GaussianDP",
    "Group",
    "Inputs",
    "Integers",
    "Interval",
    "Neighbours",
    "OneReplaced",
    "Outcome",
    "PrivacyAudit",
    "Profile",
    "Proof",
    "PureDP",
    "Records",
    "RenyiDP",
    "Report",
    "Returned",
    "Run",
    "Sampler",
    "Site",
    "Suite",
    "Symbols",
    "Table",
    "TailBound",
    "Unit",
    "View",
    "Witness",
    "ZeroConcentratedDP",
    "audit",
    "check",
    "corners",
    "judge",
    "listen",
    "prove",
    "record",
    "replay",
    "user",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
