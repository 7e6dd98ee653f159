"""Check that the events of a mixture belong to one program: after the same history, the next site is the
same.

Each event of a mixture has its own tree for either input. A *history* is the sequence of hidden draws with
their values and of shown values so far. After one history a program has one next site, with one distribution
and one audience, or it ends. An end that does not reach the event states nothing about the program (it may
stand for all continuations that cannot become the event any more), so it is compatible with everything.

∎ Compatible trees are parts of one tree, in which distinct events have no path in common, so that their
probabilities add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpaudit.core.errors import CertificateError
from dpaudit.core.exact import decode_value

__all__ = ["OneProgram", "key_of"]


class OneProgram:
    """The next site after every history in the trees of one side."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._histories: dict[Any, int] = {}
        self._next: dict[int, Any] = {}

    def add(self, node: Mapping[str, Any], values: Sequence[Any]) -> None:
        """Add the tree of the event ``values``.

        Raise ``CertificateError`` if an earlier tree has another next site after the same history.
        """
        self._walk(node, values, 0, -1)

    def _walk(self, node: Mapping[str, Any], values: Sequence[Any], shown: int, history: int) -> None:
        if "draw" in node:
            self._meet(history, ("draw", node["draw"], node["law"], None))
            for branch in node["branches"]:
                after = self._after(history, key_of(decode_value(branch["value"])))
                self._walk(branch["then"], values, shown, after)
        elif "see" in node:
            self._meet(history, ("see", node["see"], node["law"], node["to"]))
            if shown < len(values):
                self._walk(node["then"], values, shown + 1, self._after(history, key_of(values[shown])))
        elif node["end"]:
            self._meet(history, ("end", "", None, None))

    def _after(self, history: int, value: Any) -> int:
        """Return the number of the history that continues with ``value``."""
        return self._histories.setdefault((history, value), len(self._histories))

    def _meet(self, history: int, site: tuple[Any, ...]) -> None:
        other = self._next.setdefault(history, site)
        if other != site:
            first, second = (f"{item[0]} {str(item[1])[:40]!r}" for item in (other, site))
            raise CertificateError(
                "the events of a mixture must come from one program: after the same history on the "
                f"{self._side} side it must continue with one site, distribution and audience, got {first} "
                f"and {second} with different distributions or audiences."
            )


def key_of(value: Any) -> Any:
    """Return a key that is equal for equal outcomes, for every number or sequence type, NaN included."""
    if hasattr(value, "tolist"):
        return key_of(value.tolist())
    if isinstance(value, dict):
        return tuple((name, key_of(item)) for name, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(key_of(item) for item in value)
    return value if value == value else "NaN"
