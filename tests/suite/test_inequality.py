"""Inequality rows: rigorous ends, the worst point, and no verdict about a grid that was not computed."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.core.evidence import Estimate
from dpaudit.core.row_verdicts import judge_row
from dpaudit.core.suite import Group, Row, Run
from dpaudit.core.verdicts import judge
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Chain, Constant, Sides, Step, full, inequality, over, step, steps
from tests.errors import raises

QUICK = Run(profile="quick", alpha=0.05, seed=0, row_id="X")


def judged(row: Row, run: Run = QUICK) -> tuple[str, Estimate]:
    outcome = row.evaluate(run)
    (estimate,) = outcome.evidence
    assert isinstance(estimate, Estimate)
    return judge(row.claim, outcome.evidence, alpha=run.alpha).verdict.value, estimate


def bernoulli(h: Fraction) -> tuple[Group, Row]:
    rows = Group()

    @inequality(rows, "B", "Bernoulli's inequality", over=over(n=(1, 2, 7, full(50)), x="0 1/10 1"), h=h)
    def power(n: int, x: Fraction, h: Fraction) -> Sides:
        """1 + {h} n x is at most (1 + x)^n, max{n, x} of any size

        Compute both.

        Proof: by induction
        """
        return 1 + h * n * x, (1 + ball(x)) ** n

    return rows, rows.rows[0]


def test_a_true_inequality_is_verified_at_every_point() -> None:
    """Nine points, the largest ratio 1 where both sides are equal."""
    _, row = bernoulli(Fraction(1, 2))
    verdict, estimate = judged(row)
    assert verdict == "verified"
    assert estimate.samples == 9
    assert estimate.lower == estimate.upper == 1.0
    assert row.title == "1 + 1/2 n x is at most (1 + x)^n, max{n, x} of any size"
    assert estimate.scope == "n = 1, 2, 7 (full profile: 50); x = 0, 1/10, 1"
    assert row.evaluate.__doc__ == "Compute both."
    assert list(row.evaluate(QUICK).notes) == ["proof: by induction"]


def test_two_exact_sides_are_compared_exactly() -> None:
    """Equal fractions that no ball holds: the ratio is 1, not a ball around it."""
    rows = Group()

    @inequality(rows, "Q", "here", over=over(n=(3, 7, 10)))
    def equal(n: int) -> Sides:
        """1/n is at most 1/n"""
        return Fraction(1, n), Fraction(1, n)

    verdict, estimate = judged(rows.rows[0])
    assert (verdict, estimate.lower, estimate.upper) == ("verified", 1.0, 1.0)


def test_a_false_one_is_refuted_at_a_named_point() -> None:
    """Against enumeration: the worst ratio over the grid, and where it is."""
    _, row = bernoulli(Fraction(2))
    verdict, estimate = judged(row)
    ratios = {
        (n, x): (1 + 2 * n * x) / (1 + x) ** n
        for n, x in itertools.product((1, 2, 7), (Fraction(0), Fraction(1, 10), Fraction(1)))
    }
    worst = max(ratios, key=lambda key: ratios[key])
    assert verdict == "refuted"
    assert estimate.lower == pytest.approx(float(ratios[worst]), rel=1e-12)
    assert f"n = {worst[0]}, x = {worst[1]}" in row.evaluate(QUICK).notes[0]


def test_decorators_stack_on_one_function() -> None:
    """Printed and repaired from the same function, each with its own parameter, words, title and
    expectation."""
    rows = Group()

    @inequality(rows, "P/repaired", "", h=Fraction(1, 2), role="repaired", case="as the proof shows")
    @inequality(rows, "P", "", h=Fraction(2), expect="refuted", case="as printed")
    def radius(h: Fraction) -> Sides:
        """The radius with h² = {h}, {case}"""
        return 4 * h, 2

    assert [(row.id, row.title, row.role) for row in rows.rows] == [
        ("P", "The radius with h² = 2, as printed", "printed"),
        ("P/repaired", "The radius with h² = 1/2, as the proof shows", "repaired"),
    ]
    assert [judged(row)[0] for row in rows.rows] == ["refuted", "verified"]


def test_a_group_names_the_kind_of_its_inequalities() -> None:
    """A row is of its group's kind, "structure" without one, unless it names its own."""
    tails, plain = Group(kind="tail"), Group()

    @inequality(plain, "C", "")
    @inequality(tails, "B", "", kind="utility")
    @inequality(tails, "A", "")
    def half() -> Sides:
        """1 <= 2"""
        return 1, 2

    assert [(row.id, row.kind) for row in (*tails.rows, *plain.rows)] == [
        ("A", "tail"),
        ("B", "utility"),
        ("C", "structure"),
    ]


def test_the_worst_step_decides_and_is_named() -> None:
    """One false step among true ones refutes the row."""
    rows = Group()

    @step(over=over(k=range(3)))
    def holds(k: int) -> Sides:
        """k <= k + 1"""
        return k, k + 1

    @step("fails once", over=over(k=range(3)))
    def fails(k: int) -> Sides:
        """k² <= 2"""
        return k * k, 2

    @steps(rows, "S", "here")
    def both() -> list[Step]:
        """Two steps"""
        return [holds, fails]

    verdict, estimate = judged(rows.rows[0])
    assert (verdict, estimate.lower, estimate.samples) == ("refuted", 2.0, 6)
    assert rows.rows[0].evaluate(QUICK).notes[0].startswith("fails once fails: left / right = 2 at k = 2")


