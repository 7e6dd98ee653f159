"""T1: tables of weights: the probabilities of an output on each input are proportional to sums of
exponentials.

A largest log-ratio that is rational is found exactly (``exponentials``), and any other one is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from flint import arb

from dpaudit.kernel.ball import enclose, precision, upper_short
from dpaudit.kernel.kernel_t0 import Parameters
from dpaudit.kernel.t1.exponentials import ExpSum, log_ratio

__all__ = ["WeightRow", "read_weights", "shares", "weights_log_ratio"]

#: Limits on the terms of one row of weights, on their exponents, and on the products of terms in the search
#: for a rational log-ratio.
MAX_TERMS = 2000
MAX_EXPONENT = 1000
MAX_WORK = 200_000
#: The working precision.
BITS = 128

#: Weights, and their sum.
WeightRow = tuple[Sequence[ExpSum], ExpSum]
#: Inputs i and j, and an output.
_Place = tuple[int, int, int]


def read_weights(p: Parameters, *, inputs: int, outputs: int, terms: int) -> list[WeightRow]:
    """Read the rows of ``weights``, which are not negative and have a positive sum.

    There are at least two and at most ``inputs`` rows, at most ``outputs`` weights in a row, and at most
    ``terms`` terms in all weights.
    """
    rows = p.entries("weights", most=inputs)
    good = len(rows) >= 2 and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
    p.need(good, "weights must be at least two lists of equal length.")
    p.need(0 < len(rows[0]) <= outputs, f"weights must have 1 to {outputs} outputs.")
    count = sum(len(entry) for row in rows for entry in row if isinstance(entry, list))
    p.need(count <= terms, f"weights must have at most {terms} terms, got {count}.")
    return [_read_weight_row(p, row) for row in rows]


def _read_weight_row(p: Parameters, row: Sequence[object]) -> WeightRow:
    count = sum(len(entry) for entry in row if isinstance(entry, list))
    p.need(count <= MAX_TERMS, f"a row of weights must have at most {MAX_TERMS} terms, got {count}.")
    weights = [_read_weight(p, entry) for entry in row]
    whole = reduce(ExpSum.__add__, weights)
    good = min(weight.sign() for weight in weights) >= 0 and not whole.is_zero()
    p.need(good, "weights must be 0 or more, and not all of them 0.")
    return weights, whole


def _read_weight(p: Parameters, entry: object) -> ExpSum:
    """Read a list of terms: pairs of a coefficient and an exponent."""
    good = isinstance(entry, list) and all(isinstance(term, list) and len(term) == 2 for term in entry)
    p.need(good, "a weight must be a list of pairs (coefficient, exponent).")
    terms: dict[Fraction, Fraction] = {}
    for coefficient, exponent in entry if isinstance(entry, list) else ():
        size = p.number("weights", exponent)
        p.need(abs(size) <= MAX_EXPONENT, f"exponents must be within ±{MAX_EXPONENT}.")
        terms[size] = terms.get(size, Fraction(0)) + p.number("weights", coefficient)
    return ExpSum({size: coefficient for size, coefficient in terms.items() if coefficient})


def weights_log_ratio(rows: Sequence[WeightRow], directions: Iterable[tuple[int, int]]) -> Fraction | None:
    """Return the largest log-ratio of an output on inputs i and j, over all ``directions`` i, j, and at least
    0.

    It is exact if all candidates for the largest are rational, and otherwise rounded up. ``None`` means
    infinity. The result does not depend on the caller's precision.
    """
    found: list[tuple[arb, _Place]] = []
    with precision(BITS):
        logs = [_log_shares(row) for row in rows]
        for i, j in directions:
            for y, (here, there) in enumerate(zip(logs[i], logs[j], strict=True)):
                if (here is None) != (there is None):
                    return None
                if here is not None and there is not None:
                    found.append((here - there, (i, j, y)))
        worst = reduce(arb.max, (value for value, _ in found), arb(0))
        near = [place for value, place in found if not value < worst]
    exact = _all_exact(rows, near)
    return max(Fraction(0), upper_short(worst)) if exact is None else max([Fraction(0), *exact])


def _log_shares(row: WeightRow) -> list[arb | None]:
    """Return the logs of the probabilities in a row, and ``None`` for a probability of 0."""
    weights, whole = row
    total = enclose(whole.ball).log()
    return [None if weight.is_zero() else enclose(weight.ball).log() - total for weight in weights]


def _all_exact(rows: Sequence[WeightRow], places: Iterable[_Place]) -> list[Fraction] | None:
    """Return the log-ratios at ``places`` as rationals, or ``None`` if one is not rational or too long to
    examine.
    """
    found, work = list[Fraction](), 0
    for i, j, y in places:
        (left, whole), (right, other) = rows[i], rows[j]
        work += len(left[y].terms) * len(other.terms) + len(right[y].terms) * len(whole.terms)
        exact = None if work > MAX_WORK else log_ratio(left[y] * other, right[y] * whole)
        if exact is None:
            return None
        found.append(exact)
    return found


def shares(row: WeightRow) -> list[arb]:
    """Return the probabilities in a row, at the working precision."""
    weights, total = row[0], row[1].ball()
    return [weight.ball() / total for weight in weights]
