"""Rates as monomials with exact exponents, such as T^(3/5) ε^(-1/2) log^(1/2), and substitution in them.

Symbols are chosen at least 1 (T, d, 1/ε, M, logarithms), so a product with smaller exponents is smaller.
Constants and the ranges of the symbols are left out: a row states them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact

__all__ = ["Monomial", "excess", "monomial"]


@dataclass(frozen=True)
class Monomial:
    """A product of powers; symbols with exponent 0 are left out."""

    powers: tuple[tuple[str, Fraction], ...]

    def exponent(self, symbol: str) -> Fraction:
        """Return the exponent of ``symbol``, 0 if it does not occur."""
        return dict(self.powers).get(symbol, Fraction(0))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the symbols in alphabetical order."""
        return tuple(symbol for symbol, _ in self.powers)

    def __mul__(self, other: Monomial) -> Monomial:
        return _of({s: self.exponent(s) + other.exponent(s) for s in (*self.symbols, *other.symbols)})

    def __truediv__(self, other: Monomial) -> Monomial:
        return self * other**-1

    def __pow__(self, power: ExactLike) -> Monomial:
        return _of({symbol: value * exact(power) for symbol, value in self.powers})

    def at(self, **values: Monomial) -> Monomial:
        """Replace every symbol named in ``values``."""
        found = _of({s: value for s, value in self.powers if s not in values})
        for symbol, value in values.items():
            found = found * value ** self.exponent(symbol)
        return found

    def __str__(self) -> str:
        return " ".join(f"{s}^({value})" if value != 1 else s for s, value in self.powers) or "1"


def _of(powers: Mapping[str, Fraction]) -> Monomial:
    return Monomial(tuple(sorted((symbol, value) for symbol, value in powers.items() if value)))


def monomial(text: str) -> Monomial:
    """Parse ``"T^3/5 d L^-1/2"``: symbols with exponents, separated by blanks.

    Raises ``InvalidParameterError`` for a symbol named twice.
    """
    found: dict[str, Fraction] = {}
    for part in text.split():
        symbol, _, power = part.partition("^")
        if symbol in found:
            raise InvalidParameterError(f"a symbol must occur once, got {symbol!r} twice in {text!r}.")
        found[symbol] = Fraction(power or 1)
    return _of(found)


def excess(
    terms: Iterable[Monomial], printed: Monomial, *, without: Iterable[str] = ()
) -> dict[str, tuple[Fraction, Fraction]]:
    """Return for every symbol, except ``without``, the largest exponent among ``terms``, and the printed
    exponent.
    """
    rows = list(terms)
    hidden = set(without)
    symbols = sorted({s for row in [*rows, printed] for s in row.symbols} - hidden)
    return {s: (max(row.exponent(s) for row in rows), printed.exponent(s)) for s in symbols}
