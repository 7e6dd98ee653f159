"""dpaudit: verify or refute differential-privacy claims, with evidence that anyone can check again.

``audit(function, claim, data=Records(...))`` proves a claim about a function ``(data, rng) -> output`` if it
can, then tries to refute it. ``check`` only tries to refute, and ``prove`` only proves. ``scores`` and
``one_run`` bound the privacy of training runs from canaries. ``dpaudit run`` runs suites of claims. Other
names are in the modules below:

* ``distributions``: what a program draws; ``coins``: how it draws; ``mechanisms``: constructors of
  certificates.
* ``claims`` and ``views``: all claims, adjacencies, and who sees what.
* ``suite``: rows, groups and audits of programs; ``adapters``: objects of other libraries; ``errors``.

Names are loaded on first use, so that ``import dpaudit`` and the command line start at once.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpaudit.moved import install

if TYPE_CHECKING:
    from dpaudit.auditing import audit
    from dpaudit.blackbox import adapters as adapters
    from dpaudit.blackbox.check import check
    from dpaudit.blackbox.library import audit_library
    from dpaudit.blackbox.one_run import one_run
    from dpaudit.blackbox.recorded.record_draws import record_draws
    from dpaudit.blackbox.scores import scores
    from dpaudit.certify import build
    from dpaudit.certify.calibrate import calibrate
    from dpaudit.core import claims as claims
    from dpaudit.core import errors as errors
    from dpaudit.core import views as views
    from dpaudit.core.claims import (
        ApproxDP,
        GaussianDP,
        Profile,
        PureDP,
        RenyiDP,
        Stability,
        ZeroConcentratedDP,
    )
    from dpaudit.core.data import (
        Anything,
        Ball,
        Categories,
        Integers,
        Interval,
        OneHot,
        Records,
        Table,
        Texts,
    )
    from dpaudit.core.suite import Suite
    from dpaudit.prover.inequalities.prove import prove_inequality
    from dpaudit.prover.prove import prove
    from dpaudit.replay.audit import PrivacyAudit
    from dpaudit.report.file.report import Report
    from dpaudit.suite.evidence import evidence
    from dpaudit.suite.expected import expected
    from dpaudit.suite.inequality import inequality
    from dpaudit.suite.privacy import privacy

    mechanisms = build

__version__ = "0.1.0"

__all__ = [
    "Anything",
    "ApproxDP",
    "Ball",
    "Categories",
    "GaussianDP",
    "Integers",
    "Interval",
    "OneHot",
    "PrivacyAudit",
    "Profile",
    "PureDP",
    "Records",
    "RenyiDP",
    "Report",
    "Stability",
    "Suite",
    "Table",
    "Texts",
    "ZeroConcentratedDP",
    "audit",
    "audit_library",
    "calibrate",
    "check",
    "evidence",
    "expected",
    "inequality",
    "one_run",
    "privacy",
    "prove",
    "prove_inequality",
    "record_draws",
    "scores",
]

_HOMES = {
    "dpaudit.auditing": ["audit"],
    "dpaudit.blackbox.check": ["check"],
    "dpaudit.blackbox.one_run": ["one_run"],
    "dpaudit.blackbox.library": ["audit_library"],
    "dpaudit.blackbox.recorded.record_draws": ["record_draws"],
    "dpaudit.blackbox.scores": ["scores"],
    "dpaudit.certify.calibrate": ["calibrate"],
    "dpaudit.core.claims": [
        "ApproxDP",
        "GaussianDP",
        "Profile",
        "PureDP",
        "RenyiDP",
        "Stability",
        "ZeroConcentratedDP",
    ],
    "dpaudit.core.data": [
        "Anything",
        "Ball",
        "Categories",
        "Integers",
        "Interval",
        "OneHot",
        "Records",
        "Table",
        "Texts",
    ],
    "dpaudit.core.suite": ["Suite"],
    "dpaudit.prover.inequalities.prove": ["prove_inequality"],
    "dpaudit.prover.prove": ["prove"],
    "dpaudit.replay.audit": ["PrivacyAudit"],
    "dpaudit.report.file.report": ["Report"],
    "dpaudit.suite.evidence": ["evidence"],
    "dpaudit.suite.expected": ["expected"],
    "dpaudit.suite.inequality": ["inequality"],
    "dpaudit.suite.privacy": ["privacy"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

#: Modules that are offered here: rooms of the package, and others under a shorter name.
_MODULES = {
    **{
        name: f"dpaudit.{name}"
        for name in ("blackbox", "coins", "distributions", "prover", "replay", "suite")
    },
    "adapters": "dpaudit.blackbox.adapters",
    "claims": "dpaudit.core.claims",
    "errors": "dpaudit.core.errors",
    "mechanisms": "dpaudit.certify.build",
    "views": "dpaudit.core.views",
}

#: Names that were here before, for one release: the module that has each now, and its name there.
_FORMER = {
    "AS_RUN": ("dpaudit.blackbox", "AS_RUN"),
    "Adjacency": ("dpaudit.claims", "Adjacency"),
    "AuditResult": ("dpaudit.auditing", "AuditResult"),
    "Cell": ("dpaudit.suite", "Cell"),
    "Certificate": ("dpaudit.suite", "Certificate"),
    "CheckResult": ("dpaudit.blackbox", "CheckResult"),
    "DpauditError": ("dpaudit.errors", "DpauditError"),
    "EVERY": ("dpaudit.prover", "EVERY"),
    "EachMoves": ("dpaudit.prover", "EachMoves"),
    "Estimate": ("dpaudit.suite", "Estimate"),
    "Group": ("dpaudit.suite", "Group"),
    "Inputs": ("dpaudit.blackbox", "Inputs"),
    "Neighbours": ("dpaudit.suite", "Neighbours"),
    "OneReplaced": ("dpaudit.prover", "OneReplaced"),
    "Outcome": ("dpaudit.suite", "Outcome"),
    "PUBLIC": ("dpaudit.views", "PUBLIC"),
    "Proof": ("dpaudit.prover", "Proof"),
    "Returned": ("dpaudit.coins", "Returned"),
    "Run": ("dpaudit.suite", "Run"),
    "SERVER": ("dpaudit.views", "SERVER"),
    "Sampler": ("dpaudit.coins", "Sampler"),
    "Site": ("dpaudit.suite", "Site"),
    "Symbols": ("dpaudit.prover", "Symbols"),
    "TailBound": ("dpaudit.claims", "TailBound"),
    "Unit": ("dpaudit.claims", "Unit"),
    "View": ("dpaudit.views", "View"),
    "Witness": ("dpaudit.suite", "Witness"),
    "corners": ("dpaudit.blackbox", "corners"),
    "judge": ("dpaudit.suite", "judge"),
    "listen": ("dpaudit", "record_draws"),
    "record": ("dpaudit.coins", "record"),
    "user": ("dpaudit.views", "user"),
}

install()


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _FORMER:
        module, now = _FORMER[name]
        text = f"dpaudit.{name} was renamed: use {module}.{now}. The former name works for one release."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(import_module(_MODULES.get(module.removeprefix("dpaudit."), module)), now)
    raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
