"""Mechanisms of public packages, each tested against the claim of its package."""

from __future__ import annotations

from audits.libraries.released import skipped
from audits.libraries.rows import large, local, local_trees, small, streams
from dpaudit.core.suite import Suite

__all__ = ["suite"]

suite = Suite(paper="libraries", title="Mechanisms of public packages, as they are installed")

suite.include(large.rows, local.rows, local_trees.rows, small.rows, streams.rows)
for package, reason in skipped():
    suite.not_checkable(f"LIB/{package}", reason=reason)
