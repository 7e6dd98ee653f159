"""Define linear forms over exact rationals, and the comparisons that a program makes between them.

A form is ``constant + sum of coefficient * symbol``. Symbols are names: ``x3`` is the fourth number of the
data, ``n1`` the second hidden draw of a path. A comparison is normalised to ``form <= 0`` or ``form < 0``
with coprime integer coefficients. Shown forms are never normalised, because "show n" and "show 2n" are
different outcomes (rule G4 of the prover: equal means equal, not proportional).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

__all__ = ["ZERO", "Form", "Row", "Table", "symbol"]

ZERO = Fraction(0)

Table = tuple[dict[str, int | Fraction], int | Fraction]


def _whole(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number


class Form:
    """``constant + sum(terms[s] * s)``: immutable, compared and hashed by value. No term is 0."""

    __slots__ = ("_hash", "_whole", "constant", "terms")

    def __init__(self, terms: Mapping[str, Fraction], constant: Fraction = ZERO) -> None:
        self.terms = {name: value for name, value in terms.items() if value}
        self.constant = constant
        self._hash: int | None = None
        self._whole: Table | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def table(self) -> Table:
        """Return the terms and the constant, with whole numbers as ``int``.

        Sums of ints are much faster than sums of fractions. Do not divide these numbers, and do not change
        the table.
        """
        if self._whole is None:
            self._whole = {name: _whole(value) for name, value in self.terms.items()}, _whole(self.constant)
        return self._whole

    def plus(self, other: Form, factor: Fraction | None = None) -> Form:
        """Return ``self + factor * other``, or ``self + other``."""
        if factor is not None:
            other = other.times(factor)
        terms = dict(self.terms)
        for name, value in other.terms.items():
            terms[name] = terms[name] + value if name in terms else value
        return Form(terms, self.constant + other.constant)

    def times(self, factor: Fraction) -> Form:
        """Return ``factor * self``."""
        if factor == -1:  # by far the most common factor: the negation of a comparison
            return Form({name: -value for name, value in self.terms.items()}, -self.constant)
        return Form({name: factor * value for name, value in self.terms.items()}, factor * self.constant)

    def moved(self, number: Fraction) -> Form:
        """Return ``self + number``."""
        return Form(self.terms, self.constant + number)

    def change(self, shifts: Mapping[str, Fraction]) -> Fraction:
        """Return the change of the form if each symbol changes by its entry of ``shifts`` (0 if absent)."""
        return sum((value * shifts.get(name, ZERO) for name, value in self.terms.items()), ZERO)

    def part(self, kind: str) -> dict[str, Fraction]:
        """Return the terms whose symbols begin with ``kind``."""
        return {name: value for name, value in self.terms.items() if name.startswith(kind)}

    def coprime(self) -> Form:
        """Return the form times the positive number that makes its numbers coprime integers."""
        numbers = [*self.terms.values(), self.constant]
        if all(number.denominator == 1 for number in numbers):
            common = gcd(*(number.numerator for number in numbers))
            return self if common < 2 else self.times(Fraction(1, common))
        scale = lcm(*(number.denominator for number in numbers))
        common = gcd(*(int(number * scale) for number in numbers))
        return self.times(Fraction(scale, common)) if common else self

    def to_json(self) -> dict[str, str]:
        """Return exact strings by symbol. The constant has the key ``""``."""
        written = {name: str(self.terms[name]) for name in sorted(self.terms)}
        return {**written, "": str(self.constant)} if self.constant else written

    def __repr__(self) -> str:
        parts = [f"{value}*{name}" for name, value in sorted(self.terms.items())]
        return " + ".join([*parts, str(self.constant)])


def symbol(name: str) -> Form:
    """Return the form that is one symbol."""
    return Form({name: Fraction(1)})


@dataclass(frozen=True)
class Row:
    """One constraint: ``form < 0`` if ``strict``, else ``form <= 0``.

    The ``opposite`` of a strict row is weak, and the reverse, so that the two are never confused (G5).
    """

    form: Form
    strict: bool

    @classmethod
    def of(cls, form: Form, *, strict: bool) -> Row:
        """Return a row with coprime integers, so that equal comparisons are equal rows.

        G4 allows this normalisation for comparisons.
        """
        return cls(form.coprime(), strict)

    @property
    def opposite(self) -> Row:
        """Return the negation of the constraint."""
        return Row(self.form.times(Fraction(-1)), not self.strict)
