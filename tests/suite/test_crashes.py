"""A point that raises crashes its row, says why, and loses no other point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.evidence import Evidence
from dpaudit.core.suite import Group, Run
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import (
    Control,
    Expression,
    Measured,
    Sides,
    Step,
    controls,
    evidence,
    expected,
    inequality,
    over,
    privacy,
    step,
    steps,
)
from dpaudit.suite.crashes import NAMED
from tests.cli.suites import VERIFIED, by_id, invoke, run, write_suite
from tests.report.sample import page_of
from tests.suite.test_row_kinds import audit_at, claim_at, found, known, verdicts


def test_a_cell_of_evidence_keeps_the_others() -> None:
    """4 is at most 5, not at most 3, and at 0 the function raises."""
    rows = Group()

    @evidence(rows, "E", "here", claim=claim_at, over=over(limit=(5, 0, 3)))
    def four(run: Run, limit: int) -> Measured:
        """Four is at most each limit"""
        return Measured(low=4, high=4 + 0 // limit)

    assert found(rows.rows[0])["verdict"] == "crashed"
    assert verdicts(rows.rows[0]) == {"limit = 5": "verified", "limit = 0": "crashed", "limit = 3": "refuted"}


def test_a_setting_of_a_program_keeps_the_others() -> None:
    """Pairs that cannot be made at one setting."""
    rows = Group()

    @privacy(rows, "P", "here", over=over(epsilon="1 2"), accounting="")
    def sums(epsilon: Fraction) -> PrivacyAudit:
        """A noisy sum is ε-DP"""
        audit = audit_at(epsilon, Fraction(1, 4))
        if epsilon == 2:
            object.__setattr__(audit, "neighbours", lambda run: [])
        return audit

    result = found(rows.rows[0])
    assert verdicts(rows.rows[0]) == {"ε = 1": "refuted", "ε = 2": "crashed"}
    assert "at least one pair" in result["cells"][1]["error"]


def test_a_control_that_raises_is_named() -> None:
    """The others are judged, and the row is neither verified nor refuted."""
    rows = Group()

    def raising(run: Run) -> list[Evidence]:
        raise ValueError("no such distribution")

    def high(run: Run) -> list[Evidence]:
        return [Measured(low=6, high=6).estimate(claim_at(5), run, scope="all")]

    @controls(rows, "C", "here")
    def table() -> Mapping[str, Control]:
        """Mistakes are caught"""
        return {
            "raises": Control(claim=claim_at(5), evaluate=raising),
            "wrong": Control(claim=claim_at(5), evaluate=high),
        }

    result = found(rows.rows[0])
    assert result["verdict"] == "crashed"
    assert verdicts(rows.rows[0]) == {"raises": "crashed", "wrong": "refuted"}
    assert result["reasons"] == ["the control raises crashed: ValueError: no such distribution"]


def inverse(n: int) -> Sides:
    """1/n is at most 1"""
    return Fraction(1, n), 1


@pytest.mark.parametrize("values", [(1, 0, 2), (0, 1, 2), (1, 2, 0)])
def test_a_point_of_an_inequality_keeps_the_others(values: tuple[int, ...]) -> None:
    """Whatever their order: the bounds are those of the points that are left, and do not cover the claim."""
    rows = Group()
    inequality(rows, "I", "here", over=over(n=values))(inverse)
    result = found(rows.rows[0])
    assert (result["verdict"], result["lower"], result["upper"]) == ("crashed", 1.0, None)
    assert verdicts(rows.rows[0]) == {"n = 0": "crashed"}
    assert result["evidence"][0]["covers_claim"] is False
    assert "without the points that raised" in result["evidence"][0]["scope"]


def test_a_false_point_stands_beside_a_crashed_one() -> None:
    """What is false is said, by its point, though the row crashed."""
    rows = Group()

    @inequality(rows, "I", "here", over=over(n=(0, 3)))
    def smaller(n: int) -> Sides:
        """n is at most 1, and divides 12"""
        return n + 12 % n, 1

    result = found(rows.rows[0])
    assert (result["verdict"], result["lower"]) == ("crashed", 3.0)
    assert any("fails: left / right = 3 at n = 3" in note for note in result["notes"])


def test_many_points_that_raise_are_counted() -> None:
    """The first ones are cells, the rest one more; with no point left there is no evidence."""
    rows = Group()
    inequality(rows, "I", "here", over=over(n=tuple(range(NAMED + 5)), k=(0,)))(_never)
    cells = found(rows.rows[0])["cells"]
    assert len(cells) == NAMED + 1
    assert cells[-1]["name"] == "5 more points that raised"
    assert found(rows.rows[0])["evidence"] == []


def _never(n: int, k: int) -> Sides:
    """n / 0 is at most 1"""
    return Fraction(n, k), 1


def test_points_without_a_name_of_their_own_get_a_number() -> None:
    """A point given twice, one in letters that a cell must not have, one too long."""
    rows = Group()
    inequality(rows, "I", "here", over=over(n=("а", "b", "b", "c" * 300)))(_of_a_word)
    names = [cell["name"] for cell in found(rows.rows[0])["cells"]]
    numbered = [f"point {k} of those that raised" for k in (1, 3, 4)]
    assert names == [numbered[0], "n = b", *numbered[1:]]


def _of_a_word(n: str) -> Sides:
    """Words have no inverse"""
    return Fraction(1, len(n) - len(n)), 1


def test_steps_keep_their_cells() -> None:
    """A row whose steps are cells: the step with a bad point is open at the others, the other one holds."""
    rows = Group()

    @steps(rows, "S", "here", cells=True)
    def both() -> list[Step]:
        """Inverses"""
        return [step("bad", over=over(n=(1, 0)))(inverse), step("good", over=over(n=(1, 2)))(inverse)]

    assert found(rows.rows[0])["verdict"] == "crashed"
    assert verdicts(rows.rows[0]) == {"bad": "inconclusive", "bad: n = 0": "crashed", "good": "verified"}


def test_a_point_of_an_expectation_keeps_the_others() -> None:
    """In the function, in a leaf that two points share, and in what is made of the leaves."""
    for where, fallen in (("function", {"k = 1"}), ("leaf", {"k = 1", "k = 2"}), ("value", {"k = 3"})):
        rows = Group()

        def raising(run: Run, alpha: float) -> Any:
            raise ValueError("no bound")

        @expected(rows, "E", "here", at_most=10, over=over(k=(1, 2, 3, 4)))
        def ratio(k: int, where: str = where, raising: Any = raising) -> Expression:
            """k, known within a tenth"""
            from dpaudit.suite import leaf

            if where == "function" and k == 1:
                raise ValueError("no such instance")
            if where == "leaf" and k < 3:
                return leaf("shared", raising)
            return known(f"k = {k}", float(k)) / (0 if where == "value" and k == 3 else 1)

        result = found(rows.rows[0])
        assert result["verdict"] == "crashed"
        assert {name for name, verdict in verdicts(rows.rows[0]).items() if verdict == "crashed"} == fallen
        assert (result["lower"], result["upper"]) == (pytest.approx(3.9), None)
        assert result["evidence"][0]["upper"] == pytest.approx(4.1)
        assert result["evidence"][0]["covers_claim"] is False


GRID = """
from dpaudit.suite import Measured, evidence, over
from dpaudit.core.claims import Ordering

