"""Deliberately wrong rules (mutants), each of which random programs must detect.

A mutant replaces a piece of a rule's source. Each rule of ``RULES`` has one, and so have the parts that all rules
share (norm inequalities, groups, supports, guards, costs).
"""

# ruff: noqa: E501 (tables with one case in each line)

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from dpaudit.kernel.values import (
    arrays,
    elementwise,
    fixed_samples,
    guards,
    info,
    releases,
    selections,
    texts,
)
from dpaudit.kernel.values.steps import RULES
from tests.prover.values import random_values
from tests.prover.values.random_values import Fuzz, WrongRuleError

BUDGET = 240  # programs

E, A, B, C, G, S, T = elementwise, arrays, info, releases, guards, selections, texts


@dataclass(frozen=True)
class Mutant:
    """A mutant that replaces ``old`` by ``new`` at its first occurrence after ``def after``.

    ``ops`` names the mutated rules, or for shared parts the functions to replace.
    """

    ops: tuple[str, ...]
    module: Any
    after: str
    old: str
    new: str
    focus: tuple[str, ...] = ()
    data: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return f"{'+'.join(self.ops)}: {self.after}: {self.new}"

    def changed(self) -> dict[str, Any]:
        """Return the namespace of the mutated module."""
        source = inspect.getsource(self.module)
        head, mark, tail = source.partition(f"def {self.after}(")
        assert mark, f"no function {self.after}"
        assert self.old in tail.partition("\ndef ")[0], f"{self.after} has no {self.old!r}"
        space = {"__name__": self.module.__name__}
        exec(compile(head + mark + tail.replace(self.old, self.new, 1), self.name, "exec"), space)
        return space


def one(op: str, module: Any, after: str, old: str, new: str, *focus: str, **data: Any) -> Mutant:
    return Mutant((op,), module, after, old, new, focus or (op,), tuple(data.items()))


ADD_REMOVE = {"adjacency": "add-remove"}
PAIR = {"adjacency": "replace-one", "group": 2}

