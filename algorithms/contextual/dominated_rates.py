"""Exact comparison of sums of monomials.

Is one term, up to a constant, at most a sum of others if every symbol is at least 1? It is if and only if its
exponents lie below a convex combination of the others' exponents. Otherwise there is a ray, symbols z^u with
u >= 0, along which its ratio to the sum grows like a positive power of z. A cap is another bound on the
quantity that the term bounds (regret is at most T). With caps, the smallest of all must be at most the sum,
as a weighted geometric mean of them is, or outgrow it. Either answer is found by linear programming and
checked in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.reference.algorithms.contextual.exponents import Monomial

__all__ = ["Growth", "growth"]

#: Denominators that are tried for exponents, weights and rays.
_LARGEST_DENOMINATOR = 10_000


@dataclass(frozen=True)
class Growth:
    """The growth of term/sum: z^``power`` along symbols z^``ray`` (largest exponent 1).

    If the ratio is bounded, the power is 0 and there is no ray. ``weights`` is then the convex combination
    that proves it, for the term and for each cap.
    """

    power: Fraction
    ray: tuple[tuple[str, Fraction], ...] = ()
    weights: tuple[Fraction, ...] = ()


def growth(term: Monomial, printed: Sequence[Monomial], *, caps: Sequence[Monomial] = ()) -> Growth:
    """Return how fast ``term``, or the smallest of it and ``caps``, can outgrow the sum of ``printed``.

    All symbols are at least 1. Raises ``InvalidParameterError`` without a printed term, ``UndecidedError`` if
    neither answer survives the check in fractions.
    """
    if not printed:
        raise InvalidParameterError("a rate must have a term to compare with, got none.")
    symbols = sorted({s for row in (term, *caps, *printed) for s in row.symbols})
    gaps = [[one.exponent(s) - row.exponent(s) for s in symbols] for one in (term, *caps) for row in printed]
    ray = _ray(gaps)
    power = min(sum((g * u for g, u in zip(row, ray, strict=True)), Fraction(0)) for row in gaps)
    if power > 0:
        return Growth(power, tuple((s, u) for s, u in zip(symbols, ray, strict=True) if u))
    weights = _weights(gaps)
    if all(sum(w * row[i] for w, row in zip(weights, gaps, strict=True)) <= 0 for i in range(len(symbols))):
        return Growth(Fraction(0), weights=weights)
    raise UndecidedError(
        f"{term} against {[str(row) for row in printed]} must be decided in fractions, got neither a ray nor "
        "weights; take exponents with smaller denominators."
    )


def _ray(gaps: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return exponents in [0, 1] that make the smallest gap as large as possible."""
    table = np.array([[float(g) for g in row] for row in gaps])
    count = table.shape[1]
    found = linprog(
        np.r_[np.zeros(count), -1.0],
        A_ub=np.c_[-table, np.ones(len(gaps))],
        b_ub=np.zeros(len(gaps)),
        bounds=[(0, 1)] * count + [(None, None)],
    )
    return [Fraction(float(u)).limit_denominator(_LARGEST_DENOMINATOR) for u in np.asarray(found.x)[:count]]


def _weights(gaps: Sequence[Sequence[Fraction]]) -> tuple[Fraction, ...]:
    """Return convex weights that make the largest mean gap as small as possible."""
    table = np.array([[float(g) for g in row] for row in gaps])
    size = len(gaps)
    found = linprog(
        np.r_[np.zeros(size), 1.0],
        A_ub=np.c_[table.T, -np.ones(table.shape[1])],
        b_ub=np.zeros(table.shape[1]),
        A_eq=np.r_[np.ones(size), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, 1)] * size + [(None, None)],
    )
    weights = [Fraction(float(w)).limit_denominator(_LARGEST_DENOMINATOR) for w in np.asarray(found.x)[:size]]
    total = sum(weights, Fraction(0))
    return tuple(weight / total for weight in weights)