def at_most(limit):
    return Ordering(text=f"at most {limit}", quantity_name="n", claimed=limit)

@evidence(suite, "grid", "here", claim=at_most, over=over(limit=(5, 0)))
def four(run, limit):
    \"\"\"Four is at most each limit\"\"\"
    if not limit:
        raise ArithmeticError("no limit")
    return Measured(low=4, high=4)
"""


def test_a_run_says_which_point_crashed_and_verify_agrees(tmp_path: Path) -> None:
    """Exit code 3; the report, the page and the terminal have the error and the other point's verdict."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", GRID, VERIFIED)
    result, report = run(suite)
    assert result.exit_code == 3
    row = by_id(report)["grid"]
    assert [cell["verdict"] for cell in row["cells"]] == ["verified", "crashed"]
    error = "ArithmeticError: no limit (at limit = 0)"
    assert row["cells"][1]["error"] == error
    assert error in " ".join(result.output.split())
    page = page_of(report)
    assert "The other parts keep their results" in page
    assert "no limit (at limit = 0)" in page
    file = tmp_path / "audits" / "dpaudit-report.json"
    checked = invoke("verify", file)
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    "edit",
    [
        lambda cell: cell.update(verdict="verified"),
        lambda cell: cell.pop("error"),
        lambda cell: cell.update(error="another error"),
        lambda cell: cell.update(error=7),
        lambda cell: cell.update(lower=1.0),
    ],
    ids=["verdict", "no error", "another error", "no words", "a bound"],
)
def test_a_crashed_cell_cannot_be_edited_away(edit: Any, tmp_path: Path) -> None:
    """Any field of it that a reader is shown is held against the others."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", GRID)
    _, report = run(suite)
    edit(report["results"][0]["cells"][1])
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    assert invoke("verify", file).exit_code != 0
