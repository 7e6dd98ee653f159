"""Adapt objects of other differential-privacy libraries to ``check``.

    adapted = dpaudit.blackbox.adapters.opendp(measurement)
    print(adapted.check(max_samples=20_000))

Each adapter reads the claim and the adjacency from the object. It passes the generator of ``check`` to the
library, or adds a note if the library cannot be seeded. The libraries are optional (``pip install
"dpaudit[libraries]"``). Each adapter imports only its own library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.core.first_use import on_first_use

if TYPE_CHECKING:
    from dpaudit.blackbox.adapters.accounting_events import dp_event
    from dpaudit.blackbox.adapters.adapted import Adapted
    from dpaudit.blackbox.adapters.diffprivlib_objects import diffprivlib
    from dpaudit.blackbox.adapters.google_algorithms import pydp
    from dpaudit.blackbox.adapters.opendp_measurements import opendp
    from dpaudit.blackbox.adapters.tumult_measurements import tmlt

__all__ = ["Adapted", "diffprivlib", "dp_event", "opendp", "pydp", "tmlt"]

__getattr__ = on_first_use(
    __name__,
    {
        "Adapted": "adapted",
        "diffprivlib": "diffprivlib_objects",
        "dp_event": "accounting_events",
        "opendp": "opendp_measurements",
        "pydp": "google_algorithms",
        "tmlt": "tumult_measurements",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
