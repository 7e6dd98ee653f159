"""Every rule of the kernel of inequalities is needed: a wrong one proves what is false, or a test sees it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from dpaudit.kernel.inequalities import domain, evaluate, growth, interval, leaf, rewrite, series
from tests.kernel.inequalities import test_enclosures
from tests.kernel.inequalities.false_ones import FALSE
from tests.kernel.inequalities.tables import search, without_refuter

MODULES = {
    each.__name__.rpartition(".")[2]: each
    for each in (domain, evaluate, growth, interval, leaf, rewrite, series)
}

#: Tests of the evaluators, by a short name.
SEEN: dict[str, Callable[[], None]] = {
    "values": test_enclosures.test_values_hold_what_is_there_and_are_nowhere_where_nothing_is,
    "gradients": test_enclosures.test_gradients_and_symbolic_derivatives_hold_the_derivative,
    "growth": test_enclosures.test_growth_holds_the_value_far_out,
    "series": lambda: test_enclosures.test_series_hold_the_value_beside_an_end(True),
    "series, upper end": lambda: test_enclosures.test_series_hold_the_value_beside_an_end(False),
    "rewriting": test_enclosures.test_rewriting_keeps_the_value_and_safe_rewriting_the_domain,
}

#: Module, function, text, the wrong text, and what catches it: a false inequality that it proves, or a test.
MUTANTS = [
    ("leaf", "_is_outside", "return x < y or", "return True or", "condition is never true, not wanted"),
    (
        "leaf",
        "_is_far_outside",
        "if not (found.defined[each.a] and found.defined[each.b]):",
        "if False:",
        "undefined condition far out",
    ),
    (
        "leaf",
        "Part.looked",
        "if not (value[self.left].finite and value[self.right].finite):",
        "if False:",
        "logarithm of a product",
    ),
    (
        "leaf",
        "Part.looked",
        "value[node].finite and self._has_signs(value)",
        "value[node].finite",
        "negative factor",
    ),
    (
        "leaf",
        "_moved",
        "if slope is None or slope.nonnegative:",
        "if slope is None or not slope.negative:",
        "one point",
    ),
    ("leaf", "_moved", "return lo, lo", "return hi or lo, hi or lo", "closed end of a series"),
    (
        "leaf",
        "Part._by_slopes",
        "total = total + slope * (hull(lo, hi) - exactly(_middle(small[s])))",
        "pass",
        "one point",
    ),
    (
        "leaf",
        "Part._unbounded",
        "if not (found.defined[self.left] and found.defined[self.right]):",
        "if False:",
        "0 times a logarithm far out",
    ),
    ("leaf", "Part._unbounded", "if not (signs and", "if not (True and", "negative factor far out"),
    ("leaf", "Part._at_least_end", "found.nonnegative(i):", "True:", "far out"),
    (
        "leaf",
        "Part._at_least_end",
        "if i is None or found.nonnegative(i):\n            moved[s] = (lo, lo)",
        "if i is None or found.nonnegative(i) or found.nonpositive(i):\n            moved[s] = (lo, lo)",
        "far out",
    ),
    ("leaf", "Part.by_series", "self._defined(found, is_open)", "True", "exp of a log"),
    ("leaf", "Part.by_series", "self._has_signs_beside(found, is_open)", "True", "negative factor"),
    (
        "leaf",
        "Part.by_series",
        "lower and s in self.open_ends and box[s][0] == self.ends[s][0]",
        "True",
        "exp of a log",
    ),
    ("leaf", "Part._defined", "self._asked(i)", "()", "pole far out"),
    (
        "series",
        "Expansion.nonnegative",
        "reversed(terms[order:])",
        "reversed(terms[:order + 1])",
        "between the points of a grid",
    ),
    ("series", "Expansion.nonnegative", "sign = 1 if self.lower else -1", "sign = 1", "series, upper end"),
    ("series", "Expansion._is_zero", "bool(term.is_zero())", "bool(term.contains(0))", "series"),
    ("series", "_vanishes", "all(", "any(", "between the points of a grid"),
    ("leaf", "_is_outside", "y < x", "x < y", "condition is always true"),
    (
        "leaf",
        "_is_far_outside",
        "found.below(each.b, each.a) if",
        "found.below(each.a, each.b) if",
        "far condition is always true",
    ),
    ("series", "Expansion.nonnegative", "reversed(terms[order:])", "reversed(terms[order + 1:])", "one end"),
    ("series", "expansion", "_about(side, TERMS + 1)", "_about(ball(end), TERMS + 1)", "series"),
    (
        "rewrite",
        "Rewriter.factors",
        "return [j for j, below in ends if not below], [j for j, below in ends if below]",
        "return [], []",
        "negative factor",
    ),
    ("rewrite", "Rewriter.factors", "[j for j, below in ends if below]", "[]", "negative minimum"),
    ("rewrite", "Rewriter._raised_plain", "power // 2", "power", "rewriting"),
    ("rewrite", "Rewriter._raised_plain", "if not self.safe:", "if True:", "rewriting"),
    (
        "rewrite",
        "Rewriter._of_one",
        'inner[0] == "log" and not self.safe',
        'inner[0] == "log"',
        "exp of a log",
    ),
    ("rewrite", "Rewriter._of_two", "j in first[1:] and not self.safe", "j in first[1:]", "rewriting"),
    ("rewrite", "Rewriter._of_two", 'a + b if op == "*" else a - b', "a + b", "quotient of exponentials"),
    (
        "rewrite",
        "Rewriter._log_of",
        "term(of(rest[0])) - term(of(rest[1]))",
        "term(of(rest[0])) + term(of(rest[1]))",
        "rewriting",
    ),
    ("rewrite", "Rewriter._log_of", "/ 2)", "/ 3)", "gradients"),
    ("rewrite", "Rewriter._log_of", "-2 * size", "-1 * size", "rewriting"),
    ("rewrite", "Rewriter._multiples", '1 if op == "+" else -1', "1", "closed end of a series"),
    ("rewrite", "Rewriter._multiples", "1 / second[1]", "second[1]", "log at 0"),
    ("rewrite", "Rewriter._cleared", "if b == d:", "if True:", "rewriting"),
    ("rewrite", "Rewriter._cleared", "c, d = d, c", "pass", "rewriting"),
    ("rewrite", "decided", "above = [below, *", "above = [*", "negative denominator"),
    ("rewrite", "_folded", 'a - b if op == "-"', 'b - a if op == "-"', "rewriting"),
    ("growth", "Sides.share", "if p > 0 or (p == 0 and q > 0):", "if p > 0:", "tanh of a logarithm"),
    ("growth", "Sides.share", "if not exactly(peak) <= self._logs[s]:", "if False:", "log at 0"),
    (
        "growth",
        "Sides.share",
        "return ZERO.union(self.at_end(s, p, q))",
        "return self.at_end(s, p, q)",
        "growth",
    ),
    ("growth", "Sides.power", "lead.g.union(lead.g + lead.size)", "lead.g", "growth"),
    ("growth", "Sides.log", "lead.g.union(lead.g + lead.size)", "lead.g", "growth"),
    ("growth", "Sides._log_of", "if self._logs[s] >= ONE else NOWHERE", "", "log log at 2"),
    ("growth", "Sides._log_of", "ZERO.union(exactly(q))", "ZERO", "logarithm grows"),
    (
        "growth",
        "Sides._log_of_a_rising_sum",
        "if not terms or not rising or not self._at_ends(terms) >= ONE:",
        "if not terms or not rising:",
        "log of a rising sum",
    ),
    ("growth", "Sides._log_of_a_rising_sum", "not rising", "False", "log of a falling sum"),
    ("growth", "Sides._exp_of_the_rest", "constant.union(size)", "constant", "exponential of 1 over x"),
    ("growth", "Sides._exp_of_the_rest", "if falls else NOWHERE", "", "growth"),
    ("growth", "Sides.choice", "size.nonnegative:", "not size.negative:", "growth"),
    ("growth", "Sides.choice", "size.nonpositive:", "not size.positive:", "growth"),
    (
        "growth",
        "_is_defined",
        "return size.positive or size.negative or _is_positive(inner)",
        "return True",
        "growth",
    ),
    ("growth", "_is_defined", "above or size.positive or _is_positive(inner)", "True", "growth"),
    ("growth", "Growth.below", "_key(first) == _key(second) and", "", "far condition of another size"),
    ("growth", "_is_positive", "any(each.positive for each in terms.values())", "True", "growth"),
    ("growth", "_of_one", 'ONE if op == "ceil" else -ONE', "ONE", "growth"),
    ("evaluate", "_of_choice", 'below == (op == "min")', "below", "both maximum"),
    ("evaluate", "_Signs._power", "power % 2 == 0", "True", "values"),
    ("evaluate", "_Signs.most", "most[i] and most[j]", "most[i] or most[j]", "root of 1 less a maximum"),
    ("interval", "Interval.inverse", "if not (self.positive or self.negative):", "if False:", "values"),
    ("interval", "Interval.__pow__", "abs(self) if power % 2 == 0 else self", "self", "values"),
    (
        "interval",
        "Interval.__mul__",
        "(self.hi * other.lo).lower(), (self.lo * other.hi).upper()",
        "(self.lo * other.lo).lower(), (self.hi * other.hi).upper()",
        "values",
    ),
    ("interval", "Interval.cosh", "abs(self)", "self", "values"),
    ("interval", "Interval.__abs__", "_greatest((-self.lo, self.hi))", "self.hi", "values"),
    (
        "interval",
        "Interval.union",
        "_least((self.lo, other.lo))",
        "_greatest((self.lo, other.lo))",
        "far out",
    ),
    ("interval", "Interval.min", "_least((self.hi, other.hi))", "self.lo", "values"),
    (
        "domain",
        "_from_open_end",
        "if hi is None or part.open_hi else []",
        "if False else []",
        "upper open end",
    ),
    (
        "domain",
        "_pieces",
        "shift=hi, sign=-1, open_lo=True",
        "shift=lo, open_lo=True",
        "closed end of a half-open range",
    ),
    (
        "domain",
        "_pieces",
        "[Piece((lo, start)), far] if lo < start else [far]",
        "[far]",
        "start of an unbounded range",
    ),
    ("domain", "_pieces", "shift=-each.shift, sign=-each.sign", "shift=-each.shift", "minus infinity"),
    ("domain", "_parts", "yield Reals(lo, reals.hi, open_lo, reals.open_hi)", "pass", "one point"),
    ("evaluate", "_of_choice", "if below or above:", "if True:", "kink"),
    ("evaluate", "_Signs.minus", "zero[i] and self.at_most_0[j]", "zero[i]", "values"),
    ("evaluate", "_Signs.times", "both or i == j", "True", "values"),
    ("evaluate", "_Signs.over", "both, both and one[i] and most[j]", "True, one[i]", "values"),
    ("evaluate", "_Signs.least", "zero[i] and zero[j]", "zero[i] or zero[j]", "values"),
]


def mutate(patch: pytest.MonkeyPatch, module: str, where: str, text: str, wrong: str) -> None:
    """Replace a text in the source of one function."""
    owner: Any = MODULES[module]
    *classes, name = where.split(".")
    for each in classes:
        owner = getattr(owner, each)
    source = textwrap.dedent(inspect.getsource(owner.__dict__[name]))
    assert text in source, source
    made: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{source.replace(text, wrong)}", vars(MODULES[module]), made)
    before = owner.__dict__[name]
    patch.setattr(owner, name, made[name])
    places = [vars(each) for each in (*MODULES.values(), test_enclosures)]
    tables = [each for place in places for each in place.values() if type(each) is dict]
    for table in [*places, *tables]:  # where the function was imported, and tables of functions
        for key in [key for key, value in table.items() if value is before]:
            patch.setitem(table, key, made[name])


@pytest.mark.parametrize(("module", "where", "text", "wrong", "caught"), MUTANTS)
def test_a_wrong_rule_is_caught(
    module: str, where: str, text: str, wrong: str, caught: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the wrong rule a false inequality is proved (else none: ``test_leaves``), or a test fails."""
    without_refuter(monkeypatch)
    mutate(monkeypatch, module, where, text, wrong)
    if caught in SEEN:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            SEEN[caught]()
    else:
        build, ranges, given = FALSE[caught]
        assert search(build, ranges, given, boxes=160).trees is not None
