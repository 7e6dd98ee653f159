"""Options that benchmarks share, with validated counts and an error for a missing package."""

from __future__ import annotations

import argparse
import importlib.util

__all__ = ["count", "require_tables"]


def count(text: str) -> int:
    """Parse an integer of 1 or more, for ``argparse``: raises ``ArgumentTypeError`` for anything else."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"it must be an integer of 1 or more, got {text!r}")
    return number


def require_tables(parser: argparse.ArgumentParser) -> None:
    """Exit with 2 if the package that writes Markdown tables is not installed."""
    if importlib.util.find_spec("tabulate") is None:
        parser.error('tabulate must be installed, it is not; run: pip install -e ".[test]"')
