"""Exceptions of dpaudit: one base class, and one class for each kind of fault that a caller may handle.

Every message states the constraint and the value received, and a next step if that says something new. Every
error has a code (``code_of``) that stays the same when the text changes. docs/errors.md lists the codes. The
classes that the kernel raises are defined in the kernel, because it imports nothing else from the package.
"""

from __future__ import annotations

from dpaudit.kernel.errors import CodedError, InvalidParameterError, NotTractableError, UndecidedError
from dpaudit.kernel.kernel_t0 import CertificateError, DpauditError

__all__ = [
    "BrokenHarnessError",
    "BrokenReportError",
    "CertificateError",
    "CodedError",
    "DpauditError",
    "InvalidParameterError",
    "MechanismError",
    "NotAuditedError",
    "NotTractableError",
    "RefutedError",
    "UndecidedError",
    "code_of",
]


class MechanismError(CodedError):
    """The program under audit raised, hung, or returned something of another shape."""

    code = "E-MECHANISM"


class RefutedError(CodedError, AssertionError):
    """A claim that a caller relies on was refuted. Raised on request only. The message holds the evidence."""

    code = "E-REFUTED"


class NotAuditedError(CodedError, AssertionError):
    """A check could not have failed, so it is no evidence. Raised on request only. The message says why."""

    code = "E-NOT-AUDITED"


class BrokenReportError(CodedError):
    """A report file cannot be read: not JSON, another schema version, or a missing field."""

    code = "E-REPORT"


class BrokenHarnessError(CodedError):
    """Two rigorous statements contradict each other (lower bound above upper bound): a bug in dpaudit."""

    code = "E-CONTRADICTION"


def code_of(error: BaseException) -> str:
    """Return the stable code of an error. All errors of the kernel about a certificate share one code."""
    if isinstance(error, CodedError):
        return error.code
    if isinstance(error, CertificateError):
        return "E-CERTIFICATE"
    return "E-DPAUDIT" if isinstance(error, DpauditError) else "E-OTHER"
