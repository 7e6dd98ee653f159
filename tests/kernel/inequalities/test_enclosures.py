"""Each evaluator of expressions holds the true value, at points that other code computes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from flint import arb_series, ctx

from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.inequalities.evaluate import gradient, nonnegative_nodes, values
from dpaudit.kernel.inequalities.expression import Table
from dpaudit.kernel.inequalities.growth import growth
from dpaudit.kernel.inequalities.interval import Interval, exactly
from dpaudit.kernel.inequalities.rewrite import Rewriter
from dpaudit.kernel.inequalities.series import TERMS, expansion
from tests.kernel.inequalities.tables import SMOOTH, UndefinedError, random_term, value_at

CASES = 250
FINE = 300


def meets(enclosure: Interval, value: arb) -> bool:
    """Whether an enclosure and a ball around the true value have a number in common."""
    return bool(not value.upper() < enclosure.lo and not enclosure.hi < value.lower())


def ends(rng: random.Random) -> tuple[Fraction, Fraction]:
    lo = Fraction(rng.choice([-2, -1, 0, 0, 1, 1, 3]), rng.choice([1, 1, 3]))
    return lo, lo + Fraction(rng.choice([0, 1, 1, 2]), rng.choice([1, 4, 100]))


def inside(rng: random.Random, lo: Fraction, hi: Fraction | None) -> Fraction:
    share = Fraction(rng.randrange(0, 9), 8)
    if hi is None:
        return lo + share * rng.choice([1, 10, 100, 10_000])
    return lo + share * (hi - lo)


def test_values_hold_what_is_there_and_are_nowhere_where_nothing_is() -> None:
    """A finite enclosure of a node holds its value at each point of the box, and there is one."""
    rng = random.Random(1)
    enclosed = 0
    for _ in range(CASES):
        table = Table()
        i = random_term(rng, [table.term("v", 0), table.term("v", 1)], 4).i
        box = [ends(rng), ends(rng)]
        known = nonnegative_nodes(table, box)
        value = values(table, box, known, table.cone([i]))
        for _ in range(4):
            point = [inside(rng, *each) for each in box]
            with precision(FINE):
                try:
                    exact = value_at(table, i, point)
                except UndefinedError:
                    assert not value[i].finite, (table.nodes, i, box, point)
                    continue
                enclosed += value[i].finite
                assert not exact.is_finite() or not value[i].finite or meets(value[i], exact)
                assert not (known[i] and exact < 0), (table.nodes, i, box, point)
    assert enclosed > CASES


def derivative_at(table: Table, i: int, point: list[Fraction], k: int) -> arb | None:
    """The derivative of node i in variable k at a point, by a series there; None if it has none."""
    before, ctx.cap = ctx.cap, 2
    found: dict[int, arb_series] = {}
    try:
        for j in table.cone([i]):
            op, *rest = table.nodes[j]
            inner = [found[m] for m in table.arguments(j)]
            if op in ("c", "v"):
                number = rest[0] if op == "c" else point[rest[0]]
                found[j] = arb_series([ball(number), int(op == "v" and rest[0] == k)], prec=2)
            elif op == "pow":
                raised = arb_series([1], prec=2)
                for _ in range(abs(rest[1])):
                    raised = raised * inner[0]
                found[j] = raised if rest[1] >= 0 else 1 / raised
            elif op in ("cosh", "sinh", "tanh"):
                up, down = inner[0].exp(), (-inner[0]).exp()
                above, below = (up + down, up - down) if op == "cosh" else (up - down, up + down)
                found[j] = above / below if op == "tanh" else above / 2
            elif op in "+-*/":
                x, y = inner
                found[j] = x + y if op == "+" else x - y if op == "-" else x * y if op == "*" else x / y
            else:
                found[j] = -inner[0] if op == "neg" else getattr(inner[0], op)()
        return found[i][1]
    except (ArithmeticError, ValueError):
        return None
    finally:
        ctx.cap = before


def test_gradients_and_symbolic_derivatives_hold_the_derivative() -> None:
    """The enclosure of each partial derivative holds it, and the rewritten derivative has the same value."""
    rng = random.Random(2)
    compared = 0
    for _ in range(CASES):
        table = Table()
        i = random_term(rng, [table.term("v", 0), table.term("v", 1)], 3, SMOOTH, choice=False).i
        box = [ends(rng), ends(rng)]
        cone = table.cone([i])
        slopes = gradient(table, values(table, box, nonnegative_nodes(table, box), cone), cone)[i]
        for k in (0, 1):
            point = [inside(rng, *each) for each in box]
            with precision(FINE):
                exact = derivative_at(table, i, point, k)
                if exact is None or not exact.is_finite():
                    continue
                slope = slopes.get(k, exactly(0))
                assert not slope.finite or meets(slope, exact), (table.nodes, i, box, point)
                symbolic = Rewriter(table).derivative(i, k)
                try:
                    again = arb(0) if symbolic is None else value_at(table, symbolic, point)
                except UndefinedError:
                    continue
                assert not again.is_finite() or again.overlaps(exact), (table.nodes, i, k)
                compared += slope.finite
    assert compared > CASES // 2


def test_growth_holds_the_value_far_out() -> None:
    """The sum of terms of a node on an unbounded box holds its value; where it is called defined, it is."""
    rng = random.Random(3)
    enclosed = 0
    for _ in range(2 * CASES):
        table = Table()
        i = random_term(rng, [table.term("v", 0), table.term("v", 1)], 4).i
        box = [(Fraction(rng.choice([2, 3, 20])), None), rng.choice([ends(rng), (Fraction(5, 2), None)])]
        found = growth(table, box, nonnegative_nodes(table, box), table.cone([i]))
        for _ in range(4):
            point = [inside(rng, *each) for each in box]
            with precision(FINE):
                try:
                    exact = value_at(table, i, point)
                except UndefinedError:
                    assert not found.defined[i], (table.nodes, i, box, point)
                    continue
                if not found.finite(i) or not exact.is_finite():
                    continue
                total = exactly(0)
                for key, coefficient in found.terms[i].items():
                    for s, p, q in key:
                        log = exactly(point[s]).log()
                        factor = (exactly(p) * log).exp() * (exactly(q) * log.log()).exp()
                        coefficient = coefficient * factor
                    total = total + coefficient
                enclosed += total.finite
                assert not total.finite or meets(total, exact), (table.nodes, i, box, point)
                assert not (found.nonnegative(i) and exact < 0)
                assert not (found.positive(i) and exact <= 0)
                assert not (found.nonpositive(i) and exact > 0)
    assert enclosed > CASES


@pytest.mark.parametrize("lower", [True, False])
def test_series_hold_the_value_beside_an_end(lower: bool) -> None:
    """Taylor's polynomial with the enclosed remainder holds the value, and exact zeros are zeros."""
    rng = random.Random(4)
    enclosed = 0
    for _ in range(CASES):
        table = Table()
        i = random_term(rng, [table.term("v", 0), table.term("v", 1)], 3, SMOOTH, choice=False).i
        box = [(Fraction(rng.choice([0, 1])), Fraction(rng.choice([3, 5]), 2)), ends(rng)]
        found = expansion(table, box, 0, lower=lower, need=table.cone([i]))
        if i not in found.at_end or i not in found.on_side:
            continue
        for _ in range(4):
            point = [inside(rng, *each) for each in box]
            with precision(FINE):
                try:
                    exact = value_at(table, i, point)
                except UndefinedError:
                    assert not all(found.finite(j) for j in table.cone([i])), (table.nodes, i, box, point)
                    continue
                t = ball(point[0] - box[0][not lower])
                total = found.on_side[i][TERMS] * t**TERMS if t != 0 else arb(0)
                for j in range(TERMS):
                    term = arb(0) if i in found.exact and found.exact[i][j] == 0 else found.at_end[i][j]
                    total += term * (t**j if j else 1)
                enclosed += bool(total.is_finite())
                assert not total.is_finite() or total.overlaps(exact), (table.nodes, i, box, point)
                assert not (found.nonnegative(i) and exact < 0)
    assert enclosed > CASES // 2


