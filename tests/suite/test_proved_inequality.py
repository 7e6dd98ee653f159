"""Rows with ``prove=on(...)``: the range is proved, refuted at a point, or left to the grid with a note.

A report with such a proof is verified from its file alone, and every forged one is refused.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certify.ranges import Range, choices, integers, on, reals
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate, InequalityProof
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.verdicts import Judgement, judge
from dpaudit.kernel.ball import ball
from dpaudit.suite import Grid, Step, inequality, over, step, steps
from dpaudit.verify.result import verify_result
from tests.cli.suites import run

QUICK = Run(profile="quick", alpha=0.05, seed=0, row_id="X")
HALF_LINE = on(x=reals(0, None))
GRID = over(x="1/10 1")


def evaluated(
    function: Callable[..., Any], prove: Range, grid: Grid = GRID, **fixed: Any
) -> tuple[Outcome, Judgement]:
    rows = Group()
    inequality(rows, "X", "fact", over=grid, prove=prove, **fixed)(function)
    outcome = rows.rows[0].evaluate(QUICK)
    return outcome, judge(rows.rows[0].claim, outcome.evidence, alpha=0.05)


def hoeffding(x: Fraction) -> Any:
    """cosh x <= exp(x^2/2)"""
    return ball(x).cosh(), ball(x * x / 2).exp()


def small(x: Fraction) -> Any:
    """cosh x <= 2"""
    return ball(x).cosh(), 2


def touching(x: Fraction) -> Any:
    """floor x <= x, which has no derivative"""
    return 2 + ball(x).floor(), 2 + ball(x)


def branching_on_type(x: Fraction) -> Any:
    """x <= 1 + x"""
    return (x, 1 + x) if isinstance(x, Fraction) else (2, 1)


def test_a_row_is_proved_on_its_range() -> None:
    outcome, found = evaluated(hoeffding, HALF_LINE)
    assert (found.verdict.value, found.strength.value) == ("verified", "proved")
    assert found.scope == "all x >= 0"
    assert [type(item) for item in outcome.evidence] == [InequalityProof, Estimate]


def test_a_row_without_parameters_is_proved() -> None:
    def one() -> Any:
        """e <= 3"""
        return ball(1).exp(), 3

    rows = Group()
    inequality(rows, "X", "fact", prove=on())(one)
    (row,) = rows.rows
    found = judge(row.claim, row.evaluate(QUICK).evidence, alpha=0.05)
    assert (found.strength.value, found.scope) == ("proved", "no parameters")
    assert row.claim.to_json()["text"] == "e <= 3"


def test_a_false_inequality_of_numbers_is_refuted() -> None:
    def two() -> Any:
        """3 <= e"""
        return 3, ball(1).exp()

    rows = Group()
    inequality(rows, "X", "fact", prove=on())(two)
    found = judge(rows.rows[0].claim, rows.rows[0].evaluate(QUICK).evidence, alpha=0.05)
    assert found.verdict.value == "refuted"


def test_a_false_point_of_the_range_refutes_the_row() -> None:
    """The grid alone would verify it."""
    outcome, found = evaluated(small, HALF_LINE)
    assert found.verdict.value == "refuted"
    (estimate,) = outcome.evidence
    assert isinstance(estimate, Estimate)
    assert estimate.samples == 3
    assert any("a point of its range" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("function", "reason"), [(touching, "undecided at x in"), (branching_on_type, "isinstance")]
)
def test_a_row_that_is_not_proved_stays_tested(function: Callable[..., Any], reason: str) -> None:
    outcome, found = evaluated(function, HALF_LINE)
    assert (found.verdict.value, found.strength.value, found.scope) == ("verified", "tested", "")
    assert any(reason in note for note in outcome.notes)


def test_a_row_that_fails_on_its_grid_is_refuted_there() -> None:
    outcome, found = evaluated(small, on(x=reals(0, 1)), over(x="1 2"))
    assert (found.verdict.value, found.strength.value) == ("refuted", "tested")
    assert len(outcome.evidence) == 1


def test_fixed_parameters_and_conditions_are_part_of_the_proof() -> None:
    def scaled(n: int, x: Fraction, lead: int) -> Any:
        """x <= lead n x + 1, where x is at most n"""
        return x, lead * n * x + 1

    prove = on(n=integers(1, None, each=2), x=reals(0, None)).where(lambda n, x: x <= n)
    _, found = evaluated(scaled, prove, over(n=(1, 5), x="1"), lead=1)
    assert found.strength.value == "proved"
    assert found.scope == "all integers n >= 1, x >= 0, x <= 1, x <= 2, x <= n"


def test_single_values_that_a_condition_excludes_are_named() -> None:
    def sides(n: int, kind: str) -> Any:
        """n <= 2 for small n"""
        return n, 2 if kind == "two" else 1

    prove = on(n=integers(1, 2, each=2), kind=choices("one", "two"))
    prove = prove.where(lambda n, kind: n <= 1 if kind == "one" else n <= 2)
    _, found = evaluated(sides, prove, over(n=(1,), kind=("one",)))
    assert found.strength.value == "proved"
    assert found.scope.endswith("without n = 2, kind = value one")


def test_all_steps_of_a_row_must_be_proved() -> None:
    def two(second: Step) -> str:
        rows = Group()

        @steps(rows, "X", "fact")
        def both() -> Any:
            """Two steps"""
            return [step("one", over=GRID, prove=HALF_LINE)(hoeffding), second]

        row = rows.rows[0]
        outcome = row.evaluate(QUICK)
        return judge(row.claim, outcome.evidence, alpha=0.05).strength.value

    assert two(step("two", over=GRID, prove=HALF_LINE)(hoeffding)) == "proved"
    assert two(step("two", over=GRID)(hoeffding)) == "tested"
    assert two(step("two", over=GRID, prove=HALF_LINE)(touching)) == "tested"


@pytest.mark.parametrize("prove", [on(y=reals(0, 1)), on(x=reals(0, 1), h=reals(0, 1)), on()])
def test_the_range_must_have_the_names_of_the_function(prove: Range) -> None:
    with pytest.raises(InvalidParameterError, match="range of a proof"):
        evaluated(hoeffding, prove)


SUITE = '''
from dpaudit.kernel.ball import ball
from dpaudit.certify.ranges import on, reals
from dpaudit.suite import Group, Suite, inequality, over

suite = Suite(name="One inequality")
rows = Group(kind="tail")

@inequality(rows, "COSH", "fact", over=over(x="1/10 1 3"), prove=on(x=reals(0, None)))
def cosh(x):
    """cosh x <= exp(x^2/2)"""
    return ball(x).cosh(), ball(x * x / 2).exp()

suite.include(rows)
'''


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("inequality")
    (folder / "suite.py").write_text(SUITE)
    _, report = run(folder / "suite.py")
    (found,) = report["results"]
    assert isinstance(found, dict)
    return found


def test_a_report_is_verified_from_its_file(result: dict[str, Any]) -> None:
    assert (result["strength"], result["scope"]) == ("proved", "all x >= 0")
    findings = verify_result(json.loads(json.dumps(result)))
    assert all(finding.ok for finding in findings)
    (reason,) = [finding.reason for finding in findings if finding.what == "proof of an inequality"]
    assert reason.startswith("proof of cosh(x) <= exp(x * x/2), for all x >= 0, assuming")


def _wider_range(proof: dict[str, Any]) -> None:
    proof["body"]["range"]["x"]["lo"] = "-1"
    proof["scope"] = "all x >= -1"


def _other_scope(proof: dict[str, Any]) -> None:
    proof["scope"] = "all real x"


def _other_constant(proof: dict[str, Any]) -> None:
    nodes = proof["body"]["combinations"][0]["nodes"]
    for node in nodes:
        if node == ["c", "2"]:
            node[1] = "3"


def _no_boxes(proof: dict[str, Any]) -> None:
    side = proof["body"]["combinations"][0]["paths"][0]["sides"][0]
    side["trees"] = [64] * len(side["trees"])


def _no_combination(proof: dict[str, Any]) -> None:
    proof["body"]["combinations"] = []


def _sides_exchanged(proof: dict[str, Any]) -> None:
    side = proof["body"]["combinations"][0]["paths"][0]["sides"][0]
    side["left"], side["right"] = side["right"], side["left"]


def _without_assumption(proof: dict[str, Any]) -> None:
    proof["assumptions"] = []


def _other_bound(proof: dict[str, Any]) -> None:
    proof["bound"] = "1/2"


def _other_kind(proof: dict[str, Any]) -> None:
    proof["evidence"] = "program-proof"


@pytest.mark.parametrize(
    "edit",
    [
        _wider_range,
        _other_scope,
        _other_constant,
        _no_boxes,
        _no_combination,
        _sides_exchanged,
        _without_assumption,
        _other_bound,
        _other_kind,
    ],
)
def test_a_forged_proof_is_refused(result: dict[str, Any], edit: Callable[[dict[str, Any]], None]) -> None:
    forged = copy.deepcopy(result)
    proof = next(item for item in forged["evidence"] if item["evidence"] == "inequality-proof")
    edit(proof)
    assert proof not in result["evidence"]
    forged["scope"] = proof["scope"]
    assert not all(finding.ok for finding in verify_result(forged))


def test_the_proof_of_an_inequality_is_none_of_privacy(result: dict[str, Any]) -> None:
    """A privacy claim with such evidence is refused."""
    forged = copy.deepcopy(result)
    forged["claim"]["type"] = "statement"
    assert not all(finding.ok for finding in verify_result(forged))
