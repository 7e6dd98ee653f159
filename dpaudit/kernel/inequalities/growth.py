"""Enclosures of nodes on boxes with unbounded sides y >= Y >= 2.

A node is held as a sum of terms G y^p (ln y)^q, one factor y^p (ln y)^q for each unbounded variable. G is an
interval that holds G(y, ...) for every point of the box; p and q are exact. Factors are ordered by (p, q). A
smaller factor is the larger one times y^a (ln y)^b with (a, b) < (0, 0), which lies in [0, its supremum] for
y >= Y (``Sides.share``). So several terms can be written as one term with the largest factors (``merged``).

If one term has the largest factors of all, the node is y^p (ln y)^q (g + r), r the rest over these factors. A
function f of it is f(g) + r f'(m) with m between g and g + r (mean value theorem), and r keeps its own
powers. This is how differences of large terms stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.kernel.inequalities.evaluate import Box
from dpaudit.kernel.inequalities.expression import Table
from dpaudit.kernel.inequalities.interval import NOWHERE, ONE, ZERO, Interval, exactly, hull, pi

__all__ = ["Growth", "Sum", "growth"]

#: ((variable, p, q), ...), sorted, without factors (0, 0).
Key = tuple[tuple[int, Fraction, Fraction], ...]
Sum = Mapping[Key, Interval]
Powers = tuple[Fraction, Fraction]
Factors = Mapping[int, Powers]

NONE: Powers = (Fraction(0), Fraction(0))
MOST_TERMS = 16


def _key(factors: Factors) -> Key:
    return tuple(sorted((s, p, q) for s, (p, q) in factors.items() if (p, q) != NONE))


def _factors(key: Key) -> dict[int, Powers]:
    return {s: (p, q) for s, p, q in key}


class Sides:
    """The unbounded sides y >= Y of a box, Y >= 2, and what is known of powers of y and ln y there."""

    def __init__(self, box: Box) -> None:
        self.least = {s: lo for s, (lo, hi) in enumerate(box) if hi is None}
        self._logs = {s: exactly(lo).log() for s, lo in self.least.items()}

    def at_least(self, s: int) -> Interval:
        """Return ln Y."""
        return self._logs[s]

    def at_end(self, s: int, p: Fraction, q: Fraction) -> Interval:
        """Return Y^p (ln Y)^q."""
        log = self._logs[s]
        power = (exactly(p) * log).exp()
        return power * (exactly(q) * log.log()).exp() if q else power

    def share(self, s: int, p: Fraction, q: Fraction) -> Interval:
        """Return an interval that contains y^p (ln y)^q for all y >= Y, ``NOWHERE`` if there is none."""
        if (p, q) == NONE:
            return ONE
        if p > 0 or (p == 0 and q > 0):
            return NOWHERE
        if p < 0 < q:
            peak = q / -p  # y^p (ln y)^q rises up to ln y = q/(-p), and falls from there on
            if not exactly(peak) <= self._logs[s]:
                return ZERO.union((exactly(-q)).exp() * (exactly(q) * exactly(peak).log()).exp())
        return ZERO.union(self.at_end(s, p, q))  # falls, since ln Y > 0

    def over(self, factors: Factors, key: Key, coefficient: Interval) -> Interval:
        """Return an interval around a term divided by ``factors``."""
        own = _factors(key)
        for s in self.least:
            (a, b), (p, q) = own.get(s, NONE), factors.get(s, NONE)
            coefficient = coefficient * self.share(s, a - p, b - q)
        return coefficient

    def largest(self, *keys: Key) -> dict[int, Powers]:
        """Return the largest powers of each variable in the keys."""
        return {s: max(_factors(key).get(s, NONE) for key in keys) for s in self.least}

    def merged(self, terms: Sum) -> tuple[dict[int, Powers], Interval]:
        """Return factors, and an interval around the sum divided by them."""
        if not terms:
            return {}, ZERO
        if len(terms) == 1:
            ((key, coefficient),) = terms.items()
            return _factors(key), coefficient
        factors = self.largest(*terms)
        return factors, self.total(factors, terms)

    def total(self, factors: Factors, terms: Sum) -> Interval:
        """Return an interval around the sum divided by ``factors``."""
        total = ZERO
        for key, coefficient in terms.items():
            total = total + self.over(factors, key, coefficient)
        return total

    def short(self, terms: Sum) -> Sum:
        """Return the terms, merged into one if there are too many."""
        if len(terms) <= MOST_TERMS:
            return terms
        factors, coefficient = self.merged(terms)
        return {_key(factors): coefficient}

    def plus(self, left: Sum, right: Sum) -> Sum:
        found = dict(left)
        for key, coefficient in right.items():
            found[key] = found[key] + coefficient if key in found else coefficient
            if found[key].zero:
                del found[key]
        return self.short(found)

    def times(self, left: Sum, right: Sum) -> Sum:
        found: dict[Key, Interval] = {}
        for one, first in left.items():
            for other, second in right.items():
                factors = _factors(one)
                for s, (p, q) in _factors(other).items():
                    a, b = factors.get(s, NONE)
                    factors[s] = (a + p, b + q)
                key = _key(factors)
                found[key] = found[key] + first * second if key in found else first * second
        return self.short(found)

    def bounded(self, terms: Sum) -> Interval:
        """Return an interval around the sum, ``NOWHERE`` if it may grow beyond all bounds."""
        return self.total({}, terms)

    def leading(self, terms: Sum) -> Leading | None:
        """Return the term with the largest factors of all, and the rest, if there is such a term."""
        factors = self.largest(*terms)
        top = _key(factors)
        if top not in terms:
            return None
        rest = {_key(_quotient(_factors(key), factors)): each for key, each in terms.items() if key != top}
        size = self.bounded(rest)
        return Leading(factors, terms[top], rest, size) if size.finite else None

    def power(self, terms: Sum, exponent: Fraction, function: Callable[[Interval], Interval]) -> Sum:
        """Return the sum to a power. ``function`` does this for an interval."""
        lead = self.leading(terms) if len(terms) > 1 else None
        if lead and lead.g.positive and (lead.g + lead.size).positive:
            middle = lead.g.union(lead.g + lead.size)
            slope = exactly(exponent) * (function(middle) / middle)
            raised = self.plus({(): function(lead.g)}, self.times(lead.rest, {(): slope}))
            return self.times({_key(_scaled(lead.factors, exponent)): ONE}, raised)
        factors, coefficient = self.merged(terms)
        return {_key(_scaled(factors, exponent)): function(coefficient)}

    def log(self, terms: Sum) -> Sum:
        """Return the logarithm of the sum."""
        lead = self.leading(terms) if len(terms) > 1 else None
        if lead and lead.g.positive and (lead.g + lead.size).positive:
            middle = lead.g.union(lead.g + lead.size)
            near = self.plus({(): lead.g.log()}, self.times(lead.rest, {(): middle.inverse()}))
            return self.plus(near, self._log_of(lead.factors))
        factors, coefficient = self.merged(terms)
        if coefficient.positive:
            return self.plus({(): coefficient.log()}, self._log_of(factors))
        return self._log_of_a_rising_sum(terms)

    def _log_of(self, factors: Factors) -> Sum:
        """Return p ln y + q ln ln y, with 0 <= ln ln y <= ln y from y = e on."""
        found: Sum = {}
        for s, (p, q) in factors.items():
            log = ((s, Fraction(0), Fraction(1)),)
            found = self.plus(found, {log: exactly(p)}) if p else found
            if q:
                part = ZERO.union(exactly(q)) if self._logs[s] >= ONE else NOWHERE
                found = self.plus(found, {log: part})
        return found

    def _log_of_a_rising_sum(self, terms: Sum) -> Sum:
        """Return [0, the largest] for a sum of terms that do not fall and is at least 1 at the ends Y."""
        rising = all(
            each.nonnegative and all(p >= 0 and q >= 0 for _, p, q in key) for key, each in terms.items()
        )
        if not terms or not rising or not self._at_ends(terms) >= ONE:
            return {(): NOWHERE}
        factors = self.largest(*terms)
        top = self.total(factors, terms)
        found: Sum = {(): ZERO.union(top.log().max(ZERO))}
        for s, (p, q) in factors.items():
            found = self.plus(found, {((s, Fraction(0), Fraction(1)),): ZERO.union(exactly(p + q))})
        return found

    def _at_ends(self, terms: Sum) -> Interval:
        total = ZERO
        for key, coefficient in terms.items():
            for s, p, q in key:
                coefficient = coefficient * self.at_end(s, p, q)
            total = total + coefficient
        return total

    def exp(self, terms: Sum) -> Sum:
        """Return the exponential of the sum: multiples of ln y become powers, the rest must be bounded or
        fall."""
        powers: dict[int, Powers] = {}
        rest: dict[Key, Interval] = {}
        for key, coefficient in terms.items():
            number = coefficient.exact()
            if number is not None and len(key) == 1 and key[0][1:] == (NONE[0], Fraction(1)):
                powers[key[0][0]] = (number, Fraction(0))
            else:
                rest[key] = coefficient
        return self.times({_key(powers): ONE}, self._exp_of_the_rest(rest))

    def _exp_of_the_rest(self, rest: Sum) -> Sum:
        size = self.bounded(rest)
        small = {key: each for key, each in rest.items() if key}
        if size.finite:
            if small and all((p, q) < NONE for key in small for _, p, q in key):
                constant = rest.get((), ZERO)  # exp(c + r) = exp(c) + r exp(m), m between c and c + r
                return self.plus({(): constant.exp()}, self.times(small, {(): constant.union(size).exp()}))
            return {(): size.exp()}
        falls = all(each.nonpositive for each in small.values()) and all(
            p >= 0 and q >= 0 for key in small for _, p, q in key
        )
        return {(): ZERO.union(self._at_ends(rest).exp()) if falls else NOWHERE}

    def choice(self, op: str, left: Sum, right: Sum) -> Sum:
        """Return the smaller or larger of two sums."""
        apart = self.plus(left, {key: -each for key, each in right.items()})  # equal terms cancel
        size = self.merged(apart)[1]
        if all(each.nonnegative for each in apart.values()) or size.nonnegative:
            return left if op == "max" else right
        if all(each.nonpositive for each in apart.values()) or size.nonpositive:
            return right if op == "max" else left
        factors = self.largest(*left, *right, ())
        ends = (self.total(factors, left), self.total(factors, right))
        return {_key(factors): getattr(ends[0], op)(ends[1])}


@dataclass(frozen=True)
class Leading:
    """A sum as y^p (ln y)^q (g + rest), the rest in an interval ``size``."""

    factors: Mapping[int, Powers]
    g: Interval
    rest: Sum
    size: Interval


def _quotient(own: Factors, other: Factors) -> dict[int, Powers]:
    found = {}
    for s, (p, q) in other.items():
        a, b = own.get(s, NONE)
        found[s] = (a - p, b - q)
    return found


def _scaled(factors: Factors, exponent: Fraction) -> dict[int, Powers]:
    return {s: (p * exponent, q * exponent) for s, (p, q) in factors.items()}


def _is_positive(terms: Sum) -> bool:
    return all(each.nonnegative for each in terms.values()) and any(each.positive for each in terms.values())


@dataclass(frozen=True)
class Growth:
    """Nodes on an unbounded box: their sums, and which are certainly defined on all of it."""

    sides: Sides
    terms: Mapping[int, Sum]
    defined: Mapping[int, bool]

    def finite(self, i: int) -> bool:
        """Whether node i is enclosed at all."""
        return all(each.finite for each in self.terms[i].values())

    def nonnegative(self, i: int) -> bool:
        """Whether node i is certainly at least 0 on the whole box."""
        return self.finite(i) and (
            all(each.nonnegative for each in self.terms[i].values())
            or self.sides.merged(self.terms[i])[1].nonnegative
        )

    def nonpositive(self, i: int) -> bool:
        """Whether node i is certainly at most 0 on the whole box."""
        return self.finite(i) and (
            all(each.nonpositive for each in self.terms[i].values())
            or self.sides.merged(self.terms[i])[1].nonpositive
        )

    def positive(self, i: int) -> bool:
        """Whether node i is certainly above 0 on the whole box."""
        return self.finite(i) and (
            _is_positive(self.terms[i]) or self.sides.merged(self.terms[i])[1].positive
        )

    def below(self, i: int, j: int) -> bool:
        """Whether node i is certainly below node j on the whole box."""
        if not (self.finite(i) and self.finite(j)):
            return False
        (first, a), (second, b) = self.sides.merged(self.terms[i]), self.sides.merged(self.terms[j])
        return _key(first) == _key(second) and a < b


def growth(table: Table, box: Box, known: Sequence[bool], need: Sequence[int]) -> Growth:
    """Return enclosures of the nodes in ``need`` (a cone) on a box whose unbounded sides begin at 2 or more.

    ``known`` are the nonnegative nodes.
    """
    sides = Sides(box)
    terms: dict[int, Sum] = {}
    defined: dict[int, bool] = {}
    for i in need:
        found = _terms(table, i, box, sides, known, terms)
        if known[i] and len(found) == 1:
            found = {key: each.cut() for key, each in found.items()}
        terms[i] = found
        defined[i] = all(defined[j] for j in table.arguments(i)) and _is_defined(
            table, i, sides, known, terms
        )
    return Growth(sides, terms, defined)


def _terms(
    table: Table, i: int, box: Box, sides: Sides, known: Sequence[bool], terms: Mapping[int, Sum]
) -> Sum:
    op, *rest = table.nodes[i]
    if op == "c":
        return {(): exactly(rest[0])} if rest[0] else {}
    if op == "v":
        lo, hi = box[rest[0]]
        return {((rest[0], Fraction(1), Fraction(0)),): ONE} if hi is None else {(): hull(lo, hi)}
    if op == "pi":
        return {(): pi()}
    x = terms[rest[0]]
    if op in ("+", "-", "*", "/", "min", "max"):
        return _of_two(op, x, terms[rest[1]], sides)
    if op == "pow":
        return _to_the_power(x, rest[1], sides)
    if op == "neg":
        return {key: -each for key, each in x.items()}
    if op == "sqrt":
        nonnegative = known[rest[0]]
        return sides.power(x, Fraction(1, 2), lambda each: (each.cut() if nonnegative else each).sqrt())
    return _of_one(op, x, sides)


def _of_two(op: str, x: Sum, y: Sum, sides: Sides) -> Sum:
    if op == "+":
        return sides.plus(x, y)
    if op == "-":
        return sides.plus(x, {key: -each for key, each in y.items()})
    if op == "*":
        return sides.times(x, y)
    if op == "/":
        return sides.times(x, sides.power(y, Fraction(-1), Interval.inverse))
    return sides.choice(op, x, y)


def _to_the_power(x: Sum, power: int, sides: Sides) -> Sum:
    if not 0 < power <= 4:
        return sides.power(x, Fraction(power), lambda each: each**power)
    found = x
    for _ in range(power - 1):
        found = sides.times(found, x)
    return found


def _of_one(op: str, x: Sum, sides: Sides) -> Sum:
    if op == "log":
        return sides.log(x)
    if op == "exp":
        return sides.exp(x)
    if op == "abs":
        factors, coefficient = sides.merged(x)
        return {_key(factors): abs(coefficient)}
    if op in ("ceil", "floor"):
        factors, coefficient = sides.merged(x)
        if not _key(factors):
            return {(): getattr(coefficient, op)()}
        return sides.plus(x, {(): ZERO.union(ONE if op == "ceil" else -ONE)})
    return {(): getattr(sides.bounded(x), op)()}


def _is_defined(table: Table, i: int, sides: Sides, known: Sequence[bool], terms: Mapping[int, Sum]) -> bool:
    """Whether the operation of node i is defined on the whole box, its arguments being so."""
    op, *rest = table.nodes[i]
    if op not in ("/", "log", "sqrt", "pow", "atanh"):
        return True
    inner = terms[rest[1] if op == "/" else rest[0]]
    size = sides.merged(inner)[1]
    if op == "log":
        above = table.nodes[rest[0]][0] in ("exp", "cosh")  # of a defined argument
        return above or size.positive or _is_positive(inner)
    if op == "sqrt":
        return known[rest[0]] or size.nonnegative or all(each.nonnegative for each in inner.values())
    if op == "atanh":
        return sides.bounded(inner).atanh().finite
    if op == "pow" and rest[1] >= 0:
        return True
    return size.positive or size.negative or _is_positive(inner)