def test_rewriting_keeps_the_value_and_safe_rewriting_the_domain() -> None:
    """Where an expression is defined, the plain one is equal. Where the safe one is, the original is."""
    rng = random.Random(5)
    compared = 0
    for _ in range(4 * CASES):
        table = Table()
        i = random_term(rng, [table.term("v", 0), table.term("v", 1)], 4).i
        plain, safe = Rewriter(table).plain(i), Rewriter(table, safe=True).plain(i)
        above, below = Rewriter(table).fraction(i)
        point = [inside(rng, *ends(rng)) for _ in range(2)]
        with precision(FINE):
            try:
                exact = value_at(table, i, point)
            except UndefinedError:
                with pytest.raises(UndefinedError):
                    value_at(table, safe, point)
                continue
            for j in (plain, safe):
                try:
                    again = value_at(table, j, point)
                except UndefinedError:
                    continue  # a logarithm factor by factor asks for more
                compared += bool(exact.is_finite() and again.is_finite())
                assert not (exact.is_finite() and again.is_finite()) or exact.overlaps(again)
            try:
                numerator, denominator = value_at(table, above, point), value_at(table, below, point)
            except UndefinedError:
                continue
            if all(each.is_finite() for each in (exact, numerator, denominator)):
                assert numerator.overlaps(exact * denominator), (table.nodes, i, point)
    assert compared > CASES
