"""Tier 0 for programs: checks a proof that a program is differentially private, by rational arithmetic alone.

    python program_t0.py certificate.json     (or a report; with claim_t0.py and kernel_t0.py in its folder)

The certificate holds the decision tree of a program over symbolic data, a partition of its paths into cells,
and for each cell and each extreme change of the data the shift of the hidden noise. This file derives epsilon
from them. It trusts no count, name or list of the certificate: it walks the tree itself, enumerates the
extreme changes itself, and checks every inequality exactly.

The rule (randomness alignment; G1, G2 and B of the prover). Fix data x and x + d. Assume that each cell's
region, shifted by the cell's shift, stays in the region of the same cell under x + d, that shown forms keep
their values, and that the shift depends on nothing hidden. Then P_x(output in B) <= e^c P_(x+d)(output in B)
for all B. Here c is the largest sum of abs(shift) / scale over hidden draws and abs(change) / scale over
releases. Cells are disjoint, the shift is a translation, and c is convex in d (rows are valid for all x), so
that the extreme d suffice (G9).

Assumptions: the tree is the program's; numbers are exact; both sides have the same number of records.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, lcm, prod
from pathlib import Path
from typing import Any

__all__ = ["Checked", "ProgramProofError", "check", "main"]

MAX_NODES, MAX_NUMBERS, MAX_EXTREMES, MAX_STEPS = 500_000, 2_000, 200_000, 5_000_000
NUMBER = re.compile(r"-?\d{1,1000}(/[1-9]\d{0,999})?", re.ASCII)
CONTINUOUS, DISCRETE = ("laplace", "exponential"), "discrete-laplace"

#: Integers in sums of many terms are ints, which are fast, equal to Fractions, and never divided here.
ZERO: Fraction = 0  # type: ignore[assignment]
ONE: Fraction = 1  # type: ignore[assignment]

Form = tuple[tuple[tuple[str, Fraction], ...], Fraction]
#: One constraint: the form is below 0 if strict, else at most 0.
Row = tuple[Form, bool]
Interval = tuple[Fraction, Fraction]


class ProgramProofError(Exception):
    """The certificate is malformed or does not prove its statement."""


def need(holds: Any, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise ProgramProofError(message)


def rational(text: Any) -> Fraction:
    """Read an exact number in its only valid form, reduced: ``"2"``, ``"-3/8"``."""
    number = Fraction(text) if isinstance(text, str) and NUMBER.fullmatch(text) else Fraction()
    need(text == str(number), f"a number must be exact and reduced, got {str(text)[:40]!r}.")
    return number


def light(number: Fraction) -> Fraction:
    return number.numerator if number.denominator == 1 else number  # type: ignore[return-value]


def positive(text: Any) -> Fraction:
    number = rational(text)
    need(number > 0, f"a scale or step must be positive, got {number}.")
    return number


def entry(record: Any, key: str, kind: type) -> Any:
    """Return a field of exactly this type. A bool is not accepted as an int."""
    need(isinstance(record, dict) and key in record, f"the certificate must have the field {key!r}.")
    need(type(record[key]) is kind, f"{key!r} must be a {kind.__name__}, got {str(record[key])[:40]!r}.")
    return record[key]


def make(terms: dict[str, Fraction], constant: Fraction) -> Form:
    return tuple(sorted((name, value) for name, value in terms.items() if value)), constant


def total(parts: Iterable[tuple[Fraction, Form]]) -> Form:
    """Return the sum of factor times form."""
    terms: dict[str, Fraction] = {}
    constant = ZERO
    for factor, (form, number) in parts:
        constant += factor * number
        for name, value in form:
            terms[name] = terms.get(name, ZERO) + factor * value
    return make(terms, constant)


def change(form: Form, moved: dict[str, Fraction]) -> Fraction:
    """Return the change of a form when its symbols change."""
    return sum((value * moved.get(name, ZERO) for name, value in form[0]), ZERO)


def unit(name: str) -> Form:
    """Return the form that is one symbol."""
    return ((name, ONE),), ZERO


#: The form 1.
CONSTANT: Form = (), ONE


def put(form: Form, name: str, value: Form) -> Form:
    """Return the form with ``value`` substituted for the symbol ``name``."""
    factor = dict(form[0]).get(name, ZERO)
    return total([(ONE, form), (factor, value), (-factor, unit(name))])


def primed(form: Form, box: Iterable[str]) -> Form:
    """Return the form at the neighbour x + d: each ``x3`` that may change becomes ``x3 + dx3``."""
    return total([(ONE, form), *((value, unit(f"d{name}")) for name, value in form[0] if name in set(box))])


def primed_rows(rows: dict[str, Row], box: Iterable[str]) -> dict[str, Row]:
    return {name: (primed(form, box), strict) for name, (form, strict) in rows.items()}


@dataclass(frozen=True)
class Data:
    """The symbols ``x0``, ``x1``, ... with their domain, and the boxes of changes that lead to neighbours."""

    names: tuple[str, ...]
    integers: bool
    rows: dict[str, Row]
    boxes: tuple[dict[str, Interval], ...]

    @classmethod
    def read(cls, data: Any, adjacency: Any) -> Data:
        size, width, integers = entry(data, "size", int), data.get("width"), entry(data, "integers", bool)
        need(width is None or (type(width) is int and width > 0), "a record's width must be positive.")
        each = width or 1
        need(0 < size * each <= MAX_NUMBERS, f"the data need 1 to {MAX_NUMBERS} numbers, got {size * each}.")
        names = tuple(f"x{i}" for i in range(size * each))
        low, high = (None if data.get(k) is None else rational(data[k]) for k in ("low", "high"))
        need(None in (low, high) or low < high, "the data need a range.")  # type: ignore[operator]
        ends = [(-ONE, low, ">"), (ONE, high, "<")]  # low < high, as an empty range would prove anything
        bounded = [(name, a, end, sign) for name in names for a, end, sign in ends if end is not None]
        rows = {f"{name}{sign}": (make({name: a}, -a * end), False) for name, a, end, sign in bounded}
        by, kind = positive(adjacency.get("by")), adjacency.get("kind")
        whole = {end.denominator for end in (low, high, by) if end is not None} == {1}
        need(whole or not integers, "integers must have whole ends and change by whole numbers.")
        need(kind in ("each-moves", "one-replaced"), f"unknown adjacency {str(kind)[:40]!r}.")
        if kind == "each-moves":
            one_way = entry(adjacency, "one_way", bool)
            ways = [(-by, ZERO), (ZERO, by)] if one_way else [(-by, by)]
            boxes = [dict.fromkeys(names, way) for way in ways]
        else:
            spans = None not in (low, high) and by >= high - low  # type: ignore[operator]
            need(spans or adjacency.get("at_most") is True, "one record's change must span its domain.")
            boxes = [dict.fromkeys(names[i : i + each], (-by, by)) for i in range(0, len(names), each)]
        return cls(names, integers, rows, tuple(boxes))

    def extremes(self, cell: Cell) -> Iterator[dict[str, Fraction]]:
        """Yield the extreme changes that suffice for a cell.

        If a number is in no shown or released form, and has one sign in all rows, its worst end suffices
        (G10). For discrete noise, all integer changes are enumerated (G12).
        """
        signs: dict[str, set[bool]] = {}
        for form, _ in cell.rows.values():
            for name, value in form[0]:
                signs.setdefault(name, set()).add(value > 0)
        for form in [*cell.path.forms, *(form for form, _, _ in cell.path.releases)]:
            for name, _ in form[0]:
                signs[name] = {True, False}
        whole = any(noise == DISCRETE for noise, _ in cell.path.draws)
        for box in self.boxes:
            ends: list[Any] = []
            for name, (low, high) in box.items():
                sign = signs.get(name, set())
                both = range(int(low), int(high) + 1) if whole else (low, high)
                ends.append(both if len(sign) == 2 else (high if True in sign else low if sign else ZERO,))
            need(prod(map(len, ends)) <= MAX_EXTREMES, "a cell has too many extreme changes.")
            for chosen in product(*ends):
                yield dict(zip(box, map(Fraction, chosen), strict=True))


@dataclass(frozen=True)
class Route:
    """A path from the root up to a node. All paths of a merged cell must have the same ``events``."""

    node: int
    rows: dict[str, Row]
    draws: tuple[tuple[str, Fraction], ...] = ()
    finite: tuple[int, ...] = ()
    forms: tuple[Form, ...] = ()
    releases: tuple[tuple[Form, str, Fraction], ...] = ()
    events: tuple[Any, ...] = ()
    compared: int = 0
    forks: int = 0

    def to(self, node: int, event: Any = None, **more: Any) -> Route:
        """Return the route extended by one node. Numbers grow downwards, so that no route has a cycle."""
        need(type(node) is int and node > self.node, "a node must come after the one above it.")
        return replace(self, node=node, events=(*self.events, event) if event else self.events, **more)

    @property
    def kept(self) -> dict[str, Row]:
        """Return all constraints but those of the domain, which both sides satisfy."""
        return {name: row for name, row in self.rows.items() if not name.startswith("x")}


@dataclass(frozen=True)
class Cell:
    """Paths that share one shift. ``rows`` describe their union, and ``path`` is one of them."""

    path: Route
    rows: dict[str, Row]
    shifts: Any


class Tree:
    """The decision tree: a list of nodes, the root first."""

    #: The distributions with a density that draws may have. ``cost`` has a bound for those of this file.
    densities: tuple[str, ...] = CONTINUOUS

    def __init__(self, nodes: Any, data: Data) -> None:
        need(isinstance(nodes, list) and 0 < len(nodes) <= MAX_NODES, f"a tree has 1 to {MAX_NODES} nodes.")
        need(all(isinstance(node, list) and node for node in nodes), "a node must be a list.")
        self.nodes, self.data, self.steps = nodes, data, 0

    def node(self, route: Route) -> list[Any]:
        need(route.node < len(self.nodes), "a node of the tree is missing.")
        self.steps += 1
        need(self.steps <= MAX_STEPS, f"the certificate takes more than {MAX_STEPS} steps.")
        node: list[Any] = self.nodes[route.node]
        sizes = {"draw": 4, "finite": 3, "show": 3, "form": 3, "release": 5, "compare": 5, "fork": 3}
        size = {**sizes, "empty": 2, "end": 1}.get(str(node[0]))
        need(size == len(node), f"a node of the tree is malformed: {str(node)[:60]}.")
        return node

    def form(self, written: Any, route: Route) -> Form:
        """Read a form over the data and the earlier draws."""
        need(isinstance(written, dict), "a form must be a table of coefficients.")
        known = {*self.data.names, *(f"n{i}" for i in range(len(route.draws)))}
        need(written.keys() - {""} <= known, "a form has an unknown symbol.")
        terms = {name: light(rational(value)) for name, value in written.items() if name}
        return make(terms, light(rational(written.get("", "0"))))

    def whole(self, form: Form, route: Route) -> bool:
        """Return whether all symbols of a form are integers."""
        return all(
            self.data.integers if name[0] == "x" else route.draws[int(name[1:])][0] == DISCRETE
            for name, _ in form[0]
        )

    def row(self, form: Form, strict: bool, route: Route) -> Row:
        """Return a constraint. Over integers, make it coprime and weak: sum <= integer (G12)."""
        if not form[0] or not self.whole(form, route):
            return form, strict
        scale = lcm(*(value.denominator for _, value in form[0]))
        common = gcd(*(int(value * scale) for _, value in form[0]))
        terms, limit = total([(Fraction(scale, common), form)])
        below = ceil(-limit) - 1 if strict else floor(-limit)
        return make({name: light(value) for name, value in terms}, light(Fraction(-below))), False

    def answers(self, route: Route, node: list[Any]) -> tuple[Route, Route]:
        """Return the routes of both answers of a comparison. Following both makes the tree complete."""
        _, written, strict, yes, no = node
        need(type(strict) is bool, "a comparison must be strict or not.")
        form = self.form(written, route)
        rows = (self.row(form, strict, route), self.row(total([(-ONE, form)]), not strict, route))
        return tuple(  # type: ignore[return-value]
            route.to(child, rows={**route.rows, str(route.compared): row}, compared=route.compared + 1)
            for child, row in zip((yes, no), rows, strict=True)
        )

    def straight(self, route: Route, node: list[Any]) -> Route:
        """Extend the route by a node without a choice."""
        kind = node[0]
        if kind == "draw":
            noise, scale = node[1], positive(node[2])
            need(noise in (*self.densities, DISCRETE), f"a draw cannot have the noise {str(noise)[:40]!r}.")
            need(
                noise != DISCRETE or self.data.integers, "discrete noise needs data that are integers (G12)."
            )
            name, rows = f"n{len(route.draws)}", route.rows
            if noise == "exponential":
                rows = {**rows, f"{name}>": (make({name: -ONE}, ZERO), False)}
            return route.to(node[3], ("draw", noise, scale), draws=(*route.draws, (noise, scale)), rows=rows)
        if kind == "show":
            need(isinstance(node[1], str), "a shown constant must be a text.")
            return route.to(node[2], ("show", node[1]))
        if kind == "form":
            form = self.form(node[1], route)
            return route.to(node[2], ("form", form), forms=(*route.forms, form))
        form, noise, scale = self.form(node[1], route), node[2], positive(node[3])
        need(noise in ("laplace", DISCRETE), f"a release cannot have the noise {str(noise)[:40]!r}.")
        numbers = [form[1], *(value for _, value in form[0])]
        whole = self.whole(form, route) and all(number.denominator == 1 for number in numbers)
        need(noise != DISCRETE or whole, "a release with discrete noise must be of integers (G12).")
        return route.to(node[4], ("release",), releases=(*route.releases, (form, noise, scale)))

    def paths(self) -> list[Route]:
        """Return all paths, first answers first. Pruned branches are proved empty."""
        found, pending = [], [Route(0, dict(self.data.rows))]
        while pending:
            route = pending.pop()
            node = self.node(route)
            if node[0] == "end":
                found.append(route)
            elif node[0] == "empty":
                self.contradicts(node[1], route.rows, route.draws)
            elif node[0] == "compare":
                pending.extend(reversed(self.answers(route, node)))
            elif node[0] == "finite":
                pending.extend(after for after in reversed(self.outcomes(route, node)) if after)
            elif node[0] == "fork":
                need(isinstance(node[2], list) and node[2], "a public question must have answers.")
                nexts = reversed([*enumerate(node[2])])
                pending.extend(route.to(c, ("fork", node[1], i), forks=route.forks + 1) for i, c in nexts)
            else:
                pending.append(self.straight(route, node))
        need(len({route.node for route in found}) == len(found), "two paths join, so this is not a tree.")
        return found

    def outcomes(self, route: Route, node: list[Any]) -> list[Route | None]:
        """Return one route for each outcome of a finite draw, and ``None`` for an outcome of probability
        0.
        """
        weights = [rational(weight) for weight in node[1]]
        need(sum(weights) == 1 and min(weights) >= 0, "the probabilities of a finite draw must sum to 1.")
        return [
            route.to(child, ("finite", tuple(weights), i), finite=(*route.finite, i)) if weight else None
            for i, (weight, child) in enumerate(zip(weights, node[2], strict=True))
        ]

    def contradicts(self, weights: Any, rows: dict[str, Row], draws: Iterable[tuple[str, Fraction]]) -> None:
        """Require that the constraints have no common point, or only a null set for every x.

        Multipliers >= 0 must give 0 >= k with k > 0, or k = 0 with weight on a strict row or on a row with
        continuous noise (G5, H8).
        """
        blurring = {"g", *(f"n{i}" for i, (noise, _) in enumerate(draws) if noise in self.densities)}
        terms, constant = self.combined(weights, rows)
        need(not terms, "the multipliers of a pruned branch leave a symbol.")
        used = [rows[name] for name in weights]
        broken = any(strict or blurring & {name for name, _ in form[0]} for form, strict in used)
        need(constant > 0 or (constant == 0 and broken), "the multipliers of a pruned branch prove nothing.")

    def combined(self, weights: Any, rows: dict[str, Row]) -> Form:
        need(
            isinstance(weights, dict) and weights.keys() <= rows.keys(), "a multiplier names an unknown row."
        )
        return total((light(positive(weight)), rows[name][0]) for name, weight in weights.items())

    def cell(self, written: Any, paths: list[Route]) -> Cell:
        """Read a cell: one path, or several whose union is the closed region of the given rows (rules A,
        G4, G6).
        """
        group = [paths[i] for i in entry(written, "paths", list)]
        if written.get("rows") is None:
            need(len(group) == 1, "a cell of several paths must have rows.")
            return Cell(group[0], group[0].kept, written.get("shifts"))
        first = group[0]
        need(all(route.events == first.events for route in group), "merged paths must show and draw alike.")
        need(not first.releases and not first.forks, "paths with releases or public forks are not merged.")
        forms = [self.form(row, first) for row in entry(written, "rows", list)]
        rows: dict[str, Row] = {f"k{i}": (form, False) for i, form in enumerate(forms)}
        for route, inside in zip(group, entry(written, "inside", list), strict=True):
            for form, weights in zip(forms, inside, strict=True):
                terms, k = total([(ONE, self.combined(weights, route.rows)), (-ONE, form)])
                need(not terms and k >= 0, "a path leaves its cell.")
        supports = {name: row for name, row in first.rows.items() if name[0] == "n"}
        ends = {route.node for route in group}
        self.covers(ends, {**self.data.rows, **supports, **rows}, first, entry(written, "cuts", dict))
        return Cell(first, {**rows, **supports}, written.get("shifts"))

    def covers(self, ends: set[int], rows: dict[str, Row], first: Route, cuts: dict[str, Any]) -> None:
        """Require that the program ends on a path of the cell for any noise in the closed region, up to
        null sets.
        """
        pending = [Route(0, rows)]
        while pending:
            route = pending.pop()
            node = self.node(route)
            if node[0] == "compare":
                for answer, after in enumerate(self.answers(route, node)):
                    weights = cuts.get(f"{route.node}.{answer}")
                    if weights is None:
                        pending.append(after)
                    else:
                        self.contradicts(weights, after.rows, first.draws)
            elif node[0] == "finite":
                pending.append(self.outcomes(route, node)[first.finite[len(route.finite)]])  # type: ignore[arg-type]
            elif node[0] in ("end", "empty", "fork"):
                need(node[0] == "empty" or route.node in ends, "a merged cell reaches a path outside.")
            else:
                after = self.straight(route, node)
                need(after.draws == first.draws[: len(after.draws)], "a merged cell reaches another draw.")
                pending.append(after)

    def solved_cost(self, written: Any, parts: list[Cell]) -> Fraction:
        """Return the cost of cells by a change of variables: they show one value g, which is solved for the
        draw i.

        The other draws stay, and n_i follows from g (B, G3). Conditions: (a) equal draws, (b) one absolute
        coefficient of i, (c) regions that do not overlap.
        """
        group = [part.path for part in parts]
        first, i, cost = group[0], entry(written, "solved", str), rational(entry(written, "cost", str))
        alike = {tuple(event[:1] if event[0] == "form" else event for event in r.events) for r in group}
        plain = len(first.forms) == 1 and not first.releases and not first.forks
        need(len(alike) == 1 and plain, "paths that are solved must draw alike and show one value.")
        noises = {f"n{k}": draw for k, draw in enumerate(first.draws)}
        need(all(noise in CONTINUOUS for noise, _ in first.draws), "solved draws must be continuous.")
        need(i in noises and noises[i][0] == "laplace", "the draw that is solved for must be Laplace.")
        sizes = {abs(dict(route.forms[0][0]).get(i, ZERO)) for route in group}
        need(len(sizes) == 1 and 0 not in sizes, "the draw must have one size in all shown values (G3 b).")
        solved, here = [], []
        for route, part in zip(group, parts, strict=True):
            a = Fraction(dict(route.forms[0][0])[i])
            solved.append(total([(1 / a, unit("g")), (-1 / a, route.forms[0]), (ONE, unit(i))]))
            here.append(
                {name: (put(form, i, solved[-1]), strict) for name, (form, strict) in part.rows.items()}
            )
        tagged = [{f"p{name}": row for name, row in rows.items()} for rows in here]
        for p, q in ((i, j) for j in range(len(group)) for i in range(j)):
            both = {**self.data.rows, **tagged[p], **{f"q{name}": row for name, row in here[q].items()}}
            self.contradicts(written["apart"][f"{p}.{q}"], both, first.draws)
        for k, box in enumerate(self.data.boxes):
            base = {**self.data.rows, **{f"{n}'": row for n, row in primed_rows(self.data.rows, box).items()}}
            for name, (low, high) in box.items():
                base[f"d{name}>"] = total([(-ONE, unit(f"d{name}")), (low, CONSTANT)]), False
                base[f"d{name}<"] = total([(ONE, unit(f"d{name}")), (-high, CONSTANT)]), False
            there = [primed_rows(rows, box) for rows in here]
            common = {n: row for n, row in tagged[0].items() if all(row in r.values() for r in here)}
            each = {f"{k}.{p}": rows for p, rows in enumerate(tagged)}
            starts = {str(k): common} if str(k) in written["cover"] else each
            for key, start in starts.items():
                self.covered(written["cover"][key], {**base, **start}, there, first.draws)
            for p, mine in enumerate(tagged):
                for q, after in enumerate(there):
                    rows = {**base, **mine, **{f"q{name}": row for name, row in after.items()}}
                    pair = written["pairs"][f"{k}.{p}.{q}"]
                    if isinstance(pair, dict):
                        self.contradicts(pair, rows, first.draws)
                        continue
                    need(isinstance(pair, list) and len(pair) == 2, "a pair of paths needs both signs.")
                    for sign, weights in zip((ONE, -ONE), pair, strict=True):
                        moved = total([(-sign, primed(solved[q], box)), (sign, solved[p])])
                        terms, rest = total([(ONE, self.combined(weights, rows)), (ONE, moved)])
                        need(not terms and rest + cost * noises[i][1] >= 0, "a pair of paths costs more.")
        return cost

    def covered(self, node: Any, rows: dict[str, Row], there: list[dict[str, Row]], draws: Any) -> None:
        """Require that every point of ``rows`` is in the region of some path of ``there``, up to null
        sets.
        """
        if isinstance(node, dict):
            self.contradicts(node, rows, draws)
            return
        q, outside = node
        need(type(q) is int and 0 <= q < len(there), "a cover is malformed.")
        for (form, strict), below in zip(there[q].values(), outside, strict=True):
            no = total([(-ONE, form)]), not strict
            self.covered(below, {**rows, f"c{len(rows)}": no}, there, draws)
            rows = {**rows, f"c{len(rows)}": (form, strict)}

    def aligned(self, cell: Cell) -> Iterator[tuple[dict[str, Fraction], list[Fraction]]]:
        """Yield each extreme change with the shifts of the draws. Refuse a shift that leaves the cell."""
        for count, moved in enumerate(self.data.extremes(cell)):
            need(count < MAX_EXTREMES, "a cell has too many extreme changes.")
            key = ",".join(str(moved.get(name, 0)) for name in self.data.names)
            written = cell.shifts.get(key)
            draws = cell.path.draws
            need(isinstance(written, list) and len(written) == len(draws), f"no shifts for the change {key}.")
            shifts = [rational(shift) for shift in written]
            everything = {**moved, **{f"n{i}": shift for i, shift in enumerate(shifts)}}
            for form, _ in cell.rows.values():
                need(change(form, everything) <= 0, f"a comparison is not kept under the change {key}.")
            for form in cell.path.forms:
                need(change(form, everything) == 0, f"a shown value is not kept under the change {key}.")
            yield everything, shifts

    def cost(self, cell: Cell) -> Fraction:
        """Return the largest cost of a cell over all extreme changes. Refuse a shift that leaves the cell."""
        worst, draws = ZERO, cell.path.draws
        pure = all(noise in (*CONTINUOUS, DISCRETE) for noise, _ in draws)
        need(pure, "a shift of Gaussian noise has no pure cost.")
        for everything, shifts in self.aligned(cell):
            cost = sum(abs(change(form, everything)) / scale for form, _, scale in cell.path.releases)
            for shift, (noise, scale) in zip(shifts, draws, strict=True):
                need(
                    noise != DISCRETE or shift.denominator == 1, "discrete noise must move by whole numbers."
                )
                cost += abs(shift) / scale
            worst = max(worst, Fraction(cost))
        return worst


@dataclass(frozen=True)
class Checked:
    """The result of a check: ``epsilon`` holds for all data and outcomes."""

    epsilon: Fraction
    claimed: Fraction
    paths: int

    @property
    def holds(self) -> bool:
        return self.epsilon <= self.claimed


def check(certificate: Any) -> Checked:
    """Derive epsilon from a certificate. Raise ``ProgramProofError`` if a step does not follow."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ProgramProofError(f"the certificate is malformed: {type(error).__name__}.") from error


