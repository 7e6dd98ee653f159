"""What is proved is true: false inequalities are not, and true ones are, by each method."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.kernel.inequalities.check import check_inequality, parts, ways
from dpaudit.kernel.inequalities.domain import Reals
from dpaudit.kernel.inequalities.expression import Table
from dpaudit.kernel.inequalities.series import expansion
from dpaudit.kernel.kernel_t0 import CertificateError
from tests.kernel.inequalities.false_ones import FALSE, FROM_1, INNER, UNIT
from tests.kernel.inequalities.tables import (
    Build,
    evidence,
    larger,
    reals,
    search,
    smaller,
    traced,
    without_refuter,
)

TRUE: Mapping[str, tuple[Build, Mapping[str, Reals], Build | None]] = {
    "value": (lambda x: (0 * x, x**2), {"x": reals(-1, 1)}, None),
    "monotone": (lambda x: (2 * x, x**2 + 1 - x * (2 - 2 * x) / 4), {"x": reals(3, 4)}, None),
    "mean value": (lambda x: (x * (1 - x), Fraction(1, 4) + Fraction(1, 100) + 0 * x), {"x": UNIT}, None),
    "series": (lambda x: (1 + x, x.exp()), {"x": UNIT}, None),
    "series at the upper end": (lambda x: (x.log(), x - 1), {"x": reals("1/2", 1)}, None),
    "cut": (lambda x: (1 + x, x.exp()), {"x": reals(-1, 1, cuts=[0])}, None),
    "tail": (lambda x: (x / (x + 1), 1 + 0 * x), {"x": FROM_1}, None),
    "logarithms": (lambda x: (x.log(), x), {"x": FROM_1}, None),
    "roots": (lambda x: ((x**2 + 1).sqrt(), x + 1), {"x": FROM_1}, None),
    "open end": (lambda x: (1 + x, 1 / (1 - x)), {"x": INNER}, None),
    "condition": (lambda x, y: (x, y), {"x": UNIT, "y": UNIT}, lambda x, y: (x + Fraction(1, 9), y)),
    "smaller side": (lambda x, y: (smaller(x, y), y), {"x": FROM_1, "y": FROM_1}, None),
    "larger side": (lambda x, y: (x, larger(y, x)), {"x": FROM_1, "y": FROM_1}, None),
    "log form": (lambda x, y: (x.exp() * y, x.exp() * y * (1 + x)), {"x": FROM_1, "y": FROM_1}, None),
    "factor that is 0": (lambda x: (x * x.exp(), x * (2 * x).exp()), {"x": UNIT}, None),
}


@pytest.mark.parametrize("name", FALSE)
def test_no_false_inequality_is_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a search that never looks for a counterexample finds no proof."""
    without_refuter(monkeypatch)
    build, ranges, given = FALSE[name]
    assert search(build, ranges, given, boxes=160).trees is None


@pytest.mark.parametrize("name", TRUE)
def test_true_inequalities_are_proved_and_checked(name: str) -> None:
    """The search finds a proof, and the check accepts it from the evidence alone."""
    assert check_inequality(evidence(*TRUE[name])).boxes >= 1


#: False on the box: a side that is undefined, a large ninth power, a denominator that is 0 at the end.
FALSE_BESIDE_AN_END: Mapping[str, tuple[Build, Mapping[str, Reals]]] = {
    "0 times a logarithm": (lambda x: (0 * (x - 5).log(), x - 1), {"x": reals(1, 2)}),
    "ninth power": (lambda x: ((20 * x) ** 9, x), {"x": UNIT}),
    "falls from the upper end": (lambda x: (x, x**2), {"x": UNIT}),
    "no quotient at the end": (lambda x: (1 + x, (2 * x + 2 * x**2) / (2 * x)), {"x": UNIT}),
}


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("name", FALSE_BESIDE_AN_END)
def test_a_series_proves_nothing_false(name: str, near: bool) -> None:
    """On the whole range, where no split has taken the false part away."""
    build, ranges = FALSE_BESIDE_AN_END[name]
    about = traced(build, ranges)
    for product in parts(about, ranges, near=near):
        for way in ways(about, "", product, near=near):
            assert not any(way.by_series(way.ends, 0, lower=lower) for lower in (True, False))


def test_a_node_that_is_0_at_the_end_is_not_positive() -> None:
    """x is positive on (0, 1], and not on [0, 1]."""
    table = Table()
    node = table.term("v", 0).i
    found = expansion(table, [(Fraction(0), Fraction(1))], 0, lower=True, need=[node])
    assert found.nonnegative(node)
    assert found.nonnegative(node, strictly=True, from_the_end=False)
    assert not found.nonnegative(node, strictly=True)


HEAVY: dict[str, list[list[Any]]] = {
    "constants that double their digits": [["c", "3"], *(["*", k, k] for k in range(60))],
    "powers of powers": [["v", 0], *(["pow", k, 10_000] for k in range(20))],
    "sums of sums": [["v", 0], *(["+", k, k] for k in range(200))],
    "products": [["v", 0], *(each for k in range(0, 120, 2) for each in (["*", k, 0], ["*", k, k + 1]))],
    "exponentials": [["v", 0], *(["exp", k] for k in range(60))],
    "negated": [["v", 0], *(["neg", k] for k in range(3000))],
}


@pytest.mark.parametrize("leaf", ["0 64", "1 2048", "0 lower 0", "1 upper 0"])
@pytest.mark.parametrize("name", HEAVY)
def test_forged_tables_end_soon(name: str, leaf: str) -> None:
    """A small table whose numbers or rewritings would double with every node is checked or refused soon."""
    nodes = HEAVY[name]
    proof = evidence(lambda x: (x, x), {"x": UNIT})
    [combination] = proof["combinations"]
    combination["nodes"] = nodes
    [side] = combination["paths"][0]["sides"]
    side |= {"left": len(nodes) - 2, "right": len(nodes) - 1, "near": "er" in leaf, "trees": [leaf]}
    start = time.monotonic()
    with contextlib.suppress(CertificateError):
        check_inequality(proof)
    assert time.monotonic() - start < 20
