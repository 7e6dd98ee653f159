"""Pairs of neighbouring inputs: what every audit of a program starts from, from the inside or the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Neighbours", "both_directions"]


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring inputs with a name that says what changed. ``changed`` is the number of the user whose
    data that are, for claims of joint privacy; where it is not said, the position of the record."""

    name: str
    left: Any
    right: Any
    changed: int | None = None

    def swapped(self) -> Neighbours:
        return Neighbours(f"{self.name}, swapped", self.right, self.left, self.changed)


def both_directions(pairs: Sequence[Neighbours]) -> list[Neighbours]:
    """Each pair and its mirror image: a loss is not symmetric."""
    return [item for pair in pairs for item in (pair, pair.swapped())]
