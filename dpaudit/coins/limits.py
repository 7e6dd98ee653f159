"""Limit one run, because a history may make a program loop forever or allocate gigabytes.

Limits count sites, numbers and steps of the program, never seconds, so that the same history ends at the same
place on every machine. A run that exceeds a limit is cut there, and its earlier sites are kept.
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
except ImportError:  # this system has no such limits, so only the counts apply
    resource = None  # type: ignore[assignment]

__all__ = ["Limits", "StepLimitError", "exhausted", "limited_memory"]


class StepLimitError(BaseException):
    """A program exceeded a limit. This is a BaseException, so that the program's handlers do not catch it."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run: the number of ``sites``, and the count of numbers (``values``) in all of them."""

    sites: int = 200_000
    values: int = 20_000_000

    def admit(self, sites: int, values: int) -> None:
        """Raise ``StepLimitError`` if these counts exceed a limit."""
        if sites > self.sites:
            raise StepLimitError(f"more than {self.sites} sites")
        if values > self.values:
            raise StepLimitError(f"more than {self.values} numbers")


def size_of(outcome: Any) -> int:
    """Return how many numbers a shown value, or one outcome of a distribution, holds. Lists may be nested."""
    return math.prod(outcome.batch_shape) if isinstance(outcome, Distribution) else count_of(outcome)


def exhausted(error: BaseException | None) -> str:
    """Return which resource an error says the program exhausted, or an empty text for other errors."""
    if isinstance(error, StepLimitError):
        return str(error)
    if isinstance(error, MemoryError):
        return "more memory than there is"
    return "too deep a recursion" if isinstance(error, RecursionError) else ""


@contextmanager
def limited_memory(megabytes: int) -> Iterator[None]:
    """Limit the process to ``megabytes`` more than it uses now, if the system supports such limits.

    A larger allocation then raises ``MemoryError`` instead of making the machine swap.
    """
    if resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + megabytes * 2**20
    ends = [limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min(ends), hard))
    except (OSError, ValueError):
        yield  # the system has this limit but refuses to set it
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Return the bytes of the process's address space, or a generous guess if the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 2**33
