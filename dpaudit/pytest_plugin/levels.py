"""Divide one significance level among the audits of a pytest session, and derive their seeds.

Neither may depend on the order of tests or on workers. The level of an audit is the session's level divided
by the number of collected audits (every xdist worker collects all of them). The seed is a hash of the test's
name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pytest

__all__ = ["AUDITS", "KEY", "NOTE", "SUMMARY", "WARNING", "Levels", "read_alpha", "read_audits", "seed_of"]

AUDITS = "dpaudit_audits"
#: Names of a test's properties that the summary of a session shows. Notes are shown only with ``-v``.
SUMMARY, WARNING, NOTE = "dpaudit", "dpaudit warning", "dpaudit note"


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The significance level ``alpha`` of a session, in (0, 1/2], and the number of ``audits`` that share it.

    ``counted`` holds the names of the collected audits (tests, and paths of suites). Others have no share.
    """

    alpha: float
    audits: int
    counted: frozenset[str] = frozenset()

    @property
    def each(self) -> float:
        """The share of one test, or of one suite."""
        return self.alpha / self.audits

    def of_call(self, number: int) -> float:
        """Return the share of the ``number``-th call in one test, counted from 1.

        The shares are 1/2, 1/6, 1/12, ... of ``each``. Their sum is at most ``each`` for any number of calls.
        """
        return self.each / (number * (number + 1))


#: Key of the levels in the session's stash.
KEY = pytest.StashKey[Levels]()


def read_alpha(config: pytest.Config) -> float:
    """Return the session's significance level. Raises ``pytest.UsageError`` outside (0, 1/2]."""
    text = config.getini("dpaudit_alpha")
    try:
        alpha = float(text)
    except ValueError:
        alpha = 0.0
    if not 0 < alpha <= 0.5:
        raise pytest.UsageError(f"dpaudit_alpha must be above 0 and at most 0.5, got {text!r}.")
    return alpha


def read_audits(config: pytest.Config, *, collected: int) -> int:
    """Return how many audits share the level: the setting, which must be large enough, or ``collected``."""
    text = config.getini(AUDITS).strip()
    if not text:
        return collected
    audits = int(text) if text.isdecimal() else 0
    if audits < collected:
        raise pytest.UsageError(
            f"{AUDITS} must be at least {collected}, the number of collected audits, got {text!r}."
        )
    return audits


def seed_of(node: str, *, base: int, number: int) -> int:
    """Return the seed, in [0, 2^32), of call ``number`` in test ``node`` with ``--dpaudit-seed base``."""
    digest = hashlib.sha256(f"{base}\0{number}\0{node}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