MUTANTS = [
    one("data", A, "data", "low = low if low is None or s.at_most(low, 0) else ZERO", "pass", adjacency="zero-out", form="half"),
    one("data", A, "data", "norm2 = radius * radius", "norm2 = radius", form="ball"),
    one("data", A, "data", 'norm1 = None if norm == "2" else radius', "norm1 = radius", form="ball"),
    one("data", A, "data", 'norm1 = None if norm == "2" else radius', "norm1 = radius * Fraction(1, 2)", form="one-hot"),
    one("const", A, "constant", "Poly.of(values.norm1)", "Poly.of(max(values.high, -values.low))", "mul", "add"),
    one("public", A, "public", "low = high = known", "low, high = known, -known if known else known", "limits"),
    one("ones", A, "ones", "low=ONE, high=ONE", "low=ONE * 2, high=ONE * 2"),
    one("hidden_draw", A, "hidden_draw", "high=Poly.of(high)", "high=Poly.of(low)"),
    one("sample", fixed_samples, "sample", "high=ONE", "high=ZERO", adjacency="replace-one"),
    one("row_function", A, "row_function", "low=None,\n            high=None", "low=-ONE,\n            high=ONE"),
    one("sum", A, "_sum", "times(g * g, i.change2)", "times(g, i.change2)", **PAIR),
    one("sum", A, "_sum", "change1=times(g, i.norm1)", "change1=i.norm1", adjacency="add-remove", group=2),
    one("sum", A, "_sum", "rises = nonnegative(s, i)", "rises = True", **ADD_REMOVE),
    one("sum", A, "_sum", "and s.group == 1", "", "blocks", **PAIR),
    one("sum", A, "_sum_inside", "change2=times(m, i.change2)", "change2=i.change2"),
    one("sum", A, "_sum_inside", "norm2=times(m, i.norm2)", "norm2=i.norm2"),
    one("sum", A, "_sum_inside", "s.smallest(high, i.norm1)", "s.smallest(high, i.norm2)", form="ball"),
    one("max", A, "extreme", 'need(s.at_most(1, m), f"{op}() requires a nonempty array")', "pass", "max", "rows"),
    one("max", A, "extreme", "change2=None", "change=times(Fraction(1, 2), i.change)"),
    one("min", A, "extreme", "change2=None", "change=times(Fraction(1, 2), i.change)"),
    one("any", A, "truth", "moves: Bound = None if i.private else ZERO", "moves = ZERO"),
    one("all", A, "truth", "moves: Bound = None if i.private else ZERO", "moves = ZERO"),
    one("norm", A, "norm", '"1": i.change1,', '"1": i.change,'),
    one("norm", A, "norm", "(ids[0], q, ONE)", "(ids[0], q, ONE * 2)"),
    one("norm", A, "norm", '"1": i.norm1', '"1": _root(i.norm2)'),
    one("reshape", A, "reshape", "i = flat(s, i)", "i = replace(i, guard=None)", "reshape", "sum", **PAIR),
    one("rows", A, "rows", "aligned: Any = (first, count, by)", "aligned: Any = (first, count, 1)"),
    one("rows", A, "rows", "(last, first + 1, -by)", "(first, first + 1, -by)", "rows", "slices"),
    one("part", A, "part", "support=((start, stop, 1),)", "support=((start, start, 1),)", "slices", "part", adjacency="replace-one"),
    one("part", A, "part", "low=None if below is None else -below", "low=i.low", "slices", "part", adjacency="replace-one", form="half"),
    one("part", A, "_at_least_zero", "if s.at_most(bound, 0) else None", "", "limits", "part", adjacency="replace-one"),
    one("pick", A, "pick", "(ids[0], places[0])", "(ids[0], 0)"),
    one("pick", A, "pick", "i = flat(s, i)", "i = replace(i, records=0, guard=None)", **PAIR),
    one("stack", A, "stack", "apart = s.group == 1 and disjoint(support, own)", "apart = True"),
    one("columns", A, "columns", "norm2=total(*[", "norm2=s.largest_of(*["),
    one("columns", A, "columns", "change1=total(*[", "change1=s.largest_of(*["),
    one("matrix", A, "matrix", "times(g * column1, v.change1)", "times(g * largest, v.change1)"),
    one("matrix", A, "matrix", "times(g * g * column2", "times(g * column2", **PAIR),
    one("matrix", A, "matrix", "times(column1 * row1, v.change2)", "times(column1, v.change2)", form="ball"),
    one("matrix", A, "matrix", "times(row1, v.change)", "times(column1, v.change)"),
    one("matrix", A, "_distances", " + [(0,) * r]", "", "counted"),
    one("matrix", A, "_distances", "[max(pair)", "[min(pair)", "counted"),
    one("matrix", A, "matrix", "times(apart2, sides, sides)", "times(apart2, Fraction(1, 2))", "counted"),
    one("matrix", A, "matrix", "times(apart1, sides)", "times(apart, sides)", "counted"),
    one("sum", A, "_sum", "times(g, i.norm1)}", "times(Fraction(1, 2), i.norm1)}", "counted"),
    one("sum", A, "_sum", 'if nonnegative(s, i) and i.norm1', "if i.norm1", "sum", form="ball"),
    one("outer", A, "outer", "times(2, a.norm2, a.norm2)", "times(1, a.norm2, a.norm2)", "gram", form="ball"),
    one("outer", A, "outer", "times(top_a, b.change), times(top_b, a.change)", "times(top_a, b.change)", "gram"),
    one("one_hot", A, "one_hot", "s.at_most(i.high, k - 1)", "s.at_most(i.high, k)"),
    one("one_hot", A, "_hits", "Poly.of(2), ONE", "ONE, ONE", "one_hot", "hits"),
    one("bins", A, "_hits", "Poly.of(2), ONE", "ONE, ONE", "bins", "hits"),
    one("sort", A, "sort", "i = flat(s, infos[0])", "i = replace(infos[0], records=0)", **PAIR),
    one("cumsum", A, "running_sum", "times(m, i.change1)", "i.change1"),
    one("cumsum", A, "running_sum", "ZERO if s.at_most(i.high, 0) else None", "ZERO", "limits", "cumsum", form="half"),
    one("order", A, "order_statistic", "change1=i.change,", "change=times(Fraction(1, 4), i.change),"),
    one("row_entry", A, "entries_of_rows", "change1=i.change,", "change=times(Fraction(1, 2), i.change),"),
    one("argbest", A, "place_of_largest", "moves: Bound = None if i.private else ZERO", "moves = ZERO"),
    one("var", A, "variance", "width * width * by if", "width * width * by * by if"),
    one("var", A, "variance", "width * width * (n - 1) * by * by", "width * width * by * by"),
    one("softmax", A, "softmax", "high=ONE", "high=times(Fraction(1, 2), ONE)", "scores"),
    one("gather", S, "gather", "s.at_most(place.high, k - 1)", "s.at_most(place.high, k)"),
    one("gather", S, "gather", "moves = place.private", "moves = False"),
    one("gather", S, "gather", "norm2=s.largest_of(*[row.norm2 for row in rows])", "norm2=rows[0].norm2"),
    one("gather", S, "gather", "low, high = hull(s, rows)", "low, high = hull(s, rows[:1])"),
    one("gather", S, "gather", "support = place.support if moves else ()", "support: Any = ()"),
    one("of_text", T, "_range", "if given[0] else longest + 1", "if given[0] else longest"),
    one("of_text", T, "_range", "longest // len(given[0])", "longest // 2"),
    one("of_text", T, "_lookup", "(default, *(number for _, number in table))", "[number for _, number in table]"),
    one("of_text", T, "_longest", "longest * EXPANSION", "longest * 2"),
    one("of_text", T, "_longest", "max(1, len(new))", "1"),
    one("of_text", T, "_longest", "(longest + 1) * len(new)", "longest * len(new)"),
    one("gather", S, "gather", "row.support if row.private else ()", "()", "gather"),
    one("add", E, "add", "apart=_apart(s, frame, a, b)", "apart=True"),
    one("add", E, "add", "rises=all(", "rises=any(", "sum", "add", **ADD_REMOVE),
    one("add", E, "add", "if frame.records and not all(info.private for info in infos):", "if False:", "guard", "add"),
    one("add", E, "add", "and nonnegative(s, v)", "", "norm", "add"),
    one("sub", E, "subtract", "low=None if v.high is None else -v.high", "low=v.low"),
    one("mul", E, "multiply", "times(top_b, a.change)", "a.change"),
    one("mul", E, "multiply", "fact[0] == node and", "", "clip"),
    one("mul", E, "multiply", "if all(map(whole, infos))", "if any(map(whole, infos))"),
    one("mul", E, "multiply", "and nonnegative(s, v) for", "for", "sum", "mul", **ADD_REMOVE),
    one("div", E, "divide", "times(inv * inv, top, b.change)", "ZERO"),
    one("div", E, "divide", 'need(least is not None and least < 0, "a divisor', 'need(least is not None, "a divisor'),
    one("mod", E, "modulo", "low=ZERO, high=", "change=ZERO, change1=ZERO, change2=ZERO, low=ZERO, high="),
    one("neg", E, "negative", "rises=False", "rises=i.rises", "neg", "sum", **ADD_REMOVE),
    one("neg", E, "negative", "low=None if i.high is None else -i.high", "low=i.low"),
    one("square", E, "square", "factor = times(2, top)", "factor = top"),
    one("abs", E, "absolute", "high=magnitude(s, i)", "high=i.high"),
    one("sign", E, "sign", "low=-ONE", "low=ZERO"),
    one("exp", E, "exp", "low=ZERO", "low=ONE"),
    one("log", E, "log", "1 / least", "1 / (2 * least)"),
    one("sqrt", E, "root", "upper_root(number))", "upper_root(number) / 4)"),
    one("minimum", E, "_extreme", "s.smallest(a.high, b.high)", "times(Fraction(1, 2), a.high)", "minimum", "clip", form="interval"),
    one("maximum", E, "_extreme", "total(first.change1, second.change1)", "s.smallest(first.change1, second.change1)"),
    one("maximum", E, "_extreme", "above = s.smallest(*lows)", "above = s.largest_of(*[ZERO, ZERO])"),
    one("maximum", E, "_extreme", "rises=all(", "rises=any(", "sum", "maximum", **ADD_REMOVE),
    one("where", E, "where", "if not q.private:", "if True:"),
    one("where", E, "where", "zero = not infos[2].private and", "zero = True or", "guard", "where"),
    one("where", E, "where", "OPPOSITE[op]", "op", "chosen"),
    one("where", E, "where", "if node == ids[1] else a", "", "chosen"),
    one("where", E, "_limited", "s.smallest(info.high, Poly.of(number))", "Poly.of(number) - 1", "chosen"),
    one("where", E, "hull", "return _lowest(s, infos)", "return infos[0].low"),
    one("and", E, "_truth", "high=high", "high=high, change=times(Fraction(1, 2), frame.change or ONE)", "and"),
    one("or", E, "logical_or", "None if frame.records else _common_guard(infos)", "infos[0].guard", "guard", "or"),
    one("not", E, "logical_not", 'guard_of(ids[0], "eq", Fraction(0))', "i.guard", "guard", "not"),
    one("not", E, "logical_not", "OPPOSITE[op]", "op", "guard", "not"),
    one("and", E, "logical_and", 'facts={"limits": limits}', 'facts={"limits": limits, "exactly": limits[0]}', "chosen", "and"),
    one("where", E, "where", "change1=times(high - low, q.change1)", "change1=high - low", "choices", form="bits"),
    one("where", E, "where", 'facts={"moved": q.change1}', 'facts={"moved": ONE}', "choices", form="bits"),
    one("cast", E, "as_kind", 'kind == "i" and i.kind == "b"', 'kind == "i"'),
    *(one(op, E, "rounding", "change = _up(i.change) if", "change = i.change if") for op in ("floor", "trunc")),
    one("rint", E, "rounding", "_nearest(i.change)", "i.change"),
    one("floor", E, "rounding", "low=None if below is None else -below", "low=low"),
    one("trunc", E, "rounding", "top if op == \"floor\" or low.number >= 0", "top if True", "trunc", "neg", form="interval"),
    *(one(op, E, "bounded", "change=times(k, i.change)", "change=times(k, i.change, Fraction(1, 2))") for op in ("tanh", "sin", "cos", "arctan")),
    one("lt", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "gt", number)', "guard", "lt"),
    one("le", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "lt", number)', "guard", "le", form="bits"),
    one("gt", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "lt", number)', "guard", "gt"),
    one("ge", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "gt", number)', "guard", "ge", form="bits"),
    one("eq", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "ne", number)', "guard", "eq"),
    one("ne", E, "compare", "guard_of(ids[0], op, number)", 'guard_of(ids[0], "eq", number)', "guard", "ne"),
    one("eq", E, "compare", "apart and one", "one", form="bits"),
]  # fmt: skip

