"""The exceptions of dpaudit: one root, and one class for each kind of fault a caller may want to tell apart.

Every message states the constraint, the value received and the next move. Those that the kernel raises are
defined there, because it imports nothing of the package.
"""

from __future__ import annotations

from dpaudit.kernel.errors import InvalidParameterError, NotTractableError, UndecidedError
from dpaudit.kernel.kernel_t0 import CertificateError, DpauditError

__all__ = [
    "BrokenHarnessError",
    "BrokenReportError",
    "CertificateError",
    "DpauditError",
    "InvalidParameterError",
    "MechanismError",
    "NotAuditedError",
    "NotTractableError",
    "RefutedError",
    "UndecidedError",
]


class MechanismError(DpauditError):
    """The program under audit raised, hung, or returned something of another shape."""


class RefutedError(DpauditError, AssertionError):
    """A claim that a caller relies on was refuted. Raised on request only; its text is the evidence."""


class NotAuditedError(DpauditError, AssertionError):
    """A check could not have failed, so that it says nothing. Raised on request only; its text says why."""


class BrokenReportError(DpauditError):
    """A report file cannot be read: not JSON, another schema version, or a missing field."""


class BrokenHarnessError(DpauditError):
    """Two rigorous statements contradict each other (lower bound above upper bound): a bug in dpaudit
    itself."""
