"""Import all hostile programs of this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.prover.hostile.row import ROWS, Row

__all__ = ["ALL"]

for path in sorted(Path(__file__).parent.glob("[a-h]*_*.py")):
    importlib.import_module(f"tests.prover.hostile.{path.stem}")
for name in ("s_first_part", "s_declared"):
    importlib.import_module(f"tests.prover.hostile.{name}")

ALL: tuple[Row, ...] = tuple(ROWS)
