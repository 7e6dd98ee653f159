"""Pairs of neighbouring inputs: what every audit of a program starts from, from the inside or the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Neighbours", "both_directions"]


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring inputs with a name that says what changed."""

    name: str
    left: Any
    right: Any

    def swapped(self) -> Neighbours:
        return Neighbours(f"{self.name}, swapped", self.right, self.left)


def both_directions(pairs: Sequence[Neighbours]) -> list[Neighbours]:
    """Each pair and its mirror image: a loss is not symmetric."""
    return [item for pair in pairs for item in (pair, pair.swapped())]
