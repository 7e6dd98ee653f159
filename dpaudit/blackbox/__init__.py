"""Audit a mechanism from the outside: run it on pairs of neighbouring inputs and bet on its outputs.

``check`` is the whole audit. ``search`` picks the next pair, ``runs`` calls the mechanism, ``outcomes`` and
``features`` turn its outputs into numbers, and ``experts`` bet on them. ``notes`` and ``power`` describe what
was not examined. The names below are loaded on first use.
"""

from typing import TYPE_CHECKING

from dpaudit.core.first_use import on_first_use

if TYPE_CHECKING:
    from dpaudit.blackbox.check import AS_RUN, CheckResult
    from dpaudit.blackbox.inputs import Inputs
    from dpaudit.blackbox.neighbours import corners

__all__ = ["AS_RUN", "CheckResult", "Inputs", "corners"]

__getattr__ = on_first_use(
    __name__,
    {
        "AS_RUN": "check",
        "CheckResult": "check",
        "Inputs": "inputs",
        "corners": "neighbours",
    },
)
