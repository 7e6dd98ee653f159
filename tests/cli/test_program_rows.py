"""Rows of proved programs from the command line: run, verify from the file alone, and explored again."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpaudit.run.process import Pool
from tests.cli.forged import again, confirmed, remember_runs
from tests.cli.suites import by_id, invoke, run, write_suite

ROWS = '''
from dpaudit import PrivacyAudit
from dpaudit.prover import EachMoves, OneReplaced, Symbols
from dpaudit.suite import Neighbours, Site
from dpaudit.replay.domains import Interval
from dpaudit.distributions import Laplace
from dpaudit.certify.build import laplace_mechanism
from dpaudit.suite import over, privacy
from dpaudit.suite.program_proofs import Proving, Shape, proved


def above(coins, data):
    level = coins.draw(Laplace(scale=2), site="level")
    for query in data:
        if query + coins.draw(Laplace(scale=4), site="query") >= level:
            return True
    return False


def noisy_sum(coins, data):
    coins.release(sum(data), Laplace(scale=2), site="sum")


def twice(coins, data):
    noisy_sum(coins, data)
    noisy_sum(coins, data)


def audit(program, epsilon):
    return PrivacyAudit(
        domain=Interval(0, 1),
        claim=PureDP(epsilon=epsilon),
        program=program,
        neighbours=lambda run: [Neighbours("one record from 0 to 1", [0.0, 0.5], [1.0, 0.5])],
        sites=[Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=2))],
    )


SHAPE = Shape(data=Symbols(3, low=0, high=1), adjacency=OneReplaced())


@proved(suite, "svt", "its paper", over=over(queries=(2, 4)))
def svt(queries):
    """The sparse vector technique is 1-DP"""
    return Proving(program=above, epsilon=1, data=Symbols(queries), adjacency=EachMoves())


@privacy(suite, "sum", "my own", accounting="", expect="consistent", prove=SHAPE)
def once():
    """A noisy sum is 1/2-DP"""
    return audit(noisy_sum, "1/2")


@privacy(suite, "more-than-declared", "my own", accounting="", expect="inconclusive", prove=SHAPE)
def more():
    """Two noisy sums are 1-DP, and one is declared"""
    return audit(twice, 1)
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], Path, Pool]]:
    folder = tmp_path_factory.mktemp("programs")
    suite = write_suite(folder / "audits" / "a.py", ROWS)
    report = run(suite, report=folder / "report.json")[1]
    pool = Pool(1)
    with pytest.MonkeyPatch.context() as patch:
        remember_runs(patch)
        yield report, suite, pool
    pool.close()


def test_the_scope_is_beside_the_strength(made: tuple[dict[str, Any], Path, Pool]) -> None:
    """Of a verified row with two sizes and of a consistent one; the derived accounting is a note, and an
    unmet condition."""
    rows = by_id(made[0])
    assert {row["strength"] for row in (rows["svt"], rows["sum"])} == {"proved in scope"}
    assert rows["svt"]["scope"].startswith("all data of N = 2 numbers, each moved by at most 1")
    assert [cell["scope"][:20] for cell in rows["svt"]["cells"]] == [
        "all data of N = 2 nu",
        "all data of N = 4 nu",
    ]
    assert (rows["svt"]["verdict"], rows["sum"]["verdict"]) == ("verified", "consistent")
    assert rows["sum"]["upper"] == 0.5
    assert any("sum: 1 affected" in note for note in rows["sum"]["notes"])
    assert rows["more-than-declared"]["verdict"] == "inconclusive"
    assert "one change affects 2 releases at 'sum', declared 1" in rows["more-than-declared"]["obstacles"]


def test_explain_shows_the_proof_of_a_program(made: tuple[dict[str, Any], Path, Pool]) -> None:
    """With a report, ``explain`` lists the evidence: bound and scope of each proof, and certificates."""
    suite = made[1]
    shown = invoke("explain", "sum", suite, "--report", suite.parents[1] / "report.json")
    assert shown.exit_code == 0, shown.output
    assert "program proof: epsilon <= 1/2, all data of N" in " ".join(shown.stdout.split())


def test_exploring_again_finds_the_same_proofs(
    made: tuple[dict[str, Any], Path, Pool], tmp_path: Path
) -> None:
    """From the file alone, and by the programs."""
    report, suite, pool = made
    assert confirmed(again(json.dumps(report), tmp_path))
    assert confirmed(again(json.dumps(report), tmp_path, [suite], pool))


def test_a_valid_proof_of_another_program_is_found_by_exploring_again(
    made: tuple[dict[str, Any], Path, Pool], tmp_path: Path
) -> None:
    """More noise in the tree: a proof that holds, of a program that is not the suite's."""
    report, suite, pool = made
    forged = copy.deepcopy(report)
    body = by_id(forged)["svt"]["cells"][1]["evidence"][0]["body"]
    assert body["tree"][0][:3] == ["draw", "laplace", "2"]
    body["tree"][0][2] = "3"
    assert confirmed(again(json.dumps(forged), tmp_path))
    assert not confirmed(again(json.dumps(forged), tmp_path, [suite], pool))


RAISES = """
from dpaudit import PrivacyAudit
from dpaudit.suite import Neighbours
from dpaudit.replay.domains import Interval
from dpaudit.distributions import Laplace
from dpaudit.suite import privacy

def mean(data):
    return sum(data) / data["size"]

def program(coins, data):
    coins.release(mean(data), Laplace(scale=1), site="mean")

def scaled(coins, data):
    coins.release(sum(data), Laplace(scale=-1), site="sum")

def audit(program):
    return PrivacyAudit(
        domain=Interval(0, 1),
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: [Neighbours("one", [0.0], [1.0])],
        sites=[],
    )

@privacy(suite, "raises", "my own")
def raises():
    \"\"\"the mean\"\"\"
    return audit(program)

@privacy(suite, "scale", "my own")
def scale():
    \"\"\"the sum\"\"\"
    return audit(scaled)
"""


def test_a_program_that_raises_in_every_history_says_where(tmp_path: Path) -> None:
    """The reason of the crashed row ends with the line of the suite on which its program failed."""
    suite = write_suite(tmp_path / "suite.py", RAISES)
    result, report = run(suite)
    assert result.exit_code == 3
    lines = suite.read_text(encoding="utf-8").splitlines()
    for row, line in (("raises", '    return sum(data) / data["size"]'), ("scale", "Laplace(scale=-1)")):
        number = next(k for k, text in enumerate(lines, 1) if line in text)
        assert by_id(report)[row]["reasons"][0].endswith(f"Fix the program or its data. (suite.py:{number})")
