"""Test parts of the prover: exact forms, the check of a program's code, ``post``, refutations, solved
values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import scipy.stats as ss

from dpaudit.core.claims import PureDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Laplace
from dpaudit.kernel import program_t0
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols, post, prove
from dpaudit.prover.certificate import written_tree
from dpaudit.prover.explore import tightened
from dpaudit.prover.forms import Form, Row, symbol
from dpaudit.prover.linear import contradiction
from dpaudit.prover.whole_program import explore_program
from tests.errors import raises

X, Y = symbol("x0"), symbol("n0")
ONE = Fraction(1)


def test_comparisons_are_normalised_and_shown_forms_are_not() -> None:
    """2x <= 4 and x <= 2 are one row; 2x and x are two forms (G4)."""
    assert Row.of(X.times(2 * ONE).moved(-4 * ONE), strict=False) == Row.of(X.moved(-2 * ONE), strict=False)
    assert X.times(2 * ONE) != X
    assert hash(X.plus(Y)) == hash(Y.plus(X))


@pytest.mark.parametrize(("strict", "limit"), [(True, 1), (False, 1)])
def test_integer_rows_are_whole(strict: bool, limit: int) -> None:
    """Over integers, 2x < 3 and 2x <= 3 become x <= 1, and x < 1 becomes x <= 0 (G12)."""
    row = tightened(Row(Form({"x0": 2 * ONE}, -3 * ONE), strict), {"x0"})
    assert row == Row(X.moved(-limit * ONE), strict=False)
    assert tightened(Row(X.moved(-ONE), strict=True), {"x0"}) == Row(X, strict=False)


def test_a_point_is_empty_only_where_something_is_strict() -> None:
    """x <= 0 and x >= 0 has a point unless one is strict, and a gap of 1e-10 is not empty (G5)."""
    both = {"a": X, "b": X.times(-ONE)}
    assert contradiction(both, set()) is None
    assert contradiction(both, {"a"}) is not None
    assert contradiction({"a": X, "b": X.times(-ONE).moved(Fraction(-1, 10**10))}, {"a"}) is None


def bare(coins: Any, data: Any) -> Any:
    return coins.release(data[0], Laplace(scale=1), site="r")


def with_handler(coins: Any, data: Any) -> Any:
    try:
        return float(data[0])
    except Exception:
        return 0


def with_identity(coins: Any, data: Any) -> Any:
    return data[0] is data[0]


def with_type(coins: Any, data: Any) -> Any:
    return type(data[0]) is float


def with_import(coins: Any, data: Any) -> Any:
    import random

    return random.random()


@pytest.mark.parametrize("program", [with_handler, with_identity, with_type, with_import])
def test_code_that_could_hide_something_is_refused(program: Any) -> None:
    """Handlers, identity and type tests and imports are refused by name before the program runs."""
    proof = prove(program, PureDP(epsilon=1), data=Symbols(1), adjacency=EachMoves())
    assert proof.bound is None
    assert program.__name__ in proof.reason
    assert prove(bare, PureDP(epsilon=1), data=Symbols(1), adjacency=EachMoves()).verdict == "verified"


def larger(first: Any, second: Any) -> int:
    return 0 if first * first > second * second else 1


def picks(coins: Any, data: Any) -> Any:
    noise = Laplace(scale=2)
    a, b = coins.release(data[0], noise, site="a"), coins.release(data[1], noise, site="b")
    chosen = post(larger, a, b, choices=(0, 1))
    return coins.release(data[chosen], noise, site="c")


def picks_by_data(coins: Any, data: Any) -> Any:
    return post(larger, data[0], data[1], choices=(0, 1))


def test_post_explores_its_choices_and_refuses_private_values() -> None:
    """`post` explores its choices, costs nothing, and refuses private arguments."""
    proof = prove(picks, PureDP(epsilon=1), data=Symbols(2), adjacency=OneReplaced(by=1))
    assert (proof.verdict, proof.bound, proof.paths) == ("verified", 1, 2)
    refused = prove(picks_by_data, PureDP(epsilon=1), data=Symbols(2), adjacency=OneReplaced(by=1))
    assert "private" in refused.reason
    assert post(larger, 3, 2, choices=(0, 1)) == 0
    with raises(InvalidParameterError, code="E-POST-RESULT"):
        post(larger, 3, 2, choices=("0",))


def above(coins: Any, data: Any) -> bool:
    """Have a loss that reaches 2 far below the threshold."""
    return bool(data[0] + coins.draw(Laplace(scale="1/2"), site="n") >= 0)


def test_the_tree_of_a_declared_function_is_the_same_in_every_process() -> None:
    """The questions of `post` do not depend on the address of the function's code."""

    def made() -> Any:
        names: dict[str, Any] = {"post": post, "Laplace": Laplace}
        lines = "def first(a): return 0", "def second(a): return 1", "def program(coins, data):"
        body = (
            "a = coins.release(data[0], Laplace(scale=1), site='a')",
            *(
                f"coins.reveal(post({name}, a, choices=[0, 1]), site='b')"
                for name in ("first", "second", "first")
            ),
        )
        exec("\n".join([*lines, *(f"    {line}" for line in body)]), names)
        return names["program"]

    programs = [made(), made()]  # both are alive, so that their addresses differ
    trees = [written_tree(explore_program(program, Symbols(1))) for program in programs]
    assert trees[0] == trees[1]
    assert sum(node[0] == "fork" for node in trees[0]) == 3  # the third question is the first one


