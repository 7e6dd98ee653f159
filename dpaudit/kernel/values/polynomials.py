"""Compute with Laurent polynomials with rational coefficients, and compare them for all values of symbols.

A bound may contain public quantities: the number of records ``N``, or an outcome that the program clipped. A
symbol that starts with ``?`` may have any sign. All other symbols are positive and have a positive lower
bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isqrt

__all__ = ["ONE", "ZERO", "Bound", "Bounds", "Poly", "product_of", "times", "total", "upper_root"]

Monomial = tuple[tuple[str, int], ...]


class Poly:
    """An immutable Laurent polynomial ``{((symbol, exponent), ...): coefficient}``, compared by value."""

    __slots__ = ("_hash", "number", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: value for monomial, value in terms.items() if value}
        self._hash: int | None = None
        #: The value, if there is no symbol.
        self.number: Fraction | None = None
        if not self.terms:
            self.number = Fraction(0)
        elif len(self.terms) == 1:
            self.number = self.terms.get(())

    @classmethod
    def of(cls, number: Poly | Fraction | int) -> Poly:
        """Return a number as a polynomial. A polynomial is returned unchanged."""
        return number if isinstance(number, Poly) else cls._constant(Fraction(number))

    @classmethod
    def _constant(cls, number: Fraction) -> Poly:
        """Return ``cls({(): number})`` without its loop, for speed, because most bounds are numbers."""
        made = cls.__new__(cls)
        made.terms = {(): number} if number else {}
        made._hash, made.number = None, number
        return made

    @classmethod
    def symbol(cls, name: str) -> Poly:
        """Return the polynomial that consists of one symbol."""
        return cls({((name, 1),): Fraction(1)})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Poly):
            return self is other or self.terms == other.terms
        return isinstance(other, int | Fraction) and self.number == other

    def __add__(self, other: Poly | Fraction | int) -> Poly:
        number = other.number if isinstance(other, Poly) else other
        if number is not None and self.number is not None:  # a fast path, because most bounds are numbers
            return Poly._constant(self.number + number)
        terms = dict(self.terms)
        for monomial, value in Poly.of(other).terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + value
        return Poly(terms)

    def __neg__(self) -> Poly:
        if self.number is not None:
            return Poly._constant(-self.number)
        return Poly({monomial: -value for monomial, value in self.terms.items()})

    def __sub__(self, other: Poly | Fraction | int) -> Poly:
        return self + -Poly.of(other)

    def __mul__(self, other: Poly | Fraction | int) -> Poly:
        number = other.number if isinstance(other, Poly) else other
        if number is not None and self.number is not None:
            return Poly._constant(self.number * number)
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in Poly.of(other).terms.items():
                exponents = dict(left)
                for name, power in right:
                    exponents[name] = exponents.get(name, 0) + power
                key = tuple(sorted((name, power) for name, power in exponents.items() if power))
                terms[key] = terms.get(key, Fraction(0)) + a * b
        return Poly(terms)

    __radd__, __rmul__ = __add__, __mul__

    def inverse(self) -> Poly | None:
        """Return 1 / self if self has exactly one term. The caller must know that it is not 0."""
        if len(self.terms) != 1:
            return None
        [(monomial, value)] = self.terms.items()
        return Poly({tuple((name, -power) for name, power in monomial): 1 / value})

    @property
    def symbols(self) -> set[str]:
        """Return the names of all symbols."""
        return {name for monomial in self.terms for name, _ in monomial}

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Return the value at the given values of the symbols."""
        found = Fraction(0)
        for monomial, value in self.terms.items():
            for name, power in monomial:
                value = value * values[name] ** power
            found += value
        return found

    def __repr__(self) -> str:
        parts = []
        for monomial, value in sorted(self.terms.items()):
            names = [name if power == 1 else f"{name}^{power}" for name, power in monomial]
            parts.append("*".join([str(value), *names] if value != 1 or not names else names))
        return " + ".join(parts) or "0"


#: An upper or lower bound. ``None`` means unbounded.
Bound = Poly | None

ZERO, ONE = Poly({}), Poly.of(1)


def total(*parts: Bound) -> Bound:
    """Return the sum of bounds, which is unbounded if a part is."""
    result: Poly = ZERO
    for part in parts:
        if part is None:
            return None
        result = result + part
    return result


def times(*factors: Bound | Fraction | int) -> Bound:
    """Return the product of bounds that are at least 0. Here 0 times an unbounded value is 0."""
    result: Bound = ONE
    for factor in factors:
        number = factor.number if isinstance(factor, Poly) else factor
        if number is not None and not number:
            return ZERO
        if result is None or factor is None:
            result = None
        elif number != 1:
            result = Poly.of(factor) if result is ONE else result * factor
    return result


