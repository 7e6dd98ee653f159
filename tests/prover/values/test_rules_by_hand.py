"""Exact bounds of rules, derived by hand and checked on all neighbours with records at the corners.

Each case is a short program on one declared column. ``says`` holds the bounds of its last step, derived by
hand (a comment gives the reason). ``attained`` names the bounds that some neighbours attain exactly, found by
trying all pairs of data with records at the given corners.
"""

# ruff: noqa: E501 (tables with one case in each line)

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.steps import RULES, derive
from tests.prover.values.random_values import COMPUTED, Pair

N = Poly.symbol("N")
PER_N = N.inverse()
Step = tuple[str, tuple[int, ...], dict[str, Any]]


def data(low: Any, high: Any, *inner: int, kind: str = "f", ball: Any = None) -> dict[str, Any]:
    ends = (None if end is None else str(F(end)) for end in (low, high))
    return {"inner": inner, "kind": kind, "low": next(ends), "high": next(ends), "ball": ball}


def const(*values: Any, shape: tuple[int, ...] | None = None, kind: str = "f") -> Step:
    shape = (len(values),) if shape is None else shape
    return (
        "const",
        (),
        {"values": [str(F(v)) for v in values], "shape": shape, "kind": kind, "python": shape == ()},
    )


def number(value: Any, kind: str = "f") -> Step:
    return const(value, shape=(), kind=kind)


def whole(*axes: int) -> dict[str, Any]:
    return {"axes": axes}


def infos(s: Setting, declared: dict[str, Any], steps: list[Step]) -> list[Info]:
    count = N if s.size is None or s.length_is_private else s.size
    params = {**declared, "shape": (count, *declared["inner"])}
    found = [derive(s, "data", (), [], params)]
    for op, ids, given in steps:
        found.append(derive(s, op, ids, [found[k] for k in ids], given))
    return found


@dataclass(frozen=True)
class Case:
    name: str
    declared: dict[str, Any]
    steps: list[Step]
    says: dict[str, Any]
    attained: tuple[str, ...] = ()
    setting: dict[str, Any] = field(default_factory=lambda: {"size": 3})
    corners: tuple[Any, ...] = (0, 1)


