"""What verifying finds: one statement about one piece of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Finding", "id_of"]


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: the result's ``id``, whether it holds, ``what`` it is, and the
    ``reason``; ``taken`` where it is taken from the report as it stands, and nothing was computed again;
    ``tier`` of the kernel that a certificate took.
    """

    id: str
    ok: bool
    what: str
    reason: str
    taken: bool = False
    tier: str = ""


def id_of(result: Any) -> str:
    """The id of a result, shortened; ``?`` where it has none."""
    return str(result.get("id", "?"))[:200] if isinstance(result, dict) else "?"
