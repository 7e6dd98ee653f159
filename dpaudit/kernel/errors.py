"""T1: the ways in which a computation in balls fails; ``kernel_t0`` defines the root of all errors."""

from __future__ import annotations

from dpaudit.kernel.kernel_t0 import DpauditError

__all__ = ["InvalidParameterError", "NotTractableError", "UndecidedError"]


class InvalidParameterError(DpauditError, ValueError):
    """A parameter is outside its domain. Fix the value; nothing was computed."""


class NotTractableError(DpauditError):
    """The exact distribution asked for is not computable here. Use another route (sampling, or a coarser
    view)."""


class UndecidedError(DpauditError):
    """Ball arithmetic could not decide a sign at the highest precision allowed. Treat the row as
    inconclusive."""
