"""Rates as sums of monomials: bounded or outgrown, against evaluation along rays and random points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from audits.glm_bandits.rows import rates
from audits.glm_bandits.rows.rates import DERIVATIONS, Derivation
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.algorithms.contextual.dominated_rates import growth
from dpaudit.reference.algorithms.contextual.exponents import Monomial, monomial


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


def test_a_cap_counts_only_where_it_is_above() -> None:
    """T² is above sqrt(T), and so is the cap T; above T it is the cap that the print bounds."""
    assert growth(monomial("T^2"), [monomial("T^1/2")], caps=[monomial("T")]).power == Fraction(1, 2)
    found = growth(monomial("T^2"), [monomial("T")], caps=[monomial("T")])
    assert found.power == 0
    assert sum(found.weights) == 1


@pytest.mark.parametrize("case", DERIVATIONS, ids=lambda case: case.id)
def test_each_derivation_by_evaluation(case: Derivation) -> None:
    """Bounded: at most the sum at random points. Outgrown: the ratio along the ray has that very slope."""
    rng = np.random.default_rng(5)
    printed, caps = case.compared(), [monomial(cap) for cap in case.caps]
    powers = []
    for term, found in case.growths():
        powers.append(found.power)
        symbols = {s for row in (term, *caps, *printed) for s in row.symbols}

        def ratio(logs: dict[str, float], terms: Sequence[Monomial] = (term, *caps)) -> float:
            smallest = min(_log_value(row, logs) for row in terms)
            return smallest - max(_log_value(row, logs) for row in printed)

        if found.power:
            ray = {s: 100 * float(dict(found.ray).get(s, Fraction(0))) for s in symbols}
            assert ratio(ray) == pytest.approx(100 * float(found.power))
            continue
        for _ in range(2000):
            assert ratio({s: float(rng.uniform(0, 30) * rng.integers(2)) for s in symbols}) <= 1e-9
    assert (max(powers) > 0) == (case.expect == "refuted")


def _plus(*logs: float) -> float:
    """The logarithm of a sum."""
    return float(np.logaddexp.reduce(logs))


def _printed_formulas(log: dict[str, float]) -> dict[str, float]:
    """Logarithms of E.1, of (43) with γ of (9) and φ = √κ γ², and of J.1 from the printed formulas: sums in
    powers stay sums; constants, logarithms, R, S and M left out, a = 1/2."""
    T, d, e, s, q = (log[name] for name in "Tdesq")
    kappa, sigma, nu = q + s, e - s, d / 2 + e
    inner = _plus(d, sigma, nu / 2)
    first = 2 / 3 * (kappa / 2 + 2 * d + T / 2 + inner)
    gamma = _plus(_plus(d, sigma) / 2, nu / 2)  # (9): √ν outside the root
    whole = 2 / 3 * (kappa / 2 + 2 * gamma + 2 * d + T / 2)
    beta, width = (d + e - s) / 2, d + e - 2 * s  # (20), (21)
    return {
        "E.1": _plus(first, d - s / 2 + T / 2 + inner / 2),
        "(43)": _plus(whole, d - s / 2 + T / 2 + gamma),
        "J.1": _plus(d / 2 + beta + (T - s) / 2, d + kappa + 2 * width),
    }


def test_the_terms_are_those_of_the_printed_formulas() -> None:
    """E1, TRUE_E1 and J1 with everything put in: their largest term is the printed formula up to the number
    of its terms, at random sizes of all symbols."""
    by_id = {case.id: case for case in DERIVATIONS}
    cases = {
        "E.1": replace(by_id["SAR-T5.1/from-E.1"], terms=rates.E1),
        "(43)": by_id["SAR-T5.1/repaired"],
        "J.1": by_id["SAR-T6.2/repaired"],
    }
    rng = np.random.default_rng(8)
    for _ in range(300):
        log = {name: float(rng.uniform(0, 200)) for name in "Tdesq"}
        for name, value in _printed_formulas(log).items():
            found = max(_log_value(term, log) for term in cases[name].derived())
            assert abs(value - found) < 4


def test_the_rays_break_the_printed_theorems_inside_their_domain() -> None:
    """On the ray of 5.1 and D.3 the term stays below T, κ* below e^S, and above each printed term."""
    for name in ("SAR-T5.1/from-E.1", "SAR-D.3/from-E.1"):
        case = next(one for one in DERIVATIONS if one.id == name)
        term, worst = max(case.growths(), key=lambda pair: pair[1].power)
        log = {s: float(u) for s, u in worst.ray}
        values = {s: log.get(s, 0.0) for s in "Tdesqx"}
        assert _log_value(term, values) < values["T"]
        assert all(_log_value(row, values) < _log_value(term, values) for row in case.compared())
