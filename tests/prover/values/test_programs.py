"""Correct programs are proved, for one size and for every size, and wrong versions are not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import proofs
from benchmarks.proof_programs import LISTS, NOT_PROVED, PROGRAMS, Program
from dpaudit.kernel.values.check import PROOF, check

CASES = [
    pytest.param(program, size, id=f"{program.list}-{program.name}-{size}")
    for program in PROGRAMS
    for size in program.sizes
]
#: A file and a line in a reason.
PLACE = re.compile(r"\b\w+\.py:\d+: ")


@pytest.mark.parametrize(("program", "size"), CASES)
def test_right_programs_are_proved_and_wrong_ones_are_not(program: Program, size: str) -> None:
    """The verdict is the expected one, and the kernel derives the same bound from the certificate alone.

    A right program without a proof has the reason that ``NOT_PROVED`` gives.
    """
    by, proof = proofs.proved(program, size)
    reason = NOT_PROVED.get((f"{program.list}/{program.name}", size))
    expected = program.right and reason is None
    assert (proof.verdict == "verified") == expected, proof.reason
    assert not (program.right and proof.verdict == "refuted"), proof.reason
    if expected:
        assert proof.certificate is not None
        assert by in {"values", "loops"}
        if proof.certificate.get("proof") == PROOF:
            assert check(proof.certificate).paths == proof.paths
    elif reason is not None:
        assert PLACE.sub("", proof.reason) == reason


def test_the_lists_are_complete() -> None:
    """Every list has right and wrong programs and no name twice, and NOT_PROVED names only right programs."""
    for one in LISTS:
        names = [program.name for program in one.programs]
        assert len(set(names)) == len(names)
        assert {program.right for program in one.programs} == {True, False}
    known = {(f"{p.list}/{p.name}", size) for p in PROGRAMS if p.right for size in p.sizes}
    assert set(NOT_PROVED) <= known


def test_the_benchmark_writes_its_results(tmp_path: Path) -> None:
    """The benchmark writes one record per declaration, with the prover, the size and the refutation."""
    file = tmp_path / "proofs.json"
    names = ["partial_sum", "bad_partial_sum", "partial_sum_numpy", "bad_partial_sum_numpy"]
    assert proofs.main(["--list", "checkdp", "--refute", "--json", str(file), *names]) == 0
    results = {(r["name"], r["every_n"]): r for r in json.loads(file.read_text())["results"]}
    assert len(results) == 8
    found = {key: (r["list"], r["by"], r["refuted"]) for key, r in results.items()}
    assert found["partial_sum", True] == ("checkdp", "loops", "")
    assert found["partial_sum_numpy", True] == ("checkdp", "values", "")
    assert found["bad_partial_sum", False] == ("checkdp", "", "witness")
    assert found["bad_partial_sum_numpy", False][2] in {"witness", "samples"}
    for r in results.values():
        assert r["seconds"] >= 0
        assert (r["bytes"] is not None) == (r["verdict"] == "verified")


@pytest.mark.parametrize("names", [["no_such_program"], ["--list", "statdp", "partial_sum_numpy"]])
def test_a_name_that_is_not_in_the_list_is_refused(names: list[str]) -> None:
    """Nothing would be measured, which is no success."""
    with pytest.raises(SystemExit) as ended:
        proofs.main(names)
    assert ended.value.code == 2


def test_an_attack_under_add_remove_takes_pairs_in_either_order() -> None:
    """A count that rises with each record is attacked on pairs whose first dataset is the larger one."""
    [program] = [one for one in PROGRAMS if one.name == "bad_histogram_numpy"]
    measured = proofs.measured(program, "N", attack=True)
    assert measured["refuted"] in {"samples", "witness"}
