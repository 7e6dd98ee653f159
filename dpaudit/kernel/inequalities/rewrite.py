"""Exact identities between expressions, derivatives, and the forms in which an inequality is decided.

``Rewriter.plain`` gives an equal expression wherever the original is defined. It may be defined on more
points (exp(log x) is x), so the check asks on the ``safe`` rewriting of the original sides whether they are
defined: that one is defined at most where the original is (log(xy) becomes log x + log y). ``Rewriter.log``
is the logarithm of a node, factor by factor.

An inequality left <= right is decided by right - left, equal terms of the sums taken away, or by log right -
log left in the same way, if the factors whose logarithms are taken are nonnegative (``Rewriter.factors``).
Cleared, it is the numerator of that over a denominator, which must be positive.

Why the factors are asked: x <= xy leaves log y, and x may be negative. Proof with them: take a point where
both sides are defined, what is left is a number, and no factor is below 0. If all factors are positive, all
logarithms are numbers, and what is left is log right - log left. If a factor f is 0, log f is no number, so
it has cancelled: f has the same exponent k on both sides. No exponent of f in a side is negative, since the
sides are defined there, nor is log f in an exponential. If k > 0, both sides are 0. If k = 0, f occurs only
as f^0 = 1 and may be left out. The factors below a min or max must be positive, so that log min(a, b) =
min(log a, log b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.kernel.inequalities.expression import Node, Table, Term

__all__ = ["Decided", "Rewriter", "decided"]

#: A longer exact number is not computed with any more.
MOST_BITS = 30_000

#: Operations whose logarithm is made of those of the arguments.
_FACTORED = ("*", "/", "pow", "sqrt", "min", "max")


class Rewriter:
    """Rewritings in one table, remembered by node."""

    def __init__(self, table: Table, *, safe: bool = False) -> None:
        self.table, self.safe = table, safe
        self._plain: dict[int, int] = {}
        self._parts: dict[int, tuple[int, int]] = {}
        self._slopes: dict[tuple[int, int], int | None] = {}
        self._logs: dict[int, int] = {}
        self._powers: dict[tuple[int, int], int] = {}

    def term(self, i: int) -> Term:
        """Return node ``i`` to compute with."""
        return Term(self.table, i)

    def plain(self, i: int) -> int:
        """Return an equal node. With ``safe`` it is defined at most where node i is."""
        if i not in self._plain:
            self._plain[i] = self._rewritten(i)
        return self._plain[i]

    def _rewritten(self, i: int) -> int:
        op, *rest = self.table.nodes[i]
        if op in ("c", "v", "pi"):
            return i
        if op == "log":
            return self.log(rest[0])
        if op == "pow":
            return self._power(self.plain(rest[0]), rest[1])
        parts = [self.plain(j) for j in rest]
        if len(parts) == 2:
            return self._of_two(op, *parts)
        return self._of_one(op, parts[0])

    def _power(self, base: int, power: int) -> int:
        if (base, power) not in self._powers:
            self._powers[base, power] = self._raised_plain(base, power)
        return self._powers[base, power]

    def _raised_plain(self, base: int, power: int) -> int:
        op, *rest = self.table.nodes[base]
        if op == "exp":  # defined for every power, as exp is never 0
            return (self.term(rest[0]) * power).exp().i
        if power == 1:
            return base
        if not self.safe:
            if op == "*":
                left, right = (self.term(self._power(j, power)) for j in rest)
                return self.plain((left * right).i)
            if op == "sqrt" and power % 2 == 0:
                return self._power(int(rest[0]), power // 2)
        return self.table.node("pow", base, power)

    def _of_one(self, op: str, i: int) -> int:
        inner = self.table.nodes[i]
        if op == "neg" and inner[0] == "c":
            return self.table.number(-inner[1]).i
        if op == "exp" and inner[0] == "log" and not self.safe:
            return int(inner[1])
        return self.table.node(op, i)

    def _of_two(self, op: str, i: int, j: int) -> int:
        first, second = self.table.nodes[i], self.table.nodes[j]
        folded = _folded(op, first, second)
        if folded is not None:
            return self.table.number(folded).i
        if op == "*" and i == j:
            return self._power(i, 2)
        if first[0] == second[0] == "exp" and op in "*/":
            a, b = self.term(first[1]), self.term(second[1])
            return (a + b if op == "*" else a - b).exp().i
        if op == "/" and first[0] == "*" and j in first[1:] and not self.safe:
            return int(first[2]) if first[1] == j else int(first[1])
        return self.table.node(op, i, j)

    def log(self, i: int) -> int:
        """Return the logarithm of node ``i``, factor by factor."""
        if i not in self._logs:
            self._logs[i] = self._log_of(i)
        return self._logs[i]

    def _log_of(self, i: int) -> int:
        op, *rest = self.table.nodes[i]
        term, of = self.term, self.log
        if op == "*":
            return (term(of(rest[0])) + term(of(rest[1]))).i
        if op == "/":
            return (term(of(rest[0])) - term(of(rest[1]))).i
        if op == "exp":
            return self.plain(int(rest[0]))
        if op == "pow":
            return (term(of(rest[0])) * int(rest[1])).i
        if op == "sqrt":
            return (term(of(rest[0])) / 2).i
        if op == "c" and rest[0] == 1:
            return self.table.number(0).i
        if op == "cosh":  # log cosh u = |u| + log(1 + exp(-2 |u|)) - log 2
            size = abs(term(self.plain(rest[0])))
            return (size + ((-2 * size).exp() + 1).log() - self.table.number(2).log()).i
        if op in ("min", "max"):
            return self.table.node(op, of(rest[0]), of(rest[1]))
        return self.table.node("log", self.plain(i))

    def factors(self, i: int) -> tuple[list[int], list[int]]:
        """Return the factors of node ``i`` whose logarithms ``log`` takes, and those below a min or max."""
        found: dict[tuple[int, bool], None] = {}
        todo = [(i, False)]
        while todo:
            each = todo.pop()
            if each not in found:
                found[each] = None
                j, below = each
                op = self.table.nodes[j][0]
                inner = self.table.arguments(j) if op in _FACTORED else ()
                todo.extend((k, below or op in ("min", "max")) for k in inner)
        passed = (*_FACTORED, "exp", "cosh")
        ends = [(self.plain(j), below) for j, below in found if self.table.nodes[j][0] not in passed]
        return [j for j, below in ends if not below], [j for j, below in ends if below]

    def fraction(self, i: int) -> tuple[int, int]:
        """Return (numerator, denominator) of a node, by its sums, products and quotients."""
        if i not in self._parts:
            self._parts[i] = self._cleared(i)
        return self._parts[i]

    def _cleared(self, i: int) -> tuple[int, int]:
        op, *rest = self.table.nodes[i]
        one = self.table.number(1).i
        if op == "neg":
            above, below = self.fraction(rest[0])
            return (-self.term(above)).i, below
        if op == "pow":
            above, below = self.fraction(rest[0])
            if rest[1] < 0:
                above, below = below, above
            return self._raised(above, abs(rest[1])), self._raised(below, abs(rest[1]))
        if op not in ("+", "-", "*", "/"):
            return i, one
        (a, b), (c, d) = self.fraction(rest[0]), self.fraction(rest[1])
        if op in "+-":
            if b == d:
                return self.table.node(op, a, c), b
            return self.table.node(op, self._product(a, d), self._product(c, b)), self._product(b, d)
        if op == "/":
            c, d = d, c
        return self._product(a, c), self._product(b, d)

    def _raised(self, i: int, power: int) -> int:
        return i if i == self.table.number(1).i else self.table.node("pow", i, power)

    def _product(self, i: int, j: int) -> int:
        one = self.table.number(1).i
        return j if i == one else i if j == one else self.table.node("*", i, j)

    def difference(self, i: int, j: int) -> int:
        """Return node i minus node j as a sum of multiples of nodes, terms that are equal taken away."""
        found, constant = self._collected({i: Fraction(1), j: Fraction(-1)} if i != j else {})
        terms = [self.term(k) * c if c != 1 else self.term(k) for k, c in found.items() if c]
        if constant or not terms:
            terms.append(self.table.number(constant))
        total = terms[0]
        for each in terms[1:]:
            total = total + each
        return total.i

    def _collected(self, todo: dict[int, Fraction]) -> tuple[dict[int, Fraction], Fraction]:
        """Return a sum of multiples of nodes with every sum in it written out, and the part that is a number.

        The latest node comes first. It is in no other node of the sum, so each node is written out once.
        """
        found: dict[int, Fraction] = {}
        constant = Fraction(0)
        while todo:
            i = max(todo)
            factor = todo.pop(i)
            if self.table.nodes[i][0] == "c":
                constant += factor * Fraction(self.table.nodes[i][1])
                continue
            inner = self._multiples(i)
            if not inner or not _is_short(factor):
                found[i] = factor
            for j, share in inner if _is_short(factor) else ():
                todo[j] = todo.get(j, Fraction(0)) + factor * share
        return found, constant

    def _multiples(self, i: int) -> list[tuple[int, Fraction]]:
        """Return node i as a sum of multiples of other nodes, empty if it is none."""
        op, *rest = self.table.nodes[i]
        if op in ("+", "-"):
            return [(rest[0], Fraction(1)), (rest[1], Fraction(1 if op == "+" else -1))]
        if op == "neg":
            return [(rest[0], Fraction(-1))]
        if op not in ("*", "/"):
            return []
        first, second = self.table.nodes[rest[0]], self.table.nodes[rest[1]]
        if op == "*" and first[0] == "c":
            return [(rest[1], first[1])]
        if second[0] == "c" and (op == "*" or second[1]):
            return [(rest[0], second[1] if op == "*" else 1 / second[1])]
        return []

    def derivative(self, i: int, x: int) -> int | None:
        """Return the derivative of node ``i`` in variable ``x``, None for 0.

        Raises ``NoDerivativeError`` for a node without one everywhere.
        """
        key = (i, x)
        if key not in self._slopes:
            found = self._derived(i, x)
            self._slopes[key] = None if found is None else self.plain(found.i)
        return self._slopes[key]

    def _derived(self, i: int, x: int) -> Term | None:
        op, *rest = self.table.nodes[i]
        if op in ("c", "pi"):
            return None
        if op == "v":
            return self.table.number(1) if rest[0] == x else None
        inner = [self.derivative(j, x) for j in self.table.arguments(i)]
        if all(each is None for each in inner):
            return None
        if op not in _SLOPES:
            raise NoDerivativeError(op)
        slopes = _SLOPES[op](self.term(i), *(self.term(j) for j in self.table.arguments(i)))
        if op == "pow":
            slopes = (rest[1] * self.term(rest[0]) ** (rest[1] - 1),)
        terms = [
            self.term(each) if slope is None else slope * self.term(each)
            for slope, each in zip(slopes, inner, strict=True)
            if each is not None
        ]
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]


class NoDerivativeError(Exception):
    """A node has no derivative everywhere."""


#: The slope of a node in each argument, from the node and its arguments; None for 1.
_SLOPES: dict[str, Callable[..., tuple[Term | None, ...]]] = {
    "+": lambda r, x, y: (None, None),
    "-": lambda r, x, y: (None, r.table.number(-1)),
    "*": lambda r, x, y: (y, x),
    "/": lambda r, x, y: (1 / y, -x / y**2),
    "neg": lambda r, x: (r.table.number(-1),),
    "pow": lambda r, x: (None,),
    "exp": lambda r, x: (r,),
    "log": lambda r, x: (1 / x,),
    "sqrt": lambda r, x: (1 / (2 * r),),
    "tanh": lambda r, x: (1 - r**2,),
    "cosh": lambda r, x: (x.sinh(),),
    "sinh": lambda r, x: (x.cosh(),),
}


def _folded(op: str, first: Node, second: Node) -> Fraction | None:
    """Return the number that two constants make, or None."""
    if first[0] != "c" or second[0] != "c" or op not in "+-*/":
        return None
    a, b = Fraction(first[1]), Fraction(second[1])
    if not (_is_short(a) and _is_short(b)) or (op == "/" and not b):
        return None
    if op == "/":
        return a / b
    return a + b if op == "+" else a - b if op == "-" else a * b


def _is_short(number: Fraction) -> bool:
    """Whether a number may be computed with: forged evidence can double the digits with every node."""
    return number.numerator.bit_length() + number.denominator.bit_length() <= MOST_BITS


@dataclass(frozen=True)
class Decided:
    """Nonnegative ``node`` proves left <= right.

    The nodes ``at_least_0`` must be nonnegative, and the nodes ``above_0`` positive. ``slopes`` are the
    derivatives of ``node`` by variable, where it has them (None for 0).
    """

    node: int
    at_least_0: tuple[int, ...]
    above_0: tuple[int, ...]
    slopes: dict[int, int | None]

    @property
    def asked(self) -> tuple[int, ...]:
        """All nodes whose signs decide."""
        return (self.node, *self.at_least_0, *self.above_0)


def decided(
    rewriter: Rewriter, left: int, right: int, *, logs: bool, cleared: bool, n_variables: int
) -> Decided:
    """Return what decides ``left`` <= ``right``, by logarithms or not, cleared of denominators or not."""
    i, j = rewriter.plain(left), rewriter.plain(right)
    least, above = _signs_of_factors(rewriter, i, j) if logs else ([], [])
    if logs:
        i, j = rewriter.log(i), rewriter.log(j)
    node = rewriter.difference(j, i)
    if not cleared:
        return Decided(node, tuple(least), tuple(above), _slopes_of(rewriter, node, n_variables))
    node, below = rewriter.fraction(node)
    # a factor that is defined is nonnegative if its numerator and its denominator are
    least = [k for each in least for k in rewriter.fraction(each)]
    above = [below, *(k for each in above for k in rewriter.fraction(each))]
    return Decided(node, tuple(dict.fromkeys(least)), tuple(dict.fromkeys(above)), {})


def _signs_of_factors(rewriter: Rewriter, i: int, j: int) -> tuple[list[int], list[int]]:
    found = rewriter.factors(i), rewriter.factors(j)
    least, above = (list(dict.fromkeys([*found[0][k], *found[1][k]])) for k in (0, 1))
    return least, above


def _slopes_of(rewriter: Rewriter, node: int, n_variables: int) -> dict[int, int | None]:
    slopes: dict[int, int | None] = {}
    for x in range(n_variables):
        try:
            slopes[x] = rewriter.derivative(node, x)
        except NoDerivativeError:
            continue
    return slopes
