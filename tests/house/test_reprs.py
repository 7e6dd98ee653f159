"""What an interactive session prints for a result fits on a screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.distributions import Laplace
from dpaudit.prover import OneReplaced, Symbols
from tests.cli.suites import VERIFIED, run, write_suite

#: Characters on a screen of 25 lines.
SCREEN = 2000


def noisy_sum(data: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.clip(data, 0, 1).sum() + rng.laplace(scale=1))


def program(coins: dpaudit.coins.Coins, data: list[float]) -> None:
    coins.release(sum(data), Laplace(scale=1), site="sum")


def results() -> dict[str, object]:
    claim, data = dpaudit.PureDP(1), dpaudit.Records(dpaudit.Interval(0, 1))
    audited = dpaudit.audit(noisy_sum, claim, data=data)
    pair = (np.zeros(3), np.array([1.0, 0.0, 0.0]))
    return {
        "claim": claim,
        "data": data,
        "audit": audited,
        "proof": audited.proof,
        "check": dpaudit.check(noisy_sum, claim, neighbours=[pair], max_samples=500),
        "draws": dpaudit.record_draws(noisy_sum, pair),
        "prove": dpaudit.prove(program, claim, data=Symbols(8), adjacency=OneReplaced(by=1)),
    }


def test_a_result_has_a_repr_of_one_screen() -> None:
    """Certificates and draws are left out."""
    lengths = {name: len(repr(value)) for name, value in results().items()}
    assert {name: length for name, length in lengths.items() if length > SCREEN} == {}


def test_a_report_has_a_repr_of_one_line(tmp_path: Path) -> None:
    """It counts the rows by verdict."""
    file = tmp_path / "report.json"
    run(write_suite(tmp_path / "suite.py", VERIFIED), report=file)
    told = repr(dpaudit.Report.read(file))
    assert "1 verified" in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (dpaudit.PureDP(1), "PureDP(epsilon=1)"),
        (
            dpaudit.PureDP(epsilon="1/3", adjacency="add-remove"),
            "PureDP(adjacency='add-remove', epsilon='1/3')",
        ),
    ],
)
def test_a_claim_prints_the_call_that_makes_it(claim: dpaudit.claims.PrivacyClaim, told: str) -> None:
    """Fields with their defaults are left out."""
    assert repr(claim) == told
    assert eval(told, {"PureDP": dpaudit.PureDP}) == claim
