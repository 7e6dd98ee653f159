"""The exceptions of dpaudit: one root, and one class for each kind of fault a caller may want to tell apart.

Every message states the constraint, the value received and the next move.
"""

from __future__ import annotations

__all__ = [
    "BrokenHarnessError",
    "BrokenReportError",
    "CertificateError",
    "DpauditError",
    "InvalidParameterError",
    "MechanismError",
    "NotTractableError",
    "RefutedError",
    "UndecidedError",
]


class DpauditError(Exception):
    """Root of every error that dpaudit raises on purpose."""


class InvalidParameterError(DpauditError, ValueError):
    """A parameter is outside its domain. Fix the value; nothing was computed."""


class NotTractableError(DpauditError):
    """The exact law asked for is not computable here. Use another route (sampling, or a coarser view)."""


class UndecidedError(DpauditError):
    """Ball arithmetic could not decide a sign at the highest precision allowed. Treat the row as
    inconclusive."""


class MechanismError(DpauditError):
    """The program under audit raised, hung, or returned something of another shape."""


class RefutedError(DpauditError, AssertionError):
    """A claim that a caller relies on was refuted. Raised on request only; its text is the evidence."""


class CertificateError(DpauditError):
    """A certificate is malformed, unknown to the kernel, or claims more than its numbers give."""


class BrokenReportError(DpauditError):
    """A report file cannot be read: not JSON, another schema version, or a missing field."""


class BrokenHarnessError(DpauditError):
    """Two rigorous statements contradict each other (lower bound above upper bound): a bug in dpaudit
    itself."""