def _check(certificate: Any) -> Checked:
    need(certificate.get("proof") == "program, own regions", "the certificate is of another kind.")
    claimed = positive(entry(certificate, "claim", dict).get("epsilon"))
    data = Data.read(entry(certificate, "data", dict), entry(certificate, "adjacency", dict))
    tree = Tree(entry(certificate, "tree", list), data)
    paths = tree.paths()
    written = entry(certificate, "cells", list)
    parts = [entry(cell, "parts", list) if "solved" in cell else [cell] for cell in written]
    members = [i for joined in parts for part in joined for i in entry(part, "paths", list)]
    need(all(type(i) is int for i in members), "a path must be named by its number.")
    need(sorted(members) == list(range(len(paths))), "each path must be in exactly one cell.")
    costs = []
    for cell, joined in zip(written, parts, strict=True):
        regions = [tree.cell(part, paths) for part in joined]
        costs.append(tree.solved_cost(cell, regions) if "solved" in cell else tree.cost(regions[0]))
    return Checked(Fraction(max(costs, default=ZERO)), claimed, len(paths))


def main(arguments: list[str]) -> int:
    """Check a certificate, or all of this kind in a report (see ``claim_t0.run``)."""
    try:
        from dpaudit.kernel.claim_t0 import run
    except ImportError:  # run as a script, with the other files in its folder
        sys.path.append(str(Path(__file__).parent))
        from claim_t0 import run  # type: ignore[import-not-found,no-redef]
    return run(
        arguments, "program, own regions", check, lambda found: f"{found.epsilon} from {found.paths} paths"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