def test_differences_are_held_against_zero() -> None:
    """Where a side may be negative, left - right is the measure."""
    rows = Group()

    @inequality(rows, "D", "here", measure="left - right", over=over(x="-2 -1 1"))
    def cube(x: Fraction) -> Sides:
        """x³ <= x + 5"""
        return x**3, x + 5

    verdict, estimate = judged(rows.rows[0])
    assert (verdict, estimate.lower, estimate.upper) == ("verified", -5.0, -5.0)


@pytest.mark.parametrize(
    ("left", "right", "code"),
    [
        (1, 0, "E-SIDE-NOT-POSITIVE"),
        (arb("nan"), 1, "E-SIDE-NOT-FINITE"),
        (arb("inf"), 1, "E-SIDE-NOT-FINITE"),
    ],
)
def test_sides_that_say_nothing_crash_the_row(left: object, right: object, code: str) -> None:
    """A right side that may be 0, or a side that is not finite, gives no verdict."""
    rows = Group()

    @inequality(rows, "C", "here")
    def sides() -> Sides:
        """Broken"""
        return left, right

    with raises(UndecidedError, code=code):
        rows.rows[0].evaluate(QUICK)


def test_a_grid_without_a_point_crashes_the_row() -> None:
    """Nothing computed is not verified."""
    rows = Group()

    @inequality(rows, "E", "here", over=over(n=(1, 2)).where(lambda n: n > 5, "n above 5"))
    def sides(n: int) -> Sides:
        """Nothing"""
        return 0, 1

    with raises(UndecidedError, code="E-GRID-EMPTY"):
        rows.rows[0].evaluate(QUICK)


def test_a_row_needs_a_docstring() -> None:
    """A row without a title is refused when it is made."""
    with raises(InvalidParameterError, code="E-ROW-NO-DOCSTRING"):

        @inequality(Group(), "N", "here")
        def sides() -> Sides:
            return 0, 1


def test_the_worst_inequality_of_a_chain_decides() -> None:
    """Of several inequalities at the same points each is named with its own worst point, and one false one
    refutes."""
    rows = Group()

    @inequality(rows, "CH", "here", over=over(n=(1, 3, 2)))
    def powers(n: int) -> Chain:
        """Two inequalities, the second of them false from 3 on"""
        return {"n ≤ 4": (n, 4), "n² ≤ 4n − 4": (n**2, max(4 * n - 4, 1))}

    verdict, estimate = judged(rows.rows[0])
    assert (verdict, estimate.lower, estimate.upper) == ("refuted", 1.125, 1.125)
    assert estimate.samples == 6
    assert estimate.details == {"n ≤ 4": "n = 3", "n² ≤ 4n − 4": "n = 3"}
    notes = rows.rows[0].evaluate(QUICK).notes
    assert [note for note in notes if "fails" in note] == ["n² ≤ 4n − 4 fails: left / right = 1.125 at n = 3"]


def test_a_chain_without_an_inequality_crashes_the_row() -> None:
    """Nothing compared is not verified."""
    rows = Group()

    @inequality(rows, "CE", "here", over=over(n=(1, 2)))
    def nothing(n: int) -> Chain:
        """Nothing"""
        return {}

    with raises(UndecidedError, code="E-GRID-EMPTY"):
        rows.rows[0].evaluate(QUICK)


def test_a_constant_is_stated_and_not_claimed() -> None:
    """A ratio of 50 beside a true inequality refutes nothing; the note says where it is; alone it says
    nothing."""
    rows = Group()

    @inequality(rows, "CO", "here", over=over(n=(1, 5, 2)))
    def powers(n: int) -> Chain:
        """A true inequality, and what its O(.) hides"""
        return {"n ≤ 5": (n, 5), "10 n over 1": Constant(10 * n, 1)}

    verdict, estimate = judged(rows.rows[0])
    assert (verdict, estimate.lower, estimate.upper) == ("verified", 1.0, 1.0)
    assert rows.rows[0].evaluate(QUICK).notes == ["on this grid 10 n over 1 is at most 50, attained at n = 5"]

    @inequality(rows, "CA", "here")
    def alone() -> Chain:
        """Nothing claimed"""
        return {"10 over 1": Constant(10, 1)}

    with raises(UndecidedError, code="E-GRID-EMPTY"):
        rows.rows[1].evaluate(QUICK)


def test_steps_as_cells_have_verdicts_of_their_own() -> None:
    """One step fails and one holds: each cell says so, with its own grid, and the row is refuted."""
    rows = Group()

    @step("below one", over=over(x="1/4 1/2"))
    def small(x: Fraction) -> Sides:
        """x² <= x/2"""
        return x * x, x / 2

    @step("from one on", over=over(x="1 3"), expect="refuted")
    def large(x: Fraction) -> Sides:
        """x² <= x/2, again"""
        return x * x, x / 2

    @steps(rows, "C", "cells", cells=True, expect="refuted")
    def both() -> list[Step]:
        """Squares are at most halves"""
        return [small, large]

    outcome = rows.rows[0].evaluate(QUICK)
    assert [cell.name for cell in outcome.cells] == ["below one", "from one on"]
    assert [cell.claim.in_words() for cell in outcome.cells] == [
        "x² <= x/2; at every point of the grid x = 1/4, 1/2",
        "x² <= x/2, again; at every point of the grid x = 1, 3",
    ]
    whole = judge_row(rows.rows[0].claim, outcome.evidence, outcome.cells, unmet=(), alpha=0.05)
    assert whole.whole.judgement.verdict == "refuted"
    assert [cell.judgement.verdict.value for cell in whole.cells] == ["verified", "refuted"]
    assert [float(cell.judgement.lower or 0) for cell in whole.cells] == [1.0, 6.0]