#: Mutants of functions that rules share. They are replaced in every module that uses them.
SHARED = [
    Mutant(("fit",), B, "fit", "2 if nonnegative(s, info) else 4", "2", ("gram",), (("form", "ball"),)),
    Mutant(("fit",), B, "fit", "times(2, top)", "top"),
    Mutant(("fit",), B, "fit", "times(m, change, change)", "times(change, change)"),
    Mutant(("flat",), B, "flat", "norm2=times(count, info.norm2)", "norm2=info.norm2", ("pick", "add", "reshape"), (("adjacency", "replace-one"),)),
    Mutant(("flat",), B, "flat", "norm1=times(count, info.norm1)", "norm1=info.norm1", ("pick", "add", "reshape"), (("adjacency", "replace-one"),)),
    Mutant(("flat",), B, "flat", "change2=times(g, info.change2)", "change2=info.change2", ("add",), tuple(PAIR.items())),
    Mutant(("flat",), B, "flat", 'need(not s.length_is_private, "records', 'need(True, "records', ("max", "order"), tuple(ADD_REMOVE.items())),
    Mutant(("disjoint",), B, "disjoint", "return not any(_meet(a, b) for a in left for b in right)", "return True", ("slices", "add"), (("adjacency", "replace-one"),)),
    Mutant(("at_or_before",), B, "at_or_before", "slope >= 0 and slope + rest >= 0", "slope >= 0", ("slices", "part"), (("adjacency", "replace-one"),)),
    Mutant(("at_or_before",), B, "at_or_before", "slope >= 0 and slope + rest >= 0", "slope + rest >= 0", ("slices", "part"), (("adjacency", "replace-one"),)),
    Mutant(("_that_meet", "_by_position", "most_expensive"), C, "_that_meet", "j != k and not disjoint(part.support, other.support)", "False", ("slices", "part"), (("adjacency", "replace-one"),)),
    Mutant(("union",), B, "union", "(near[0], stop, 1)", "(near[0], near[1], 1)", ("slices", "add"), (("adjacency", "replace-one"),)),
    Mutant(("squared_sum", "add_changes"), B, "squared_sum", "a + b + 2 * upper_root(a * b)", "a + b", ("add", "sum"), (("form", "ball"),)),
    Mutant(("_decided",), E, "_decided", 'strict=op == "lt"', "strict=False", ("lt",), (("form", "bits"),)),
    Mutant(("_decided",), E, "_decided", 'strict=op == "le"', "strict=False", ("le",), (("form", "bits"),)),
    Mutant(("magnitude",), B, "magnitude", "s.largest_of(-info.low, ZERO)", "ZERO"),
    Mutant(("_copied", "together"), E, "_copied", "copies = copies * Poly.of(shape[-place])", "pass", ("add", "mul")),
    Mutant(("together",), E, "together", "local = local and all(info.records or not info.private for info in infos)", "pass", ("sum", "add", "mul")),
    Mutant(("row_ball",), E, "row_ball", 'elif p == "2":', "else:", ("clip",)),
    Mutant(("_noised", "cost_of"), C, "_noised", "times(Fraction(1, 2), whole.change2)", "times(Fraction(1, 4), whole.change2)", ("sum",)),
    Mutant(("_one_by_one", "cost_of"), C, "_one_by_one", "sorted(weights.values(), reverse=True)", "sorted(weights.values())", ("hits",)),
    Mutant(("_one_by_one", "cost_of"), C, "_one_by_one", "1 / (2 * number * number) if", "1 / (4 * number * number) if", ("hits",)),
    Mutant(("_picked", "cost_of"), C, "_picked", "(1 if rises else 2)", "1", ("hits", "scores"), (("adjacency", "replace-one"),)),
    Mutant(("_places_under_gaussian", "_picked", "cost_of"), C, "_places_under_gaussian", "2 * count)", "6 * count)", ("hits", "scores"), (("adjacency", "replace-one"),)),
    Mutant(("_places_under_gaussian", "_picked", "cost_of"), C, "_places_under_gaussian", "Fraction(1, 2), scores", "Fraction(1, 20), scores", ("hits", "scores"), (("adjacency", "replace-one"),)),
    Mutant(("_least", "_response", "cost_of"), C, "_least", "min(known", "min([number / 2 for number in known]", ("cast",), (("form", "one-hot"),)),
    Mutant(("_response", "cost_of"), C, "_response", "s.largest(info.change1)", "s.largest(info.change)", ("cast",), (("form", "one-hot"),)),
    Mutant(("_response", "cost_of"), C, "_response", "each * (count or 0)", "each", ("cast",), (("form", "bits"),)),
    Mutant(("_by_position", "most_expensive"), C, "_by_position", "if s.group != 1 or", "if", ("slices",), tuple(PAIR.items())),
    Mutant(("_affects", "most_expensive"), C, "_affects", "(place - start) % step == 0", "(place - start) % step == 1", ("slices",), (("adjacency", "replace-one"),)),
    Mutant(("affected_sets",), G, "affected_sets", "return found if single else", "return found if True else", ("guard",), (("adjacency", "replace-one"),)),
    Mutant(("_inside", "affected_sets"), G, "_inside", "value == low and not low_open", "False", ("guard", "eq"), (("form", "bits"),)),
    Mutant(("_pieces", "affected_sets"), G, "_pieces", "[*ends, *between,", "[*between,", ("guard", "eq"), (("form", "bits"),)),
    Mutant(("_intersected", "both"), G, "_intersected", "low_open, not high_closed", "True, True", ("guard",)),
    Mutant(("_intersected", "both"), G, "_intersected", "{*a[5], *b[5]}", "{*a[5], *b[5], Fraction(1)}", ("guard",)),
    Mutant(("masked",), G, "masked", "Fraction(1)", "Fraction(0)", ("guard",)),
    Mutant(("guard_of",), G, "guard_of", '"lt": (None, number, False, True, ())', '"lt": (number, None, True, False, ())', ("guard", "lt")),
    Mutant(("guard_of",), G, "guard_of", '"le": (None, number, False, False, ())', '"le": (None, number, False, True, ())', ("guard", "le"), (("form", "bits"),)),
    Mutant(("guard_of",), G, "guard_of", '"gt": (number, None, True, False, ())', '"gt": (None, number, False, True, ())', ("guard", "gt")),
    Mutant(("guard_of",), G, "guard_of", '"ge": (number, None, False, False, ())', '"ge": (number, None, True, False, ())', ("guard", "ge"), (("form", "bits"),)),
    Mutant(("guard_of",), G, "guard_of", '"eq": (number, number, False, False, ())', '"eq": (number, number, True, False, ())', ("guard", "eq"), (("form", "bits"),)),
    Mutant(("guard_of",), G, "guard_of", '"ne": (None, None', '"ne": (number, number', ("guard", "ne")),
]  # fmt: skip

