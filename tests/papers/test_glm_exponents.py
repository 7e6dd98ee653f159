"""The printed regret exponents of Sarmasarkar where they follow from one another, in symbols: E.1 and (43)
with (8)-(10), 5.1; J.1 with (20), (21), 6.2. Each derived expression is expanded by sympy from the printed
formula, its monomials against those of the audit's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
import sympy as sp

from audits.glm_bandits.rows import rates
from dpaudit.reference.algorithms.contextual.exponents import Monomial

T, d, eps, star, kappa, B, phi, alpha = sp.symbols("T d epsilon kappa_star kappa B phi alpha", positive=True)
R, nu, sigma = sp.symbols("R nu sigma", positive=True)
half = sp.Rational(1, 2)
#: The audit's letters: e = 1/ε, s = κ*, q = κ/κ*, and φ, R, B, α of (42), (43).
LETTERS = {"T": T, "d": d, "e": 1 / eps, "s": star, "q": kappa / star, "f": phi, "R": R, "B": B, "a": alpha}
#: (10) without logarithms, R and S.
NOISE = {sigma: 1 / (star * eps), nu: sp.sqrt(d) / eps}


def powers(term: sp.Expr) -> tuple[sp.Expr, ...]:
    """Exponents of a monomial in T, d, ε, κ*, κ."""
    return tuple(sp.simplify(symbol * sp.diff(sp.log(term), symbol)) for symbol in (T, d, eps, star, kappa))


def parts(terms: Sequence[sp.Expr]) -> set[tuple[sp.Expr, ...]]:
    """The exponents of each."""
    return {powers(sp.powsimp(term, force=True)) for term in terms}


def of_row(terms: Sequence[Monomial]) -> set[tuple[sp.Expr, ...]]:
    """The same of the terms of a row, its letters replaced."""
    made = [
        sp.prod(LETTERS[letter] ** sp.Rational(p.numerator, p.denominator) for letter, p in term.powers)
        for term in terms
    ]
    return parts(made)


@cache
def row(row_id: str) -> rates.Derivation:
    return {case.id: case for case in rates.DERIVATIONS}[row_id]


def root(terms: Sequence[sp.Expr], power: sp.Expr) -> list[sp.Expr]:
    """A power of a sum, up to a constant: the sum of the powers."""
    return [term**power for term in terms]


#: (8), (9): the inner root of γ, and γ² with √ν outside it.
INNER = [d, sigma]
GAMMA = [*root(INNER, half), sp.sqrt(nu)]
GAMMA_SQUARED = [*INNER, nu]


def test_43_has_the_best_first_batch() -> None:
    """B_1 = (φ d² α)^(2/3) makes B_1 and φ d² α/√B_1 equal, and their derivatives' sum vanishes at 2^(-2/3)
    times it: the printed choice is optimal up to a constant, and (43) its value at R = 1."""
    cost = B + phi * d**2 * alpha / sp.sqrt(B)
    chosen = (phi * d**2 * alpha) ** sp.Rational(2, 3)
    assert sp.simplify((phi * d**2 * alpha / sp.sqrt(B)).subs(B, chosen) / chosen) == 1
    [least] = sp.solve(sp.diff(cost, B), B)
    assert sp.simplify(least / chosen) == sp.Rational(1, 2) ** sp.Rational(2, 3)


def test_43_loses_r() -> None:
    """With R in it both terms are R times the printed (φ d² α/R)^(2/3), as the row finds."""
    chosen = (phi * d**2 * alpha / R) ** sp.Rational(2, 3)
    for term in (R * B, phi * d**2 * alpha / sp.sqrt(B)):
        assert sp.simplify(term.subs(B, chosen) / chosen) == R


def derived_43() -> list[sp.Expr]:
    """(43) at α = √T, φ = √κ γ² and γ of (9)."""
    first = [(sp.sqrt(kappa) * square * d**2 * sp.sqrt(T)) ** sp.Rational(2, 3) for square in GAMMA_SQUARED]
    return [*first, *(d / sp.sqrt(star) * gamma * sp.sqrt(T) for gamma in GAMMA)]


def derived_e1() -> list[sp.Expr]:
    """E.1 as printed: ν under a root where γ² stood, and under two where γ did."""
    inner = [d, sigma, sp.sqrt(nu)]
    first = [(sp.sqrt(kappa) * d**2 * sp.sqrt(T) * term) ** sp.Rational(2, 3) for term in inner]
    return [*first, *(d / sp.sqrt(star) * sp.sqrt(T) * sp.sqrt(term) for term in inner)]


def noisy(terms: Sequence[sp.Expr]) -> list[sp.Expr]:
    """With σ and ν of (10)."""
    return [term.subs(NOISE) for term in terms]


def test_the_rows_terms_are_those_of_the_formulas() -> None:
    """E.1, (43) and J.1 expanded here are, exponent by exponent, what the rows compare."""
    assert of_row(row("SAR-T5.1/repaired").derived()) == parts(noisy(derived_43()))
    plain = replace(row("SAR-T5.1/from-E.1"), terms=rates.E1)
    assert of_row(plain.derived()) == parts(noisy(derived_e1()))
    leading = [term.subs(star, 1) for term in noisy(derived_e1())[3:]]
    assert of_row(row("SAR-T5.1/leading").derived()) == parts(leading)
    assert of_row(row("SAR-T6.2/repaired").derived()) == parts(derived_j1())


def test_e1_follows_from_43_but_for_nu() -> None:
    """Of the six terms four agree; those of ν have half the exponent in E.1, before ν is put in."""
    agree = [sp.simplify(a / b) for a, b in zip(derived_43(), derived_e1(), strict=True)]
    assert agree == [1, 1, nu ** sp.Rational(1, 3), 1, 1, nu ** sp.Rational(1, 4)]


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        (3, d ** sp.Rational(3, 2) * sp.sqrt(T) / sp.sqrt(star)),
        (4, d * sp.sqrt(T) / (star * sp.sqrt(eps))),
        (5, d ** sp.Rational(9, 8) * sp.sqrt(T) / (sp.sqrt(star) * eps ** sp.Rational(1, 4))),
    ],
)
def test_the_root_t_terms_of_theorem_5_1(place: int, printed: sp.Expr) -> None:
    """E.1's √T terms with (10): 5.1's first; its second has the d of ν's term, and the κ* and ε of σ's."""
    assert sp.simplify(noisy(derived_e1())[place] / printed) == 1


def test_the_second_term_of_theorem_5_1_is_no_term_of_e1() -> None:
    """d^(9/8) √T/(κ* √ε) against E.1's two private terms: d^(1/8) above σ's, (κ* √ε)^(-1/2) d^0 of ν's, so
    below it where κ*² ε > 1; what (43) gives instead is d^(5/4) √T/√(κ* ε)."""
    printed = d ** sp.Rational(9, 8) * sp.sqrt(T) / (star * sp.sqrt(eps))
    of_sigma, of_nu = noisy(derived_e1())[4:]
    assert sp.simplify(printed / of_sigma) == d ** sp.Rational(1, 8)
    assert sp.simplify(printed / of_nu * (star**2 * eps) ** sp.Rational(1, 4)) == 1
    repaired = d ** sp.Rational(5, 4) * sp.sqrt(T) / sp.sqrt(star * eps)
    assert sp.simplify(noisy(derived_43())[5] / repaired) == 1


@pytest.mark.parametrize(
    ("place", "power_of_d", "divided"),
    [(0, 2, False), (1, sp.Rational(4, 3), True), (2, sp.Rational(3, 2), None)],
)
def test_the_cube_root_terms_of_d3(place: int, power_of_d: sp.Expr, divided: bool | None) -> None:
    """κ^(1/3) T^(1/3) in each; d² undivided as D.3 has it and 5.1 not, σ's with (ε κ*)^(-2/3), ν's with the
    d^(3/2) that D.3 prints, and ε^(-1/3) alone."""
    found = powers(sp.powsimp(noisy(derived_e1())[place], force=True))
    third = sp.Rational(1, 3)
    by = {False: (0, 0), True: (-2 * third, -2 * third), None: (-third, 0)}[divided]
    assert found == (third, power_of_d, by[0], by[1], third)


def derived_j1() -> list[sp.Expr]:
    """J.1: √d β √(T/κ*) and d κ γ², with β of (20) and γ of (21)."""
    beta, gamma = sp.sqrt(d) / sp.sqrt(eps * star), d / (eps * star**2)
    return [sp.sqrt(d) * beta * sp.sqrt(T / star), d * kappa * gamma**2]


def test_theorem_6_2_from_j1() -> None:
    """J.1's √T term is d^(1/4) times 6.2's private one, so that d^(3/4) takes β with d^(1/4): (57)'s term in
    √ν_2, and √λ of (19) where √d is below the logarithm."""
    printed = d ** sp.Rational(3, 4) * sp.sqrt(T) / (star * sp.sqrt(eps))
    assert sp.simplify(derived_j1()[0] / printed) == d ** sp.Rational(1, 4)
    for beta in (sp.sqrt(sp.sqrt(d) / (eps * star)), d ** sp.Rational(1, 4) / sp.sqrt(eps * star)):
        assert sp.simplify(sp.sqrt(d) * beta * sp.sqrt(T / star) / printed) == 1
    unprivate = d * sp.sqrt(T / star)
    assert sp.simplify(sp.sqrt(d) * sp.sqrt(d) * sp.sqrt(T / star) / unprivate) == 1


def test_the_last_term_of_i8() -> None:
    """8 d R³ κ γ² with γ of (21) is d³ κ/(ε² κ*⁴): d³/κ*² times the printed κ/(ε κ*)²; with I.8's own γ, of
    one κ*, only d³ is lost."""
    printed = kappa / (eps * star) ** 2
    assert sp.simplify(derived_j1()[1] / printed) == d**3 / star**2
    own = d * kappa * (d / (eps * star)) ** 2
    assert sp.simplify(own / printed) == d**3


def test_a_wrong_exponent_is_seen() -> None:
    """The comparison of exponents tells d^(9/8) from d^(5/4), and κ from κ*."""
    assert parts([d ** sp.Rational(9, 8)]) != parts([d ** sp.Rational(5, 4)])
    assert parts([kappa]) != parts([star])
