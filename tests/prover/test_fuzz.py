"""Test random programs: no bound is below a loss that was found, and many bounds are attained."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest

from dpaudit.core.errors import DpauditError
from tests.prover import fuzz, oracle
from tests.prover.masses import TooWideError
from tests.prover.random_programs import generate

FEW = 200


@pytest.mark.timeout(600)
def test_no_random_program_is_falsely_proved() -> None:
    """Of 200 programs no bound is false, a quarter is verified, and a tenth of the bounds is attained."""
    pytest.importorskip("dpaudit.prover")
    counts, false = fuzz.run(FEW, 0)
    assert false == []
    assert counts["verified"] >= FEW // 4
    assert counts["bound attained within 10%"] >= counts["with a bound"] // 10


@pytest.mark.timeout(600)
def test_refuted_programs_lose_more_than_the_claim() -> None:
    """For at least four of five refutations, an event along its data has a loss above the claim."""
    counts: Counter[bool] = Counter()
    for seed in range(30):
        made = generate(seed)
        try:
            proof = fuzz.proof_of(made, "1")
            if proof.verdict == "refuted":
                counts[fuzz.on_the_ray(made, proof.witness, random.Random(seed), 1.0) > 1 - fuzz.SLACK] += 1
        except (DpauditError, oracle.UnfollowedError, TooWideError):
            continue
    assert counts[True] >= 6
    assert counts[False] <= counts[True] // 4, counts


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_random_program_of_many_is_falsely_proved() -> None:
    """No bound is false for 10,000 further programs."""
    pytest.importorskip("dpaudit.prover")
    assert fuzz.run(10_000, 1)[1] == []


def test_a_false_bound_would_be_seen() -> None:
    """A bound of half the found loss is detected as false."""
    caught = 0
    for seed in range(40):
        made = generate(seed)
        found = max((loss for loss, _ in fuzz.losses(made, random.Random(seed), 3)), default=0.0)
        if 0.1 < found < 50:
            result = fuzz.Result("verified", Fraction(found).limit_denominator(1000) / 2, found, None, "")
            assert result.false
            caught += 1
    assert caught >= 8


def test_programs_are_the_same_again() -> None:
    """A seed determines the program, and different seeds give different programs."""
    assert generate(7).source == generate(7).source
    assert len({generate(seed).source for seed in range(100)}) > 80
