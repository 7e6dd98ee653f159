"""Mechanisms that write into their input: found by comparing the input before and after, and then handed a
fresh copy in each call, so that no call sees what another one left.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.core.errors import DpauditError

__all__ = ["CHANGES_ITS_INPUT", "InputChangedError", "OnCopies", "original", "state_of"]

CHANGES_ITS_INPUT = "the mechanism changes its input: each call was handed a fresh copy"


class InputChangedError(DpauditError):
    """An input is not what it was before the calls; the runs so far are worth nothing."""


@dataclass(frozen=True)
class OnCopies:
    """The mechanism on a copy of its data."""

    mechanism: Callable[..., Any]

    def __call__(self, data: Any, *rest: Any) -> Any:
        return self.mechanism(copy.deepcopy(data), *rest)


def original(mechanism: Callable[..., Any]) -> Callable[..., Any]:
    """What the user handed over."""
    return mechanism.mechanism if isinstance(mechanism, OnCopies) else mechanism


def state_of(data: Any) -> bytes | str | None:
    """What tells whether the data were changed: their pickle, or what can be read of them where there is
    none; ``None`` where nothing can.
    """
    try:
        return pickle.dumps(data)
    except Exception:  # whatever a user's data does when pickled
        pass
    try:
        return OutcomeEncoder().fingerprint([data, 0])  # 0: data of which nothing can be read are no error
    except Exception:  # it only costs this comparison
        return None
