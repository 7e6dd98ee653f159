"""Validation of numbers and arrays from a caller. Errors state the constraint and the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.core.errors import InvalidParameterError

__all__ = ["at_least", "finite", "in_unit", "positive", "whole"]


def _values(value: Any, name: str) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"{name} must be numeric, got {value!r}.") from error
    if not np.isfinite(found).all():
        raise InvalidParameterError(f"{name} must be finite, got {_shown(value)}.")
    return found


def _shown(value: Any) -> str:
    return repr(value) if np.ndim(value) == 0 else f"an array of shape {np.shape(value)}"


def finite(value: Any, *, name: str) -> None:
    """Require a number, or an array of numbers, without NaN and infinities; else
    ``InvalidParameterError``.
    """
    _values(value, name)


def at_least(value: Any, least: float, *, name: str) -> None:
    """Require finite values of ``least`` or more everywhere; else ``InvalidParameterError``."""
    found = _values(value, name)
    if found.size and found.min() < least:
        raise InvalidParameterError(f"{name} must be {least:g} or more, got {found.min():g}.")


def positive(value: Any, *, name: str) -> None:
    """Require finite values greater than 0 everywhere; else ``InvalidParameterError``."""
    found = _values(value, name)
    if found.size and found.min() <= 0:
        raise InvalidParameterError(f"{name} must be greater than 0, got {found.min():g}.")


def in_unit(value: Any, *, name: str) -> None:
    """Require values in (0, 1]; else ``InvalidParameterError``."""
    found = _values(value, name)
    if found.size and not (found.min() > 0 and found.max() <= 1):
        raise InvalidParameterError(f"{name} must be in (0, 1], got {_shown(value)}.")


def whole(value: Any, least: int = 1, *, name: str) -> None:
    """Require an integer (no boolean, no float) of ``least`` or more; else ``InvalidParameterError``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidParameterError(f"{name} must be an integer of {least} or more, got {value!r}.")