USERS = [f"dpaudit.kernel.values.{name}" for name in ("info", "elementwise", "arrays", "releases")]


def caught(mutant: Mutant) -> int | None:
    """Return the number of programs needed to detect the mutant, or ``None`` above the budget."""
    for seed in range(BUDGET):
        try:
            Fuzz(seed, mutant.focus, **dict(mutant.data)).program(8)
        except WrongRuleError:
            return seed + 1
    return None


@pytest.mark.sample(1, each=("rule",))
@pytest.mark.parametrize(
    ("rule", "mutant"), [pytest.param(mutant.ops[0], mutant, id=mutant.name) for mutant in MUTANTS]
)
def test_a_wrong_rule_is_found(rule: str, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random programs detect the mutated rule within the budget."""
    space = mutant.changed()
    tables = ("ELEMENTWISE", "ARRAYS", "SELECTIONS", "TEXTS", "SAMPLES")
    changed = {op: rule for table in tables for op, rule in space.get(table, {}).items()}
    for op in mutant.ops:
        monkeypatch.setitem(RULES, op, changed[op])
    assert caught(mutant) is not None


@pytest.mark.sample(1, each=("part",))
@pytest.mark.parametrize(
    ("part", "mutant"), [pytest.param(mutant.ops[0], mutant, id=mutant.name) for mutant in SHARED]
)
def test_a_wrong_shared_part_is_found(part: str, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random programs detect a mutated function that many rules share."""
    space = mutant.changed()
    for name in mutant.ops:
        for user in [importlib.import_module(path) for path in USERS] + [random_values]:
            if hasattr(user, name):
                monkeypatch.setattr(user, name, space[name])
    assert caught(mutant) is not None


def test_every_mutant_can_be_made() -> None:
    """The text that a mutant replaces is in the source, also of those that run weekly."""
    for mutant in [*MUTANTS, *SHARED]:
        mutant.changed()


def test_every_rule_has_a_mutant() -> None:
    """Every rule has a mutant."""
    assert _ops(MUTANTS) == set(RULES)


def _ops(mutants: Sequence[Mutant]) -> set[str]:
    return {op for mutant in mutants for op in mutant.ops}