def test_a_ray_refutes_and_its_loss_is_the_closed_form() -> None:
    """A ray refutes with loss 2 per step, the closed form of exp(-2l)/2. Bounded data have no ray."""
    proof = prove(above, PureDP(epsilon="19/10"), data=Symbols(1), adjacency=EachMoves())
    assert (proof.verdict, proof.witness["loss"]) == ("refuted", "2")
    ends = [float(Fraction(proof.witness["start"]["x0"])) * 2]
    ends.append(ends[0] + 2 * proof.witness["steps"] * float(proof.witness["change"]["x0"]))
    yes = proof.witness["outcome"][0] == "('bool:True',)"
    first, last = (ss.laplace.logsf(0, loc=x) if yes else ss.laplace.logcdf(0, loc=x) for x in ends)
    assert abs(first - last) > 1.9 * proof.witness["steps"]  # so one of the steps loses more than 1.9
    assert math.log(0.5 * math.exp(-2 * 3)) - math.log(0.5 * math.exp(-2 * 4)) == pytest.approx(2)
    inside = prove(above, PureDP(epsilon="19/10"), data=Symbols(1, low=0, high=1), adjacency=OneReplaced())
    assert (inside.verdict, inside.bound) == ("inconclusive", 2)


def coin_of_scales(coins: Any, data: Any) -> Any:
    """Choose the scale 2 or 2/3 by a hidden coin (G14 d)."""
    fair = coins.draw(Laplace(scale=1), site="coin")
    wide, narrow = Laplace(scale=2), Laplace(scale="2/3")
    noise = coins.draw(wide, site="n") if fair >= 0 else coins.draw(narrow, site="n")
    return bool(data[0] + noise >= 0)


def test_between_least_and_largest_cell_nothing_is_refuted() -> None:
    """Claims between the least cell (1/2) and the largest (3/2) are inconclusive, where the true loss is
    0.892."""
    found = {
        eps: prove(coin_of_scales, PureDP(epsilon=eps), data=Symbols(1), adjacency=EachMoves()).verdict
        for eps in ("2/5", "1", "3/2")
    }
    assert found == {"2/5": "refuted", "1": "inconclusive", "3/2": "verified"}


def gap(coins: Any, data: Any) -> list[Any]:
    """Show the winner and its lead over the second."""
    noise = Laplace(scale=2)
    values = [q + coins.draw(noise, site="q") for q in data]
    first = 0
    for i in range(1, len(values)):
        if values[i] > values[first]:
            first = i
    second = None
    for i in range(len(values)):
        if i != first and (second is None or values[i] > second):
            second = values[i]
    return [first, values[first] - second]


def test_a_shown_gap_is_solved_for_a_draw() -> None:
    """A change of variables proves 1 for four queries, where shifts alone prove 2. Forgeries are refused."""
    proof = prove(gap, PureDP(epsilon=1), data=Symbols(4), adjacency=EachMoves())
    assert (proof.verdict, proof.bound) == ("verified", 1)
    cells = [cell for cell in proof.certificate["cells"] if "solved" in cell]
    assert cells
    for field, forged in (("cost", "1/2"), ("apart", {}), ("cover", {}), ("pairs", {}), ("solved", "n9")):
        changed = {**proof.certificate, "cells": [{**cell, field: forged} for cell in cells]}
        with pytest.raises(program_t0.ProgramProofError):
            program_t0.check(changed)


def test_wrong_questions_are_refused() -> None:
    """Reversed bounds, symbols of every size and unbounded replaced records are refused."""
    with raises(InvalidParameterError, code="E-BOUNDS-ORDER"):
        Symbols(2, low=1, high=0)
    with raises(InvalidParameterError, code="E-SIZE-NOT-FIXED"):
        _ = Symbols(EVERY).numbers
    with raises(InvalidParameterError, code="E-DATA-UNBOUNDED"):
        OneReplaced().pieces(Symbols(2))


def test_a_proof_prints_what_it_says_and_not_its_certificate() -> None:
    """A proof prints its verdict, scope and bound, but not its certificate."""

    def released(coins: Any, data: Any) -> Any:
        return coins.release(data[0], Laplace(scale=1), site="sum")

    def shown(coins: Any, data: Any) -> Any:
        return data[0]

    found = [prove(p, PureDP(epsilon=1), data=Symbols(1), adjacency=EachMoves()) for p in (released, shown)]
    assert str(found[0]).splitlines()[1:] == ["  proved bound 1"]
    assert str(found[0]).startswith("VERIFIED: all data of N = 1 numbers")
    assert "certificate" not in str(found[1])
    assert str(found[1]).splitlines()[1] == "  no bound is known"


def test_a_bound_that_misses_by_a_float_says_so() -> None:
    """A bound that exceeds the claim by the rounding of 1 / 3 gives a hint."""

    def mean(coins: Any, data: Any) -> Any:
        return coins.release(sum(data) / 3, Laplace(scale=1 / 3), site="mean")

    found = prove(mean, PureDP(epsilon=1), data=Symbols(3, low=0, high=1), adjacency=OneReplaced())
    assert found.verdict == "refuted"
    assert "write Fraction(1, 3), not 1 / 3" in found.reason
