"""Rates as sums of monomials: bounded or outgrown, against evaluation along rays and random points."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from algorithms.contextual.dominated_rates import growth
from algorithms.contextual.exponents import Monomial, monomial
from audits.glm_bandits.rows.rates import DERIVATIONS
from dpaudit.errors import InvalidParameterError


def _log_value(term: Monomial, logs: dict[str, float]) -> float:
    return sum(float(power) * logs[symbol] for symbol, power in term.powers)


def test_a_geometric_mean_is_bounded_by_a_sum() -> None:
    """sqrt(xy) <= x + y, by neither term alone."""
    found = growth(monomial("x^1/2 y^1/2"), [monomial("x"), monomial("y")])
    assert found.power == 0
    assert sum(found.weights) == 1


def test_a_product_is_not() -> None:
    """x y against x + y: z² against z."""
    found = growth(monomial("x y"), [monomial("x"), monomial("y")])
    assert found.power == 1
    assert dict(found.ray) == {"x": 1, "y": 1}


def test_smaller_powers_are_bounded() -> None:
    """A negative exponent is no growth where symbols are at least 1."""
    assert growth(monomial("x^1/3 y^-5"), [monomial("x^1/2")]).power == 0


def test_without_a_printed_term() -> None:
    """Nothing to compare with."""
    with pytest.raises(InvalidParameterError):
        growth(monomial("x"), [])


@pytest.mark.parametrize("case", DERIVATIONS, ids=lambda case: case.id)
def test_each_derivation_by_evaluation(case) -> None:  # type: ignore[no-untyped-def]
    """Bounded: at most the sum at random points. Outgrown: the ratio along the ray has that very slope."""
    rng = np.random.default_rng(5)
    printed = case.compared()
    powers = []
    for term in case.derived():
        found = growth(term, printed)
        powers.append(found.power)
        symbols = {s for row in (term, *printed) for s in row.symbols}
        if found.power:
            logs = {s: 100 * float(dict(found.ray).get(s, Fraction(0))) for s in symbols}
            ratio = _log_value(term, logs) - max(_log_value(row, logs) for row in printed)
            assert ratio == pytest.approx(100 * float(found.power))
            continue
        for _ in range(2000):
            logs = {s: float(rng.uniform(0, 30) * rng.integers(2)) for s in symbols}
            assert _log_value(term, logs) <= max(_log_value(row, logs) for row in printed) + 1e-9
    assert (max(powers) > 0) == (case.expect == "refuted")
