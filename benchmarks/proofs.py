"""Measure how many programs are proved, and how many wrong versions of them.

    python -m benchmarks.proofs [--list NAME] [--refute] [--json FILE] [NAME ...]

Prints a line for each program and declaration. ``--list`` chooses one list, such as ``checkdp``. ``--refute``
also attacks the wrong programs. With ``--json`` it writes ``{"results": [{"list", "name", "right", "verdict",
"by", "bound", "n", "every_n", "seconds", "bytes", "refuted", "reason"}]}``:

- ``by`` is the prover that verified the claim, ``values`` (``prove_values``) or ``loops`` (``prover.prove``).
- ``bytes`` is the size of the certificate as JSON.
- ``refuted`` is ``witness`` for an exact counterexample, ``samples`` for a refutation by sampling, or empty.

The exit code is 1 if a wrong program is verified or a right one is refuted, and 2 if a name is not that of a
program.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.proof_programs import LISTS, PROGRAMS, Program, Queries
from dpaudit.auditing import audit
from dpaudit.core.claims import PureDP
from dpaudit.core.claims.base import Adjacency, Unit
from dpaudit.core.data import EVERY, Interval, Records
from dpaudit.core.errors import MechanismError
from dpaudit.prover import prove
from dpaudit.prover.values.prove import prove_values

__all__ = ["main", "measured", "proved"]

#: The slowest program of CheckDP, in seconds: "within 70 seconds" (Wang, Ding, Kifer and Zhang, CCS 2020,
#: abstract), on the authors' machine.
SLOWEST_OF_CHECKDP = 70
#: The largest number of runs of an attack on one wrong program.
RUNS = 20_000


def proved(program: Program, size: str, *, seconds: float = 120.0) -> tuple[str, Any]:
    """Return the prover that gives the better answer, and its proof.

    Declared records go to ``prove_values``. If it does not verify the claim, and the function takes ``coins``
    and numbers, ``prove`` gets the same records as a list.
    """
    data = program.sizes[size]
    if isinstance(data, Queries):
        return "loops", prove(program.function, program.claim, data=data.symbols, adjacency=data.adjacency)
    found = prove_values(program.function, program.claim, data=data, seconds=seconds)
    if found.verdict == "verified" or not _for_loops(program, data):
        return "values", found
    listed = replace(data, container="list")
    other = prove(program.function, program.claim, data=listed)
    return ("values", found) if other.verdict == "inconclusive" else ("loops", other)


def _for_loops(program: Program, data: Any) -> bool:
    claim = program.claim
    return (
        isinstance(data, Records)
        and isinstance(data.domain, Interval)
        and data.width is None
        and data.group == 1
        and isinstance(claim, PureDP)
        and claim.adjacency is Adjacency.REPLACE_ONE
        and claim.unit is Unit.EVENT
        and next(iter(inspect.signature(program.function).parameters)) == "coins"
    )


def refuted(program: Program, size: str, proof: Any) -> str:
    """Return how a claim is refuted, or an empty text."""
    if proof.verdict == "refuted":
        return "witness"
    data = program.sizes[size]
    if isinstance(data, Queries) or proof.verdict == "verified":
        return ""
    try:
        result = audit(program.function, program.claim, data=data, max_samples=RUNS, seconds=20)
    except MechanismError:
        return ""
    if result.verdict != "refuted":
        return ""
    return "samples" if result.attack is not None and result.attack.verdict == "refuted" else "witness"


def measured(program: Program, size: str, *, attack: bool = False) -> dict[str, Any]:
    """Run one proof, with its time and the size of its certificate."""
    data = program.sizes[size]
    start = time.perf_counter()
    by, proof = proved(program, size)
    seconds = round(time.perf_counter() - start, 3)
    verified = proof.verdict == "verified"
    return {
        "list": program.list,
        "name": program.name,
        "right": program.right,
        "verdict": proof.verdict,
        "by": by if verified else "",
        "bound": None if proof.bound is None else str(proof.bound),
        "n": None if data.size == EVERY else data.size,
        "every_n": data.size == EVERY,
        "seconds": seconds,
        "bytes": len(json.dumps(proof.certificate).encode()) if verified else None,
        "refuted": refuted(program, size, proof)
        if attack
        else "witness"
        if proof.verdict == "refuted"
        else "",
        "reason": proof.reason,
    }


def line(one: dict[str, Any]) -> str:
    """Return one row of the table."""
    size = "every N" if one["every_n"] else f"N={one['n']}"
    number = "" if one["bytes"] is None else f"{one['bytes']} B"
    kind = "right" if one["right"] else "wrong"
    how = one["by"] or one["refuted"]
    return (
        f"{one['list']:9} {kind} {one['name']:34} {size:8} {one['verdict']:12} {how:8}"
        f" {one['seconds']:7.3f} s {number:>9} {one['reason'][:90]}\n"
    )


def summary(results: list[dict[str, Any]]) -> str:
    """Return the totals of each list, the times and the sizes."""
    lines = []
    for name in dict.fromkeys(one["list"] for one in results):
        counts = []
        for right in (True, False):
            those = [one for one in results if one["list"] == name and one["right"] is right]
            verified = sum(one["verdict"] == "verified" for one in those)
            counts.append(f"{'right' if right else 'wrong'}: {verified} of {len(those)} verified")
        attacked: dict[str, bool] = {}
        for one in results:
            if one["list"] == name and not one["right"]:
                attacked[one["name"]] = attacked.get(one["name"], False) or bool(one["refuted"])
        counts.append(f"wrong programs refuted: {sum(attacked.values())} of {len(attacked)}")
        lines.append(f"{name:9} {', '.join(counts)}")
    verified = [one for one in results if one["verdict"] == "verified"]
    for quantity, unit in (("seconds", "s"), ("bytes", "B")):
        if verified:
            numbers = [one[quantity] for one in verified]
            lines.append(
                f"{quantity} of a proof: median {median(numbers):g} {unit}, largest {max(numbers):g} {unit}"
            )
    lines.append(f"slowest program of CheckDP in its paper: {SLOWEST_OF_CHECKDP} s (CCS 2020, abstract)")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Measure the named programs, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--list", choices=[one.name for one in LISTS], help="measure one list")
    parser.add_argument("--refute", action="store_true", help="attack the wrong programs too")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    programs = [program for program in PROGRAMS if options.list in (None, program.list)]
    if unknown := sorted({*options.names} - {program.name for program in programs}):
        parser.error(f"names must be programs of {options.list or 'a list'}, got {', '.join(unknown)}.")
    results = []
    for program in programs:
        if not options.names or program.name in options.names:
            for size in program.sizes:
                attack = options.refute and not program.right and size == "N"
                results.append(measured(program, size, attack=attack))
                sys.stdout.write(line(results[-1]))
                sys.stdout.flush()
    sys.stdout.write(summary(results))
    if options.json:
        options.json.write_text(json.dumps({"results": results}, indent=1))
    return int(
        any((one["verdict"], one["right"]) in {("verified", False), ("refuted", True)} for one in results)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
