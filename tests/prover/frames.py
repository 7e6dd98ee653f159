"""Skip tests of proofs for every size unless this is CPython 3.11. Any version can check such proofs."""

from __future__ import annotations

import pytest

from dpaudit.suite.program_proofs import READS_FRAMES

__all__ = ["needs_frames"]

needs_frames = pytest.mark.skipif(
    not READS_FRAMES, reason="a proof for data of every size reads the frames of CPython 3.11"
)
