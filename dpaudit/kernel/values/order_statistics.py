"""Follow numbers computed from a sorted vector, and bound how they change when one record is replaced.

Let x_(1) <= ... <= x_(n) be the entries of a vector with one entry per record in [low, high], in order.
Write x_(0) for low and x_(n+1) for high. The fact ``order`` of a step holds the vector (``Sorted``) and for
each entry a set of linear forms ``constant + sum a_j x_(j)``. The entry is the largest of them. The fact
``tests`` holds for each entry a list of tests ``largest of the forms <= number`` (or ``<``). The entry is
the number of tests that hold. Both facts are derived from the steps alone, next to the bounds of each step.

**Interlacing.** If one record is replaced, either x_(j) <= x'_(j) <= x_(j+1) for all j (the change is
*up*), or x_(j-1) <= x'_(j) <= x_(j) for all j (the change is *down*).

*Proof.* Let y be the other n - 1 entries, and let the entry a become a' >= a. No number of entries below a
bound rises, so x'_(j) >= x_(j). One more entry cannot raise an order statistic, so x'_(j) <= y_(j), and
y_(j) <= x_(j+1), because at least j + 1 entries of x, and so j of y, are at most x_(j+1). For j = n it
holds by x_(n+1) = high. The change for a' < a is the same for -x. QED

A *window* (i, j, c) with i < j and c >= 0 stands for the number c (x_(j) - x_(i)) >= 0. A constant k >= 0
is the window (0, n+1, k / (high - low)).

**Growth.** Let F and G be maxima of windows. If for each window (i, j, c) of F, windows of G contain (i,
min(j + 1, n + 1)) and (max(i - 1, 0), j), with coefficients d >= c / r, then F(x') <= r G(x) for all
neighbours.

*Proof.* If the change is up, c (x'_(j) - x'_(i)) <= c (x_(j+1) - x_(i)) by interlacing, where low and high
do not change. This is at most r d (x_(b) - x_(a)) for the window (a, b, d) of G. If it is down, the same
holds with x_(j) - x_(i-1). QED

**Sensitivity.** Let v = constant + sum a_j x_(j). Write the gap j for x_(j+1) - x_(j) >= 0. If the change
is up, v' - v is at most the sum of a_j times the gap j over all a_j > 0, and v - v' at most the sum of
|a_j| times the gap j over all a_j < 0. If it is down, the same sums with the gaps j - 1 bound v - v' and v'
- v. Let the gaps of each sum lie in a window of G with coefficient d, and let w be the largest weight of a
gap. Then each sum is at most (w / d) G(x), and |v' - v| <= q G(x) with the largest w / d. By symmetry also
|v' - v| <= q G(x').

**Counts of tests.** Let d be the number of tests F_k <= g that hold, k = 1, ..., m, with F_k(x') <=
F_(k+1)(x) for all k < m and all neighbours. Then d changes by at most 1: of the tests that hold on x all
but the first one give a test that holds on x', and the same in the other direction. More generally, each k
without this property adds 1.

The median of NRS 2007 is an example. With A_k = max over t of x_(m+t) - x_(m+t-k-1), 0 <= t <= k + 1,
growth gives A_k(x') <= A_(k+1)(x). So max over k of e^(-beta k) A_k grows by a factor of at most e^beta.

Source: Nissim, Raskhodnikova and Smith 2007, Smooth sensitivity and sampling in private data analysis,
section 3.1. Here the windows and coefficients are those of the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from dpaudit.kernel.values.info import Info, Setting

__all__ = ["MOST_RECORDS", "AtMost", "Sorted", "count_change", "growth", "order_facts", "sensitivity"]

#: The largest number of records. The domination of windows takes the square of it.
MOST_RECORDS = 1_000
ZERO = Fraction(0)

#: A constant, and the coefficients of the order statistics by their places from 1.
Form = tuple[Fraction, tuple[tuple[int, Fraction], ...]]
Forms = frozenset[Form]
Windows = dict[tuple[int, int], Fraction]


class Sorted(NamedTuple):
    """The vector of the step ``source``, with ``size`` entries in [``low``, ``high``]."""

    source: int
    size: int
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class AtMost:
    """Whether the largest of the forms is at most ``number``, or below it if ``strict``."""

    forms: Forms
    number: Fraction
    strict: bool


def order_facts(
    s: Setting, op: str, ids: Sequence[int], infos: Sequence[Info], p: dict[str, Any], found: Info
) -> dict[str, Any]:
    """Return the facts ``order`` and ``tests`` of a step with the bounds ``found``, if it has them."""
    if op in ("sort", "order"):
        return _of_vector(s, op, ids[0], infos[0], p)
    if op == "where":
        return _counted(infos)
    known = [name for name in ("order", "tests") for info in infos if name in info.facts]
    if len(set(known)) != 1 or found.records or any(info.records for info in infos):
        return {}
    [name] = set(known)
    vectors = {info.facts[name][0] for info in infos if name in info.facts}
    if len(vectors) != 1:
        return {}
    [vector] = vectors
    entries = [_entries(info, name, vector) for info in infos]
    if any(one is None for one in entries):
        return {}
    if name == "order" and op in ("lt", "le", "gt", "ge"):
        tests = _compared(op, infos, entries)
        return {} if tests is None else {"tests": (vector, tests)}
    result = (_of_forms if name == "order" else _of_tests)(op, infos, p, entries, found)
    return {} if result is None else {name: (vector, tuple(result))}


def _counted(infos: Sequence[Info]) -> dict[str, Any]:
    """Return the fact of the number 1 where a test holds, and 0 elsewhere."""
    test, *numbers = infos
    known = [one.constant.number if one.constant is not None else None for one in numbers]
    single = all(info.shape == () and not info.records for info in infos)
    return {"tests": test.facts["tests"]} if single and known == [1, 0] and "tests" in test.facts else {}


def _vector(s: Setting, node: int, info: Info) -> Sorted | None:
    """Return the vector of a step with one bounded number per record, of which one record may be replaced."""
    size = info.shape[0] if len(info.shape) == 1 else None
    alone = s.group == 1 and not s.length_is_private and info.records == 1 and info.kind in "if"
    low = None if info.low is None else info.low.number
    high = None if info.high is None else info.high.number
    if not alone or type(size) is not int or not 1 <= size <= MOST_RECORDS or low is None or high is None:
        return None
    return Sorted(node, size, low, high) if low < high else None


def _statistic(place: int) -> Forms:
    return frozenset([(Fraction(0), ((place, Fraction(1)),))])


def _of_vector(s: Setting, op: str, node: int, info: Info, p: dict[str, Any]) -> dict[str, Any]:
    """Return the fact of a sorted vector, its median or a quantile (with linear interpolation)."""
    vector = _vector(s, node, info)
    if "order" in info.facts:
        vector, entries = info.facts["order"]
        if entries != tuple(_statistic(k + 1) for k in range(vector.size)):
            return {}
    if vector is None:
        return {}
    if op == "sort":
        return {"order": (vector, tuple(_statistic(k + 1) for k in range(vector.size)))}
    if p["what"] not in ("median", "quantile"):
        return {}
    share = Fraction(1, 2) if p["what"] == "median" else Fraction(p["q"])
    at = (vector.size - 1) * share
    below, part = at.__floor__(), at - at.__floor__()
    terms = ((below + 1, 1 - part), (below + 2, part))
    return {"order": (vector, (frozenset([_form(Fraction(0), terms)]),))}


def _form(constant: Fraction, terms: Iterable[tuple[int, Fraction]]) -> Form:
    """Return a linear form with the terms of each place added."""
    total: dict[int, Fraction] = {}
    for place, number in terms:
        total[place] = total.get(place, Fraction(0)) + number
    return constant, tuple(sorted((place, number) for place, number in total.items() if number))


def _entries(info: Info, name: str, vector: Sorted) -> Sequence[Any] | None:
    """Return the entries of an operand: forms, tests, or the forms of known constants."""
    if name in info.facts:
        found: Sequence[Any] = info.facts[name][1]
        return found
    if info.private:
        return None
    if info.values is not None:
        numbers = [info.values.number(one) for one in info.values.numerators]
    else:
        known = info.constant
        if known is None or known.number is None or info.shape != ():
            return None
        numbers = [known.number]
    if name == "tests":
        return [()] if numbers == [0] else None
    return [frozenset([(number, ())]) for number in numbers]


def _pairs(infos: Sequence[Info], entries: Sequence[Any], found: Info) -> list[tuple[Any, Any]] | None:
    """Return the pairs of entries that an elementwise operation combines."""
    count = found.entries.number
    if count is None or any(info.shape not in ((), found.shape) for info in infos):
        return None
    left, right = (
        list(one) if info.shape == found.shape else list(one) * int(count)
        for info, one in zip(infos, entries, strict=True)
    )
    return [*zip(left, right, strict=True)]


def _of_forms(op: str, infos: Sequence[Info], p: dict[str, Any], entries: Any, found: Info) -> Any:
    """Return the forms of each entry of a result, or None."""
    if op in ("pick", "reshape", "cast", "stack", "columns", "max"):
        if found.kind != "f" and any(info.kind != found.kind for info in infos):
            return None  # integers would be rounded numbers
        return _arranged(op, infos, p, entries, lambda parts: frozenset().union(*parts))
    if op == "neg":
        negative = [_times(one, Fraction(-1)) for one in entries[0]]
        return None if None in negative else negative
    if op not in ("add", "sub", "mul", "div", "maximum"):
        return None
    pairs = _pairs(infos, entries, found)
    results = None if pairs is None else [_combined(op, a, b) for a, b in pairs]
    return None if results is None or None in results else results


def _together(parts: Iterable[tuple[AtMost, ...]]) -> tuple[AtMost, ...]:
    """Return all tests of several numbers of tests."""
    return tuple(itertools.chain(*parts))


def _of_tests(op: str, infos: Sequence[Info], p: dict[str, Any], entries: Any, found: Info) -> Any:
    """Return the tests of each entry of a result, or None. numpy adds two Booleans as a logical or."""
    if op in ("pick", "reshape", "cast", "stack", "columns", "sum"):
        if found.kind == "b" and any(info.kind != "b" for info in infos):
            return None  # a truth value has lost the number
        return _arranged(op, infos, p, entries, _together)
    if op != "add" or found.kind == "b":
        return None
    pairs = _pairs(infos, entries, found)
    return None if pairs is None else [_together(pair) for pair in pairs]


def _arranged(op: str, infos: Sequence[Info], p: dict[str, Any], entries: Any, joined: Any) -> Any:
    """Return the entries of a selection, a new arrangement, or a reduction of a whole array."""
    if op == "pick":
        return [entries[0][place] for place in p["places"]]
    if op in ("reshape", "cast"):
        return entries[0]
    if op in ("max", "sum"):
        whole = set(p["axes"]) == set(range(len(infos[0].shape)))
        return [joined(entries[0])] if whole and entries[0] else None
    if op == "columns" and any(len(info.shape) != 1 for info in infos):
        return None
    return [*itertools.chain(*entries)]


def _combined(op: str, a: Forms, b: Forms) -> Forms | None:
    """Return the forms of the result of an operator on two numbers."""
    if op == "maximum":
        return a | b
    if op in ("mul", "div"):
        a, b = (b, a) if op == "mul" and _number(b) is None else (a, b)
        by = _number(b)
        return None if by is None or (op == "div" and by == 0) else _times(a, by if op == "mul" else 1 / by)
    other = _times(b, Fraction(-1)) if op == "sub" else b
    if other is None or min(len(a), len(other)) != 1:
        return None
    return frozenset(_form(k + m, (*left, *right)) for k, left in a for m, right in other)


def _number(forms: Forms) -> Fraction | None:
    """Return the value of a constant."""
    constant, terms = next(iter(forms))
    return constant if len(forms) == 1 and not terms else None


def _times(forms: Forms, by: Fraction) -> Forms | None:
    """Return a multiple. A negative multiple of a maximum is a minimum, which has no forms."""
    if by < 0 and len(forms) > 1:
        return None
    return frozenset(_form(k * by, [(place, a * by) for place, a in terms]) for k, terms in forms)


def _compared(op: str, infos: Sequence[Info], entries: Any) -> tuple[tuple[AtMost, ...], ...] | None:
    """Return the tests that a comparison with one constant makes."""
    if op in ("gt", "ge"):
        infos, entries = infos[::-1], entries[::-1]
    number = _number(entries[1][0]) if infos[1].shape == () else None
    if number is None or "order" not in infos[0].facts:
        return None
    return tuple((AtMost(forms, number, op in ("lt", "gt")),) for forms in entries[0])


def _windows(vector: Sorted, forms: Forms) -> Windows | None:
    """Return the forms of a maximum as windows, or None. Forms that are never positive are left out.

    The maximum must have a form that is never negative. Then these forms do not matter.
    """
    found: Windows = {}
    never_negative = False
    for constant, terms in forms:
        window = _window(vector, constant, terms)
        if window is None:
            return None
        i, j, c = window
        if c >= 0:
            never_negative = True
            found[i, j] = max(c, found.get((i, j), Fraction(0)))
    return found if never_negative else None


def _window(
    vector: Sorted, constant: Fraction, terms: tuple[tuple[int, Fraction], ...]
) -> tuple[int, int, Fraction] | None:
    """Return (i, j, c) with i < j if the form is c (x_(j) - x_(i)), and otherwise None."""
    if not terms:
        return 0, vector.size + 1, constant / (vector.high - vector.low)
    if len(terms) == 2:
        (i, a), (j, b) = terms
        return (i, j, b) if a == -b and constant == 0 else None
    [(place, a)] = terms if len(terms) == 1 else [(0, Fraction(0))]
    if a != 0 and constant == -a * vector.low:
        return 0, place, a
    return (place, vector.size + 1, -a) if a != 0 and constant == -a * vector.high else None


class _Cover:
    """The largest coefficient of a window that contains a given one, or 0."""

    def __init__(self, vector: Sorted, windows: Windows, asked: int) -> None:
        self.last, self.windows = vector.size + 1, windows
        self.table = self._filled() if asked * len(windows) > 4 * self.last**2 else None

    def _filled(self) -> list[list[Fraction]]:
        found = [[self.windows.get((i, j), ZERO) for j in range(self.last + 1)] for i in range(self.last + 1)]
        for i in range(self.last + 1):
            for j in range(self.last, i, -1):
                above = found[i - 1][j] if i else ZERO
                wider = found[i][j + 1] if j < self.last else ZERO
                found[i][j] = max(found[i][j], above, wider)
        return found

    def of(self, i: int, j: int) -> Fraction:
        i, j = max(i, 0), min(j, self.last)
        if self.table is not None:
            return self.table[i][j]
        return max((c for (a, b), c in self.windows.items() if a <= i and j <= b), default=ZERO)


@lru_cache(maxsize=1_000)
def growth(vector: Sorted, after: Forms, before: Forms) -> Fraction | None:
    """Return an r with ``after(x') <= r before(x)`` for all neighbours, or None."""
    upper, lower = _windows(vector, after), _windows(vector, before)
    if upper is None or lower is None:
        return None
    cover, found = _Cover(vector, lower, 2 * len(upper)), ZERO
    for (i, j), c in upper.items():
        over = min(cover.of(i, j + 1), cover.of(i - 1, j))
        if c and not over:
            return None
        found = max(found, c / over if c else ZERO)
    return found


@lru_cache(maxsize=1_000)
def sensitivity(vector: Sorted, value: Forms, by: Forms) -> Fraction | None:
    """Return a q with ``|value(x') - value(x)| <= q min(by(x), by(x'))`` for all neighbours, or None."""
    windows = _windows(vector, by)
    if windows is None or len(value) != 1:
        return None
    [(_, terms)] = value
    cover, found = _Cover(vector, windows, 4), ZERO
    for sign, below in itertools.product((1, -1), (0, 1)):
        gaps = {place - below: abs(a) for place, a in terms if a * sign > 0}
        if gaps:
            over = cover.of(min(gaps), max(gaps) + 1)
            if not over:
                return None
            found = max(found, max(gaps.values()) / over)
    return found


def count_change(info: Info) -> int | None:
    """Return a bound on the change of a number of tests that hold, or None if the value is not one."""
    if info.shape != () or "tests" not in info.facts:
        return None
    vector, [tests] = info.facts["tests"]
    found = min(len(tests), 1)
    for one, other in itertools.pairwise(tests):
        same = (one.number, one.strict) == (other.number, other.strict)
        factor = growth(vector, one.forms, other.forms) if same else None
        found += factor is None or factor > 1
    return found
