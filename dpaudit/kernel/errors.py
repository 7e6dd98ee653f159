"""T1: errors with codes, among them the failures of ball arithmetic. ``kernel_t0`` defines the root class."""

from __future__ import annotations

from dpaudit.kernel.kernel_t0 import DpauditError

__all__ = ["CodedError", "InvalidParameterError", "NotTractableError", "UndecidedError"]


class CodedError(DpauditError):
    """An error with a stable code beside its text.

    Parameters
    ----------
    *args : object
        The text. It may change between releases.
    code : str, optional
        The code, such as ``"E-ALPHA-RANGE"``. It stays. Default: the code of the class.
    """

    code = "E-DPAUDIT"

    def __init__(self, *args: object, code: str | None = None) -> None:
        super().__init__(*args)
        if code is not None:
            self.code = code


class InvalidParameterError(CodedError, ValueError):
    """A parameter is outside its domain. Nothing was computed."""

    code = "E-PARAMETER"


class NotTractableError(CodedError):
    """The exact distribution is not computable here. Sample it, or use a coarser view."""

    code = "E-NOT-TRACTABLE"


class UndecidedError(CodedError):
    """Ball arithmetic did not decide a sign at the highest precision allowed. The row is inconclusive."""

    code = "E-UNDECIDED"
