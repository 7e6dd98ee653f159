"""Detect mechanisms that change their input, and give them a new copy of it in each call.

A change is found by comparing the input before and after calls. With copies, no call depends on the changes
of another call.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.core.errors import CodedError

__all__ = ["CHANGES_ITS_INPUT", "InputChangedError", "OnCopies", "original", "state_of"]

CHANGES_ITS_INPUT = "the mechanism changes its input, so each call got a new copy"


class InputChangedError(CodedError):
    """Error for an input that differs from its state before the calls. The runs so far are invalid."""

    code = "E-INPUT-CHANGED"


@dataclass(frozen=True)
class OnCopies:
    """Mechanism that gets a copy of its data in each call."""

    mechanism: Callable[..., Any]

    def __call__(self, data: Any, *rest: Any) -> Any:
        return self.mechanism(copy.deepcopy(data), *rest)


def original(mechanism: Callable[..., Any]) -> Callable[..., Any]:
    """Return the mechanism that the user passed."""
    return mechanism.mechanism if isinstance(mechanism, OnCopies) else mechanism


def state_of(data: Any) -> bytes | str | None:
    """Return a value that changes with the data: their pickle, a fingerprint of their content, or None."""
    try:
        return pickle.dumps(data)
    except Exception:  # pickling user data may raise anything
        pass
    try:
        return OutcomeEncoder().fingerprint([data, 0])  # the 0 avoids an error for data that cannot be read
    except Exception:  # without a fingerprint, only this comparison is skipped
        return None
