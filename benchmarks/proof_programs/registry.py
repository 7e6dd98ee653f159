"""Register programs with their claim, the declarations of their data, and whether they are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.data import Records, Table
from dpaudit.prover.data import Adjacent, EachMoves, Symbols
from dpaudit.prover.values.prove import PrivacyClaim

__all__ = ["Data", "List", "Program", "Queries", "claimed"]


@dataclass(frozen=True)
class Queries:
    """Answers of queries, or numbers of a stream, for ``dpaudit.prover.prove``.

    By default each answer is any number and changes by at most 1.
    """

    symbols: Symbols
    adjacency: Adjacent = field(default_factory=EachMoves)

    @property
    def size(self) -> int | str:
        """Return the number of queries, or ``EVERY``."""
        return self.symbols.size


Data = Records | Table | Queries


@dataclass(frozen=True)
class Program:
    """One program. ``sizes`` are declarations by name (``N`` and perhaps ``every N``)."""

    name: str
    function: Callable[..., Any]
    claim: PrivacyClaim
    sizes: dict[str, Data]
    right: bool
    list: str


def claimed(numbers: dict[str, Any], **options: Any) -> PrivacyClaim:
    """Return the claim that the numbers determine."""
    if "delta" in numbers:
        return ApproxDP(**numbers, **options)
    kinds: dict[str, Any] = {"epsilon": PureDP, "rho": ZeroConcentratedDP, "mu": GaussianDP}
    [name] = numbers
    claim: PrivacyClaim = kinds[name](**numbers, **options)
    return claim


class List:
    """The programs of one source. ``right`` and ``wrong`` are decorators that register a function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.programs: list[Program] = []

    def right(
        self, numbers: dict[str, Any], fixed: Data | None, every: Data | None = None, **options: Any
    ) -> Any:
        """Register a program that satisfies its claim."""
        return self._registers(True, numbers, fixed, every, options)

    def wrong(
        self, numbers: dict[str, Any], fixed: Data | None, every: Data | None = None, **options: Any
    ) -> Any:
        """Register a program that violates its claim."""
        return self._registers(False, numbers, fixed, every, options)

    def _registers(
        self,
        right: bool,
        numbers: dict[str, Any],
        fixed: Data | None,
        every: Data | None,
        options: dict[str, Any],
    ) -> Any:
        sizes = {name: data for name, data in {"N": fixed, "every N": every}.items() if data is not None}

        def keep(function: Any) -> Any:
            claim = claimed(numbers, **options)
            self.programs.append(Program(function.__name__, function, claim, sizes, right, self.name))
            return function

        return keep
