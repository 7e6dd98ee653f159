"""Proofs for data of every size are made on CPython 3.11 alone, and checked by any version."""

from __future__ import annotations

import pytest

from dpaudit.suite.program_proofs import READS_FRAMES

__all__ = ["needs_frames"]

needs_frames = pytest.mark.skipif(
    not READS_FRAMES, reason="a proof for data of every size reads the frames of CPython 3.11"
)
