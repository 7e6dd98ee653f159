"""Measure the prover on the field's standard programs: ``python -m benchmarks.prover --json FILE``.

Each program of ``mechanisms/proved_programs.py`` is proved at its claim. ``--eight`` adds its table on eight
records and the large programs, ``--every`` adds ``mechanisms/proved_at_every_size.py``. The table has the
expected and the actual verdict and bound, the number of paths and the seconds. The command exits with 1 if
they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from dpaudit.core.claims import PureDP
from dpaudit.prover import prove
from dpaudit.reference.mechanisms.proved_at_every_size import NOT_PROVED_AT_EVERY_SIZE, PROVED_AT_EVERY_SIZE
from dpaudit.reference.mechanisms.proved_programs import (
    PROVED_AT_EIGHT,
    PROVED_LARGE,
    PROVED_PROGRAMS,
    ProvedProgram,
)

__all__ = ["Measured", "main", "measure"]


@dataclass(frozen=True)
class Measured:
    """One program. Numbers are text, "inf" for no bound, empty if none is derived; ``n`` is the number of
    records, or "every".
    """

    name: str
    n: int | str
    expected: str
    expected_bound: str
    verdict: str
    bound: str
    paths: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        return (self.verdict, self.bound) == (self.expected, self.expected_bound)


def text(bound: Fraction | float | None) -> str:
    return "" if bound is None else str(bound)


def measure(row: ProvedProgram) -> Measured:
    """Prove one program, and measure the time."""
    begun = time.perf_counter()
    proof = prove(row.program, PureDP(epsilon=row.claim), data=row.data, adjacency=row.adjacency)
    return Measured(
        name=row.name,
        n=row.data.size,
        expected=row.verdict,
        expected_bound=text(row.bound),
        verdict=proof.verdict,
        bound=text(proof.bound),
        paths=proof.paths,
        seconds=round(time.perf_counter() - begun, 3),
    )


def line(found: Measured) -> str:
    mark = " " if found.as_expected else f"expected {found.expected} {found.expected_bound}"
    return (
        f"{found.name:42} {found.n!s:>5} {found.verdict:13} {found.bound:>6} {found.paths:>5} "
        f"{found.seconds:8.2f} {mark}\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit with 1 if a verdict or a bound is not the expected one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prover", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results here, as JSON")
    parser.add_argument("--only", default="", help="programs whose name contains this text")
    parser.add_argument("--every", action="store_true", help="data of every size too")
    parser.add_argument("--eight", action="store_true", help="all programs on eight records, and large ones")
    options = parser.parse_args(arguments)
    results = []
    more = [*PROVED_AT_EIGHT, *PROVED_LARGE] if options.eight else []
    at_every_size = (*PROVED_AT_EVERY_SIZE, *NOT_PROVED_AT_EVERY_SIZE) if options.every else ()
    for row in (*PROVED_PROGRAMS, *more, *at_every_size):
        if options.only in row.name:
            results.append(measure(row))
            sys.stdout.write(line(results[-1]))
            sys.stdout.flush()
    eight = sum(r.seconds for r in results if r.n == 8) if options.eight else 0
    if eight:
        sys.stdout.write(f"the programs on eight records together: {eight:.1f} s\n")
    if options.json is not None:
        options.json.write_text(json.dumps({"results": [asdict(r) for r in results]}, indent=1) + "\n")
    return 0 if all(result.as_expected for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
