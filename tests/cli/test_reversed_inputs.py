"""A program that keeps its first data set crashes its row: one fresh process runs the inputs backwards."""

from __future__ import annotations

from pathlib import Path

from tests.cli.suites import by_id, run, write_suite

ROWS = """
from dpaudit.coins import Coins
from dpaudit.distributions import Laplace
from dpaudit.core.neighbours import Neighbours
from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.privacy import digest_of

KEPT = {}
PAIRS = [Neighbours("0 to 1", np.array([0.0]), np.array([1.0]))]

def keeps(coins, data):
    return float(coins.release(KEPT.setdefault("x", float(data.sum())), Laplace(scale=1), site="sum"))

def plain(coins, data):
    return float(coins.release(float(data.sum()), Laplace(scale=1), site="sum"))

def add(name, program):
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1), program=program, neighbours=lambda run: PAIRS,
        sites=[Site("sum", total=1)], proof=laplace_mechanism(sensitivity=1, scale=1),
    )
    def fingerprint(seed):
        return digest_of(audit, seed, row_id=name)
    def evaluate(run):
        return Outcome([exactly(0, 0.5)])
    suite.add(
        Row(id=name, title=name, kind="utility", claim=CLAIM, evaluate=evaluate, fingerprint=fingerprint)
    )

add("keeps", keeps)
add("plain", plain)
"""


def test_a_fresh_process_runs_the_inputs_in_reverse_order(tmp_path: Path) -> None:
    """Without it, all processes agree; a program that keeps nothing is not accused."""
    result, report = run(write_suite(tmp_path / "suite.py", ROWS), "--jobs", 2)
    rows = by_id(report)
    assert result.exit_code == 3
    assert rows["keeps"]["verdict"] == "crashed"
    assert any("state between runs" in reason for reason in rows["keeps"]["reasons"])
    assert rows["plain"]["verdict"] == "verified"
