"""Exact arithmetic with sums of exponentials c_1 e^(a_1) + ... + c_n e^(a_n), all c and a rational.

Probabilities of randomised response, of the exponential mechanism and of permute-and-flip are quotients of
such sums. Balls cannot decide whether two of them are equal: log(e^1) is a ball around 1, whose upper end is
above 1. Here equality is decided: sums are equal as numbers if they are equal term by term, and only if,
because exponentials of distinct rationals are linearly independent over the rationals (Lindemann and
Weierstrass). A bound uses the first half alone. The second half shows that no rational ratio is missed.

In particular the log of a quotient of two sums is the rational r if and only if the terms of one are those of
the other, each exponent raised by r. Then r must be the difference of the two largest exponents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, sign_of

__all__ = ["ExpSum", "log_ratio"]


@dataclass(frozen=True)
class ExpSum:
    """The sum of c e^a over ``terms``, a table from exponent a to coefficient c, without zero
    coefficients.
    """

    terms: Mapping[Fraction, Fraction]

    @classmethod
    def exp(cls, exponent: Fraction | int, coefficient: Fraction | int = 1) -> ExpSum:
        """Return ``coefficient`` e^``exponent``."""
        return cls({Fraction(exponent): Fraction(coefficient)} if coefficient else {})

    def __add__(self, other: ExpSum) -> ExpSum:
        terms = dict(self.terms)
        for exponent, coefficient in other.terms.items():
            terms[exponent] = terms.get(exponent, Fraction(0)) + coefficient
        return ExpSum({exponent: c for exponent, c in terms.items() if c})

    def __mul__(self, other: ExpSum) -> ExpSum:
        terms: dict[Fraction, Fraction] = {}
        for a, c in self.terms.items():
            for b, d in other.terms.items():
                terms[a + b] = terms.get(a + b, Fraction(0)) + c * d
        return ExpSum({exponent: c for exponent, c in terms.items() if c})

    def is_zero(self) -> bool:
        return not self.terms

    def ball(self) -> arb:
        """Return an enclosure at the working precision."""
        return sum((ball(c) * ball(a).exp() for a, c in self.terms.items()), arb(0))

    def sign(self) -> int:
        """Return the exact sign, -1, 0 or 1. Raise ``UndecidedError`` if the largest precision does not
        decide.
        """
        return 0 if self.is_zero() else sign_of(self.ball)


def log_ratio(left: ExpSum, right: ExpSum) -> Fraction | None:
    """Return log(``left`` / ``right``) if it is rational, and ``None`` if it is not, or not defined."""
    if left.is_zero() or right.is_zero() or len(left.terms) != len(right.terms):
        return None
    rise = max(left.terms) - max(right.terms)
    same = all(right.terms.get(exponent - rise) == c for exponent, c in left.terms.items())
    return rise if same else None
