"""Limits of one run: a history may make a program loop for ever or ask for gigabytes.

Limits count (sites, numbers, steps of the program), never seconds: the same history ends at the same place on
any machine. A run that exceeds one is cut there, and what was shown before stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpaudit.coins.transcript import count_of
from dpaudit.distributions.base import Distribution

try:
    import resource
except ImportError:  # no such limits on this system: only the counts hold
    resource = None  # type: ignore[assignment]

__all__ = ["Limits", "StepLimitError", "exhausted", "limited_memory"]


class StepLimitError(BaseException):
    """Unwinds a program that exceeds a limit. A BaseException, so that a program's own handlers let it
    through."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many ``sites`` one run may have, and how many numbers (``values``) in all of them."""

    sites: int = 200_000
    values: int = 20_000_000

    def admit(self, sites: int, values: int) -> None:
        """Raise ``StepLimitError`` for more sites or values than that."""
        if sites > self.sites:
            raise StepLimitError(f"more than {self.sites} sites")
        if values > self.values:
            raise StepLimitError(f"more than {self.values} numbers")


def size_of(outcome: Any) -> int:
    """How many numbers a shown value, or one outcome of a distribution, holds; lists count all the way
    down."""
    return math.prod(outcome.batch_shape) if isinstance(outcome, Distribution) else count_of(outcome)


def exhausted(error: BaseException | None) -> str:
    """Why an error means that a program ran out of a resource, in words; empty if it does not."""
    if isinstance(error, StepLimitError):
        return str(error)
    if isinstance(error, MemoryError):
        return "more memory than there is"
    return "too deep a recursion" if isinstance(error, RecursionError) else ""


@contextmanager
def limited_memory(megabytes: int) -> Iterator[None]:
    """At most ``megabytes`` more than the process has now, where the system offers such a limit: what asks
    for more gets a ``MemoryError`` instead of a machine that stands still."""
    if resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + megabytes * 2**20
    ends = [limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min(ends), hard))
    except (OSError, ValueError):
        yield  # a system that knows the limit and refuses to set it
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Bytes of the process's address space; a generous guess where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 2**33
