"""Attempts to make a row state something false are refused.

They use settings that look the same, NaN, leaves that share a name, sides that round, and mutants that change
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import rounded_down, rounded_up
from dpaudit.core.suite import Group
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import (
    Chain,
    Constant,
    Control,
    Expression,
    Measured,
    Sides,
    broken,
    constant,
    controls,
    evidence,
    expected,
    inequality,
    leaf,
    listed,
    over,
    privacy,
    shared,
    twice,
)
from dpaudit.suite.expected import evaluated
from dpaudit.suite.regret.intervals import Interval
from dpaudit.suite.tables import largest_of
from tests.errors import raises
from tests.suite.test_row_kinds import RUN, audit_at, found

INFINITE = math.inf


def of(value: Expression) -> Interval:
    """The interval of an expression."""
    (interval,), _ = evaluated(RUN, [value], alpha=0.1)
    return interval


# Settings


def test_settings_that_share_a_name_are_refused() -> None:
    """One of them would stand for both: an audit at a ninth of the noise behind the name of a right one."""
    rows = Group()

    @privacy(rows, "N", "here", over=over(scale="1/9 1"), name=lambda scale: "ε = 1")
    def named(scale: Fraction) -> PrivacyAudit:
        """Two settings under one name"""
        return audit_at(Fraction(1), scale)

    with raises(InvalidParameterError, code="E-SETTING-TWICE"):
        found(rows.rows[0])


def test_settings_that_are_printed_alike_keep_their_own_audits() -> None:
    """Two long tuples differ in a place that is not printed: refused, never merged."""
    weights = (1,) * 14, (1,) * 5 + (Fraction(1, 9),) + (1,) * 8
    rows = Group()

    @privacy(rows, "T", "here", over=listed("weights", *weights))
    def long(weights: tuple[Any, ...]) -> PrivacyAudit:
        """Two long settings"""
        return audit_at(Fraction(1), Fraction(min(weights)))

    with raises(InvalidParameterError, code="E-SETTING-TWICE"):
        found(rows.rows[0])


def test_floats_are_printed_with_all_their_digits() -> None:
    """A scope names the points that were computed, not their neighbours."""
    assert over(x=(999999.7, 0.3, 2.0)).scope == "x = 999999.7, 0.3, 2"


# Expressions


def test_an_indefinite_end_is_no_bound() -> None:
    """Zero times infinity, and infinity minus infinity, bound nothing, and no other point hides them."""
    wide = leaf("wide", lambda run, alpha: Interval(-INFINITE, INFINITE, 0.0))
    narrow = leaf("narrow", lambda run, alpha: Interval(0.0, 1.0, 0.5))
    assert of(narrow * wide).high == INFINITE
    assert of(constant(INFINITE) - constant(INFINITE)).high == INFINITE
    rows = Group()

    @expected(rows, "H", "here", at_most="6/10", over=over(i="1 2"))
    def hidden(i: int) -> Expression:
        """One point has no bound"""
        return constant(0.5) if i == 1 else narrow * wide + constant(0.9)

    result = found(rows.rows[0])
    assert (result["verdict"], result["upper"]) == ("inconclusive", None)


def test_an_interval_that_is_none_is_refused() -> None:
    """Ends that are NaN or out of order are refused."""
    for low, high in ((math.nan, 1.0), (0.0, math.nan), (2.0, 1.0)):
        with raises(UndecidedError, code="E-INTERVAL-ORDER"):
            Interval(low, high, 1.0)


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (constant(10**16) + 1 - 10**16, 1),
        (constant(Fraction(1, 10**400)), Fraction(1, 10**400)),
        (constant(Fraction(1, 10**200)) * constant(Fraction(1, 10**200)), Fraction(1, 10**400)),
        (constant(Fraction(1, 3)) + Fraction(1, 3) + Fraction(1, 3), 1),
        (1 - constant(Fraction(1, 10)), Fraction(9, 10)),
        (-constant(Fraction(1, 10)), Fraction(-1, 10)),
        (sum([constant(Fraction(1, 10))] * 3, constant(0)), Fraction(3, 10)),
    ],
)
def test_the_exact_value_lies_between_the_ends(value: Expression, truth: Fraction | int) -> None:
    """Each operation is rounded outward: against fractions."""
    interval = of(value)
    assert Fraction(interval.low) <= truth <= Fraction(interval.high)


def test_leaves_with_one_key_bound_one_thing() -> None:
    """Two coins of different weight under one key: the second would never be bounded. The same one twice is
    one."""

    def coin(weight: float, key: str) -> Expression:
        return leaf(key, lambda run, alpha: Interval(weight, weight, weight))

    with raises(InvalidParameterError, code="E-LEAF-KEY-TWICE", match="'coin'"):
        evaluated(RUN, [coin(1.0, "coin"), coin(10.0, "coin")], alpha=0.1)
    _, known = evaluated(RUN, [coin(1.0, "coin"), coin(1.0, "coin")], alpha=0.1)
    assert len(known) == 1


# Measured numbers


@pytest.mark.parametrize(
    ("low", "high"), [(math.nan, 1), (0, math.nan), (INFINITE, 4), (INFINITE, INFINITE), (2, 1)]
)
def test_measured_bounds_are_bounds(low: float, high: float) -> None:
    """Bounds that are NaN, out of order or infinite from below are refused."""
    with raises(InvalidParameterError, code="E-MEASURED-BOUNDS"):
        Measured(low=low, high=high)


@pytest.mark.parametrize(
    "value", [Fraction(1, 10), Fraction(10**17 + 1), Fraction(1, 10**400), Fraction(10**400)]
)
def test_fractions_are_rounded_outward(value: Fraction) -> None:
    """As bounds of an estimate, by both ways to state one: never inwards."""
    low, high = rounded_down(value), rounded_up(value)
    assert Fraction(low) <= value
    assert high == INFINITE or value <= Fraction(high)
    exactly = Estimate.exactly(value, quantity="x", samples=1, method="m", scope="s")
    assert (exactly.lower, exactly.upper) == (low, high)
    rows = Group()

    @evidence(rows, "F", "here", at_most=10**17, quantity="x")
    def number(run: Any) -> Measured:
        """A number"""
        return Measured(low=value, high=value)

    if value == 10**17 + 1:
        assert found(rows.rows[0])["verdict"] not in ("verified", "consistent")


def test_several_simulated_bounds_are_not_stated_better_than_they_were_computed() -> None:
    """Each is stated at the level that the function was given: two of them together do not decide."""
    rows = Group()

    @evidence(rows, "S", "here", at_most=1, quantity="x")
    def simulated(run: Any) -> list[Measured]:
        """Two bounds, each at the row's level"""
        return [Measured(low=0, high=0.5, exact=False, method="simulation") for _ in range(2)]

    result = found(rows.rows[0])
    assert [item["confidence"] for item in result["evidence"]] == [1 - RUN.alpha] * 2
    assert result["verdict"] == "inconclusive"