UNIT = data(0, 1)
SIGNED = data(-1, 2)
BITS = data(0, 1, kind="i")
PAIRS = data(0, 1, 2)
PLANE = data(None, None, 2, ball=["2", "1"])
DIAMOND = data(None, None, 2, ball=["1", "1"])
SPHERE = ([0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [0.6, 0.8])
SQUARE = tuple(itertools.product((0, 1), repeat=2))
EVERY: dict[str, Any] = {"size": None, "at_least": 2}
ADD: dict[str, Any] = {"adjacency": "add-remove"}
ZERO: dict[str, Any] = {"adjacency": "zero-out", "size": 2}
GROUP: dict[str, Any] = {"size": 3, "group": 2}

CASES = [
    # A replaced record moves its row by the width of the interval; a row in a ball by its diameter.
    Case("data", SIGNED, [], {"change": 3, "change1": 3, "change2": 9, "norm1": 2}, ("change", "change2"), corners=(-1, 2)),
    Case("data in a square", PAIRS, [], {"change1": 2, "change2": 2, "norm2": 2}, ("change1", "change2"), corners=SQUARE),
    Case("data in a disc", PLANE, [], {"change2": 4, "norm2": 1, "change": 2}, ("change2", "change"), corners=SPHERE),
    Case("data in a diamond", DIAMOND, [], {"change1": 2, "norm1": 1, "norm2": 1, "change2": 4}, ("change1",), corners=SPHERE[:5]),
    Case("zero-out widens to 0", data(1, 2), [], {"low": 0, "change": 2, "change2": 4}, ("change",), ZERO, (1, 2)),
    Case("a constant", UNIT, [const(1, -2)], {"norm1": 3, "norm2": 5, "low": -2, "high": 1, "change": 0}),
    Case("a public number", UNIT, [("public", (), {"expression": ["div", ["number", "3"], ["size"]], "shape": (), "kind": "f", "python": True})], {"low": 3 * PER_N, "high": 3 * PER_N}, setting=EVERY),
    Case("ones", PAIRS, [("ones", (0,), {}), ("sum", (1,), whole(0))], {"low": 3, "high": 3, "change": 0}),
    Case("the private number of records", PAIRS, [("ones", (0,), {}), ("sum", (1,), whole(0))], {"change": 1, "low": 0, "rises": True}, setting=ADD),
    Case("a hidden draw", UNIT, [("hidden_draw", (0,), {"low": "0", "high": "3", "number": 1, "kind": "i", "python": False})], {"low": 0, "high": 3, "change": 3}),
    # A sample is the same on both sides. Its sum keeps the radius of the interval, 3/2, times the factor.
    Case("a sample", SIGNED, [("sample", (), {"count": 2, "number": 1})], {"low": 0, "high": 1, "change": 0, "facts": {"sample": (1, 2)}}),
    Case("a sum over a sample", SIGNED, [("sample", (), {"count": 2, "number": 1}), number(0), ("where", (1, 0, 2), {}), ("sum", (3,), whole(0)), number(-2), ("mul", (4, 5), {})], {"change": 6, "facts": {"sampled_sum": (1, 2, F(3), 0)}}, corners=(-1, 2)),
    Case("a fraction", UNIT, [("floor", (0,), {"kind": "f", "python": False}), ("sub", (0, 1), {})], {"low": 0, "high": 1}),
    Case("the fraction of an integer", BITS, [("cast", (0,), {"kind": "f", "python": False}), ("floor", (1,), {"kind": "f", "python": False}), ("sub", (1, 2), {})], {"low": 0, "high": 0, "change": 0}),
    Case("a row function", UNIT, [("row_function", (0,), {"seed": 1, "shape": (2,)})], {"low": None, "high": None, "change": None}),
    # Sums: one record moves the sum by its row; an added record by its own norm; a group of g by g times that.
    Case("sum", SIGNED, [("sum", (0,), whole(0))], {"change1": 3, "low": -3, "high": 6}, ("change1", "low", "high"), corners=(-1, 2)),
    Case("sum of a group", SIGNED, [("sum", (0,), whole(0))], {"change1": 6, "change2": 36}, ("change1", "change2"), GROUP, (-1, 2)),
    Case("sum of every number", SIGNED, [("sum", (0,), whole(0))], {"change1": 3, "low": -N, "high": 2 * N}, setting=EVERY),
    Case("sum under add-remove", SIGNED, [("sum", (0,), whole(0))], {"change1": 2, "rises": False, "low": None}, setting=ADD),
    Case("sum of discs under add-remove", PLANE, [("sum", (0,), whole(0))], {"change2": 1, "change": 1}, setting=ADD),
    Case("sum in rows", PAIRS, [("sum", (0,), whole(1))], {"change": 2, "high": 2}, ("change", "high"), corners=SQUARE),
    Case("sum of disc in rows", PLANE, [("sum", (0,), whole(1))], {"change2": 8}, corners=SPHERE),  # 2 |v|^2, |v| <= 2
    Case("sums of blocks", UNIT, [("reshape", (0,), {"shape": (2, 2), "records": 2}), ("sum", (1,), whole(1))], {"change1": 1, "high": 2}, ("change1", "high"), {"size": 4}),
    # Arithmetic.
    Case("x + x", UNIT, [("add", (0, 0), {})], {"change": 2, "high": 2}, ("change", "high")),
    Case("records apart", UNIT, [("rows", (0,), {"start": 0, "stop": 1, "step": 1}), ("sum", (1,), whole(0)), ("rows", (0,), {"start": 1, "stop": None, "step": 1}), ("sum", (3,), whole(0)), ("add", (2, 4), {})], {"change1": 1, "high": 3}, ("change1", "high")),
    Case("1 - x", SIGNED, [number(1), ("sub", (1, 0), {})], {"low": -1, "high": 2, "change": 3}, ("low", "high", "change"), corners=(-1, 2)),
    Case("less a common number", PAIRS, [("sum", (0,), whole(0)), ("max", (1,), whole(0)), ("sub", (1, 2), {})], {"facts": {"centred": Poly.of(1)}, "change": 2}, corners=SQUARE),
    Case("x * x of rows", SIGNED, [("mul", (0, 0), {})], {"low": -2, "high": 4, "change": 6}, corners=(-1, 2)),  # 2 A D = 12, width 6
    Case("weights", PAIRS, [("sum", (0,), whole(0)), const(3, -2), ("mul", (1, 2), {})], {"change1": 5, "change": 3, "low": -6, "high": 9}, ("change1", "change", "low"), corners=SQUARE),
    Case("mean of every number", SIGNED, [("sum", (0,), whole(0)), ("public", (), {"expression": ["size"], "shape": (), "kind": "i", "python": True}), ("div", (1, 2), {})], {"change1": 3 * PER_N, "change2": 9 * PER_N * PER_N, "low": -1, "high": 2}, setting=EVERY),
    Case("1 / (1 + x)", UNIT, [number(1), ("add", (0, 1), {}), ("div", (1, 2), {})], {"low": 0, "high": 1, "change": 1}, ("high",)),
    Case("x mod 1", SIGNED, [number(1), ("mod", (0, 1), {})], {"low": 0, "high": 1, "change": 1}, corners=(-1, 2)),
    Case("-x", SIGNED, [("neg", (0,), {})], {"low": -2, "high": 1, "change": 3}, ("low", "high", "change"), corners=(-1, 2)),
    Case("square", UNIT, [("square", (0,), {})], {"change": 1, "high": 1, "low": 0}, ("change", "high")),
    Case("square of a long interval", data(1, 3), [("square", (0,), {})], {"high": 9, "change": 9}, ("high",), corners=(1, 3)),
    Case("abs", SIGNED, [("abs", (0,), {})], {"low": 0, "high": 2, "change": 2}, ("high",), corners=(-1, 2)),
    Case("sign", SIGNED, [("sign", (0,), {})], {"low": -1, "high": 1, "change": 2}, ("change",), corners=(-1, 2)),
    # Functions with a bounded slope: 1 / x <= 2 and 1 / (2 sqrt x) <= 1 on [1/2, 1] and [1/4, 1].
    Case("exp", UNIT, [("exp", (0,), {})], {"low": 0, "high": None, "change": None, "facts": {"exp": 0}}),
    Case("log", data(F(1, 2), 1), [("log", (0,), {})], {"change": 1, "low": None}, corners=(0.5, 1)),
    Case("sqrt", data(F(1, 4), 1), [("sqrt", (0,), {})], {"change": F(3, 4), "low": 0, "high": 1}, ("high",), corners=(0.25, 1)),
    *(Case(op, UNIT, [(op, (0,), {})], {"change": 1, "low": -1, "high": 1}) for op in ("tanh", "sin", "cos")),
    Case("arctan", data(0, 9), [("arctan", (0,), {})], {"high": F(1571, 1000), "change": F(1571, 500)}, corners=(0, 9)),
    Case("minimum", SIGNED, [number(1), ("minimum", (0, 1), {})], {"low": -1, "high": 1, "change": 2}, ("high", "change"), corners=(-1, 2)),
    Case("maximum", SIGNED, [number(0), ("maximum", (0, 1), {})], {"low": 0, "high": 2, "change": 2}, ("low", "change"), corners=(-1, 2)),
    # Truth values: 0 or 1, so a row moves by 1, and a count by 1.
    Case("a count", SIGNED, [number(0), ("gt", (0, 1), {}), ("sum", (2,), whole(0))], {"change1": 1, "high": 3, "guard": ((0, F(0), None, True, False, ()), (2, F(1), F(1), False, False, ()))}, ("change1", "high"), corners=(-1, 2)),
    *(
        Case(op, BITS, [number(1, "i"), (op, (0, 1), {})], {"change": 1, "guard": guard}, ("change",))
        for op, guard in {
            "lt": ((0, None, F(1), False, True, ()),),
            "le": ((0, None, F(1), False, False, ()),),
            "ge": ((0, F(1), None, False, False, ()),),
            "eq": ((0, F(1), F(1), False, False, ()),),
            "ne": ((0, None, None, False, False, (F(1),)),),
        }.items()
        if op != "le"
    ),
    Case("le", BITS, [number(0, "i"), ("le", (0, 1), {})], {"change": 1, "guard": ((0, None, F(0), False, False, ()),)}, ("change",)),
    Case("both", BITS, [number(1, "i"), ("ge", (0, 1), {}), number(2, "i"), ("lt", (0, 3), {}), ("and", (2, 4), {})], {"change": 1, "guard": ((0, F(1), F(2), False, True, ()), (2, F(1), F(1), False, False, ()), (4, F(1), F(1), False, False, ()))}, ("change",)),
    Case("either", BITS, [number(1, "i"), ("ge", (0, 1), {}), ("or", (2, 2), {})], {"change": 1, "guard": None}, ("change",)),
    Case("not", BITS, [number(1, "i"), ("ge", (0, 1), {}), ("not", (2,), {})], {"change": 1, "guard": ((2, F(0), F(0), False, False, ()), (0, None, F(1), False, True, ()))}, ("change",)),
    Case("rows of a mask", data(-3, 3), [number(2), ("gt", (0, 1), {}), number(0), ("where", (2, 0, 3), {}), ("sum", (4,), whole(0))], {"change1": 3, "guard": ((0, F(2), None, True, False, ()), (2, F(1), F(1), False, False, ()))}, corners=(-3, 3)),
    Case("where without a zero", SIGNED, [number(0), ("gt", (0, 1), {}), number(5), ("where", (2, 0, 3), {})], {"low": 0, "high": 5, "change": 5, "guard": None}, corners=(-1, 2)),
    Case("where beside its limit", SIGNED, [number(0), ("gt", (0, 1), {}), number(5), ("where", (2, 3, 0), {})], {"low": -1, "high": 5, "change": 6}, corners=(-1, 2)),
    Case("where between two limits", SIGNED, [number(0), ("gt", (0, 1), {}), number(1), ("le", (0, 3), {}), ("and", (2, 4), {}), ("where", (5, 0, 1), {})], {"low": 0, "high": 1, "change": 1}, corners=(-1, 0, 1)),
    Case("cast", BITS, [("cast", (0,), {"kind": "f", "python": False})], {"change": 1, "low": 0, "high": 1}, ("change",)),
    # Roundings: |floor a - floor b| <= ceil |a - b|; half to even may move by 2 for a change of 1.
    Case("floor", data(F(-1, 2), F(3, 4)), [("floor", (0,), {"kind": "i", "python": False})], {"low": -1, "high": 0, "change": 1}, ("low", "high", "change"), corners=(-0.5, 0.75)),
    Case("trunc", data(0, F(5, 2)), [("trunc", (0,), {"kind": "i", "python": False})], {"low": 0, "high": 2, "change": 2}, ("high", "change"), corners=(0, 2.5)),
    Case("rint", data(F(1, 2), F(3, 2)), [("rint", (0,), {"kind": "f", "python": False})], {"low": 0, "high": 2, "change": 2}, ("low", "high", "change"), corners=(0.5, 1.5)),
    # Reductions and order statistics are 1-Lipschitz in the largest change.
    *(Case(op, SIGNED, [(op, (0,), whole(0))], {"change": 3, "low": -1, "high": 2}, ("change",), corners=(-1, 2)) for op in ("max", "min")),
    *(Case(op, BITS, [number(1, "i"), ("ge", (0, 1), {}), (op, (2,), whole(0))], {"change": 1}, ("change",)) for op in ("any", "all")),
    Case("median", SIGNED, [("order", (0,), {"what": "median"})], {"change": 3, "change2": 9}, ("change",), corners=(-1, 2)),
    Case("quantile of a group", UNIT, [("order", (0,), {"what": "quantile", "q": "1/4"})], {"change": 1}, (), GROUP),
    Case("entry of each row", PAIRS, [("row_entry", (0,), {"at": ["outcome", 0]})], {"change1": 1}, ("change1",), corners=SQUARE),
    Case("argbest", PAIRS, [("argbest", (0,), {"largest": True})], {"low": 0, "high": 1, "change": 1}, ("change",), corners=SQUARE),
    Case("sort of a group", UNIT, [("sort", (0,), {})], {"change1": 2, "change": 1, "change2": 2}, ("change1", "change2"), GROUP),
    Case("cumsum", UNIT, [("cumsum", (0,), {})], {"change1": 3, "change": 1, "high": 3, "change2": 3}, ("change1", "change", "high"), {"size": 3}),
    Case("cumsum of every number", UNIT, [("cumsum", (0,), {})], {"change1": N, "change": 1, "high": N, "change2": N}, setting=EVERY),
    Case("variance", UNIT, [("var", (0,), {"ddof": 0})], {"change": F(2, 9)}, ("change",)),  # (n - 1) / n^2 for n = 3
    Case("variance with ddof 1", UNIT, [("var", (0,), {"ddof": 1})], {"change": F(1, 3)}, ("change",)),  # 1 / n
    Case("variance of every number", SIGNED, [("var", (0,), {"ddof": 0})], {"change": 9 * PER_N - 9 * PER_N * PER_N, "high": 9}, setting=EVERY),
    # Norms and clipping.
    *(Case(f"norm {p}", PAIRS, [("norm", (0,), {"p": p, "keep": False})], {"change": c, "high": c, "low": 0}, ("change", "high"), corners=SQUARE) for p, c in (("1", 2), ("inf", 1))),
    Case("norm 2", PLANE, [("norm", (0,), {"p": "2", "keep": False})], {"change": 1, "high": 1, "low": 0}, ("change", "high"), corners=SPHERE),
    Case("rows over their norm", data(-4, 4, 2), [("norm", (0,), {"p": "2", "keep": True}), number(1), ("maximum", (1, 2), {}), ("div", (0, 3), {}), ("sum", (4,), whole(0))], {"change2": 4, "change": 2}, ("change",), {"size": 2}, ([4, 4], [-4, 0], [4, 0], [0, 0])),
    Case("rows times the inverse", data(-4, 4, 2), [("norm", (0,), {"p": "1", "keep": True}), number(1), ("add", (1, 2), {}), ("div", (2, 3), {}), ("mul", (0, 4), {})], {"norm1": 1, "change1": 2, "low": -1}, (), {"size": 2}, ([4, 4], [-4, 0], [0, 0])),
    # Shapes and selections.
    Case("reshape", UNIT, [("reshape", (0,), {"shape": (3, 1), "records": 1})], {"change1": 1, "records": 1}, ("change1",)),
    Case("rows of a slice", UNIT, [("rows", (0,), {"start": 2, "stop": None, "step": -2})], {"support": ((0, 3, 2),), "aligned": (2, 2, -2), "change": 1}, ("change",)),
    Case("a slice of every number", UNIT, [("rows", (0,), {"start": 1, "stop": None, "step": 1}), ("sum", (1,), whole(0))], {"high": N - 1, "support": ((1, None, 1),), "change": 1}, setting=EVERY),
    Case("a half of every number", data(1, 3), [("part", (0,), {"start": (0, 0, 1), "stop": (1, 0, 2)}), ("sum", (1,), whole(0))], {"low": 0, "high": 3 * N, "support": (((0, 0, 1), (1, 0, 2), 1),), "change": 2}, setting=EVERY),
    Case("pick", PAIRS, [("sum", (0,), whole(0)), ("pick", (1,), {"inside": False, "places": [1], "shape": (), "lead": 0})], {"change1": 1, "facts": {"entry": (1, 1)}}, ("change1",), corners=SQUARE),
    Case("stack", UNIT, [("sum", (0,), whole(0)), ("stack", (1, 1), {"kind": "f"})], {"change1": 2, "change2": 2, "change": 1}, ("change1", "change2")),
    Case("stack of records apart", UNIT, [("rows", (0,), {"start": k, "stop": k + 1, "step": 1}) for k in (0, 1)] + [("stack", (1, 2), {"kind": "f"})], {"change1": 1, "change2": 1}, ("change1",)),
    Case("columns", PAIRS, [("columns", (0, 0), {})], {"change1": 4, "change2": 4, "norm2": 4}, ("change1", "change2"), {"size": 2}, SQUARE),
    # M = [[1, 2], [0, -1]]: columns have L1 norms 1 and 3, rows 3 and 1.
    Case("a matrix times rows", PAIRS, [const(1, 2, 0, -1, shape=(2, 2)), ("matrix", (1, 0), {"over": False, "vector": False})], {"change": 3, "change1": 6, "high": 3, "change2": 18}, ("change",), {"size": 2}, SQUARE),
    Case("records as columns", UNIT, [const(1, 2, 0, 0, -1, 1, shape=(2, 3)), ("matrix", (1, 0), {"over": True, "vector": False})], {"change1": 3, "change2": 5, "change": 2}, ("change1", "change2", "change")),
    Case("gram matrix", PLANE, [("outer", (0, 0), {}), ("sum", (1,), whole(0))], {"change2": 2}, ("change2",), {"size": 2}, SPHERE),
    Case("gram matrix under add-remove", PLANE, [("outer", (0, 0), {}), ("sum", (1,), whole(0))], {"change2": 1}, setting=ADD),
    # A record leaves one bin and enters another: |.|_1 and |.|_2^2 move by 2; an added one by 1.
    Case("histogram", SIGNED, [("bins", (0,), {"edges": ["-1", "0", "2"]}), ("sum", (1,), whole(0))], {"change1": 2, "change2": 2, "change": 1}, ("change1", "change2"), corners=(-1, 2)),
    Case("histogram under add-remove", SIGNED, [("bins", (0,), {"edges": ["-1", "0", "2"]}), ("sum", (1,), whole(0))], {"change1": 1, "change2": 1, "rises": True}, setting=ADD),
    Case("a row of a table", BITS, [const(0, 3), const(1, 1), ("gather", (0, 1, 2), {}), ("sum", (3,), whole(0))], {"change2": 18, "high": 9}, (), {"size": 3}),
    Case("a row for one record", BITS, [("pick", (0,), {"inside": False, "lead": 0, "places": [0], "shape": ()}), const(3, 0), const(0, 4), ("gather", (1, 2, 3), {})], {"change2": 32, "high": 4, "norm2": 16}, ("high",)),
    Case("bincount", BITS, [("one_hot", (0,), {"k": 2}), ("sum", (1,), whole(0))], {"change1": 2, "change2": 2, "high": 3}, ("change1", "high")),
    Case("softmax", UNIT, [("exp", (0,), {}), ("sum", (1,), whole(0))], {"low": 0, "change": None}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bounds_by_hand(case: Case) -> None:
    """The last step has exactly the bounds derived by hand."""
    found = infos(Setting(**case.setting), case.declared, case.steps)[-1]
    assert {name: getattr(found, name) for name in case.says} == case.says


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.setting.get("size")], ids=lambda case: case.name
)
def test_bounds_are_those_of_all_neighbours(case: Case) -> None:
    """Neighbours at the corners never exceed a bound, and attain the tight bounds."""
    s = Setting(**case.setting)
    last = infos(s, case.declared, case.steps)[-1]
    most: dict[str, float] = {}
    for left, right in neighbours(s, case):
        a, b = (computed(s, case, x) for x in (left, right))
        rows = (
            np.abs(b - a).reshape(-1, max(1, int(np.prod(a.shape[last.records :]))))
            if last.records
            else np.abs(b - a).reshape(1, -1)
        )
        own = {
            "high": a.max(),
            "low": -a.min(),
            "change": rows.max(),
            "change1": rows.sum(axis=1).max(),
            "change2": (rows**2).sum(axis=1).max(),
        }
        most = {name: max(value, most.get(name, value)) for name, value in own.items()}
    for name, value in most.items():
        bound = getattr(last, name)
        if bound is None:
            continue
        limit = float(bound.number) * (-1 if name == "low" else 1)
        assert value <= limit + 1e-9, name
        if name in case.attained:
            assert value == pytest.approx(limit), name


def neighbours(s: Setting, case: Case) -> list[tuple[Any, Any]]:
    size = s.size or 0
    found = []
    for x in itertools.product(case.corners, repeat=size):
        for places in itertools.combinations(range(size), s.group):
            for other in itertools.product(case.corners, repeat=s.group):
                y = list(x)
                for place, row in zip(places, other, strict=True):
                    y[place] = np.zeros_like(row) if s.adjacency == "zero-out" else row
                found.append((x, y))
    return found


def computed(s: Setting, case: Case, x: Any) -> Any:
    kind = {"f": float, "i": np.int64}[case.declared["kind"]]
    values = [np.array(x, dtype=kind)]
    pair = Pair(0, (len(x), len(x)), (), (F(0), F(0), F(0)))
    for op, ids, params in case.steps:
        if op == "const":
            numbers = [float(F(v)) if params["kind"] == "f" else int(v) for v in params["values"]]
            values.append(numbers[0] if params["python"] else np.array(numbers).reshape(params["shape"]))
        else:
            values.append(COMPUTED[op](params, pair, 0, *(values[k] for k in ids)))
    return np.asarray(values[-1], dtype=float)


def test_every_rule_has_a_case() -> None:
    """Every rule has a bound derived by hand, here, below (``softmax``) or in ``test_texts``."""
    tried = {"data", *(op for case in CASES for op, _, _ in case.steps)}
    assert tried == set(RULES) - {"softmax", "of_text"}


def test_softmax_is_of_use_in_a_choice_only() -> None:
    """exp(v) / exp(v).sum() is in [0, 1], refers to v, and cannot be used in other steps."""
    s = Setting(size=3)
    steps = [
        ("exp", (0,), {}),
        ("max", (0,), whole(0)),
        ("stack", (2, 2), {"kind": "f"}),
        ("exp", (3,), {}),
        ("sum", (4,), whole(0)),
    ]
    found = infos(s, UNIT, steps)
    soft = derive(s, "softmax", (4, 5), [found[4], found[5]], {})
    assert (soft.low, soft.high, soft.change, soft.facts) == (0, 1, 1, {"softmax": 3})
    with pytest.raises(RefusedStepError):
        derive(s, "sum", (6,), [soft], whole(0))
    with pytest.raises(RefusedStepError):
        derive(s, "softmax", (4, 5), [found[4], found[2]], {})


REFUSED: dict[str, tuple[dict[str, Any], list[Step], dict[str, Any]]] = {
    "exp of truth values is float16": (data(0, 1, kind="b"), [("exp", (0,), {})], {"size": 3}),
    "tanh of truth values is float16": (data(0, 1, kind="b"), [("tanh", (0,), {})], {"size": 3}),
    "a negative stop counts from the end": (UNIT, [("rows", (0,), {"start": 0, "stop": -1, "step": 1})], {"size": 3}),
    "a negative stop, every number": (UNIT, [("rows", (0,), {"start": 0, "stop": -1, "step": 1})], EVERY),
    "a constant with too few values": (UNIT, [("const", (), {"values": ["1"], "shape": (3,), "kind": "f", "python": False})], {"size": 3}),
    "division by what may be 0": (UNIT, [("div", (0, 0), {})], {"size": 3}),
    "log of what may be 0": (UNIT, [("log", (0,), {})], {"size": 3}),
    "rows of private number as one array": (UNIT, [("sort", (0,), {})], ADD),
    "positions of records of private number": (UNIT, [("rows", (0,), {"start": 0, "stop": 1, "step": 1})], ADD),
    "a part of private number": (UNIT, [("part", (0,), {"start": (0, 0, 1), "stop": (1, 0, 2)})], ADD),
    "a part that may count from the end": (UNIT, [("part", (0,), {"start": (0, 0, 1), "stop": (1, -2, 2)})], EVERY),
    "a part of reversed rows": (UNIT, [("rows", (0,), {"start": 1, "stop": None, "step": 1}), ("part", (1,), {"start": (0, 0, 1), "stop": None})], EVERY),
    "truth values are added": (data(0, 1, kind="b"), [("add", (0, 0), {})], {"size": 3}),
    "numbers beyond the table": (data(0, 2, kind="i"), [("one_hot", (0,), {"k": 2})], {"size": 3}),
    "blocks of a group": (UNIT, [("reshape", (0,), {"shape": (2, 2), "records": 2}), ("sum", (1,), whole(1))], {"size": 4, "group": 2}),
    "a variance of one": (UNIT, [("var", (0,), {"ddof": 1})], {"size": 1}),
    "an extreme of what may be empty": (UNIT, [("rows", (0,), {"start": 0, "stop": 0, "step": 1}), ("max", (1,), whole(0))], {"size": 3}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_steps(name: str) -> None:
    """A step whose conditions do not hold is refused."""
    declared, steps, setting = REFUSED[name]
    with pytest.raises(RefusedStepError):
        infos(Setting(**setting), declared, steps)


def test_running_sums_below_an_outcome() -> None:
    """The sum of min(x, o) with an outcome o of any sign is not bounded by 0."""
    s = Setting(size=3)
    outcome: Step = ("public", (), {"expression": ["outcome", 0], "shape": (), "kind": "f", "python": True})
    found = infos(s, data(None, None), [outcome, ("minimum", (0, 1), {}), ("cumsum", (2,), {})])
    assert found[2].high is not None
    assert found[3].high is None


def test_the_sign_of_a_python_number_is_numpys() -> None:
    """np.sign(2) is an int64, which may overflow, so it must not count as a Python int."""
    found = infos(Setting(size=3), UNIT, [number(2, "i"), ("sign", (1,), {})])
    assert (found[1].python, found[2].python) == (True, False)
    assert type(np.sign(2)) is np.int64


def test_a_failed_conjunction_says_nothing_about_one_of_its_parts() -> None:
    """``where((x > 5) & (x == 7), 0, x)`` may be above 5, because only the second part may fail."""
    steps = [
        number(5), ("gt", (0, 1), {}), number(7), ("eq", (0, 3), {}), ("and", (2, 4), {}), number(0),
        ("where", (5, 6, 0), {}), ("where", (2, 6, 0), {}),
    ]  # fmt: skip
    found = infos(Setting(size=3), data(0, 9), steps)
    assert (found[7].high, found[8].high) == (9, 5)
