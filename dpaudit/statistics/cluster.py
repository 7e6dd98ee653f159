"""A Dask cluster by the address of its scheduler: the extra ``dpaudit[dask]``."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dpaudit.errors import InvalidParameterError

__all__ = ["connect", "distributed", "packed", "run_packed", "travel_with"]

#: Seconds in which a scheduler must answer.
CONNECT_SECONDS = 30


def distributed() -> Any:
    """The package of that name. Raises ``InvalidParameterError`` where it is not installed."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InvalidParameterError(
            "a Dask cluster needs the package distributed, and it is not installed; "
            'run pip install "dpaudit[dask]".'
        ) from error


def connect(scheduler: Any) -> Any:
    """A client of a scheduler's address, or of a cluster. Raises ``InvalidParameterError`` where the package
    is missing or nobody answers."""
    package = distributed()
    try:
        return package.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidParameterError(
            f"a Dask scheduler must answer at {scheduler}, none did ({error}); check the address."
        ) from error


def packed(task: Callable[[], Any]) -> bytes:
    """A task as bytes, which a scheduler passes on: it need not have what the task imports."""
    found: bytes = import_module("cloudpickle").dumps(task)
    return found


def run_packed(task: bytes) -> Any:
    """On a worker: what a packed task returns."""
    return pickle.loads(task)()


def travel_with(function: Any) -> None:
    """From now on the module of ``function`` is sent along with it: a cluster need not find it."""
    distributed()
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is not None:
        import_module("cloudpickle").register_pickle_by_value(module)
