"""What is proved is true: false inequalities are not, and true ones are, by each method."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

from dpaudit.kernel.inequalities.check import check_inequality
from dpaudit.kernel.inequalities.domain import Reals
from tests.kernel.inequalities.false_ones import FALSE, FROM_1, INNER, UNIT
from tests.kernel.inequalities.tables import Build, evidence, larger, reals, search, smaller, without_refuter

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
