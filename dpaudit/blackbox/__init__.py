"""Audit a mechanism from the outside: run it on pairs of neighbouring inputs and bet on its outputs.

``check`` is the whole audit. ``search`` picks the next pair, ``runs`` calls the mechanism, ``outcomes`` and
``features`` turn its outputs into numbers, and ``experts`` bet on them. ``notes`` and ``power`` describe what
was not examined. The names below are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.blackbox.check import AS_RUN, CheckResult
    from dpaudit.blackbox.inputs import Inputs
    from dpaudit.blackbox.neighbours import corners

__all__ = ["AS_RUN", "CheckResult", "Inputs", "corners"]

_HOMES = {
    "AS_RUN": "check",
    "CheckResult": "check",
    "Inputs": "inputs",
    "corners": "neighbours",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpaudit.blackbox' has no attribute {name!r}")
    return getattr(import_module(f"dpaudit.blackbox.{_HOMES[name]}"), name)