def test_a_table_with_a_number_that_is_none_has_no_largest_entry() -> None:
    """NaN sorts anywhere."""
    with raises(UndecidedError, code="E-ENTRY-NAN"):
        largest_of([(1, 0.5), (2, math.nan)], columns=["k", "x"], rounding=0, method="m", scope="s")
    negative = largest_of([(1, -1.0), (2, -2.0)], columns=["k", "x"], rounding=0.1, method="m", scope="s")
    assert (negative.low, negative.high) == (-1.1, -0.9)


# Inequalities


@pytest.mark.parametrize("measure", ["left / right", "left - right"])
def test_a_side_that_is_a_float_is_refused(measure: Any) -> None:
    """A float side is refused, because 0.1 + 0.2 is not 3/10."""
    rows = Group()

    @inequality(rows, "D", "here", measure=measure)
    def sides() -> Sides:
        """3/10 is at most 0.1 + 0.2"""
        return Fraction(3, 10), 0.1 + 0.2

    with raises(UndecidedError, code="E-SIDE-FLOAT"):
        rows.rows[0].evaluate(RUN)


def test_a_chain_says_the_same_at_every_point() -> None:
    """A chain whose claimed inequalities differ between points is refused."""

    def stated(n: int) -> Chain:
        """Mixed"""
        return {"a": Constant(1, 1) if n == 1 else (5, 1), "b": (0, 1)}

    def left_out(n: int) -> Chain:
        """Partly"""
        return {"n <= 1": (n, 1), "0 <= 1": (0, 1)} if n == 1 else {"0 <= 1": (0, 1)}

    for function in (stated, left_out):
        rows = Group()
        inequality(rows, "C", "here", over=over(n=(1, 2)))(function)
        with raises(UndecidedError, code="E-CHAIN-DIFFERS"):
            rows.rows[0].evaluate(RUN)


def test_numbers_of_numpy_are_numbers() -> None:
    """They neither crash a row nor wrap in it."""
    rows = Group()

    @inequality(rows, "N", "here", over=over(n=np.arange(1, 42, 10), x=(np.int64(3),)))
    def powers(n: int, x: int) -> Sides:
        """1 + n x is at most (1 + x)^n"""
        return 1 + n * x, (1 + x) ** n

    assert found(rows.rows[0])["verdict"] == "verified"


# Controls


def test_a_mutation_that_changes_nothing_is_no_control() -> None:
    """A site that is not there, and shared noise where nothing is an array: the row crashes by name."""
    audit = audit_at(Fraction(1), Fraction(1, 2))  # wrong already: refuted without any mistake of the mutant
    for mutation in (twice("no-such-site"), shared()):
        rows = Group()

        def table(mutation: Any = mutation) -> Mapping[str, Control]:
            """Caught"""
            return {"nothing": broken(audit, mutation)}

        controls(rows, "M", "here")(table)
        result = found(rows.rows[0])
        assert (result["verdict"], result["cells"][0]["verdict"]) == ("crashed", "crashed")
        assert "the control nothing crashed: a mutation must change what" in result["reasons"][0]


# What a decorator is told


def test_names_that_do_not_fit_are_refused_when_the_suite_is_built() -> None:
    """A misspelt axis, a misspelt keyword, a brace that nothing fills, a number that is none."""

    def power(n: int) -> Sides:
        """n is at most {n}"""
        return n, n

    def plain(n: int, k: int = 1) -> Sides:
        """n is at most n"""
        return n, n

    for options in ({"over": over(m=(1, 2))}, {"over": over(n=(1, 2)), "rolle": "step"}):
        with raises(InvalidParameterError, code="E-ROW-PARAMETERS"):
            inequality(Group(), "X", "here", **options)(plain)  # type: ignore[arg-type]
    with raises(InvalidParameterError, code="E-ROW-BRACES"):
        inequality(Group(), "X", "here", over=over(n=(1, 2)))(power)
    with raises(InvalidParameterError, code="E-GRID-AXIS-MIXED"):
        over(x="0.5 abc")


def test_an_error_says_at_which_point_it_came_up() -> None:
    """A function that fails at one of its points."""
    rows = Group()

    @inequality(rows, "Z", "here", over=over(n=(1, 0)))
    def inverse(n: int) -> Sides:
        """1 is at most 1/n"""
        return 1, Fraction(1, n)

    result = found(rows.rows[0])
    assert result["cells"][0]["error"] == "ZeroDivisionError: Fraction(1, 0) (at n = 0)"
    assert "in inverse" in result["cells"][0]["traceback"]
