"""Inequalities between expressions for tests: built from terms, searched, and evaluated by other code."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.kernel.ball import arb, ball
from dpaudit.kernel.inequalities.check import FORMAT, PROOF, Traced
from dpaudit.kernel.inequalities.domain import Parameter, Reals
from dpaudit.kernel.inequalities.expression import Table, Term
from dpaudit.kernel.inequalities.leaf import Condition
from dpaudit.prover.inequalities.search import Budget, SideFound, prove_side

Sides = tuple[Any, Any]
Build = Callable[..., Sides]


def reals(lo: Any, hi: Any, ends: str = "[]", *, cuts: Sequence[Any] = ()) -> Reals:
    """Return a range of real numbers. None is infinite."""
    low, high = (None if end is None else Fraction(end) for end in (lo, hi))
    cut = tuple(map(Fraction, cuts))
    return Reals(low, high, ends[0] == "(" or low is None, ends[1] == ")" or high is None, cut)


def smaller(x: Term, y: Any) -> Term:
    return x.table.term("min", x.i, _lifted(x, y).i)


def larger(x: Term, y: Any) -> Term:
    return x.table.term("max", x.i, _lifted(x, y).i)


def function(op: str, x: Term) -> Term:
    return x.table.term(op, x.i)


def _lifted(x: Term, y: Any) -> Term:
    return y if isinstance(y, Term) else x.table.number(y)


def traced(build: Build, ranges: Mapping[str, Parameter], given: Build | None = None) -> Traced:
    """Return ``build``'s two sides as nodes. ``given`` has two terms, the first at most the second."""
    table = Table()
    symbols = [table.term("v", k) for k in range(len(ranges))]
    sides = tuple(_lifted(symbols[0], side).i for side in build(*symbols))
    conditions = []
    if given:
        a, b = (_lifted(symbols[0], side).i for side in given(*symbols))
        conditions = [Condition(a, b, False, True)]
    return Traced(table, tuple(ranges), tuple(conditions), {"": (sides[0], sides[1])})


def search(
    build: Build, ranges: Mapping[str, Parameter], given: Build | None = None, boxes: int = 400
) -> SideFound:
    """Search a proof of an inequality."""
    return prove_side(traced(build, ranges, given), "", ranges, Budget(seconds=20, boxes=boxes))


def evidence(build: Build, ranges: Mapping[str, Parameter], given: Build | None = None) -> dict[str, Any]:
    """Return the evidence of a proof, which must be found."""
    about = traced(build, ranges, given)
    found = prove_side(about, "", ranges, Budget(seconds=20, boxes=4000))
    assert found.trees is not None, found
    left, right = about.sides[""]
    side = {"name": "", "left": left, "right": right, "near": found.near, "trees": found.trees}
    return {
        "proof": PROOF,
        "format": FORMAT,
        "range": {name: each.to_json() for name, each in ranges.items()},
        "combinations": [
            {
                "values": dict.fromkeys(ranges, "real"),
                "nodes": about.table.to_json(),
                "given": [[each.a, each.b, each.strict] for each in about.conditions],
                "paths": [{"conditions": [], "sides": [side]}],
            }
        ],
    }


def without_refuter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search never look for a false point, which would hide a wrong proof."""
    monkeypatch.setattr("dpaudit.prover.inequalities.search._Search._false_at", lambda self, box: None)


# Values at a point, by balls alone


class UndefinedError(Exception):
    """An expression has no value at a point."""


def value_at(table: Table, i: int, point: Sequence[Fraction], found: dict[int, arb] | None = None) -> arb:
    """Return a ball around node ``i`` at a point. Raises ``UndefinedError`` where there is no value."""
    found = {} if found is None else found
    if i not in found:
        op, *rest = table.nodes[i]
        if op in ("c", "v", "pi"):
            found[i] = arb.pi() if op == "pi" else ball(rest[0] if op == "c" else point[rest[0]])
        else:
            inner = [value_at(table, j, point, found) for j in table.arguments(i)]
            found[i] = _applied(op, inner, rest[-1])
    return found[i]


def _applied(op: str, inner: Sequence[arb], last: Any) -> arb:
    x, y = inner[0], inner[-1]
    if op == "pow":
        raised = arb(1)
        for _ in range(abs(last)):
            raised = raised * x
        return raised if last >= 0 else _applied("/", [arb(1), raised], None)
    undefined = {"/": y == 0, "log": x <= 0, "sqrt": x < 0, "atanh": abs(x) >= 1}
    if undefined.get(op):
        raise UndefinedError(op)
    if op in "+-*/":
        return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if op == "/" else x}[op]
    if op in ("min", "max"):
        return x.min(y) if op == "min" else x.max(y)
    return {"neg": lambda: -x, "abs": lambda: abs(x)}.get(op, getattr(x, op, lambda: x))()


# Random expressions

UNARY = ("neg", "abs", "exp", "log", "sqrt", "cosh", "sinh", "tanh", "atanh", "erfc", "ceil", "floor")
SMOOTH = ("neg", "exp", "log", "sqrt", "cosh", "sinh", "tanh")


def random_term(
    rng: random.Random,
    variables: Sequence[Term],
    depth: int,
    unary: Sequence[str] = UNARY,
    choice: bool = True,
) -> Term:
    """Return a random expression of the variables."""
    if depth == 0:
        numbers = [Fraction(c) for c in ("-2", "-1", "0", "1", "2", "3", "1/2", "1/3")]
        return (
            rng.choice(variables) if rng.random() < 0.75 else variables[0].table.number(rng.choice(numbers))
        )
    op = rng.choice(["+", "-", "*", "*", "/", "pow", rng.choice(unary), rng.choice(unary)])
    if choice and rng.random() < 0.1:
        op = rng.choice(["min", "max"])
    x = random_term(rng, variables, depth - 1, unary, choice)
    if op == "pow":
        return x ** rng.choice([-2, -1, 0, 1, 2, 3, 5])
    if op in unary:
        return function(op, x)
    y = random_term(rng, variables, rng.randrange(depth), unary, choice)
    return x.table.term(op, x.i, y.i)
