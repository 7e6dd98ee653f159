"""Pairs of neighbouring inputs, for replays of a program and for black-box checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Neighbours", "both_directions"]


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring inputs.

    Parameters
    ----------
    name : str
        A description of the change.
    left, right : object
        The two inputs.
    changed : int, optional
        The number of the user whose data changed, for claims of joint privacy. Default: the position of the
        changed record.
    """

    name: str
    left: Any
    right: Any
    changed: int | None = None

    def swapped(self) -> Neighbours:
        return Neighbours(f"{self.name}, swapped", self.right, self.left, self.changed)


def both_directions(pairs: Sequence[Neighbours]) -> list[Neighbours]:
    """Return each pair and its swapped copy, because a privacy loss is not symmetric."""
    return [item for pair in pairs for item in (pair, pair.swapped())]
