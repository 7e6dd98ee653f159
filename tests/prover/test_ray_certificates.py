"""Test unbounded-loss certificates: they are checked from the tree alone, and forgeries are refused."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.kernel import claim_t0, kernel_t0, program_t0, ray_t0
from dpaudit.prover import prove
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS, ProvedProgram

WRONG = [row for row in PROVED_PROGRAMS if not row.right]


def witness(row: ProvedProgram) -> dict[str, Any]:
    proof = prove(row.program, PureDP(epsilon=row.claim), data=row.data, adjacency=row.adjacency)
    return proof.witness or {}


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row.name)
def test_each_ray_of_the_benchmark_is_checked(row: ProvedProgram) -> None:
    """The derived loss is the witness's loss, above the claim and within the proved bound."""
    found = witness(row)
    if found.get("kind") != "ray":
        return
    loss = ray_t0.check(json.loads(json.dumps(found["certificate"])))
    assert str(loss) == found["loss"]
    assert row.claim < loss <= row.bound


def ray_of(name: str) -> dict[str, Any]:
    certificate = witness(next(row for row in WRONG if row.name == name))["certificate"]
    return copy.deepcopy(certificate)


def test_the_file_runs_alone(tmp_path: Path) -> None:
    """The standalone checker accepts a certificate in an isolated interpreter."""
    for module in (ray_t0, program_t0, claim_t0, kernel_t0):
        source = Path(str(module.__file__))
        (tmp_path / source.name).write_text(source.read_text())
    (tmp_path / "certificate.json").write_text(json.dumps(ray_of("noisy max, scale 1")))
    done = subprocess.run(
        [sys.executable, "-S", "ray_t0.py", "certificate.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "refutes epsilon <= 1: the loss reaches 2"


def forgeries() -> dict[str, Any]:
    def doubled(c: Any) -> None:
        for both in c["ray"]["multipliers"]:
            both[:] = [[str(2 * Fraction(y)) for y in part] for part in both]

    def negative(c: Any) -> None:
        for both in c["ray"]["multipliers"]:
            both[0][:] = [str(-Fraction(y)) for y in both[0]]

    def moved_twice(c: Any) -> None:
        c["ray"]["change"] = {name: str(2 * Fraction(v)) for name, v in c["ray"]["change"].items()}

    def lost(c: Any) -> None:
        c["ray"]["paths"].pop()
        c["ray"]["multipliers"].pop()

    return {
        "multipliers doubled": doubled,
        "multipliers negative": negative,
        "a change that is no neighbour's": moved_twice,
        "a path of the outcome left out": lost,
        "data that end": lambda c: c["data"].update(low="0", high="1"),
        "a point outside": lambda c: c["ray"]["point"].update(n0="1000000"),
        "infinite with noise left": lambda c: c["ray"].update(infinite=True),
    }


@pytest.mark.parametrize("change", forgeries().values(), ids=list(forgeries()))
def test_a_forged_ray_is_refused(change: Any) -> None:
    """Each forgery of noisy max at scale 1, whose outcomes have several paths, is refused."""
    forged = ray_of("noisy max, scale 1")
    assert len(forged["ray"]["paths"]) > 1
    assert ray_t0.check(forged) == 2
    change(forged)
    with pytest.raises(program_t0.ProgramProofError):
        ray_t0.check(forged)


def test_an_infinite_loss_is_checked() -> None:
    """An outcome that becomes impossible has an infinite loss."""
    assert ray_t0.check(ray_of("SVT without query noise")) == math.inf