def product_of(extents: Iterable[Poly | int]) -> Poly:
    """Return the product of extents, such as the number of entries of a shape."""
    result = ONE
    for extent in extents:
        result = result * Poly.of(extent)
    return result


def upper_root(number: Fraction) -> Fraction:
    """Return a rational at least the square root of a number >= 0, exact for squares of rationals."""
    top, bottom = isqrt(number.numerator), isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Fraction(top, bottom)
    scale = 10**24
    root = isqrt(number.numerator * number.denominator * scale * scale)
    found = Fraction(root, number.denominator * scale)
    return found if found * found >= number else Fraction(root + 1, number.denominator * scale)


class Bounds:
    """Comparisons of polynomials, with a positive lower bound for each positive symbol."""

    def __init__(self, low: Mapping[str, Fraction]) -> None:
        self.low = dict(low)

    def _shifted(self, poly: Poly) -> dict[Monomial, Fraction] | None:
        """Substitute each symbol by its lower bound times t >= 1, and return the coefficients.

        Return ``None`` if a symbol may have any sign.
        """
        terms: dict[Monomial, Fraction] = {}
        for monomial, value in poly.terms.items():
            for name, power in monomial:
                if name not in self.low:
                    return None
                value = value * self.low[name] ** power
            terms[monomial] = terms.get(monomial, Fraction(0)) + value
        return terms

    def largest(self, poly: Bound) -> Fraction | None:
        """Return an upper bound on ``poly``, by bounding each term separately, or ``None`` if unbounded."""
        if poly is not None and poly.number is not None:
            return poly.number
        terms = None if poly is None else self._shifted(poly)
        if terms is None:
            return None
        found = Fraction(0)
        for monomial, value in terms.items():
            falls = all(power < 0 for _, power in monomial)
            rises = all(power > 0 for _, power in monomial)
            if not monomial or (value > 0 and falls) or (value < 0 and rises):
                found += value
            elif value > 0:
                return None  # a negative term that may tend to 0 counts as 0
        return found

    def at_most(self, left: Bound | Fraction | int, right: Bound | Fraction | int) -> bool:
        """Return whether ``left <= right`` is proved for all values of the symbols. ``None`` is infinity.

        The proof covers each negative term of the difference by positive terms whose monomials are at least
        as large for all t >= 1.
        """
        if right is None:
            return True
        if left is None:
            return False
        a, b = (end.number if isinstance(end, Poly) else end for end in (left, right))
        if a is not None and b is not None:
            return bool(a <= b)
        terms = self._shifted(Poly.of(right) - left)
        if terms is None:
            return Poly.of(right) == Poly.of(left)
        spare = {monomial: value for monomial, value in terms.items() if value > 0}
        for monomial, value in terms.items():
            needed, powers = -value, dict(monomial)
            for larger in list(spare):
                if needed <= 0:
                    break
                has = dict(larger)
                if all(has.get(name, 0) >= powers.get(name, 0) for name in {*has, *powers}):
                    taken = min(needed, spare[larger])
                    spare[larger] -= taken
                    needed -= taken
            if needed > 0:
                return False
        return True

    def smallest(self, *bounds: Bound | Fraction | int) -> Bound:
        """Return the least of several upper bounds.

        If two bounds cannot be compared, prefer one with an outcome, because noise is then scaled by that
        outcome.
        """
        best: Bound = None
        for bound in bounds:
            if bound is None:
                continue
            here = Poly.of(bound)
            if (
                best is None
                or self.at_most(here, best)
                or (self._by_outcome(here) and not self.at_most(best, here))
            ):
                best = here
        return best

    def _by_outcome(self, bound: Poly) -> bool:
        names = bound.symbols - {"N"}
        return bool(names) and all(name in self.low for name in names)

    def largest_of(self, *bounds: Bound) -> Bound:
        """Return an upper bound of all bounds: one of them, or their sum if all are at least 0."""
        best: Bound = bounds[0]
        for bound in bounds[1:]:
            if best is None or bound is None:
                return None
            if self.at_most(best, bound):
                best = bound
            elif not self.at_most(bound, best):
                if not (self.at_most(0, bound) and self.at_most(0, best)):
                    return None
                best = best + bound
        return best

    def quotient(self, bound: Bound, scale: Poly) -> Fraction | None:
        """Return a number at least ``bound / scale`` for a positive scale, or ``None``.

        A scale with several positive terms is at least each of them.
        """
        if bound is None or not self.at_most(0, scale) or any(value < 0 for value in scale.terms.values()):
            return None
        found = []
        for monomial, value in scale.terms.items():
            if any(name not in self.low for name, _ in monomial):
                continue
            inverse = Poly({monomial: value}).inverse()
            ratio = None if inverse is None else self.largest(bound * inverse)
            if ratio is not None:
                found.append(ratio)
        return max(min(found), Fraction(0)) if found else None
