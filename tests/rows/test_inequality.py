"""Inequality rows: rigorous ends, the worst point, and no verdict about a grid that was not computed."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dpaudit.errors import InvalidParameterError, UndecidedError
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball
from dpaudit.rows import Sides, Step, full, inequality, over, step, steps
from dpaudit.suite import Group, Row, Run
from dpaudit.verdicts import judge

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
    """Printed and repaired from the same function, each with its own parameter, title and expectation."""
    rows = Group()

    @inequality(rows, "P/repaired", "", h=Fraction(1, 2), role="repaired")
    @inequality(rows, "P", "", h=Fraction(2), expect="refuted")
    def radius(h: Fraction) -> Sides:
        """The radius with h² = {h}"""
        return 4 * h, 2

    assert [(row.id, row.title, row.role) for row in rows.rows] == [
        ("P", "The radius with h² = 2", "printed"),
        ("P/repaired", "The radius with h² = 1/2", "repaired"),
    ]
    assert [judged(row)[0] for row in rows.rows] == ["refuted", "verified"]


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
    ("left", "right", "words"),
    [
        (1, 0, "certainly positive|must be positive"),
        (arb("nan"), 1, "must be finite"),
        (arb("inf"), 1, "finite"),
    ],
)
def test_sides_that_say_nothing_crash_the_row(left: object, right: object, words: str) -> None:
    """A right side that may be 0, or a side that is not finite, gives no verdict."""
    rows = Group()

    @inequality(rows, "C", "here")
    def sides() -> Sides:
        """Broken"""
        return left, right

    with pytest.raises(UndecidedError, match=words):
        rows.rows[0].evaluate(QUICK)


def test_a_grid_without_a_point_crashes_the_row() -> None:
    """Nothing computed is not verified."""
    rows = Group()

    @inequality(rows, "E", "here", over=over(n=(1, 2)).where(lambda n: n > 5, "n above 5"))
    def sides(n: int) -> Sides:
        """Nothing"""
        return 0, 1

    with pytest.raises(UndecidedError, match="must have a point"):
        rows.rows[0].evaluate(QUICK)


def test_a_row_needs_a_docstring() -> None:
    """A row without a title is refused when it is made."""
    with pytest.raises(InvalidParameterError, match="must have a docstring"):

        @inequality(Group(), "N", "here")
        def sides() -> Sides:
            return 0, 1
