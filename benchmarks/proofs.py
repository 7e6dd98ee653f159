"""Measure how many ordinary numpy programs are proved, and how many wrong versions of them.

    python -m benchmarks.proofs [--refute] [--json FILE] [NAME ...]

Prints a line for each program and declaration. With ``--json`` it writes ``{"results": [{"name", "right",
"verdict", "bound", "n", "every_n", "seconds"}]}``. With ``--refute`` it looks for exact counterexamples
instead, without sampling. The exit code is 1 if a wrong program is verified or a right one refuted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.proof_programs import PROGRAMS, Program
from dpaudit.auditing import audit
from dpaudit.core.data import EVERY
from dpaudit.prover.values.prove import prove_values

__all__ = ["main", "measured"]


def measured(program: Program, size: str) -> dict[str, Any]:
    """Run one proof, with its time."""
    data = program.sizes[size]
    start = time.perf_counter()
    proof = prove_values(program.function, program.claim, data=data)
    return {
        "name": program.name,
        "right": program.right,
        "verdict": proof.verdict,
        "bound": None if proof.bound is None else str(proof.bound),
        "n": None if data.size == EVERY else data.size,
        "every_n": data.size == EVERY,
        "seconds": round(time.perf_counter() - start, 3),
        "reason": proof.reason,
    }


def refuted(program: Program, size: str) -> dict[str, Any]:
    """Look for an exact counterexample, with its time. The attack by sampling gets too few runs to refute."""
    data = program.sizes[size]
    start = time.perf_counter()
    found = audit(program.function, program.claim, data=data, max_samples=2)
    return {
        "name": program.name,
        "right": program.right,
        "verdict": found.verdict.value if found.witness is not None else "none",
        "bound": None if found.witness is None else str(found.witness.bound),
        "n": None if data.size == EVERY else data.size,
        "every_n": data.size == EVERY,
        "seconds": round(time.perf_counter() - start, 3),
        "reason": "" if found.witness is None else found.witness.form,
    }


def main(arguments: list[str]) -> int:
    """Measure the named programs, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--refute", action="store_true", help="look for exact counterexamples")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    chosen = [program for program in PROGRAMS if not options.names or program.name in options.names]
    measure, verdict = (refuted, "refuted") if options.refute else (measured, "verified")
    results = [measure(program, size) for program in chosen for size in program.sizes]
    for one in results:
        size = "every N" if one["every_n"] else f"N={one['n']}"
        kind = "right" if one["right"] else "wrong"
        sys.stdout.write(
            f"{kind} {one['name']:28} {size:8} {one['verdict']:12} {one['seconds']:7.3f} s"
            f" {one['reason'][:90]}\n"
        )
    for right in (True, False):
        those = [one for one in results if one["right"] is right]
        count = sum(one["verdict"] == verdict for one in those)
        sys.stdout.write(f"{'right' if right else 'wrong'}: {count} of {len(those)} {verdict}\n")
    if results:
        sys.stdout.write(f"median time of a proof: {median(one['seconds'] for one in results):.3f} s\n")
    if options.json:
        options.json.write_text(json.dumps({"results": results}, indent=1))
    return int(any(one["verdict"] == verdict and one["right"] is options.refute for one in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
