"""How audits of a pytest session share one error level, and where each one's seed comes from.

Neither may depend on the order of tests or on workers: the level is that of the session over the number of
audits collected (every xdist worker collects all), the seed a hash of the test's name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pytest

__all__ = ["AUDITS", "KEY", "NOTE", "SUMMARY", "WARNING", "Levels", "read_alpha", "read_audits", "seed_of"]

AUDITS = "dpaudit_audits"
#: The names of a test's properties that hold what the summary of a session shows; notes only under ``-v``.
SUMMARY, WARNING, NOTE = "dpaudit", "dpaudit warning", "dpaudit note"


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The error level ``alpha``, in (0, 1/2], of a session, and the number of ``audits`` that share it.

    ``counted``: the names of those collected (tests, and paths of suites); no other may spend anything.
    """

    alpha: float
    audits: int
    counted: frozenset[str] = frozenset()

    @property
    def each(self) -> float:
        """What one test, or one suite, may spend."""
        return self.alpha / self.audits

    def of_call(self, number: int) -> float:
        """What the ``number``-th call in one test may spend (from 1): 1/2, 1/6, 1/12, ... of ``each``, which
        add up to no more than all of it, however many calls there are.
        """
        return self.each / (number * (number + 1))


#: Where the session keeps its levels.
KEY = pytest.StashKey[Levels]()


def read_alpha(config: pytest.Config) -> float:
    """The session's error level. Raises ``pytest.UsageError`` outside (0, 1/2]."""
    text = config.getini("dpaudit_alpha")
    try:
        alpha = float(text)
    except ValueError:
        alpha = 0.0
    if not 0 < alpha <= 0.5:
        raise pytest.UsageError(f"dpaudit_alpha must be above 0 and at most 0.5, got {text!r}; write 0.05.")
    return alpha


def read_audits(config: pytest.Config, *, collected: int) -> int:
    """How many audits share the level: the setting, which must suffice, or those ``collected``."""
    text = config.getini(AUDITS).strip()
    if not text:
        return collected
    audits = int(text) if text.isdecimal() else 0
    if audits < collected:
        raise pytest.UsageError(
            f"{AUDITS} must be at least {collected}, the audits collected, got {text!r}; raise it."
        )
    return audits


def seed_of(node: str, *, base: int, number: int) -> int:
    """The seed, in [0, 2^32), of the ``number``-th call in test ``node`` under ``--dpaudit-seed base``."""
    digest = hashlib.sha256(f"{base}\0{number}\0{node}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
