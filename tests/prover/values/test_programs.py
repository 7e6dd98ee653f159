"""Correct numpy programs are proved, for one size and for every size, and wrong versions are not."""

from __future__ import annotations

import pytest

from benchmarks.proof_programs import PROGRAMS, Program
from dpaudit.kernel.values.check import check
from dpaudit.prover.values.prove import prove_values

CASES = [
    pytest.param(program, size, id=f"{program.name}-{size}") for program in PROGRAMS for size in program.sizes
]


@pytest.mark.parametrize(("program", "size"), CASES)
def test_right_programs_are_proved_and_wrong_ones_are_not(program: Program, size: str) -> None:
    """The verdict is right, and the kernel derives the same bound from the certificate alone."""
    proof = prove_values(program.function, program.claim, data=program.sizes[size], seconds=120)
    assert (proof.verdict == "verified") == program.right, proof.reason
    if program.right:
        assert proof.certificate is not None
        checked = check(proof.certificate)
        assert checked.paths == proof.paths
    else:
        assert proof.certificate is None
