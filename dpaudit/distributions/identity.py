"""Identify objects by their addresses, as ``id`` does, without the audit event that ``id`` raises.

Python reports every call of ``id`` to its audit hooks (PEP 578). Processes that run rows have two hooks in
Python, so thousands of calls per run would take longer than the work around them.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["identity"]

#: Return a number that no other living object has: the address, rotated by four bits.
identity: Callable[[object], int] = object.__hash__
